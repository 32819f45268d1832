//! Which functions of two profiled runs differ.

use crate::RunView;
use stacks::{CodeChange, CodeScope, request_changes};

/// How the functions of a run differ from those of the first one.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeChanges {
    /// In what they do themselves,
    pub(super) itself: Vec<CodeChange>,
    /// and with what they call.
    pub(super) with_callees: Vec<CodeChange>,
}

impl CodeChanges {
    /// None if one of the two has no profile under a load.
    pub(super) fn between(first: &RunView, other: &RunView) -> Option<Self> {
        // A search has one of well below its limit first.
        let of = |view: &RunView| view.profiles.iter().find(|profile| profile.requests > Some(0)).cloned();
        let (first, other) = (of(first)?, of(other)?);
        let changes = |spent| request_changes(&first, &other, spent);
        Some(Self { itself: changes(CodeScope::Itself)?, with_callees: changes(CodeScope::WithCallees)? })
    }
}
