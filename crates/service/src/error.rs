use std::fmt;
use units::Nanos;

/// Why what a plan names cannot be started, or did not stay up.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// It does not start at all.
    #[error("{program} does not start: {why}")]
    Start {
        /// Its name in the plan.
        program: String,
        /// What was found, and what was expected.
        why: String,
    },
    /// Its build failed.
    #[error("{program} is not built: '{command}' ended with {status}{}", lines(.last))]
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
    #[error("{program} ended with {status}, though nothing stopped it{}", lines(.last))]
    Ended {
        /// Its name in the plan.
        program: String,
        /// How it ended.
        status: String,
        /// The last lines it printed.
        last: Vec<String>,
    },
    /// It runs, but was not ready in time.
    #[error(
        "{program} runs, but was not ready within {within}: {awaited}; allow more time with `within`, or correct `ready`{}",
        lines(.last)
    )]
    NotReady {
        /// Its name in the plan.
        program: String,
        /// What was awaited, and what was seen instead.
        awaited: String,
        /// For how long.
        within: Nanos,
        /// The last lines it printed.
        last: Vec<String>,
    },
    /// Another process listens on its port.
    #[error("{program} cannot use port {port}: {}, or choose another port", listener(.by))]
    PortTaken {
        /// Its name in the plan.
        program: String,
        /// The port.
        port: u16,
        /// Name and process id of the listener, if this user may know.
        by: Option<(String, u32)>,
    },
    /// Its limits cannot be set.
    #[error("the limits of {program} cannot be set: {why}")]
    Limits {
        /// Its name in the plan.
        program: String,
        /// Which file or permission, and what would help.
        why: String,
    },
    /// A file that it needs.
    #[error("{program}: '{path}': {why}")]
    File {
        /// Its name in the plan.
        program: String,
        /// The file or folder.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// PostgreSQL is not installed.
    #[error(
        "PostgreSQL is not installed: no initdb and postgres below /usr/lib/postgresql or in PATH (apt-get install postgresql)"
    )]
    NoPostgres,
    /// A database rejects an SQL file.
    #[error("'{file}'{}: {why}", .line.map_or_else(String::new, |line| format!(", line {line}")))]
    Sql {
        /// The file.
        file: String,
        /// The line, if the server gives it.
        line: Option<usize>,
        /// The server's message.
        why: String,
    },
    /// The guard, which starts and ends everything, fails.
    #[error("the process that starts and ends the service: {0}")]
    Guard(String),
    /// The wait was interrupted.
    #[error("interrupted")]
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

/// The port's listener, and what to do about it.
fn listener(by: &Option<(String, u32)>) -> String {
    match by {
        Some((name, pid)) => format!("process {pid} ({name}) listens there; stop it"),
        None => "a process that this user may not look into listens there; find it with `ss -ltnp` as root"
            .to_owned(),
    }
}

/// The last lines a program printed, or that it printed none.
fn lines(last: &[String]) -> String {
    match last {
        [] => "; it printed nothing".to_owned(),
        _ => format!("; its last lines:\n    {}", last.join("\n    ")),
    }
}
