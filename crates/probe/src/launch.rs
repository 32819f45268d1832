//! Launching a task, and waiting for its end: by every way there is, from processes of several sizes.

mod block;
mod explain;
mod minimal;
mod tasks;

use crate::block::{Block, Home, Measurable, Named};
use record::{Figure, Unit};
use serde::{Deserialize, Serialize};
use std::io;
use units::Bytes;

pub use minimal::{minimal, minimal_program};

const MIB: u64 = 1 << 20;
/// As the article counts.
const MB: u64 = 1_000_000;
/// Enough for a median of a block, even where one takes milliseconds.
const LEAST: u64 = 30;
/// Enough for a minimum that means something.
const LEAST_PAUSED: u64 = 100;
/// What the heap is made of, to see what a page costs.
const SIZES: [u64; 5] = [0, 2 * MIB, 16 * MIB, 64 * MIB, 256 * MIB];
/// One in huge pages, to see what a page is.
const HUGE: u64 = 64 * MIB;
/// The article's.
const SIZES_PAUSED: [u64; 4] = [0, 2 * MB, 4 * MB, 8 * MB];

/// A way to launch a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// fork(2).
    Fork,
    /// clone3(2), memory copied: fork without libc.
    Clone,
    /// clone3(2) with CLONE_VM and CLONE_VFORK, as vfork(2) does it.
    Vfork,
    /// posix_spawn(3) of a program.
    Spawn(Starts),
    /// clone3(2) as above, with CLONE_CLEAR_SIGHAND and CLONE_PIDFD, and execve(2) of a program.
    CloneSpawn(Starts),
    /// pthread_create(3), on a stack that an earlier thread has left.
    Thread,
    /// pthread_create(3), on a stack that has to be mapped.
    ThreadNewStack,
    /// A future, on an executor of a queue and a loop.
    Task,
    /// A future, on one thread of tokio.
    TokioTask,
    /// Nothing is launched: how much there is of the worker itself, which a fork copies at any size of the heap.
    Itself,
}

/// The program that is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Starts {
    /// Three instructions that end it, without libc or loader.
    Minimal,
    /// The system's `true`, whatever it is linked with.
    True,
}

/// In what manner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Manner {
    /// One after the other, on one processor.
    BackToBack,
    /// With 500 µs of sleep between a launch and its join, wherever the kernel likes: as Eli Bendersky's
    /// `launch-benchmark` does it.
    LikeEliben,
}

/// What is measured in a block: a launch, and a launch with its join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// What is launched.
    pub method: Method,
    /// From a process that has touched so much.
    pub heap: Bytes,
    /// Whether that is in huge pages.
    pub huge: bool,
    /// In what manner.
    pub manner: Manner,
}

impl Cell {
    /// Back to back, from a process that has touched so much in small pages.
    pub const fn new(method: Method, heap: u64) -> Self {
        Self { method, heap: Bytes(heap), huge: false, manner: Manner::BackToBack }
    }

    const fn huge(method: Method) -> Self {
        Self { huge: true, ..Self::new(method, HUGE) }
    }

    const fn paused(method: Method, heap: u64) -> Self {
        Self { manner: Manner::LikeEliben, ..Self::new(method, heap) }
    }
}

impl Measurable for Cell {
    fn figures(&self) -> Vec<Named> {
        let row = match self.method {
            Method::Fork => "fork",
            Method::Clone => "clone3",
            Method::Vfork => "clone3, memory shared (vfork)",
            Method::Spawn(Starts::Minimal) => "posix_spawn, three instructions",
            Method::Spawn(Starts::True) => "posix_spawn, true",
            Method::CloneSpawn(Starts::Minimal) => "clone3 + execve, three instructions",
            Method::CloneSpawn(Starts::True) => "clone3 + execve, true",
            Method::Thread => "pthread_create",
            Method::ThreadNewStack => "pthread_create, new stack",
            Method::Task => "async task",
            Method::TokioTask => "async task, tokio",
            Method::Itself => "the worker itself",
        };
        let size = match (self.manner, self.huge) {
            (Manner::LikeEliben, _) => format!("{} MB like eliben", self.heap.0 / MB),
            (Manner::BackToBack, true) => format!("{} MiB huge", self.heap.0 / MIB),
            (Manner::BackToBack, false) => format!("{} MiB", self.heap.0 / MIB),
        };
        let (what, unit): (&[&str], Unit) = match (self.method, self.manner) {
            (Method::Itself, _) => (&["touched pages", "mappings"], Unit::Count),
            (_, Manner::BackToBack) => (&["launch", "launch and join"], Unit::Nanos),
            (_, Manner::LikeEliben) => (&["launch mean", "launch min", "join mean", "join min"], Unit::Nanos),
        };
        let named = |what: &&str| Named { row: row.to_owned(), column: format!("{size}, {what}"), unit };
        what.iter().map(named).collect()
    }

    fn home(&self) -> Home {
        let threads =
            matches!(self.method, Method::Thread | Method::ThreadNewStack | Method::Task | Method::TokioTask);
        Home { heap: self.heap, huge: self.huge, threads }
    }

    fn least(&self) -> u64 {
        match (self.method, self.manner) {
            (Method::Task | Method::TokioTask, _) => tasks::BATCH,
            (_, Manner::BackToBack) => LEAST,
            (_, Manner::LikeEliben) => LEAST_PAUSED,
        }
    }

    fn block(&self, operations: u64) -> io::Result<Block> {
        block::block(*self, operations)
    }
}

/// The table.
pub struct Launch {
    /// As the article measured instead, to be held against it.
    pub like_eliben: bool,
}

impl Launch {
    pub(crate) fn cells(&self) -> Vec<Cell> {
        if self.like_eliben { paused() } else { back_to_back() }
    }

    pub(crate) fn explain(&self, figures: &mut [Figure]) -> Vec<String> {
        if self.like_eliben { explain::paused(figures) } else { explain::back_to_back(figures) }
    }
}

fn paused() -> Vec<Cell> {
    let all = [Method::Fork, Method::Thread];
    all.iter().flat_map(|method| SIZES_PAUSED.map(|size| Cell::paused(*method, size))).collect()
}

/// Not every method at every size: where memory is shared a size more would say nothing new.
fn back_to_back() -> Vec<Cell> {
    use Method::{Clone, CloneSpawn, Fork, Itself, Spawn, Task, Thread, ThreadNewStack, TokioTask, Vfork};
    let sized = |method: Method, sizes: &[u64]| -> Vec<Cell> {
        sizes.iter().map(|size| Cell::new(method, *size)).collect()
    };
    let mut cells = sized(Fork, &SIZES);
    cells.push(Cell::huge(Fork));
    cells.extend(sized(Clone, &SIZES[..4]));
    cells.push(Cell::huge(Clone));
    cells.extend(sized(Vfork, &[0, 2 * MIB, 64 * MIB]));
    for method in [Spawn, CloneSpawn] {
        for starts in [Starts::Minimal, Starts::True] {
            cells.extend(sized(method(starts), &[0, 64 * MIB]));
        }
    }
    cells.extend(sized(Thread, &[0, 2 * MIB, 64 * MIB]));
    cells.extend([ThreadNewStack, Task, TokioTask, Itself].map(|method| Cell::new(method, 0)));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_name_of_its_own() {
        for like_eliben in [false, true] {
            let cells = Launch { like_eliben }.cells();
            let mut names: Vec<(String, String)> =
                cells.iter().flat_map(Cell::figures).map(|named| (named.row, named.column)).collect();
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all);
        }
    }

    #[test]
    fn what_forks_never_shares_a_worker_with_threads() {
        for cell in back_to_back() {
            let forks = matches!(cell.method, Method::Fork | Method::Clone | Method::Itself);
            assert!(!(forks && cell.home().threads), "{cell:?}");
        }
    }
}
