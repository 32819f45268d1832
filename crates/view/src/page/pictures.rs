//! What a run came to, as a picture: its first screen shows it beside the verdict.

mod asked;
mod bars;
mod effects;
mod limit;
mod threads;
mod working_set;

pub(crate) use effects::{DOWN, UP};
pub(crate) use limit::knee;

use crate::document::Chart;
use crate::{Kind, RunView};

/// Of a run that found a limit, what was tried and what became of it; of an experiment the effects, of the machine its figures. Of a
/// load nothing, but of one of processes where the time of one goes.
pub(crate) fn of(view: &RunView) -> Vec<Chart> {
    match view.kind() {
        Kind::Search => [limit::of(view), bars::alone(view)].concat(),
        Kind::Experiment => effects::of(view),
        Kind::Sheet => bars::of(view),
        Kind::Tasks => threads::of(view),
        Kind::WorkingSet => working_set::of(view),
        Kind::Profile => Vec::new(),
        Kind::Load => bars::alone(view),
    }
}
