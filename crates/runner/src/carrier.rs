//! What makes a load, and knows the time that it spends on it.

use engine::{Engine, Offer};
use record::{Counted, Slice};
use std::time::Instant;
use sys::Ticks;
use units::Nanos;

/// A moment as the machine has it that makes the load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// By a clock that only goes forwards, since an unnamed start.
    pub steady: Nanos,
    /// Since 1970.
    pub unix_ms: u64,
    /// Processor time of the whole machine so far; none where it cannot be read.
    pub ticks: Option<Ticks>,
}

impl Moment {
    /// This one.
    pub fn now() -> Self {
        Self { steady: Nanos(sys::monotonic_ns()), unix_ms: crate::unix_ms(), ticks: Ticks::now() }
    }

    /// The share of the machine's processor time since `earlier` that the hypervisor gave to others; 0 where unknown.
    pub fn stolen_since(&self, earlier: &Self) -> f64 {
        earlier.ticks.zip(self.ticks).map_or(0.0, |(before, after)| after.since(&before).stolen_share())
    }
}

/// What makes a load: the engine with its requests, or a storm of processes.
pub(crate) trait Carrier {
    /// Offers one load, then waits at most `drain` for what is open, as [`Engine::trial`] does; `stop` is told also how
    /// long it has lasted.
    fn trial(
        &mut self,
        offer: &Offer,
        drain: Nanos,
        on_slice: &mut dyn FnMut(&Slice),
        stop: &mut dyn FnMut(&Slice, Nanos) -> bool,
    ) -> Counted;

    /// Waits until nothing is open any more, as [`Engine::settle`] does.
    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos>;

    /// The moment that it is for this carrier.
    fn now(&self) -> Moment {
        Moment::now()
    }
}

impl Carrier for Engine {
    fn trial(
        &mut self,
        offer: &Offer,
        drain: Nanos,
        on_slice: &mut dyn FnMut(&Slice),
        stop: &mut dyn FnMut(&Slice, Nanos) -> bool,
    ) -> Counted {
        let began = Instant::now();
        Self::trial(self, offer, drain, on_slice, &mut |so_far| stop(so_far, began.elapsed().into()))
    }

    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        Self::settle(self, limit, interrupted)
    }
}
