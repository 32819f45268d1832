//! The sweep: looks at all watched threads, many times a second, from a thread of its own with raised
//! priority, where permitted.

mod group_tally;
mod inspector;
mod proc_files;
mod scanner;
mod socket_table;
mod steal_time;
mod sweeper;
pub(crate) mod syscall;
#[cfg(test)]
mod tests;
mod thread_table;
mod wait_table;

use crate::command_thread::CommandThread;
use crate::priority::missing_without_priority;
use crate::source::Source;
use crate::watch_scope::WatchScope;
use record::watch::{MissingMeasure, ThreadGroup, ThreadSampling, WatchCoverage, Window};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use sweeper::{Command, SweepTargets, Sweeper};

/// Timeout of a cut for the sweeping thread: it answers within a sweep, unless it starves.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct SweepSource {
    thread: CommandThread<Command>,
    /// The targets it was last given.
    targets: SweepTargets,
    /// Sweeps per second, as `f64` bits: it changes with the number of threads.
    rate: Arc<AtomicU64>,
    /// Whether it is on time on a full machine.
    has_priority: bool,
    missing: Vec<MissingMeasure>,
}

impl SweepSource {
    /// Fails if no thread can be started.
    pub fn start(scope: &WatchScope) -> io::Result<Self> {
        let (priority_sender, priority_receiver) = channel();
        let rate = Arc::new(AtomicU64::new(0));
        let targets = SweepTargets::of(scope);
        let (sweep_targets, shown) = (targets.clone(), Arc::clone(&rate));
        let thread = CommandThread::start("watch-sweep", move |commands| {
            if let Some(sweeper) = Sweeper::start(sweep_targets, shown, &priority_sender) {
                sweeper.work(commands);
            }
        })?;
        let raised = priority_receiver.recv().unwrap_or_else(|_| Err("it ended".to_owned()));
        let has_priority = raised.is_ok();
        let late = raised.err().map(|why| missing_without_priority(&why));
        let missing = late.into_iter().chain(self_test()).collect();
        Ok(Self { thread, targets, rate, has_priority, missing })
    }

    fn request_cut(&self) -> Option<Vec<(ThreadSampling, Vec<ThreadGroup>)>> {
        let (reply, answer): (_, Receiver<_>) = channel();
        self.thread.send(Command::Cut(reply));
        answer.recv_timeout(PATIENCE).ok()
    }
}

impl Source for SweepSource {
    fn interval(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn read(&mut self, scope: &WatchScope) {
        let targets = SweepTargets::of(scope);
        if targets != self.targets {
            self.targets = targets.clone();
            self.thread.send(Command::Watch(targets));
        }
    }

    fn cut(&mut self, scope: &WatchScope, window: &mut Window) {
        let parts = self.request_cut().unwrap_or_default();
        for ((part, (sweep, groups)), subject) in window.subjects.iter_mut().zip(parts).zip(&scope.subjects) {
            if sweep.threads > 0.0 || !subject.pids.is_empty() {
                (part.sweep, part.groups) = (Some(sweep), groups);
            }
        }
    }

    fn begin(&mut self) {
        self.thread.send(Command::Loaded(true));
    }

    fn end(&mut self) {
        self.thread.send(Command::Loaded(false));
    }

    fn missing(&self) -> Vec<MissingMeasure> {
        self.missing.clone()
    }

    fn describe(&self, coverage: &mut WatchCoverage) {
        coverage.sweeps_per_second = f64::from_bits(self.rate.load(Ordering::Relaxed));
        coverage.real_time = self.has_priority;
    }
}

/// Whether this kernel says what a sleeping thread of torment itself waits for.
fn self_test() -> Option<MissingMeasure> {
    let (wake, asleep) = channel::<()>();
    let (tid_sender, tid_receiver) = channel();
    let sleeper = std::thread::Builder::new().name("watch-test".to_owned()).spawn(move || {
        let _ = tid_sender.send(rustix::thread::gettid().as_raw_nonzero().get());
        let _ = asleep.recv();
    });
    let tid = tid_receiver.recv_timeout(PATIENCE).ok()?;
    let function = || std::fs::read_to_string(format!("/proc/self/task/{tid}/wchan")).unwrap_or_default();
    // It takes a moment to fall asleep.
    let mut is_shown = false;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(1));
        is_shown = !matches!(function().trim(), "" | "0");
        if is_shown {
            break;
        }
    }
    drop(wake);
    let _ = sleeper.ok()?.join();
    (!is_shown).then(|| {
        MissingMeasure::new(
            "functions of the kernel",
            "this kernel does not say in which function a thread sleeps (wchan)",
        )
    })
}
