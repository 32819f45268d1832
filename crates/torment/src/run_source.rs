//! Stored runs: in a store, or in a file.

use crate::args::CommonArgs;
use crate::{CommandError, usage_error};
use anyhow::{Context, anyhow};
use record::{Event, RunId};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use store::{RunState, Store};
use view::RunView;

/// The store named on the command line, or the user's own.
pub fn open(common: &CommonArgs) -> Result<Store, store::Error> {
    match &common.store {
        Some(path) => Store::open(path),
        None => Store::open(&store::default_path()?),
    }
}

/// The same, read-only: a named file that does not exist is not created.
pub fn existing(common: &CommonArgs) -> Result<Store, store::Error> {
    missing(common).map_or_else(|| open(common), Store::empty)
}

/// The named file, if it does not exist.
pub fn missing(common: &CommonArgs) -> Option<&Path> {
    common.store.as_deref().filter(|path| matches!(path.try_exists(), Ok(false)))
}

/// Whether this means a file rather than a run of a store.
pub fn is_file(name: &str) -> bool {
    Path::new(name).is_file()
}

/// Whether it looks like one: in a folder, or with an extension of letters.
fn is_path(name: &str) -> bool {
    let path = Path::new(name);
    let ending = path.extension().map(|ending| ending.as_encoded_bytes());
    path.components().count() > 1 || ending.is_some_and(|ending| ending.iter().all(u8::is_ascii_alphabetic))
}

/// Source of a run's events.
pub enum RunSource<'a> {
    /// A file of `torment probe --save`.
    File(&'a str),
    Stored(&'a Store, RunId),
}

impl<'a> RunSource<'a> {
    /// The file of this name, if there is one; otherwise the run of that name.
    ///
    /// # Errors
    /// If there is no such run.
    pub fn find(name: &'a str, store: Option<&'a Store>) -> Result<Self, CommandError> {
        match store {
            Some(store) if !is_file(name) => match store.find(name) {
                Err(store::Error::NoRun { .. }) if is_path(name) => Err(anyhow!(
                    "no file '{name}', and no run of that name; expected a file of `torment probe --save`, or a run: torment list shows them"
                )
                .into()),
                found => Ok(Self::Stored(store, found?)),
            },
            _ => Ok(Self::File(name)),
        }
    }

    /// Passes on every event; returns how many were unreadable.
    pub fn for_each_event(&self, on_event: &mut dyn FnMut(&Event)) -> Result<u64, CommandError> {
        match self {
            Self::File(path) => read_saved(path, on_event),
            Self::Stored(store, id) => {
                let mut events = store.events(id)?;
                for event in events.by_ref() {
                    on_event(&event?);
                }
                Ok(events.skipped())
            }
        }
    }

    pub fn view(&self) -> Result<RunView, CommandError> {
        let mut view = RunView::default();
        view.skipped = self.for_each_event(&mut |event| view.fold(event))?;
        if let Self::Stored(store, id) = self {
            view.running = store.summary(id)?.state == RunState::Running;
        }
        Ok(view)
    }
}

/// The events of a saved run, one per line.
fn read_saved(path: &str, on_event: &mut dyn FnMut(&Event)) -> Result<u64, CommandError> {
    let file = File::open(path).with_context(|| format!("'{path}' cannot be read"))?;
    let (mut begun, mut skipped) = (false, 0);
    for line in BufReader::new(file).lines() {
        let line = line.with_context(|| format!("'{path}' cannot be read"))?;
        match serde_json::from_str::<Event>(&line) {
            Ok(event) => {
                begun |= matches!(event, Event::RunStarted { .. });
                on_event(&event);
            }
            Err(_) if begun => skipped += 1,
            Err(why) => {
                return Err(usage_error(anyhow!(
                    "'{path}' is not a run saved by `torment probe --save`: {why}"
                )));
            }
        }
    }
    Ok(skipped)
}
