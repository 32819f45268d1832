//! A run's result as a chart, shown on the first screen beside the verdict.

mod bars;
mod effects;
mod limit;
mod threads;
mod working_set;

pub(crate) use effects::{better_direction, better_side, with_ratio_bands};
pub(crate) use limit::knee;

use crate::document::Chart;
use crate::{ReportKind, RunView};

/// For a run that found a limit, what was tried and its outcome; for an experiment the effects, for the machine its figures. None for a
/// load, except of processes: where their time goes.
pub(crate) fn charts(view: &RunView) -> Vec<Chart> {
    match view.kind() {
        ReportKind::Search => [limit::charts(view), bars::process_charts(view)].concat(),
        ReportKind::Experiment => effects::charts(view),
        ReportKind::Probe => bars::charts(view),
        ReportKind::Tasks => threads::charts(view),
        ReportKind::WorkingSet => working_set::charts(view),
        ReportKind::Profile => Vec::new(),
        ReportKind::Load => bars::process_charts(view),
    }
}
