use crate::experiment::Experiment;
use crate::group::{HypothesisGroup, compared_arms};
use crate::predict::commonest_cause;
use plan::{ArmMeasure, Hypothesis, LoadLevel};
use record::{ArmStart, DesignMeasurement};

/// What a group's hypotheses are about.
pub(crate) fn describe_group(experiment: &Experiment, group: &HypothesisGroup) -> String {
    describe_measure(group.measure, &experiment.design.probes[group.probe])
}

/// A measure and its load: `p99 of reads at 500/s`.
fn describe_measure(measure: ArmMeasure, probe: &DesignMeasurement) -> String {
    let of = if probe.workload == "all" { String::new() } else { format!(" of {}", probe.workload) };
    let at = match probe.at {
        LoadLevel::Limit if measure == ArmMeasure::Capacity => String::new(),
        LoadLevel::Limit => " at the limit".to_owned(),
        LoadLevel::Rate(rate) => format!(" at {rate}"),
        LoadLevel::Share(share) => format!(" at {share} of the capacity"),
        LoadLevel::Connections(connections) => {
            format!(" with {} connections", units::grouped(u64::from(connections)))
        }
    };
    format!("{}{of}{at}", measure.name())
}

/// What gave first in the arms of a hypothesis: `What gave first: workers (5 of 5 starts) → with 'virtual threads' pool (4 of 5).` Empty
/// if nothing was found in any.
pub(crate) fn describe_causes(experiment: &Experiment, hypothesis: &Hypothesis) -> String {
    let arms = &experiment.design.arms;
    let mut order: Vec<usize> = compared_arms(&hypothesis.contrast).collect();
    order.sort_unstable();
    let of = |arm: usize| {
        let counts = move |visit: &&ArmStart| visit.arm == arm && visit.void.is_none();
        let visits = experiment.starts.iter().filter(counts);
        let starts =
            visits.clone().filter(|visit| visit.taken.iter().any(|taken| taken.probe == hypothesis.probe));
        (commonest_cause(visits, hypothesis.probe), starts.count())
    };
    let mut any_named = false;
    let mut parts = Vec::new();
    for arm in order {
        let (cause, starts) = of(arm);
        any_named |= cause.is_some();
        let with = if arm == 0 { String::new() } else { format!("with '{}' ", arms[arm].name) };
        let unit = if parts.is_empty() { " starts" } else { "" };
        parts.push(match cause {
            Some((cause, times)) => format!("{with}{} ({times} of {starts}{unit})", cause.words()),
            None => format!("{with}nothing that could be named"),
        });
    }
    if !any_named {
        return String::new();
    }
    format!("What gave first: {}.", parts.join(" → "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Nanos, Rate, Share};

    #[test]
    fn a_measure_says_its_load() {
        let probe =
            |workload: &str, at| DesignMeasurement { workload: workload.to_owned(), at, arms: vec![0] };
        let rate = Rate::of(500, Nanos::from_secs_f64(1.0));
        for (measure, probe, expected) in [
            (ArmMeasure::Capacity, probe("all", LoadLevel::Limit), "capacity".to_owned()),
            (ArmMeasure::Capacity, probe("reads", LoadLevel::Limit), "capacity of reads".to_owned()),
            (ArmMeasure::P99, probe("reads", LoadLevel::Rate(rate)), format!("p99 of reads at {rate}")),
            (
                ArmMeasure::P99,
                probe("all", LoadLevel::Share(Share(0.5))),
                format!("p99 at {} of the capacity", Share(0.5)),
            ),
            (
                ArmMeasure::Memory,
                probe("all", LoadLevel::Connections(20_000)),
                "memory with 20,000 connections".to_owned(),
            ),
        ] {
            assert_eq!(describe_measure(measure, &probe), expected);
        }
    }
}
