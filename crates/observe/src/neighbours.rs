//! Neighbours: the processes that are neither watched nor torment.

use crate::own_workers::own_worker_pids;
use procfs::{Process, tick_ns};
use record::watch::Neighbour;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// How many are named.
const NAMED: usize = 3;
/// Time budget of a look at all processes; one that takes n times as long is followed by n windows without.
const BUDGET: Duration = Duration::from_millis(10);
/// Looks after which kernel threads are identified afresh: PIDs are reused.
const FORGET_EVERY: u32 = 60;
/// The flag of kernel threads in /proc/PID/stat (`PF_KTHREAD`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// All processes of the machine, as of the last look.
#[derive(Debug, Default)]
pub(crate) struct ProcessTable {
    /// Start time and processor time of each, in ticks.
    before: HashMap<u32, (u64, u64)>,
    kernel_threads: HashSet<u32>,
    last_look: Option<Instant>,
    looks: u32,
    /// Windows left to skip.
    skip: u32,
    /// Threads by user.
    tasks: HashMap<u32, u64>,
    /// Per second: the busiest neighbours, and all together.
    neighbours: Vec<Neighbour>,
    total: u64,
}

impl ProcessTable {
    /// Looks, unless the last look was so expensive that it must serve longer.
    pub fn refresh(&mut self, watched: &HashSet<u32>) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        let began = Instant::now();
        if self.looks.is_multiple_of(FORGET_EVERY) {
            self.kernel_threads.clear();
        }
        self.looks += 1;
        let all = self.read();
        // Unwatched processes that torment started are neighbours, except its workers.
        let (torment, workers) = (std::process::id(), own_worker_pids());
        let elapsed = self.last_look.replace(began).map(|at| began - at);
        let mut neighbours = Vec::new();
        let mut now = HashMap::with_capacity(all.len());
        for Process { name, stat } in all {
            now.insert(stat.pid, (stat.start, stat.cpu));
            if watched.contains(&stat.pid) || stat.pid == torment || workers.contains(&stat.pid) {
                continue;
            }
            let old = self.before.get(&stat.pid).filter(|(start, _)| *start == stat.start);
            // A process that is new since the last look did all of its work since.
            let ticks = stat.cpu.saturating_sub(old.map_or(0, |(_, cpu)| *cpu));
            if ticks > 0 {
                let ns = ticks.saturating_mul(tick_ns()) as f64;
                let per_second = elapsed.map_or(0.0, |passed| ns / passed.as_secs_f64());
                neighbours.push(Neighbour { pid: stat.pid, name, cpu_ns: per_second as u64 });
            }
        }
        neighbours.sort_by(|a, b| b.cpu_ns.cmp(&a.cpu_ns).then(a.pid.cmp(&b.pid)));
        self.total = neighbours.iter().map(|neighbour| neighbour.cpu_ns).sum();
        neighbours.truncate(NAMED);
        // The first look has nothing to compare with.
        self.neighbours = if elapsed.is_some() { neighbours } else { Vec::new() };
        self.before = now;
        self.skip = (began.elapsed().as_nanos() / BUDGET.as_nanos()) as u32;
    }

    fn read(&mut self) -> Vec<Process> {
        let mut all = Vec::with_capacity(self.before.len() + 16);
        self.tasks.clear();
        for pid in procfs::pids() {
            if self.kernel_threads.contains(&pid) {
                continue;
            }
            let Some(process) = Process::read(pid) else { continue };
            let stat = &process.stat;
            if stat.flags & KERNEL_THREAD != 0 {
                self.kernel_threads.insert(pid);
                continue;
            }
            if let Ok(about) = fs::metadata(format!("/proc/{pid}")) {
                *self.tasks.entry(about.uid()).or_default() += stat.threads;
            }
            all.push(process);
        }
        all
    }

    /// The busiest neighbours, and the processor time of all, in a window of this length.
    pub fn busiest(&self, window: Duration) -> (Vec<Neighbour>, u64) {
        let share = |per_second: u64| (per_second as f64 * window.as_secs_f64()) as u64;
        let neighbours = self.neighbours.iter();
        let neighbours =
            neighbours.map(|n| Neighbour { pid: n.pid, name: n.name.clone(), cpu_ns: share(n.cpu_ns) });
        (neighbours.collect(), share(self.total))
    }

    /// Threads of all processes of a user, except kernel threads.
    pub fn tasks_of(&self, uid: u32) -> u64 {
        self.tasks.get(&uid).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_neighbour_is_named_unless_it_is_watched() {
        let mut busy =
            Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("there is a shell");
        let spend = |pid: u32, ticks: u64| {
            let cpu = || procfs::TaskStat::read(pid).map_or(0, |stat| stat.cpu);
            let until = cpu() + ticks;
            while cpu() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        let (mut open, mut watching) = (ProcessTable::default(), ProcessTable::default());
        let watched = HashSet::from([busy.id()]);
        open.refresh(&HashSet::new());
        watching.refresh(&watched);
        assert_eq!(open.busiest(Duration::from_secs(1)), (Vec::new(), 0), "nothing to compare with");
        spend(busy.id(), 5);
        (open.skip, watching.skip) = (0, 0);
        open.refresh(&HashSet::new());
        watching.refresh(&watched);
        busy.kill().expect("it runs");
        busy.wait().expect("it was started here");
        let (named, total) = open.busiest(Duration::from_secs(1));
        let found = named.iter().find(|neighbour| neighbour.pid == busy.id());
        // On a busy machine three others may have used more.
        assert!(found.is_some_and(|n| n.name == "sh" && n.cpu_ns > 0) || named.len() == NAMED, "{named:?}");
        assert!(total > 0);
        let (named, _) = watching.busiest(Duration::from_secs(1));
        let ours = [busy.id(), std::process::id()];
        assert!(named.iter().all(|neighbour| !ours.contains(&neighbour.pid)), "{named:?}");
        let uid = rustix::process::getuid().as_raw();
        assert!(open.tasks_of(uid) >= 2, "this process and the neighbour");
    }
}
