use engine::reason;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Why nothing can be started, before anything was.
#[derive(Debug)]
pub enum Error {
    /// No command was given.
    Nothing,
    /// There is no such program.
    NotFound {
        /// Its name.
        name: OsString,
        /// The PATH that was searched; none of a name with a slash.
        searched: Option<OsString>,
    },
    /// There is one, and it cannot be executed.
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The job log, or what takes the programs' output.
    File {
        /// Which.
        path: PathBuf,
        /// What the kernel says.
        why: io::Error,
    },
    /// A launcher cannot start.
    Start(io::Error),
    /// This process may open too few files for so many processes at once.
    Descriptors {
        /// Processes asked for.
        wanted: u32,
        /// Processes that there can be.
        room: u64,
    },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("no command was given; expected one after --, as in: -- true"),
            Self::NotFound { name, searched: Some(searched) } => write!(
                f,
                "there is no program '{}' in PATH, which is {}; give its path, or install it",
                name.display(),
                searched.display()
            ),
            Self::NotFound { name, searched: None } => {
                write!(f, "'{}': there is no such file; give the path of a program", name.display())
            }
            Self::NotExecutable { path, why } => write!(f, "'{}' cannot be executed: {why}", path.display()),
            Self::File { path, why } => {
                write!(f, "'{}' cannot be written: {}", path.display(), reason(why))
            }
            Self::Start(why) => write!(f, "no launcher can be started: {}", reason(why)),
            Self::Descriptors { wanted, room } => write!(
                f,
                "{wanted} processes at once need as many descriptors, and only {room} are free; raise the \
                 limit with ulimit -n, or lower --parallel"
            ),
        }
    }
}

impl std::error::Error for Error {}
