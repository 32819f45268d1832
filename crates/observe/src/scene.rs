//! Who is watched at this moment.

use record::watch::{Level, Missing, Subject};

/// The process trees that are watched, as of the last time they were looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scene {
    /// The service first. Others are added behind; none is ever taken away.
    pub subjects: Vec<Cast>,
    /// What cannot be seen.
    pub missing: Vec<Missing>,
    /// How much may be read.
    pub level: Level,
}

/// One process tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cast {
    /// What it is.
    pub about: Subject,
    /// Its processes, the first one first; empty once all have ended.
    pub pids: Vec<u32>,
}
