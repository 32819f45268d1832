//! A run that is conducted elsewhere, and whoever owns it: hands over the plan, hears every event, and may end it.

use plan::PortablePlan;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What is to be carried out, and by how many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOrder {
    /// The plan, with what belongs to it.
    pub parcel: PortablePlan,
    /// How many workers come.
    pub workers: u32,
    /// How long they are waited for.
    pub waits: Nanos,
    /// What the owner's machine was measured to cost, as JSON.
    pub costs: Option<String>,
}

/// What an owner says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum OwnerRequest {
    /// To be carried out, unless it is already.
    Begin(Box<RunOrder>),
    /// It has all events before this one: it is told the others.
    From(u64),
    /// The run ends, and is one that was interrupted.
    End,
    /// Everything was heard: the coordinator goes.
    Thanks,
}

/// What an owner is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum OwnerUpdate {
    /// What happened.
    Event {
        /// Counted from 0.
        number: u64,
        /// As JSON, which is how runs are stored.
        event: String,
    },
    /// Nothing more will.
    Over {
        /// How many events there were.
        events: u64,
        /// As of the command, had it been made here.
        exit_code: u8,
        /// Why nothing was measured, if so.
        error: Option<String>,
    },
}
