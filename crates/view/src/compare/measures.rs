//! The measures that runs are compared by.

use super::difference::{Difference, NOISE, Significance};
use super::load_samples::{LIMIT_SHARE, LoadSamples, compared_load};
use super::measure::{ComparedMeasure, RunFigure};
use super::settings::rate_differences;
use crate::{ReportKind, RunView};
use record::{FigureUnit, Limit, LimitUnit};
use stats::Estimate;
use units::Share;

/// A run and its samples.
pub(super) type RunInput<'a> = (&'a RunView, &'a LoadSamples);

/// Every measure that at least one run has. A run whose load differs from the first's is not judged.
pub(super) fn compare_measures(runs: &[RunInput<'_>], noise: f64) -> Vec<ComparedMeasure> {
    let other_loads: Vec<bool> = runs.iter().map(|run| load_difference(runs[0], *run).is_some()).collect();
    let is_search = runs.iter().any(|(view, _)| view.kind() == ReportKind::Search);
    let of = if is_search { format!(" at {} of its limit", Share(LIMIT_SHARE)) } else { String::new() };
    let mut all = Vec::new();
    let mut add = |id,
                   title: String,
                   unit,
                   less_is_better,
                   decides,
                   figure: &dyn Fn(RunInput<'_>) -> Option<RunFigure>| {
        let figures: Vec<Option<RunFigure>> = runs.iter().map(|run| figure(*run)).collect();
        if figures.iter().any(Option::is_some) {
            let mut measure = ComparedMeasure {
                id,
                title,
                unit,
                less_is_better,
                decides,
                figures,
                differences: Vec::new(),
            };
            let difference = |run: usize| {
                let found = measure.difference(run, noise)?;
                Some(if other_loads[run] {
                    Difference { significance: Significance::Unknown, ..found }
                } else {
                    found
                })
            };
            measure.differences = (0..runs.len()).map(difference).collect();
            all.push(measure);
        }
    };
    let text = str::to_owned;
    add("goal", text("goal"), FigureUnit::Count, false, true, &goal);
    let unit = |view: &RunView| Some(view.limits.first()?.unit.clone());
    let unit = runs.iter().find_map(|(view, _)| unit(view)).unwrap_or(LimitUnit::Requests);
    let per_second = if unit.is_rate() { FigureUnit::PerSecond } else { FigureUnit::Count };
    add("capacity", format!("limit ({unit})"), per_second, false, true, &capacity);
    for (which, id, name) in
        [(0, "response_p50", "p50"), (1, "response_p90", "p90"), (2, "response_p99", "p99")]
    {
        let figure = |(_, spread): RunInput<'_>| {
            let (value, interval) = spread.quantile(which)?;
            Some(RunFigure { value, interval })
        };
        add(id, format!("response {name}{of}"), FigureUnit::Nanos, true, true, &figure);
    }
    let longest = |(view, _): RunInput<'_>| {
        Some(RunFigure::without_interval(compared_load(view)?.figures.quantiles()?.max.0 as f64))
    };
    add("response_max", format!("response max{of}"), FigureUnit::Nanos, true, false, &longest);
    let goodput = |(view, spread): RunInput<'_>| match view.kind() {
        ReportKind::Load => spread.goodput().map(RunFigure::with_interval).or_else(|| {
            let load = compared_load(view)?;
            Some(RunFigure::without_interval(units::Rate::of(load.figures.outcomes.ok, load.loaded).0))
        }),
        _ => None,
    };
    add("goodput", text("goodput"), FigureUnit::PerSecond, false, true, &goodput);
    let lost = |(view, spread): RunInput<'_>| {
        // If the queue grows nothing may be lost yet: use the long-run loss, as the verdict does.
        let judged = compared_load(view).filter(|_| view.kind() == ReportKind::Load)?.judgement;
        let grows = judged.filter(|judgement| judgement.growth_per_second.is_some());
        let found = grows.map(|judgement| Estimate::exact(judgement.loss)).or_else(|| spread.lost());
        found.map(RunFigure::with_interval)
    };
    add("lost", text("lost"), FigureUnit::Share, true, true, &lost);
    let cpu = |(view, spread): RunInput<'_>| {
        spread.cpu(compared_load(view)?.figures.outcomes.answered()).map(RunFigure::with_interval)
    };
    add(
        "cpu_per_request",
        format!("target's processor time a request{of}"),
        FigureUnit::Nanos,
        true,
        false,
        &cpu,
    );
    let memory =
        |(_, spread): RunInput<'_>| spread.memory.map(|bytes| RunFigure::without_interval(bytes as f64));
    add("memory", format!("target's memory at most{of}"), FigureUnit::Bytes, true, false, &memory);
    all
}

/// How a run's load differs from the first's, if it does: differences may then not be due to the target.
pub(super) fn load_difference(first: RunInput<'_>, other: RunInput<'_>) -> Option<String> {
    let [first, other] = [first, other].map(|(view, _)| view.started.as_ref().map(|started| &started.plan));
    rate_differences(first?, other?)
}

/// Whether the load met its goal, as 1 or 0.
fn goal((view, _): RunInput<'_>) -> Option<RunFigure> {
    let met = view.goal_met()?;
    Some(RunFigure::with_interval(Estimate::exact(f64::from(u8::from(met)))))
}

/// A search's limit for its first goal: the rate held, with its interval; else the highest rate shown to hold, and at most the lowest
/// shown not to.
fn capacity((view, _): RunInput<'_>) -> Option<RunFigure> {
    let Limit { held, lower, .. } = view.limits.first()?;
    limit_figure(*held, *lower, view.fails_at())
}

/// A limit as a figure; `None` if neither end is known.
pub(crate) fn limit_figure(held: Option<f64>, lower: Option<f64>, upper: Option<f64>) -> Option<RunFigure> {
    match (lower, upper) {
        (None, None) => None,
        (Some(low), high) => {
            let value = held.unwrap_or(low);
            Some(RunFigure::with_interval(Estimate { value, low, high: high.unwrap_or(f64::INFINITY) }))
        }
        (None, Some(high)) => Some(RunFigure::with_interval(Estimate { value: 0.0, low: 0.0, high })),
    }
}

/// How a limit differs from an earlier one, as a comparison of the two runs has it.
pub(crate) fn limit_difference(first: RunFigure, other: RunFigure) -> Option<Difference> {
    let limits = ComparedMeasure {
        id: "capacity",
        title: String::new(),
        unit: FigureUnit::PerSecond,
        less_is_better: false,
        decides: true,
        figures: vec![Some(first), Some(other)],
        differences: Vec::new(),
    };
    limits.difference(1, NOISE)
}
