//! Several machines, simulated: shares, ledger and messages.

mod ledger;
mod merge;
mod shares;
mod simulated_machine;
mod wire;
