//! A run that is compared: which it is, and how it is called beside the others.

use crate::wording::quoted;
use record::{Label, Machine, RunId, RunKind};

/// One of the runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRun {
    /// Which.
    pub id: RunId,
    /// How it is called here: its name, if no other of them has the same, or its id.
    pub title: String,
    /// Its command.
    pub command: RunKind,
    /// The target as shown to people.
    pub target: String,
    /// Milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Where it was made.
    pub machine: Machine,
    /// What people call it.
    pub label: Label,
    /// What gave first, in one sentence; none if nothing did, or nothing was watched.
    pub gave: Option<String>,
}

impl ComparedRun {
    /// How a sentence calls it.
    pub(super) fn display_name(&self) -> String {
        if self.title == self.id.0 { self.title.clone() } else { quoted(&self.title) }
    }
}
