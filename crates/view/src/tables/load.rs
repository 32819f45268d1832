//! The seconds of a load, and its trials.

use super::RowOrigin;
use super::columns::{CellValue, ColumnType, Columns};
use crate::caveats::of_trial;
use crate::trial_state::{TrialState, why_bad};
use crate::{LoadFigures, LoadValue, Trial};
use record::catalogue::{LOAD, LoadReader, LoadRow, Measure, Quantity};
use record::{Limit, Purpose, Recovery, Slice};
use std::fmt::Display;
use units::{Nanos, Rate};

pub(super) struct SliceRow {
    at: RowOrigin,
    purpose: Option<Purpose>,
    index: u32,
    elapsed: Nanos,
    silent: Nanos,
    figures: LoadFigures,
}

impl SliceRow {
    pub fn new(at: RowOrigin, purpose: Option<Purpose>, slice: &Slice) -> Self {
        let Slice { index, elapsed, .. } = *slice;
        let silent = slice.silences.iter().fold(Nanos::ZERO, |sum, each| sum + each.length());
        Self { at, purpose, index, elapsed, silent, figures: LoadFigures::from_slice(slice) }
    }

    fn rate(&self, count: u64) -> Option<f64> {
        (self.elapsed > Nanos::ZERO).then(|| Rate::of(count, self.elapsed).0)
    }
}

pub(super) struct TrialRow {
    pub at: RowOrigin,
    pub trial: Trial,
    pub bounds: BoundsRow,
}

/// The bounds of a search after a trial.
#[derive(Default)]
pub(super) struct BoundsRow {
    unit: Option<String>,
    /// For the first and second goal: the rate held, and its bounds.
    goals: [[Option<f64>; 3]; 2],
}

impl BoundsRow {
    pub fn of(limits: &[Limit]) -> Self {
        let goal = |place: usize| {
            limits.get(place).map_or([None; 3], |limit| [limit.held, limit.lower, limit.upper])
        };
        Self { unit: limits.first().map(|limit| limit.unit.to_string()), goals: [goal(0), goal(1)] }
    }
}

pub(super) fn slices() -> Columns<SliceRow> {
    let columns = Columns::new()
        .at(|s: &SliceRow| &s.at)
        .text("purpose", "why the trial is made", |s| s.purpose.map(Purpose::name))
        .whole("second", "which second of the trial, from 0; the drain's follow the load's", |s| {
            Some(u64::from(s.index))
        })
        .number("elapsed_seconds", "how much time it covers: the last of a load may be shorter", |s| {
            Some(s.elapsed.as_secs_f64())
        })
        .number("offered_per_second", "arrivals that came due, a second", |s| s.rate(s.figures.due))
        .number("achieved_per_second", "arrivals that were sent, a second", |s| s.rate(s.figures.sent));
    let is_told = |row: &LoadRow| !matches!(row.read, LoadReader::Rate(_) | LoadReader::Longest(_));
    counted(columns, |s| &s.figures, is_told).number(
        "silent_seconds",
        "time without an answer although requests were under way, in silences of 100 ms or more that had ended by then",
        |s| Some(s.silent.as_secs_f64()),
    )
}

pub(super) fn trials() -> Columns<TrialRow> {
    let columns = Columns::new()
        .at(|t: &TrialRow| &t.at)
        .text("purpose", "why it was made", |t| Some(t.trial.purpose.name()))
        .text("class", "`good`, `bad` or `void`; nothing if it is never judged, or was cut short", |t| {
            let state = t.trial.state();
            (state != TrialState::Unjudged).then(|| state.name())
        })
        .text("why", "what is wrong in a bad one, in words", |t| {
            (t.trial.state() == TrialState::Bad).then(|| why_bad(&t.trial)).flatten()
        })
        .number("offered_per_second", "the rate as planned; of a closed loop the rate reached", |t| {
            t.trial.rate.map(|rate| rate.0)
        })
        .number("planned_seconds", "how long the load was to last", |t| {
            t.trial.planned.map(Nanos::as_secs_f64)
        })
        .number("loaded_seconds", "how long it lasted", |t| Some(t.trial.loaded.as_secs_f64()))
        .number("drain_seconds", "how long was waited for open requests at most", |t| {
            Some(t.trial.drain.as_secs_f64())
        })
        .flag("hopeless", "it was ended early, because nothing could save it", |t| Some(t.trial.hopeless))
        .flag("recovered", "the target came back after it; nothing if that was not looked at", |t| {
            match t.trial.recovery {
                Recovery::NotNeeded => None,
                Recovery::After(_) => Some(true),
                Recovery::Not(_) => Some(false),
            }
        })
        .number("recovery_seconds", "how long that took, or was waited for", |t| match t.trial.recovery {
            Recovery::NotNeeded => None,
            Recovery::After(time) | Recovery::Not(time) => Some(time.as_secs_f64()),
        })
        .number("loss_share", "arrivals lost, counted or implied by a queue that grows", |t| {
            t.trial.judgement.as_ref().map(|judgement| judgement.loss)
        })
        .number("growth_per_second", "by how many arrivals a second the queue grew, if it did", |t| {
            t.trial.judgement.as_ref().and_then(|judgement| judgement.growth_per_second)
        });
    counted(columns, |t| &t.trial.figures, |row| !row.of_a_second)
        .number(
            "outstanding_max",
            "the most arrivals in flight and in the backlog, within a tenth of a second",
            |t| t.trial.figures.outstanding.map(|outstanding| outstanding.max),
        )
        .text("caveats", "codes of the reasons for doubt, those that void it first", |t| {
            joined(of_trial(&t.trial).into_iter().map(|caveat| caveat.doubt.name()))
        })
        .number("held", "what nine of ten trials hold, estimated after this trial", |t| t.bounds.goals[0][0])
        .number("held_lower", "its 95 % interval begins here; or the highest load shown to hold", |t| {
            t.bounds.goals[0][1]
        })
        .number("held_upper", "it ends here; or the lowest load shown not to hold", |t| t.bounds.goals[0][2])
        .number("half", "what half of them hold", |t| t.bounds.goals[1][0])
        .number("half_lower", "its 95 % interval begins here; or as above, for half of the trials", |t| {
            t.bounds.goals[1][1]
        })
        .number("half_upper", "it ends here; or as above", |t| t.bounds.goals[1][2])
        .text("bounds_unit", "unit of these six, such as `requests/s`", |t| t.bounds.unit.clone())
}

/// Fixed column positions; columns not listed follow these.
const COLUMN_ORDER: &str = "due sent ok late failed timeout refused unsent unfinished response service lateness pacing statuses \
                      failures outstanding connections connects resent received generator_cpu generator_wait \
                      generator_loops in_flight backlog";

/// The catalogue rows that apply to a second, or to a trial.
fn counted<R: 'static>(
    columns: Columns<R>,
    of: fn(&R) -> &LoadFigures,
    is_told: fn(&LoadRow) -> bool,
) -> Columns<R> {
    let mut rows: Vec<(usize, &LoadRow)> = LOAD.iter().enumerate().filter(|(_, row)| is_told(row)).collect();
    let place = |row: &LoadRow| COLUMN_ORDER.split(' ').position(|name| name == row.measure.name);
    rows.sort_by_key(|(_, row)| place(row).unwrap_or(usize::MAX));
    rows.into_iter().fold(columns, |columns, (nth, row)| {
        let Measure { name, help, quantity, .. } = row.measure;
        let (end, kind) = match row.read {
            LoadReader::Times(_) => {
                return columns.times(name, help, move |r| match of(r).values[nth] {
                    LoadValue::Times(times) => times,
                    _ => None,
                });
            }
            LoadReader::Each(_) => ("", ColumnType::Text),
            LoadReader::Tenths(_) => ("_mean", ColumnType::Number),
            _ if quantity == Quantity::Ns => ("", ColumnType::Number),
            _ => ("", ColumnType::Whole),
        };
        let value = move |r: &R| cell(quantity, &of(r).values[nth]);
        columns.with(&format!("{}{end}", row.column()), kind, help, Box::new(value))
    })
}

fn cell(quantity: Quantity, value: &LoadValue) -> CellValue {
    match value {
        LoadValue::Number(counted) if quantity == Quantity::Ns => CellValue::Number(quantity.of(*counted)),
        LoadValue::Number(counted) => CellValue::Whole(*counted as u64),
        LoadValue::Tenths(Some(outstanding)) => CellValue::Number(outstanding.mean),
        LoadValue::Each(each) => joined(each.iter().map(|(name, count)| format!("{name}={count}")))
            .map_or(CellValue::Nothing, |text| CellValue::Text(text.into())),
        _ => CellValue::Nothing,
    }
}

/// `200=59490; 503=12`; `None` if empty.
fn joined<T: Display>(all: impl Iterator<Item = T>) -> Option<String> {
    let all: Vec<String> = all.map(|each| each.to_string()).collect();
    (!all.is_empty()).then(|| all.join("; "))
}
