//! `torment profile`: what ran most, then the tables.

use super::unfinished;
use crate::document::indented;
use crate::{RunView, Text, Tone, profile};
use record::Verdict;

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let first = indented(first(view));
    first.into_iter().chain(view.profiles.iter().flat_map(profile::lines)).collect()
}

/// The function that ran most often, or how it stands.
pub(super) fn first(view: &RunView) -> Vec<Text> {
    let most = match view.end.as_ref().and_then(|end| end.verdict.as_ref()) {
        Some(Verdict::Profiled { most: Some((name, share)), .. }) => {
            let text = format!("{:.0} % of its processor time", share * 100.0);
            Some(Text::empty().and(Tone::Strong, text).then(" is in ").and(Tone::Strong, name))
        }
        _ => None,
    };
    unfinished(view).into_iter().chain(most).collect()
}
