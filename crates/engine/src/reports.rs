//! Collects the reports of the threads that make a load together, until nothing is open.

use crate::load_generator::LoadCommand;
use record::{Slice, SliceMerger, TrialCounts};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use units::Nanos;

/// More threads than this only compete for processor time.
pub const THREADS_MOST: u32 = 64;
/// From the start command until the first arrival can be due: every thread must have received it by then.
pub const LEAD: Nanos = Nanos::from_millis(2);
/// How often the caller is asked for a command.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often threads are asked to give way to requests still waiting.
const GIVE_WAY_INTERVAL: Nanos = Nanos::from_secs(1);
/// Capacity of the report channel; each thread sends a report a second, of some 20 KiB. Receivers are quick, so
/// few ever queue. Should one hang for a minute or more, the threads block: nothing they counted is lost, and
/// what came due meanwhile is `unsent`, which voids the trial.
const QUEUE_LENGTH: usize = 60 * THREADS_MOST as usize;

/// Sleeps until a trial that begins at `start_ns` has to be started, checking now and then whether to `go_on`;
/// false if not.
pub fn sleep_until(start_ns: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
    loop {
        let ahead = start_ns.saturating_sub(sys::monotonic_ns() + LEAD.0);
        if ahead == 0 {
            return true;
        }
        if !go_on() {
            return false;
        }
        std::thread::sleep(Duration::from_nanos(ahead).min(POLL_INTERVAL));
    }
}

/// A report of a load thread.
pub enum ThreadReport<T> {
    /// What it counted in one second.
    Slice(Box<Slice>),
    /// The trial is over, its load ended at this moment; what is still open is no longer counted.
    Over(Nanos),
    /// Nothing is open.
    Settled,
    /// A report specific to this kind of thread.
    Custom(T),
}

/// A thread's end of the report channel.
pub struct Reporter<T> {
    index: usize,
    reports: SyncSender<IndexedReport<T>>,
}

/// The thread's index and its report; `None` if it panicked.
type IndexedReport<T> = (usize, Option<ThreadReport<T>>);

impl<T> Reporter<T> {
    /// Blocks while the channel is full. It does not matter whether anybody still listens.
    pub fn send(&self, report: ThreadReport<T>) {
        let _ = self.reports.send((self.index, Some(report)));
    }
}

impl<T> Drop for Reporter<T> {
    /// The other threads may go on, so the receiver would wait for this one forever.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.reports.send((self.index, None));
        }
    }
}

/// The receiving end of all threads' report channel.
pub struct ReportCollector<T> {
    reports: Receiver<IndexedReport<T>>,
    /// Threads with nothing open since their last trial.
    settled: Vec<bool>,
}

impl<T> ReportCollector<T> {
    /// One reporter for each of so many threads.
    pub fn channel(threads: usize) -> (Vec<Reporter<T>>, Self) {
        let (sender, reports) = sync_channel(QUEUE_LENGTH);
        let reporter = |index| Reporter { index, reports: sender.clone() };
        ((0..threads).map(reporter).collect(), Self { reports, settled: vec![true; threads] })
    }

    /// The next report, with its thread's index; `None` if that takes long.
    pub(crate) fn next_report(&mut self) -> Option<(usize, ThreadReport<T>)> {
        match self.reports.recv_timeout(POLL_INTERVAL) {
            Ok((index, Some(report))) => {
                self.settled[index] |= matches!(report, ThreadReport::Settled);
                Some((index, report))
            }
            Err(RecvTimeoutError::Timeout) => None,
            Ok((_, None)) | Err(RecvTimeoutError::Disconnected) => {
                panic!("a thread that makes the load has ended by itself")
            }
        }
    }

    /// Collects a trial that begins at `start_ns`, on the monotonic clock, until every thread reports its end.
    /// `apply` gets each command stronger than the one before, and the moment of the trial.
    ///
    /// # Panics
    /// If a thread has panicked.
    pub fn collect_trial(
        &mut self,
        start_ns: u64,
        on_slice: &mut dyn FnMut(&Slice),
        next_command: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
        mut apply: impl FnMut(LoadCommand, Nanos),
        mut on_custom: impl FnMut(T),
    ) -> TrialCounts {
        self.settled.fill(false);
        let (mut merger, mut applied) = (SliceMerger::new(self.settled.len()), LoadCommand::Continue);
        while !merger.is_finished() {
            match self.next_report() {
                Some((index, ThreadReport::Slice(slice))) => merger.add(index, &slice),
                Some((index, ThreadReport::Over(at))) => merger.finish_source(index, at),
                Some((_, ThreadReport::Custom(report))) => on_custom(report),
                Some((_, ThreadReport::Settled)) | None => {}
            }
            while let Some(slice) = merger.next_complete() {
                on_slice(&slice);
            }
            let now = Nanos(sys::monotonic_ns().saturating_sub(start_ns));
            if applied < LoadCommand::Kill {
                let command = next_command(merger.total(), now);
                if command > applied {
                    apply(command, now);
                    applied = command;
                }
            }
        }
        merger.into_counts()
    }

    /// Waits, at most for `limit`, until no thread has anything open, then `abandon`s the rest; each second
    /// meanwhile, threads are asked to `give_way`. Returns how long it took, or `None` if over the limit.
    ///
    /// # Panics
    /// If a thread has panicked.
    pub fn settle(
        &mut self,
        limit: Nanos,
        interrupted: &dyn Fn() -> bool,
        give_way: impl Fn(),
        abandon: impl Fn(),
        mut on_custom: impl FnMut(T),
    ) -> Option<Nanos> {
        let began = sys::monotonic_ns();
        let passed = || Nanos(sys::monotonic_ns() - began);
        let (mut in_time, mut next_give_way) = (true, GIVE_WAY_INTERVAL);
        while self.settled.contains(&false) {
            if passed() > next_give_way {
                next_give_way = passed() + GIVE_WAY_INTERVAL;
                give_way();
            }
            match self.next_report() {
                Some((_, ThreadReport::Custom(report))) => on_custom(report),
                Some(_) => {}
                None if in_time && (passed() > limit || interrupted()) => {
                    in_time = false;
                    abandon();
                }
                None => {}
            }
        }
        in_time.then(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_panics_is_not_waited_for() {
        let (mut reporters, mut collector) = ReportCollector::<()>::channel(2);
        let (first, second) = (reporters.remove(0), reporters.remove(0));
        let ended = std::thread::spawn(move || {
            let _reporter = second;
            panic!("on purpose");
        });
        assert!(ended.join().is_err());
        first.send(ThreadReport::Over(Nanos::ZERO));
        let gathered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            collector.collect_trial(0, &mut |_| {}, &mut |_, _| LoadCommand::Continue, |_, _| {}, drop)
        }));
        assert!(gathered.is_err(), "the other would be waited for, for ever");
    }
}
