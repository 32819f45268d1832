//! What a run came to, as a picture: its first screen shows it beside the verdict.

mod asked;
mod effects;
mod limit;

use crate::document::Chart;
use crate::{Kind, RunView};

/// Of a search and of an experiment; nothing of others.
pub(crate) fn of(view: &RunView) -> Vec<Chart> {
    match view.kind() {
        Kind::Search => limit::of(view),
        Kind::Experiment => effects::of(view),
        _ => Vec::new(),
    }
}
