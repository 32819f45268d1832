//! A run's measures, pushed once a second from a thread of their own.

use crate::collector::{PATIENCE, PushClient};
use crate::{CollectorHeaders, CollectorUrl, MetricsReader};
use record::RunId;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use sys::lower_priority;
use view::metrics;

/// How often.
const EVERY: Duration = Duration::from_secs(1);
/// A measurement of an experiment that has ended is told of once more, not for ever.
const LINGERS: Duration = Duration::from_secs(5);
/// How long the end of a run waits for its last push, if the one before it arrived.
const PARTING: Duration = Duration::from_millis(500);

/// What the pushing thread is told.
enum PushCommand {
    /// This run is to be pushed.
    Begins(RunId),
    /// It has ended, and all of it is in the store.
    Ends,
}

/// The measures of one run on their way to a collector.
#[derive(Debug)]
pub struct MetricsPusher {
    to: CollectorUrl,
    tell: mpsc::Sender<PushCommand>,
    over: Receiver<()>,
    count: Arc<Mutex<PushStats>>,
}

/// How the pushes went.
#[derive(Debug, Clone, Default)]
struct PushStats {
    arrived: u64,
    failed: u64,
    /// Why the last of them failed.
    why: String,
    /// Whether the last push arrived; nobody knows before the first.
    well: Option<bool>,
    /// When the one that is under way began.
    since: Option<Instant>,
}

impl MetricsPusher {
    /// Begins to push what a store has of a run, as soon as it is said which. The thread gives way to everything else, and
    /// stays away from the processors that are `busy`. `authorities`: certificates to be trusted, in a file.
    ///
    /// # Errors
    /// If there is no thread to be had, or that file is none of certificates.
    pub fn start(
        store: &Path,
        to: CollectorUrl,
        headers: CollectorHeaders,
        authorities: Option<&Path>,
        busy: &[u32],
    ) -> io::Result<Self> {
        let sender = PushClient::new(to.clone(), headers, authorities).map_err(io::Error::other)?;
        let (tell, told) = mpsc::channel();
        let (ends, over) = mpsc::channel();
        let count = Arc::<Mutex<PushStats>>::default();
        let (store, busy, mine) = (store.to_owned(), busy.to_vec(), Arc::clone(&count));
        std::thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            lower_priority(&busy);
            push_loop(store, &sender, &told, &mine);
            drop(ends);
        })?;
        Ok(Self { to, tell, over, count })
    }

    /// This run is to be pushed.
    pub fn set_run(&self, id: &RunId) {
        // If the thread is gone, its end says so.
        let _ = self.tell.send(PushCommand::Begins(id.clone()));
    }

    /// Lets the last push go out, and says in one sentence what did not arrive. Waits for a moment only, and for nothing at all
    /// if pushes failed before.
    pub fn end(self) -> Option<String> {
        let _ = self.tell.send(PushCommand::Ends);
        let before = lock(&self.count).clone();
        let hangs = before.since.is_some_and(|since| since.elapsed() > PARTING);
        let patience = if before.well == Some(false) || hangs { Duration::ZERO } else { PARTING };
        // Its thread is left behind if it takes longer; it ends with the process.
        let is_over = !matches!(self.over.recv_timeout(patience), Err(RecvTimeoutError::Timeout));
        lock(&self.count).clone().note(&self.to, is_over)
    }
}

impl PushStats {
    fn record_result(&mut self, result: Result<(), String>) {
        self.since = None;
        self.well = Some(result.is_ok());
        match result {
            Ok(()) => self.arrived += 1,
            Err(why) => {
                self.failed += 1;
                self.why = why;
            }
        }
    }

    /// What did not arrive; `is_over`: nothing is under way any longer.
    fn note(mut self, to: &CollectorUrl, is_over: bool) -> Option<String> {
        if !is_over && self.since.is_some() {
            let hung = self.since.is_some_and(|since| since.elapsed() >= PATIENCE);
            let why = if hung || self.why.is_empty() { "no answer until the run ended" } else { &self.why };
            let why = why.to_owned();
            self.record_result(Err(why));
        }
        let Self { arrived, failed, why, .. } = self;
        let all = arrived + failed;
        (failed > 0).then(|| format!("{failed} of {all} pushes to {to} failed; the last of them: {why}"))
    }
}

/// Pushes until it is told the end; that comes once more then, with all that was measured.
fn push_loop(store: PathBuf, sender: &PushClient, told: &Receiver<PushCommand>, count: &Mutex<PushStats>) {
    let mut meter = match told.recv() {
        Ok(PushCommand::Begins(id)) => MetricsReader::new(&store, LINGERS).only(id),
        Ok(PushCommand::Ends) | Err(_) => return,
    };
    let mut next = Instant::now() + EVERY;
    loop {
        // Whoever could tell the end is gone: it was the end.
        let word = told.recv_timeout(next.saturating_duration_since(Instant::now()));
        let is_last = !matches!(word, Err(RecvTimeoutError::Timeout) | Ok(PushCommand::Begins(_)));
        let result = match meter.snapshots() {
            // Of a run that was removed, or has not come to the store yet, there is nothing to say.
            Ok(runs) if runs.is_empty() => None,
            Ok(runs) => {
                let body = metrics::otlp(&runs, sys::now().unix_ms()).to_string();
                lock(count).since = Some(Instant::now());
                Some(sender.send(&body))
            }
            Err(error) => Some(Err(error.to_string())),
        };
        if let Some(result) = result {
            lock(count).record_result(result);
        }
        if is_last {
            return;
        }
        // A push that took long is not made up for.
        next = (next + EVERY).max(Instant::now());
    }
}

fn lock(count: &Mutex<PushStats>) -> MutexGuard<'_, PushStats> {
    count.lock().unwrap_or_else(PoisonError::into_inner)
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
        count.since = Some(Instant::now());
        let said = count.note(&to, false).expect("two failed");
        assert!(said.starts_with("2 of 3 pushes"), "{said}");
        let hangs = PushStats { since: Some(Instant::now()), ..PushStats::default() };
        let said = hangs.note(&to, false).expect("it hangs");
        assert!(
            said.starts_with("1 of 1 pushes") && said.ends_with("no answer until the run ended"),
            "{said}"
        );
    }
}
