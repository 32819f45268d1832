//! One block: a ramp of threads, or one malloc.

use super::readings::MemoryReadings;
use crate::block::{BlockResult, FigureName, Measurable, ProberKind};
use record::{FigureUnit, SystemLimit};
use serde::{Deserialize, Serialize};
use stats::Slope;
use std::fs::read_to_string;
use std::hint::black_box;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};
use sys::IdleThreads;
use tasks::ThreadsWanted;
use units::Bytes;

/// Size requested from malloc, as in the article.
pub const MALLOC: Bytes = Bytes(400 << 20);
/// Stack touched by a thread, as in the article.
const TOUCHED: Bytes = Bytes(400 << 10);
/// glibc's usual stack.
const STACK: Bytes = Bytes(8 << 20);
/// Steps of a ramp, so that what does not grow with the threads drops out of the slope.
const STEPS: u64 = 8;
/// Threads of a ramp, as in the article,
const THREADS: u64 = 10_000;
/// and of one in which each touches 400 KiB.
const THREADS_TOUCHED: u64 = 2_000;
/// Fewer say little, since the kernel allocates for many at once.
const THREADS_LEAST: u64 = 400;
/// Share of the room left by the nearest limit that is used.
const USED_SHARE: f64 = 0.8;
/// Blocks per probe.
const BLOCKS: u32 = 5;
/// Until all threads of a step wait, and until they have gone.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(2);

/// Columns of a thread.
pub const PARTS: [&str; 6] = ["virtual", "resident", "page tables", "kernel stack", "slab", SUM];
/// What a thread really takes: everything but virtual memory.
pub const SUM: &str = "sum";
/// The same according to MemFree.
pub const FREE: &str = "MemFree";

/// Kind of thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThreadVariant {
    /// As pthread_create makes it, with a page of frames. In a static program like this one a thread that calls nothing fits into one
    /// page with its control block; with a dynamic C library that block is larger, and takes two.
    Plain,
    /// The same, touching part of its stack.
    Touched,
    /// As clone makes it, without a stack.
    Raw,
}

/// One memory measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryProbe {
    /// Threads, in steps.
    Thread(ThreadVariant),
    /// Memory that is requested, then touched.
    Malloc,
}

impl MemoryProbe {
    pub fn row(self) -> String {
        match self {
            Self::Thread(ThreadVariant::Plain) => "thread, 8 MiB stack".to_owned(),
            Self::Thread(ThreadVariant::Touched) => "thread, 400 KiB of stack touched".to_owned(),
            Self::Thread(ThreadVariant::Raw) => "raw clone without stack".to_owned(),
            Self::Malloc => format!("malloc of {MALLOC}"),
        }
    }
}

impl Measurable for MemoryProbe {
    fn figures(&self) -> Vec<FigureName> {
        let columns: Vec<&str> = match self {
            Self::Thread(_) => PARTS.into_iter().chain([FREE]).collect(),
            Self::Malloc => {
                vec!["virtual, untouched", "resident, untouched", "virtual, touched", "resident, touched"]
            }
        };
        let named = |column: &&str| FigureName {
            row: self.row(),
            column: (*column).to_owned(),
            unit: FigureUnit::Bytes,
        };
        columns.iter().map(named).collect()
    }

    /// No other probe may share a process with what a crowd of threads leaves behind.
    fn prober_kind(&self) -> ProberKind {
        ProberKind { threads: matches!(self, Self::Thread(_)), ..ProberKind::default() }
    }

    /// Fewer than for others: a ramp is slow, and repeats well.
    fn max_blocks(&self) -> Option<u32> {
        Some(BLOCKS)
    }

    fn measure_block(&self, _: u64) -> io::Result<BlockResult> {
        match self {
            Self::Thread(thread) => ramp(*thread),
            Self::Malloc => malloc(),
        }
    }
}

/// As many as possible without touching what others need.
fn affordable_threads(thread: ThreadVariant, threads_wanted: &ThreadsWanted) -> io::Result<u64> {
    let rooms = tasks::forecast(threads_wanted);
    let most = if thread == ThreadVariant::Touched { THREADS_TOUCHED } else { THREADS };
    let Some((SystemLimit { name, place, .. }, threads_left)) =
        rooms.first().and_then(|room| Some((room, room.threads?)))
    else {
        return Ok(most);
    };
    let count = most.min((threads_left as f64 * USED_SHARE) as u64);
    if count < THREADS_LEAST {
        let why = format!(
            "there is room for {threads_left} threads only: {name} ({place}); torment explain limits says how to raise it"
        );
        return Err(io::Error::other(why));
    }
    Ok(count)
}

/// Up in steps, with a reading at each, then down again.
fn ramp(thread: ThreadVariant) -> io::Result<BlockResult> {
    let touch = match thread {
        ThreadVariant::Plain => Bytes(rustix::param::page_size() as u64),
        ThreadVariant::Touched => TOUCHED,
        ThreadVariant::Raw => Bytes(0),
    };
    let raw = thread == ThreadVariant::Raw;
    let threads_wanted =
        ThreadsWanted { stack: (!raw).then_some(STACK), touch, raw, ..ThreadsWanted::default() };
    let each = affordable_threads(thread, &threads_wanted)? / STEPS;
    let mut idle_threads = IdleThreads::new(STACK, touch);
    let readings = climb(&mut idle_threads, raw, each);
    let made = idle_threads.count();
    idle_threads.release();
    // The next block begins where this one did.
    wait_until("the threads do not end", || threads().is_none_or(|threads| threads == 1))?;
    let readings = readings?;
    let slope = |part: &dyn Fn(&MemoryReadings) -> f64| {
        let values: Vec<f64> = readings.iter().map(part).collect();
        Slope::fit(&values, each as f64).map_or(0.0, |slope| slope.per_unit)
    };
    let parts = [
        slope(&|seen| seen.virtual_size as f64),
        slope(&|seen| seen.resident as f64),
        slope(&|seen| seen.page_tables as f64),
        slope(&|seen| seen.kernel_stack as f64),
        slope(&|seen| seen.slab as f64),
    ];
    let sum = parts.iter().skip(1).sum();
    let free = -slope(&|seen| seen.free as f64);
    let values = parts.into_iter().chain([sum, free]).collect();
    Ok(BlockResult { values, operations: made, ..BlockResult::default() })
}

/// Readings after each step.
fn climb(idle_threads: &mut IdleThreads, raw: bool, each: u64) -> io::Result<Vec<MemoryReadings>> {
    let mut readings = Vec::new();
    for _ in 0..STEPS {
        for _ in 0..each {
            if raw { idle_threads.add_stackless()? } else { idle_threads.add_thread()? }
        }
        wait_until("the threads do not run", || idle_threads.is_settled())?;
        readings.push(MemoryReadings::now()?);
    }
    Ok(readings)
}

fn threads() -> Option<u64> {
    procfs::number_field(&read_to_string("/proc/self/status").ok()?, "Threads")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        if Instant::now() > until {
            return Err(io::Error::other(format!("{what} within {} s", PATIENCE.as_secs())));
        }
        sleep(PAUSE);
    }
    Ok(())
}

/// Reads before, after the request, and after the touch.
fn malloc() -> io::Result<BlockResult> {
    let size = usize::try_from(MALLOC.0).expect("400 MiB can be addressed");
    let before = MemoryReadings::now()?;
    if before.available < 2 * MALLOC.0 {
        let found = Bytes(before.available);
        return Err(io::Error::other(format!("{found} of memory are available, twice {MALLOC} are needed")));
    }
    let mut memory: Vec<u8> = Vec::new();
    memory.try_reserve_exact(size).map_err(io::Error::other)?;
    black_box(&mut memory);
    let reserved = MemoryReadings::now()?;
    memory.spare_capacity_mut().iter_mut().step_by(1024).for_each(|byte| {
        byte.write(1);
    });
    black_box(&mut memory);
    let touched = MemoryReadings::now()?;
    drop(memory);
    let grown = |now: u64, then: u64| now as f64 - then as f64;
    let values = [reserved, touched]
        .into_iter()
        .flat_map(|now| [grown(now.virtual_size, before.virtual_size), grown(now.resident, before.resident)]);
    Ok(BlockResult { values: values.collect(), operations: 1, ..BlockResult::default() })
}
