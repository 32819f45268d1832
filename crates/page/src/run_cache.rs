//! Runs as read from the store, each folded once for all viewers.

use crate::ROWS;
use crate::html::json;
use crate::http_error::HttpError;
use axum::http::StatusCode;
use meter::{MetricsReader, RunFollower};
use record::RunId;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use store::{Error, RunState, RunSummary, Store};
use view::document::Document;
use view::metrics::{ExpositionFormat, text};
use view::page::PageBuilder;

/// Maximum cached runs, as many as can be compared: folding half an hour again takes a second.
const MAX_RUNS: usize = view::MAX_COMPARED;
/// What was read this recently is not read again for another viewer.
const FRESH_FOR: Duration = Duration::from_millis(200);

/// How long a run that has ended stays in the metrics: a scraper polling once a minute still gets its final counts.
const METRICS_LINGER: Duration = Duration::from_secs(75);

/// A run shared by its viewers.
pub(crate) type SharedRun = Arc<Mutex<FollowedRun>>;

/// Finds runs, and caches the most recent ones. Everything here blocks on the disk.
#[derive(Debug)]
pub(crate) struct RunCache {
    store: PathBuf,
    home: OnceLock<RunId>,
    /// Most recently used last.
    runs: Mutex<Vec<(RunId, SharedRun)>>,
    metrics_reader: Mutex<MetricsReader>,
}

impl RunCache {
    pub fn new(store: &Path) -> Self {
        Self {
            store: store.to_owned(),
            home: OnceLock::new(),
            runs: Mutex::default(),
            metrics_reader: Mutex::new(MetricsReader::new(store, METRICS_LINGER)),
        }
    }

    /// Makes this run the page's first from now on.
    pub fn set_home(&self, id: &RunId) {
        // Only the first run of a process is its own; any other it makes is part of that.
        let _ = self.home.set(id.clone());
    }

    /// The run the page begins with.
    pub fn home(&self) -> Option<&RunId> {
        self.home.get()
    }

    /// The store, opened for one read.
    pub fn store(&self) -> Result<Store, HttpError> {
        Ok(Store::open(&self.store)?)
    }

    /// The measures of all runs that go on or have just ended, as text.
    pub fn metrics(&self, form: ExpositionFormat) -> Result<String, HttpError> {
        Ok(text(&lock(&self.metrics_reader).snapshots()?, form))
    }

    /// The run with this id or prefix of an id, or `last`.
    pub fn run(&self, reference: &str) -> Result<SharedRun, HttpError> {
        let store = self.store()?;
        let id = store.find(reference)?;
        let mut runs = lock(&self.runs);
        let run = match runs.iter().position(|(of, _)| *of == id) {
            Some(at) => runs.remove(at).1,
            None => Arc::new(Mutex::new(FollowedRun::new(store, id.clone()))),
        };
        if runs.len() == MAX_RUNS {
            runs.remove(0);
        }
        runs.push((id, Arc::clone(&run)));
        Ok(run)
    }

    /// The document of such a run, as far as it has been read.
    pub fn document(&self, reference: &str) -> Result<Document, HttpError> {
        let run = self.run(reference)?;
        let mut run = lock(&run);
        run.catch_up(false)?;
        Ok(run.document())
    }
}

/// A panic while reading one run must not end the server for all.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs something that blocks on the disk where it blocks nobody else.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HttpError> + Send + 'static,
) -> Result<T, HttpError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(why) => {
            let words = if why.is_panic() {
                "the run could not be read; this is a bug in torment, which has printed where it is"
            } else {
                "torment ends"
            };
            Err(HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, words))
        }
    }
}

/// A run as one document, with at most [`ROWS`] rows.
///
/// # Errors
/// If there is no such run, or it cannot be read.
pub fn document(store: Store, id: &RunId) -> Result<Document, Error> {
    let mut run = FollowedRun::new(store, id.clone());
    run.catch_up(true)?;
    Ok(run.document())
}

/// A run, folded as far as it has been read.
pub(crate) struct FollowedRun {
    follower: RunFollower,
    pub pages: PageBuilder,
    last_read: Option<Instant>,
    front: Option<Arc<str>>,
}

impl std::fmt::Debug for FollowedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FollowedRun").field("follow", &self.follower).finish_non_exhaustive()
    }
}

impl FollowedRun {
    fn new(store: Store, id: RunId) -> Self {
        Self {
            follower: RunFollower::new(store, id),
            pages: PageBuilder::default(),
            last_read: None,
            front: None,
        }
    }

    /// Reads what was added since; if `now`, even right after the last read.
    pub fn catch_up(&mut self, force: bool) -> Result<(), Error> {
        if !force && self.last_read.is_some_and(|at| at.elapsed() < FRESH_FOR) {
            return Ok(());
        }
        let result = self.follower.catch_up(|event| self.pages.fold(event));
        // Also after a failure: what was folded is not folded again.
        self.pages.run.skipped = self.follower.skipped();
        let is_new = result?;
        self.pages.run.running = self.state() == RunState::Running;
        self.last_read = Some(Instant::now());
        if is_new {
            self.front = None;
        }
        Ok(())
    }

    /// Its state at the last read.
    pub fn state(&self) -> RunState {
        self.follower.state()
    }

    pub fn summary(&self) -> Result<RunSummary, Error> {
        self.follower.store().summary(self.follower.id())
    }

    /// The whole document, as far as it has been read.
    pub fn document(&self) -> Document {
        self.pages.document(ROWS)
    }

    /// The front of its page, as JSON; built once for all viewers.
    pub fn front(&mut self) -> Arc<str> {
        let Self { pages, front, .. } = self;
        Arc::clone(front.get_or_insert_with(|| json(&pages.front()).into()))
    }
}
