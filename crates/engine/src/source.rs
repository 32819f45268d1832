//! Where arrivals come from: a schedule, or connections that become free.

use schedule::{DueTimes, Offer};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use units::Nanos;

/// A closed loop waits this long after a connection could not be made, so that a target that
/// refuses is not called as fast as the processor allows.
const AFTER_NO_CONNECTION: Nanos = Nanos::from_millis(100);

pub(crate) enum Source {
    Open(Peekable<DueTimes>),
    Closed { free: BinaryHeap<Reverse<Nanos>>, next: u64, step: u64, left: u64 },
}

impl Source {
    /// The part of an offer that belongs to one of `loops` loops, where each connection has `streams` users.
    pub fn of(offer: &Offer, index: u32, loops: u32, streams: u32) -> Self {
        match offer {
            Offer::Open(schedule) => Self::Open(schedule.arrivals(index, loops).peekable()),
            Offer::Closed { connections, requests, .. } => {
                let share = |whole: u64| {
                    whole / u64::from(loops) + u64::from(u64::from(index) < whole % u64::from(loops))
                };
                let left = requests.map_or(u64::MAX, share);
                let users = (share(u64::from(*connections)) * u64::from(streams)).min(left);
                Self::Closed {
                    free: (0..users).map(|_| Reverse(Nanos::ZERO)).collect(),
                    next: u64::from(index),
                    step: u64::from(loops),
                    left,
                }
            }
        }
    }

    /// When the next arrival is due; none if there is none to come for now.
    pub fn next_due(&mut self) -> Option<Nanos> {
        match self {
            Self::Open(due) => due.peek().map(|a| a.due),
            Self::Closed { left: 0, .. } => None,
            Self::Closed { free, .. } => free.peek().map(|Reverse(at)| *at),
        }
    }

    /// Takes the next arrival if it is due by `now`: its number and its due time.
    pub fn take(&mut self, now: Nanos) -> Option<(u64, Nanos)> {
        if self.next_due()? > now {
            return None;
        }
        match self {
            Self::Open(due) => due.next().map(|a| (a.number, a.due)),
            Self::Closed { free, next, step, left } => {
                let Reverse(due) = free.pop()?;
                let number = *next;
                *next += *step;
                *left -= 1;
                Some((number, due))
            }
        }
    }

    /// An arrival was decided at `now`: in a closed loop its user comes again.
    pub fn decided(&mut self, now: Nanos, connected: bool) {
        if let Self::Closed { free, left: 1.., .. } = self {
            free.push(Reverse(if connected { now } else { now + AFTER_NO_CONNECTION }));
        }
    }

    /// Whether no arrival can come any more unless one that is outstanding is decided.
    pub fn is_exhausted(&mut self) -> bool {
        self.next_due().is_none()
    }

    /// How many users a closed loop begins with.
    pub fn users(&self) -> Option<usize> {
        match self {
            Self::Open(_) => None,
            Self::Closed { free, .. } => Some(free.len()),
        }
    }

    /// Whether the load ends when the source does, rather than at a time.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }
}
