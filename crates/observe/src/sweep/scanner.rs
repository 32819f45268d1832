//! One look at all threads, or at some of each group.

use super::group_tally::GroupTally;
use super::inspector::{Inspection, Inspector, SleepingThread};
use super::proc_files::ProcFiles;
use super::thread_table::ThreadTable;
use super::wait_table::{ThreadActivity, WaitId, WaitTable};
use record::watch::ThreadWait;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use units::random::Random;

/// Time limit for reading system calls in one look: the kernel may make the reader wait for a thread that
/// is falling asleep.
const INSPECT_LIMIT: Duration = Duration::from_millis(5);
/// Time limit of a look; it stops there, and the next one begins elsewhere.
const LONGEST: Duration = Duration::from_millis(50);
/// Threads between readings of the clock.
const CLOCK_EVERY: usize = 16;

/// The state of the looks.
pub(crate) struct ThreadScanner {
    pub files: ProcFiles,
    pub table: ThreadTable,
    pub waits: WaitTable,
    loadavg: Option<OwnedFd>,
    cpus: u64,
    running: WaitId,
    /// The threads of this look, in its order.
    chosen: Vec<u32>,
    /// What each of the chosen does.
    scans: Vec<ThreadScan>,
    futex_counts: HashMap<(u32, u64), u32>,
    /// Not cryptographic: which threads are looked at is no secret.
    random: Random,
    /// Running or ready threads of each subject, at the last look.
    last_running: Vec<u32>,
    /// Processors that each subject may use.
    pub allowed_cpus: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
enum ThreadScan {
    /// Running or ready; or it has not moved and its wait is still the same.
    Known(ThreadActivity),
    /// It has moved, and was inspected.
    Moved(ThreadActivity),
    Skipped,
    Ended,
}

/// Counts of one look or several, for one subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScanCounts {
    pub threads: u64,
    pub looked_at: u64,
    pub readable: u64,
}

impl ThreadScanner {
    pub fn new(mut files: ProcFiles, table: ThreadTable) -> Self {
        let mut waits = WaitTable::default();
        let loadavg = files.open_at(format_args!("loadavg")).ok();
        Self {
            running: waits.intern(ThreadWait::Running),
            files,
            table,
            waits,
            loadavg,
            cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64),
            chosen: Vec::new(),
            scans: Vec::new(),
            futex_counts: HashMap::new(),
            random: Random(0),
            last_running: Vec::new(),
            allowed_cpus: Vec::new(),
        }
    }

    /// Looks at no more than `most` threads of each group.
    pub fn scan(&mut self, most: usize, into: &mut Vec<ScanCounts>) {
        let began = Instant::now();
        into.clear();
        into.resize(self.allowed_cpus.len(), ScanCounts::default());
        self.choose(most);
        self.table.tallies.iter_mut().for_each(GroupTally::begin);
        let renamed = self.scan_chosen(began);
        self.count(into);
        let gone = self.drop_gone();
        if renamed || gone {
            self.table.rebuild_groups();
        }
    }

    /// Updates the run time of each thread.
    pub fn update_run_times(&mut self) {
        for at in 0..self.table.threads.len() {
            self.table.update_run_time(&mut self.files, at);
        }
    }

    fn choose(&mut self, most: usize) {
        self.chosen.clear();
        for at in 0..self.table.tallies.len() {
            let length = self.table.tallies[at].members.len();
            for first in (0..most).take_while(|_| length > most) {
                let other = first + (self.random.draw() % (length - first) as u64) as usize;
                self.table.tallies[at].members.swap(first, other);
            }
            self.chosen.extend(self.table.tallies[at].members.iter().take(most));
        }
        // A look that stops early then sees other threads than the last one.
        let start = self.random.draw() as usize % self.chosen.len().max(1);
        self.chosen.rotate_left(start);
        self.scans.clear();
        self.scans.resize(self.chosen.len(), ThreadScan::Skipped);
    }

    /// What each of the chosen does; returns whether any was renamed.
    ///
    /// A thread that has moved and sleeps is inspected at once. Later, what others wait for may have passed
    /// from it to one of them, and would be seen with none.
    fn scan_chosen(&mut self, began: Instant) -> bool {
        let is_full = self.is_full();
        let (mut renamed, mut inspect_time) = (false, Duration::ZERO);
        for slot in 0..self.chosen.len() {
            if slot.is_multiple_of(CLOCK_EVERY) && began.elapsed() > LONGEST {
                break;
            }
            let at = self.chosen[slot] as usize;
            let Some(moved) = self.table.update_run_time(&mut self.files, at) else {
                self.scans[slot] = ThreadScan::Ended;
                continue;
            };
            let thread = &self.table.threads[at];
            let Some(process) = &self.table.processes[thread.process as usize] else { continue };
            let (pid, tid, subject) = (process.pid, thread.tid, process.subject);
            let known = thread.activity.filter(|_| !moved);
            // A thread that was woken and has not run since has not moved: only its state tells.
            let is_crowded = is_full
                || self.last_running.get(subject).is_some_and(|ran| *ran >= self.most_running(subject));
            if let Some(activity) = known.filter(|_| !is_crowded) {
                self.record_known(slot, at, ThreadScan::Known(activity));
                continue;
            }
            let text = self.files.read_either(thread.stat.as_ref(), format_args!("{pid}/task/{tid}/stat"));
            let stat = match &text {
                Ok(text) => procfs::parse_stat(text),
                Err(_) => None,
            };
            let Some((stat, name)) = stat.filter(|(stat, _)| stat.start == thread.start) else {
                self.scans[slot] = ThreadScan::Ended;
                continue;
            };
            let state = stat.state;
            if known.is_none() {
                renamed |= self.table.rename(at, name);
            }
            match (state, known) {
                (b'R', _) => {
                    self.table.threads[at].activity = None;
                    self.record_known(slot, at, ThreadScan::Known(ThreadActivity::Wait(self.running)));
                }
                (_, Some(activity)) => self.record_known(slot, at, ThreadScan::Known(activity)),
                (b'Z' | b'X' | b'T' | b't', _) => {
                    let what = if matches!(state, b'Z' | b'X') { "ended" } else { "stopped" };
                    let wait = self.waits.intern(ThreadWait::Other { what: what.to_owned() });
                    self.record_known(slot, at, ThreadScan::Known(ThreadActivity::Wait(wait)));
                }
                _ => {
                    self.table.threads[at].activity = None;
                    self.tally(at).to_inspect += 1;
                    if inspect_time < INSPECT_LIMIT {
                        let began = Instant::now();
                        self.inspect(slot, at, state);
                        inspect_time += began.elapsed();
                    }
                }
            }
        }
        renamed
    }

    /// More threads are ready than there are processors.
    fn is_full(&mut self) -> bool {
        let text = self.files.read_either(self.loadavg.as_ref(), format_args!("loadavg"));
        text.ok().and_then(procfs::parse_loadavg).is_none_or(|load| load.running > self.cpus)
    }

    /// From this many running threads on, some may be ready and throttled by a quota.
    fn most_running(&self, subject: usize) -> u32 {
        self.allowed_cpus.get(subject).map_or(1, |cpus| cpus.floor().max(1.0) as u32)
    }

    fn tally(&mut self, at: usize) -> &mut GroupTally {
        &mut self.table.tallies[self.table.threads[at].tally as usize]
    }

    fn record_known(&mut self, place: usize, at: usize, doing: ThreadScan) {
        self.scans[place] = doing;
        self.tally(at).known += 1;
    }

    /// Inspects what a thread waits for.
    fn inspect(&mut self, slot: usize, at: usize, state: u8) {
        let thread = &mut self.table.threads[at];
        let Some(process) = &self.table.processes[thread.process as usize] else { return };
        let sleeper =
            SleepingThread { pid: process.pid, tid: thread.tid, state, file: thread.syscall.as_ref() };
        let ends = &mut self.table.socket_tables[process.socket_table].1;
        let look =
            Inspector { files: &mut self.files, sockets: ends, waits: &mut self.waits }.inspect(sleeper);
        let (activity, refused) = match look {
            Inspection::Ended => {
                self.scans[slot] = ThreadScan::Ended;
                return;
            }
            Inspection::Running => (None, false),
            Inspection::Waiting(seen) => (Some(seen), false),
            Inspection::ByWchan(number) => (Some(ThreadActivity::Wait(number)), true),
        };
        (thread.activity, thread.refused) = (activity, refused);
        self.scans[slot] = ThreadScan::Moved(activity.unwrap_or(ThreadActivity::Wait(self.running)));
        self.tally(at).inspected += 1;
    }

    fn count(&mut self, counts: &mut [ScanCounts]) {
        self.futex_counts.clear();
        for (at, doing) in self.chosen.iter().zip(&self.scans) {
            if let ThreadScan::Known(ThreadActivity::Futex { address, .. })
            | ThreadScan::Moved(ThreadActivity::Futex { address, .. }) = doing
            {
                *self
                    .futex_counts
                    .entry((self.table.threads[*at as usize].process, *address))
                    .or_default() += 1;
            }
        }
        self.last_running.clear();
        self.last_running.resize(counts.len(), 0);
        for (at, doing) in self.chosen.iter().zip(&self.scans) {
            let thread = &self.table.threads[*at as usize];
            let tally = &mut self.table.tallies[thread.tally as usize];
            let (settled, moved) = tally.weights();
            let (activity, weight) = match doing {
                ThreadScan::Skipped | ThreadScan::Ended => continue,
                ThreadScan::Known(seen) => (*seen, settled),
                ThreadScan::Moved(seen) => (*seen, moved),
            };
            let number = match activity {
                ThreadActivity::Wait(number) => number,
                ThreadActivity::Futex { op, within_s, address } => {
                    let shared =
                        self.futex_counts.get(&(thread.process, address)).is_some_and(|count| *count > 2);
                    self.waits.intern(ThreadWait::Futex { op, within_s, shared })
                }
            };
            tally.count(number, weight);
            let Some(count) = counts.get_mut(tally.subject) else { continue };
            count.looked_at += 1;
            count.readable += u64::from(!thread.refused || number == self.running);
            if number == self.running {
                self.last_running[tally.subject] += 1;
            }
        }
        for tally in &mut self.table.tallies {
            tally.end();
            if let Some(count) = counts.get_mut(tally.subject) {
                count.threads += tally.members.len() as u64;
            }
        }
    }

    fn drop_gone(&mut self) -> bool {
        let pairs = self.chosen.iter().zip(&self.scans);
        let gone: Vec<u32> = pairs
            .filter(|(_, doing)| matches!(doing, ThreadScan::Ended))
            .map(|(at, _)| self.table.threads[*at as usize].tid)
            .collect();
        !gone.is_empty() && self.table.remove(|thread| gone.contains(&thread.tid))
    }

    /// Resets the table of waits, which are found again.
    pub fn reset_waits(&mut self) {
        self.waits = WaitTable::default();
        self.running = self.waits.intern(ThreadWait::Running);
        self.table.threads.iter_mut().for_each(|thread| thread.activity = None);
    }
}
