//! Protocol and bookkeeping of several machines that make one load together.
//!
//! Who sends which arrivals ([`LoopAssignment`]), the messages ([`Instruction`], [`MemberReport`]), clock offsets
//! ([`RemoteClock`]), what each member reported and lost ones owed ([`Ledger`]), and when a trial begins, is stopped,
//! and is over ([`TrialCoordinator`]).
//!
//! Pure: given facts and the time, it answers what to do. It never reads a clock, sends or waits.

mod clock;
mod instruction;
mod ledger;
mod message;
mod owner;
mod trial_coordinator;

pub use clock::{ClockExchange, ClockJump, ClockReading, RemoteClock};
pub use instruction::{Instruction, LoopAssignment, TargetCheck, TrialAssignment, WatchAssignment};
pub use ledger::Ledger;
pub use message::{BuildStamp, FleetRole, FromMember, Hello, MemberReport, PROTOCOL, ToMember};
pub use owner::{OwnerRequest, OwnerUpdate, RunOrder};
pub use trial_coordinator::{Absence, SLICE_LATE, TrialAction, TrialCoordinator};
