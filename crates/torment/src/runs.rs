//! `show`, `explain`, `list`, `rm`: runs that were kept.

use crate::args::Common;
use crate::{Failure, result};
use diagnosis::Recording;
use runner::exit;
use store::{Filter, State, Store};
use view::{RunView, changed, list_json, list_lines, run_json, summary};

/// The store named on the command line, or the user's own.
pub fn open(common: &Common) -> Result<Store, store::Error> {
    match &common.store {
        Some(path) => Store::open(path),
        None => Store::open(&store::default_path()?),
    }
}

/// A run from its events, with what its rules need to judge it again.
fn load(asked: &str, common: &Common) -> Result<(RunView, Recording), Failure> {
    let store = open(common)?;
    let id = store.find(asked)?;
    let mut events = store.events(&id)?;
    let (mut view, mut recording) = (RunView::default(), Recording::default());
    for event in events.by_ref() {
        let event = event?;
        view.fold(&event);
        recording.fold(&event);
    }
    view.skipped = events.skipped();
    view.running = store.summary(&id)?.state == State::Running;
    Ok((view, recording))
}

/// What it came to; or the logs of the programs that its plan started.
pub fn show(asked: &str, logs: bool, common: &Common) -> Result<u8, Failure> {
    let (view, _) = load(asked, common)?;
    result(|| if logs { view::logs(&view) } else { summary(&view) }, || run_json(&view), common)?;
    Ok(exit::MET)
}

/// The whole chain of evidence; with `again` by today's rules, without a change to what is stored.
pub fn explain(asked: &str, again: bool, common: &Common) -> Result<u8, Failure> {
    let (mut view, recording) = load(asked, common)?;
    let mut difference = None;
    if again {
        let anew = diagnosis::diagnose(&recording);
        difference = Some(changed(view.diagnosis.as_ref(), &anew));
        view.diagnosis = Some(anew);
    }
    let lines = || {
        let mut lines = view::explain(&view);
        // Under the target's line, before the verdict.
        let place = lines.len().min(1);
        difference.clone().into_iter().for_each(|line| lines.insert(place, line));
        lines
    };
    result(lines, || run_json(&view), common)?;
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
