//! What can be found beside the rate of requests.

use super::{ConnectionsArgs, ProcessesArgs, ThreadsArgs, WorkingSetArgs};
use clap::Subcommand;

/// Another limit than a rate.
#[derive(Debug, Subcommand)]
#[allow(missing_docs, reason = "a comment here would take the place of the help text of its arguments")]
pub enum OtherLimit {
    Connections(Box<ConnectionsArgs>),
    Processes(Box<ProcessesArgs>),
    Threads(ThreadsArgs),
    WorkingSet(WorkingSetArgs),
}
