//! Limits a loop's connections to as many as make its target answer more.
//!
//! While a target hiccups, requests wait by the thousand. A connection for each would overflow its accept
//! queue, or give an event loop more to do than it can: it would never catch up, by our doing. So there is a
//! ceiling, raised in steps, and the answers show whether that helped.

/// It is raised at most once per stretch of this length, if a request had to wait for a connection meanwhile.
const STRETCH_NS: u64 = 100_000_000;
/// The minimum ceiling.
const LEAST: usize = 100;
/// A step is this fraction of the ceiling.
const STEP: usize = 8;
/// More connections helped if answers grew by this fraction of the connections' growth: then the target lacks
/// connections, and their number may double.
const HELPED: f64 = 0.5;
/// After a step that did not help, the pause before the next grows by this factor.
const RARER: u32 = 4;
/// If a target was taken to have places for some number of connections, more than this many beyond that, having
/// carried answers at once, show that it has more.
const OTHERS: usize = 1;
/// Earlier trials' answers count for this fraction in the next: a target may have become slower.
const FADES: f64 = 0.98;

#[derive(Default)]
pub(crate) struct ConnectionCeiling {
    ceiling: usize,
    /// Whether a request met the ceiling in this stretch.
    met: bool,
    /// When the stretch began, on the monotonic clock.
    since_ns: u64,
    /// Answers in this stretch.
    answers: u64,
    /// Whether the trial has brought any answer.
    answered: bool,
    /// The most answers per nanosecond in a stretch of any trial.
    best: f64,
    /// The number of connections when more of them last helped.
    helpful: usize,
    /// How many the target has places for, if others had to wait until one of those ended.
    places: Option<usize>,
    /// After a step that did not help, stretches to pause before the next.
    pause: u32,
    /// Stretches left of the pause.
    left: u32,
}

impl ConnectionCeiling {
    /// A trial begins with `len` connections, at this moment of the monotonic clock.
    pub fn begin(&mut self, now_ns: u64, len: usize) {
        let Self { best, helpful, places, .. } = *self;
        let ceiling = places.unwrap_or_else(|| risen(len.max(helpful).max(LEAST)));
        let best = best * FADES;
        *self = Self { ceiling, since_ns: now_ns, best, helpful, places, pause: 1, ..Self::default() };
    }

    /// Others wait until one of these connections ends: more would not help.
    pub fn set_places(&mut self, places: usize) {
        (self.places, self.ceiling, self.helpful) = (Some(places), places, self.helpful.min(places));
        (self.met, self.pause, self.left) = (false, 1, 0);
    }

    /// This many open connections have carried answers.
    pub fn used(&mut self, used: usize) {
        if self.places.is_some_and(|places| used > places + OTHERS) {
            (self.places, self.ceiling) = (None, self.ceiling.max(risen(used.max(LEAST))));
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
        self.met |= !allows;
        allows
    }

    fn advance(&mut self, now_ns: u64, len: usize) {
        let lasted = now_ns.saturating_sub(self.since_ns);
        if lasted >= STRETCH_NS {
            self.since_ns = now_ns;
            self.next_stretch(lasted, len);
        }
    }

    fn next_stretch(&mut self, lasted_ns: u64, len: usize) {
        let brought = std::mem::take(&mut self.answers) as f64 / lasted_ns as f64;
        self.answered |= brought > 0.0;
        let more = (len as f64 / self.helpful.max(1) as f64 - 1.0).max(0.0);
        let helped = brought > self.best * (1.0 + HELPED * more);
        if helped {
            self.helpful = len;
        }
        self.best = self.best.max(brought);
        match (std::mem::take(&mut self.met), helped || !self.answered) {
            (false, _) => (self.pause, self.left) = (1, 0),
            // Before its first answers the target may be slow: each request wants a connection.
            (true, true) => {
                self.ceiling *= 2;
                (self.pause, self.left) = (1, 0);
            }
            (true, false) if self.left > 0 => self.left -= 1,
            (true, false) => {
                self.ceiling = risen(self.ceiling);
                self.left = self.pause;
                self.pause = self.pause.saturating_mul(RARER);
            }
        }
    }
}

fn risen(ceiling: usize) -> usize {
    ceiling + (ceiling / STEP).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections after each of these stretches, with this many answers each, if as many are made as allowed;
    /// at first there are 400, which have brought 100 answers in a stretch of an earlier trial.
    fn grown(answers: &[usize]) -> Vec<usize> {
        let (mut now_ns, mut len) = (7 * STRETCH_NS, 400);
        let mut growth = ConnectionCeiling::default();
        growth.answered(100, STRETCH_NS, len);
        growth.begin(now_ns, len);
        let stretch = |answers: &usize| {
            while growth.allows(now_ns, len) {
                len += 1;
            }
            now_ns += STRETCH_NS;
            growth.answered(*answers, now_ns, len);
            len
        };
        answers.iter().map(stretch).collect()
    }

    #[test]
    fn the_ceiling_doubles_where_that_brings_answers() {
        assert_eq!(grown(&[0, 0, 0, 50]), [450, 900, 1800, 3600], "its first answers take long");
        assert_eq!(grown(&[112, 225, 450, 450]), [450, 900, 1800, 3600], "each has its own answers");
        assert_eq!(
            grown(&[125, 150, 200, 200]),
            [450, 900, 1012, 1012],
            "a doubling is to bring half as many again"
        );
    }

    #[test]
    fn where_it_brings_none_steps_become_rare() {
        let steps = [450, 506, 506, 569, 569, 569, 569, 569, 640, 640, 640, 640];
        assert_eq!(grown(&[100; 12]), steps, "it does what it can");
        assert_eq!(grown(&[20, 60, 95, 60, 95])[4], 569, "it has done more with fewer");
    }

    #[test]
    fn a_trial_begins_with_as_many_as_have_helped() {
        let mut growth = ConnectionCeiling::default();
        growth.answered(5_000, STRETCH_NS, 800);
        growth.begin(2 * STRETCH_NS, 100);
        assert!(growth.allows(2 * STRETCH_NS, 899) && !growth.allows(2 * STRETCH_NS, 900));
    }

    #[test]
    fn where_others_wait_for_its_places_there_are_no_more() {
        let mut growth = ConnectionCeiling::default();
        growth.begin(0, 0);
        growth.answered(900, STRETCH_NS, 40);
        growth.set_places(5);
        assert!(growth.allows(STRETCH_NS, 4) && !growth.allows(STRETCH_NS, 5));
        growth.begin(2 * STRETCH_NS, 40);
        assert!(!growth.allows(2 * STRETCH_NS, 5), "in later trials, too");
        growth.answered(500, 3 * STRETCH_NS, 5);
        assert!(growth.allows(3 * STRETCH_NS, 5), "one is tried");
        growth.used(6);
        assert_eq!(growth.places(), Some(5));
        growth.used(7);
        assert_eq!(growth.places(), None, "it has more places than that");
        assert!(growth.allows(3 * STRETCH_NS, 111) && !growth.allows(3 * STRETCH_NS, 112));
    }

    #[test]
    fn after_a_stretch_without_anybody_waiting_steps_are_quick_again() {
        let mut growth = ConnectionCeiling::default();
        growth.begin(0, 400);
        for stretch in 1..12 {
            growth.answered(100, stretch * STRETCH_NS, 400);
            growth.allows(stretch * STRETCH_NS, 10_000);
        }
        let late = growth.ceiling;
        growth.answered(100, 12 * STRETCH_NS, 400);
        growth.answered(100, 13 * STRETCH_NS, 400);
        growth.allows(13 * STRETCH_NS, 10_000);
        assert_eq!(growth.ceiling, late, "nobody met it");
        growth.answered(100, 14 * STRETCH_NS, 400);
        assert_eq!(growth.ceiling, late + late / STEP);
    }
}
