//! A queue of items with timeouts.

use std::collections::VecDeque;
use units::Nanos;

/// Waiting items, in one lane per timeout: each lane is ordered by due time, and so by expiry, so only the
/// fronts need to be checked. A plan has few timeouts, mostly one.
pub struct TimeoutQueue<T> {
    lanes: Vec<Lane<T>>,
}

struct Lane<T> {
    timeout: Nanos,
    /// By due time, except while the generator itself is behind.
    queue: VecDeque<(Nanos, T)>,
}

impl<T> Lane<T> {
    /// When its first item expires, if nothing may wait longer than `max_age`.
    fn expiry(&self, max_age: Nanos) -> Option<Nanos> {
        self.queue.front().map(|(due, _)| *due + self.timeout.min(max_age))
    }
}

impl<T> Default for TimeoutQueue<T> {
    fn default() -> Self {
        Self { lanes: Vec::new() }
    }
}

impl<T> TimeoutQueue<T> {
    /// The number of waiting items.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.queue.len()).sum()
    }

    /// Whether no item waits.
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.queue.is_empty())
    }

    fn lane(&mut self, timeout: Nanos) -> &mut VecDeque<(Nanos, T)> {
        let at = self.lanes.iter().position(|lane| lane.timeout == timeout).unwrap_or_else(|| {
            self.lanes.push(Lane { timeout, queue: VecDeque::new() });
            self.lanes.len() - 1
        });
        &mut self.lanes[at].queue
    }

    /// Adds an item that waits `timeout` from `due` on.
    pub fn push(&mut self, due: Nanos, timeout: Nanos, item: T) {
        self.lane(timeout).push_back((due, item));
    }

    /// Puts back an item that has waited before, ahead of all that were due later.
    pub fn put_back(&mut self, due: Nanos, timeout: Nanos, item: T) {
        let lane = self.lane(timeout);
        let at = lane.partition_point(|(other, _)| *other < due);
        lane.insert(at, (due, item));
    }

    /// Removes the item due first.
    pub fn pop(&mut self) -> Option<T> {
        let first = |lane: &&mut Lane<T>| lane.queue.front().map_or(Nanos::MAX, |(due, _)| *due);
        let waiting = self.lanes.iter_mut().filter(|lane| !lane.queue.is_empty());
        waiting.min_by_key(first)?.queue.pop_front().map(|(_, item)| item)
    }

    /// Removes an item that has waited for its timeout by `now`, or for `max_age`; skips those that no
    /// longer count by `is_live`.
    pub fn pop_expired(&mut self, now: Nanos, max_age: Nanos, is_live: impl Fn(&T) -> bool) -> Option<T> {
        for lane in &mut self.lanes {
            while let Some((_, item)) = lane.queue.front() {
                let live = is_live(item);
                if live && lane.expiry(max_age).is_some_and(|ends| ends > now) {
                    break;
                }
                let (_, item) = lane.queue.pop_front()?;
                if live {
                    return Some(item);
                }
            }
        }
        None
    }

    /// The earliest next expiry, as for [`TimeoutQueue::pop_expired`].
    pub fn next_expiry(&self, max_age: Nanos) -> Option<Nanos> {
        self.lanes.iter().filter_map(|lane| lane.expiry(max_age)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    fn expired(lanes: &mut TimeoutQueue<&'static str>, now: u64, most: Nanos) -> Vec<&'static str> {
        std::iter::from_fn(|| lanes.pop_expired(s(now), most, |thing| *thing != "gone")).collect()
    }

    /// A request with a timeout of a second once waited behind one with a minute, as long as that did.
    #[test]
    fn each_waits_for_its_own_time() {
        let mut lanes = TimeoutQueue::default();
        lanes.push(s(0), s(60), "patient");
        lanes.push(s(1), s(1), "hasty");
        lanes.push(s(2), s(60), "late");
        assert_eq!((lanes.len(), lanes.next_expiry(Nanos::MAX)), (3, Some(s(2))));
        assert!(expired(&mut lanes, 1, Nanos::MAX).is_empty());
        assert_eq!(expired(&mut lanes, 2, Nanos::MAX), ["hasty"]);
        assert_eq!(lanes.next_expiry(Nanos::MAX), Some(s(60)));
        assert_eq!(expired(&mut lanes, 62, Nanos::MAX), ["patient", "late"]);
        assert!(lanes.is_empty());
    }

    #[test]
    fn nobody_waits_longer_than_there_is_time_for() {
        let mut lanes = TimeoutQueue::default();
        lanes.push(s(0), s(60), "old");
        lanes.push(s(1), s(2), "gone");
        lanes.push(s(9), s(60), "young");
        assert_eq!(lanes.next_expiry(s(5)), Some(s(3)));
        assert_eq!(expired(&mut lanes, 10, s(5)), ["old"]);
        assert_eq!((lanes.len(), lanes.next_expiry(s(5))), (1, Some(s(14))));
        assert_eq!(expired(&mut lanes, 10, Nanos::ZERO), ["young"]);
    }

    #[test]
    fn who_goes_on_waiting_is_given_up_in_its_turn() {
        let mut lanes = TimeoutQueue::default();
        [1, 3, 5].into_iter().for_each(|due| lanes.push(s(due), s(60), "other"));
        lanes.put_back(s(4), s(60), "back");
        assert!(expired(&mut lanes, 62, Nanos::MAX) == ["other"] && lanes.len() == 3);
        assert_eq!(expired(&mut lanes, 64, Nanos::MAX), ["other", "back"]);
        // In its own lane, whichever came first.
        lanes.push(s(90), s(1), "other");
        lanes.put_back(s(89), s(1), "brief");
        assert_eq!(lanes.next_expiry(Nanos::MAX), Some(s(65)));
        assert_eq!(expired(&mut lanes, 90, Nanos::MAX), ["other", "brief"]);
        assert_eq!(lanes.next_expiry(Nanos::MAX), Some(s(91)));
    }

    #[test]
    fn what_was_due_first_goes_first_whatever_its_lane() {
        let mut lanes = TimeoutQueue::default();
        lanes.push(s(1), s(60), "a");
        lanes.push(s(3), s(60), "c");
        lanes.push(s(2), s(1), "b");
        lanes.put_back(s(0), s(60), "again");
        let order: Vec<_> = std::iter::from_fn(|| lanes.pop()).collect();
        assert_eq!(order, ["again", "a", "b", "c"]);
    }
}
