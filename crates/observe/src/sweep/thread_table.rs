//! The watched processes and their threads, with their files kept open.

use super::group_tally::GroupTally;
use super::proc_files::ProcFiles;
use super::socket_table::SocketTable;
use super::wait_table::ThreadActivity;
use crate::finder::lister_for;
use procfs::{SchedStat, parse_schedstat, thread_group, tick_ns};
use record::watch::BusyThreads;
use rustix::fs::{RawDir, SeekFrom, seek};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

/// Descriptors reserved for other uses.
const SPARE: usize = 64;
/// Threads whose more expensive files are kept open too. Each open file costs the kernel a page.
const KEPT_WHOLE: usize = 2_000;
/// Maximum threads watched: a page each.
const MAX_THREADS: usize = 50_000;
/// Maximum distinct names: a program may name each of its threads differently.
const NAMES_MOST: usize = 1_000;

/// A thread that wants a processor for this share of a window is restless.
const BUSY_SHARE: f64 = 0.9;

#[derive(Debug)]
pub(crate) struct Thread {
    pub tid: u32,
    /// Index into [`ThreadTable::processes`].
    pub process: u32,
    /// Index into [`ThreadTable::tallies`].
    pub tally: u32,
    /// Start time: TIDs are reused.
    pub start: u64,
    name: [u8; 16],
    schedstat: Option<OwnedFd>,
    pub stat: Option<OwnedFd>,
    pub syscall: Option<OwnedFd>,
    pub sched: SchedStat,
    /// Time running, and ready, since the last cut.
    pub on_cpu_ns: u64,
    pub delay_ns: u64,
    /// Its last known activity; none: it must be inspected.
    pub activity: Option<ThreadActivity>,
    /// It may not be inspected.
    pub refused: bool,
    /// The last listing that had it.
    listed: u32,
}

#[derive(Debug)]
pub(crate) struct Process {
    pub pid: u32,
    pub subject: usize,
    tasks: OwnedFd,
    /// Index into [`ThreadTable::socket_tables`].
    pub socket_table: usize,
    /// Processor time of the process when it was added, and what its threads were seen to use since.
    cpu_before_ns: u64,
    pub cpu_seen_ns: u64,
    unseen_ns: u64,
}

#[derive(Debug)]
pub(crate) struct ThreadTable {
    pub processes: Vec<Option<Process>>,
    pub threads: Vec<Thread>,
    pub tallies: Vec<GroupTally>,
    pub socket_tables: Vec<(Option<String>, SocketTable)>,
    by_tid: HashMap<u32, u32>,
    names: HashMap<(usize, String), u32>,
    /// Descriptors that may still be kept open.
    free_descriptors: usize,
    listing: u32,
    /// Threads that started later had used nothing at that time.
    since: u64,
    dir_buffer: Box<[MaybeUninit<u8>; 8192]>,
}

impl ThreadTable {
    /// An empty table that keeps at most `descriptors` open.
    pub fn new(descriptors: u64, since: u64) -> Self {
        Self {
            processes: Vec::new(),
            threads: Vec::new(),
            tallies: Vec::new(),
            socket_tables: Vec::new(),
            by_tid: HashMap::new(),
            names: HashMap::new(),
            free_descriptors: usize::try_from(descriptors).unwrap_or(usize::MAX).saturating_sub(SPARE),
            listing: 0,
            since,
            dir_buffer: Box::new([MaybeUninit::uninit(); 8192]),
        }
    }

    /// Replaces the watched processes; threads are added by [`ThreadTable::list`].
    pub fn watch(&mut self, files: &mut ProcFiles, subjects: &[Vec<u32>]) {
        for place in 0..self.processes.len() {
            let wanted =
                |process: &Process| subjects.get(process.subject).is_some_and(|s| s.contains(&process.pid));
            if self.processes[place].as_ref().is_some_and(|process| !wanted(process)) {
                self.remove_process(place);
            }
        }
        for (subject, pids) in subjects.iter().enumerate() {
            for pid in pids {
                let known = self.processes.iter().flatten().any(|p| (p.pid, p.subject) == (*pid, subject));
                if !known && self.free_descriptors > 0 {
                    self.take_in(files, *pid, subject);
                }
            }
        }
    }

    fn take_in(&mut self, files: &mut ProcFiles, pid: u32, subject: usize) {
        let Ok(tasks) = files.open_at(format_args!("{pid}/task")) else { return };
        let namespace = procfs::namespace(pid, "net");
        let socket_table =
            self.socket_tables.iter().position(|(known, _)| *known == namespace).unwrap_or_else(|| {
                self.socket_tables.push((namespace, SocketTable::new(lister_for(pid))));
                self.socket_tables.len() - 1
            });
        let mut process =
            Process { pid, subject, tasks, socket_table, cpu_before_ns: 0, cpu_seen_ns: 0, unseen_ns: 0 };
        if let Some((cpu_ns, start)) = process.cpu_and_start(files)
            && start < self.since
        {
            process.cpu_before_ns = cpu_ns;
        }
        self.free_descriptors -= 1;
        match self.processes.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(process),
            None => self.processes.push(Some(process)),
        }
    }

    /// Lists the threads of all processes, adding and removing as needed, with at most `most` new ones;
    /// returns whether that was all.
    pub fn list(&mut self, files: &mut ProcFiles, most: usize) -> bool {
        self.listing = self.listing.wrapping_add(1);
        let mut remaining = most;
        let mut changed = false;
        let mut complete = true;
        for index in 0..self.processes.len() {
            let Some(process) = &self.processes[index] else { continue };
            let pid = process.pid;
            let mut new = Vec::new();
            if seek(&process.tasks, SeekFrom::Start(0)).is_ok() {
                let mut entries = RawDir::new(process.tasks.as_fd(), &mut self.dir_buffer[..]);
                while let Some(Ok(entry)) = entries.next() {
                    let Some(tid) = procfs::parse_number(entry.file_name().to_bytes()) else { continue };
                    let Ok(tid) = u32::try_from(tid) else { continue };
                    match self.by_tid.get(&tid) {
                        Some(at) => self.threads[*at as usize].listed = self.listing,
                        None => new.push(tid),
                    }
                }
            }
            changed |= !new.is_empty();
            complete &= new.len() <= remaining;
            new.truncate(remaining);
            remaining -= new.len();
            for tid in new {
                self.add(files, index, pid, tid);
            }
        }
        let listing = self.listing;
        changed |= self.remove(|thread| thread.listed != listing);
        if changed {
            self.rebuild_groups();
        }
        complete
    }

    fn add(&mut self, files: &mut ProcFiles, index: usize, pid: u32, tid: u32) {
        let Some(process) = &self.processes[index] else { return };
        let subject = process.subject;
        if self.threads.len() >= MAX_THREADS {
            return;
        }
        let Ok(text) = files.read_either(None, format_args!("{pid}/task/{tid}/stat")) else { return };
        let Some((procfs::TaskStat { start, .. }, name)) = procfs::parse_stat(text) else { return };
        let name = short(name);
        let whole = self.threads.len() < KEPT_WHOLE && self.free_descriptors >= 3;
        let mut open = |name: &str| files.open_at(format_args!("{pid}/task/{tid}/{name}")).ok();
        let schedstat = if self.free_descriptors > 0 { open("schedstat") } else { None };
        let (stat, syscall) = if whole { (open("stat"), open("syscall")) } else { (None, None) };
        let mut thread = Thread {
            tid,
            process: index as u32,
            tally: 0,
            start,
            name,
            schedstat,
            stat,
            syscall,
            sched: SchedStat::default(),
            on_cpu_ns: 0,
            delay_ns: 0,
            activity: None,
            refused: false,
            listed: self.listing,
        };
        self.free_descriptors -= thread.kept();
        if start < self.since
            && let Ok(Some(sched)) = thread.read_sched(files, pid)
        {
            thread.sched = sched;
        }
        thread.tally = self.tally(subject, &name);
        self.by_tid.insert(tid, self.threads.len() as u32);
        self.threads.push(thread);
    }

    fn tally(&mut self, subject: usize, name: &[u8; 16]) -> u32 {
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let mut key = (subject, thread_group(&String::from_utf8_lossy(&name[..length])));
        if self.names.len() >= NAMES_MOST && !self.names.contains_key(&key) {
            "others".clone_into(&mut key.1);
        }
        if let Some(at) = self.names.get(&key) {
            return *at;
        }
        let at = self.tallies.len() as u32;
        self.tallies.push(GroupTally::new(subject, key.1.clone()));
        self.names.insert(key, at);
        at
    }

    /// Most threads are named after they were first seen.
    pub fn rename(&mut self, at: usize, name: &[u8]) -> bool {
        let name = short(name);
        if self.threads[at].name == name {
            return false;
        }
        let process = self.threads[at].process as usize;
        let Some(subject) = self.processes[process].as_ref().map(|process| process.subject) else {
            return false;
        };
        self.threads[at].name = name;
        self.threads[at].tally = self.tally(subject, &name);
        true
    }

    /// Removes the threads that `goes` selects; returns whether there were any.
    /// [`ThreadTable::rebuild_groups`] must follow.
    pub fn remove(&mut self, mut goes: impl FnMut(&Thread) -> bool) -> bool {
        let before = self.threads.len();
        let (by_tid, free_descriptors) = (&mut self.by_tid, &mut self.free_descriptors);
        self.threads.retain(|thread| {
            let stays = !goes(thread);
            if !stays {
                *free_descriptors += thread.kept();
                by_tid.remove(&thread.tid);
            }
            stays
        });
        if self.threads.len() == before {
            return false;
        }
        for (at, thread) in self.threads.iter().enumerate() {
            self.by_tid.insert(thread.tid, at as u32);
        }
        true
    }

    fn remove_process(&mut self, place: usize) {
        self.remove(|thread| thread.process as usize == place);
        self.processes[place] = None;
        self.free_descriptors += 1;
        self.rebuild_groups();
    }

    /// Rebuilds the member list of each group.
    pub fn rebuild_groups(&mut self) {
        self.tallies.iter_mut().for_each(|tally| tally.members.clear());
        for (at, thread) in self.threads.iter().enumerate() {
            self.tallies[thread.tally as usize].members.push(at as u32);
        }
    }

    /// Updates a thread's run time; returns whether it ran since the last look, or none if it has ended.
    pub fn update_run_time(&mut self, files: &mut ProcFiles, at: usize) -> Option<bool> {
        let thread = &mut self.threads[at];
        let process = self.processes[thread.process as usize].as_mut()?;
        match thread.read_sched(files, process.pid) {
            Ok(Some(now)) => {
                let before = std::mem::replace(&mut thread.sched, now);
                let tally = &mut self.tallies[thread.tally as usize];
                let cpu = now.on_cpu_ns.saturating_sub(before.on_cpu_ns);
                tally.on_cpu_ns += cpu;
                let delay = now.delay_ns.saturating_sub(before.delay_ns);
                tally.run_delay_ns += delay;
                thread.on_cpu_ns += cpu;
                thread.delay_ns += delay;
                tally.switches += now.count.saturating_sub(before.count);
                process.cpu_seen_ns += cpu;
                let moved = now.count != before.count;
                if moved {
                    // Its earlier wait is not its present one.
                    thread.activity = None;
                }
                Some(moved)
            }
            Err(error) if procfs::is_gone(&error) => None,
            // In an unknown format, or refused: it is inspected each time.
            Ok(None) | Err(_) => Some(true),
        }
    }

    /// Growth, by subject, of processor time that no thread was seen to use.
    pub fn unseen_cpu_time(&mut self, files: &mut ProcFiles, subjects: usize) -> Vec<u64> {
        let mut unseen = vec![0; subjects];
        for process in self.processes.iter_mut().flatten() {
            let Some((cpu_ns, _)) = process.cpu_and_start(files) else { continue };
            let used = cpu_ns.saturating_sub(process.cpu_before_ns);
            let missing = used.saturating_sub(process.cpu_seen_ns);
            if let Some(sum) = unseen.get_mut(process.subject) {
                // Ticks are coarse: what was reported too early is not reported again.
                *sum += missing.saturating_sub(process.unseen_ns.max(2 * tick_ns()));
            }
            process.unseen_ns = process.unseen_ns.max(missing);
        }
        unseen
    }

    /// Counts the restless threads of each group since the last cut, `since_ns` ago, and resets. `stolen`
    /// is the time stolen per unit of running time.
    pub fn update_restless(&mut self, since_ns: u64, stolen: f64) {
        let Self { threads, tallies, .. } = self;
        tallies.iter_mut().for_each(|tally| tally.busy = BusyThreads::default());
        for thread in threads {
            let on_cpu_ns = std::mem::take(&mut thread.on_cpu_ns);
            let wanted_ns = on_cpu_ns as f64 * (1.0 + stolen) + std::mem::take(&mut thread.delay_ns) as f64;
            if wanted_ns >= BUSY_SHARE * since_ns as f64 {
                let full = &mut tallies[thread.tally as usize].busy;
                full.threads += 1.0;
                full.on_cpu_ns += on_cpu_ns;
            }
        }
    }
}

impl Process {
    /// Its processor time and start time.
    fn cpu_and_start(&self, files: &mut ProcFiles) -> Option<(u64, u64)> {
        let text = files.read_either(None, format_args!("{}/stat", self.pid)).ok()?;
        let (stat, _) = procfs::parse_stat(text)?;
        Some((stat.cpu.saturating_mul(tick_ns()), stat.start))
    }
}

impl Thread {
    fn kept(&self) -> usize {
        [&self.schedstat, &self.stat, &self.syscall].into_iter().flatten().count()
    }

    fn read_sched(&self, files: &mut ProcFiles, pid: u32) -> std::io::Result<Option<SchedStat>> {
        let tid = self.tid;
        let text = files.read_either(self.schedstat.as_ref(), format_args!("{pid}/task/{tid}/schedstat"))?;
        Ok(parse_schedstat(text))
    }
}

/// Thread names have at most 15 bytes; only those of kernel threads are longer.
fn short(name: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    let length = name.len().min(15);
    short[..length].copy_from_slice(&name[..length]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target that gave each thread another name in letters made memory grow with their number.
    #[test]
    fn many_names_are_others() {
        let mut crowd = ThreadTable::new(0, 0);
        let letters = |n: u32| n.to_string().bytes().map(|b| b - b'0' + b'a').collect::<Vec<_>>();
        let first = crowd.tally(0, &short(&letters(0)));
        let tallies: Vec<u32> = (1..3_000).map(|n| crowd.tally(0, &short(&letters(n)))).collect();
        assert_eq!((crowd.tallies.len(), crowd.names.len()), (NAMES_MOST + 1, NAMES_MOST + 1));
        assert_eq!(crowd.tallies[tallies[2_998] as usize].name, "others");
        assert_eq!(crowd.tally(0, &short(&letters(0))), first);
    }
}
