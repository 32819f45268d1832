//! What is offered, as it is read.

use super::Lines;
use super::exact::{exact_rate, exact_share, exact_time, quoted};
use crate::{Arrivals, Find, Load, Stage};
use units::Rate;

impl Lines {
    fn arrivals(&mut self, arrivals: Arrivals) {
        self.text("arrivals", arrivals.name());
    }

    pub(super) fn find(&mut self, find: &Find) {
        self.section("[load]");
        self.arrivals(find.arrivals);
        self.section("[find]");
        self.raw("from", exact_rate(find.from));
        self.raw("max", exact_rate(find.max));
        self.raw("width", exact_share(find.width));
        self.text("trial", &exact_time(find.trial));
        self.text("sum", &exact_time(find.sum));
        if find.strict {
            self.raw("strict", true);
        }
        if let Some(budget) = find.budget {
            self.text("budget", &exact_time(budget));
        }
    }

    pub(super) fn load(&mut self, load: &Load) {
        self.section("[load]");
        match load {
            Load::Open { stages, arrivals } => {
                match stages.as_slice() {
                    [Stage { duration, from, to }] if from == to => {
                        self.raw("rate", exact_rate(*from));
                        self.text("duration", &exact_time(*duration));
                    }
                    stages => self.list("stages", stage_texts(stages).iter().map(|stage| quoted(stage))),
                }
                self.arrivals(*arrivals);
            }
            Load::Closed { connections, requests, duration } => {
                self.raw("connections", connections);
                if let Some(requests) = requests {
                    self.raw("requests", requests);
                }
                if let Some(duration) = duration {
                    self.text("duration", &exact_time(*duration));
                }
            }
        }
    }
}

/// A stage that does not start where the last one ended needs a jump before it.
fn stage_texts(stages: &[Stage]) -> Vec<String> {
    let (mut texts, mut level) = (Vec::new(), Rate::ZERO);
    for stage in stages {
        if stage.from != level {
            texts.push(format!("0s:{}", exact_rate(stage.from)));
        }
        texts.push(format!("{}:{}", exact_time(stage.duration), exact_rate(stage.to)));
        level = stage.to;
    }
    texts
}
