//! What a run came to, as a picture: its first screen shows it beside the verdict.

mod bars;
mod current_trial;
mod effects;
mod limit;
mod threads;
mod working_set;

pub(crate) use effects::{DOWN, UP};
pub(crate) use limit::knee;

use crate::document::Chart;
use crate::{ReportKind, RunView};

/// Of a run that found a limit, what was tried and what became of it; of an experiment the effects, of the machine its figures. Of a
/// load nothing, but of one of processes where the time of one goes.
pub(crate) fn charts(view: &RunView) -> Vec<Chart> {
    match view.kind() {
        ReportKind::Search => [limit::charts(view), bars::process_charts(view)].concat(),
        ReportKind::Experiment => effects::charts(view),
        ReportKind::Sheet => bars::charts(view),
        ReportKind::Tasks => threads::charts(view),
        ReportKind::WorkingSet => working_set::charts(view),
        ReportKind::Profile => Vec::new(),
        ReportKind::Load => bars::process_charts(view),
    }
}
