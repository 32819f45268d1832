//! Why the service could not start.

use std::io;

use crate::{ListenAddress, THREADS_LIMIT};

/// Why a service could not start. Each message ends with advice.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is in use.
    #[error("{address} is taken by {}; stop it or listen elsewhere", .holder.as_deref().unwrap_or("another process"))]
    AddressTaken {
        /// The address requested.
        address: ListenAddress,
        /// The process that has it, if known.
        holder: Option<String>,
    },
    /// The kernel does not let us listen there.
    #[error("cannot listen on {address}: {source}; choose another address, such as 127.0.0.1:0")]
    Listen {
        /// The address requested.
        address: ListenAddress,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The database URL is invalid; it is not repeated, since it may hold a password.
    #[error(
        "the database URL is not understood: {found}; write it like postgres://user:password@127.0.0.1:5432/clinic"
    )]
    DatabaseUrl {
        /// What is wrong with it.
        found: String,
    },
    /// The database cannot be reached or used.
    #[error("cannot use {place}: {found}; {advice}")]
    Database {
        /// File or address, without a password.
        place: String,
        /// Its error message.
        found: String,
        /// What to do.
        advice: &'static str,
    },
    /// A number of threads or connections is zero or absurd.
    #[error("{count} {what} were asked for; give a number from 1 to {THREADS_LIMIT}")]
    Count {
        /// Of what.
        what: &'static str,
        /// The number given.
        count: usize,
    },
    /// Threads, or the descriptors they need, are unavailable.
    #[error("cannot start the service's threads: {0}; ask for fewer or raise `ulimit -u`")]
    Threads(#[source] io::Error),
}
