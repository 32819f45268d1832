//! What makes a load, and knows the time that it spends on it.

use crate::HeldConnections;
use record::{Caveat, FleetMember, Slice, TrialCounts};
use schedule::OfferedLoad;
use std::time::{SystemTime, UNIX_EPOCH};
use sys::Ticks;
use units::{Nanos, Share};

/// A moment as the machine has it that makes the load.
#[derive(Debug, Clone, Copy)]
pub struct ClockSample {
    /// By a clock that only goes forwards, since an unnamed start.
    pub steady: Nanos,
    /// Since 1970.
    pub unix_ms: u64,
    /// Processor time of the whole machine so far; none where it cannot be read.
    pub ticks: Option<Ticks>,
}

impl ClockSample {
    /// This one.
    pub fn now() -> Self {
        let unix_ms =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        Self { steady: Nanos(sys::monotonic_ns()), unix_ms, ticks: Ticks::now() }
    }

    /// The share of the machine's processor time since `earlier` that the hypervisor gave to others; 0 where unknown.
    pub fn stolen_since(&self, earlier: &Self) -> Share {
        let both = earlier.ticks.zip(self.ticks);
        Share(both.map_or(0.0, |(before, after)| after.since(&before).stolen_share()))
    }
}

/// What the caller wants of a load that goes on; what was wished once is not taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadCommand {
    /// Nothing.
    GoOn,
    /// The load ends; what was started is waited for.
    Stop,
    /// So does everything that was started, where that can be ended: a process can, a request is waited for.
    Kill,
}

/// What makes a load: the engine with its requests, a storm of processes, or a fleet of other processes.
pub trait LoadGenerator {
    /// Offers one load, then waits at most `drain` for what is open. `on_begin` hears the moment just before it begins. Each
    /// second all threads' slices, merged, go to `on_slice`; `wish` is asked some twenty times a second, and told what has been
    /// counted so far and how long the load has lasted.
    ///
    /// # Panics
    /// If a thread that makes it has panicked.
    fn run_trial(
        &mut self,
        offer: &OfferedLoad,
        drain: Nanos,
        on_begin: &mut dyn FnMut(ClockSample),
        on_slice: &mut dyn FnMut(&Slice),
        wish: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts;

    /// Waits until nothing of the trial before is open any more, at most for `limit`; then what is left is cut off. Gives how
    /// long it took, or none if it was over the limit.
    ///
    /// # Panics
    /// If a thread that made it has panicked.
    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos>;

    /// The moment that it is for this carrier.
    fn now(&self) -> ClockSample {
        ClockSample::now()
    }

    /// Who makes it together, if that is another than when this was last asked; none of one by itself.
    fn changed_members(&mut self) -> Option<Vec<FleetMember>> {
        None
    }

    /// What has become doubtful about those who make it since this was last asked.
    fn take_caveats(&mut self) -> Vec<Caveat> {
        Vec::new()
    }

    /// The last load was too much for whoever made it: true if the same would be made by more from now on.
    fn scale_up(&mut self) -> bool {
        false
    }
}

/// What also holds connections open whether or not anything is asked on them.
pub trait ConnectionHolder: LoadGenerator {
    /// The fewest of which each of its loops has one: each needs one for its share of the requests.
    fn min_connections(&self) -> u32;

    /// Opens connections until so many stand, or closes some; from then on they are kept, requests go to them in turn, and
    /// no other is made but for one that the target closed behind an answer. Each is made or given up within a bound, so
    /// that this ends; `interrupted` is asked some twenty times a second whether those that stand by then are enough. There
    /// must be no trial meanwhile.
    ///
    /// # Panics
    /// If a thread that makes them has panicked.
    fn hold(&mut self, connections: u32, interrupted: &dyn Fn() -> bool) -> HeldConnections;

    /// Closes all connections; from now on they are made when they are needed.
    fn release(&mut self);
}

impl<C: ConnectionHolder + ?Sized> ConnectionHolder for &mut C {
    fn min_connections(&self) -> u32 {
        (**self).min_connections()
    }

    fn hold(&mut self, connections: u32, interrupted: &dyn Fn() -> bool) -> HeldConnections {
        (**self).hold(connections, interrupted)
    }

    fn release(&mut self) {
        (**self).release();
    }
}

impl<C: LoadGenerator + ?Sized> LoadGenerator for &mut C {
    fn run_trial(
        &mut self,
        offer: &OfferedLoad,
        drain: Nanos,
        on_begin: &mut dyn FnMut(ClockSample),
        on_slice: &mut dyn FnMut(&Slice),
        wish: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts {
        (**self).run_trial(offer, drain, on_begin, on_slice, wish)
    }

    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        (**self).settle(limit, interrupted)
    }

    fn now(&self) -> ClockSample {
        (**self).now()
    }

    fn changed_members(&mut self) -> Option<Vec<FleetMember>> {
        (**self).changed_members()
    }

    fn take_caveats(&mut self) -> Vec<Caveat> {
        (**self).take_caveats()
    }

    fn scale_up(&mut self) -> bool {
        (**self).scale_up()
    }
}
