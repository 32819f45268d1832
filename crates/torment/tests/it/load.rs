//! What makes real loads, and takes its time: `cargo test -- --skip load::` leaves it out.

mod apart;
mod attempts;
mod clinic;
mod connections;
mod export;
mod find;
mod fleet;
mod freezes;
mod interrupts;
mod join;
mod metrics;
mod page;
mod plans;
mod pods;
mod restart;
mod run;
mod runs;
mod secrets;
mod selftest;
mod ssh;
mod store;
mod storm;
mod threads;
mod watch;
mod watchers;
mod working_set;
