//! Metrics of the current runs.

use crate::RunFollower;
use record::RunId;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{Error, RunState, Store};
use view::metrics::{RunMetrics, Snapshot};

/// Maximum runs reported at once. No more run at a time where anything is to be measured.
const MAX_RUNS: usize = 16;

/// Reads current and just ended runs, each event once.
#[derive(Debug)]
pub struct MetricsReader {
    path: PathBuf,
    /// Opened on first use.
    store: Option<Store>,
    /// How long a run is still reported after its end.
    linger: Duration,
    only: Option<RunId>,
    runs: Vec<(RunFollower, RunMetrics)>,
}

impl MetricsReader {
    /// Reads all runs of a store.
    pub fn new(store: &Path, linger: Duration) -> Self {
        Self { path: store.to_owned(), store: None, linger, only: None, runs: Vec::new() }
    }

    /// Restricts to this run and its measurements.
    #[must_use]
    pub fn only(self, id: RunId) -> Self {
        Self { only: Some(id), ..self }
    }

    /// Their current metrics, the latest run first. Blocks on disk.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn snapshots(&mut self) -> Result<Vec<Snapshot>, Error> {
        let since = sys::now().unix_ms().saturating_sub(self.linger.as_millis() as u64);
        let mut recent = self.store()?.recent(since)?;
        let only = self.only.as_ref();
        recent.retain(|run| {
            let is_it = only.is_none_or(|only| run.id == *only || run.part_of.as_ref() == Some(only));
            // A run that was killed has nothing more to report.
            is_it && run.state != RunState::CutShort
        });
        recent.truncate(MAX_RUNS);
        let mut before = std::mem::take(&mut self.runs);
        for run in recent {
            let known = before.iter().position(|(follower, _)| *follower.id() == run.id);
            let (mut follower, mut measures) = match known {
                Some(place) => before.swap_remove(place),
                None => (RunFollower::new(Store::open(&self.path)?, run.id), RunMetrics::default()),
            };
            let read = follower.catch_up(|event| measures.fold(event));
            // Kept even after a failure: events are not delivered again.
            self.runs.push((follower, measures));
            read?;
        }
        Ok(self.runs.iter().filter_map(|(_, measures)| measures.snapshot()).collect())
    }

    fn store(&mut self) -> Result<&Store, Error> {
        match &mut self.store {
            Some(store) => Ok(store),
            none => Ok(none.insert(Store::open(&self.path)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Event, RunKind};
    use store::RunWriter;

    fn begin(store: &Store, id: &str, part_of: Option<&str>) -> RunWriter {
        let event = Event::RunStarted(Box::new(record::RunStart {
            id: RunId(id.to_owned()),
            at_unix_ms: sys::now().unix_ms(),
            version: "0.1.0".to_owned(),
            method: record::METHOD,
            command: RunKind::Run,
            target: "null".to_owned(),
            goal: String::new(),
            plan: String::new(),
            parts: Vec::new(),
            machine: record::Machine::default(),
            part_of: part_of.map(|id| RunId(id.to_owned())),
            label: record::Label::default(),
        }));
        store.begin(&event).expect("begins")
    }

    fn end(mut run: RunWriter, at_unix_ms: u64) {
        let event = Event::RunEnded(Box::new(record::RunEnd {
            at_unix_ms,
            verdict: None,
            exit_code: 0,
            error: None,
        }));
        run.append(&event).expect("goes on");
        run.finish().expect("is kept");
    }

    fn run_ids(meter: &mut MetricsReader) -> Vec<String> {
        let mut ids: Vec<String> =
            meter.snapshots().expect("it can be read").into_iter().map(|run| run.labels[0].clone()).collect();
        ids.sort();
        ids
    }

    #[test]
    fn runs_are_told_of_while_they_go_on_and_a_little_longer() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("t.db")).expect("opens");
        let mut all = MetricsReader::new(store.path(), Duration::from_secs(60));
        let mut own = MetricsReader::new(store.path(), Duration::from_secs(60)).only(RunId("b".to_owned()));
        assert!(run_ids(&mut all).is_empty());
        end(begin(&store, "a", None), sys::now().unix_ms() - 61_000);
        let goes_on = begin(&store, "b", None);
        end(begin(&store, "c", Some("b")), sys::now().unix_ms());
        end(begin(&store, "d", None), sys::now().unix_ms());
        assert_eq!(run_ids(&mut all), ["b", "c", "d"]);
        assert_eq!(run_ids(&mut own), ["b", "c"]);
        end(goes_on, sys::now().unix_ms() - 61_000);
        assert_eq!(run_ids(&mut own), ["c"]);
        store.remove(&RunId("c".to_owned())).expect("it is there");
        assert!(run_ids(&mut own).is_empty());
    }
}
