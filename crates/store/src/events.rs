use crate::{Error, Store};
use record::{Event, RunId};
use rusqlite::{OptionalExtension, params};
use std::collections::VecDeque;

/// Events read per query: some hundred KiB, however long the run.
const PAGE_SIZE: i64 = 32;

/// The events of a run in order, read lazily. Events unknown to this version stay in the store and are skipped; [`Events::skipped`]
/// counts them.
#[derive(Debug)]
pub struct Events<'a> {
    store: &'a Store,
    key: i64,
    next_seq: i64,
    page: VecDeque<String>,
    skipped: u64,
}

impl Store {
    /// The events of a run. Fails if there is no such run.
    pub fn events(&self, id: &RunId) -> Result<Events<'_>, Error> {
        self.events_from(id, 0)
    }

    /// The events of a run from a [`Events::position`] on. Fails if there is no such run.
    pub fn events_from(&self, id: &RunId, position: u64) -> Result<Events<'_>, Error> {
        let key = self
            .db
            .query_row("SELECT key FROM run WHERE id = ?1", [&id.0], |row| row.get(0))
            .optional()
            .map_err(|e| self.error(&e))?;
        match key {
            Some(key) => {
                let next = i64::try_from(position).unwrap_or(i64::MAX);
                Ok(Events { store: self, key, next_seq: next, page: VecDeque::new(), skipped: 0 })
            }
            None => Err(self.no_run_error(&id.0)?),
        }
    }
}

impl Events<'_> {
    /// Events skipped so far because their kind or form is unknown to this version.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Position to resume from after reading all of them.
    pub fn position(&self) -> u64 {
        u64::try_from(self.next_seq).unwrap_or(0)
    }

    fn load_page(&mut self) -> rusqlite::Result<()> {
        let mut query = self.store.db.prepare_cached(
            "SELECT seq, json FROM event WHERE run = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3",
        )?;
        let mut rows = query.query(params![self.key, self.next_seq, PAGE_SIZE])?;
        while let Some(row) = rows.next()? {
            self.next_seq = row.get::<_, i64>(0)? + 1;
            self.page.push_back(row.get(1)?);
        }
        Ok(())
    }
}

impl Iterator for Events<'_> {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.page.is_empty()
                && let Err(e) = self.load_page()
            {
                return Some(Err(self.store.error(&e)));
            }
            match serde_json::from_str(&self.page.pop_front()?) {
                Ok(event) => return Some(Ok(event)),
                Err(_) => self.skipped += 1,
            }
        }
    }
}
