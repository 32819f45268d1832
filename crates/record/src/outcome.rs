use serde::{Deserialize, Serialize};

/// What became of one arrival, by its due time. Every arrival ends in exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Answered as expected, within the deadline if there is one.
    Ok,
    /// Answered as expected, but longer after its due time than the deadline allows.
    Late,
    /// Answered otherwise than expected, or not to be had: status, protocol, connection.
    Failed,
    /// No complete answer within the time-out, counted from the due time.
    Timeout,
    /// Not started: as many requests as allowed were already waiting for the target.
    Refused,
    /// Not started: the generator itself was behind.
    Unsent,
    /// Still open when the trial and its drain were over.
    Unfinished,
}

impl Outcome {
    /// All, in the order they are shown.
    pub const ALL: [Self; 7] =
        [Self::Ok, Self::Late, Self::Failed, Self::Timeout, Self::Refused, Self::Unsent, Self::Unfinished];

    /// The word used in JSON and in every face.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Late => "late",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Unsent => "unsent",
            Self::Unfinished => "unfinished",
        }
    }

    /// Whether it counts against the target. `Unsent` does not: it makes the trial invalid instead.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Ok | Self::Unsent)
    }
}

/// How many arrivals ended in each outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcomes {
    /// [`Outcome::Ok`].
    pub ok: u64,
    /// [`Outcome::Late`].
    pub late: u64,
    /// [`Outcome::Failed`].
    pub failed: u64,
    /// [`Outcome::Timeout`].
    pub timeout: u64,
    /// [`Outcome::Refused`].
    pub refused: u64,
    /// [`Outcome::Unsent`].
    pub unsent: u64,
    /// [`Outcome::Unfinished`].
    pub unfinished: u64,
}

impl Outcomes {
    /// The count of one outcome.
    pub fn get(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Ok => self.ok,
            Outcome::Late => self.late,
            Outcome::Failed => self.failed,
            Outcome::Timeout => self.timeout,
            Outcome::Refused => self.refused,
            Outcome::Unsent => self.unsent,
            Outcome::Unfinished => self.unfinished,
        }
    }

    /// Adds `count` arrivals that ended so.
    pub fn add(&mut self, outcome: Outcome, count: u64) {
        *match outcome {
            Outcome::Ok => &mut self.ok,
            Outcome::Late => &mut self.late,
            Outcome::Failed => &mut self.failed,
            Outcome::Timeout => &mut self.timeout,
            Outcome::Refused => &mut self.refused,
            Outcome::Unsent => &mut self.unsent,
            Outcome::Unfinished => &mut self.unfinished,
        } += count;
    }

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

    /// Those that count against the target.
    pub fn bad(&self) -> u64 {
        Outcome::ALL.iter().filter(|o| o.is_bad()).map(|o| self.get(*o)).sum()
    }

    /// Complete answers of the expected kind, in time or late.
    pub fn answered(&self) -> u64 {
        self.ok + self.late
    }
}

/// Why an arrival ended [`Outcome::Failed`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// An answer with a status that the plan does not expect.
    Status(u16),
    /// The connection could not be made; the reason in the kernel's or TLS's words.
    Connect(String),
    /// The connection ended before the answer did.
    Closed,
    /// The answer is not what the protocol allows; what was wrong with it.
    Protocol(String),
    /// The server refused one HTTP/2 stream; its error's name.
    Reset(String),
    /// A call of gRPC did not end with status 0; its code, the code's name, and what the server says about it.
    Grpc(String),
    /// The database answered with an error; its SQLSTATE and what that means.
    Database(String),
    /// The answer is not what the plan expects beside its status, or lacks what a later step needs.
    Check(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(code) => write!(f, "status {code}"),
            Self::Connect(why) => write!(f, "no connection: {why}"),
            Self::Closed => f.write_str("connection closed before the answer was complete"),
            Self::Protocol(why) => write!(f, "not understood: {why}"),
            Self::Reset(why) => write!(f, "stream reset: {why}"),
            Self::Grpc(why) => write!(f, "grpc-status {why}"),
            Self::Database(why) => write!(f, "database: {why}"),
            Self::Check(why) => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;

    /// Runs are stored with these names: one that changes makes old runs unreadable.
    #[test]
    fn failures_keep_the_names_that_they_are_stored_by() {
        let text = || "x".to_owned();
        for (failure, stored) in [
            (Failure::Status(503), r#"{"status":503}"#),
            (Failure::Connect(text()), r#"{"connect":"x"}"#),
            (Failure::Closed, r#""closed""#),
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
