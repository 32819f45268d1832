//! Who is watched at this moment.

use record::watch::{Missing, Subject};

/// The process trees that are watched, as of the last time they were looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scene {
    /// The service first.
    pub subjects: Vec<Cast>,
    /// What cannot be seen.
    pub missing: Vec<Missing>,
}

/// One process tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cast {
    /// What it is.
    pub about: Subject,
    /// Its processes, the first one first; empty once all have ended.
    pub pids: Vec<u32>,
}
