//! What is measured: sent to a worker, and carried out there, a block at a time.

use crate::{clone, copy, ipc, launch, memory, switch};
use record::Unit;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use std::io;
use units::{Bytes, Nanos};

/// One thing that is measured in blocks; a block gives one value for each of its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CellKind {
    /// Bytes from one place in memory to another, and the smallest things a program can ask for.
    Copy(copy::Cell),
    /// A task launched, and joined.
    Launch(launch::Cell),
    /// A token handed back and forth.
    Switch(switch::Cell),
    /// What a waiting thread takes, and what malloc does.
    Memory(memory::Cell),
    /// Bytes from one process to another.
    Ipc(ipc::Cell),
    /// A child that writes into a variable, with and without its parent's memory.
    Clone(clone::Cell),
}

/// How a figure is called in its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its row.
    pub row: String,
    /// Its column.
    pub column: String,
    /// What its values are counted in.
    pub unit: Unit,
}

/// What a worker is made like before it measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Home {
    /// Memory that it has touched.
    pub heap: Bytes,
    /// Whether that is asked to be in huge pages.
    pub huge: bool,
    /// Whether threads or a runtime may have been in it: what they leave behind, a fork would copy.
    pub threads: bool,
}

/// What a worker has measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Block {
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

impl CellKind {
    /// Its figures, in the order of a block's values.
    pub fn figures(&self) -> Vec<Named> {
        match self {
            Self::Copy(cell) => cell.figures(),
            Self::Launch(cell) => cell.figures(),
            Self::Switch(cell) => cell.figures(),
            Self::Memory(cell) => cell.figures(),
            Self::Ipc(cell) => cell.figures(),
            Self::Clone(cell) => cell.figures(),
        }
    }

    /// In what kind of worker it is measured.
    pub fn home(&self) -> Home {
        match self {
            Self::Copy(_) | Self::Switch(_) | Self::Ipc(_) | Self::Clone(_) => Home::default(),
            Self::Launch(cell) => cell.home(),
            Self::Memory(cell) => cell.home(),
        }
    }

    /// The least operations that a block of it has.
    pub fn least(&self) -> u64 {
        match self {
            Self::Copy(_) | Self::Clone(_) | Self::Memory(_) => 1,
            Self::Launch(cell) => cell.least(),
            Self::Switch(cell) => cell.least(),
            Self::Ipc(cell) => cell.least(),
        }
    }

    /// How many blocks are made of it at most, if not as many as of others.
    pub fn blocks(&self) -> Option<u32> {
        match self {
            Self::Copy(_) | Self::Launch(_) | Self::Switch(_) | Self::Clone(_) => None,
            Self::Memory(cell) => Some(cell.blocks()),
            Self::Ipc(cell) => cell.blocks(),
        }
    }

    /// Measures a block, in the worker.
    pub(crate) fn block(&self, operations: u64) -> io::Result<Block> {
        match self {
            Self::Copy(cell) => cell.block(operations),
            Self::Launch(cell) => cell.block(operations),
            Self::Switch(cell) => cell.block(operations),
            Self::Memory(cell) => cell.block(),
            Self::Ipc(cell) => cell.block(operations),
            Self::Clone(cell) => cell.block(),
        }
    }
}
