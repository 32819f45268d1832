//! Why the service could not start.

use std::{fmt, io};

use crate::Listen;

/// Why a service could not start. Each message ends in what can be done.
#[derive(Debug)]
pub enum Error {
    /// Somebody listens there already.
    AddressTaken {
        /// The address asked for.
        address: Listen,
        /// The process that has it, when that can be found out.
        holder: Option<String>,
    },
    /// The kernel does not let us listen there.
    Listen {
        /// The address asked for.
        address: Listen,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The database URL cannot be understood; it is not repeated, for it may hold a password.
    DatabaseUrl {
        /// What is wrong with it.
        found: String,
    },
    /// The database cannot be reached or used.
    Database {
        /// File or address, without a password.
        place: String,
        /// What it said.
        found: String,
        /// What can be done.
        advice: &'static str,
    },
    /// A number of threads or connections is zero or absurd.
    Count {
        /// Of what.
        what: &'static str,
        /// The number given.
        count: usize,
        /// The largest number taken.
        most: usize,
    },
    /// Threads, or the descriptors they need, could not be had.
    Threads(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddressTaken { address, holder: Some(holder) } => {
                write!(f, "{address} is taken by {holder}; stop it or listen elsewhere")
            }
            Self::AddressTaken { address, holder: None } => {
                write!(f, "{address} is taken by another process; stop it or listen elsewhere")
            }
            Self::Listen { address, source } => {
                write!(f, "cannot listen on {address}: {source}; choose another address, such as 127.0.0.1:0")
            }
            Self::DatabaseUrl { found } => write!(
                f,
                "the database URL is not understood: {found}; \
                 write it like postgres://user:password@127.0.0.1:5432/clinic"
            ),
            Self::Database { place, found, advice } => write!(f, "cannot use {place}: {found}; {advice}"),
            Self::Count { what, count, most } => {
                write!(f, "{count} {what} were asked for; give a number from 1 to {most}")
            }
            Self::Threads(source) => {
                write!(f, "cannot start the service's threads: {source}; ask for fewer or raise `ulimit -u`")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen { source, .. } | Self::Threads(source) => Some(source),
            _ => None,
        }
    }
}
