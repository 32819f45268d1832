//! A run's whole chain of evidence: every finding with all its facts, the figures of each step, what was inspected, what was watched, and
//! what could not be seen.

use crate::document::{Section, TextTable, indent_all};
use crate::summary::generator_next_steps;
use crate::verdict::{
    arithmetic, chain, confidence, evidence, expected_gain, sentences, unstated_arithmetic, why_no_cause,
};
use crate::watched::{WindowFigures, amount, average, not_observable, subject_name, window_figures};
use crate::wording::{or_dash, place_suffix};
use crate::{ReportKind, RunView, Text, Tone, Trial, WatchedPlace, freezes, looks, profile};
use record::watch::{AccessLevel, TreeRole, WatchedProcesses};
use record::{Cause, Confidence, Diagnosis, Evidence, Finding, Purpose};
use units::{Share, grouped};

/// Maximum changes shown per place.
const MAX_SHOWN: usize = 8;

/// The output of `torment explain`.
pub fn explain(view: &RunView) -> Vec<Text> {
    let Some(started) = view.started.as_ref().filter(|_| view.kind() != ReportKind::Profile) else {
        return crate::summary(view);
    };
    let about = format!(" · {} · goal {}", started.command, started.goal);
    let head = [Text::new(Tone::Strong, &started.target).with_span(Tone::Faint, about), Text::empty()];
    let verdict = match &view.diagnosis {
        Some(diagnosis) => verdict(view, diagnosis),
        None => vec![Text::new(Tone::Warn, why_no_verdict(view))],
    };
    let which = Text::new(Tone::Faint, format!("run {0} · torment show {0}", started.id));
    let mut lines = indent_all(head.into_iter().chain(verdict));
    lines.extend(supporting_sections(view).iter().flat_map(Section::lines));
    lines.extend(profile::explained(view));
    lines.extend(indent_all([Text::empty(), which]));
    lines
}

/// What supports a verdict beside its findings: each step's figures, inspections, what was watched, what was not.
pub(crate) fn supporting_sections(view: &RunView) -> Vec<Section> {
    let unless = view.diagnosis.iter().flat_map(|diagnosis| &diagnosis.unless);
    let named = |id: &str, title: &str, place: &WatchedPlace| {
        Section::named(
            id,
            &if place.name.is_empty() { title.to_owned() } else { format!("{title}, on {}", place.name) },
        )
    };
    let of_place = |place: &WatchedPlace| {
        [
            named("steps", "step by step", place).table(steps(view, place)),
            named("looks", "snapshots", place).texts(place.closer_looks.iter().flat_map(looks::look_lines)),
            named("watched", "watched", place).texts(who(place)),
        ]
    };
    let places = view.places.iter().flat_map(of_place);
    let sections = [
        Section::named("unseen", "not observable, so not ruled out").texts(unseen(view)),
        Section::named("unless", "what would change this verdict")
            .texts(unless.map(|text| Text::empty_at_depth(1).with_plain(text))),
    ];
    places.chain(sections).filter_map(Section::non_empty).collect()
}

/// How a new verdict differs from the stored one, in one line.
pub fn verdict_change(stored: Option<&Diagnosis>, anew: &Diagnosis) -> Text {
    let named = |diagnosis: &Diagnosis| diagnosis.cause().map_or("no cause", Cause::words);
    let word = |diagnosis: &Diagnosis| diagnosis.findings.first().map_or("", |f| f.confidence.word());
    let line = Text::plain("  ").with_span(Tone::Faint, "judged again: ");
    match stored {
        None => line.with_plain("the run had no verdict stored"),
        Some(stored) if stored == anew => line.with_plain("the same as stored"),
        Some(stored)
            if (stored.cause(), stored.none) == (anew.cause(), anew.none) && word(stored) == word(anew) =>
        {
            line.with_plain("the same cause as stored; its evidence or its words differ")
        }
        Some(stored) if stored.cause() == anew.cause() && stored.cause().is_some() => line.with_span(
            Tone::Warn,
            format!("the same cause, {} confidence; it was {}", word(anew), word(stored)),
        ),
        Some(stored) => {
            line.with_span(Tone::Warn, format!("now {}; stored was {}", named(anew), named(stored)))
        }
    }
}

pub(crate) fn why_no_verdict(view: &RunView) -> &'static str {
    match (view.places.is_empty(), view.running) {
        (_, true) => "no verdict yet: the run is still going",
        (true, _) => "nothing was watched in this run, so what gave first is unknown",
        (false, _) => "the run ended before it was judged: try --again",
    }
}

fn verdict(view: &RunView, diagnosis: &Diagnosis) -> Vec<Text> {
    let mut lines = conclusion(view, diagnosis);
    for (index, finding) in diagnosis.findings.iter().enumerate() {
        lines.push(Text::empty());
        lines.extend(one(index, finding, diagnosis));
    }
    lines
}

/// The result and the advice, without the findings behind them.
pub(crate) fn conclusion(view: &RunView, diagnosis: &Diagnosis) -> Vec<Text> {
    let mut lines: Vec<Text> = Vec::new();
    if diagnosis.findings.is_empty() {
        lines.extend(why_no_cause(diagnosis));
        lines.extend(freezes::unknown_cause_line(view));
        lines.extend(recommendations(diagnosis));
        lines.extend(freezes::next_steps(view));
        return lines;
    }
    let beside = freezes::unknown_cause_line(view);
    // What did not set the limit is not on its path.
    let is_way = beside.is_none() && diagnosis.chain.len() > 1;
    lines.extend(beside);
    lines.extend(sentences(diagnosis));
    if is_way {
        lines.push(chain(diagnosis));
    }
    lines.extend(unstated_arithmetic(diagnosis).map(|found| arithmetic(view, found)));
    lines.push(confidence(diagnosis));
    lines.extend(next_steps(view, diagnosis));
    let rates: Vec<String> = [("degraded at", diagnosis.degraded_at), ("well at", diagnosis.well_at)]
        .into_iter()
        .filter_map(|(words, rate)| Some(format!("{words} {}", rate?)))
        .collect();
    if !rates.is_empty() {
        lines.push(Text::new(Tone::Faint, "rates: ").with_plain(format!("{}, on average", rates.join(", "))));
    }
    lines
}

/// What to do, and the expected gain; if torment was the limit, about that.
fn next_steps(view: &RunView, diagnosis: &Diagnosis) -> Vec<Text> {
    if view.is_generator_limited() {
        return generator_next_steps(view);
    }
    let gain = freezes::next_steps(view).pop().unwrap_or_else(|| expected_gain(view, diagnosis));
    recommendations(diagnosis).chain([gain]).collect()
}

/// Recommendations, most important first.
pub(crate) fn recommendations(diagnosis: &Diagnosis) -> impl Iterator<Item = Text> {
    diagnosis.next.iter().enumerate().map(|(index, next)| {
        let label = if index == 0 { "next: " } else { "      " };
        Text::new(Tone::Faint, label).with_plain(next)
    })
}

/// A finding's cause, confidence and onset.
pub(crate) fn finding_head(index: usize, finding: &Finding, diagnosis: &Diagnosis) -> Text {
    let rank = match index {
        0 => "the verdict: ".to_owned(),
        1 if diagnosis.tie => "as likely: ".to_owned(),
        _ => "also: ".to_owned(),
    };
    let on = place_suffix(&finding.place);
    let mut about = format!("{on} · {} confidence", finding.confidence.word());
    if !finding.also_at.is_empty() {
        about += &format!(" · also on {}", finding.also_at.join(", "));
    }
    if let Some(cause) = finding.follows_from {
        about += &format!(" · follows from {}", cause.words());
    }
    if let Some(trial) = finding.since_trial {
        about += &format!(" · since trial {trial}");
    }
    Text::new(Tone::Faint, rank).with_span(Tone::Strong, finding.cause.words()).with_span(Tone::Faint, about)
}

fn one(index: usize, finding: &Finding, diagnosis: &Diagnosis) -> Vec<Text> {
    let mut lines = vec![finding_head(index, finding, diagnosis)];
    if !diagnosis.sentences.contains(&finding.sentence) {
        lines.push(Text::empty_at_depth(1).with_plain(&finding.sentence));
    }
    for fact in &finding.evidence {
        lines.push(evidence(fact, diagnosis));
        let windows = match fact.windows {
            0 => String::new(),
            1 => ", in 1 second".to_owned(),
            n => format!(", in {} seconds", grouped(n.into())),
        };
        let threshold = threshold(fact).map_or_else(String::new, |least| format!(", threshold {least}"));
        let seen = amount(fact.value, &fact.unit);
        let text = format!("seen {seen}{threshold}{windows} · {}", fact.source);
        lines.push(Text::empty_at_depth(2).with_span(Tone::Faint, text));
    }
    lines.push(Text::empty_at_depth(1).with_span(Tone::Faint, how_confident(finding.confidence)));
    lines
}

/// What a fact has to exceed; none for those that only describe.
pub(crate) fn threshold(fact: &Evidence) -> Option<String> {
    (fact.threshold != 0.0).then(|| amount(fact.threshold, &fact.unit))
}

pub(crate) fn how_confident(confidence: Confidence) -> String {
    let Confidence { margin, persistence, independence, coverage } = confidence;
    let percent = |share: f64| Share(share).rounded(2);
    format!(
        "confidence {}: margin over the threshold {} × duration {} × independent sources {} × coverage {}",
        percent(confidence.value()),
        percent(margin),
        percent(persistence),
        percent(independence),
        percent(coverage)
    )
}

/// One row per watched trial.
fn steps(view: &RunView, place: &WatchedPlace) -> TextTable {
    let mut table =
        TextTable::with_text_last(&["trial", "offered", "p99", "in flight", "CPU", "ready", "top waits"]);
    let loads = view.trials.iter().filter(|trial| trial.purpose != Purpose::Recovery);
    let last_load = loads.map(|trial| trial.number).max().unwrap_or(0);
    for (number, window) in &place.trials {
        let trial = view.trials.iter().find(|trial| trial.number == *number);
        // Of a target that recovered, these only fill the table.
        if trial.is_some_and(|trial| trial.purpose == Purpose::Recovery && trial.number < last_load) {
            continue;
        }
        let Some(figure) = window_figures(window, &place.coverage) else { continue };
        let p99 = or_dash(trial.and_then(|trial| Some(trial.figures.quantiles()?.p99)));
        let flight = or_dash(trial.and_then(|trial| Some(average(trial.figures.outstanding?.mean))));
        let rate = or_dash(trial.and_then(|trial| trial.rate));
        let name = if *number == 0 { "no load".to_owned() } else { format!("{number} {}", purpose(trial)) };
        let ready = or_dash(figure.ready.map(|ready| format!("{ready:.2}")));
        let cells = [name, rate, p99, flight, cpu_words(&figure), ready, waits(&figure)];
        table.push_row(cells.map(|text| (text, Tone::Plain)));
    }
    table
}

fn purpose(trial: Option<&Trial>) -> &'static str {
    trial.map_or("", |trial| trial.purpose.name())
}

fn cpu_words(figure: &WindowFigures) -> String {
    match figure.allowed {
        0.0 => format!("{:.2}", figure.cpus),
        allowed => format!("{:.2} of {}", figure.cpus, average(allowed).trim_end_matches(".0")),
    }
}

/// The two largest waits, and the activity of the database's sessions.
fn waits(figure: &WindowFigures) -> String {
    let named = |(what, count): &(String, f64)| format!("{what}: {}", average(*count));
    let mut parts: Vec<String> = figure.waits.iter().take(2).map(named).collect();
    parts.extend(figure.sessions.first().map(|session| format!("PostgreSQL {}", named(session))));
    parts.join(" · ")
}

/// Who is watched there, and how.
fn who(place: &WatchedPlace) -> Vec<Text> {
    let watched = &place.coverage;
    let mut lines: Vec<Text> =
        watched.subjects.iter().filter(|subject| subject.pid > 0).map(subject).collect();
    if let Some(postgres) = &watched.postgres {
        let settings: Vec<String> =
            postgres.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        lines.push(Text::empty_at_depth(1).with_plain(format!("PostgreSQL at {}", postgres.address)));
        if !settings.is_empty() {
            lines.push(Text::empty_at_depth(2).with_span(Tone::Faint, settings.join(" · ")));
        }
    }
    lines.extend(
        watched.metrics.as_ref().map(|url| Text::empty_at_depth(1).with_plain(format!("metrics at {url}"))),
    );
    if watched.sweeps_per_second > 0.0 && watched.has_processes() {
        let late =
            if watched.real_time { "" } else { ", late when the machine is busy (no real-time priority)" };
        let text = format!("threads sampled {} times a second{late}", average(watched.sweeps_per_second));
        lines.push(Text::empty_at_depth(1).with_span(Tone::Faint, text));
    }
    let changes = place.trials.iter().flat_map(|(trial, window)| {
        let text = move |change: &String| format!("in trial {trial}: {change}");
        window.changes.iter().map(text)
    });
    lines.extend(changes.take(MAX_SHOWN).map(|text| Text::empty_at_depth(1).with_span(Tone::Warn, text)));
    lines
}

fn subject(subject: &WatchedProcesses) -> Text {
    let mut parts = vec![match subject.role {
        TreeRole::Service => "the service".to_owned(),
        TreeRole::Downstream => "downstream of the service".to_owned(),
    }];
    parts.extend((!subject.listens.is_empty()).then(|| format!("listens at {}", subject.listens.join(", "))));
    parts.extend(subject.java.as_ref().map(|version| format!("Java {version}")));
    parts.extend((!subject.command.is_empty()).then(|| subject.command.clone()));
    Text::empty_at_depth(1)
        .with_plain(subject_name(subject))
        .with_span(Tone::Faint, format!(" · {}", parts.join(" · ")))
}

fn unseen(view: &RunView) -> Vec<Text> {
    let mut lines = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for place in &view.places {
        let (watched, on) = (
            &place.coverage,
            if place.name.is_empty() { String::new() } else { format!("on {}, ", place.name) },
        );
        let told =
            watched.missing.iter().map(|missing| (format!("{on}{}", missing.what), missing.why.clone()));
        let lost = watched.lost.iter().map(|lost| (lost_words(place), lost.to_string()));
        let before = lines.len();
        for (what, why) in told.chain(lost) {
            lines.push(Text::empty_at_depth(1).with_plain(format!("{what}: ")).with_span(Tone::Faint, why));
            reasons.push(what);
        }
        if watched.level == AccessLevel::Outside
            && lines.len() == before
            && view.is_only_place(place)
            && !watched.has_processes()
        {
            lines.extend(not_observable(watched));
        }
    }
    for unseen in view.diagnosis.iter().flat_map(|diagnosis| &diagnosis.unseen) {
        if !reasons.iter().any(|what| unseen.starts_with(what.as_str())) {
            lines.push(Text::empty_at_depth(1).with_plain(unseen));
        }
    }
    lines
}

/// Begins as the diagnosis words it.
fn lost_words(place: &WatchedPlace) -> String {
    format!("What happened on {}", place.name)
}
