//! Where arrivals come from: a schedule, or users who become free.

use schedule::{DueTimes, OfferedLoad};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use units::Nanos;

/// A closed loop waits this long after a failed connection, so that a target that refuses is not called as fast
/// as the processor allows.
const RECONNECT_DELAY: Nanos = Nanos::from_millis(100);

pub(crate) enum ArrivalSource {
    Open(Peekable<DueTimes>),
    Closed { free_users: BinaryHeap<Reverse<Nanos>>, next_number: u64, step: u64, remaining: u64 },
}

impl ArrivalSource {
    /// One of `loops` loops' part of an offer, with `streams` users per connection.
    pub fn new(offer: &OfferedLoad, index: u32, loops: u32, streams: u32) -> Self {
        match offer {
            OfferedLoad::Open(schedule) => Self::Open(schedule.arrivals(index, loops).peekable()),
            OfferedLoad::Closed { connections, requests, .. } => {
                // A loop without a user has no request either.
                let (index, loops) = (u64::from(index), u64::from(loops.min(*connections)));
                let share = |whole: u64| {
                    if index < loops { whole / loops + u64::from(index < whole % loops) } else { 0 }
                };
                let remaining = requests.map_or(u64::MAX, share);
                let users = (share(u64::from(*connections)) * u64::from(streams)).min(remaining);
                Self::Closed {
                    free_users: (0..users).map(|_| Reverse(Nanos::ZERO)).collect(),
                    next_number: index,
                    step: loops,
                    remaining,
                }
            }
        }
    }

    /// When the next arrival is due; `None` if none is to come for now.
    pub fn next_due(&mut self) -> Option<Nanos> {
        match self {
            Self::Open(due) => due.peek().map(|a| a.due),
            Self::Closed { remaining: 0, .. } => None,
            Self::Closed { free_users, .. } => free_users.peek().map(|Reverse(at)| *at),
        }
    }

    /// Takes the next arrival if it is due by `now`: its number and due time.
    pub fn take(&mut self, now: Nanos) -> Option<(u64, Nanos)> {
        if self.next_due()? > now {
            return None;
        }
        match self {
            Self::Open(due) => due.next().map(|a| (a.number, a.due)),
            Self::Closed { free_users, next_number, step, remaining } => {
                let Reverse(due) = free_users.pop()?;
                let number = *next_number;
                *next_number += *step;
                *remaining -= 1;
                Some((number, due))
            }
        }
    }

    /// An arrival was decided at `now`: in a closed loop its user is free again.
    pub fn release_user(&mut self, now: Nanos, connected: bool) {
        if let Self::Closed { free_users, remaining: 1.., .. } = self {
            free_users.push(Reverse(if connected { now } else { now + RECONNECT_DELAY }));
        }
    }

    /// Whether a fixed number of requests has been reached. A loop without users waits for the end of the load
    /// instead.
    pub fn is_exhausted(&self) -> bool {
        matches!(self, Self::Closed { remaining: 0, .. })
    }

    /// The number of users of a closed loop.
    pub fn users(&self) -> Option<usize> {
        match self {
            Self::Open(_) => None,
            Self::Closed { free_users, .. } => Some(free_users.len()),
        }
    }

    /// Whether the load ends when the source does, rather than at a time.
    pub fn is_closed_loop(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that each of four loops takes, if every request is decided at once; `None` if unlimited for
    /// as long as the load.
    fn taken(connections: u32, requests: Option<u64>) -> [Option<Vec<u64>>; 4] {
        let offer = OfferedLoad::Closed { connections, requests, duration: None };
        [0, 1, 2, 3].map(|index| {
            let mut source = ArrivalSource::new(&offer, index, 4, 1);
            let mut numbers = Vec::new();
            while numbers.len() < 100
                && let Some((number, _)) = source.take(Nanos::ZERO)
            {
                numbers.push(number);
                source.release_user(Nanos::ZERO, true);
            }
            source.is_exhausted().then_some(numbers)
        })
    }

    #[test]
    fn loops_without_users_wait_for_the_end_of_the_load() {
        assert_eq!(taken(2, None), [const { None }; 4]);
        assert_eq!(taken(2, Some(5)), [Some(vec![0, 2, 4]), Some(vec![1, 3]), Some(vec![]), Some(vec![])]);
        assert_eq!(taken(9, Some(5)), [Some(vec![0, 4]), Some(vec![1]), Some(vec![2]), Some(vec![3])]);
    }
}
