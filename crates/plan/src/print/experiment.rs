//! An experiment as it is read: what its file said, with every default filled in.

use super::Lines;
use super::exact::{exact_rate, exact_share, exact_time};
use crate::{Asked, At, Change, Experiment, Limits, Said, Template};

impl Lines {
    pub(super) fn experiment(&mut self, experiment: &Experiment) {
        // Crossed arms follow from the others.
        for arm in &experiment.arms {
            if let [change] = &arm.changes[..] {
                self.change(change);
            }
        }
        experiment.said.asked.iter().for_each(|asked| self.asked(asked));
        self.section("[try]");
        let Said { named, cross, measure, effect, connections, at, capacity, asked: _ } = &experiment.said;
        if *named {
            self.texts("workloads", experiment.workloads.iter().map(|workload| workload.name.clone()));
        }
        self.texts("cross", cross.iter().cloned());
        self.text("measure", measure.name());
        self.raw("effect", exact_share(*effect));
        if !connections.is_empty() {
            self.list("connections", connections.iter().map(u32::to_string));
        }
        self.texts("at", at.iter().filter_map(|at| exact_at(*at)));
        self.raw("capacity", capacity);
        self.raw("pilot", experiment.pilot);
        self.raw("least", experiment.least);
        self.raw("most", experiment.most);
        if let Some(budget) = experiment.budget {
            self.text("budget", &exact_time(budget));
        }
        self.raw("confidence", exact_share(experiment.confidence));
        self.text("warm", &exact_time(experiment.warm));
        self.text("hold", &exact_time(experiment.hold));
    }

    fn change(&mut self, change: &Change) {
        self.section("[[variant]]");
        self.text("name", &change.name);
        if let Some(factor) = &change.factor {
            self.text("factor", factor);
        }
        self.texts("relieves", change.relieves.iter().cloned());
        self.texts("command", change.command.iter().flatten().map(Template::to_string));
        self.texts("args", change.args.iter().map(Template::to_string));
        self.named("env", &change.env);
        self.named("files", &change.files);
        let Change { cpus, memory, pids, .. } = *change;
        self.limits(&Limits { cpus, memory, pids, cores: change.cores.clone().unwrap_or_default() });
        self.named_texts("settings", &change.settings);
        if let Some(data) = &change.data {
            self.text("data", data);
        }
    }

    fn asked(&mut self, asked: &Asked) {
        let Asked { name, variant, baseline, on, measure, at, effect } = asked;
        self.section("[[hypothesis]]");
        for (key, value) in [("name", name), ("baseline", baseline), ("on", on)] {
            if let Some(value) = value {
                self.text(key, value);
            }
        }
        self.text("variant", variant);
        self.text("measure", measure.name());
        if let Some(at) = exact_at(*at) {
            self.text("at", &at);
        }
        self.raw("effect", exact_share(*effect));
    }
}

/// The load of the search for a capacity is not written.
fn exact_at(at: At) -> Option<String> {
    match at {
        At::Limit => None,
        At::Rate(rate) => Some(exact_rate(rate)),
        At::Share(share) => Some(exact_percent(share.0)),
        At::Connections(count) => Some(format!("{count} connections")),
    }
}

/// The percent whose hundredth is this share, to the last bit.
fn exact_percent(share: f64) -> String {
    let percent = share * 100.0;
    let near = [percent, percent.next_up(), percent.next_down()];
    let exact = near.into_iter().find(|percent| percent / 100.0 == share);
    format!("{}%", exact.unwrap_or(percent))
}
