//! Progress of a search, an experiment or a ramp.

use super::{MetricFamily, Samples, families as family};
use crate::{ArrivalKind, RunView, TrialState, caveats};
use std::collections::BTreeMap;

pub(super) fn add_samples(view: &RunView, samples: &mut Samples) {
    let last = view.trials.last().map(|trial| (trial.number, trial.purpose, trial.rate));
    let now = view.current.as_ref().map(|current| (current.number, current.purpose, current.rate));
    if let Some((number, purpose, rate)) = now.or(last) {
        samples.count(&family::TRIAL, &[purpose.name()], u64::from(number));
        // A search for connections raises no rate.
        if let Some(rate) = rate.filter(|_| view.arrival_kind() != ArrivalKind::Connections) {
            samples.number(&family::TRIAL_RATE, &[], rate.0);
        }
    }
    let classes = view.trials.iter().map(|trial| [trial.purpose.name(), class(trial.state())]);
    count_each(samples, &family::TRIALS, classes);
    for limit in &view.limits {
        for (bound, at) in [("held", limit.held), ("lower", limit.lower), ("upper", limit.upper)] {
            if let Some(at) = at {
                samples.number(&family::LIMIT, &[&limit.goal, bound, limit.unit.name()], at);
            }
        }
    }
    for (caveat, trials) in caveats::collect(view) {
        samples.count(&family::CAVEATS, &[caveat.doubt.name()], trials.max(1) as u64);
    }
    let arm = |arm: usize| view.design.as_ref().and_then(|design| Some(design.arms.get(arm)?.name.as_str()));
    let starts = view.starts.iter().map(|start| [arm(start.arm).unwrap_or_default()]);
    count_each(samples, &family::STARTS, starts);
    let tables = view.figures.iter().map(|figure| [figure.table.as_str()]);
    count_each(samples, &family::FIGURES, tables);
    if let Some(ramped) = view.ramp.last() {
        samples.count(&family::TASKS, &[], ramped.tasks);
    }
}

fn count_each<'a, const N: usize>(
    samples: &mut Samples,
    family: &'static MetricFamily,
    labels: impl Iterator<Item = [&'a str; N]>,
) {
    let mut counts: BTreeMap<[&str; N], u64> = BTreeMap::new();
    labels.for_each(|labels| *counts.entry(labels).or_default() += 1);
    counts.iter().for_each(|(labels, count)| samples.count(family, labels, *count));
}

fn class(state: TrialState) -> &'static str {
    match state {
        // Displayed as a dash.
        TrialState::Unjudged => "unjudged",
        state => state.name(),
    }
}
