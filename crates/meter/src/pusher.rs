//! Pushes a run's metrics once a second, from its own thread.

use crate::collector::{PUSH_TIMEOUT, PushClient};
use crate::{CollectorHeaders, CollectorUrl, MetricsReader};
use record::RunId;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use sys::lower_priority;
use view::metrics;

/// Push interval.
const PUSH_INTERVAL: Duration = Duration::from_secs(1);
/// How long an experiment's measurement is still reported after its end.
const LINGER: Duration = Duration::from_secs(5);
/// How long a run's end waits for the last push, if the one before arrived.
const FINAL_PUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Pushes one run's metrics to a collector.
#[derive(Debug)]
pub struct MetricsPusher {
    collector: CollectorUrl,
    /// Takes the run to push; closed once it has ended, and all of it is in the store.
    run: mpsc::Sender<RunId>,
    done: Receiver<()>,
    stats: Arc<Mutex<PushStats>>,
}

#[derive(Debug, Clone, Default)]
struct PushStats {
    arrived: u64,
    failed: u64,
    /// Why the last push failed.
    last_error: String,
    /// Whether the last push arrived; `None` before the first.
    last_ok: Option<bool>,
    /// When the current push began.
    push_started: Option<Instant>,
}

impl MetricsPusher {
    /// Starts pushing a run from a store, once [`MetricsPusher::set_run`] names it. The thread yields to everything else, and stays off
    /// the `busy` processors. `authorities`: a file of certificates to trust.
    ///
    /// # Errors
    /// If the thread cannot be started, or the file has no certificates.
    pub fn start(
        store: &Path,
        to: CollectorUrl,
        headers: CollectorHeaders,
        authorities: Option<&Path>,
        busy: &[u32],
    ) -> io::Result<Self> {
        let sender = PushClient::new(to.clone(), headers, authorities).map_err(io::Error::other)?;
        let (run, run_receiver) = mpsc::channel();
        let (finished, done) = mpsc::channel();
        let stats = Arc::<Mutex<PushStats>>::default();
        let (store, busy, shared_stats) = (store.to_owned(), busy.to_vec(), Arc::clone(&stats));
        std::thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            lower_priority(&busy);
            push_loop(store, &sender, &run_receiver, &shared_stats);
            drop(finished);
        })?;
        Ok(Self { collector: to, run, done, stats })
    }

    /// Sets the run to push.
    pub fn set_run(&self, id: &RunId) {
        // If the thread is gone, `end` reports it.
        let _ = self.run.send(id.clone());
    }

    /// Makes the last push, and says in one sentence what did not arrive. Waits only briefly, and not at all if pushes failed before.
    pub fn end(self) -> Option<String> {
        let Self { collector, run, done, stats } = self;
        drop(run);
        let before = lock(&stats).clone();
        let hangs = before.push_started.is_some_and(|since| since.elapsed() > FINAL_PUSH_TIMEOUT);
        let patience =
            if before.last_ok == Some(false) || hangs { Duration::ZERO } else { FINAL_PUSH_TIMEOUT };
        // A slower thread is left behind; it ends with the process.
        let is_over = done.recv_timeout(patience) != Err(RecvTimeoutError::Timeout);
        lock(&stats).clone().note(&collector, is_over)
    }
}

impl PushStats {
    fn record_result(&mut self, result: Result<(), String>) {
        self.push_started = None;
        self.last_ok = Some(result.is_ok());
        match result {
            Ok(()) => self.arrived += 1,
            Err(why) => {
                self.failed += 1;
                self.last_error = why;
            }
        }
    }

    /// What did not arrive; `is_over`: no push is in progress.
    fn note(mut self, to: &CollectorUrl, is_over: bool) -> Option<String> {
        if !is_over && self.push_started.is_some() {
            let hung = self.push_started.is_some_and(|since| since.elapsed() >= PUSH_TIMEOUT);
            let why = if hung || self.last_error.is_empty() {
                "no answer until the run ended"
            } else {
                &self.last_error
            };
            let why = why.to_owned();
            self.record_result(Err(why));
        }
        let Self { arrived, failed, last_error: why, .. } = self;
        let all = arrived + failed;
        (failed > 0).then(|| format!("{failed} of {all} pushes to {to} failed; the last of them: {why}"))
    }
}

/// Pushes until told to end, then once more with all measurements.
fn push_loop(store: PathBuf, sender: &PushClient, run: &Receiver<RunId>, stats: &Mutex<PushStats>) {
    let Ok(id) = run.recv() else { return };
    let mut reader = MetricsReader::new(&store, LINGER).only(id);
    let mut next = Instant::now() + PUSH_INTERVAL;
    loop {
        let ended = run.recv_timeout(next.saturating_duration_since(Instant::now()));
        let is_last = ended == Err(RecvTimeoutError::Disconnected);
        let result = match reader.snapshots() {
            // A run that was removed, or is not in the store yet, has nothing to report.
            Ok(runs) if runs.is_empty() => None,
            Ok(runs) => {
                let body = metrics::otlp(&runs, sys::now().unix_ms()).to_string();
                lock(stats).push_started = Some(Instant::now());
                Some(sender.send(&body))
            }
            Err(error) => Some(Err(error.to_string())),
        };
        if let Some(result) = result {
            lock(stats).record_result(result);
        }
        if is_last {
            return;
        }
        // No catching up after a slow push.
        next = (next + PUSH_INTERVAL).max(Instant::now());
    }
}

fn lock(stats: &Mutex<PushStats>) -> MutexGuard<'_, PushStats> {
    stats.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_arrive_is_said_once() {
        let to: CollectorUrl = "http://127.0.0.1:4318".parse().expect("a collector");
        let mut count = PushStats::default();
        assert_eq!(count.clone().note(&to, true), None, "nothing was pushed");
        count.record_result(Ok(()));
        assert_eq!(count.clone().note(&to, true), None);
        count.record_result(Err("nothing listens there".to_owned()));
        let said = count.clone().note(&to, true).expect("one failed");
        assert_eq!(
            said,
            "1 of 2 pushes to http://127.0.0.1:4318/v1/metrics failed; the last of them: nothing listens \
             there"
        );
        count.push_started = Some(Instant::now());
        let said = count.note(&to, false).expect("two failed");
        assert!(said.starts_with("2 of 3 pushes"), "{said}");
        let hangs = PushStats { push_started: Some(Instant::now()), ..PushStats::default() };
        let said = hangs.note(&to, false).expect("it hangs");
        assert!(
            said.starts_with("1 of 1 pushes") && said.ends_with("no answer until the run ended"),
            "{said}"
        );
    }
}
