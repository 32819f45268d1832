//! Learns after how many answers a server closes each connection unannounced (without `Connection: close`), to
//! avoid those that it is about to close.

use crate::slots::SlotKey;
use std::collections::VecDeque;
use units::Nanos;

/// This many connections in a row, each closed right after as many answers, are no coincidence.
const MIN_ALIKE: u32 = 8;
/// A connection closed within this time of its last answer was closed because of it.
const MAX_IDLE: Nanos = Nanos::from_millis(50);
/// One still open this long after as many answers may carry more.
const REFUTED_AFTER: Nanos = Nanos::from_millis(100);

/// What a server's closing of connections right after an answer has shown, and those that it is about to close.
#[derive(Default)]
pub(crate) struct ReuseLimit {
    /// How many answers the last closed one had carried, and how many in a row carried as many.
    last: u32,
    alike: u32,
    learned: Option<u32>,
    /// Those that have carried as many, oldest first, and since when, on the monotonic clock.
    spent: VecDeque<(SlotKey, u64)>,
}

impl ReuseLimit {
    /// The server has closed, unannounced, a connection after this many answers, the last one `idle` ago.
    pub fn note_closed(&mut self, answers: u32, idle: Nanos) {
        if idle > MAX_IDLE {
            return;
        }
        self.alike = if answers == self.last { self.alike + 1 } else { 1 };
        self.last = answers;
        if self.alike >= MIN_ALIKE {
            self.learned = Some(answers);
        }
    }

    /// A connection has now carried this many answers; returns whether it is spent.
    pub fn note_answers(&mut self, connection: SlotKey, answers: u32, now_ns: u64) -> bool {
        // More than those that were closed had carried.
        if answers > self.last {
            self.alike = 0;
        }
        match self.learned {
            Some(limit) if answers > limit => self.learned = None,
            Some(limit) if answers == limit => self.spent.push_back((connection, now_ns)),
            _ => return false,
        }
        self.learned.is_some()
    }

    /// Those taken for spent that have stayed open so long that they are not; usually none.
    pub fn take_refuted(
        &mut self,
        now_ns: u64,
        is_open: impl Fn(SlotKey) -> bool,
    ) -> VecDeque<(SlotKey, u64)> {
        while let Some((connection, since_ns)) = self.spent.front().copied() {
            if is_open(connection) {
                if now_ns.saturating_sub(since_ns) < REFUTED_AFTER.0 {
                    break;
                }
                return std::mem::take(self).spent;
            }
            self.spent.pop_front();
        }
        VecDeque::new()
    }

    /// Whether the server is about to close any, as far as is known.
    pub fn has_spent(&self) -> bool {
        !self.spent.is_empty()
    }

    /// After how many answers the server closes, if learned.
    pub fn learned(&self) -> Option<u32> {
        self.learned
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::Slots;

    const MS: u64 = 1_000_000;

    /// What is learned from connections closed after this many answers, this many milliseconds after the last.
    fn learned(closed: impl IntoIterator<Item = (u32, u64)>) -> ReuseLimit {
        let mut reuse = ReuseLimit::default();
        closed.into_iter().for_each(|(answers, idle)| reuse.note_closed(answers, Nanos(idle * MS)));
        reuse
    }

    #[test]
    fn a_number_is_what_several_in_a_row_have_shown() {
        assert_eq!(learned([(1, 0); 8]).learned(), Some(1));
        assert_eq!(learned([(100, 20); 8]).learned(), Some(100));
        assert_eq!(learned([(1, 0); 7]).learned(), None);
        assert_eq!(learned([(1, 60); 20]).learned(), None, "it was idle");
        assert_eq!(learned((0..40).map(|n| (1 + n % 2, 0))).learned(), None, "each after another number");
    }

    #[test]
    fn who_carries_more_or_stays_refutes_it() {
        let mut slots = Slots::default();
        let (one, other) = (slots.insert(()), slots.insert(()));
        let mut reuse = learned([(1, 0); 7]);
        assert!(!reuse.note_answers(one, 1, 0) && !reuse.note_answers(one, 2, 0));
        reuse.note_closed(1, Nanos(0));
        assert_eq!(reuse.learned(), None, "one between them has carried more");

        let mut reuse = learned([(1, 0); 8]);
        assert!(reuse.note_answers(one, 1, 0) && reuse.note_answers(other, 1, MS));
        slots.remove(one.number);
        assert!(
            reuse.take_refuted(100 * MS, |key| slots.get(key).is_some()).is_empty(),
            "the first was closed"
        );
        assert_eq!(reuse.learned(), Some(1));
        assert_eq!(reuse.take_refuted(101 * MS, |key| slots.get(key).is_some()), [(other, MS)]);
        assert_eq!(reuse.learned(), None);

        let mut reuse = learned([(1, 0); 8]);
        assert!(reuse.note_answers(other, 1, 0) && !reuse.note_answers(other, 2, 0));
        assert_eq!(reuse.learned(), None);
        assert_eq!(reuse.take_refuted(100 * MS, |_| true), [(other, 0)], "it is used again");
        assert!(!reuse.has_spent());
    }
}
