//! Reads a run while it is written.

use record::{Event, RunId};
use store::{Error, RunState, Store};

/// Follows a run: each event is delivered once.
#[derive(Debug)]
pub struct RunFollower {
    store: Store,
    id: RunId,
    /// The number of the first event not yet read.
    next: u64,
    state: Option<RunState>,
    skipped: u64,
}

impl RunFollower {
    /// Follows a run from its beginning.
    pub fn new(store: Store, id: RunId) -> Self {
        Self { store, id, next: 0, state: None, skipped: 0 }
    }

    /// Delivers the events added since; returns whether there were any.
    ///
    /// # Errors
    /// If the store cannot be read. Events delivered by then are not repeated.
    pub fn catch_up(&mut self, mut deliver: impl FnMut(&Event)) -> Result<bool, Error> {
        // Read before the events: if the run has ended by now, its last event is in the store.
        let state = self.store.summary(&self.id)?.state;
        let mut events = self.store.events_from(&self.id, self.next)?;
        let mut is_new = self.state != Some(state);
        let end = loop {
            match events.next() {
                Some(Ok(event)) => deliver(&event),
                Some(Err(error)) => break Err(error),
                None => break Ok(()),
            }
            is_new = true;
        };
        self.skipped += events.skipped();
        self.next = events.position();
        end?;
        self.state = Some(state);
        Ok(is_new)
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The store it is read from.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Its state when last read; running before that.
    pub fn state(&self) -> RunState {
        self.state.unwrap_or(RunState::Running)
    }

    /// Events skipped so far because this version does not know them.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}
