//! The binary as a user types it. `TORMENT_BIN` names another than the one that was built beside the tests.

mod alone;
mod anatomy;
mod attempts;
mod bad_input;
mod clinic;
mod connections;
mod export;
mod find;
mod floors;
mod manual;
mod metrics;
mod page;
mod plans;
mod program;
mod reference;
mod restart;
mod run;
mod runs;
mod secrets;
mod selftest;
mod store;
mod storm;
mod threads;
mod watch;
mod working_set;
