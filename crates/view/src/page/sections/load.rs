//! The load over time: rates, response times, and what waited.

use crate::document::{AxisUnit, Chart, Phase, Section, SeriesRole};
use crate::page::builder::PageBuilder;
use crate::page::load_columns;
use crate::summary::figures;
use crate::{ArrivalKind, ReportKind, RunView, Tone, freezes};
use diagnosis::Freeze;
use record::Outcome;

/// Without a limit to show, the load's course is the picture.
pub(in crate::page) fn picture(page: &PageBuilder) -> Vec<Chart> {
    if page.run.kind() == ReportKind::Load { timeline_charts(page) } else { Vec::new() }
}

/// Offered and answered rates, response times, and what waited.
fn timeline_charts(page: &PageBuilder) -> Vec<Chart> {
    let run = &page.run;
    let arrivals = run.arrival_kind().arrivals();
    let [of_rate, of_time, of_wait] = chart_notes(run.arrival_kind());
    let rate = Chart::lines("rate", "rate", ("a second", AxisUnit::PerSecond))
        .note(of_rate)
        .column("offered", SeriesRole::Offered, "offered")
        .column("achieved", SeriesRole::Achieved, "achieved")
        .column("goodput", SeriesRole::Good, "goodput");
    let of_search = |rate: Option<f64>| rate.filter(|_| run.kind() == ReportKind::Search);
    let rate = rate
        .bound("holds", of_search(run.held()), Tone::Good)
        .bound("fails", of_search(run.fails_at()), Tone::Bad)
        .marks(freeze_phases(run));
    let response = Chart::lines("response-time", "response time", ("response time", AxisUnit::Seconds))
        .note(of_time)
        .log_y()
        .column("p50", SeriesRole::Half, "response_p50")
        .column("p90", SeriesRole::Ninety, "response_p90")
        .column("p99", SeriesRole::NinetyNine, "response_p99")
        .column("max", SeriesRole::Largest, "response_max")
        .column("lateness p99", SeriesRole::Waiting, "lateness_p99")
        .column("service p99", SeriesRole::Busy, "service_p99")
        .marks(freeze_phases(run));
    let waiting = Chart::lines("waiting", format!("outstanding {arrivals}"), (arrivals, AxisUnit::Count))
        .note(of_wait)
        .column("peak", SeriesRole::Largest, "outstanding_max")
        .column("mean", SeriesRole::Busy, "outstanding_mean")
        .column("not sent", SeriesRole::Waiting, "backlog")
        .marks(freeze_phases(run));
    [rate, response, waiting].into_iter().filter_map(|chart| page.without_empty_series(chart)).collect()
}

/// Notes on the rate, the response time and what waits.
fn chart_notes(arrivals: ArrivalKind) -> [&'static str; 3] {
    match arrivals {
        ArrivalKind::Requests | ArrivalKind::Connections => [
            "offered: requests due; achieved: requests sent; goodput: requests answered as expected, and in time",
            "from when a request was due to the last byte of its answer; lateness: until it was sent, with the wait for a connection; service: from then on",
            "due but not yet answered: peak and mean of each second; not sent: without a connection yet at its end",
        ],
        ArrivalKind::Processes => [
            "offered: processes due; achieved: processes started; goodput: processes that ended well, and in time",
            "from when a process was due to its end; lateness: until it was started; service: from then on",
            "due but not yet over: peak and mean of each second; not sent: not yet started at its end",
        ],
    }
}

pub(super) fn section(page: &PageBuilder) -> Section {
    let run = &page.run;
    let title = format!("outcomes of {}", run.arrival_kind().arrivals());
    let mut outcomes = Chart::stack("outcomes", title, ("a second", AxisUnit::PerSecond));
    for outcome in Outcome::ALL {
        let column = load_columns::outcome(outcome);
        // What never happened needs no legend entry.
        if outcome == Outcome::Ok || page.has_nonzero(&column) {
            let role = match outcome {
                Outcome::Ok => SeriesRole::Good,
                Outcome::Late => SeriesRole::Nth(0),
                Outcome::Failed => SeriesRole::Bad,
                Outcome::Timeout => SeriesRole::Nth(1),
                Outcome::Refused => SeriesRole::Nth(2),
                Outcome::Unsent => SeriesRole::Nth(3),
                Outcome::Unfinished => SeriesRole::Nth(4),
            };
            outcomes = outcomes.column(outcome.name(), role, column);
        }
    }
    let load = run.load().filter(|_| run.kind() == ReportKind::Load);
    let empty = || Section::named("load", "The load over time");
    let mut section = load.map_or_else(empty, |load| figures(run, &load)).texts(freezes::line(run));
    // For a single load they are the picture above.
    section.charts = if run.kind() == ReportKind::Load { Vec::new() } else { timeline_charts(page) };
    let section = section.chart(page, outcomes);
    if !page.has_nonzero("resent") {
        return section;
    }
    let resent = Chart::lines("resent", "requests resent", ("a second", AxisUnit::PerSecond))
        .note("the server was just closing their connection")
        .column("resent", SeriesRole::Waiting, "resent");
    section.chart(page, resent)
}

/// Only the last marks: more would be indistinguishable.
const MAX_MARKS: usize = 1_000;

pub(super) fn freeze_phases(run: &RunView) -> Vec<Phase> {
    let Some(found) = run.freezes() else { return Vec::new() };
    let early = found.each.len().saturating_sub(MAX_MARKS);
    let mark = |freeze: &Freeze| {
        let stretch = run.trial_spans.get(&freeze.trial)?;
        let [from, to] = [freeze.from, freeze.to].map(|at| stretch.after(at));
        Some(Phase { from, to, label: "frozen".to_owned(), tone: Tone::Bad })
    };
    found.each[early..].iter().filter_map(mark).collect()
}
