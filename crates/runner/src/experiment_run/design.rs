//! The experiment's design from a plan, in words where the plan has secrets.

use plan::{ExperimentPlan, LoadLevel, Plan, ResourceLimits, Setup, Variant};
use record::{Design, DesignArm, DesignMeasurement};
use std::fmt::Display;
use units::Nanos;

/// Usual duration of a start of a service with a database, before anything is known of this one.
const USUAL_START: Nanos = Nanos::from_secs(10);
/// Approximate number of trials of a search, and the overhead of each.
const SEARCH_TRIALS: u64 = 14;
const TRIAL_OVERHEAD: Nanos = Nanos::from_millis(700);

/// Design of a plan's experiment.
pub fn design(plan: &Plan, experiment: &ExperimentPlan) -> Design {
    let base = &experiment.arms[0].setup;
    let arms = experiment.arms.iter().map(|arm| DesignArm {
        name: arm.name.clone(),
        changes: arm.changes.iter().flat_map(|change| describe_variant(change, base)).collect(),
    });
    let probes = experiment.probes.iter().map(|probe| DesignMeasurement {
        workload: experiment.workloads[probe.workload].name.clone(),
        at: probe.at,
        arms: probe.arms.clone(),
    });
    Design {
        arms: arms.collect(),
        probes: probes.collect(),
        hypotheses: experiment.hypotheses.clone(),
        pilot: experiment.pilot,
        least: experiment.least,
        most: experiment.most,
        budget: experiment.budget,
        confidence: experiment.confidence,
        seed: plan.generator.seed,
    }
}

/// Approximate duration of an arm's longest start.
pub(super) fn start_duration(experiment: &ExperimentPlan) -> Nanos {
    let find = &experiment.find;
    let of_probe = |at: LoadLevel| match at {
        LoadLevel::Limit => {
            let search = (find.trial + TRIAL_OVERHEAD) * SEARCH_TRIALS;
            find.budget.map_or(search, |budget| budget.min(search))
        }
        _ => experiment.hold + TRIAL_OVERHEAD,
    };
    let of_arm = |arm: usize| {
        let probes = experiment.probes.iter().filter(|probe| probe.arms.contains(&arm));
        probes.fold(USUAL_START, |sum, probe| sum + of_probe(probe.at))
    };
    // All alike but the baseline, which no plan measures more often than all others together.
    (0..experiment.arms.len()).map(of_arm).min().unwrap_or(USUAL_START)
}

/// A variant in words: what was changed, and to what.
fn describe_variant(change: &Variant, base: &Setup) -> Vec<String> {
    let service = base.service.as_ref();
    let mut words = Vec::new();
    if let Some(command) = &change.command {
        words.push(joined(command, " "));
    }
    if !change.args.is_empty() {
        words.push(format!("… {}", joined(&change.args, " ")));
    }
    for (name, value) in &change.env {
        let before = service.and_then(|service| service.env.iter().find(|(n, _)| n == name));
        words.push(from_to(name, before.map(|(_, value)| value), value));
    }
    words.extend(change.files.iter().map(|(path, _)| format!("file {path}")));
    let limits = service.map_or_else(ResourceLimits::default, |service| service.limits.clone());
    words.extend(change.cpus.map(|cpus| from_to("cpus", limits.cpus, cpus)));
    words.extend(change.memory.map(|memory| from_to("memory", limits.memory, memory)));
    words.extend(change.pids.map(|pids| from_to("pids", limits.pids, pids)));
    let cores = change.cores.as_ref();
    words.extend(cores.map(|cores| from_to("cores", Some(listed(&limits.cores)), listed(cores))));
    words.extend(change.settings.iter().map(|(name, value)| format!("{name} = {value}")));
    words.extend(change.data.iter().map(|folder| format!("data in {folder}")));
    words
}

fn joined<T: ToString>(items: &[T], separator: &str) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(separator)
}

fn listed(cores: &[u32]) -> String {
    if cores.is_empty() { "all".to_owned() } else { joined(cores, ",") }
}

fn from_to<T: Display>(name: &str, before: Option<T>, after: T) -> String {
    match before {
        Some(before) => format!("{name} {before} → {after}"),
        None => format!("{name} = {after}"),
    }
}
