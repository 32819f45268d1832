//! What goes between a trial and its launchers.

use stats::Histogram;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// What all launchers of a trial are told, and count together.
#[derive(Default)]
pub(crate) struct LauncherControl {
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

/// What a launcher tells beside its slices.
pub(crate) enum LauncherReport {
    /// The program cannot be executed at all.
    Fault(io::Error),
    /// What it has counted, once nothing that it started runs any more.
    Tally(Box<LauncherCounts>),
}

/// What a launcher has counted beside its slices.
#[derive(Debug, Clone, Default)]
pub(crate) struct LauncherCounts {
    /// From the call that starts a program to its return: the program is executed by then.
    pub spawn: Histogram,
    /// Time that all processes together were alive.
    pub alive_ns: u64,
    /// Processes that have ended and were waited for.
    pub ended: u64,
}
