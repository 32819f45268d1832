use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Each outcome with its counting field, which is also its name.
macro_rules! outcomes {
    ($($(#[$about:meta])* $outcome:ident $count:ident;)*) => {
        /// What became of one arrival, by its due time. Every arrival ends in exactly one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Outcome {
            $($(#[$about])* $outcome,)*
        }

        /// How many arrivals ended in each outcome.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Outcomes {
            $($(#[$about])* pub $count: u64,)*
        }

        impl Outcome {
            /// All, in display order.
            pub const ALL: [Self; 7] = [$(Self::$outcome),*];

            /// Its name, in JSON and everywhere shown.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$outcome => stringify!($count),)*
                }
            }
        }

        impl Outcomes {
            /// The count of one outcome.
            pub fn get(&self, outcome: Outcome) -> u64 {
                match outcome {
                    $(Outcome::$outcome => self.$count,)*
                }
            }

            /// Adds `count` arrivals with this outcome.
            pub fn add(&mut self, outcome: Outcome, count: u64) {
                *match outcome {
                    $(Outcome::$outcome => &mut self.$count,)*
                } += count;
            }
        }
    };
}

outcomes! {
    /// Answered as expected, within the deadline if there is one.
    Ok ok;
    /// Answered as expected, but after the deadline.
    Late late;
    /// Answered otherwise than expected, or not at all: status, protocol, connection.
    Failed failed;
    /// No complete answer within the timeout, counted from the due time.
    Timeout timeout;
    /// Not started: the maximum number of requests was already outstanding.
    Refused refused;
    /// Not started: the generator itself was behind.
    Unsent unsent;
    /// Still open at the end of the drain.
    Unfinished unfinished;
}

impl Outcome {
    /// Whether it counts against the target. `Unsent` does not: it voids the trial instead.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Ok | Self::Unsent)
    }
}

impl Outcomes {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for outcome in Outcome::ALL {
            self.add(outcome, other.get(outcome));
        }
    }

    /// All arrivals that have ended.
    pub fn total(&self) -> u64 {
        Outcome::ALL.iter().map(|o| self.get(*o)).sum()
    }

    /// Arrivals that count against the target.
    pub fn bad(&self) -> u64 {
        Outcome::ALL.iter().filter(|o| o.is_bad()).map(|o| self.get(*o)).sum()
    }

    /// Complete answers of the expected kind, in time or late.
    pub fn answered(&self) -> u64 {
        self.ok + self.late
    }
}

/// A resource of its own machine that torment ran out of. It says nothing about the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExhaustedResource {
    /// A descriptor: `RLIMIT_NOFILE` of the process, or `fs.file-max` (EMFILE, ENFILE).
    Descriptor,
    /// A local port to the target's address: `net.ipv4.ip_local_port_range` (EADDRNOTAVAIL).
    Port,
    /// A descriptor watched by epoll: `fs.epoll.max_user_watches` (ENOSPC).
    Watch,
    /// Kernel memory for sockets (ENOBUFS, ENOMEM).
    Memory,
}

impl std::fmt::Display for ExhaustedResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Descriptor => "descriptor",
            Self::Port => "local port",
            Self::Watch => "watch of epoll",
            Self::Memory => "kernel socket buffer",
        })
    }
}

/// Why an arrival ended [`Outcome::Failed`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", remote = "Self")]
pub enum Failure {
    /// An answer with a status that the plan does not expect.
    Status(u16),
    /// The connection could not be made; the kernel's or TLS's reason.
    Connect(String),
    /// The database accepts no more sessions (SQLSTATE 53300); its message.
    Full(String),
    /// torment itself ran out of this.
    Lacking(ExhaustedResource),
    /// The connection ended before the answer did.
    Closed,
    /// A connection that had answered before ended without a byte of this answer; and why the request was not resent.
    Dropped(String),
    /// The answer violates the protocol; how.
    Protocol(String),
    /// The server refused one HTTP/2 stream; its error's name.
    Reset(String),
    /// A gRPC call did not end with status 0; its code, the code's name, and the server's message.
    Grpc(String),
    /// The database answered with an error; its SQLSTATE and its meaning.
    Database(String),
    /// The answer does not match the plan beyond its status, or lacks what a later step needs.
    Check(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(code) => write!(f, "status {code}"),
            Self::Connect(why) | Self::Full(why) => write!(f, "no connection: {why}"),
            Self::Lacking(lack) => write!(f, "torment has no {lack} left"),
            Self::Closed => f.write_str("connection closed before the answer was complete"),
            Self::Dropped(why) => write!(f, "the server closed a used connection; {why}"),
            Self::Protocol(why) => write!(f, "not understood: {why}"),
            Self::Reset(why) => write!(f, "stream reset: {why}"),
            Self::Grpc(why) => write!(f, "grpc-status {why}"),
            Self::Database(why) => write!(f, "database: {why}"),
            Self::Check(why) => f.write_str(why),
        }
    }
}

impl Failure {
    /// The SQLSTATE (PostgreSQL's documentation, appendix A) that [`Failure::Database`] begins with.
    pub fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Database(why) => why.get(..5),
            _ => None,
        }
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// Before exhausted resources had names of their own, [`Failure::Connect`] held their messages.
impl<'de> Deserialize<'de> for Failure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Self::deserialize(deserializer)? {
            Self::Connect(why) if why.starts_with("too many open files") => {
                Self::Lacking(ExhaustedResource::Descriptor)
            }
            Self::Connect(why)
                if why == "cannot assign requested address" || why == "address not available" =>
            {
                Self::Lacking(ExhaustedResource::Port)
            }
            Self::Connect(why) if why.contains("(53300)") => Self::Full(why),
            failure => failure,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// torment's own exhausted resources were once identified among the target's failures by the kernel's message, and taken for the
    /// database's limit where the two were alike. Runs stored so are read as what they meant.
    #[test]
    fn stored_failures_are_read_as_what_they_meant() {
        let full = "the server says: sorry, too many clients already (53300); --pool is 5: lower it";
        for (stored, expected) in [
            (r#"{"connect":"too many open files"}"#, Failure::Lacking(ExhaustedResource::Descriptor)),
            (
                r#"{"connect":"too many open files in system"}"#,
                Failure::Lacking(ExhaustedResource::Descriptor),
            ),
            (r#"{"connect":"cannot assign requested address"}"#, Failure::Lacking(ExhaustedResource::Port)),
            (r#"{"connect":"address not available"}"#, Failure::Lacking(ExhaustedResource::Port)),
            (r#"{"connect":"connection refused"}"#, Failure::Connect("connection refused".to_owned())),
            (format!(r#"{{"connect":"{full}"}}"#).as_str(), Failure::Full(full.to_owned())),
            (r#"{"status":503}"#, Failure::Status(503)),
            (r#""closed""#, Failure::Closed),
            (r#"{"database":"57014 canceled"}"#, Failure::Database("57014 canceled".to_owned())),
            (r#"{"lacking":"port"}"#, Failure::Lacking(ExhaustedResource::Port)),
        ] {
            let read: Failure = serde_json::from_str(stored).expect(stored);
            assert_eq!(read, expected, "{stored}");
            let again = serde_json::to_string(&read).expect("it can be stored");
            assert_eq!(serde_json::from_str::<Failure>(&again).expect("it was stored"), expected, "{again}");
        }
        assert_eq!(Failure::Database("57014 canceled".to_owned()).sqlstate(), Some("57014"));
    }

    /// Runs are stored with these names: if one changes, old runs become unreadable.
    #[test]
    fn failures_keep_the_names_that_they_are_stored_by() {
        let text = || "x".to_owned();
        for (failure, stored) in [
            (Failure::Status(503), r#"{"status":503}"#),
            (Failure::Connect(text()), r#"{"connect":"x"}"#),
            (Failure::Closed, r#""closed""#),
            (Failure::Dropped(text()), r#"{"dropped":"x"}"#),
            (Failure::Protocol(text()), r#"{"protocol":"x"}"#),
            (Failure::Reset(text()), r#"{"reset":"x"}"#),
            (Failure::Grpc(text()), r#"{"grpc":"x"}"#),
            (Failure::Database(text()), r#"{"database":"x"}"#),
            (Failure::Check(text()), r#"{"check":"x"}"#),
        ] {
            assert_eq!(serde_json::to_string(&failure).expect("text"), stored);
            assert_eq!(serde_json::from_str::<Failure>(stored).expect("it was stored"), failure);
        }
    }
}
