//! Reads at random in a growing working set until it no longer fits its cache: memory behind the processor's caches, a file
//! behind the kernel's or one of our own, a table behind PostgreSQL's.
//!
//! Makes the reads and times them. Interpreting them is for `stats::CacheFit`, choosing sizes for the caller. Memory
//! and files are read by a separate process, so that it, and not torment, is in a control group with little memory.

mod block_file;
mod clock_cache;
mod folder_space;
mod memory;
mod reader;
mod reader_process;
mod size_ladder;
mod stopwatch;
mod table;
mod xorshift;

pub use folder_space::{FolderSpace, find_folder, write_random_file};
pub use reader::run_reader;
pub use reader_process::ReaderProcess;
pub use size_ladder::{processor_caches, size_ladder};
pub use table::PostgresTable;

use serde::{Deserialize, Serialize};
use stats::Histogram;
use std::path::PathBuf;
use units::{Bytes, Nanos, Rate};

/// Size of a file read: a PostgreSQL page.
pub const BLOCK: Bytes = Bytes(8192);
/// Parts of the time of a measurement that are counted separately.
const BLOCKS: u32 = 8;

/// What a reader reads, and through which cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadSource {
    /// Cache lines of 64 bytes, in dependent reads: the processor's caches.
    Memory {
        /// Largest working set.
        most: Bytes,
        /// Whether huge pages are requested.
        huge: bool,
    },
    /// A file, through the page cache.
    File {
        /// The file; only read.
        path: PathBuf,
        /// Reads in flight; above 1 by io_uring(7).
        depth: u32,
    },
    /// A file past the page cache (O_DIRECT), through one of our own.
    Direct {
        /// The file; only read.
        path: PathBuf,
        /// Size of our own cache.
        cache: Bytes,
    },
}

/// Result of reading in one working set.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReadMeasurement {
    /// Reads and their time, for each part of the run.
    pub blocks: Vec<(u64, Nanos)>,
    /// Times of single reads; empty where they are too short to be timed singly.
    pub times: Histogram,
    /// Cache misses, by the kernel's count of bytes fetched, or by our own cache's.
    pub missed: Option<f64>,
}

impl ReadMeasurement {
    /// Reads of all parts.
    pub fn reads(&self) -> u64 {
        self.blocks.iter().map(|(reads, _)| reads).sum()
    }

    /// Reads per second, for each part of the run.
    pub fn rates(&self) -> Vec<f64> {
        self.blocks.iter().map(|(reads, time)| Rate::of(*reads, *time).0).collect()
    }

    /// Misses ÷ reads.
    pub fn missed_share(&self) -> Option<f64> {
        let reads = self.reads();
        self.missed.filter(|_| reads > 0).map(|missed| (missed / reads as f64).min(1.0))
    }
}

/// Shows whether something below the kernel, such as the host of a virtual machine, caches reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RereadTimes {
    /// Median of first reads of blocks, past the page cache.
    pub first: Nanos,
    /// Median of reading the same again.
    pub again: Nanos,
}

/// Why there are no reads.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The reader process does not start, or has ended.
    #[error("the process that reads: {0}")]
    Reader(String),
    /// The source cannot be read: which, and why.
    #[error("{0} cannot be read: {1}")]
    Read(String, String),
    /// No folder has room for a file of this size: those tried.
    #[error(
        "there is no room for a file of {0}: {1}; make room, ask for less with --limit or --sizes, or name a file of your own \
         with --file"
    )]
    NoSpace(Bytes, String),
    /// The database refuses.
    #[error("the database: {0}")]
    Database(String),
    /// `stop` was requested.
    #[error("interrupted")]
    Interrupted,
}
