use crate::ArrivalKind;
use record::catalogue::{LOAD, LoadReader, LoadRow};
use record::{
    Caveat, Failure, Judgement, MemberFigures, Outcomes, Purpose, Recovery, Slice, StepSlice, TrialResult,
};
use stats::{Histogram, Quantiles};
use std::collections::BTreeMap;
use units::{Nanos, Rate};

/// A histogram's summary; histograms are too large to keep for every trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSummary {
    /// Number of times recorded.
    pub count: u64,
    /// The standard quantiles.
    pub quantiles: Quantiles,
    /// The mean.
    pub mean: Nanos,
}

impl TimeSummary {
    /// Summarizes a histogram; `None` if empty.
    pub fn from_histogram(histogram: &Histogram) -> Option<Self> {
        Some(Self { count: histogram.count(), quantiles: histogram.quantiles()?, mean: histogram.mean()? })
    }
}

/// Outstanding arrivals over a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outstanding {
    /// Mean over the load.
    pub mean: f64,
    /// Maximum over tenths of a second.
    pub max: f64,
    /// Mean over the load's first fifth.
    pub first: f64,
    /// Mean over its last fifth.
    pub last: f64,
}

impl Outstanding {
    pub(crate) fn of(blocks: &[f64]) -> Option<Self> {
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let fifth = blocks.len().div_ceil(5);
        (!blocks.is_empty()).then(|| Self {
            mean: mean(blocks),
            max: blocks.iter().copied().fold(0.0, f64::max),
            first: mean(&blocks[..fifth]),
            last: mean(&blocks[blocks.len() - fifth..]),
        })
    }
}

/// Counts and times of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepFigures {
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Answered as expected.
    pub ok: u64,
    /// All others.
    pub bad: u64,
    /// Response time: done − due.
    pub response: Option<TimeSummary>,
}

impl StepFigures {
    fn of(part: &StepSlice) -> Self {
        Self {
            sent: part.sent,
            ok: part.ok,
            bad: part.bad,
            response: TimeSummary::from_histogram(&part.response),
        }
    }
}

/// A load's value for a row of the catalogue; histograms are summarized.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadValue {
    /// Defined for a second only.
    Nothing,
    /// As it was counted.
    Number(f64),
    /// Durations; `None` if there were none.
    Times(Option<TimeSummary>),
    /// Counts per item.
    Each(Vec<(String, u64)>),
    /// Means over time; `None` if no time passed.
    Tenths(Option<Outstanding>),
}

impl LoadValue {
    fn of(row: &LoadRow, total: &Slice) -> Self {
        match row.read {
            LoadReader::Rate(_) | LoadReader::Longest(_) => Self::Nothing,
            LoadReader::Number(get) => Self::Number(get(total)),
            LoadReader::Times(get) => Self::Times(TimeSummary::from_histogram(get(total))),
            LoadReader::Each(get) => Self::Each(get(total)),
            LoadReader::Tenths(get) => Self::Tenths(Outstanding::of(get(total))),
        }
    }
}

/// Counts and times of a load, finished or not, for text and tables.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadFigures {
    /// Arrivals that came due.
    pub due: u64,
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Requests resent because the server was closing their connection.
    pub resent: u64,
    /// Outcomes of the arrivals.
    pub outcomes: Outcomes,
    /// Failures by reason.
    pub failures: BTreeMap<Failure, u64>,
    /// Figures per step; empty if there is only one.
    pub parts: Vec<StepFigures>,
    /// In flight and backlog.
    pub outstanding: Option<Outstanding>,
    /// Open connections at the end.
    pub connections: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// The value for each row of [`LOAD`].
    pub values: Vec<LoadValue>,
}

impl LoadFigures {
    /// Summarizes all slices, merged.
    pub fn from_slice(total: &Slice) -> Self {
        Self {
            due: total.due,
            sent: total.sent,
            resent: total.resent,
            outcomes: total.outcomes,
            failures: total.failures.clone(),
            parts: total.parts.iter().map(StepFigures::of).collect(),
            outstanding: Outstanding::of(&total.outstanding),
            connections: total.connections,
            received_bytes: total.received_bytes,
            values: LOAD.iter().map(|row| LoadValue::of(row, total)).collect(),
        }
    }

    /// Response time, service time, lateness and pacing, in catalogue order.
    pub fn times(&self) -> impl Iterator<Item = Option<TimeSummary>> {
        self.values.iter().filter_map(|value| match value {
            LoadValue::Times(times) => Some(*times),
            _ => None,
        })
    }

    /// Response time: done − due.
    pub fn response(&self) -> Option<TimeSummary> {
        self.times().next().flatten()
    }

    pub(crate) fn quantiles(&self) -> Option<Quantiles> {
        self.response().map(|times| times.quantiles)
    }

    /// The most frequent failure.
    pub fn worst_failure(&self) -> Option<(&Failure, u64)> {
        self.failures.iter().map(|(f, n)| (f, *n)).max_by_key(|(_, n)| *n)
    }
}

/// A trial, finished or cut short.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Counted from 1.
    pub number: u32,
    /// The kind of its arrivals.
    pub arrival_kind: ArrivalKind,
    /// Its purpose.
    pub purpose: Purpose,
    /// Planned offered rate; `None` if a closed loop was cut short.
    pub rate: Option<Rate>,
    /// Planned length; `None` if only a count ends it.
    pub planned: Option<Nanos>,
    /// Actual length.
    pub loaded: Nanos,
    /// Length of the drain.
    pub drain: Nanos,
    /// Stopped early because it could no longer become good.
    pub hopeless: bool,
    /// The target's recovery.
    pub recovery: Recovery,
    /// The runner's caveats.
    pub caveats: Vec<Caveat>,
    /// Figures per fleet member.
    pub members: Vec<MemberFigures>,
    /// Its judgement; `None` if cut short.
    pub judgement: Option<Judgement>,
    /// Its measurements.
    pub figures: LoadFigures,
}

impl Trial {
    /// From the event that ends a trial.
    pub fn done(number: u32, arrivals: ArrivalKind, result: &TrialResult, judgement: &Judgement) -> Self {
        Self {
            number,
            arrival_kind: arrivals,
            purpose: result.purpose,
            rate: Some(result.rate),
            planned: Some(result.planned),
            loaded: result.loaded,
            drain: result.drain,
            hopeless: result.hopeless,
            recovery: result.recovery,
            caveats: result.caveats.clone(),
            members: result.members.clone(),
            judgement: Some(judgement.clone()),
            figures: LoadFigures::from_slice(&result.total),
        }
    }

    /// Why it does not count.
    pub(crate) fn void_reasons(&self) -> &[Caveat] {
        self.judgement.as_ref().map_or(&[], |judgement| &judgement.invalid)
    }

    /// Whether it does not count, whatever its purpose.
    pub(crate) fn is_void(&self) -> bool {
        !self.void_reasons().is_empty()
    }

    /// Formats a number of its arrivals: `59,520 requests`.
    pub fn count(&self, n: u64) -> String {
        self.arrival_kind.count(n)
    }

    /// Whether it is the curve's point at this rate, which is counted and so may be off by one arrival.
    pub fn is_curve_at(&self, rate: f64) -> bool {
        let off = |planned: f64| (planned - rate).abs() * self.loaded.as_secs_f64();
        self.purpose == Purpose::Curve && self.rate.is_some_and(|planned| off(planned.0) <= 1.0 + 1e-6)
    }

    /// Whether its offered rate is this one, to the precision of a printed number.
    pub fn is_at(&self, rate: f64) -> bool {
        self.rate.is_some_and(|r| (r.0 - rate).abs() <= rate.abs() * 1e-6)
    }
}
