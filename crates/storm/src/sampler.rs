//! Samples the whole machine, ten times a second.

use procfs::{HostStat, cgroups, parse_host_stat, read_number};
use std::fs::read_to_string;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use sys::Ticks;

/// The sampling interval.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Samples per block: /proc/stat counts in ticks of 10 ms, so less than a second says little.
const SAMPLES_PER_BLOCK: u32 = 10;

/// The machine over one second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineSecond {
    /// Processor time that passed.
    pub ticks: Ticks,
    /// Its actual length.
    pub time: Duration,
    /// Context switches (`ctxt`).
    pub switches: u64,
    /// Processes and threads created (`processes`).
    pub created: u64,
    /// Tasks ready or running, on average (`procs_running`).
    pub running: f64,
    /// The most tasks in our control group (`pids.current`), if counted.
    pub cgroup_tasks: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct StatReading {
    at: Instant,
    ticks: Ticks,
    switches: u64,
    created: u64,
    running: u64,
}

impl StatReading {
    fn now() -> Option<Self> {
        let HostStat { times, switches, created, running, .. } =
            parse_host_stat(&read_to_string("/proc/stat").ok()?)?;
        let (at, ticks) = (Instant::now(), times.into());
        Some(Self { at, ticks, switches: switches?, created: created?, running: running? })
    }
}

/// The sampling thread.
pub(crate) struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<MachineSecond>>,
}

impl Sampler {
    /// Starts sampling. `None` if no thread can be started, or /proc/stat cannot be read.
    pub fn begin() -> Option<Self> {
        let first = StatReading::now()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stop_flag = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("sampler".to_owned());
        Some(Self { stop, thread: thread.spawn(move || sample_machine(first, &stop_flag)).ok()? })
    }

    /// Takes a last sample and returns all blocks; the last may be shorter.
    pub fn end(self) -> Vec<MachineSecond> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().expect("reading /proc does not panic")
    }
}

fn sample_machine(mut first: StatReading, stop: &AtomicBool) -> Vec<MachineSecond> {
    let pids_file = cgroup_pids_file();
    let stopped = || stop.load(Ordering::Relaxed);
    let mut blocks = Vec::new();
    loop {
        let (mut samples, mut running_sum, mut max_tasks) = (0, 0, None);
        let mut last = first;
        while samples < SAMPLES_PER_BLOCK {
            if !stopped() {
                let next = first.at + SAMPLE_INTERVAL * (samples + 1);
                std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
            }
            // Woken to end, it takes one more sample.
            let Some(next) = StatReading::now() else { return blocks };
            last = next;
            samples += 1;
            running_sum += next.running;
            max_tasks = max_tasks.max(pids_file.as_ref().and_then(read_number));
            if stopped() {
                break;
            }
        }
        blocks.push(MachineSecond {
            ticks: last.ticks.since(&first.ticks),
            time: last.at - first.at,
            switches: last.switches.saturating_sub(first.switches),
            created: last.created.saturating_sub(first.created),
            running: running_sum as f64 / f64::from(samples),
            cgroup_tasks: max_tasks,
        });
        if stopped() {
            return blocks;
        }
        first = last;
    }
}

/// The file that counts the tasks of our control group, if any. The topmost group has none.
fn cgroup_pids_file() -> Option<PathBuf> {
    let paths = cgroups::read(std::process::id()).ok()?;
    let file = paths.pids.groups.first()?.folder.join("pids.current");
    file.is_file().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_meanwhile_is_seen() {
        let sampler = Sampler::begin().expect("a thread can be had");
        for _ in 0..3 {
            std::process::Command::new("true").status().expect("every Linux has it");
        }
        let blocks = sampler.end();
        // On a busy machine the three take more than one block.
        assert!(blocks.iter().map(|block| block.created).sum::<u64>() >= 3, "{blocks:?}");
        assert!(blocks.iter().any(|block| block.switches > 0), "{blocks:?}");
    }
}
