//! What a run came to, as a picture: its first screen shows it beside the verdict.

mod effects;
mod limit;

use super::pages::Pages;
use crate::Kind;
use crate::document::Chart;

/// Of a search and of an experiment; nothing of others.
pub(super) fn of(pages: &Pages) -> Vec<Chart> {
    match pages.kind() {
        Kind::Search => limit::of(pages),
        Kind::Experiment => effects::of(pages),
        _ => Vec::new(),
    }
}
