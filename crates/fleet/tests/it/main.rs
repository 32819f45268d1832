//! Several machines, simulated: their shares, their books, and what they tell each other.

mod ledger;
mod merge;
mod shares;
mod simulated_machine;
mod wire;
