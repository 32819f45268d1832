//! Launching a task and waiting for its end: by every method, from processes of several sizes.

mod block;
mod explain;
mod minimal;
mod tasks;

use crate::block::{BlockResult, FigureName, Measurable, ProberKind};
use record::{Figure, FigureUnit};
use serde::{Deserialize, Serialize};
use std::io;
use units::Bytes;

pub use minimal::{minimal_elf, minimal_program};

const MIB: u64 = 1 << 20;
/// As the article counts.
const MB: u64 = 1_000_000;
/// Enough for a block's median, even where one launch takes milliseconds.
const MIN_OPERATIONS: u64 = 30;
/// Enough for a meaningful minimum.
const LEAST_PAUSED: u64 = 100;
/// Heap sizes, to find the cost of a page.
const SIZES: [u64; 5] = [0, 2 * MIB, 16 * MIB, 64 * MIB, 256 * MIB];
/// One in huge pages, to find the effect of the page size.
const HUGE: u64 = 64 * MIB;
/// The article's.
const SIZES_PAUSED: [u64; 4] = [0, 2 * MB, 4 * MB, 8 * MB];

/// How a task is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchMethod {
    /// fork(2).
    Fork,
    /// clone3(2), memory copied: fork without libc.
    Clone,
    /// clone3(2) with CLONE_VM and CLONE_VFORK, like vfork(2).
    Vfork,
    /// posix_spawn(3) of a program.
    Spawn(StartedProgram),
    /// clone3(2) as above, with CLONE_CLEAR_SIGHAND and CLONE_PIDFD, then execve(2) of a program.
    CloneSpawn(StartedProgram),
    /// pthread_create(3), on a stack left by an earlier thread.
    Thread,
    /// pthread_create(3), on a stack that has to be mapped.
    ThreadNewStack,
    /// A future, on an executor made of a queue and a loop.
    Task,
    /// A future, on single-threaded tokio.
    TokioTask,
    /// No launch: the size of the prober itself, which a fork copies whatever the heap.
    Itself,
}

/// The program started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartedProgram {
    /// Three instructions that exit, without libc or loader.
    Minimal,
    /// The system's `true`, however it is linked.
    True,
}

/// How launches follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchPattern {
    /// One after the other, on one processor.
    BackToBack,
    /// With 500 µs of sleep between a launch and its join, on any processor, like Eli Bendersky's `launch-benchmark`.
    LikeEliben,
}

/// One launch measurement: the launch, and the launch with its join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchProbe {
    /// What is launched.
    pub method: LaunchMethod,
    /// Touched heap of the launching process.
    pub heap: Bytes,
    /// Whether that is in huge pages.
    pub huge: bool,
    /// How launches follow each other.
    pub manner: LaunchPattern,
}

impl LaunchProbe {
    /// Back to back, from a process with this heap in small pages.
    pub const fn new(method: LaunchMethod, heap: u64) -> Self {
        Self { method, heap: Bytes(heap), huge: false, manner: LaunchPattern::BackToBack }
    }

    const fn huge(method: LaunchMethod) -> Self {
        Self { huge: true, ..Self::new(method, HUGE) }
    }

    const fn paused(method: LaunchMethod, heap: u64) -> Self {
        Self { manner: LaunchPattern::LikeEliben, ..Self::new(method, heap) }
    }
}

impl Measurable for LaunchProbe {
    fn figures(&self) -> Vec<FigureName> {
        let row = match self.method {
            LaunchMethod::Fork => "fork",
            LaunchMethod::Clone => "clone3",
            LaunchMethod::Vfork => "clone3, memory shared (vfork)",
            LaunchMethod::Spawn(StartedProgram::Minimal) => "posix_spawn, three instructions",
            LaunchMethod::Spawn(StartedProgram::True) => "posix_spawn, true",
            LaunchMethod::CloneSpawn(StartedProgram::Minimal) => "clone3 + execve, three instructions",
            LaunchMethod::CloneSpawn(StartedProgram::True) => "clone3 + execve, true",
            LaunchMethod::Thread => "pthread_create",
            LaunchMethod::ThreadNewStack => "pthread_create, new stack",
            LaunchMethod::Task => "async task",
            LaunchMethod::TokioTask => "async task, tokio",
            LaunchMethod::Itself => "the worker itself",
        };
        let size = match (self.manner, self.huge) {
            (LaunchPattern::LikeEliben, _) => format!("{} MB like eliben", self.heap.0 / MB),
            (LaunchPattern::BackToBack, true) => format!("{} MiB huge", self.heap.0 / MIB),
            (LaunchPattern::BackToBack, false) => format!("{} MiB", self.heap.0 / MIB),
        };
        let (columns, unit): (&[&str], FigureUnit) = match (self.method, self.manner) {
            (LaunchMethod::Itself, _) => (&["touched pages", "mappings"], FigureUnit::Count),
            (_, LaunchPattern::BackToBack) => (&["launch", "launch and join"], FigureUnit::Nanos),
            (_, LaunchPattern::LikeEliben) => {
                (&["launch mean", "launch min", "join mean", "join min"], FigureUnit::Nanos)
            }
        };
        let named = |what: &&str| FigureName { row: row.to_owned(), column: format!("{size}, {what}"), unit };
        columns.iter().map(named).collect()
    }

    fn prober_kind(&self) -> ProberKind {
        let threads = matches!(
            self.method,
            LaunchMethod::Thread
                | LaunchMethod::ThreadNewStack
                | LaunchMethod::Task
                | LaunchMethod::TokioTask
        );
        ProberKind { heap: self.heap, huge: self.huge, threads }
    }

    fn min_operations(&self) -> u64 {
        match (self.method, self.manner) {
            (LaunchMethod::Task | LaunchMethod::TokioTask, _) => tasks::BATCH,
            (_, LaunchPattern::BackToBack) => MIN_OPERATIONS,
            (_, LaunchPattern::LikeEliben) => LEAST_PAUSED,
        }
    }

    fn measure_block(&self, operations: u64) -> io::Result<BlockResult> {
        block::measure(*self, operations)
    }
}

/// The table `launch`.
pub struct LaunchTable {
    /// Measures as the article did, for comparison.
    pub like_eliben: bool,
}

impl LaunchTable {
    pub(crate) fn probes(&self) -> Vec<LaunchProbe> {
        if self.like_eliben { paused_probes() } else { back_to_back_probes() }
    }
}

impl LaunchTable {
    pub(crate) fn explain(&self, figures: &mut [Figure]) -> Vec<String> {
        if self.like_eliben {
            explain::explain_paused(figures)
        } else {
            explain::explain_back_to_back(figures)
        }
    }
}

fn paused_probes() -> Vec<LaunchProbe> {
    let all = [LaunchMethod::Fork, LaunchMethod::Thread];
    all.iter().flat_map(|method| SIZES_PAUSED.map(|size| LaunchProbe::paused(*method, size))).collect()
}

/// Not every method at every size: where memory is shared, more sizes would add nothing.
fn back_to_back_probes() -> Vec<LaunchProbe> {
    use LaunchMethod::{
        Clone, CloneSpawn, Fork, Itself, Spawn, Task, Thread, ThreadNewStack, TokioTask, Vfork,
    };
    let sized = |method: LaunchMethod, sizes: &[u64]| -> Vec<LaunchProbe> {
        sizes.iter().map(|size| LaunchProbe::new(method, *size)).collect()
    };
    let mut cells = sized(Fork, &SIZES);
    cells.push(LaunchProbe::huge(Fork));
    cells.extend(sized(Clone, &SIZES[..4]));
    cells.push(LaunchProbe::huge(Clone));
    cells.extend(sized(Vfork, &[0, 2 * MIB, 64 * MIB]));
    for method in [Spawn, CloneSpawn] {
        for starts in [StartedProgram::Minimal, StartedProgram::True] {
            cells.extend(sized(method(starts), &[0, 64 * MIB]));
        }
    }
    cells.extend(sized(Thread, &[0, 2 * MIB, 64 * MIB]));
    cells.extend([ThreadNewStack, Task, TokioTask, Itself].map(|method| LaunchProbe::new(method, 0)));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_name_of_its_own() {
        for like_eliben in [false, true] {
            let cells = LaunchTable { like_eliben }.probes();
            let mut names: Vec<(String, String)> =
                cells.iter().flat_map(LaunchProbe::figures).map(|named| (named.row, named.column)).collect();
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all);
        }
    }

    #[test]
    fn what_forks_never_shares_a_worker_with_threads() {
        for cell in back_to_back_probes() {
            let forks =
                matches!(cell.method, LaunchMethod::Fork | LaunchMethod::Clone | LaunchMethod::Itself);
            assert!(!(forks && cell.prober_kind().threads), "{cell:?}");
        }
    }
}
