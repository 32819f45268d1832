//! A run conducted elsewhere, and its owner, who hands over the plan, receives every event, and may end the run.

use plan::PortablePlan;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What to run, and with how many workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOrder {
    /// The plan, with its secrets, rows and trusted authorities.
    pub parcel: PortablePlan,
    /// Number of workers to wait for.
    pub workers: u32,
    /// How long to wait for them.
    pub waits: Nanos,
    /// Measured costs of the owner's machine, as JSON.
    pub costs: Option<String>,
}

/// From owner to coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum OwnerRequest {
    /// Start the run, unless it has started.
    Begin(Box<RunOrder>),
    /// Send the events from this number on.
    From(u64),
    /// End the run as interrupted.
    End,
    /// Everything was received: the coordinator may exit.
    Thanks,
}

/// From coordinator to owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum OwnerUpdate {
    /// An event of the run.
    Event {
        /// Counted from 0.
        number: u64,
        /// As JSON, the form in which runs are stored.
        event: String,
    },
    /// The run is over.
    Over {
        /// Number of events.
        events: u64,
        /// Exit code of the command, had it run here.
        exit_code: u8,
        /// Why nothing was measured, if so.
        error: Option<String>,
    },
}
