//! Whether anybody else was at work while something was measured.

use std::time::{Duration, Instant};
use sys::{Ticks, UsageOf, usage};

/// Others that use more of a processor than this disturb what is measured.
pub(crate) const FOREIGN: f64 = 0.05;

/// A moment from which on it is told.
pub(crate) struct Calm {
    ticks: Option<Ticks>,
    began: Instant,
    used: Duration,
}

/// Processor time of this process and of all it has waited for.
pub(crate) fn used() -> Duration {
    usage(UsageOf::Process).processor + usage(UsageOf::Children).processor
}

impl Calm {
    pub fn new() -> Self {
        Self { ticks: Ticks::now(), began: Instant::now(), used: used() }
    }

    pub fn passed(&self) -> Duration {
        self.began.elapsed()
    }

    /// How much of a processor others used since: neither this process, with those it has waited for, nor who used `ours`. And the
    /// share of the time that the hypervisor took.
    pub fn others(&self, ours: Duration) -> Option<(f64, f64)> {
        let seen = self.ticks.zip(Ticks::now()).map(|(before, now)| now.since(&before))?;
        let ours = used().saturating_sub(self.used) + ours;
        let others = seen.busy().saturating_sub(ours).as_secs_f64() / self.passed().as_secs_f64();
        Some((others, seen.stolen_share()))
    }
}
