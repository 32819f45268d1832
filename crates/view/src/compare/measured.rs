//! What is compared of runs.

use super::difference::{Difference, NOISE, Standing};
use super::measure::{Figure, Measure};
use super::settings::rates;
use super::spread::{SHARE, Spread, load};
use crate::{Kind, RunView};
use record::{Limit, LimitUnit, Unit};
use stats::Estimate;
use units::Share;

/// A run and its seconds.
pub(super) type Run<'a> = (&'a RunView, &'a Spread);

/// All that at least one of the runs has. Of a run with another load than the first nothing is judged.
pub(super) fn measures(runs: &[Run<'_>], noise: f64) -> Vec<Measure> {
    let other_loads: Vec<bool> = runs.iter().map(|run| other_load(runs[0], *run).is_some()).collect();
    let is_search = runs.iter().any(|(view, _)| view.kind() == Kind::Search);
    let of = if is_search { format!(" at {} of its limit", Share(SHARE)) } else { String::new() };
    let mut all = Vec::new();
    let mut add =
        |id, title: String, unit, less_is_better, decides, figure: &dyn Fn(Run<'_>) -> Option<Figure>| {
            let figures: Vec<Option<Figure>> = runs.iter().map(|run| figure(*run)).collect();
            if figures.iter().any(Option::is_some) {
                let mut measure =
                    Measure { id, title, unit, less_is_better, decides, figures, differences: Vec::new() };
                let difference = |run: usize| {
                    let found = measure.difference(run, noise)?;
                    Some(if other_loads[run] {
                        Difference { standing: Standing::Unknown, ..found }
                    } else {
                        found
                    })
                };
                measure.differences = (0..runs.len()).map(difference).collect();
                all.push(measure);
            }
        };
    let text = str::to_owned;
    add("goal", text("goal"), Unit::Count, false, true, &goal);
    let unit = |view: &RunView| Some(view.limits.first()?.unit.clone());
    let unit = runs.iter().find_map(|(view, _)| unit(view)).unwrap_or(LimitUnit::Requests);
    let per_second = if unit.is_rate() { Unit::PerSecond } else { Unit::Count };
    add("capacity", format!("limit ({unit})"), per_second, false, true, &capacity);
    for (which, id, name) in
        [(0, "response_p50", "p50"), (1, "response_p90", "p90"), (2, "response_p99", "p99")]
    {
        let figure = |(_, spread): Run<'_>| {
            let (value, interval) = spread.quantile(which)?;
            Some(Figure { value, interval })
        };
        add(id, format!("response {name}{of}"), Unit::Nanos, true, true, &figure);
    }
    let longest =
        |(view, _): Run<'_>| Some(Figure::alone(load(view)?.figures.response()?.quantiles.max.0 as f64));
    add("response_max", format!("response max{of}"), Unit::Nanos, true, false, &longest);
    let goodput = |(view, spread): Run<'_>| match view.kind() {
        Kind::Load => spread.goodput().map(Figure::sure).or_else(|| {
            let load = load(view)?;
            Some(Figure::alone(units::Rate::of(load.figures.outcomes.ok, load.loaded).0))
        }),
        _ => None,
    };
    add("goodput", text("goodput"), Unit::PerSecond, false, true, &goodput);
    let lost = |(view, spread): Run<'_>| {
        // Of a load whose queue grows nothing may be lost yet: what it loses in the long run is its verdict, and so it is here.
        let judged = load(view).filter(|_| view.kind() == Kind::Load)?.judgement;
        let grows = judged.filter(|judgement| judgement.growth_per_second.is_some());
        let found = grows.map(|judgement| Estimate::exact(judgement.loss)).or_else(|| spread.lost());
        found.map(Figure::sure)
    };
    add("lost", text("lost"), Unit::Share, true, true, &lost);
    let cpu = |(view, spread): Run<'_>| spread.cpu(load(view)?.figures.outcomes.answered()).map(Figure::sure);
    add("cpu_per_request", format!("target's processor time a request{of}"), Unit::Nanos, true, false, &cpu);
    let memory = |(_, spread): Run<'_>| spread.memory().map(|bytes| Figure::alone(bytes as f64));
    add("memory", format!("target's memory at most{of}"), Unit::Bytes, true, false, &memory);
    all
}

/// How the load of a run differs from that of the first, if it does: what differs then may be no merit and no fault of the target.
pub(super) fn other_load(first: Run<'_>, other: Run<'_>) -> Option<String> {
    let [first, other] = [first, other].map(|(view, _)| view.started.as_ref().map(|started| &started.plan));
    rates(first?, other?)
}

/// Whether a load met its goal, as 1 or 0.
fn goal((view, _): Run<'_>) -> Option<Figure> {
    let met = view.goal_met()?;
    Some(Figure::sure(Estimate::exact(f64::from(u8::from(met)))))
}

/// What a search has found for its first goal: the rate that is held, and its interval; or the highest rate that was shown to hold, and at most
/// the lowest that was shown not to.
fn capacity((view, _): Run<'_>) -> Option<Figure> {
    let Limit { held, lower, .. } = view.limits.first()?;
    limit_figure(*held, *lower, view.fails_at())
}

/// A limit as it is compared; none if neither end is known.
pub(crate) fn limit_figure(held: Option<f64>, lower: Option<f64>, upper: Option<f64>) -> Option<Figure> {
    match (lower, upper) {
        (None, None) => None,
        (Some(low), high) => {
            let value = held.unwrap_or(low);
            Some(Figure::sure(Estimate { value, low, high: high.unwrap_or(f64::INFINITY) }))
        }
        (None, Some(high)) => Some(Figure::sure(Estimate { value: 0.0, low: 0.0, high })),
    }
}

/// How a limit differs from an earlier one: what a comparison of the two runs says of their limits.
pub(crate) fn limits_differ(first: Figure, other: Figure) -> Option<Difference> {
    let limits = Measure {
        id: "capacity",
        title: String::new(),
        unit: Unit::PerSecond,
        less_is_better: false,
        decides: true,
        figures: vec![Some(first), Some(other)],
        differences: Vec::new(),
    };
    limits.difference(1, NOISE)
}
