//! Metrics of the target and its surroundings: every catalogue measure that has a metric.

use super::families::{self as family, of_metric};
use super::{SampleValue, Samples};
use crate::watched::{TreeIdentity, TreeRegistry};
use record::catalogue::{Measure, Quantity};
use record::watch::{TreeRole, WatchCoverage, Window};
use std::collections::BTreeMap;

/// Values of one family that differ only in the last label; the rest is summed.
const MAX_ITEMS: usize = 32;
/// Label of that sum.
const OTHERS: &str = "others";

/// Values by measure and labels, as counted, without rounding.
type LabelledValues = BTreeMap<(&'static str, Vec<String>), (&'static Measure, f64)>;

/// Counters since the run began, and the last values of all else.
#[derive(Debug, Clone, Default)]
pub(super) struct TargetMetrics {
    trees: TreeRegistry,
    /// Processors that each tree may use, by machine.
    allowed_cpus: BTreeMap<String, Vec<f64>>,
    sums: LabelledValues,
    /// Of programs under load, which may be gone a window later; by machine.
    programs: BTreeMap<String, LabelledValues>,
    /// The first machine to report: what surrounds programs is reported only from there.
    machine: Option<String>,
    /// Of the surroundings, by source: sources not seen now keep their values.
    surroundings: BTreeMap<&'static str, LabelledValues>,
}

impl TargetMetrics {
    /// Sets who is watched on a machine.
    pub fn set_watched(&mut self, machine: &str, watched: &WatchCoverage) {
        self.trees.set_watched(machine, watched);
        let allowed = watched.subjects.iter().map(|subject| subject.cpus).collect();
        self.allowed_cpus.insert(machine.to_owned(), allowed);
        self.programs.remove(machine);
    }

    pub fn add_window(&mut self, machine: &str, window: &Window) {
        let is_first = self.machine.get_or_insert_with(|| machine.to_owned()) == machine;
        let mut programs = LabelledValues::new();
        let mut around: BTreeMap<&'static str, LabelledValues> = BTreeMap::new();
        window.visit(&mut |of, measure, counted| {
            let Some(metric) = measure.metric else { return };
            // There is one database, wherever it is queried from.
            let is_asked = matches!(of.source, "postgres" | "sessions" | "metrics" | "series");
            if of.subject.is_none() && !is_first && !is_asked {
                return;
            }
            let program = match of.subject.map(|index| self.trees.at(machine, index)) {
                Some(Some(tree)) => Vec::from(words(&self.trees.known()[tree])),
                // Beyond the maximum.
                Some(None) => return,
                None => Vec::new(),
            };
            let names = of.names.iter().map(|(_, name)| name.to_string());
            let label = metric.label.map(|(_, label)| label.to_owned());
            let mut labels: Vec<String> = program.into_iter().chain(names).chain(label).collect();
            let values = match (measure.grows, of.subject) {
                (true, _) => &mut self.sums,
                (false, Some(_)) => &mut programs,
                (false, None) => around.entry(of.source).or_default(),
            };
            let is_named = !of.names.is_empty();
            if measure.grows && is_named && !values.contains_key(&(metric.family, labels.clone())) {
                let (name, of) = labels.split_last_mut().expect("it has a name");
                let alike =
                    values.keys().filter(|(other, labels)| *other == metric.family && labels.starts_with(of));
                if alike.count() >= MAX_ITEMS {
                    OTHERS.clone_into(name);
                }
            }
            values.entry((metric.family, labels)).or_insert((measure, 0.0)).1 += counted;
        });
        self.programs.insert(machine.to_owned(), programs);
        // If the database was seen, drop sessions that are gone.
        if window.postgres.is_some() {
            self.surroundings.remove("sessions");
        }
        self.surroundings.extend(around);
    }

    pub fn add_samples(&self, samples: &mut Samples) {
        for (machine, all) in &self.allowed_cpus {
            for (index, cpus) in all.iter().enumerate().filter(|(_, cpus)| **cpus > 0.0) {
                // Only programs still there.
                let tree = self.trees.at(machine, index).map(|tree| words(&self.trees.known()[tree]));
                if let Some(labels) = tree.filter(|labels| self.is_seen(labels)) {
                    samples.number(&family::CPU_ALLOWED, &labels.each_ref().map(String::as_str), *cpus);
                }
            }
        }
        let say = |values: &LabelledValues, samples: &mut Samples| {
            for ((family, labels), (measure, counted)) in values {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                samples.push(of_metric(family), &labels, value(measure, *counted));
            }
        };
        say(&self.sums, samples);
        for values in self.programs.values().chain(self.surroundings.values()) {
            say(&largest(values), samples);
        }
    }

    fn is_seen(&self, program: &[String; 2]) -> bool {
        self.programs.values().flat_map(LabelledValues::keys).any(|(_, labels)| labels.starts_with(program))
    }
}

/// Program and role.
fn words(tree: &TreeIdentity) -> [String; 2] {
    let role = match tree.role {
        TreeRole::Service => "service",
        TreeRole::Downstream => "downstream",
    };
    [tree.title(), role.to_owned()]
}

/// Counts are integers.
pub(super) fn value(measure: &Measure, counted: f64) -> SampleValue {
    match measure.quantity {
        Quantity::Count(_) | Quantity::Bytes if measure.whole => SampleValue::Count(counted as u64),
        quantity => SampleValue::Number(quantity.of(counted)),
    }
}

/// Of values that differ only in the last label, keeps the largest and sums the rest.
fn largest(values: &LabelledValues) -> LabelledValues {
    /// Name, measure, and value.
    type NamedValue<'a> = (&'a String, &'static Measure, f64);
    let mut alike: BTreeMap<(&str, &[String]), Vec<NamedValue<'_>>> = BTreeMap::new();
    let mut kept = LabelledValues::new();
    for ((family, labels), (measure, counted)) in values {
        match labels.split_last() {
            Some((name, of)) => alike.entry((family, of)).or_default().push((name, measure, *counted)),
            None => drop(kept.insert((family, Vec::new()), (measure, *counted))),
        }
    }
    for ((_, of), mut all) in alike {
        all.sort_by(|a, b| b.2.total_cmp(&a.2));
        for (place, (name, measure, counted)) in all.into_iter().enumerate() {
            let Some(metric) = measure.metric else { continue };
            let name = if place < MAX_ITEMS { name } else { OTHERS };
            let labels = [of, &[name.to_owned()]].concat();
            kept.entry((metric.family, labels)).or_insert((measure, 0.0)).1 += counted;
        }
    }
    kept
}
