//! Decides when to query for blockers.

use std::time::{Duration, Instant};

/// Minimum share of active sessions that wait for locks,
const SHARE: f64 = 0.3;
const SECOND: Duration = Duration::from_secs(1);
/// in this many consecutive seconds.
const SECONDS: u32 = 2;
/// Minimum interval: the query takes every lock of the lock table.
const AT_MOST_EVERY: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct LockWaitTrigger {
    /// Start of the current second.
    second_start: Option<Instant>,
    active: u64,
    locked: u64,
    /// Consecutive seconds above the share.
    high: u32,
    last_query: Option<Instant>,
}

impl LockWaitTrigger {
    /// Adds a sample; whether to query now.
    pub fn should_query(&mut self, now: Instant, (active, locked): (u64, u64)) -> bool {
        let from = *self.second_start.get_or_insert(now);
        if now >= from + SECOND {
            let high = self.locked > 0 && self.locked as f64 >= SHARE * self.active as f64;
            self.high = if high { self.high + 1 } else { 0 };
            (self.second_start, self.active, self.locked) = (Some(now), 0, 0);
        }
        self.active += active;
        self.locked += locked;
        // If all are gone by now there is nobody to name.
        let ring =
            self.high >= SECONDS && locked > 0 && self.last_query.is_none_or(|at| now >= at + AT_MOST_EVERY);
        if ring {
            self.last_query = Some(now);
        }
        ring
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Indexes of the samples, five per second, that trigger.
    fn rings(looks: impl IntoIterator<Item = (u64, u64)>) -> Vec<usize> {
        let start = Instant::now();
        let mut alarm = LockWaitTrigger::default();
        let at = |i: usize| start + Duration::from_millis(200 * i as u64);
        looks
            .into_iter()
            .enumerate()
            .filter(|(i, look)| alarm.should_query(at(*i), *look))
            .map(|(i, _)| i)
            .collect()
    }

    #[test]
    fn it_rings_after_two_seconds_and_then_every_five() {
        assert_eq!(rings([(10, 3); 66]), [10, 35, 60]);
        assert_eq!(rings([(10, 2); 40]), [] as [usize; 0]);
        assert_eq!(rings([(0, 0); 40]), [] as [usize; 0]);
        let with_gaps = (0..60).map(|i| if i / 5 % 2 == 0 { (10, 10) } else { (10, 0) });
        assert_eq!(rings(with_gaps), [] as [usize; 0]);
    }
}
