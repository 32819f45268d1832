//! The processes currently watched.

use record::watch::{AccessLevel, MissingMeasure, WatchedProcesses};

/// The watched process trees, as of the last look.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchScope {
    /// The service first. Others are appended; none is ever removed.
    pub subjects: Vec<WatchedTree>,
    /// What cannot be seen.
    pub missing: Vec<MissingMeasure>,
    /// How much may be read.
    pub level: AccessLevel,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct WatchedTree {
    pub about: WatchedProcesses,
    /// Its processes, the first one first; empty once all have ended.
    pub pids: Vec<u32>,
}
