//! Limits a loop's connections to as many as make its target answer more.
//!
//! While a target hiccups, requests wait by the thousand. A connection for each would overflow its accept
//! queue, or give an event loop more to do than it can: it would never catch up, by our doing. So there is a
//! ceiling, raised in steps, and the answers show whether that helped.

/// It is raised at most once per stretch of this length, if a request had to wait for a connection meanwhile.
const INTERVAL_NS: u64 = 100_000_000;
/// The minimum ceiling.
const MIN_CEILING: usize = 100;
/// A step is this fraction of the ceiling.
const STEP_DIVISOR: usize = 8;
/// More connections helped if answers grew by this fraction of the connections' growth: then the target lacks
/// connections, and their number may double.
const HELPFUL_SHARE: f64 = 0.5;
/// After a step that did not help, the pause before the next grows by this factor.
const BACKOFF_FACTOR: u32 = 4;
/// If a target was taken to have places for some number of connections, more than this many beyond that, having
/// carried answers at once, show that it has more.
const PLACES_MARGIN: usize = 1;
/// Earlier trials' answers count for this fraction in the next: a target may have become slower.
const DECAY: f64 = 0.98;

#[derive(Default)]
pub(crate) struct ConnectionCeiling {
    ceiling: usize,
    /// Whether a request met the ceiling in this stretch.
    hit: bool,
    /// When the stretch began, on the monotonic clock.
    since_ns: u64,
    /// Answers in this stretch.
    answers: u64,
    /// Whether the trial has brought any answer.
    answered: bool,
    /// The most answers per nanosecond in a stretch of any trial.
    best_rate: f64,
    /// The number of connections when more of them last helped.
    helpful: usize,
    /// How many the target has places for, if others had to wait until one of those ended.
    places: Option<usize>,
    /// After a step that did not help, stretches to pause before the next.
    skip_intervals: u32,
    /// Stretches left of the pause.
    skips_left: u32,
}

impl ConnectionCeiling {
    /// A trial begins with `len` connections, at this moment of the monotonic clock.
    pub fn begin(&mut self, now_ns: u64, len: usize) {
        let Self { best_rate, helpful, places, .. } = *self;
        let ceiling = places.unwrap_or_else(|| raised(len.max(helpful).max(MIN_CEILING)));
        let best_rate = best_rate * DECAY;
        *self = Self {
            ceiling,
            since_ns: now_ns,
            best_rate,
            helpful,
            places,
            skip_intervals: 1,
            ..Self::default()
        };
    }

    /// Others wait until one of these connections ends: more would not help.
    pub fn set_places(&mut self, places: usize) {
        (self.places, self.ceiling, self.helpful) = (Some(places), places, self.helpful.min(places));
        (self.hit, self.skip_intervals, self.skips_left) = (false, 1, 0);
    }

    /// This many open connections have carried answers.
    pub fn used(&mut self, used: usize) {
        if self.places.is_some_and(|places| used > places + PLACES_MARGIN) {
            (self.places, self.ceiling) = (None, self.ceiling.max(raised(used.max(MIN_CEILING))));
        }
    }

    /// How many the target has places for, if known.
    pub fn places(&self) -> Option<usize> {
        self.places
    }

    /// Answers arrived, on one of `len` connections.
    pub fn answered(&mut self, answers: usize, now_ns: u64, len: usize) {
        self.answers += answers as u64;
        self.advance(now_ns, len);
    }

    /// Whether there may be more than `len` by then.
    pub fn allows(&mut self, now_ns: u64, len: usize) -> bool {
        self.advance(now_ns, len);
        let allows = len < self.ceiling;
        self.hit |= !allows;
        allows
    }

    fn advance(&mut self, now_ns: u64, len: usize) {
        let elapsed_ns = now_ns.saturating_sub(self.since_ns);
        if elapsed_ns >= INTERVAL_NS {
            self.since_ns = now_ns;
            self.end_interval(elapsed_ns, len);
        }
    }

    fn end_interval(&mut self, lasted_ns: u64, len: usize) {
        let rate = std::mem::take(&mut self.answers) as f64 / lasted_ns as f64;
        self.answered |= rate > 0.0;
        let growth = (len as f64 / self.helpful.max(1) as f64 - 1.0).max(0.0);
        let helped = rate > self.best_rate * (1.0 + HELPFUL_SHARE * growth);
        if helped {
            self.helpful = len;
        }
        self.best_rate = self.best_rate.max(rate);
        match (std::mem::take(&mut self.hit), helped || !self.answered) {
            (false, _) => (self.skip_intervals, self.skips_left) = (1, 0),
            // Before its first answers the target may be slow: each request wants a connection.
            (true, true) => {
                self.ceiling *= 2;
                (self.skip_intervals, self.skips_left) = (1, 0);
            }
            (true, false) if self.skips_left > 0 => self.skips_left -= 1,
            (true, false) => {
                self.ceiling = raised(self.ceiling);
                self.skips_left = self.skip_intervals;
                self.skip_intervals = self.skip_intervals.saturating_mul(BACKOFF_FACTOR);
            }
        }
    }
}

fn raised(ceiling: usize) -> usize {
    ceiling + (ceiling / STEP_DIVISOR).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections after each of these stretches, with this many answers each, if as many are made as allowed;
    /// at first there are 400, which have brought 100 answers in a stretch of an earlier trial.
    fn ceilings(answers: &[usize]) -> Vec<usize> {
        let (mut now_ns, mut len) = (7 * INTERVAL_NS, 400);
        let mut ceiling = ConnectionCeiling::default();
        ceiling.answered(100, INTERVAL_NS, len);
        ceiling.begin(now_ns, len);
        let next_interval = |answers: &usize| {
            while ceiling.allows(now_ns, len) {
                len += 1;
            }
            now_ns += INTERVAL_NS;
            ceiling.answered(*answers, now_ns, len);
            len
        };
        answers.iter().map(next_interval).collect()
    }

    #[test]
    fn the_ceiling_doubles_where_that_brings_answers() {
        assert_eq!(ceilings(&[0, 0, 0, 50]), [450, 900, 1800, 3600], "its first answers take long");
        assert_eq!(ceilings(&[112, 225, 450, 450]), [450, 900, 1800, 3600], "each has its own answers");
        assert_eq!(
            ceilings(&[125, 150, 200, 200]),
            [450, 900, 1012, 1012],
            "a doubling is to bring half as many again"
        );
    }

    #[test]
    fn where_it_brings_none_steps_become_rare() {
        let steps = [450, 506, 506, 569, 569, 569, 569, 569, 640, 640, 640, 640];
        assert_eq!(ceilings(&[100; 12]), steps, "it does what it can");
        assert_eq!(ceilings(&[20, 60, 95, 60, 95])[4], 569, "it has done more with fewer");
    }

    #[test]
    fn a_trial_begins_with_as_many_as_have_helped() {
        let mut ceiling = ConnectionCeiling::default();
        ceiling.answered(5_000, INTERVAL_NS, 800);
        ceiling.begin(2 * INTERVAL_NS, 100);
        assert!(ceiling.allows(2 * INTERVAL_NS, 899) && !ceiling.allows(2 * INTERVAL_NS, 900));
    }

    #[test]
    fn where_others_wait_for_its_places_there_are_no_more() {
        let mut ceiling = ConnectionCeiling::default();
        ceiling.begin(0, 0);
        ceiling.answered(900, INTERVAL_NS, 40);
        ceiling.set_places(5);
        assert!(ceiling.allows(INTERVAL_NS, 4) && !ceiling.allows(INTERVAL_NS, 5));
        ceiling.begin(2 * INTERVAL_NS, 40);
        assert!(!ceiling.allows(2 * INTERVAL_NS, 5), "in later trials, too");
        ceiling.answered(500, 3 * INTERVAL_NS, 5);
        assert!(ceiling.allows(3 * INTERVAL_NS, 5), "one is tried");
        ceiling.used(6);
        assert_eq!(ceiling.places(), Some(5));
        ceiling.used(7);
        assert_eq!(ceiling.places(), None, "it has more places than that");
        assert!(ceiling.allows(3 * INTERVAL_NS, 111) && !ceiling.allows(3 * INTERVAL_NS, 112));
    }

    #[test]
    fn after_a_stretch_without_anybody_waiting_steps_are_quick_again() {
        let mut ceiling = ConnectionCeiling::default();
        ceiling.begin(0, 400);
        for interval in 1..12 {
            ceiling.answered(100, interval * INTERVAL_NS, 400);
            ceiling.allows(interval * INTERVAL_NS, 10_000);
        }
        let late = ceiling.ceiling;
        ceiling.answered(100, 12 * INTERVAL_NS, 400);
        ceiling.answered(100, 13 * INTERVAL_NS, 400);
        ceiling.allows(13 * INTERVAL_NS, 10_000);
        assert_eq!(ceiling.ceiling, late, "nobody met it");
        ceiling.answered(100, 14 * INTERVAL_NS, 400);
        assert_eq!(ceiling.ceiling, late + late / STEP_DIVISOR);
    }
}
