//! Runs as read from the store, each folded once for all viewers.

use crate::ROWS;
use crate::html::json;
use crate::http_error::HttpError;
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
const KEPT: usize = view::MOST_COMPARED;
/// What was read this recently is not read again for another viewer.
const FRESH: Duration = Duration::from_millis(200);

/// How long a run that has ended stays in the metrics: a scraper polling once a minute still gets its final counts.
const LINGERS: Duration = Duration::from_secs(75);

/// A run shared by its viewers.
pub(crate) type SharedRun = Arc<Mutex<FollowedRun>>;

/// Finds runs, and caches the most recent ones. Everything here blocks on the disk.
#[derive(Debug)]
pub(crate) struct RunCache {
    store: PathBuf,
    home: OnceLock<RunId>,
    /// Most recently used last.
    kept: Mutex<Vec<(RunId, SharedRun)>>,
    meter: Mutex<MetricsReader>,
}

impl RunCache {
    pub fn new(store: &Path) -> Self {
        Self {
            store: store.to_owned(),
            home: OnceLock::new(),
            kept: Mutex::default(),
            meter: Mutex::new(MetricsReader::new(store, LINGERS)),
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
        Ok(text(&lock(&self.meter).snapshots()?, form))
    }

    /// The run with this id or prefix of an id, or `last`.
    pub fn run(&self, asked: &str) -> Result<SharedRun, HttpError> {
        let store = self.store()?;
        let id = store.find(asked)?;
        let mut kept = lock(&self.kept);
        let run = match kept.iter().position(|(of, _)| *of == id) {
            Some(at) => kept.remove(at).1,
            None => Arc::new(Mutex::new(FollowedRun::new(store, id.clone()))),
        };
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((id, Arc::clone(&run)));
        Ok(run)
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
        Err(why) if why.is_panic() => Err(HttpError::internal(
            "the run could not be read; this is a bug in torment, which has printed where it is",
        )),
        Err(_) => Err(HttpError::internal("torment ends")),
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
    follow: RunFollower,
    pub pages: PageBuilder,
    read: Option<Instant>,
    front: Option<Arc<str>>,
}

impl std::fmt::Debug for FollowedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FollowedRun").field("follow", &self.follow).finish_non_exhaustive()
    }
}

impl FollowedRun {
    fn new(store: Store, id: RunId) -> Self {
        Self { follow: RunFollower::new(store, id), pages: PageBuilder::default(), read: None, front: None }
    }

    /// Reads what was added since; if `now`, even right after the last read.
    pub fn catch_up(&mut self, now: bool) -> Result<(), Error> {
        if !now && self.read.is_some_and(|at| at.elapsed() < FRESH) {
            return Ok(());
        }
        let read = self.follow.catch_up(|event| self.pages.fold(event));
        // Also after a failure: what was folded is not folded again.
        self.pages.run.skipped = self.follow.skipped();
        let is_new = read?;
        self.pages.run.running = self.state() == RunState::Running;
        self.read = Some(Instant::now());
        if is_new {
            self.front = None;
        }
        Ok(())
    }

    /// Its state at the last read.
    pub fn state(&self) -> RunState {
        self.follow.state()
    }

    pub fn summary(&self) -> Result<RunSummary, Error> {
        self.follow.store().summary(self.follow.id())
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
