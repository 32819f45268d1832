//! `torment find working-set`: where the cliff is, and the hyperbola that explains it.

use super::probe::machine;
use super::unfinished;
use crate::document::indent_all;
use crate::figure_tables::tables;
use crate::{RunView, Text, Tone};
use record::{CacheModel, Verdict};
use units::Bytes;

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let mut lines = indent_all(unfinished(view));
    let verdict = verdict(view);
    if !verdict.is_empty() {
        lines.extend(indent_all(verdict));
        lines.push(Text::empty());
    }
    lines.extend(machine(view));
    lines.extend(tables(&view.figures, &view.notes));
    lines.push(Text::empty());
    lines
}

/// Where the cliff is, or the state.
pub(super) fn headline_lines(view: &RunView) -> Vec<Text> {
    unfinished(view).into_iter().chain(verdict(view)).collect()
}

fn verdict(view: &RunView) -> Vec<Text> {
    let mut lines = Vec::new();
    if let Some(Verdict::WorkingSet { model, half_predicted, half_measured }) = view.verdict() {
        lines.push(match half_measured {
            Some(half) => Text::new(Tone::Strong, half_as_fast(*half)),
            None => {
                Text::new(Tone::Warn, "no size was found at which the rate is half of that from the cache")
            }
        });
        if let Some(CacheModel { hit, miss, cache }) = model {
            lines.push(Text::plain(format!(
                "why: {cache} fit; a read costs {hit} from there and {miss} from behind it"
            )));
        }
        if let Some(predicted) = half_predicted {
            lines.push(Text::new(Tone::Faint, format!("predicted from these three: half at {predicted}")));
        }
    }
    lines
}

/// The size at which reads are half as fast as from the cache: between the largest with more than half, and the smallest with less.
pub(crate) fn half_as_fast((more, less): (Bytes, Bytes)) -> String {
    format!("half as fast between {more} and {less} of working set")
}
