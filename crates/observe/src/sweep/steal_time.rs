//! Steal time: with CONFIG_PARAVIRT_TIME_ACCOUNTING, a kernel counts a thread that would run meanwhile
//! neither as running nor as ready.

use sys::Ticks;

/// The share of the processor time the machine wanted that went to others.
#[derive(Debug, Default)]
pub(crate) struct StealTime {
    before: Option<Ticks>,
}

impl StealTime {
    /// Time stolen per unit of time received, since the last call; 0 if unknown.
    pub fn steal_ratio(&mut self) -> f64 {
        let now = Ticks::now();
        let before = std::mem::replace(&mut self.before, now);
        before.zip(now).map_or(0.0, |(before, now)| between(before, now))
    }
}

fn between(before: Ticks, now: Ticks) -> f64 {
    let Ticks { user, system, stolen, .. } = now.since(&before);
    let had = user + system;
    if had > 0 { stolen as f64 / had as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_that_was_had() {
        let times = |user, system, stolen| Ticks { user, system, idle: 0, stolen };
        assert_eq!(between(times(100, 50, 7), times(187, 65, 43)), 36.0 / 102.0);
        assert_eq!(between(times(100, 50, 7), times(100, 50, 8)), 0.0, "nobody wanted any");
        assert_eq!(StealTime::default().steal_ratio(), 0.0, "the first look has nothing before it");
    }
}
