//! `show`, `list`, `rm`: runs that were kept.

use crate::args::Common;
use crate::{Failure, result};
use runner::exit;
use store::{Filter, State, Store};
use view::{RunView, list_json, list_lines, run_json, summary};

/// The store named on the command line, or the user's own.
pub fn open(common: &Common) -> Result<Store, store::Error> {
    match &common.store {
        Some(path) => Store::open(path),
        None => Store::open(&store::default_path()?),
    }
}

pub fn show(asked: &str, common: &Common) -> Result<u8, Failure> {
    let store = open(common)?;
    let id = store.find(asked)?;
    let mut events = store.events(&id)?;
    let mut view = RunView::default();
    for event in events.by_ref() {
        view.fold(&event?);
    }
    view.skipped = events.skipped();
    view.running = store.summary(&id)?.state == State::Running;
    result(|| summary(&view), || run_json(&view), common)?;
    Ok(exit::MET)
}

pub fn list(common: &Common) -> Result<u8, Failure> {
    let runs = open(common)?.list(&Filter::default())?;
    result(|| list_lines(&runs), || list_json(&runs), common)?;
    Ok(exit::MET)
}

pub fn remove(asked: &[String], common: &Common) -> Result<u8, Failure> {
    let store = open(common)?;
    // All are found before any is removed: a wrong name must not leave half of the work done.
    let ids = asked.iter().map(|name| store.find(name)).collect::<Result<Vec<_>, _>>()?;
    for id in ids {
        store.remove(&id)?;
        eprintln!("removed {id}");
    }
    Ok(exit::MET)
}
