//! A window's observations: one row per measure of the catalogue.

use super::RowOrigin;
use super::columns::Columns;
use crate::watched::session_words;
use record::catalogue::{Measure, ValueLabels};
use record::watch::{WatchCoverage, Window};
use std::rc::Rc;

pub(super) struct SampleRow {
    at: Rc<(RowOrigin, f64, Option<String>)>,
    subject: Option<String>,
    pid: Option<u32>,
    item: Option<String>,
    state: Option<String>,
    source: &'static str,
    measure: &'static Measure,
    value: f64,
}

pub(super) fn columns() -> Columns<SampleRow> {
    Columns::new()
        .at(|s: &SampleRow| &s.at.0)
        .number("window_seconds", "how long the window is in which it was seen, about a second", |s| {
            Some(s.at.1)
        })
        .text("place", "the machine on which it was seen; nothing: where torment was", |s| s.at.2.clone())
        .text("source", "what it was read from; see the measures below", |s| Some(s.source))
        .text("subject", "name of the process tree, such as `java`", |s| s.subject.clone())
        .whole("pid", "its first process", |s| s.pid.map(u64::from))
        .text("item", "the group of threads, address, disk or series that it is of", |s| s.item.clone())
        .text("state", "what those threads or sessions did", |s| s.state.clone())
        .text("measure", "what was measured", |s| Some(s.measure.name))
        .text(
            "unit",
            "`seconds`, `bytes`, `count`, `processors`, `share`, `bits per second`, or `as given`",
            |s| Some(s.measure.quantity.unit()),
        )
        .number("value", "how much; of a counter, by how much it grew within the window", |s| Some(s.value))
}

/// All rows of a window.
pub(super) fn of(
    at: &RowOrigin,
    place: &str,
    watched: Option<&WatchCoverage>,
    window: &Window,
) -> Vec<SampleRow> {
    let place = (!place.is_empty()).then(|| place.to_owned());
    let at = Rc::new((at.clone(), window.length().as_secs_f64(), place));
    let mut samples = Vec::new();
    window.visit(&mut |of, measure, counted| {
        let subject = of.subject.and_then(|place| watched?.subjects.get(place));
        // The one label other than the state is the item's.
        let item = of.names.first().filter(|(label, _)| *label != "state").map(|(_, name)| name.to_string());
        samples.push(SampleRow {
            at: Rc::clone(&at),
            subject: subject.map(|subject| subject.name.clone()),
            pid: of.pid.or(subject.map(|subject| subject.pid)),
            item,
            state: state(of),
            source: of.source,
            measure,
            value: measure.quantity.of(counted),
        });
    });
    samples
}

fn state(of: &ValueLabels<'_>) -> Option<String> {
    let state = of.name("state")?;
    Some(match (of.name("wait_type"), of.name("wait_event")) {
        (Some(kind), Some(event)) => session_words(state, kind, event),
        _ => state.to_owned(),
    })
}
