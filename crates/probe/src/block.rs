//! A block: the unit of measurement, and its result.

use record::FigureUnit;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use std::io;
use std::path::PathBuf;
use units::{Bytes, Nanos};

/// Something measured in blocks; each block gives one value per figure.
pub trait Measurable {
    /// Its figures, in the order of a block's values.
    fn figures(&self) -> Vec<FigureName>;

    /// The kind of prober process that it needs.
    fn prober_kind(&self) -> ProberKind {
        ProberKind::default()
    }

    /// Minimum operations per block.
    fn min_operations(&self) -> u64 {
        1
    }

    /// Maximum blocks, if fewer than for other probes.
    fn max_blocks(&self) -> Option<u32> {
        None
    }

    /// Measures a block, in the prober process.
    ///
    /// # Errors
    /// If it cannot be measured here.
    fn measure_block(&self, operations: u64) -> io::Result<BlockResult>;
}

/// A figure's name in its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FigureName {
    /// Row.
    pub row: String,
    /// Column.
    pub column: String,
    /// Unit of its values.
    pub unit: FigureUnit,
}

/// State of a prober process before it measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct ProberKind {
    /// Heap that it has touched.
    pub heap: Bytes,
    /// Whether the heap is requested in huge pages.
    pub huge: bool,
    /// Whether threads or a runtime may have run in it: a fork would copy what they leave behind.
    pub threads: bool,
}

/// What a prober measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BlockResult {
    /// One per figure, in the figure's unit.
    pub values: Vec<f64>,
    /// Times of single operations per figure; empty where they are not timed singly.
    pub single: Vec<Histogram>,
    /// Operations made.
    pub operations: u64,
    /// Context switches of all sides; none if unknown.
    pub switches: Option<u64>,
    /// Samples of where both sides run, and how many found them on different processors.
    pub looks: Option<(u64, u64)>,
    /// Wall-clock time; added by the prober.
    pub wall: Nanos,
    /// Processor time of the prober and all it started; added by the prober.
    pub used: Nanos,
}

/// How much to measure.
#[derive(Debug, Clone)]
pub struct ProbeSettings {
    /// Blocks per probe.
    pub blocks: u32,
    /// Target duration of a block.
    pub block_time: Nanos,
    /// Seed of the block order.
    pub seed: u64,
    /// torment's own executable, from which the probers are started.
    pub program: PathBuf,
}
