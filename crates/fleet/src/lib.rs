//! What several machines owe each other that make one load together.
//!
//! Who sends which arrivals ([`Loops`]), what they tell each other ([`Instruction`], [`Tidings`]), how far their clocks are apart
//! ([`FarClock`]), what each has told and what the lost ones owed ([`Ledger`]), and when a trial begins, is stopped, and is over
//! ([`Muster`]).
//!
//! Pure: told facts and the time, it answers what is to be done. It never reads a clock, sends nothing and waits for nobody.

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
