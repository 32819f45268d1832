//! A run that is read while it is written.

use record::{Event, RunId};
use store::{Error, RunState, Store};

/// A run, read as far as it has come: every event is told once.
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
    /// From its beginning on.
    pub fn new(store: Store, id: RunId) -> Self {
        Self { store, id, next: 0, state: None, skipped: 0 }
    }

    /// Tells what was added since. Whether anything is new.
    ///
    /// # Errors
    /// If the store cannot be read. What was told by then is not told again.
    pub fn catch_up(&mut self, mut tell: impl FnMut(&Event)) -> Result<bool, Error> {
        // Before the events: a run that has ended by now has its last one in the store.
        let state = self.store.summary(&self.id)?.state;
        let mut events = self.store.events_from(&self.id, self.next)?;
        let mut is_new = self.state != Some(state);
        let end = loop {
            match events.next() {
                Some(Ok(event)) => tell(&event),
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

    /// Which run it is.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Where it is read from.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How it stood when it was last read; as one that goes on before that.
    pub fn state(&self) -> RunState {
        self.state.unwrap_or(RunState::Running)
    }

    /// Events passed over so far because this version does not know them.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}
