//! Errors before there is any load, and why there is no connection.

use record::{ExhaustedResource, Failure};
use rustix::io::Errno;
use std::io;
use std::time::Duration;
use units::Nanos;

/// How long a first connection may take before the target counts as unreachable.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Why the load cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name has no address.
    #[error("the name '{host}' does not resolve: {why}; check the spelling, or give the address")]
    Resolve {
        /// The name.
        host: String,
        /// The resolver's reason.
        why: String,
    },
    /// No connection.
    #[error("{}", unreachable(.to, .why))]
    Connect {
        /// Address or path.
        to: String,
        /// The kernel's reason.
        why: io::Error,
    },
    /// No TLS session.
    #[error(
        "no TLS session with {to}: {why}; use the right name, name the CA's file in SSL_CERT_FILE, or accept any certificate \
         with --insecure"
    )]
    Tls {
        /// The origin.
        to: String,
        /// What was wrong.
        why: String,
    },
    /// No session with a database, or a statement that it rejects.
    #[error("{to}: {why}")]
    Session {
        /// Address or path.
        to: String,
        /// The server's message, and what to do.
        why: String,
    },
    /// Bytes arrived, but no HTTP.
    #[error("{to} does not speak HTTP as asked: {why}; check the port, and http or https")]
    NotHttp {
        /// The origin.
        to: String,
        /// What was wrong.
        why: String,
    },
    /// Nothing arrived in time.
    #[error(
        "{to} accepts connections but did not answer within {waited}; raise --timeout, or look at the service"
    )]
    NoAnswer {
        /// The origin.
        to: String,
        /// The timeout.
        waited: Nanos,
    },
    /// The machine does not let the loops start.
    #[error("cannot start the load engine: {0}")]
    Start(io::Error),
    /// Something in the plan cannot be prepared.
    #[error("{0}")]
    Plan(String),
}

/// Why there is no connection, and what to check.
fn unreachable(to: &str, why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!(
                "{to} refuses connections: nothing listens there; start the service, or check host and port"
            )
        }
        io::ErrorKind::NotFound => {
            format!("{to}: there is no such socket; start the service, or check the path")
        }
        io::ErrorKind::TimedOut => format!(
            "{to} does not answer within {} s; check the address, the route and the firewall",
            CONNECT_LIMIT.as_secs()
        ),
        _ => match exhausted_resource(why) {
            Some(resource) => format!(
                "cannot connect to {to}: torment has no {resource} left; see ulimit -n and ip_local_port_range"
            ),
            None => format!("cannot connect to {to}: {}; check host and port", reason(why)),
        },
    }
}

/// The kernel's reason without Rust's error number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// The failure of a request that got no connection.
pub(crate) fn connect_failure(why: &io::Error) -> Failure {
    match exhausted_resource(why) {
        Some(resource) => Failure::Lacking(resource),
        // From a login for which the database has no session left.
        None if why.kind() == io::ErrorKind::ResourceBusy => Failure::Full(reason(why)),
        None => Failure::Connect(reason(why)),
    }
}

/// The resource that the generator's machine has run out of, if that is what the kernel says.
pub fn exhausted_resource(error: &io::Error) -> Option<ExhaustedResource> {
    match Errno::from_io_error(error)? {
        Errno::MFILE | Errno::NFILE => Some(ExhaustedResource::Descriptor),
        Errno::ADDRNOTAVAIL => Some(ExhaustedResource::Port),
        Errno::NOSPC => Some(ExhaustedResource::Watch),
        Errno::NOBUFS | Errno::NOMEM => Some(ExhaustedResource::Memory),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lacking_is_told_by_the_kernels_number() {
        let of = |errno: Errno| connect_failure(&io::Error::from(errno));
        for (errno, expected) in [
            (Errno::MFILE, Failure::Lacking(ExhaustedResource::Descriptor)),
            (Errno::NFILE, Failure::Lacking(ExhaustedResource::Descriptor)),
            (Errno::ADDRNOTAVAIL, Failure::Lacking(ExhaustedResource::Port)),
            (Errno::NOSPC, Failure::Lacking(ExhaustedResource::Watch)),
            (Errno::NOBUFS, Failure::Lacking(ExhaustedResource::Memory)),
            (Errno::NOMEM, Failure::Lacking(ExhaustedResource::Memory)),
            (Errno::CONNREFUSED, Failure::Connect("connection refused".to_owned())),
        ] {
            assert_eq!(of(errno), expected);
        }
        let full = io::Error::new(io::ErrorKind::ResourceBusy, "Sorry, too many clients");
        assert_eq!(connect_failure(&full), Failure::Full("sorry, too many clients".to_owned()));
        let other = io::Error::other("too many open files, says a proxy");
        assert_eq!(connect_failure(&other), Failure::Connect("too many open files, says a proxy".to_owned()));
    }
}
