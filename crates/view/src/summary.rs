//! A run's result for a tired engineer at a glance: first what holds, then why no more, then the figures, then the certainty.

mod experiment;
pub(crate) mod generator_limit;
mod limit;
mod load;
mod probe;
mod profile;
mod search;
mod tasks;
mod working_set;

pub use tasks::thread_limit_lines;

pub(crate) use generator_limit::target_near_limit;
pub(crate) use limit::{between, holds, open_limit_words, tone};
pub(crate) use load::figures;
pub(crate) use probe::{conditions_words, machine_words, usage_line as sheet_usage_line};
pub(crate) use search::{
    certainty_lines, curve_table, failures_below_line, generator_next_steps, not_recovered_line,
    raise_advice, raise_gain, why_no_more, why_no_more_line,
};
pub(crate) use tasks::{limit_table, near, ramp_table};
pub(crate) use working_set::half_as_fast;

use crate::document::indent_all;
use crate::figure_tables::tables;
use crate::{ArrivalKind, ReportKind, RunView, Text, Tone, caveats};
use stats::binomial_upper_bound;
use units::{Share, grouped};

/// Fewer requests say nothing of a rate: a loss of one in thirty may go unseen.
const FEW_REQUESTS: u64 = 100;
/// Confidence of a bound stated beside a count.
const CONFIDENCE: f64 = 0.95;

/// Summarizes a run that ended, is running, or was cut short.
pub fn summary(view: &RunView) -> Vec<Text> {
    let Some(started) = &view.started else {
        return indent_all([no_events_line()]);
    };
    let about = format!(" · {}{}", started.command, goal(&started.goal));
    let head = Text::new(Tone::Strong, &started.target).with_span(Tone::Faint, about);
    let mut lines = indent_all([head, Text::empty()]);
    let body = match view.kind() {
        ReportKind::Experiment => experiment::lines(view),
        ReportKind::Search => search::lines(view),
        ReportKind::Load => load::lines(view),
        ReportKind::Probe => probe::lines(view),
        ReportKind::Profile => profile::lines(view),
        ReportKind::Tasks => tasks::lines(view),
        ReportKind::WorkingSet => working_set::lines(view),
    };
    lines.extend(body);
    if matches!(view.kind(), ReportKind::Search | ReportKind::Load) && !view.figures.is_empty() {
        lines.extend(tables(&view.figures, &view.notes));
        lines.push(Text::empty());
    }
    // A search's verdict has a line of them, and `explain` the rest.
    if view.kind() == ReportKind::Load {
        lines.extend(view.profiles.iter().flat_map(crate::profile::lines));
    }
    if let Some(error) = view.end.as_ref().and_then(|end| end.error.as_ref()) {
        lines.extend(indent_all([Text::new(Tone::Bad, "error: ").with_plain(error)]));
    }
    lines.extend(indent_all(caveats::lines(view)));
    let part =
        started.part_of.as_ref().map(|whole| format!(" · a measurement of {whole}")).unwrap_or_default();
    let label = &started.label;
    let said = [label.name.clone(), label.commit.as_ref().map(|commit| format!("commit {commit}"))];
    let called: String =
        said.into_iter().flatten().chain(label.tags.clone()).map(|word| format!(" · {word}")).collect();
    let which = format!("run {0} · torment show {0}{part}{called}", started.id);
    lines.extend(indent_all([Text::new(Tone::Faint, which)]));
    lines
}

/// Without a first event nothing can be said.
pub(crate) fn no_events_line() -> Text {
    Text::new(Tone::Bad, "the run's first event is missing: nothing can be said about it")
}

/// The result or the state: first what holds, then what else matters at once.
pub(crate) fn headline(view: &RunView) -> Vec<Text> {
    if view.started.is_none() {
        return Vec::new();
    }
    match view.kind() {
        ReportKind::Experiment => experiment::headline_lines(view),
        ReportKind::Search => search::headline_lines(view),
        ReportKind::Load => load::headline(view, view.load().as_ref()),
        ReportKind::Probe => probe::headline_lines(view),
        ReportKind::Profile => profile::headline_lines(view),
        ReportKind::Tasks => tasks::headline_lines(view),
        ReportKind::WorkingSet => working_set::headline_lines(view),
    }
}

/// Measuring the machine has none.
fn goal(goal: &str) -> String {
    if goal.is_empty() { String::new() } else { format!(" · goal {goal}") }
}

/// A run without an end, if there is no headline.
fn unfinished(view: &RunView) -> Option<Text> {
    if view.end.is_some() {
        return None;
    }
    Some(if view.running {
        Text::new(Tone::Strong, "still running").with_plain(": this is what is known so far")
    } else {
        Text::new(Tone::Bad, "cut short")
            .with_plain(": torment itself ended before the run did; what it had measured is kept")
    })
}

fn no_verdict_line() -> Text {
    Text::new(Tone::Bad, "no verdict")
}

/// Certainty as a statement about n: a share is never zero, only below something.
fn loss_bound_words(arrivals: ArrivalKind, bad: u64, due: u64) -> String {
    let below = Share(binomial_upper_bound(bad, due, CONFIDENCE));
    format!("{} of {} bad: below {} at 95 % confidence", grouped(bad), arrivals.count(due), two_digits(below))
}

/// A share to two significant digits, rounded up as a bound.
fn two_digits(share: Share) -> Share {
    if share.0 <= 0.0 {
        return share;
    }
    let scale = 10f64.powi(1 - share.0.log10().floor() as i32);
    Share(((share.0 * scale - 1e-9).ceil() / scale).min(1.0))
}
