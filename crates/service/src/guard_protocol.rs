//! What torment and the guard say to each other: a line of JSON each, over one socket.

use plan::ResourceLimits;
use record::ProgramLog;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use units::Nanos;

/// What torment wants.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum GuardRequest {
    /// A new folder, gone at the end; answered by [`GuardReport::Folder`].
    Folder {
        /// In this one; none: among the temporary files.
        within: Option<PathBuf>,
        /// Whose it is.
        user: Option<User>,
    },
    /// New control groups with these limits, gone at the end; answered by [`GuardReport::Group`].
    Group(ResourceLimits),
    /// Answered by [`GuardReport::Started`].
    Start(Box<LaunchSpec>),
    /// What it printed last; answered by [`GuardReport::Last`].
    Last(String),
    /// Ends everything, and puts everything back; answered by [`GuardReport::Stopped`].
    Stop,
}

/// What is started, ready to be executed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// Its name in the plan.
    pub name: String,
    /// The file that is executed.
    pub program: PathBuf,
    /// What it is told to be called, and its arguments.
    pub words: Vec<OsString>,
    /// Where it is run.
    pub folder: PathBuf,
    /// Added to the environment.
    pub env: Vec<(OsString, OsString)>,
    /// Written before.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// As whom it runs; none: as whoever runs torment.
    pub user: Option<User>,
    /// What it may use.
    pub limits: ResourceLimits,
    /// The signal that asks it to end.
    pub stop: String,
    /// The signal that it gets when the guard itself is killed.
    pub death: String,
    /// How long it may take to end.
    pub grace: Nanos,
    /// [`GuardReport::Said`] is wanted once a line contains this.
    pub line: Option<String>,
    /// It ends by itself, and its log is nobody's concern.
    pub task: bool,
}

/// A user and a group, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Of the user.
    pub uid: u32,
    /// Of the group.
    pub gid: u32,
}

/// What the guard says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum GuardReport {
    /// First of all: the process that everything descends from.
    Here {
        /// Its number.
        pid: u32,
    },
    /// The new folder.
    Folder(Result<PathBuf, String>),
    /// The folders of the new groups, one for each hierarchy that is needed.
    Group(Result<Vec<PathBuf>, String>),
    /// Its process.
    Started(Result<u32, LaunchError>),
    /// The last lines.
    Last(Vec<String>),
    /// Everything has ended.
    Stopped(Vec<ProgramLog>),
    /// It printed the line that is waited for.
    Said(String),
    /// It ended, and was not asked to.
    Ended(ProgramEnd),
}

/// How a program ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramEnd {
    /// Its name in the plan.
    pub name: String,
    /// How.
    pub status: String,
    /// Whether that is success.
    pub well: bool,
    /// What it printed last.
    pub last: Vec<String>,
}

/// Why something is not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchError {
    /// A file cannot be written.
    File(String, String),
    /// A limit cannot be set.
    Limits(String),
    /// It cannot be executed.
    Start(String),
}
