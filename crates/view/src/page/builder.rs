//! Folds a run's events into its page: the run itself, and the data of charts over time, which need every slice and window once, in
//! bounded memory.

use super::distribution::Distribution;
use super::heatmap::ResponseHeatmap;
use super::load_columns;
use super::rows::{PageColumn, TimelineRows};
use super::target_columns::TargetColumns;
use crate::document::Timeline;
use crate::trial_state::TrialState;
use crate::{RunView, Trial};
use record::{Event, Purpose};

/// The strict goal's bounds after so many trials: shown to hold, shown to fail.
pub(super) type GoalBounds = (usize, Option<f64>, Option<f64>);

/// A run as a page: fold its events in order, then ask for its parts. Memory is bounded: in long runs neighbouring rows are joined.
#[derive(Debug, Clone, Default)]
pub struct PageBuilder {
    /// The run's state; its `seconds` stay empty, as the rows have them.
    pub run: RunView,
    pub(super) rows: TimelineRows,
    pub(super) target: TargetColumns,
    pub(super) heatmap: ResponseHeatmap,
    /// How the bounds converged.
    pub(super) bounds: Vec<GoalBounds>,
    /// The most telling load's distribution, with its rank.
    pub(super) main: Option<((u8, f64), Distribution)>,
    pub(super) page_columns: Vec<PageColumn>,
    /// The number of columns when they were last chosen.
    chosen_count: usize,
}

impl PageBuilder {
    /// Folds all events.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut page = Self::default();
        events.into_iter().for_each(|event| page.fold(event));
        page
    }

    /// Folds the next event.
    pub fn fold(&mut self, event: &Event) {
        self.run.fold(event);
        self.run.seconds.clear();
        let mut chosen_anew = false;
        match event {
            Event::SliceDone { trial, slice } => {
                let stretch = self.run.trial_spans.get(trial).copied().unwrap_or_default();
                let [from, to] =
                    [stretch.length - slice.elapsed, stretch.length].map(|time| stretch.after(time));
                let cells = load_columns::cells(&mut self.rows, slice);
                self.rows.push(from, to, cells);
                self.heatmap.add(from, &slice.response);
            }
            Event::TrialDone { result, .. } => self.judge(result),
            Event::Bounds { limits, .. } => {
                let strict_limit = limits.first();
                let of = |bound: fn(&record::Limit) -> Option<f64>| strict_limit.and_then(bound);
                self.bounds.push((self.run.trials.len(), of(|l| l.lower), of(|l| l.upper)));
            }
            Event::WatchStarted { place, watched } => self.target.set_watched(place, watched),
            Event::Observed { trial, place, window } => {
                let since = self.run.trial_spans.get(trial).map_or(0.0, |stretch| stretch.from);
                let expected = self.run.current.as_ref().is_some_and(|current| current.number == *trial);
                let cells = self.target.cells(&mut self.rows, place, window);
                let [from, to] = [window.from, window.to].map(|time| since + time.as_secs_f64());
                if to > from && !cells.is_empty() {
                    self.rows.push_observed(from, to, cells, expected);
                }
                chosen_anew = self.target.choose_shown();
            }
            Event::RunEnded { .. } => self.rows.flush(),
            _ => {}
        }
        if chosen_anew || self.rows.column_count() != self.chosen_count {
            self.chosen_count = self.rows.column_count();
            let page_columns = self.wanted();
            if page_columns != self.page_columns {
                self.page_columns = page_columns;
                self.rows.renew();
            }
        }
    }

    /// Keeps the distribution of the most telling load: one judged good, at the highest rate; then any other that counts.
    fn judge(&mut self, result: &record::TrialResult) {
        let Some(trial) = self.run.trials.last() else { return };
        let rank = match (trial.state(), trial.purpose) {
            (_, Purpose::Load) => 4,
            (_, purpose) if !purpose.is_judged() => 0,
            (TrialState::Good, _) => 3,
            (TrialState::Bad, _) => 2,
            (TrialState::Void | TrialState::Unjudged, _) => 1,
        };
        // Among bad loads the lowest rate is the most telling.
        let rate = result.rate.0 * if rank == 2 { -1.0 } else { 1.0 };
        if self.main.as_ref().is_none_or(|(known, _)| (rank, rate) >= *known) {
            self.main = Some(((rank, rate), Distribution::of(at(trial), &result.total)));
        }
    }

    /// The distribution to show: of the most telling load, or of the current one while there is none.
    pub(super) fn distribution(&self) -> Option<Distribution> {
        let kept = self.main.as_ref().map(|(_, kept)| kept.clone());
        kept.or_else(|| {
            let current = self.run.current.as_ref()?;
            Some(Distribution::of(at(&current.cut_short()), &current.total))
        })
    }

    /// Every shown column with measurements.
    fn wanted(&self) -> Vec<PageColumn> {
        let load = load_columns::columns().map(|(id, _)| PageColumn { sources: vec![id.clone()], id });
        let has = |column: &PageColumn| column.sources.iter().any(|id| self.rows.has_column(id));
        load.chain(self.target.wanted()).filter(has).collect()
    }

    /// The stored columns behind a shown one.
    pub(super) fn parts(&self, column: &str) -> impl Iterator<Item = &str> {
        let found = self.page_columns.iter().find(|wanted| wanted.id == column);
        found.into_iter().flat_map(|wanted| &wanted.sources).map(String::as_str)
    }

    /// Number of settled rows: a page with that many needs only later ones while [`PageBuilder::generation`] is unchanged.
    pub fn rows(&self) -> usize {
        self.rows.settled()
    }

    /// Changes when settled rows have changed, or gained columns: pages then need all of them again.
    pub fn generation(&self) -> u32 {
        self.rows.generation()
    }

    /// The settled rows from index `first` on.
    pub fn rows_from(&self, first: usize) -> Timeline {
        self.rows.timeline(first, &self.page_columns)
    }
}

/// `trial 4, 1,200/s`; for a load the rate alone.
fn at(trial: &Trial) -> String {
    let rate = trial.rate.map(|rate| rate.to_string());
    match (trial.purpose, rate) {
        (Purpose::Load, Some(rate)) => format!("at {rate}"),
        (Purpose::Load, None) => "the load".to_owned(),
        (_, Some(rate)) => format!("trial {}, {rate}", trial.number),
        (_, None) => format!("trial {}", trial.number),
    }
}
