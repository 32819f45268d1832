use std::fmt;
use units::Nanos;

/// Why what a plan names cannot be started, or did not stay.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// It does not start at all.
    Start {
        /// Its name in the plan.
        program: String,
        /// What was found, and what was expected.
        why: String,
    },
    /// What builds it failed.
    Prepare {
        /// Its name in the plan.
        program: String,
        /// What was run.
        command: String,
        /// How that ended: `exit status 1`, `signal 9 (KILL)`.
        status: String,
        /// The last lines it printed.
        last: Vec<String>,
    },
    /// It ended although nobody asked it to.
    Ended {
        /// Its name in the plan.
        program: String,
        /// How it ended.
        status: String,
        /// The last lines it printed.
        last: Vec<String>,
    },
    /// It runs, but could not be used in time.
    NotReady {
        /// Its name in the plan.
        program: String,
        /// What was waited for, and what was seen instead.
        awaited: String,
        /// For how long.
        within: Nanos,
        /// The last lines it printed.
        last: Vec<String>,
    },
    /// Somebody else listens where it would.
    PortTaken {
        /// Its name in the plan.
        program: String,
        /// The port.
        port: u16,
        /// Name and number of the process that listens, if this user may know.
        by: Option<(String, u32)>,
    },
    /// Its limits may not be set.
    Limits {
        /// Its name in the plan.
        program: String,
        /// Which file or permission, and what would help.
        why: String,
    },
    /// A file that it needs.
    File {
        /// Its name in the plan.
        program: String,
        /// The file or folder.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// PostgreSQL is not there.
    NoPostgres,
    /// A database does not take a file of SQL.
    Sql {
        /// The file.
        file: String,
        /// The line, if the server says where.
        line: Option<usize>,
        /// The server's message.
        why: String,
    },
    /// The process that starts and ends everything does not do so.
    Guard(String),
    /// Somebody did not want to wait any longer.
    Interrupted,
}

impl Error {
    pub(crate) fn start(program: &str, why: impl fmt::Display) -> Self {
        Self::Start { program: program.to_owned(), why: why.to_string() }
    }

    pub(crate) fn file(program: &str, path: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self::File { program: program.to_owned(), path: path.to_string(), why: why.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { program, why } => write!(f, "{program} does not start: {why}"),
            Self::Prepare { program, command, status, last } => {
                write!(f, "{program} is not built: '{command}' ended with {status}")?;
                lines(f, last)
            }
            Self::Ended { program, status, last } => {
                write!(f, "{program} ended with {status}, though nothing stopped it")?;
                lines(f, last)
            }
            Self::NotReady { program, awaited, within, last } => {
                write!(f, "{program} runs, but was not ready within {within}: {awaited}; allow more time \
                           with `within`, or correct `ready`")?;
                lines(f, last)
            }
            Self::PortTaken { program, port, by: Some((name, pid)) } => write!(
                f,
                "{program} cannot use port {port}: process {pid} ({name}) listens there; stop it, or \
                 choose another port"
            ),
            Self::PortTaken { program, port, by: None } => write!(
                f,
                "{program} cannot use port {port}: a process that this user may not look into listens \
                 there; find it with `ss -ltnp` as root, or choose another port"
            ),
            Self::Limits { program, why } => write!(f, "the limits of {program} cannot be set: {why}"),
            Self::File { program, path, why } => write!(f, "{program}: '{path}': {why}"),
            Self::NoPostgres => f.write_str(
                "PostgreSQL is not installed: no initdb and postgres below /usr/lib/postgresql or in PATH (apt-get install postgresql)",
            ),
            Self::Sql { file, line: Some(line), why } => write!(f, "'{file}', line {line}: {why}"),
            Self::Sql { file, line: None, why } => write!(f, "'{file}': {why}"),
            Self::Guard(why) => write!(f, "the process that starts and ends the service: {why}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}

/// What a program printed last, or that it did not print anything.
fn lines(f: &mut fmt::Formatter<'_>, last: &[String]) -> fmt::Result {
    if last.is_empty() {
        return f.write_str("; it printed nothing");
    }
    f.write_str("; its last lines:")?;
    last.iter().try_for_each(|line| write!(f, "\n    {line}"))
}
