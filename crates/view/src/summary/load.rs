use super::{FEW_REQUESTS, loss_bound_words, no_verdict_line, unfinished};
use crate::document::{Section, TextTable, indent_all};
use crate::trial::Outstanding;
use crate::trial_state::{outcome_tone, why_bad_without_rate};
use crate::wording::{format_rate, or_dash};
use crate::{ArrivalKind, LoadFigures, RunView, Text, TimeSummary, Tone, Trial, fleet, freezes, verdict};
use record::{Failure, Outcome, Verdict};
use stats::Quantiles;
use units::{Bytes, Nanos, Rate, Share, grouped};

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let load = view.load();
    let mut texts = headline(view, load.as_ref());
    let Some(load) = load else { return indent_all(texts) };
    texts.push(Text::empty());
    texts.extend(verdict::lines(view));
    let figures = figures(view, &load);
    let mut lines = indent_all(texts.into_iter().chain(figures.texts));
    for table in &figures.tables {
        lines.push(Text::empty());
        lines.extend(table.lines());
    }
    lines.push(Text::empty());
    let (bad, due) = (load.figures.outcomes.bad(), load.figures.due);
    if due > 0 && bad < due && !load.is_void() {
        let sure = format!("{}.", loss_bound_words(view.arrival_kind(), bad, due));
        lines.extend(indent_all([Text::labelled("how sure", sure)]));
    }
    lines
}

pub(crate) fn figures(view: &RunView, load: &Trial) -> Section {
    let texts =
        counts(view.arrival_kind(), &load.figures).into_iter().chain([rates(load)]).chain(outstanding(load));
    let texts = texts.chain(fleet::lines(view, "fleet      "));
    let times = times(&load.figures);
    let parts = parts(view, load).titled("each step");
    Section::named("load", "The load over time").texts(texts).table(times).table(parts)
}

/// Whether the goal is met, and what was lost.
pub(super) fn headline(view: &RunView, load: Option<&Trial>) -> Vec<Text> {
    let Some(end) = &view.end else {
        return unfinished(view).into_iter().chain(freezes::line(view)).collect();
    };
    let Some(Verdict::Goal { met, goal, outcomes, loss }) = &end.verdict else {
        return vec![no_verdict_line()];
    };
    let mut line = match met {
        Some(true) => match freezes::headline_suffix(view) {
            Some(but) => {
                Text::new(Tone::Warn, "goal met").with_plain(format!(": {goal}")).with_span(Tone::Warn, but)
            }
            None => Text::new(Tone::Good, "goal met").with_plain(format!(": {goal}")).with_span(
                Tone::Warn,
                load.and_then(|load| queue_suffix(load.figures.outstanding?, load.rate?)).unwrap_or_default(),
            ),
        },
        Some(false) => Text::new(Tone::Bad, "goal not met").with_plain(format!(": {goal}")),
        None => Text::new(Tone::Warn, "not trustworthy")
            .with_plain(format!(": it is unknown whether {goal} is met")),
    };
    if let Some(load) = load {
        let at = load.rate.map(|rate| format!("{rate} for ")).unwrap_or_default();
        line = line.with_span(Tone::Faint, format!("   ({at}{}{})", whole(load.loaded), shortened(load)));
    }
    let due = outcomes.total();
    if due < FEW_REQUESTS && *met == Some(true) {
        line = line.with_span(
            Tone::Warn,
            format!("; only {}: too little to rely on", view.arrival_kind().count(due)),
        );
    }
    let mut lines = vec![line];
    if *loss > 0.0 || outcomes.bad() > 0 {
        let why = load.and_then(why_bad_without_rate);
        let (bad, all) = (outcomes.bad(), view.arrival_kind().count(due));
        let counted = match why {
            // The loss is that implied by a growing queue.
            Some(why) if bad == 0 => {
                format!("{why}, so that share would be lost in the long run; none of {all} has been yet")
            }
            Some(why) => format!("{} of {all} bad; {why}", grouped(bad)),
            None => format!("{} of {all} bad", grouped(bad)),
        };
        lines.push(
            Text::new(Tone::Strong, format!("lost {}", Share(*loss))).with_plain(format!(": {counted}")),
        );
    }
    lines.extend(freezes::line(view));
    lines
}

/// That a load met its goal with a queue at its end, as long as if it had grown: longer than this many times its mean, and than the target
/// answers in this time, in seconds.
fn queue_suffix(queue: Outstanding, rate: Rate) -> Option<String> {
    const MIN_RISE: f64 = 1.5;
    const MIN_BACKLOG: f64 = 0.25;
    let grew = queue.last >= MIN_RISE * queue.mean && queue.last >= MIN_BACKLOG * rate.0;
    grew.then(|| {
        format!(
            "; {} waited at its end: does the queue grow? A longer load (-d) tells",
            format_rate(queue.last)
        )
    })
}

/// Why a load was shorter than planned, if so.
fn shortened(load: &Trial) -> String {
    match load.planned {
        Some(planned) if load.hopeless => {
            format!(" of {planned}; stopped early, because the goal could no longer be met")
        }
        Some(planned) if load.loaded.0 + 500_000_000 < planned.0 => format!(" of {planned}; interrupted"),
        _ => String::new(),
    }
}

fn whole(time: Nanos) -> Nanos {
    if time.0 < 10_000_000_000 { time } else { Nanos::from_secs(time.as_secs_f64().round() as u64) }
}

/// The arrivals: every outcome that happened, the failures by reason, and how many were resent.
fn counts(arrivals: ArrivalKind, figures: &LoadFigures) -> Vec<Text> {
    let mut line = Text::new(Tone::Faint, format!("{:<9}  ", arrivals.arrivals()))
        .with_plain(format!("{} due", grouped(figures.due)));
    let mut ended = 0;
    for outcome in Outcome::ALL {
        let count = figures.outcomes.get(outcome);
        ended += count;
        if count > 0 {
            let text = format!("{} {}", grouped(count), outcome.name());
            line = line.with_plain(" · ").with_span(outcome_tone(outcome), text);
        }
    }
    let open = figures.due.saturating_sub(ended);
    if open > 0 {
        line = line.with_plain(format!(" · {} still open", grouped(open)));
    }
    let mut failures: Vec<(&Failure, &u64)> = figures.failures.iter().collect();
    failures.sort_by(|a, b| b.1.cmp(a.1));
    let mut lines = vec![line];
    /// The JSON has more.
    const MAX_SHOWN: usize = 5;
    for (failure, count) in failures.iter().take(MAX_SHOWN) {
        lines.push(Text::plain(format!("{:11}{} × {failure}", "", grouped(**count))));
    }
    if failures.len() > MAX_SHOWN {
        lines.push(Text::plain(format!("{:11}and {} other reasons", "", failures.len() - MAX_SHOWN)));
    }
    if figures.resent > 0 {
        let text =
            format!("{:11}{} resent: the server was closing their connection", "", grouped(figures.resent));
        lines.push(Text::plain(text));
    }
    lines
}

fn rates(load: &Trial) -> Text {
    let figures = &load.figures;
    let per_second = |count| Rate::of(count, load.loaded);
    let received = Bytes(Rate::of(figures.received_bytes, load.loaded).0 as u64);
    Text::new(Tone::Faint, "rate       ").with_plain(format!(
        "offered {} · achieved {} · answered {} · {received}/s received",
        per_second(figures.due),
        per_second(figures.sent),
        per_second(figures.outcomes.answered()),
    ))
}

fn outstanding(load: &Trial) -> Option<Text> {
    let o = load.figures.outstanding?;
    let line = Text::new(Tone::Faint, "waiting    ").with_plain(format!(
        "{} on average, {} at most · {} at the start, {} at the end",
        format_rate(o.mean),
        format_rate(o.max),
        format_rate(o.first),
        format_rate(o.last)
    ));
    Some(match load.judgement.as_ref().and_then(|j| j.growth_per_second) {
        Some(growth) => {
            line.with_plain(" · ").with_span(Tone::Bad, format!("grows by {} a second", format_rate(growth)))
        }
        None => line,
    })
}

fn times(figures: &LoadFigures) -> TextTable {
    let mut table = TextTable::new(&["", "p50", "p90", "p95", "p99", "p99.9", "max", "mean"]);
    let mut row = |name: &str, times: Option<TimeSummary>| {
        // Nothing is late in a closed loop.
        let Some(TimeSummary { quantiles: q, mean, .. }) = times.filter(|t| t.quantiles.max > Nanos(1))
        else {
            return;
        };
        let tone = if name == "response time" { Tone::Plain } else { Tone::Faint };
        let cells = [q.p50, q.p90, q.p95, q.p99, q.p99_9, q.max, mean].map(|time| (time.to_string(), tone));
        table.push_row(std::iter::once((name.to_owned(), tone)).chain(cells));
    };
    let names = ["response time", "service time", "lateness", "torment's own"];
    names.into_iter().zip(figures.times()).for_each(|(name, times)| row(name, times));
    table
}

/// One row per step, if several.
fn parts(view: &RunView, load: &Trial) -> TextTable {
    let mut table = TextTable::new(&["", "sent", "ok", "bad", "p50", "p95", "p99", "max"]);
    for (name, part) in view.steps(load) {
        let bad = if part.bad > 0 { Tone::Bad } else { Tone::Faint };
        let counts = [(part.sent, Tone::Plain), (part.ok, Tone::Plain), (part.bad, bad)];
        let times = part.response.map(|times| times.quantiles);
        let time = |of: fn(&Quantiles) -> Nanos| (or_dash(times.as_ref().map(of)), Tone::Plain);
        let times = [time(|q| q.p50), time(|q| q.p95), time(|q| q.p99), time(|q| q.max)];
        let counts = counts.map(|(count, tone)| (grouped(count), tone));
        table.push_row([(name.to_owned(), Tone::Plain)].into_iter().chain(counts).chain(times));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jupyter: "goal met" at 1,850/s, while 942 waited.
    #[test]
    fn a_queue_at_the_end_of_a_load_that_met_its_goal_is_told() {
        let said = |mean, last| queue_suffix(Outstanding { mean, max: last, first: 0.0, last }, Rate(1850.0));
        assert!(said(400.0, 942.0).is_some_and(|said| said.starts_with("; 942 waited at its end")));
        assert_eq!(said(900.0, 942.0), None, "a target that takes half a second");
        assert_eq!(said(40.0, 94.0), None, "a short one");
    }
}
