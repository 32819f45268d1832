//! The search: every trial, and the bounds closing.

use crate::document::{Chart, Form, Piece, Point, Role, Section, Table, Unit};
use crate::page::pages::{Bounds, Pages};
use crate::reason::why;
use crate::summary::{curve_table, headline, told};
use crate::{Kind, RunView, Tone, Trial, TrialState, hiccups};
use record::{Purpose, Verdict};
use units::{Nanos, Rate, Share};

/// Trials in the table, the last ones.
const TRIALS: usize = 400;

pub(super) fn section(pages: &Pages) -> Section {
    let (section, run) = (Section::named("search", "The search"), &pages.run);
    if run.kind() != Kind::Search {
        return section;
    }
    let said: Vec<_> = headline(run).into_iter().chain(told(run)).collect();
    let mut section =
        section.texts(said).texts(hiccups::line(run)).chart(pages, chart(pages)).table(table(run));
    if let Some(Verdict::Limits { curve, .. }) = run.end.as_ref().and_then(|end| end.verdict.as_ref()) {
        section = section.table(curve_table(curve));
    }
    section
}

fn chart(pages: &Pages) -> Chart {
    let chart = Chart::of(
        "trials",
        "trials, and the bounds closing in",
        Form::Points,
        ("trial", Unit::Count),
        ("offered rate", Unit::PerSecond),
    )
    .note(
        "each trial at its rate, and the bounds after it: the highest rate that holds, the lowest that fails",
    );
    let of = |state: TrialState| {
        let trials = pages.run.trials.iter().filter(move |trial| TrialState::of(trial) == state);
        trials.filter_map(move |trial| {
            Some(Point {
                x: f64::from(trial.number),
                y: trial.rate?.0,
                label: format!("trial {}: {}", trial.number, trial.purpose.name()),
                tone: state.tone(),
                ..Point::default()
            })
        })
    };
    let bound = |of: fn(&Bounds) -> Option<f64>, tone| {
        let points = pages.bounds.iter().filter_map(move |bounds| {
            Some(Point { x: bounds.0 as f64, y: of(bounds)?, tone, ..Point::default() })
        });
        points.collect::<Vec<_>>()
    };
    chart
        .points("lower bound", Role::Nth(0), bound(|bounds| bounds.1, Tone::Good))
        .points("upper bound", Role::Nth(1), bound(|bounds| bounds.2, Tone::Bad))
        .points("good", Role::Good, of(TrialState::Good))
        .points("bad", Role::Bad, of(TrialState::Bad))
        .points("void", Role::Waiting, of(TrialState::Void))
        .points("not judged", Role::Idle, of(TrialState::Unjudged))
}

/// Every trial with what it came to.
fn table(run: &RunView) -> Table {
    let early = run.trials.len().saturating_sub(TRIALS);
    let title = if early == 0 { "all trials".to_owned() } else { format!("the last {TRIALS} trials") };
    let head = ["trial", "purpose", "offered", "duration", "result", "lost", "p50", "p99", "max", "reason"];
    let mut table = Table { text: vec![1, 4, 9], ..Table::new(&head).titled(title) };
    let shown = run.trials[early..].iter().filter(|trial| trial.purpose != Purpose::Load);
    shown.for_each(|trial| table.row(row(trial)));
    table
}

fn row(trial: &Trial) -> Vec<Piece> {
    let state = TrialState::of(trial);
    let times = trial.figures.response().map(|times| times.quantiles);
    let dash = || "–".to_owned();
    let loss = trial.judgement.as_ref().map_or_else(dash, |judgement| Share(judgement.loss).to_string());
    let time = |time: Option<Nanos>| time.map_or_else(dash, |time| time.to_string());
    vec![
        Piece::of(Tone::Plain, trial.number.to_string()),
        Piece::of(Tone::Plain, trial.purpose.name()),
        Piece::of(Tone::Plain, trial.rate.map_or_else(dash, |rate: Rate| rate.to_string())),
        Piece::of(
            Tone::Faint,
            Nanos::from_millis((trial.loaded.as_millis_f64() / 100.0).round() as u64 * 100).to_string(),
        ),
        Piece::of(state.tone(), state.name()),
        Piece::of(if state == TrialState::Bad { Tone::Bad } else { Tone::Plain }, loss),
        Piece::of(Tone::Plain, time(times.map(|q| q.p50))),
        Piece::of(Tone::Plain, time(times.map(|q| q.p99))),
        Piece::of(Tone::Plain, time(times.map(|q| q.max))),
        Piece::of(Tone::Plain, why(trial).unwrap_or_default()),
    ]
}
