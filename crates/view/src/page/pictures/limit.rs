//! Where a service breaks, and how sure that is.

use super::asked;
use crate::document::{Chart, Form, Point, Role, Unit};
use crate::words::number;
use crate::{RunView, Times, Tone, Trial, TrialState, Words};
use plan::Objective;
use record::{CurvePoint, Purpose, Verdict};
use stats::upper_bound;
use units::Nanos;

/// The knee is where the 99th percentile is so many times what it is at the lowest rate.
const KNEE: f64 = 2.0;
/// Rates are the same to a reader if they differ by less than this share.
const ALIKE: f64 = 0.005;
/// What lies beyond a rate that held, if none failed.
const UNKNOWN: &str = "not known";
/// How sure the ends of a share are: each of the two sides.
const SIDE: f64 = 0.975;

/// Nothing before a trial tells anything.
pub(super) fn of(view: &RunView) -> Vec<Chart> {
    if judged(view).next().is_none() {
        return Vec::new();
    }
    [limit(view), good(view)].into_iter().filter(|chart| !chart.series.is_empty()).collect()
}

/// Every trial that tells something of the limit, with where it stands on the axis: at its rate, or, of a search whose trials all
/// have one rate, at how many connections were open.
fn judged(view: &RunView) -> impl Iterator<Item = (f64, &Trial)> {
    let at = |trial: &Trial| match trial.words {
        Words::Connections => Some(trial.figures.connections as f64),
        Words::Requests | Words::Processes => trial.rate.map(|rate| rate.0),
    };
    view.trials
        .iter()
        .filter(|trial| !matches!(trial.purpose, Purpose::WarmUp | Purpose::Recovery))
        .filter_map(move |trial| Some((at(trial)?, trial)))
}

/// What is raised from trial to trial.
fn raised(view: &RunView) -> (&'static str, Unit) {
    match view.words() {
        Words::Connections => ("connections", Unit::Count),
        words => (words.raised(), Unit::PerSecond),
    }
}

/// From when on an answer is late, if the goal says so; that of a search for connections also says how they are held.
fn deadline(view: &RunView) -> Option<f64> {
    let goal = view.started.as_ref()?.goal.split(", ").next()?;
    Some(goal.parse::<Objective>().ok()?.deadline?.as_secs_f64())
}

/// Response time against rate, every trial a mark; the limit as wide as its doubt, and what lies beyond.
fn limit(view: &RunView) -> Chart {
    let of = |quantile: fn(&Times) -> Nanos| {
        let point = |(x, trial): (f64, &Trial)| {
            let state = TrialState::of(trial);
            Some(Point {
                x,
                y: quantile(&trial.figures.response()?).as_secs_f64(),
                label: format!("trial {}: {}", trial.number, state.name()),
                tone: state.tone(),
                ..Point::default()
            })
        };
        let mut points: Vec<Point> = judged(view).filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    };
    let knee = knee(curve(view));
    let unit = view.words().unit();
    let (holds, title) = match view.fails_at() {
        Some(_) => ("holds", "where it breaks"),
        None => ("holds at least", "what it holds"),
    };
    let shades = if view.fails_at().is_some() { "; amber: where the limit lies, red: beyond it" } else { "" };
    let mut note = format!("each mark is a quantile of one trial{shades}");
    if let Some(rate) = knee {
        let rate = number(rate);
        note += &format!(
            "; the knee at {rate} {unit} is where p99 exceeds {KNEE} times what it is at the lowest rate"
        );
    }
    if let Some(asked) = asked::now(view) {
        note = format!("{asked}; {note}");
    }
    let y = ("response time", Unit::Seconds);
    let chart = Chart::of("limit", title, Form::Points, raised(view), y)
        .log_y()
        .note(note)
        .points("p50", Role::Half, of(|times| times.quantiles.p50))
        .points("p99", Role::NinetyNine, of(|times| times.quantiles.p99))
        .points("p99.9", Role::Largest, of(|times| times.quantiles.p99_9))
        .bound("goal", deadline(view), Tone::Bad);
    let held = view.limits.first().and_then(|limit| limit.held.or(limit.lower));
    shaded(view, chart, "overload").upright(holds, held, Tone::Good).upright("knee", knee, Tone::Warn)
}

/// Of the trials at each rate, how many were good.
fn good(view: &RunView) -> Chart {
    let mut rates: Vec<(f64, u64, u64)> = Vec::new();
    let mut trials: Vec<(f64, &Trial)> = judged(view).collect();
    trials.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (rate, trial) in trials {
        let good = match TrialState::of(trial) {
            TrialState::Good => 1,
            TrialState::Bad => 0,
            TrialState::Void | TrialState::Unjudged => continue,
        };
        match rates.last_mut() {
            Some((known, all, well)) if rate <= *known * (1.0 + ALIKE) => {
                *all += 1;
                *well += good;
            }
            _ => rates.push((rate, 1, good)),
        }
    }
    // A single trial leaves nearly everything open, which is no news.
    let several = |all: u64, end: f64| (all > 1).then_some(end);
    let point = |(rate, all, good): (f64, u64, u64)| Point {
        x: rate,
        y: good as f64 / all as f64,
        low: several(all, 1.0 - upper_bound(all - good, all, SIDE)),
        high: several(all, upper_bound(good, all, SIDE)),
        label: format!("{good} of {all} good"),
        tone: match good {
            0 => Tone::Bad,
            good if good == all => Tone::Good,
            _ => Tone::Warn,
        },
    };
    let y = ("share of good trials", Unit::Share);
    let chart = Chart::of("good-trials", "how many trials were good", Form::Points, raised(view), y)
        .note("at each rate; a bar is the 95 % interval of several trials")
        .points("good trials", Role::Good, rates.into_iter().map(point));
    shaded(view, chart, "")
}

/// The limit, as wide as its doubt, and what lies beyond it; where no load failed, that is not known.
fn shaded(view: &RunView, chart: Chart, beyond: &str) -> Chart {
    let lower = view.limits.first().and_then(|limit| limit.lower);
    match view.fails_at() {
        Some(upper) => {
            chart.band("", lower, Some(upper), Tone::Strong).band(beyond, Some(upper), None, Tone::Bad)
        }
        None => chart.band(if beyond.is_empty() { "" } else { UNKNOWN }, lower, None, Tone::Faint),
    }
}

fn curve(view: &RunView) -> &[CurvePoint] {
    match view.end.as_ref().and_then(|end| end.verdict.as_ref()) {
        Some(Verdict::Limits { curve, .. }) => curve,
        _ => &[],
    }
}

/// The lowest rate of the curve at which response time has begun to climb.
fn knee(curve: &[CurvePoint]) -> Option<f64> {
    let lowest = curve.iter().min_by(|a, b| a.rate.0.total_cmp(&b.rate.0))?;
    let climbs = |at: &&CurvePoint| at.response_p99.0 as f64 > KNEE * lowest.response_p99.0 as f64;
    curve.iter().filter(climbs).map(|at| at.rate.0).min_by(f64::total_cmp)
}
