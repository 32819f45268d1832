use std::io;

/// Why there is no link, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine has no thread or descriptor for it.
    #[error("no link can be made here: {0}")]
    Start(#[source] io::Error),
    /// The credentials are invalid: why.
    #[error("the join file cannot be used: {0}")]
    Credentials(String),
    /// The coordinator rejects it: in its words.
    #[error("the coordinator refuses: {0}")]
    Refused(String),
    /// The other side is gone: how that showed.
    #[error("the coordinator is gone: {0}")]
    Gone(String),
}
