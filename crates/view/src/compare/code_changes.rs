//! Which functions of two profiled runs cost more or less processor time per request.

use crate::RunView;
use record::Profile;
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
        let (first, other) = (profile_under_load(first)?, profile_under_load(other)?);
        let changes = |spent| request_changes(first, other, spent);
        Some(Self { itself: changes(CodeScope::Itself)?, with_callees: changes(CodeScope::WithCallees)? })
    }
}

/// A search's first profile is from well below its limit.
fn profile_under_load(view: &RunView) -> Option<&Profile> {
    view.profiles.iter().find(|profile| profile.requests > Some(0))
}

/// Changes beyond chance, largest first.
pub(super) fn sure(changes: &[CodeChange]) -> Vec<&CodeChange> {
    let mut significant: Vec<&CodeChange> = changes.iter().filter(|change| change.is_sure()).collect();
    significant.sort_by(|a, b| b.difference.value.abs().total_cmp(&a.difference.value.abs()));
    significant
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{CallNode, CodeFunction, Profile, StackCount};

    fn run(samples: [u64; 2]) -> RunView {
        let function = |name: &str| CodeFunction { name: name.to_owned(), module: 0, file: None, line: None };
        let profile = Profile {
            hz: 100,
            samples: samples.iter().sum(),
            requests: Some(1000),
            functions: vec![function("render"), function("parse")],
            calls: vec![CallNode::new(None, 0), CallNode::new(None, 1)],
            stacks: (0..).zip(samples).map(|(place, samples)| StackCount(0, place, samples)).collect(),
            ..Profile::default()
        };
        RunView { profiles: vec![profile], ..RunView::default() }
    }

    #[test]
    fn what_costs_more_is_told_from_chance() {
        let changes = CodeChanges::between(&run([500, 300]), &run([900, 310])).expect("both have a profile");
        assert_eq!(sure(&changes.itself), sure(&changes.with_callees), "nobody calls another");
        let sure = sure(&changes.itself);
        assert_eq!(sure.iter().map(|change| change.name.as_str()).collect::<Vec<_>>(), ["render"]);
        let near = |seconds: f64, expected: f64| (seconds - expected).abs() < 1e-9;
        assert!(near(sure[0].difference.value, 0.004) && near(sure[0].before, 0.005), "{sure:?}");
        assert!(CodeChanges::between(&run([500, 300]), &RunView::default()).is_none());
    }
}
