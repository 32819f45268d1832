//! A run's raw measurements as tables.
//!
//! Columns are typed, and their names include the unit. Rows are made event by event ([`TableExporter::fold`]), so that memory does not
//! grow with the run. What was not measured is [`CellValue::Nothing`], never 0. `docs/export.md` lists every column; `crates/export`
//! writes the rows to files.

mod columns;
mod figures;
mod histograms;
mod load;
mod samples;

pub use columns::{CellValue, ColumnType, ExportColumn};

use crate::RunView;
use columns::Columns;
use histograms::Bucket;
use load::{BoundsRow, SliceRow, TrialRow};
use record::{Event, Figure, Limit};
use samples::SampleRow;
use units::Moment;

units::named! {
    /// An exportable table, named as on the command line and in its file name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ExportTable {
        /// Seconds of load.
        Slices = "slices",
        /// The trials.
        Trials = "trials",
        /// Observations of the target.
        Samples = "samples",
        /// Distributions of times.
        Histograms = "histograms",
        /// Probe figures.
        Figures = "figures",
    }
}

impl ExportTable {
    /// What a row is, in one sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Slices => "One row for each second of each load, and of the drain after it.",
            Self::Trials => "One row for each trial of a search, or for the one load of `torment run`.",
            Self::Samples => {
                "What was seen of the target, the machine and torment itself: one row for each measure of each \
                 second that was watched."
            }
            Self::Histograms => {
                "The distributions of each trial's times: one row for each bucket that holds something; any quantile \
                 follows from them."
            }
            Self::Figures => "One row for each figure of `torment probe`.",
        }
    }

    /// Its columns, in order.
    pub fn columns(self) -> Vec<ExportColumn> {
        match self {
            Self::Slices => load::slices().names(),
            Self::Trials => load::trials().names(),
            Self::Samples => samples::columns().names(),
            Self::Histograms => histograms::columns().names(),
            Self::Figures => figures::columns().names(),
        }
    }
}

/// A row: one cell per column.
pub type ExportRow = Vec<CellValue>;

/// Common to the rows of all loads: which trial they belong to, and when it began.
#[derive(Debug, Clone, Default)]
struct RowOrigin {
    run: String,
    trial: u32,
    /// Its beginning.
    time: Moment,
    /// The same, in seconds since the run began.
    since: f64,
}

/// Turns a run's events, folded in order, into rows.
pub struct TableExporter {
    tables: Vec<ExportTable>,
    /// Its `seconds` stay empty: they are exported as rows.
    view: RunView,
    /// A trial has finished, and its bounds may follow.
    trial_pending: bool,
    slices: Columns<SliceRow>,
    trials: Columns<TrialRow>,
    samples: Columns<SampleRow>,
    histograms: Columns<Bucket>,
    figures: Columns<(String, Figure)>,
}

impl TableExporter {
    /// Exports only these tables.
    pub fn of(tables: &[ExportTable]) -> Self {
        Self {
            tables: tables.to_vec(),
            view: RunView::default(),
            trial_pending: false,
            slices: load::slices(),
            trials: load::trials(),
            samples: samples::columns(),
            histograms: histograms::columns(),
            figures: figures::columns(),
        }
    }

    /// Folds the next event; returns its rows.
    pub fn fold(&mut self, event: &Event) -> Vec<(ExportTable, ExportRow)> {
        let mut rows = match event {
            Event::TrialStarted { .. } | Event::RunEnded { .. } => Vec::from_iter(self.trial(&[])),
            _ => Vec::new(),
        };
        self.view.fold(event);
        self.view.seconds.clear();
        match event {
            Event::SliceDone { trial, slice } => {
                let passed = self.view.trial_spans.get(trial).map_or(slice.elapsed, |stretch| stretch.length);
                let at = self.at(*trial, (passed - slice.elapsed).as_secs_f64());
                if self.wants(ExportTable::Slices) {
                    let current = self.view.current.as_ref().filter(|current| current.number == *trial);
                    let of = SliceRow::new(at, current.map(|current| current.purpose), slice);
                    rows.push((ExportTable::Slices, self.slices.row(&of)));
                }
            }
            Event::TrialDone { trial, result, .. } => {
                self.trial_pending = true;
                rows.extend(self.buckets(*trial, &result.total));
            }
            Event::Bounds { limits, .. } => rows.extend(self.trial(limits)),
            Event::Observed { trial, place, window } if self.wants(ExportTable::Samples) => {
                let at = self.at(*trial, window.from.as_secs_f64());
                let watched = self.view.place(place).map(|seen| &seen.coverage);
                let seen = samples::of(&at, place, watched, window);
                rows.extend(seen.iter().map(|sample| (ExportTable::Samples, self.samples.row(sample))));
            }
            Event::Measured { figure } if self.wants(ExportTable::Figures) => {
                let of = (self.at(0, 0.0).run, (**figure).clone());
                rows.push((ExportTable::Figures, self.figures.row(&of)));
            }
            _ => {}
        }
        rows
    }

    /// Returns the rows of unfinished trials.
    pub fn end(mut self) -> Vec<(ExportTable, ExportRow)> {
        let mut rows = Vec::from_iter(self.trial(&[]));
        if let Some(current) = self.view.current.take() {
            if self.wants(ExportTable::Trials) {
                let (at, trial) = (self.at(current.number, 0.0), current.cut_short());
                let row = self.trials.row(&TrialRow { at, trial, bounds: BoundsRow::default() });
                rows.push((ExportTable::Trials, row));
            }
            rows.extend(self.buckets(current.number, &current.total));
        }
        rows
    }

    fn wants(&self, table: ExportTable) -> bool {
        self.tables.contains(&table)
    }

    /// `seconds` into a trial; without a load (0), into the run.
    fn at(&self, trial: u32, seconds: f64) -> RowOrigin {
        let since = self.view.trial_spans.get(&trial).map_or(0.0, |stretch| stretch.from) + seconds;
        let started = self.view.started.as_ref();
        let began = started.map_or(Moment::default(), |started| Moment::from_unix_ms(started.at_unix_ms));
        let run = started.map_or_else(String::new, |started| started.id.0.clone());
        RowOrigin { run, trial, time: began.after(since), since }
    }

    /// The last finished trial's row, if still pending.
    fn trial(&mut self, limits: &[Limit]) -> Option<(ExportTable, ExportRow)> {
        let is_due = std::mem::take(&mut self.trial_pending) && self.wants(ExportTable::Trials);
        let trial = self.view.trials.last().filter(|_| is_due)?;
        let (at, bounds) = (self.at(trial.number, 0.0), BoundsRow::of(limits));
        Some((ExportTable::Trials, self.trials.row(&TrialRow { at, trial: trial.clone(), bounds })))
    }

    fn buckets(&self, trial: u32, total: &record::Slice) -> Vec<(ExportTable, ExportRow)> {
        if !self.wants(ExportTable::Histograms) {
            return Vec::new();
        }
        let buckets = histograms::of(&self.at(trial, 0.0), total);
        buckets.iter().map(|bucket| (ExportTable::Histograms, self.histograms.row(bucket))).collect()
    }
}
