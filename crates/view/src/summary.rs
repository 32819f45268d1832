//! The product's face: what a run came to, for a tired engineer at a glance. First what holds,
//! then why no more, then the figures, then how sure all that is.

mod experiment;
mod limit;
mod load;
pub(crate) mod making;
mod profile;
mod search;
mod sheet;
mod tasks;
mod working_set;

pub use tasks::limits;

pub(crate) use limit::{between, holds, open, tone};
pub(crate) use load::figures;
pub(crate) use making::full_too;
pub(crate) use search::{above, below, curve_table, ours_way_on, raise, raised_brings, told, why_no_more};
pub(crate) use sheet::{conditions_words, machine_words, uses as sheet_use};
pub(crate) use tasks::{moments, near, rooms};
pub(crate) use working_set::half_as_fast;

use crate::document::indented;
use crate::sheet::tables;
use crate::{Kind, RunView, Text, Tone, Words, caveats};
use stats::upper_bound;
use units::{Share, grouped};

/// Fewer requests than this say nothing of a rate: one in thirty may be lost without being seen.
const LITTLE: u64 = 100;
/// How sure a bound stated beside a count is.
const CONFIDENCE: f64 = 0.95;

/// The summary of a run that ended, goes on, or was cut short.
pub fn summary(view: &RunView) -> Vec<Text> {
    let Some(started) = &view.started else {
        return indented([nothing()]);
    };
    let about = format!(" · {}{}", started.command, goal(&started.goal));
    let head = Text::of(Tone::Strong, &started.target).and(Tone::Faint, about);
    let mut lines = indented([head, Text::empty()]);
    let body = match view.kind() {
        Kind::Experiment => experiment::lines(view),
        Kind::Search => search::lines(view),
        Kind::Load => load::lines(view),
        Kind::Sheet => sheet::lines(view),
        Kind::Profile => profile::lines(view),
        Kind::Tasks => tasks::lines(view),
        Kind::WorkingSet => working_set::lines(view),
    };
    lines.extend(body);
    if matches!(view.kind(), Kind::Search | Kind::Load) && !view.measured.is_empty() {
        lines.extend(tables(&view.measured, &view.notes));
        lines.push(Text::empty());
    }
    // Of a search the verdict has a line of them, and `explain` the rest.
    if view.kind() == Kind::Load {
        lines.extend(view.profiles.iter().flat_map(crate::profile::lines));
    }
    if let Some(error) = view.end.as_ref().and_then(|end| end.error.as_ref()) {
        lines.extend(indented([Text::of(Tone::Bad, "error: ").then(error)]));
    }
    lines.extend(indented(caveats::lines(view)));
    let part =
        started.part_of.as_ref().map(|whole| format!(" · a measurement of {whole}")).unwrap_or_default();
    let label = &started.label;
    let said = [label.name.clone(), label.commit.as_ref().map(|commit| format!("commit {commit}"))];
    let called: String =
        said.into_iter().flatten().chain(label.tags.clone()).map(|word| format!(" · {word}")).collect();
    let which = format!("run {0} · torment show {0}{part}{called}", started.id);
    lines.extend(indented([Text::of(Tone::Faint, which)]));
    lines
}

/// That of events without a first one nothing can be said.
pub(crate) fn nothing() -> Text {
    Text::of(Tone::Bad, "the run's first event is missing: nothing can be said about it")
}

/// What it came to, or how it stands: what holds first, then what else a reader must know at once.
pub(crate) fn headline(view: &RunView) -> Vec<Text> {
    if view.started.is_none() {
        return Vec::new();
    }
    match view.kind() {
        Kind::Experiment => experiment::first(view),
        Kind::Search => search::first(view),
        Kind::Load => load::headline(view, view.load().as_ref()),
        Kind::Sheet => sheet::first(view),
        Kind::Profile => profile::first(view),
        Kind::Tasks => tasks::first(view),
        Kind::WorkingSet => working_set::first(view),
    }
}

/// What asks the machine itself has none.
fn goal(goal: &str) -> String {
    if goal.is_empty() { String::new() } else { format!(" · goal {goal}") }
}

/// The headline of a run without an end, if it has none.
fn unfinished(view: &RunView) -> Option<Text> {
    if view.end.is_some() {
        return None;
    }
    Some(if view.running {
        Text::of(Tone::Strong, "still running").then(": this is what is known so far")
    } else {
        Text::of(Tone::Bad, "cut short")
            .then(": torment itself ended before the run did; what it had measured is kept")
    })
}

/// "How sure" as a statement about n: a share is never zero, only below something.
fn how_sure(words: Words, bad: u64, due: u64) -> String {
    let below = Share(upper_bound(bad, due, CONFIDENCE));
    format!("{} of {} bad: below {} at 95 % confidence", grouped(bad), words.count(due), two_digits(below))
}

/// A share with two significant digits, rounded up: it is a bound.
fn two_digits(share: Share) -> Share {
    if share.0 <= 0.0 {
        return share;
    }
    let scale = 10f64.powi(1 - share.0.log10().floor() as i32);
    Share(((share.0 * scale - 1e-9).ceil() / scale).min(1.0))
}
