//! The load over time: what was asked for and what came back, how long it took, what waited.

use crate::document::{Chart, Form, Phase, Role, Section, Unit};
use crate::page::pages::Pages;
use crate::page::second;
use crate::summary::figures;
use crate::{Kind, RunView, Tone, Words, freezes};
use diagnosis::Freeze;
use record::Outcome;

/// Where there is no limit to be seen, how the load went is the picture.
pub(in crate::page) fn picture(pages: &Pages) -> Vec<Chart> {
    if pages.run.kind() == Kind::Load { course(pages) } else { Vec::new() }
}

/// What was asked for and what came back, how long that took, and what waited.
fn course(pages: &Pages) -> Vec<Chart> {
    let run = &pages.run;
    let arrivals = run.words().arrivals();
    let [of_rate, of_time, of_wait] = said(run.words());
    let rate = Chart::over_time("rate", "rate", Form::Lines, ("a second", Unit::PerSecond))
        .note(of_rate)
        .column("offered", Role::Offered, "offered")
        .column("achieved", Role::Achieved, "achieved")
        .column("goodput", Role::Good, "goodput");
    let strict = run.limits.first().filter(|_| run.kind() == Kind::Search);
    let rate = rate.bound("holds", strict.and_then(|limit| limit.held.or(limit.lower)), Tone::Good).bound(
        "fails",
        strict.and_then(|_| run.fails_at()),
        Tone::Bad,
    );
    let rate = rate.marks(still(run));
    let response =
        Chart::over_time("response-time", "response time", Form::Lines, ("response time", Unit::Seconds))
            .note(of_time)
            .log_y()
            .column("p50", Role::Half, "response_p50")
            .column("p90", Role::Ninety, "response_p90")
            .column("p99", Role::NinetyNine, "response_p99")
            .column("max", Role::Largest, "response_max")
            .column("lateness p99", Role::Waiting, "lateness_p99")
            .column("service p99", Role::Busy, "service_p99")
            .marks(still(run));
    let waiting =
        Chart::over_time("waiting", format!("outstanding {arrivals}"), Form::Lines, (arrivals, Unit::Count))
            .note(of_wait)
            .column("peak", Role::Largest, "outstanding_max")
            .column("mean", Role::Busy, "outstanding_mean")
            .column("not sent", Role::Waiting, "backlog")
            .marks(still(run));
    [rate, response, waiting].into_iter().filter_map(|chart| pages.filled(chart)).collect()
}

/// What the rate, the response time and what waits are.
fn said(words: Words) -> [&'static str; 3] {
    match words {
        Words::Requests | Words::Connections => [
            "offered: requests due; achieved: requests sent; goodput: requests answered as expected, and in time",
            "from when a request was due to the last byte of its answer; lateness: until it was sent, with the wait for a connection; service: from then on",
            "due but not yet answered: peak and mean of each second; not sent: without a connection yet at its end",
        ],
        Words::Processes => [
            "offered: processes due; achieved: processes started; goodput: processes that ended well, and in time",
            "from when a process was due to its end; lateness: until it was started; service: from then on",
            "due but not yet over: peak and mean of each second; not sent: not yet started at its end",
        ],
    }
}

pub(super) fn section(pages: &Pages) -> Section {
    let run = &pages.run;
    let mut outcomes = Chart::over_time(
        "outcomes",
        format!("outcomes of {}", run.words().arrivals()),
        Form::Stack,
        ("a second", Unit::PerSecond),
    );
    for outcome in Outcome::ALL {
        let column = second::outcome(outcome);
        // What never happened needs no place in the legend.
        if outcome == Outcome::Ok || pages.moves(&column) {
            let role = match outcome {
                Outcome::Ok => Role::Good,
                Outcome::Late => Role::Nth(0),
                Outcome::Failed => Role::Bad,
                Outcome::Timeout => Role::Nth(1),
                Outcome::Refused => Role::Nth(2),
                Outcome::Unsent => Role::Nth(3),
                Outcome::Unfinished => Role::Nth(4),
            };
            outcomes = outcomes.column(outcome.name(), role, column);
        }
    }
    let load = run.load().filter(|_| run.kind() == Kind::Load);
    let empty = || Section::named("load", "The load over time");
    let mut section = load.map_or_else(empty, |load| figures(run, &load)).texts(freezes::line(run));
    // Of a single load they are the picture above.
    section.charts = if run.kind() == Kind::Load { Vec::new() } else { course(pages) };
    let section = section.chart(pages, outcomes);
    if !pages.moves("resent") {
        return section;
    }
    let resent = Chart::over_time("resent", "requests resent", Form::Lines, ("a second", Unit::PerSecond))
        .note("the server was just closing their connection")
        .column("resent", Role::Waiting, "resent");
    section.chart(pages, resent)
}

/// Marks at most, the last ones: more could not be told apart.
const MARKS: usize = 1_000;

/// When the target was frozen.
pub(super) fn still(run: &RunView) -> Vec<Phase> {
    let Some(found) = run.freezes() else { return Vec::new() };
    let early = found.each.len().saturating_sub(MARKS);
    let mark = |freeze: &Freeze| {
        let stretch = run.stretches.get(&freeze.trial)?;
        let [from, to] = [freeze.from, freeze.to].map(|at| stretch.after(at));
        Some(Phase { from, to, label: "frozen".to_owned(), tone: Tone::Bad })
    };
    found.each[early..].iter().filter_map(mark).collect()
}
