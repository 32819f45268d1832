//! Whether other programs ran during a measurement.

use std::time::{Duration, Instant};
use sys::{Ticks, UsageScope, usage};

/// Share of a processor used by others above which a measurement is disturbed.
pub(crate) const FOREIGN: f64 = 0.05;

/// Counts from its creation.
pub(crate) struct InterferenceMeter {
    ticks: Option<Ticks>,
    began: Instant,
    own_before: Duration,
}

/// Processor time of this process and of all children it has waited for.
pub(crate) fn own_cpu_time() -> Duration {
    usage(UsageScope::Process).processor + usage(UsageScope::Children).processor
}

impl InterferenceMeter {
    pub fn new() -> Self {
        Self { ticks: Ticks::now(), began: Instant::now(), own_before: own_cpu_time() }
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Share of a processor used by others since then: neither by this process and the children it has waited for, nor by those
    /// that used `own_time`. And the share of the time that the hypervisor stole.
    pub fn foreign_and_stolen(&self, own_time: Duration) -> Option<(f64, f64)> {
        let ticks = self.ticks.zip(Ticks::now()).map(|(before, now)| now.since(&before))?;
        let own_time = own_cpu_time().saturating_sub(self.own_before) + own_time;
        let others = ticks.busy().saturating_sub(own_time).as_secs_f64() / self.elapsed().as_secs_f64();
        Some((others, ticks.stolen_share()))
    }
}
