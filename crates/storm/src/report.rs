//! What goes between a trial and its launchers.

use record::Slice;
use stats::Histogram;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use units::Nanos;

/// What all launchers of a trial are told, and count together.
#[derive(Default)]
pub(crate) struct Control {
    /// The load ends now.
    pub stop: AtomicBool,
    /// So does everything that still runs.
    pub kill: AtomicBool,
    /// Processes that are alive.
    pub alive: Arc<AtomicU64>,
    /// The most that were at once.
    pub most_alive: AtomicU64,
    /// Processes started.
    pub started: AtomicU64,
}

/// What a launcher tells.
pub(crate) enum Report {
    Slice(Box<Slice>),
    /// The trial is over, its load ended at this moment; what still runs is no longer counted.
    Over(Nanos),
    /// The program cannot be executed at all.
    Fault(io::Error),
    /// Nothing it started runs any more.
    Settled(Box<Tally>),
}

/// What a launcher has counted beside its slices.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// From the call that starts a program to its return: the program is executed by then.
    pub spawn: Histogram,
    /// Time that all processes together were alive.
    pub alive_ns: u64,
    /// Processes that have ended and were waited for.
    pub ended: u64,
}
