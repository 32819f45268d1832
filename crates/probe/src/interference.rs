//! Whether anybody else was at work while something was measured.

use std::time::{Duration, Instant};
use sys::{Ticks, UsageScope, usage};

/// Others that use more of a processor than this disturb what is measured.
pub(crate) const FOREIGN: f64 = 0.05;

/// A moment from which on it is told.
pub(crate) struct InterferenceMeter {
    ticks: Option<Ticks>,
    began: Instant,
    used: Duration,
}

/// Processor time of this process and of all it has waited for.
pub(crate) fn own_cpu_time() -> Duration {
    usage(UsageScope::Process).processor + usage(UsageScope::Children).processor
}

impl InterferenceMeter {
    pub fn new() -> Self {
        Self { ticks: Ticks::now(), began: Instant::now(), used: own_cpu_time() }
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// How much of a processor others used since: neither this process, with those it has waited for, nor who used `ours`. And the
    /// share of the time that the hypervisor took.
    pub fn foreign_and_stolen(&self, ours: Duration) -> Option<(f64, f64)> {
        let seen = self.ticks.zip(Ticks::now()).map(|(before, now)| now.since(&before))?;
        let ours = own_cpu_time().saturating_sub(self.used) + ours;
        let others = seen.busy().saturating_sub(ours).as_secs_f64() / self.elapsed().as_secs_f64();
        Some((others, seen.stolen_share()))
    }
}
