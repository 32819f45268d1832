//! `torment profile`: what ran most, then the tables.

use super::unfinished;
use crate::document::indented;
use crate::profile::section;
use crate::{RunView, Text, Tone};
use record::Verdict;

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let mut lines = indented(first(view));
    for profile in &view.profiles {
        lines.extend(section(profile).lines().into_iter().skip(2));
    }
    lines.push(Text::empty());
    lines
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
