//! The trait of everything that makes a load, and its clock.

use crate::HeldConnections;
use record::{Caveat, FleetMember, Slice, TrialCounts};
use schedule::OfferedLoad;
use sys::Ticks;
use units::{Nanos, Share};

/// A moment, by the clocks of the machine that makes the load.
#[derive(Debug, Clone, Copy)]
pub struct ClockSample {
    /// Monotonic, since an unspecified start.
    pub monotonic: Nanos,
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    /// The whole machine's processor time so far; `None` if it cannot be read.
    pub ticks: Option<Ticks>,
}

impl ClockSample {
    /// This machine's.
    pub fn now() -> Self {
        let (monotonic, unix_ms) = (Nanos(sys::monotonic_ns()), sys::now().unix_ms());
        Self { monotonic, unix_ms, ticks: Ticks::now() }
    }

    /// The share of the machine's processor time since `earlier` stolen by the hypervisor; 0 if unknown.
    pub fn stolen_since(&self, earlier: &Self) -> Share {
        let both = earlier.ticks.zip(self.ticks);
        Share(both.map_or(0.0, |(before, after)| after.since(&before).stolen_share()))
    }
}

/// What the caller wants of a running load; never taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadCommand {
    /// Nothing.
    Continue,
    /// End the load; what was started is waited for.
    Stop,
    /// Also end what was started, where possible: processes are killed, requests waited for.
    Kill,
}

/// A load generator: the engine with its requests, a storm of processes, or a fleet of other processes.
pub trait LoadGenerator {
    /// Offers one load, then drains for at most `drain`. `on_begin` gets the moment just before the start. Each
    /// second `on_slice` gets all threads' slices, merged; some twenty times a second `next_command` gets the counts
    /// and the load's duration so far, and returns a command.
    ///
    /// # Panics
    /// If a load thread has panicked.
    fn run_trial(
        &mut self,
        offer: &OfferedLoad,
        drain: Nanos,
        on_begin: &mut dyn FnMut(ClockSample),
        on_slice: &mut dyn FnMut(&Slice),
        next_command: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts;

    /// Waits, at most for `limit`, until nothing of the previous trial is open; then cuts off the rest. Returns
    /// how long it took, or `None` if over the limit.
    ///
    /// # Panics
    /// If a load thread has panicked.
    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos>;

    /// The current time, by this generator's clocks.
    fn now(&self) -> ClockSample {
        ClockSample::now()
    }

    /// The members of a fleet, if they have changed since the last call; `None` for a single generator.
    fn changed_members(&mut self) -> Option<Vec<FleetMember>> {
        None
    }

    /// Caveats about the generator since the last call.
    fn take_caveats(&mut self) -> Vec<Caveat> {
        Vec::new()
    }

    /// Called after a load that was too much for the generator: true if more members would make it from now on.
    fn scale_up(&mut self) -> bool {
        false
    }
}

/// A generator that can hold connections open without requests.
pub trait ConnectionHolder: LoadGenerator {
    /// The fewest with one for each loop: each needs one for its share of the requests.
    fn min_connections(&self) -> u32;

    /// Opens or closes connections until this many are open; from then on they are kept and used in turn, and
    /// no others are made except to replace one that the target closed after an answer. Each is made or given
    /// up within a bound, so this ends; some twenty times a second `interrupted` is asked whether those open by
    /// then are enough. No trial may be running.
    ///
    /// # Panics
    /// If a load thread has panicked.
    fn hold(&mut self, connections: u32, interrupted: &dyn Fn() -> bool) -> HeldConnections;

    /// Closes all connections; from now on they are made on demand.
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
        next_command: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts {
        (**self).run_trial(offer, drain, on_begin, on_slice, next_command)
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
