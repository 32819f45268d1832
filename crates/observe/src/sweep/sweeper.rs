//! The sweeping thread: when it sweeps, how much, and the results.

use super::proc_files::ProcFiles;
use super::scanner::{ScanCounts, ThreadScanner};
use super::steal_time::StealTime;
use super::thread_table::ThreadTable;
use crate::priority::raise_priority;
use crate::processes::ticks_since_boot;
use crate::watch_scope::WatchScope;
use record::watch::{ThreadGroup, ThreadSampling};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use sys::thread_cpu_ns;

/// Sweeps per second, if cheap enough: a hundred looks at each thread in five seconds.
const MAX_SWEEPS: f64 = 20.0;
/// Rather than below this, fewer threads are looked at each time.
const FEWEST_SWEEPS: f64 = 2.0;
/// Maximum share of the target's processors used by sweeping.
const SHARE: f64 = 0.01;
/// Maximum share of one processor, however many the target has: it preempts others.
const MAX_SHARE: f64 = 0.2;
/// Initial estimate of the cost of a look at one thread.
const FIRST_COST_NS: f64 = 7_000.0;
/// Threads of a group in one look, where all are too many: a share is right within 5 percentage points (95
/// %).
const SUBSET: usize = 400;
/// Minimum of that.
const LEAST_SUBSET: usize = 25;
/// Distinct waits after which the table is reset.
const MANY_WAITS: usize = 1_500;
/// Minimum interval between listings of threads; listing takes a tenth of the budget.
const LIST: Duration = Duration::from_millis(250);
/// Maximum new threads per listing: some 30 µs each, while nobody else has the processor.
const MAX_NEW: usize = 500;

/// The processes to sweep.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SweepTargets {
    subjects: Vec<Vec<u32>>,
    allowed_cpus: Vec<f64>,
}

impl SweepTargets {
    pub fn of(scope: &WatchScope) -> Self {
        Self {
            subjects: scope.subjects.iter().map(|subject| subject.pids.clone()).collect(),
            allowed_cpus: scope.subjects.iter().map(|subject| subject.about.cpus).collect(),
        }
    }
}

pub(crate) enum Command {
    /// Watch these from now on.
    Watch(SweepTargets),
    /// Whether the target is under load.
    Loaded(bool),
    /// A window ends.
    Cut(Sender<Vec<(ThreadSampling, Vec<ThreadGroup>)>>),
}

pub(crate) struct Sweeper {
    scanner: ThreadScanner,
    /// Of the last look, and of all since the last cut.
    counts: Vec<ScanCounts>,
    sums: Vec<ScanCounts>,
    due: u32,
    done: u32,
    took: Duration,
    is_loaded: bool,
    steal_time: StealTime,
    next: Instant,
    /// Delay of the next sweep beyond `next`, and its number: see [`jitter`].
    delay: Duration,
    turn: u32,
    list_at: Instant,
    cut_at: Instant,
    /// Cost of a look at one thread, and of everything else per second.
    cost_ns: f64,
    other_ns: f64,
    other_now_ns: u64,
    rate: Arc<AtomicU64>,
}

impl Sweeper {
    /// Raises its priority and reports it; none without `/proc`.
    pub fn start(
        targets: SweepTargets,
        rate: Arc<AtomicU64>,
        priority_sender: &Sender<Result<(), String>>,
    ) -> Option<Self> {
        // First of all: with its own table, the many files kept open take nothing from the load.
        let own_table = sys::unshare_descriptors(&[]).is_ok();
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(1 << 20);
        let descriptors = if own_table { limit } else { limit / 4 };
        let files = ProcFiles::open().ok()?;
        let table = ThreadTable::new(descriptors, ticks_since_boot());
        let now = Instant::now();
        let mut sweeper = Self {
            scanner: ThreadScanner::new(files, table),
            counts: Vec::new(),
            sums: Vec::new(),
            due: 0,
            done: 0,
            took: Duration::ZERO,
            is_loaded: false,
            steal_time: StealTime::default(),
            next: now,
            delay: Duration::ZERO,
            turn: 0,
            list_at: now,
            cut_at: now,
            cost_ns: FIRST_COST_NS,
            other_ns: 0.0,
            other_now_ns: 0,
            rate,
        };
        sweeper.watch(targets);
        sweeper.list(usize::MAX);
        sweeper.pace();
        // Opening all files took time without delaying anybody. From now on the starter waits.
        let _ = priority_sender.send(raise_priority());
        Some(sweeper)
    }

    pub fn work(mut self, commands: &Receiver<Command>) {
        loop {
            let wait = (self.next + self.delay).saturating_duration_since(Instant::now());
            match commands.recv_timeout(wait) {
                Ok(command) => self.handle_command(command),
                Err(RecvTimeoutError::Timeout) => self.sweep(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn handle_command(&mut self, command: Command) {
        match command {
            Command::Watch(targets) => {
                self.watch(targets);
                self.list(MAX_NEW);
            }
            Command::Loaded(is_loaded) => {
                self.is_loaded = is_loaded;
                self.next = Instant::now();
                self.list_at = self.next;
            }
            Command::Cut(reply) => {
                let parts = self.cut();
                // Nobody waits for it any longer.
                let _ = reply.send(parts);
            }
        }
    }

    fn watch(&mut self, targets: SweepTargets) {
        let before = thread_cpu_ns();
        let ThreadScanner { files, table, .. } = &mut self.scanner;
        table.watch(files, &targets.subjects);
        self.sums.resize(targets.subjects.len(), ScanCounts::default());
        self.scanner.allowed_cpus = targets.allowed_cpus;
        self.other_now_ns += thread_cpu_ns() - before;
    }

    fn list(&mut self, most: usize) {
        let before = thread_cpu_ns();
        let ThreadScanner { files, table, .. } = &mut self.scanner;
        let all = table.list(files, most);
        let cost = thread_cpu_ns() - before;
        self.other_now_ns += cost;
        let rest = cost as f64 / 1e9 / (0.1 * self.budget());
        let rest = if all { LIST.max(Duration::from_secs_f64(rest.min(30.0))) } else { Duration::ZERO };
        self.list_at = Instant::now() + rest;
    }

    /// Processor time allowed per second, in seconds.
    fn budget(&self) -> f64 {
        let most = self.scanner.allowed_cpus.iter().copied().fold(1.0, f64::max);
        (SHARE * most).min(MAX_SHARE)
    }

    /// Sweeps per second, and the most threads of a group in each.
    fn pace(&self) -> (f64, usize) {
        let budget = (self.budget() * 1e9 - self.other_ns).max(self.budget() * 0.25e9);
        let sizes = || self.scanner.table.tallies.iter().map(|tally| tally.members.len());
        let cost = |most: usize| sizes().map(|size| size.min(most)).sum::<usize>() as f64 * self.cost_ns;
        let mut most = usize::MAX;
        if cost(most) * FEWEST_SWEEPS > budget {
            most = SUBSET;
            while most > LEAST_SUBSET && cost(most) * FEWEST_SWEEPS > budget {
                most /= 2;
            }
        }
        let rate = (budget / cost(most).max(1.0)).clamp(FEWEST_SWEEPS, MAX_SWEEPS);
        // Reported only if clearly different: it fluctuates.
        let published = f64::from_bits(self.rate.load(Ordering::Relaxed));
        if !(published / 1.5..=published * 1.5).contains(&rate) || (rate == MAX_SWEEPS && published != rate) {
            self.rate.store(((rate * 2.0).round() / 2.0).to_bits(), Ordering::Relaxed);
        }
        // Between trials it only keeps up with the list of threads.
        (if self.is_loaded { rate } else { FEWEST_SWEEPS }, most)
    }

    fn sweep(&mut self) {
        let now = Instant::now();
        let (rate, most) = self.pace();
        let period = Duration::from_secs_f64(1.0 / rate);
        self.due += 1 + missed(now.saturating_duration_since(self.next + self.delay), period);
        let start_ns = thread_cpu_ns();
        if now >= self.list_at {
            self.list(MAX_NEW);
        }
        let (began, before) = (Instant::now(), thread_cpu_ns());
        self.scanner.scan(most, &mut self.counts);
        let after = thread_cpu_ns();
        let cost_ns = after - before;
        self.took += began.elapsed();
        self.done += 1;
        let mut at = 0;
        for (sums, count) in self.sums.iter_mut().zip(&self.counts) {
            sums.threads += count.threads;
            sums.looked_at += count.looked_at;
            sums.readable += count.readable;
            at += count.looked_at;
        }
        if at > 0 {
            // Follows a change within a few sweeps.
            self.cost_ns += 0.2 * (cost_ns as f64 / at as f64 - self.cost_ns);
        }
        // In step with the last one; but never, whatever the cost, more than a fifth of a processor.
        let rest = Duration::from_nanos((after - start_ns) * 4);
        self.next = (self.next + period).max(now + period / 2 - self.delay).max(Instant::now() + rest);
        self.turn = self.turn.wrapping_add(1);
        self.delay = jitter(self.turn, period);
    }

    fn cut(&mut self) -> Vec<(ThreadSampling, Vec<ThreadGroup>)> {
        let before = thread_cpu_ns();
        let now = Instant::now();
        let period = Duration::from_secs_f64(1.0 / self.pace().0);
        let late = now.saturating_duration_since(self.next + self.delay);
        if late > period {
            self.due += missed(late, period);
            self.next = now;
        }
        self.scanner.update_run_times();
        let since = std::mem::replace(&mut self.cut_at, Instant::now()).elapsed();
        self.scanner.table.update_restless(since.as_nanos() as u64, self.steal_time.steal_ratio());
        let ThreadScanner { files, table, waits, .. } = &mut self.scanner;
        let unseen = table.unseen_cpu_time(files, self.sums.len());
        let looks = f64::from(self.done.max(1));
        let all: u64 = self.sums.iter().map(|sums| sums.looked_at).sum();
        let mut parts: Vec<(ThreadSampling, Vec<ThreadGroup>)> = Vec::new();
        for (sums, unseen_cpu_ns) in self.sums.iter().zip(unseen) {
            let share = sums.looked_at as f64 / all.max(1) as f64;
            let sweep = ThreadSampling {
                due: self.due,
                done: self.done,
                threads: sums.threads as f64 / looks,
                looked_at: sums.looked_at as f64 / looks,
                readable: sums.readable as f64 / looks,
                took_ns: (self.took.as_nanos() as f64 * share) as u64,
                unseen_cpu_ns,
            };
            parts.push((sweep, Vec::new()));
        }
        for tally in &mut table.tallies {
            let group = tally.cut(waits, self.done);
            if let (Some(group), Some((_, groups))) = (group, parts.get_mut(tally.subject)) {
                groups.push(group);
            }
        }
        for (_, groups) in &mut parts {
            groups.sort_by(|a, b| b.threads.total_cmp(&a.threads).then_with(|| a.name.cmp(&b.name)));
        }
        if waits.len() > MANY_WAITS {
            self.scanner.reset_waits();
        }
        self.sums.iter_mut().for_each(|sums| *sums = ScanCounts::default());
        (self.due, self.done, self.took) = (0, 0, Duration::ZERO);
        let used = std::mem::take(&mut self.other_now_ns) + thread_cpu_ns() - before;
        self.other_ns += 0.5 * (used as f64 - self.other_ns);
        parts
    }
}

/// Offset of a sweep from its regular time. Requests come at equal distances, and equally regular looks
/// would see the same moment of each: a thread that works a quarter of its time was seen at work in
/// nineteen of twenty looks. The golden section spreads the looks evenly over the period.
fn jitter(turn: u32, period: Duration) -> Duration {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    period.mul_f64(0.9 * (f64::from(turn) * GOLDEN).fract())
}

/// Sweeps missed while one was late.
fn missed(late: Duration, period: Duration) -> u32 {
    (late.as_secs_f64() / period.as_secs_f64()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks 20 times a second at work that comes 20 times a second and lasts a quarter of that.
    #[test]
    fn looks_do_not_keep_step_with_requests() {
        let period = Duration::from_millis(50);
        let at = |turn: u32| (period * turn + jitter(turn, period)).as_secs_f64() / period.as_secs_f64();
        let seen = (0..100).filter(|turn| at(*turn).fract() < 0.25).count();
        assert!((22..=32).contains(&seen), "{seen} of 100");
        assert!((1..100).all(|turn| at(turn) > at(turn - 1)), "one after the other");
    }
}
