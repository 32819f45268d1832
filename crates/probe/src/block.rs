//! A block: what is measured at a time, and what it gives.

use record::FigureUnit;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use std::io;
use std::path::PathBuf;
use units::{Bytes, Nanos};

/// One thing that is measured in blocks; a block gives one value for each of its figures.
pub trait Measurable {
    /// Its figures, in the order of a block's values.
    fn figures(&self) -> Vec<FigureName>;

    /// In what kind of worker it is measured.
    fn prober_kind(&self) -> ProberKind {
        ProberKind::default()
    }

    /// The least operations that a block of it has.
    fn min_operations(&self) -> u64 {
        1
    }

    /// How many blocks are made of it at most, if not as many as of others.
    fn max_blocks(&self) -> Option<u32> {
        None
    }

    /// Measures a block, in the worker.
    ///
    /// # Errors
    /// When it cannot be measured here.
    fn measure_block(&self, operations: u64) -> io::Result<BlockResult>;
}

/// How a figure is called in its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FigureName {
    /// Its row.
    pub row: String,
    /// Its column.
    pub column: String,
    /// What its values are counted in.
    pub unit: FigureUnit,
}

/// What a worker is made like before it measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct ProberKind {
    /// Memory that it has touched.
    pub heap: Bytes,
    /// Whether that is asked to be in huge pages.
    pub huge: bool,
    /// Whether threads or a runtime may have been in it: what they leave behind, a fork would copy.
    pub threads: bool,
}

/// What a worker has measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BlockResult {
    /// One for each figure of its cell, in the figure's unit.
    pub values: Vec<f64>,
    /// Times of the single operations for each figure; none where they are not timed singly.
    pub single: Vec<Histogram>,
    /// Operations made.
    pub operations: u64,
    /// Context switches of all sides; none where they say nothing.
    pub switches: Option<u64>,
    /// Looks at both sides, and how many of them found both on different processors.
    pub looks: Option<(u64, u64)>,
    /// What it took; the worker adds it.
    pub wall: Nanos,
    /// Processor time of the worker and all it started; the worker adds it.
    pub used: Nanos,
}

/// How much is done.
#[derive(Debug, Clone)]
pub struct ProbeSettings {
    /// Blocks of each cell.
    pub blocks: u32,
    /// What a block should take.
    pub block: Nanos,
    /// Orders the blocks.
    pub seed: u64,
    /// torment's own program, of which the workers are made.
    pub program: PathBuf,
}
