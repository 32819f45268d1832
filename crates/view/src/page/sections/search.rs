//! The search: every trial, and the converging bounds.

use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, Section, SeriesRole, TextSpan, TextTable};
use crate::page::builder::{GoalBounds, PageBuilder};
use crate::summary::{certainty_lines, curve_table, headline};
use crate::trial_state::why;
use crate::wording::or_dash;
use crate::{ReportKind, RunView, Tone, Trial, TrialState, hiccups};
use record::Purpose;
use units::{Nanos, Share};

/// Maximum trials in the table; the last ones.
const MAX_TRIALS: usize = 400;

pub(super) fn section(page: &PageBuilder) -> Section {
    let (section, run) = (Section::named("search", "The search"), &page.run);
    if run.kind() != ReportKind::Search {
        return section;
    }
    let lines: Vec<_> = headline(run).into_iter().chain(certainty_lines(run)).collect();
    let section = section.texts(lines).texts(hiccups::line(run)).chart(page, chart(page));
    section.table(table(run)).table(curve_table(run))
}

fn chart(page: &PageBuilder) -> Chart {
    let of = |state: TrialState| {
        let trials = page.run.trials.iter().filter(move |trial| trial.state() == state);
        trials.filter_map(move |trial| {
            Some(ChartPoint {
                x: f64::from(trial.number),
                y: trial.rate?.0,
                label: format!("trial {}: {}", trial.number, trial.purpose.name()),
                tone: state.tone(),
                ..ChartPoint::default()
            })
        })
    };
    let bound = |of: fn(&GoalBounds) -> Option<f64>, tone| {
        let points = page.bounds.iter().filter_map(move |bounds| {
            Some(ChartPoint { x: bounds.0 as f64, y: of(bounds)?, tone, ..ChartPoint::default() })
        });
        points.collect::<Vec<_>>()
    };
    let (x, y) = (("trial", AxisUnit::Count), ("offered rate", AxisUnit::PerSecond));
    let note =
        "each trial at its rate, and the bounds after it: the highest rate that holds, the lowest that fails";
    Chart::of("trials", "trials, and the bounds closing in", ChartForm::Points, x, y)
        .note(note)
        .points("lower bound", SeriesRole::Nth(0), bound(|bounds| bounds.1, Tone::Good))
        .points("upper bound", SeriesRole::Nth(1), bound(|bounds| bounds.2, Tone::Bad))
        .points("good", SeriesRole::Good, of(TrialState::Good))
        .points("bad", SeriesRole::Bad, of(TrialState::Bad))
        .points("void", SeriesRole::Waiting, of(TrialState::Void))
        .points("not judged", SeriesRole::Idle, of(TrialState::Unjudged))
}

/// Every trial with its result.
fn table(run: &RunView) -> TextTable {
    let early = run.trials.len().saturating_sub(MAX_TRIALS);
    let title = if early == 0 { "all trials".to_owned() } else { format!("the last {MAX_TRIALS} trials") };
    let head = ["trial", "purpose", "offered", "duration", "result", "lost", "p50", "p99", "max", "reason"];
    let mut table = TextTable { text: vec![1, 4, 9], ..TextTable::new(&head).titled(title) };
    let shown = run.trials[early..].iter().filter(|trial| trial.purpose != Purpose::Load);
    shown.for_each(|trial| table.push_row(row(trial)));
    table
}

fn row(trial: &Trial) -> Vec<TextSpan> {
    let state = trial.state();
    let times = trial.figures.quantiles();
    let loss = or_dash(trial.judgement.as_ref().map(|judgement| Share(judgement.loss)));
    vec![
        TextSpan::new(Tone::Plain, trial.number.to_string()),
        TextSpan::new(Tone::Plain, trial.purpose.name()),
        TextSpan::new(Tone::Plain, or_dash(trial.rate)),
        TextSpan::new(
            Tone::Faint,
            Nanos::from_millis((trial.loaded.as_millis_f64() / 100.0).round() as u64 * 100).to_string(),
        ),
        TextSpan::new(state.tone(), state.name()),
        TextSpan::new(if state == TrialState::Bad { Tone::Bad } else { Tone::Plain }, loss),
        TextSpan::new(Tone::Plain, or_dash(times.map(|q| q.p50))),
        TextSpan::new(Tone::Plain, or_dash(times.map(|q| q.p99))),
        TextSpan::new(Tone::Plain, or_dash(times.map(|q| q.max))),
        TextSpan::new(Tone::Plain, why(trial).unwrap_or_default()),
    ]
}
