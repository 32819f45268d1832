//! When to start the next process: as a schedule says, or when another has ended.

use engine::OfferedLoad;
use schedule::DueTimes;
use std::iter::Peekable;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Nanos;

/// One launcher's part of a load.
pub(crate) enum ArrivalSource {
    Open(Peekable<DueTimes>),
    /// Launchers draw from one count, so that none is left with more than the others.
    Closed {
        taken: Arc<AtomicU64>,
        limit: u64,
    },
}

impl ArrivalSource {
    /// The part of launcher `index` of `launchers`; all of a trial share `taken`.
    pub fn new(offer: &OfferedLoad, index: u32, launchers: u32, taken: &Arc<AtomicU64>) -> Self {
        match offer {
            OfferedLoad::Open(schedule) => Self::Open(schedule.arrivals(index, launchers).peekable()),
            OfferedLoad::Closed { requests, .. } => {
                Self::Closed { taken: Arc::clone(taken), limit: requests.unwrap_or(u64::MAX) }
            }
        }
    }

    /// When the next is due, given `free_slots`; `None` if none is to come for now.
    pub fn next_due(&mut self, free_slots: usize) -> Option<Nanos> {
        match self {
            Self::Open(due) => due.peek().map(|arrival| arrival.due),
            Self::Closed { taken, limit } => {
                (free_slots > 0 && taken.load(Ordering::Relaxed) < *limit).then_some(Nanos::ZERO)
            }
        }
    }

    /// Takes the next if it is due by `now` and before `load_end`: its number and due time.
    pub fn take(&mut self, now: Nanos, load_end: Nanos, free_slots: usize) -> Option<(u64, Nanos)> {
        let due = self.next_due(free_slots)?;
        if due > now || due >= load_end {
            return None;
        }
        match self {
            Self::Open(due) => due.next().map(|arrival| (arrival.number, arrival.due)),
            Self::Closed { taken, limit } => {
                let number = taken.fetch_add(1, Ordering::Relaxed);
                (number < *limit).then_some((number, now))
            }
        }
    }

    /// Whether no more can come.
    pub fn is_exhausted(&self) -> bool {
        match self {
            Self::Open(_) => false,
            Self::Closed { taken, limit } => taken.load(Ordering::Relaxed) >= *limit,
        }
    }

    /// Whether the load ends when its count does, rather than at a time.
    pub fn is_closed_loop(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }
}
