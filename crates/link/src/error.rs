use std::fmt;
use std::io;

/// Why there is no link, or no longer.
#[derive(Debug)]
pub enum Error {
    /// The machine has no thread or descriptor for it.
    Start(io::Error),
    /// What should let in does not: why.
    Pass(String),
    /// The coordinator does not take it: in its words.
    Refused(String),
    /// The other side is gone: how that showed.
    Gone(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(why) => write!(f, "no link can be made here: {why}"),
            Self::Pass(why) => write!(f, "the join file cannot be used: {why}"),
            Self::Refused(why) => write!(f, "the coordinator refuses: {why}"),
            Self::Gone(why) => write!(f, "the coordinator is gone: {why}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start(why) => Some(why),
            Self::Pass(_) | Self::Refused(_) | Self::Gone(_) => None,
        }
    }
}
