//! Watches a target from outside, without instrumenting it: what its threads do and wait for, which
//! limits it meets, its sockets, its Java virtual machine, its PostgreSQL.
//!
//! A [`Watch`] is one thread that reads its sources, each at its own rate, and cuts what they saw into
//! windows of a second. Nothing here judges: that is `diagnosis`.

mod cgroup;
mod diag;
mod disks;
mod host;
mod network;
mod said;
mod scene;
mod source;
mod watch;

pub use watch::{Seen, Watch};
