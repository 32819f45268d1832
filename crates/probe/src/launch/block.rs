//! One block of launches, in the prober.

use super::tasks::{self, BATCH, LaunchTimes};
use super::{LaunchMethod, LaunchPattern, LaunchProbe, StartedProgram, minimal_program};
use crate::block::BlockResult;
use crate::sides::bind_to_last_processor;
use rustix::process::{Pid, WaitOptions, waitpid};
use stats::Histogram;
use std::fs::read_to_string;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::task::{self, ChildMemory, PreparedProgram, ThreadStarter};
use sys::{UsageScope, monotonic_ns, usage};
use units::{Bytes, Nanos};

/// The article's pause.
const PAUSE: Duration = Duration::from_micros(500);
const PAGE: u64 = 4096;
/// With a smaller share of the heap in huge pages the figure is mislabelled.
const HUGE: f64 = 0.9;

pub(super) fn measure(probe: LaunchProbe, operations: u64) -> io::Result<BlockResult> {
    task::trim_heap();
    if probe.method == LaunchMethod::Itself {
        return measure_prober(operations);
    }
    if probe.huge {
        check_huge(probe.heap)?;
    }
    if probe.manner == LaunchPattern::BackToBack {
        bind_to_last_processor()?;
    }
    let switches = || usage(UsageScope::Process).switches + usage(UsageScope::Children).switches;
    let before = switches();
    let times = time_launches(probe, operations)?;
    let switches = switches().saturating_sub(before);
    Ok(match (probe.method, probe.manner) {
        (LaunchMethod::Task | LaunchMethod::TokioTask, _) => batch_block(&times),
        (_, LaunchPattern::BackToBack) => BlockResult { switches: Some(switches), ..separate_block(&times) },
        (_, LaunchPattern::LikeEliben) => paused_block(&times),
    })
}

/// For each operation the time of the launch, and of launch and join.
fn time_launches(probe: LaunchProbe, operations: u64) -> io::Result<LaunchTimes> {
    let pause = (probe.manner == LaunchPattern::LikeEliben).then_some(PAUSE);
    match probe.method {
        LaunchMethod::Fork => time_each(operations, pause, task::fork, wait_for_exit),
        LaunchMethod::Clone => {
            time_each(operations, pause, || task::clone3(ChildMemory::Copied), wait_for_exit)
        }
        LaunchMethod::Vfork => {
            time_each(operations, pause, || task::clone3(ChildMemory::Shared), wait_for_exit)
        }
        LaunchMethod::Spawn(starts) => {
            let (program, _file) = program(starts)?;
            time_each(operations, pause, || program.posix_spawn(), wait_for_exit)
        }
        LaunchMethod::CloneSpawn(starts) => {
            let (program, _file) = program(starts)?;
            time_each(operations, pause, || program.start(), |(pid, _fd)| wait_for_exit(pid))
        }
        LaunchMethod::Thread => {
            let threads = ThreadStarter::with_default_stacks();
            // Leaves the stack that all others get.
            threads.start()?.join()?;
            time_each(operations, pause, || threads.start(), task::RawThread::join)
        }
        LaunchMethod::ThreadNewStack => {
            let threads = ThreadStarter::with_new_stacks()?;
            time_each(operations, pause, || threads.start(), task::RawThread::join)
        }
        LaunchMethod::Task => Ok(tasks::queued(operations.div_ceil(BATCH))),
        LaunchMethod::TokioTask => tasks::tokio(operations.div_ceil(BATCH)),
        LaunchMethod::Itself => Ok(Vec::new()),
    }
}

/// Times are recorded outside the timed section, and become a histogram only at the end: writing to a page after a fork is a page
/// fault.
fn time_each<T>(
    operations: u64,
    pause: Option<Duration>,
    mut launch: impl FnMut() -> io::Result<T>,
    mut join: impl FnMut(T) -> io::Result<()>,
) -> io::Result<LaunchTimes> {
    let mut times = Vec::with_capacity(operations as usize);
    for _ in 0..operations {
        let began = monotonic_ns();
        let task = launch()?;
        let launched = monotonic_ns();
        let mut slept = 0;
        if let Some(pause) = pause {
            std::thread::sleep(pause);
            slept = monotonic_ns() - launched;
        }
        join(task)?;
        times.push([launched - began, monotonic_ns() - began - slept]);
    }
    Ok(times)
}

/// Waits for a child that must exit successfully.
fn wait_for_exit(pid: Pid) -> io::Result<()> {
    loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) if status.exit_status() == Some(0) => return Ok(()),
            Ok(Some((_, status))) => return Err(io::Error::other(format!("a child ended with {status:?}"))),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(why) => return Err(why.into()),
        }
    }
}

/// The program, and the file that must outlive it.
fn program(starts: StartedProgram) -> io::Result<(PreparedProgram, Option<OwnedFd>)> {
    let (file, path) = match starts {
        StartedProgram::Minimal => minimal_program().map(|(file, path)| (Some(file), path))?,
        StartedProgram::True => {
            let places = ["/bin/true", "/usr/bin/true"];
            let found = places.iter().find(|path| Path::new(path).exists());
            let found =
                found.ok_or_else(|| io::Error::other(format!("none of {} is there", places.join(", "))))?;
            (None, PathBuf::from(found))
        }
    };
    let nothing: [(&str, &str); 0] = [];
    Ok((PreparedProgram::new(&path, [""; 0], nothing)?, file))
}

/// Medians and histograms.
fn separate_block(times: &[[u64; 2]]) -> BlockResult {
    let columns = [0, 1].map(|at| times.iter().map(|time| time[at]).collect::<Vec<u64>>());
    let single = columns.iter().map(|times| histogram(times)).collect();
    BlockResult {
        values: columns.map(median).to_vec(),
        single,
        operations: times.len() as u64,
        ..BlockResult::default()
    }
}

/// Medians of batches, per task.
fn batch_block(times: &[[u64; 2]]) -> BlockResult {
    let each = |at: usize| median(times.iter().map(|time| time[at]).collect()) / BATCH as f64;
    BlockResult {
        values: vec![each(0), each(1)],
        operations: times.len() as u64 * BATCH,
        ..BlockResult::default()
    }
}

/// Mean and minimum of launch and of join, as the article's program prints them.
fn paused_block(times: &[[u64; 2]]) -> BlockResult {
    let launches: Vec<u64> = times.iter().map(|[launch, _]| *launch).collect();
    let joins: Vec<u64> = times.iter().map(|[launch, both]| both - launch).collect();
    let (mut values, mut single) = (Vec::new(), Vec::new());
    for times in [&launches, &joins] {
        let mean = times.iter().sum::<u64>() as f64 / times.len().max(1) as f64;
        values.extend([mean, times.iter().min().copied().unwrap_or_default() as f64]);
        single.extend([histogram(times), Histogram::default()]);
    }
    BlockResult { values, single, operations: times.len() as u64, ..BlockResult::default() }
}

fn histogram(times: &[u64]) -> Histogram {
    let mut all = Histogram::default();
    times.iter().for_each(|time| all.record(Nanos(*time)));
    all
}

fn median(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    let Some(last) = times.len().checked_sub(1) else { return 0.0 };
    f64::midpoint(times[last / 2] as f64, times[last.div_ceil(2)] as f64)
}

/// Private pages touched by this process, and its mappings.
fn measure_prober(operations: u64) -> io::Result<BlockResult> {
    let touched = kib(&read_to_string("/proc/self/smaps_rollup")?, "Anonymous")? / PAGE;
    let maps = read_to_string("/proc/self/maps")?;
    // The last one is a page that all processes have and none copies.
    let mappings = maps.lines().filter(|line| !line.ends_with("[vsyscall]")).count();
    Ok(BlockResult { values: vec![touched as f64, mappings as f64], operations, ..BlockResult::default() })
}

/// The kernel grants huge pages where it can and may: checks that it did.
fn check_huge(heap: Bytes) -> io::Result<()> {
    let huge = Bytes(kib(&read_to_string("/proc/self/smaps_rollup")?, "AnonHugePages")?);
    if huge.0 as f64 >= heap.0 as f64 * HUGE {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the kernel gave {huge} of {heap} in huge pages: see /sys/kernel/mm/transparent_hugepage/enabled, which must not be \
         `never`, and whether memory is in pieces"
    )))
}

fn kib(text: &str, name: &str) -> io::Result<u64> {
    procfs::kib_field(text, name).ok_or_else(|| io::Error::other(format!("the kernel does not say {name}:")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Measurable;

    const ALL: [LaunchMethod; 11] = [
        LaunchMethod::Fork,
        LaunchMethod::Clone,
        LaunchMethod::Vfork,
        LaunchMethod::Spawn(StartedProgram::Minimal),
        LaunchMethod::Spawn(StartedProgram::True),
        LaunchMethod::CloneSpawn(StartedProgram::Minimal),
        LaunchMethod::CloneSpawn(StartedProgram::True),
        LaunchMethod::Thread,
        LaunchMethod::ThreadNewStack,
        LaunchMethod::Task,
        LaunchMethod::TokioTask,
    ];

    /// In a thread of its own, which is bound to a processor and then gone; no child of it is left.
    fn measured(probe: LaunchProbe, operations: u64) -> BlockResult {
        let measure = move || {
            let block = probe.measure_block(operations);
            // This file is optional in the kernel configuration.
            (block, read_to_string("/proc/thread-self/children").unwrap_or_default())
        };
        let (block, left) = std::thread::spawn(measure).join().expect("no panic");
        assert_eq!(left, "", "{probe:?}: somebody was not waited for");
        block.unwrap_or_else(|why| panic!("{probe:?}: {why}"))
    }

    #[test]
    fn every_method_launches_and_joins_and_leaves_nobody() {
        let mut cells = ALL.map(|method| LaunchProbe::new(method, 0)).to_vec();
        cells.extend([LaunchMethod::Fork, LaunchMethod::Thread].map(|method| LaunchProbe::paused(method, 0)));
        for cell in cells {
            let block = measured(cell, 40);
            assert_eq!(block.values.len(), cell.figures().len(), "{cell:?}");
            assert!(
                block.operations >= 40 && block.values.iter().all(|value| *value > 0.0),
                "{cell:?}: {block:?}"
            );
            if block.values.len() == 2 {
                assert!(block.values[0] < block.values[1], "{cell:?}: {:?}", block.values);
            }
        }
    }

    #[test]
    fn a_worker_knows_its_size() {
        let block = measured(LaunchProbe::new(LaunchMethod::Itself, 0), 1);
        assert!(block.values[0] > 10.0 && block.values[1] > 4.0, "{:?}", block.values);
    }

    #[test]
    fn huge_pages_that_are_not_there_are_missed() {
        let why = check_huge(Bytes(1 << 40)).expect_err("nobody has so much");
        assert!(why.to_string().contains("of 1 TiB in huge pages"), "{why}");
        assert_eq!(kib("A:\t 12 kB\nB: 7 kB\n", "B").expect("it is there"), 7 << 10);
        assert!(kib("A: 1 kB", "C").is_err());
    }

    #[test]
    fn middles() {
        assert_eq!(median(vec![3, 1, 2]), 2.0);
        assert_eq!(median(vec![4, 1, 2, 3]), 2.5);
        assert_eq!(median(Vec::new()), 0.0);
        let block = paused_block(&[[2, 5], [4, 5]]);
        assert_eq!(block.values, [3.0, 2.0, 2.0, 1.0]);
        assert_eq!(batch_block(&[[200, 500]]).values, [2.0, 5.0]);
    }
}
