use crate::Schedule;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The load of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum OfferedLoad {
    /// Open loop: arrivals when the schedule says so.
    Open(Schedule),
    /// Closed loop: a fixed number of requests in flight.
    Closed {
        /// How many.
        connections: u32,
        /// Ends after this many requests.
        requests: Option<u64>,
        /// Ends after this long.
        duration: Option<Nanos>,
    },
}

impl OfferedLoad {
    /// When the load ends at the latest.
    pub fn latest_end(&self) -> Nanos {
        match self {
            Self::Open(schedule) => schedule.duration(),
            Self::Closed { duration, .. } => duration.unwrap_or(Nanos::MAX),
        }
    }
}
