//! How many connections a loop may have: as many as its target answers more with.
//!
//! While a target hiccups, requests wait by the thousand. A connection for each would overflow its accept queue, or give an event loop more to do than
//! it gets done: it would never catch up, by our doing. So there is a ceiling, which is raised by steps, and the answers say whether that helped.

/// It is raised once in so long, if somebody waited for a connection meanwhile.
const STRETCH_NS: u64 = 100_000_000;
/// So many there may be in any case.
const LEAST: usize = 100;
/// A step is this part of the ceiling.
const STEP: usize = 4;
/// Higher ceilings helped if answers became more by this part of what the ceiling did: then connections are what the target lacks, and their number may
/// double.
const HELPED: f64 = 0.5;
/// After a step that did not help the next one waits for so many times longer.
const RARER: u32 = 4;

#[derive(Default)]
pub(crate) struct Growth {
    ceiling: usize,
    /// Whether somebody waits who met it in this stretch,
    met: bool,
    /// which began then, on the monotonic clock,
    since_ns: u64,
    /// and brought so many answers.
    answers: u64,
    /// The most that any stretch of the trial brought, a nanosecond,
    best: f64,
    /// and the ceiling when more connections last helped.
    helpful: usize,
    /// After a step that did not help so many stretches pass before the next,
    pause: u32,
    /// of which so many are left.
    left: u32,
}

impl Growth {
    /// A trial begins, with so many connections, at this moment of the monotonic clock.
    pub fn begin(now_ns: u64, len: usize) -> Self {
        let ceiling = len.max(LEAST);
        Self {
            ceiling: ceiling + ceiling / STEP,
            since_ns: now_ns,
            helpful: ceiling,
            pause: 1,
            ..Self::default()
        }
    }

    pub fn answered(&mut self, answers: usize) {
        self.answers += answers as u64;
    }

    /// Whether there may be one more than `len` by then.
    pub fn allows(&mut self, now_ns: u64, len: usize) -> bool {
        let lasted = now_ns.saturating_sub(self.since_ns);
        if lasted >= STRETCH_NS {
            self.next_stretch(lasted);
            self.since_ns = now_ns;
        }
        let allows = len < self.ceiling;
        self.met |= !allows;
        allows
    }

    fn next_stretch(&mut self, lasted_ns: u64) {
        let brought = std::mem::take(&mut self.answers) as f64 / lasted_ns as f64;
        let higher = self.ceiling as f64 / self.helpful as f64 - 1.0;
        // The first stretch with answers is what others are compared with. Before it the target may be slow: each request wants a connection.
        let helped =
            if self.best > 0.0 { brought > self.best * (1.0 + HELPED * higher) } else { brought == 0.0 };
        if self.best == 0.0 || helped {
            self.helpful = self.ceiling;
        }
        self.best = self.best.max(brought);
        match (std::mem::take(&mut self.met), helped) {
            (false, _) => (self.pause, self.left) = (1, 0),
            (true, true) => {
                self.ceiling *= 2;
                (self.pause, self.left) = (1, 0);
            }
            (true, false) if self.left > 0 => self.left -= 1,
            (true, false) => {
                self.ceiling += self.ceiling / STEP;
                self.left = self.pause;
                self.pause = self.pause.saturating_mul(RARER);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many connections there are after each of these stretches, which brought so many answers each, where as many are made as may be; at first
    /// there are 400.
    fn grown(answers: &[usize]) -> Vec<usize> {
        let (mut now_ns, mut len) = (7 * STRETCH_NS, 400);
        let mut growth = Growth::begin(now_ns, len);
        let stretch = |answers: &usize| {
            while growth.allows(now_ns, len) {
                len += 1;
            }
            growth.answered(*answers);
            now_ns += STRETCH_NS;
            len
        };
        answers.iter().map(stretch).collect()
    }

    #[test]
    fn the_ceiling_doubles_where_that_brings_answers() {
        assert_eq!(grown(&[0, 0, 0, 50]), [500, 1000, 2000, 4000], "its first answers take long");
        assert_eq!(grown(&[50, 62, 124, 248, 248]), [500, 625, 1250, 2500, 5000], "each has its own answers");
    }

    #[test]
    fn where_it_brings_none_steps_become_rare() {
        let steps = [500, 625, 625, 781, 781, 781, 781, 781, 976, 976, 976, 976];
        assert_eq!(grown(&[100; 12]), steps, "it does what it can");
        assert_eq!(
            grown(&[100, 115, 115, 170, 170]),
            [500, 625, 1250, 1562, 1562],
            "a doubling is to bring half as many again"
        );
    }

    #[test]
    fn after_a_stretch_without_anybody_waiting_steps_are_quick_again() {
        let mut growth = Growth::begin(0, 400);
        for stretch in 0..12 {
            growth.answered(100);
            growth.allows(stretch * STRETCH_NS, 10_000);
        }
        let late = growth.ceiling;
        growth.answered(100);
        growth.allows(20 * STRETCH_NS, 10);
        growth.allows(21 * STRETCH_NS, 10_000);
        assert_eq!(growth.ceiling, late, "nobody met it");
        growth.answered(100);
        growth.allows(22 * STRETCH_NS, 10_000);
        assert_eq!(growth.ceiling, late + late / STEP);
    }
}
