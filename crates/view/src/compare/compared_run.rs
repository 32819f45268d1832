//! A compared run: its identity, and its title beside the others.

use crate::wording::quoted;
use record::{Label, Machine, RunId, RunKind};

/// A run in a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRun {
    /// Its id.
    pub id: RunId,
    /// Its name if unique among the runs, else its id.
    pub title: String,
    /// Its command.
    pub command: RunKind,
    /// The target, as displayed.
    pub target: String,
    /// Start, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The machine it ran on.
    pub machine: Machine,
    /// Its user-given label.
    pub label: Label,
    /// What gave first, in one sentence; `None` if nothing did, or nothing was watched.
    pub first_cause: Option<String>,
}

impl ComparedRun {
    /// Its name within a sentence.
    pub(super) fn display_name(&self) -> String {
        if self.title == self.id.0 { self.title.clone() } else { quoted(&self.title) }
    }
}
