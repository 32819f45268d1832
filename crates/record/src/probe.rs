//! What the machine itself costs and allows: figures of `torment probe`, the limits on tasks, what gave.

use crate::{Caveat, RunId, SystemLimitUnit};
use serde::{Deserialize, Serialize};
use stats::{Histogram, Median, Quantiles};
use units::{Bytes, Nanos};

units::named! {
    /// What a figure is counted in.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FigureUnit {
        /// Time, in nanoseconds: less is better.
        Nanos = "nanos",
        /// Memory, in bytes: less is better.
        Bytes = "bytes",
        /// Events a second: more is better.
        PerSecond = "per_second",
        /// Bytes a second: more is better.
        BytesPerSecond = "bytes_per_second",
        /// A number of something: neither.
        Count = "count",
        /// A part of something, 0 to 1: neither.
        Share = "share",
    }
}

/// One figure of a machine, with all the blocks it rests on. Its table, row and column name it: the same three mean the
/// same measurement on every machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it belongs to: `launch`, `switch`, …
    pub table: String,
    /// What was done: `fork`, `pipe, threads`, …
    pub row: String,
    /// Under which circumstances, or what of it: `2 MiB, launch and join`.
    pub column: String,
    /// What it is counted in.
    pub unit: FigureUnit,
    /// Median of the blocks.
    pub median: f64,
    /// Lower end of the median's 95 % interval, from order statistics.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// One value for each block, in the order they were made.
    pub blocks: Vec<f64>,
    /// Operations in all blocks.
    pub operations: u64,
    /// Of single operations, where each was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<OperationTimes>,
    /// Context switches of all sides an operation, voluntary and not, as the kernel counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<f64>,
    /// Share of the looks that found both sides on different processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<f64>,
    /// The figure from its parts, or what bounds it: `2 system calls 0.74 µs + one switch 1.9 µs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// What it should come to by what else was measured, where that is a sum: its parts, in the figure's unit. What is left between
    /// them and the median is not explained.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Summand>,
    /// Reasons to doubt this figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
}

/// A part of a sum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summand {
    /// What it is: `2 system calls`.
    pub name: String,
    /// How much of it.
    pub amount: f64,
}

impl Summand {
    /// So much of that.
    pub fn new(name: impl Into<String>, amount: f64) -> Self {
        Self { name: name.into(), amount }
    }

    /// All of a figure as two: what is known from another one, and the rest. None if that is not less.
    pub fn split(all: f64, (name, known): (&str, f64), rest: &str) -> Vec<Self> {
        match known > 0.0 && known < all {
            true => vec![Self::new(name, known), Self::new(rest, all - known)],
            false => Vec::new(),
        }
    }
}

impl Figure {
    /// What the blocks say, and nothing else known: the median with its interval. None without blocks, or if one is no number.
    pub fn from_blocks(
        (table, row, column): (&str, &str, &str),
        unit: FigureUnit,
        blocks: Vec<f64>,
        operations: u64,
    ) -> Option<Self> {
        let Median { median, low, high } = Median::of(&blocks)?;
        Some(Self {
            table: table.to_owned(),
            row: row.to_owned(),
            column: column.to_owned(),
            unit,
            median,
            low,
            high,
            blocks,
            operations,
            single: None,
            switches: None,
            apart: None,
            argument: None,
            parts: Vec::new(),
            caveats: Vec::new(),
        })
    }
}

impl Figure {
    /// Its column as the circumstances, and what of the row it is: `2 MiB` and `launch and join`; the second is empty where only one thing is.
    pub fn circumstances(&self) -> (&str, &str) {
        self.column.rsplit_once(", ").unwrap_or((&self.column, ""))
    }
}

/// Of what a table measures first, the row that costs least and the one that costs most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostRange {
    /// The table.
    pub table: String,
    /// The cheapest row.
    pub least: String,
    /// What it costs, nanoseconds.
    pub least_ns: f64,
    /// The dearest.
    pub most: String,
    /// Its circumstances, where it was measured in several.
    pub most_at: Option<String>,
    /// What it costs, nanoseconds.
    pub most_ns: f64,
}

impl CostRange {
    /// One for each table with figures in time that differ, in the order of their first appearance.
    pub fn from_figures(figures: &[Figure]) -> Vec<Self> {
        let timed: Vec<&Figure> = figures.iter().filter(|figure| figure.unit == FigureUnit::Nanos).collect();
        let mut firsts: Vec<&Figure> = Vec::new();
        for figure in &timed {
            if firsts.iter().all(|first| first.table != figure.table) {
                firsts.push(figure);
            }
        }
        let range = |first: &Figure| {
            let is_of_it = |figure: &&&Figure| {
                figure.table == first.table && figure.circumstances().1 == first.circumstances().1
            };
            let of_it = || timed.iter().filter(is_of_it);
            let order = |a: &&&Figure, b: &&&Figure| a.median.total_cmp(&b.median);
            let (least, most) = of_it().min_by(order).zip(of_it().max_by(order))?;
            let at = most.circumstances().0;
            let several = of_it().any(|other| other.row == most.row && other.circumstances().0 != at);
            (least.median < most.median).then(|| Self {
                table: first.table.clone(),
                least: least.row.clone(),
                least_ns: least.median,
                most: most.row.clone(),
                most_at: several.then(|| at.to_owned()),
                most_ns: most.median,
            })
        };
        firsts.into_iter().filter_map(range).collect()
    }
}

/// Times of single operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationTimes {
    /// The shortest.
    pub min: Nanos,
    /// Half are shorter.
    pub p50: Nanos,
    /// 90 % are shorter.
    pub p90: Nanos,
    /// 99 % are shorter.
    pub p99: Nanos,
    /// The longest.
    pub max: Nanos,
}

impl OperationTimes {
    /// Of all these times; none if there are none.
    pub fn from_histogram(times: &Histogram) -> Option<Self> {
        let Quantiles { p50, p90, p99, max, .. } = times.quantiles()?;
        Some(Self { min: times.quantile(0.0)?, p50, p90, p99, max })
    }
}

/// What was found of the machine before anything was measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conditions {
    /// Share of a processor that others used meanwhile.
    pub foreign: f64,
    /// Share of the processors' time that the hypervisor gave to others.
    pub stolen: f64,
    /// Share of a spin of 100 ms that passed in gaps above 50 µs.
    pub gaps: f64,
    /// What reading the clock costs; subtracted where it is more than 1 % of a figure.
    pub clock: Nanos,
    /// What is worth knowing of the machine, in the order of telling: name and value, as `idle driver` and `haltpoll`.
    pub facts: Vec<(String, String)>,
    /// What of this makes the figures doubtful.
    pub caveats: Vec<Caveat>,
}

/// What the machine was measured to cost by an earlier `torment probe`: what a run's figures can be held against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCosts {
    /// That run.
    pub run: RunId,
    /// A wake-up and a switch to another thread on the same processor, without the system calls that ask for them.
    pub switch: Option<Nanos>,
    /// What a thread takes that only waits, the kernel's part included.
    pub thread: Option<Bytes>,
}

/// One limit on the number of tasks: where it is set, how much of it is used, what room it leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemLimit {
    /// Its standard name: `RLIMIT_NPROC`, `pids.max`, `kernel.threads-max`, …
    pub name: String,
    /// Where it is set: a file, or who.
    pub place: String,
    /// What it allows in its own unit; none: no limit.
    pub limit: Option<u64>,
    /// How much of that is in use; none if it cannot be read.
    pub used: Option<u64>,
    /// Its own unit.
    pub unit: SystemLimitUnit,
    /// More threads that it allows; none: any number.
    pub threads: Option<u64>,
    /// How to raise it until the next start.
    pub now: String,
    /// How to raise it for good.
    pub for_good: String,
    /// What else is to be known: that it does not bind this user, that an ancestor cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What ended a ramp of threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RampEnd {
    /// This limit, and beside it those that would have given within 5 % of it.
    Limit {
        /// The one that gave.
        room: Box<SystemLimit>,
        /// The call that failed, and its error: `clone3: EAGAIN`.
        call: String,
        /// What shows that it was this one.
        because: String,
        /// The names of those close behind.
        close: Vec<String>,
    },
    /// The memory: the kernel ended the process instead of refusing.
    Killed {
        /// What shows it.
        because: String,
        /// The limit it ran into.
        room: Option<Box<SystemLimit>>,
    },
    /// None: the reserve that is left to others was reached.
    Reserve {
        /// The limit nearest to giving.
        room: Option<Box<SystemLimit>>,
    },
    /// None: as many as were asked for.
    Asked,
    /// The ramp was interrupted.
    Interrupted,
    /// It failed, and no limit that can be read explains it.
    Unknown {
        /// The call that failed, and its error.
        call: String,
    },
}

/// The hyperbola of a cache: rate = 1 / (h·hit + (1 − h)·miss) with h = min(1, cache / set).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CacheModel {
    /// Time of a read from the cache.
    pub hit: Nanos,
    /// Time of a read from behind it.
    pub miss: Nanos,
    /// What fits.
    pub cache: Bytes,
}
