//! torment itself, with its workers on this machine: whether the load's loops get the processors they need,
//! and what the watch costs.

use crate::cgroup::CgroupReader;
use crate::missing::MissingLog;
use crate::own_workers::own_worker_pids;
use crate::processes::open_count;
use crate::source::Source;
use crate::watch_scope::WatchScope;
use procfs::{SchedStat, TaskStat, parse_schedstat, tick_ns};
use record::watch::{LimitUsage, MissingMeasure, Window};
use rustix::process::{Resource, getrlimit};
use rustix::time::ClockId;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Name prefixes of the load's loops and the watch's threads.
const LOOPS: &str = "load-";
const WATCH: &str = "watch";

#[derive(Debug)]
pub(crate) struct OwnSource {
    /// Processor time of the process.
    cpu_ns: Option<u64>,
    /// Processor time of each worker at the last look.
    workers: HashMap<u32, u64>,
    /// Scheduling times of each thread at the last look.
    threads: HashMap<u32, SchedStat>,
    cgroup: CgroupReader,
    missing_log: MissingLog,
}

impl OwnSource {
    pub fn new() -> Self {
        let cgroup = CgroupReader::of(Path::new("/"), std::process::id());
        Self {
            cpu_ns: None,
            workers: HashMap::new(),
            threads: HashMap::new(),
            cgroup,
            missing_log: MissingLog::default(),
        }
    }

    /// Processor time of the workers since the last look, in nanoseconds.
    fn worker_cpu_time(&mut self, workers: &[u32]) -> u64 {
        let cpu = |pid: &u32| Some((*pid, TaskStat::read(*pid)?.cpu.saturating_mul(tick_ns())));
        let now: HashMap<u32, u64> = workers.iter().filter_map(cpu).collect();
        let used = |(pid, cpu): (&u32, &u64)| cpu.saturating_sub(*self.workers.get(pid).unwrap_or(cpu));
        let used = now.iter().map(used).sum();
        self.workers = now;
        used
    }

    fn read_threads(&mut self, is_first: bool, workers: &[u32], usage: &mut record::watch::TormentUsage) {
        let Some(tasks) = self.missing_log.ok_or_note(
            "torment's own threads",
            "/proc/self/task",
            fs::read_dir("/proc/self/task"),
        ) else {
            return;
        };
        let mut now = HashMap::new();
        let used = |folder: &str| open_count(folder).ok().flatten().unwrap_or(0);
        let mut nearest = used("/proc/self/fd");
        let worker_tasks =
            workers.iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok()).flatten();
        for folder in tasks.chain(worker_tasks).filter_map(|entry| Some(entry.ok()?.path())) {
            let Some(tid) = folder.file_name().and_then(|name| name.to_str()?.parse().ok()) else { continue };
            let read = |file: &str| fs::read_to_string(folder.join(file));
            // A thread that cannot be read has just ended.
            let Ok(name) = read("comm") else { continue };
            let is_loop = name.starts_with(LOOPS);
            if !is_loop && !name.starts_with(WATCH) {
                continue;
            }
            let Ok(text) = read("schedstat") else {
                self.missing_log
                    .note("run-queue delay of torment", "this kernel keeps no /proc/PID/task/TID/schedstat");
                continue;
            };
            let Some(times) = parse_schedstat(text.as_bytes()) else { continue };
            now.insert(tid, times);
            // A thread that is new since the last look did all of its work since.
            let new = if is_first { times } else { SchedStat::default() };
            let before = self.threads.get(&tid).copied().unwrap_or(new);
            let cpu = times.on_cpu_ns.saturating_sub(before.on_cpu_ns);
            if is_loop {
                usage.loops_cpu_ns += cpu;
                usage.loops_run_delay_ns += times.delay_ns.saturating_sub(before.delay_ns);
                // A loop has its own descriptor table, where possible.
                nearest = used(&folder.join("fd").to_string_lossy()).max(nearest);
            } else {
                usage.watch_cpu_ns += cpu;
            }
        }
        self.threads = now;
        // The table nearest to the limit, which is the same for each.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        usage.descriptors = LimitUsage { used: nearest, limit };
    }
}

impl Source for OwnSource {
    fn cut(&mut self, _: &WatchScope, window: &mut Window) {
        let cpu = sys::clock_ns(ClockId::ProcessCPUTime);
        let before = self.cpu_ns.replace(cpu);
        let workers = own_worker_pids();
        window.own.cpu_ns =
            before.map_or(0, |before| cpu.saturating_sub(before)) + self.worker_cpu_time(&workers);
        self.read_threads(before.is_none(), &workers, &mut window.own);
        // Without a cgroup, or a quota, nothing holds it back.
        let quota = self.cgroup.read().ok().flatten().and_then(|groups| groups.cpu);
        if let Some(quota) = quota {
            (window.own.periods, window.own.throttled) = (quota.periods, quota.throttled);
        }
    }

    fn missing(&self) -> Vec<MissingMeasure> {
        self.missing_log.list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::sync::mpsc::channel;

    fn cut(own: &mut OwnSource) -> record::watch::TormentUsage {
        let mut window = Window::default();
        own.cut(&WatchScope::default(), &mut window);
        window.own
    }

    #[test]
    fn what_a_worker_uses_is_torment_s_own() {
        // Any program with such a name.
        let called =
            |name| Command::new("sh").args(["-c", "while :; do :; done", name]).spawn().expect("a shell");
        let (mut worker, mut other) = (called("worker"), called("another"));
        let pid = worker.id();
        while !own_worker_pids().contains(&pid) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(own_worker_pids(), [pid]);
        let mut own = OwnSource::new();
        assert_eq!(own.worker_cpu_time(&[pid]), 0, "nothing to compare with");
        let mut used = 0;
        while used == 0 {
            used += own.worker_cpu_time(&[pid]);
        }
        for process in [&mut worker, &mut other] {
            process.kill().expect("it runs");
            process.wait().expect("it was started here");
        }
        assert!(own_worker_pids().is_empty());
        assert_eq!(own.worker_cpu_time(&[pid]), 0, "it is gone");
    }

    #[test]
    fn the_loops_time_is_told_from_others() {
        let mut own = OwnSource::new();
        let first = cut(&mut own);
        assert_eq!((first.cpu_ns, first.loops_cpu_ns), (0, 0), "nothing to compare with");
        assert!(first.descriptors.used >= 3 && first.descriptors.limit > first.descriptors.used);
        let (done, is_done) = channel();
        let (leave, may_leave) = channel::<()>();
        let busy = move || {
            let until = sys::thread_cpu_ns() + 30_000_000;
            while sys::thread_cpu_ns() < until {
                std::hint::spin_loop();
            }
            done.send(()).expect("it is waited for");
            let _ = may_leave.recv();
        };
        let thread =
            std::thread::Builder::new().name("load-0".to_owned()).spawn(busy).expect("there is room");
        is_done.recv().expect("it says so");
        let seen = cut(&mut own);
        assert!(seen.loops_cpu_ns >= 30_000_000 && seen.cpu_ns >= 30_000_000, "{seen:?}");
        assert!(cut(&mut own).loops_cpu_ns < 30_000_000, "and is not counted twice");
        drop(leave);
        thread.join().expect("it does not panic");
    }
}
