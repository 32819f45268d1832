use engine::reason;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

/// Why a storm cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No command was given.
    #[error("no command was given; expected one after --, as in: -- true")]
    NoCommand,
    /// There is no such program.
    #[error("{}", not_found(.name, .searched))]
    NotFound {
        /// Its name.
        name: OsString,
        /// The PATH that was searched; none of a name with a slash.
        searched: Option<OsString>,
    },
    /// It exists, but cannot be executed.
    #[error("'{path}' cannot be executed: {why}")]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The job log, or the file for the programs' output.
    #[error("'{path}' cannot be written: {}", reason(.why))]
    File {
        /// Which.
        path: PathBuf,
        /// The kernel's reason.
        why: io::Error,
    },
    /// A launcher cannot start.
    #[error("no launcher can be started: {}", reason(.0))]
    Start(io::Error),
    /// This process may open too few files for this many processes at once.
    #[error(
        "{wanted} processes at once need as many descriptors, and only {room} are free; raise the limit with ulimit -n, or \
         lower --parallel"
    )]
    Descriptors {
        /// Processes asked for.
        wanted: u32,
        /// The most that are possible.
        room: u64,
    },
}

fn not_found(name: &OsStr, searched: &Option<OsString>) -> String {
    let name = name.display();
    match searched {
        Some(searched) => format!(
            "there is no program '{name}' in PATH, which is {}; give its path, or install it",
            searched.display()
        ),
        None => format!("'{name}': there is no such file; give the path of a program"),
    }
}
