//! What several machines owe each other that make one load together.
//!
//! Who sends which arrivals ([`Loops`]), what they tell each other ([`Instruction`], [`Tidings`]), how far their clocks are apart
//! ([`FarClock`]), what each has told and what the lost ones owed ([`Ledger`]), and when a trial begins, is stopped, and is over
//! ([`Muster`]).
//!
//! Pure: told facts and the time, it answers what is to be done. It never reads a clock, sends nothing and waits for nobody.

mod clock;
mod ledger;
mod muster;
mod order;
mod owner;
mod report;

pub use clock::{ClockReading, FarClock, Jumped, Signal};
pub use ledger::Ledger;
pub use muster::{Absence, Move, Muster, SLICE_LATE};
pub use order::{Duty, FirstTry, Instruction, Loops, WatchDuty};
pub use owner::{Commission, OwnerNews, OwnerWord};
pub use report::{BuildStamp, FleetRole, FromMember, Hello, PROTOCOL, Tidings, ToMember};
