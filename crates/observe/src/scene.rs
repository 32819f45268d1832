//! Who is watched at this moment.

mod about;
mod downstream;
mod finder;
mod holders;
mod level;
pub(crate) mod listing;
mod service;
#[cfg(test)]
mod tests;

pub(crate) use finder::Finder;
pub(crate) use listing::{Listing, of_process};

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
