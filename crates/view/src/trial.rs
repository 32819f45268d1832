use crate::ArrivalKind;
use record::catalogue::{LOAD, LoadReader, LoadRow};
use record::{
    Caveat, Failure, Judgement, MemberFigures, Outcomes, Purpose, Recovery, Slice, StepSlice, TrialResult,
};
use stats::{Histogram, Quantiles};
use std::collections::BTreeMap;
use units::{Nanos, Rate};

/// A histogram's figures; the histogram itself is too large to keep for every trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSummary {
    /// How many times were recorded.
    pub count: u64,
    /// The usual quantiles.
    pub quantiles: Quantiles,
    /// The mean.
    pub mean: Nanos,
}

impl TimeSummary {
    /// Of a histogram; none if it is empty.
    pub fn from_histogram(histogram: &Histogram) -> Option<Self> {
        Some(Self { count: histogram.count(), quantiles: histogram.quantiles()?, mean: histogram.mean()? })
    }
}

/// Arrivals in flight and in the backlog over a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outstanding {
    /// Mean over the load.
    pub mean: f64,
    /// The largest tenth of a second.
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

/// What was counted and timed of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepFigures {
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Answers as expected.
    pub ok: u64,
    /// Anything else.
    pub bad: u64,
    /// Done − due.
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

/// What is known of a row of the catalogue: that of a load, where its histograms would be too large to keep.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadValue {
    /// Nothing: it is of a second only.
    Nothing,
    /// As it was counted.
    Number(f64),
    /// Lengths of time; none if there were none.
    Times(Option<TimeSummary>),
    /// How many there were of each.
    Each(Vec<(String, u64)>),
    /// Means over time; none if there was no time.
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

/// What was counted and timed in a load, finished or not: what sentences are made of, and everything that tables tell.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadFigures {
    /// Arrivals that came due.
    pub due: u64,
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Requests that were sent once more, because the server was closing their connection.
    pub resent: u64,
    /// What became of the arrivals.
    pub outcomes: Outcomes,
    /// Why the failed ones failed.
    pub failures: BTreeMap<Failure, u64>,
    /// Each step by itself; none if there is only one.
    pub parts: Vec<StepFigures>,
    /// In flight and backlog.
    pub outstanding: Option<Outstanding>,
    /// Open connections at the end.
    pub connections: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// What there is of each row of [`LOAD`].
    pub values: Vec<LoadValue>,
}

impl LoadFigures {
    /// Of all slices merged.
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

    /// Response time, service time, lateness and pacing, as the catalogue has them.
    pub fn times(&self) -> impl Iterator<Item = Option<TimeSummary>> {
        self.values.iter().filter_map(|value| match value {
            LoadValue::Times(times) => Some(*times),
            _ => None,
        })
    }

    /// Done − due.
    pub fn response(&self) -> Option<TimeSummary> {
        self.times().next().flatten()
    }

    /// The failure seen most often.
    pub fn worst_failure(&self) -> Option<(&Failure, u64)> {
        self.failures.iter().map(|(f, n)| (f, *n)).max_by_key(|(_, n)| *n)
    }
}

/// One trial, done or cut short.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Counted from 1.
    pub number: u32,
    /// What its arrivals are called.
    pub words: ArrivalKind,
    /// Why it was made.
    pub purpose: Purpose,
    /// Offered rate as planned; none if a closed loop was cut short.
    pub rate: Option<Rate>,
    /// How long the load was to last; none if only a count ends it.
    pub planned: Option<Nanos>,
    /// How long it lasted.
    pub loaded: Nanos,
    /// How long was waited for open requests after it.
    pub drain: Nanos,
    /// Stopped early because nothing could have saved it.
    pub hopeless: bool,
    /// How the target came back.
    pub recovery: Recovery,
    /// What the runner noticed.
    pub caveats: Vec<Caveat>,
    /// What each of a fleet did.
    pub members: Vec<MemberFigures>,
    /// What it means; none if it was cut short.
    pub judgement: Option<Judgement>,
    /// What it measured.
    pub figures: LoadFigures,
}

impl Trial {
    /// From the event that ends it.
    pub fn done(number: u32, words: ArrivalKind, result: &TrialResult, judgement: &Judgement) -> Self {
        Self {
            number,
            words,
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

    /// So many of its arrivals: `59,520 requests`.
    pub fn count(&self, n: u64) -> String {
        self.words.count(n)
    }

    /// Whether its offered rate is this one, as far as a printed number can tell.
    pub fn is_at(&self, rate: f64) -> bool {
        self.rate.is_some_and(|r| (r.0 - rate).abs() <= rate.abs() * 1e-6)
    }
}
