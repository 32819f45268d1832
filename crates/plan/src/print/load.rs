//! The load, in the syntax of plan files.

use super::TomlWriter;
use super::toml_value::exact_time;
use crate::{Key, Load, SearchPlan, Stage};
use units::Rate;

impl TomlWriter {
    pub(super) fn find(&mut self, find: &SearchPlan) {
        self.section("[load]");
        self.put(Key::Arrivals, find.arrivals.name());
        self.section("[find]");
        self.put(Key::From, find.from);
        self.put(Key::Max, find.max);
        self.put(Key::Width, find.width);
        self.put(Key::Trial, find.trial);
        self.put(Key::Sum, find.sum);
        self.put(Key::Strict, find.strict.then_some(true));
        self.put(Key::Budget, find.budget);
    }

    pub(super) fn load(&mut self, load: &Load) {
        self.section("[load]");
        match load {
            Load::Open { stages, arrivals } => {
                match stages.as_slice() {
                    [Stage { duration, from, to }] if from == to => {
                        self.put(Key::Rate, from);
                        self.put(Key::Duration, duration);
                    }
                    stages => self.put(Key::Stages, stage_texts(stages)),
                }
                self.put(Key::Arrivals, arrivals.name());
            }
            Load::Closed { connections, requests, duration } => {
                self.put(Key::Connections, connections);
                self.put(Key::Requests, requests);
                self.put(Key::Duration, duration);
            }
        }
    }
}

/// A stage that does not start where the last one ended needs a jump before it.
fn stage_texts(stages: &[Stage]) -> Vec<String> {
    let (mut texts, mut level) = (Vec::new(), Rate::ZERO);
    for stage in stages {
        if stage.from != level {
            texts.push(format!("0s:{}", stage.from.0));
        }
        texts.push(format!("{}:{}", exact_time(stage.duration), stage.to.0));
        level = stage.to;
    }
    texts
}
