//! Who is watched at this moment.

use record::watch::{AccessLevel, MissingMeasure, WatchedProcesses};

/// The process trees that are watched, as of the last time they were looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchScope {
    /// The service first. Others are added behind; none is ever taken away.
    pub subjects: Vec<WatchedTree>,
    /// What cannot be seen.
    pub missing: Vec<MissingMeasure>,
    /// How much may be read.
    pub level: AccessLevel,
}

/// One process tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchedTree {
    /// What it is.
    pub about: WatchedProcesses,
    /// Its processes, the first one first; empty once all have ended.
    pub pids: Vec<u32>,
}
