//! The machine's own costs and limits: figures of `torment probe`, the limits on tasks, and which gave.

use crate::{Caveat, RunId, SystemLimitUnit};
use serde::{Deserialize, Serialize};
use stats::{Histogram, Median, Quantiles};
use units::{Bytes, Nanos};

units::named! {
    /// Unit of a figure.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FigureUnit {
        /// Time, in nanoseconds: less is better.
        Nanos = "nanos",
        /// Memory, in bytes: less is better.
        Bytes = "bytes",
        /// Events per second: more is better.
        PerSecond = "per_second",
        /// Bytes per second: more is better.
        BytesPerSecond = "bytes_per_second",
        /// A count: neither.
        Count = "count",
        /// A share, 0 to 1: neither.
        Share = "share",
    }
}

/// One figure of a machine, with all its blocks. Table, row and column identify it: the same three mean the same measurement on every
/// machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its table: `launch`, `switch`, …
    pub table: String,
    /// The operation: `fork`, `pipe, threads`, …
    pub row: String,
    /// Its circumstances or aspect: `2 MiB, launch and join`.
    pub column: String,
    /// Its unit.
    pub unit: FigureUnit,
    /// Median of the blocks.
    pub median: f64,
    /// Lower end of the median's 95 % interval, from order statistics.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// One value per block, in order.
    pub blocks: Vec<f64>,
    /// Operations in all blocks.
    pub operations: u64,
    /// Times of single operations, if each was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<OperationTimes>,
    /// Context switches per operation, on all sides, voluntary and not, as counted by the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<f64>,
    /// Share of looks that found both sides on different processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<f64>,
    /// How the figure follows from its parts, or its bound: `2 system calls 0.74 µs + one switch 1.9 µs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Its expected parts by other measurements, if it is a sum, in the figure's unit. The rest up to the median is unexplained.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Summand>,
    /// Caveats about this figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
}

/// A summand of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summand {
    /// What it is: `2 system calls`.
    pub name: String,
    /// Its amount, in the figure's unit.
    pub amount: f64,
}

impl Summand {
    /// A summand.
    pub fn new(name: impl Into<String>, amount: f64) -> Self {
        Self { name: name.into(), amount }
    }

    /// Splits a figure into a part known from another one, and the rest. None unless the known part is less.
    pub fn split(all: f64, (name, known): (&str, f64), rest: &str) -> Vec<Self> {
        match known > 0.0 && known < all {
            true => vec![Self::new(name, known), Self::new(rest, all - known)],
            false => Vec::new(),
        }
    }
}

impl Figure {
    /// A figure from its blocks alone: the median with its interval. None without blocks, or if one is NaN.
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

    /// Its column split into circumstances and aspect: `2 MiB` and `launch and join`; the aspect is empty if there is only one.
    pub fn circumstances(&self) -> (&str, &str) {
        self.column.rsplit_once(", ").unwrap_or((&self.column, ""))
    }
}

/// The cheapest and the dearest row of what a table measures first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostRange {
    /// The table.
    pub table: String,
    /// The cheapest row.
    pub least: String,
    /// Its cost, in nanoseconds.
    pub least_ns: f64,
    /// The dearest row.
    pub most: String,
    /// Its circumstances, if it was measured in several.
    pub most_at: Option<String>,
    /// Its cost, in nanoseconds.
    pub most_ns: f64,
}

impl CostRange {
    /// One for each table with differing figures in time, in order of first appearance.
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
    /// Median.
    pub p50: Nanos,
    /// 90th percentile.
    pub p90: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// The longest.
    pub max: Nanos,
}

impl OperationTimes {
    /// Summarises these times; none if there are none.
    pub fn from_histogram(times: &Histogram) -> Option<Self> {
        let Quantiles { p50, p90, p99, max, .. } = times.quantiles()?;
        Some(Self { min: times.quantile(0.0)?, p50, p90, p99, max })
    }
}

/// The machine's conditions before measuring.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conditions {
    /// Share of a processor used by others meanwhile.
    pub foreign: f64,
    /// Share of the processors' time that the hypervisor gave to others.
    pub stolen: f64,
    /// Share of a spin of 100 ms that passed in gaps above 50 µs.
    pub gaps: f64,
    /// Cost of reading the clock; subtracted where it is more than 1 % of a figure.
    pub clock: Nanos,
    /// Facts worth knowing of the machine, in display order: name and value, as `idle driver` and `haltpoll`.
    pub facts: Vec<(String, String)>,
    /// Caveats that follow for the figures.
    pub caveats: Vec<Caveat>,
}

/// Costs of the machine measured by an earlier `torment probe`, to compare a run's figures with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCosts {
    /// That run.
    pub run: RunId,
    /// A wake-up and a switch to another thread on the same processor, without the system calls involved.
    pub switch: Option<Nanos>,
    /// Memory of a thread that only waits, including the kernel's.
    pub thread: Option<Bytes>,
}

/// A limit on the number of tasks: where it is set, how much is used, and how much is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemLimit {
    /// Its standard name: `RLIMIT_NPROC`, `pids.max`, `kernel.threads-max`, …
    pub name: String,
    /// Where it is set: a file, or by whom.
    pub place: String,
    /// The limit in its own unit; none: unlimited.
    pub limit: Option<u64>,
    /// Current usage; none if unreadable.
    pub used: Option<u64>,
    /// Its unit.
    pub unit: SystemLimitUnit,
    /// How many more threads it allows; none: any number.
    pub threads: Option<u64>,
    /// How to raise it until reboot.
    pub now: String,
    /// How to raise it permanently.
    pub for_good: String,
    /// Remarks: that it does not bind this user, that an ancestor cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What ended a ramp of threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RampEnd {
    /// This limit, together with those within 5 % of it.
    Limit {
        /// The one that gave.
        room: Box<SystemLimit>,
        /// The failed call and its error: `clone3: EAGAIN`.
        call: String,
        /// The evidence for this limit.
        because: String,
        /// Names of the limits close behind.
        close: Vec<String>,
    },
    /// Memory: the kernel killed the process instead of refusing.
    Killed {
        /// The evidence.
        because: String,
        /// The limit it ran into.
        room: Option<Box<SystemLimit>>,
    },
    /// None: the reserve left to others was reached.
    Reserve {
        /// The limit nearest to giving.
        room: Option<Box<SystemLimit>>,
    },
    /// None: the requested number was reached.
    Asked,
    /// The ramp was interrupted.
    Interrupted,
    /// It failed, and no readable limit explains it.
    Unknown {
        /// The failed call and its error.
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
    /// The cache size.
    pub cache: Bytes,
}
