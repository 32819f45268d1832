//! Messages and counters between a trial and its launchers.

use stats::Histogram;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Orders to, and shared counters of, all launchers of a trial.
#[derive(Default)]
pub(crate) struct LauncherControl {
    /// The load ends now.
    pub stop: AtomicBool,
    /// So does everything still running.
    pub kill: AtomicBool,
    /// Processes alive.
    pub alive: AtomicU64,
    /// The most alive at once.
    pub max_alive: AtomicU64,
    /// Processes started.
    pub started: AtomicU64,
}

/// What a launcher reports besides its slices.
pub(crate) enum LauncherReport {
    /// The program cannot be executed at all.
    Fault(io::Error),
    /// Its counts, once nothing that it started is running.
    Counts(Box<LauncherCounts>),
}

/// What a launcher has counted besides its slices.
#[derive(Debug, Clone, Default)]
pub(crate) struct LauncherCounts {
    /// From the call that starts a program to its return: the program is executed by then.
    pub spawn_times: Histogram,
    /// The sum of the processes' lifetimes.
    pub alive_ns: u64,
    /// Processes that have ended and were waited for.
    pub ended: u64,
}
