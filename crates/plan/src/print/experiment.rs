//! An experiment in the syntax of plan files, with every default filled in.

use super::TomlWriter;
use crate::{ExperimentPlan, ExperimentSettings, HypothesisText, Key, LoadLevel, ResourceLimits, Variant};

impl TomlWriter {
    pub(super) fn experiment(&mut self, experiment: &ExperimentPlan) {
        // Crossed arms follow from the others.
        for arm in &experiment.arms {
            if let [change] = &arm.changes[..] {
                self.change(change);
            }
        }
        experiment.said.asked.iter().for_each(|text| self.hypothesis(text));
        self.section("[try]");
        let ExperimentSettings { named, cross, measure, effect, connections, at, capacity, asked: _ } =
            &experiment.said;
        if *named {
            self.texts(Key::Workloads, experiment.workloads.iter().map(|workload| workload.name.clone()));
        }
        self.put(Key::Cross, cross);
        self.put(Key::Measure, measure.name());
        self.put(Key::Effect, effect);
        self.put(Key::TryConnections, connections);
        self.texts(Key::At, at.iter().filter_map(|at| exact_at(*at)));
        self.put(Key::Capacity, capacity);
        self.put(Key::Pilot, experiment.pilot);
        self.put(Key::Least, experiment.least);
        self.put(Key::Most, experiment.most);
        self.put(Key::TryBudget, experiment.budget);
        self.put(Key::Confidence, experiment.confidence);
        self.put(Key::Warm, experiment.warm);
        self.put(Key::Hold, experiment.hold);
    }

    fn change(&mut self, change: &Variant) {
        self.section("[[variant]]");
        self.put(Key::Name, &change.name);
        self.put(Key::Factor, &change.factor);
        self.put(Key::Relieves, &change.relieves);
        self.put(Key::Program, &change.command);
        self.put(Key::Args, &change.args);
        self.put(Key::Env, &change.env);
        self.put(Key::Files, &change.files);
        let Variant { cpus, memory, pids, .. } = *change;
        self.limits(&ResourceLimits { cpus, memory, pids, cores: change.cores.clone().unwrap_or_default() });
        self.put(Key::Settings, &change.settings);
        self.put(Key::DataFolder, &change.data);
    }

    fn hypothesis(&mut self, text: &HypothesisText) {
        let HypothesisText { name, variant, baseline, on, measure, at, effect } = text;
        self.section("[[hypothesis]]");
        self.put(Key::Name, name);
        self.put(Key::Baseline, baseline);
        self.put(Key::OnWorkload, on);
        self.put(Key::Variant, variant);
        self.put(Key::Measure, measure.name());
        self.put(Key::At, exact_at(*at));
        self.put(Key::Effect, effect);
    }
}

/// The load of a capacity search is not written.
fn exact_at(at: LoadLevel) -> Option<String> {
    match at {
        LoadLevel::Limit => None,
        LoadLevel::Rate(rate) => Some(rate.0.to_string()),
        LoadLevel::Share(share) => Some(exact_percent(share.0)),
        LoadLevel::Connections(count) => Some(format!("{count} connections")),
    }
}

/// The percentage that parses to exactly this share.
fn exact_percent(share: f64) -> String {
    let percent = share * 100.0;
    let near = [percent, percent.next_up(), percent.next_down()];
    let exact = near.into_iter().find(|percent| percent / 100.0 == share);
    format!("{}%", exact.unwrap_or(percent))
}
