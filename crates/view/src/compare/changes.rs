//! Which functions of two profiled runs differ.

use crate::RunView;
use stacks::{CodeChange, CodeScope, request_changes};

/// How a run's functions differ from those of the first run.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeChanges {
    /// By self time.
    pub(super) itself: Vec<CodeChange>,
    /// By time including callees.
    pub(super) with_callees: Vec<CodeChange>,
}

impl CodeChanges {
    /// `None` if either run has no profile under load.
    pub(super) fn between(first: &RunView, other: &RunView) -> Option<Self> {
        // A search's first profile is from well below its limit.
        let of = |view: &RunView| view.profiles.iter().find(|profile| profile.requests > Some(0)).cloned();
        let (first, other) = (of(first)?, of(other)?);
        let changes = |spent| request_changes(&first, &other, spent);
        Some(Self { itself: changes(CodeScope::Itself)?, with_callees: changes(CodeScope::WithCallees)? })
    }
}
