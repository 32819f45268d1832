//! Messages between torment and the guard: a line of JSON each, over one socket.

use plan::ResourceLimits;
use record::ProgramLog;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use units::Nanos;

/// A request of torment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum GuardRequest {
    /// A new folder, removed at the end; answered by [`GuardReport::Folder`].
    Folder {
        /// In this one; none: among the temporary files.
        within: Option<PathBuf>,
        /// Its owner.
        user: Option<User>,
    },
    /// New control groups with these limits, removed at the end; answered by [`GuardReport::Group`].
    Group(ResourceLimits),
    /// Answered by [`GuardReport::Started`].
    Start(Box<LaunchSpec>),
    /// The last lines of a program; answered by [`GuardReport::Last`].
    Last(String),
    /// Ends everything, and undoes everything; answered by [`GuardReport::Stopped`].
    Stop,
}

/// A program ready to be executed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// Its name in the plan.
    pub name: String,
    /// The file that is executed.
    pub program: PathBuf,
    /// Its `argv`: name and arguments.
    pub words: Vec<OsString>,
    /// Its working directory.
    pub folder: PathBuf,
    /// Added to the environment.
    pub env: Vec<(OsString, OsString)>,
    /// Written before the start.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// The user it runs as; none: torment's own.
    pub user: Option<User>,
    /// What it may use.
    pub limits: ResourceLimits,
    /// The signal that asks it to end.
    pub stop: String,
    /// The signal it gets when the guard itself is killed.
    pub death: String,
    /// How long it may take to end.
    pub grace: Nanos,
    /// [`GuardReport::Said`] is sent once a line contains this.
    pub line: Option<String>,
    /// It ends by itself, and its log is not kept.
    pub task: bool,
}

impl LaunchSpec {
    /// A command executed in the folder, to its end and without limits.
    pub fn task(name: &str, program: PathBuf, words: Vec<OsString>, folder: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            program,
            words,
            folder,
            env: Vec::new(),
            files: Vec::new(),
            user: None,
            limits: ResourceLimits::default(),
            stop: "TERM".to_owned(),
            death: "KILL".to_owned(),
            grace: Nanos::from_secs(5),
            line: None,
            task: true,
        }
    }
}

/// A user and a group, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Of the user.
    pub uid: u32,
    /// Of the group.
    pub gid: u32,
}

/// A report of the guard.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum GuardReport {
    /// Sent first: the process from which everything descends.
    Here {
        /// Its process id.
        pid: u32,
    },
    /// The new folder.
    Folder(Result<PathBuf, String>),
    /// The folders of the new groups, one per hierarchy needed.
    Group(Result<Vec<PathBuf>, String>),
    /// Its process id.
    Started(Result<u32, LaunchError>),
    /// The last lines.
    Last(Vec<String>),
    /// Everything has ended.
    Stopped(Vec<ProgramLog>),
    /// It printed the awaited line.
    Said(String),
    /// It ended without being asked to.
    Ended(ProgramEnd),
}

/// How a program ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramEnd {
    /// Its name in the plan.
    pub name: String,
    /// Its exit status, in words.
    pub status: String,
    /// Whether that is success.
    pub well: bool,
    /// The last lines it printed.
    pub last: Vec<String>,
}

/// Why something is not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchError {
    /// A file cannot be written: its path, and why.
    File(String, String),
    /// A limit cannot be set.
    Limits(String),
    /// It cannot be executed.
    Start(String),
}
