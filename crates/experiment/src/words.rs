use crate::course::Experiment;
use crate::group::Group;
use crate::predict::{commonest, variant};
use diagnosis::cause_name;
use plan::{At, Hypothesis, Measure};
use record::{Answer, Expected, Interval, ProbeOf, Visit};
use units::Share;

/// A hypothesis and what became of it, in a few plain sentences.
pub(crate) fn says(
    experiment: &Experiment,
    asked: &Hypothesis,
    (answer, ratio): (Answer, Option<Interval>),
    expected: Option<&Expected>,
    held: Option<bool>,
) -> String {
    let compared = match variant(asked) {
        Some(arm) => format!("'{}' against the plan as it stands", experiment.design.arms[arm].name),
        None => format!("'{}'", asked.name),
    };
    let what = measured(asked.measure, &experiment.design.probes[asked.probe]);
    let ratio = ratio.map(|ratio| format!(" × {}", interval(ratio))).unwrap_or_default();
    let mut text = format!("{compared}: {what}{ratio}: {}.", judged(answer, asked.effect));
    if let Some(Expected { answer: Some(answer), why }) = expected {
        let held = match held {
            Some(true) => " – held",
            Some(false) => " – did not hold",
            None => "",
        };
        text += &format!(" Expected: {}, for {why}{held}.", plain(*answer));
    }
    text + &gave(experiment, asked)
}

/// The placebo of a group.
pub(crate) fn placebo(
    experiment: &Experiment,
    group: &Group,
    answer: Answer,
    ratio: Option<Interval>,
) -> String {
    let what = measured(group.measure, &experiment.design.probes[group.probe]);
    let effects = group.asked.iter().map(|place| experiment.design.hypotheses[*place].effect);
    let effect = effects.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or(Share(0.0));
    let ratio = ratio.map(|ratio| format!(" × {}", interval(ratio))).unwrap_or_default();
    format!("The plan as it stands against itself: {what}{ratio}: {}.", judged(answer, effect))
}

/// What is measured and at what load: `p99 of reads at 500/s`.
pub(crate) fn measured(measure: Measure, probe: &ProbeOf) -> String {
    let of = if probe.workload == "all" { String::new() } else { format!(" of {}", probe.workload) };
    let at = match probe.at {
        At::Limit if measure == Measure::Capacity => String::new(),
        At::Limit => " at the limit".to_owned(),
        At::Rate(rate) => format!(" at {rate}"),
        At::Share(share) => format!(" at {share} of the capacity"),
        At::Connections(connections) => {
            format!(" with {} connections", units::grouped(u64::from(connections)))
        }
    };
    format!("{}{of}{at}", measure.name())
}

/// `1.02 (0.95 … 1.09)`
fn interval(ratio: Interval) -> String {
    let Interval { value, low, high } = ratio;
    format!("{} ({} … {})", number(value), number(low), number(high))
}

/// A ratio with three digits; two decimals from one on.
fn number(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 99.5 => units::grouped(ratio.min(1e18).round() as u64),
        ratio if ratio >= 9.95 => format!("{ratio:.1}"),
        ratio if ratio >= 0.0995 => format!("{ratio:.2}"),
        ratio => format!("{ratio:.4}"),
    }
}

/// An answer with the effect that it is about.
fn judged(answer: Answer, effect: Share) -> String {
    match answer {
        Answer::Better => format!("better, by more than {effect}"),
        Answer::Worse => format!("worse, by more than {effect}"),
        Answer::NoDifference => format!("no difference that matters (within {effect})"),
        Answer::Undecided => format!("undecided whether it is {effect} or more"),
        Answer::NotMeasured => "not measured".to_owned(),
    }
}

/// An answer alone.
fn plain(answer: Answer) -> &'static str {
    match answer {
        Answer::Better => "better",
        Answer::Worse => "worse",
        Answer::NoDifference => "no difference",
        Answer::Undecided => "undecided",
        Answer::NotMeasured => "not measured",
    }
}

/// What gave first in the arms of a hypothesis: `What gave first: workers (5 of 5 starts) → with 'virtual threads' pool
/// (4 of 5).` Empty if nothing was found in any.
fn gave(experiment: &Experiment, asked: &Hypothesis) -> String {
    let arms = &experiment.design.arms;
    let mut order: Vec<usize> =
        asked.contrast.iter().filter(|(_, weight)| *weight != 0.0).map(|(arm, _)| *arm).collect();
    order.sort_unstable();
    let of = |arm: usize| {
        let counts = move |visit: &&Visit| visit.arm == arm && visit.void.is_none();
        let visits = experiment.visits.iter().filter(counts);
        let starts =
            visits.clone().filter(|visit| visit.taken.iter().any(|taken| taken.probe == asked.probe));
        (commonest(visits, asked.probe), starts.count())
    };
    let mut named = false;
    let mut parts = Vec::new();
    for arm in order {
        let (cause, starts) = of(arm);
        named |= cause.is_some();
        let with = if arm == 0 { String::new() } else { format!("with '{}' ", arms[arm].name) };
        let unit = if parts.is_empty() { " starts" } else { "" };
        parts.push(match cause {
            Some((cause, times)) => format!("{with}{} ({times} of {starts}{unit})", cause_name(cause)),
            None => format!("{with}nothing that could be named"),
        });
    }
    if !named {
        return String::new();
    }
    format!(" What gave first: {}.", parts.join(" → "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Nanos, Rate};

    #[test]
    fn ratios_have_the_digits_they_deserve() {
        for (ratio, expected) in
            [(1.0, "1.00"), (0.954, "0.95"), (12.34, "12.3"), (1234.5, "1,235"), (0.0123, "0.0123")]
        {
            assert_eq!(number(ratio), expected);
        }
    }

    #[test]
    fn a_measure_says_its_load() {
        let probe = |workload: &str, at| ProbeOf { workload: workload.to_owned(), at, arms: vec![0] };
        let rate = Rate::of(500, Nanos::from_secs_f64(1.0));
        for (measure, probe, expected) in [
            (Measure::Capacity, probe("all", At::Limit), "capacity".to_owned()),
            (Measure::Capacity, probe("reads", At::Limit), "capacity of reads".to_owned()),
            (Measure::P99, probe("reads", At::Rate(rate)), format!("p99 of reads at {rate}")),
            (
                Measure::P99,
                probe("all", At::Share(Share(0.5))),
                format!("p99 at {} of the capacity", Share(0.5)),
            ),
            (
                Measure::Memory,
                probe("all", At::Connections(20_000)),
                "memory with 20,000 connections".to_owned(),
            ),
        ] {
            assert_eq!(measured(measure, &probe), expected);
        }
    }
}
