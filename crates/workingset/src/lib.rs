//! Reads at random in a growing set until it no longer fits what caches it: memory behind the processor's caches, a file
//! behind the kernel's or behind one of our own, a table behind PostgreSQL's.
//!
//! It makes the reads and times them. What they mean is for `stats::Cache`, how far to go for whoever asks. Reads of memory
//! and files are made by a process of its own, so that it, and not torment, is in a control group with little memory.

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

/// What one read of a file takes: a page of PostgreSQL's.
pub const BLOCK: Bytes = Bytes(8192);

/// Where a reader reads, and what is between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadSource {
    /// Lines of 64 bytes of memory, each read waiting for the one before: the processor's caches.
    Memory {
        /// The most that is read.
        most: Bytes,
        /// Whether it is asked to be in huge pages.
        huge: bool,
    },
    /// A file, through the kernel's cache.
    File {
        /// Which; it is only read.
        path: PathBuf,
        /// Reads under way at once: above 1 by io_uring(7).
        depth: u32,
    },
    /// A file past the kernel's cache (O_DIRECT), through one of our own.
    Direct {
        /// Which; it is only read.
        path: PathBuf,
        /// What our own holds.
        cache: Bytes,
    },
}

/// What reading in one set has shown.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReadMeasurement {
    /// Reads made and what they took, of each part of the time.
    pub blocks: Vec<(u64, Nanos)>,
    /// What each took; none where they are too short to be timed one by one.
    pub times: Histogram,
    /// Reads that went behind the cache, as the kernel counts bytes fetched, or as our own cache knows.
    pub missed: Option<f64>,
}

impl ReadMeasurement {
    /// Reads in all.
    pub fn reads(&self) -> u64 {
        self.blocks.iter().map(|(reads, _)| reads).sum()
    }

    /// Reads a second, of each part of the time.
    pub fn rates(&self) -> Vec<f64> {
        self.blocks.iter().map(|(reads, time)| Rate::of(*reads, *time).0).collect()
    }

    /// The share of all that missed.
    pub fn missed_share(&self) -> Option<f64> {
        let reads = self.reads();
        self.missed.filter(|_| reads > 0).map(|missed| (missed / reads as f64).min(1.0))
    }
}

/// What shows whether something below the kernel, such as the host of a virtual machine, keeps what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RereadTimes {
    /// Median of reads of blocks for the first time, past the kernel's cache.
    pub first: Nanos,
    /// Median of reading the same again.
    pub again: Nanos,
}

/// Why there are no reads.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process that reads does not start, or has ended.
    #[error("the process that reads: {0}")]
    Reader(String),
    /// What is read cannot be: what, and why.
    #[error("{0} cannot be read: {1}")]
    Read(String, String),
    /// There is no place for a file of this size: what was looked at.
    #[error(
        "there is no room for a file of {0}: {1}; make room, ask for less with --limit or --sizes, or name a file of your own \
         with --file"
    )]
    Room(Bytes, String),
    /// The database does not do what it is asked.
    #[error("the database: {0}")]
    Database(String),
    /// Somebody did not want to wait any longer.
    #[error("interrupted")]
    Interrupted,
}
