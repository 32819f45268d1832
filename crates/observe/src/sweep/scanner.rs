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
const INTO_CALLS: Duration = Duration::from_millis(5);
/// Time limit of a look; it stops there, and the next one begins elsewhere.
const LONGEST: Duration = Duration::from_millis(50);
/// Threads between readings of the clock.
const EACH: usize = 16;

/// The state of the looks.
pub(crate) struct ThreadScanner {
    pub files: ProcFiles,
    pub crowd: ThreadTable,
    pub waits: WaitTable,
    loadavg: Option<OwnedFd>,
    cpus: u64,
    running: WaitId,
    /// The threads of this look, in its order.
    chosen: Vec<u32>,
    /// What each of the chosen does.
    doing: Vec<ThreadScan>,
    addresses: HashMap<(u32, u64), u32>,
    /// Not cryptographic: which threads are looked at is no secret.
    random: Random,
    /// Running or ready threads of each subject, at the last look.
    ran: Vec<u32>,
    /// Processors that each subject may use.
    pub allowed: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
enum ThreadScan {
    /// Running or ready; or it has not moved and its wait is still the same.
    Known(ThreadActivity),
    /// It has moved, and was inspected.
    Moved(ThreadActivity),
    NotLooked,
    Gone,
}

/// Counts of one look, for one subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScanCounts {
    pub threads: u32,
    pub looked_at: u32,
    pub readable: u32,
}

impl ThreadScanner {
    pub fn new(mut files: ProcFiles, crowd: ThreadTable) -> Self {
        let mut waits = WaitTable::default();
        let loadavg = files.keep(format_args!("loadavg")).ok();
        Self {
            running: waits.intern(ThreadWait::Running),
            files,
            crowd,
            waits,
            loadavg,
            cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64),
            chosen: Vec::new(),
            doing: Vec::new(),
            addresses: HashMap::new(),
            random: Random(0),
            ran: Vec::new(),
            allowed: Vec::new(),
        }
    }

    /// Looks at no more than `most` threads of each group.
    pub fn scan(&mut self, most: usize, into: &mut Vec<ScanCounts>) {
        let began = Instant::now();
        into.clear();
        into.resize(self.allowed.len(), ScanCounts::default());
        self.choose(most);
        self.crowd.tallies.iter_mut().for_each(GroupTally::begin);
        let renamed = self.scan_chosen(began);
        self.count(into);
        let gone = self.drop_gone();
        if renamed || gone {
            self.crowd.rebuild_groups();
        }
    }

    /// Updates the run time of each thread.
    pub fn run(&mut self) {
        for at in 0..self.crowd.threads.len() {
            self.crowd.update_run_time(&mut self.files, at);
        }
    }

    fn choose(&mut self, most: usize) {
        self.chosen.clear();
        for at in 0..self.crowd.tallies.len() {
            let length = self.crowd.tallies[at].members.len();
            for first in (0..most).take_while(|_| length > most) {
                let other = first + (self.random.draw() % (length - first) as u64) as usize;
                self.crowd.tallies[at].members.swap(first, other);
            }
            self.chosen.extend(self.crowd.tallies[at].members.iter().take(most));
        }
        // A look that stops early then sees other threads than the last one.
        let start = self.random.draw() as usize % self.chosen.len().max(1);
        self.chosen.rotate_left(start);
        self.doing.clear();
        self.doing.resize(self.chosen.len(), ThreadScan::NotLooked);
    }

    /// What each of the chosen does; returns whether any was renamed.
    ///
    /// A thread that has moved and sleeps is inspected at once. Later, what others wait for may have passed
    /// from it to one of them, and would be seen with none.
    fn scan_chosen(&mut self, began: Instant) -> bool {
        let is_full = self.is_full();
        let (mut renamed, mut into_calls) = (false, Duration::ZERO);
        for place in 0..self.chosen.len() {
            if place.is_multiple_of(EACH) && began.elapsed() > LONGEST {
                break;
            }
            let at = self.chosen[place] as usize;
            let Some(moved) = self.crowd.update_run_time(&mut self.files, at) else {
                self.doing[place] = ThreadScan::Gone;
                continue;
            };
            let thread = &self.crowd.threads[at];
            let Some(process) = &self.crowd.processes[thread.process as usize] else { continue };
            let (pid, tid, subject) = (process.pid, thread.tid, process.subject);
            let known = thread.seen.filter(|_| !moved);
            // A thread that was woken and has not run since has not moved: only its state tells.
            let is_crowded =
                is_full || self.ran.get(subject).is_some_and(|ran| *ran >= self.most_running(subject));
            if let Some(seen) = known.filter(|_| !is_crowded) {
                self.settle(place, at, ThreadScan::Known(seen));
                continue;
            }
            let text = self.files.read_either(thread.stat.as_ref(), format_args!("{pid}/task/{tid}/stat"));
            let stat = match &text {
                Ok(text) => procfs::parse_stat(text),
                Err(_) => None,
            };
            let Some((stat, name)) = stat.filter(|(stat, _)| self.crowd.is_same(at, stat.start)) else {
                self.doing[place] = ThreadScan::Gone;
                continue;
            };
            let state = stat.state;
            if known.is_none() {
                renamed |= self.crowd.rename(at, name);
            }
            match (state, known) {
                (b'R', _) => {
                    self.crowd.threads[at].seen = None;
                    self.settle(place, at, ThreadScan::Known(ThreadActivity::Wait(self.running)));
                }
                (_, Some(seen)) => self.settle(place, at, ThreadScan::Known(seen)),
                (b'Z' | b'X' | b'T' | b't', _) => {
                    let what = if matches!(state, b'Z' | b'X') { "ended" } else { "stopped" };
                    let wait = self.waits.intern(ThreadWait::Other { what: what.to_owned() });
                    self.settle(place, at, ThreadScan::Known(ThreadActivity::Wait(wait)));
                }
                _ => {
                    self.crowd.threads[at].seen = None;
                    self.tally(at).wanted += 1;
                    if into_calls < INTO_CALLS {
                        let began = Instant::now();
                        self.inspect(place, at, state);
                        into_calls += began.elapsed();
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
        self.allowed.get(subject).map_or(1, |cpus| cpus.floor().max(1.0) as u32)
    }

    fn tally(&mut self, at: usize) -> &mut GroupTally {
        &mut self.crowd.tallies[self.crowd.threads[at].tally as usize]
    }

    fn settle(&mut self, place: usize, at: usize, doing: ThreadScan) {
        self.doing[place] = doing;
        self.tally(at).settled += 1;
    }

    /// Inspects what a thread waits for.
    fn inspect(&mut self, place: usize, at: usize, state: u8) {
        let thread = &mut self.crowd.threads[at];
        let Some(process) = &self.crowd.processes[thread.process as usize] else { return };
        let sleeper =
            SleepingThread { pid: process.pid, tid: thread.tid, state, file: thread.syscall.as_ref() };
        let ends = &mut self.crowd.ends[process.ends].1;
        let look = Inspector { files: &mut self.files, ends, waits: &mut self.waits }.inspect(sleeper);
        let (seen, refused) = match look {
            Inspection::Ended => {
                self.doing[place] = ThreadScan::Gone;
                return;
            }
            Inspection::Running => (None, false),
            Inspection::Waits(seen) => (Some(seen), false),
            Inspection::Refused(number) => (Some(ThreadActivity::Wait(number)), true),
        };
        (thread.seen, thread.refused) = (seen, refused);
        self.doing[place] = ThreadScan::Moved(seen.unwrap_or(ThreadActivity::Wait(self.running)));
        self.tally(at).got += 1;
    }

    fn count(&mut self, into: &mut [ScanCounts]) {
        self.addresses.clear();
        for (at, doing) in self.chosen.iter().zip(&self.doing) {
            if let ThreadScan::Known(ThreadActivity::Futex { address, .. })
            | ThreadScan::Moved(ThreadActivity::Futex { address, .. }) = doing
            {
                *self.addresses.entry((self.crowd.threads[*at as usize].process, *address)).or_default() += 1;
            }
        }
        self.ran.clear();
        self.ran.resize(into.len(), 0);
        for (at, doing) in self.chosen.iter().zip(&self.doing) {
            let thread = &self.crowd.threads[*at as usize];
            let tally = &mut self.crowd.tallies[thread.tally as usize];
            let (settled, moved) = tally.weights();
            let (seen, weight) = match doing {
                ThreadScan::NotLooked | ThreadScan::Gone => continue,
                ThreadScan::Known(seen) => (*seen, settled),
                ThreadScan::Moved(seen) => (*seen, moved),
            };
            let number = match seen {
                ThreadActivity::Wait(number) => number,
                ThreadActivity::Futex { op, within_s, address } => {
                    let shared =
                        self.addresses.get(&(thread.process, address)).is_some_and(|count| *count > 2);
                    self.waits.intern(ThreadWait::Futex { op, within_s, shared })
                }
            };
            tally.count(number, weight);
            let Some(looked) = into.get_mut(tally.subject) else { continue };
            looked.looked_at += 1;
            looked.readable += u32::from(!thread.refused || number == self.running);
            if number == self.running {
                self.ran[tally.subject] += 1;
            }
        }
        for tally in &mut self.crowd.tallies {
            tally.end();
            if let Some(looked) = into.get_mut(tally.subject) {
                looked.threads += tally.members.len() as u32;
            }
        }
    }

    fn drop_gone(&mut self) -> bool {
        let pairs = self.chosen.iter().zip(&self.doing);
        let gone: Vec<u32> = pairs
            .filter(|(_, doing)| matches!(doing, ThreadScan::Gone))
            .map(|(at, _)| self.crowd.threads[*at as usize].tid)
            .collect();
        !gone.is_empty() && self.crowd.remove(|thread| gone.contains(&thread.tid))
    }

    /// Resets the table of waits, which are found again.
    pub fn forget(&mut self) {
        self.waits = WaitTable::default();
        self.running = self.waits.intern(ThreadWait::Running);
        self.crowd.forget();
    }
}
