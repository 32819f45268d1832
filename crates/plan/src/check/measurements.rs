//! The measurements at one start of an arm.

use crate::{LoadLevel, Measurement};

/// Each load once, with all arms that need it.
#[derive(Default)]
pub(super) struct Measurements(Vec<Measurement>);

impl Measurements {
    /// Adds these arms to the measurement at this load.
    pub(super) fn require(&mut self, workload: usize, at: LoadLevel, arms: &[usize]) {
        let index = self.0.iter().position(|probe| probe.workload == workload && probe.at == at);
        let index = index.unwrap_or_else(|| {
            self.0.push(Measurement { workload, at, arms: Vec::new() });
            self.0.len() - 1
        });
        let known = &mut self.0[index].arms;
        known.extend(arms);
        known.sort_unstable();
        known.dedup();
    }

    /// Whether any is at such a load.
    pub(super) fn any(&self, predicate: impl Fn(&LoadLevel) -> bool) -> bool {
        self.0.iter().any(|probe| predicate(&probe.at))
    }

    /// By workload: first the capacity, then rates, then closed loops, each in the order required.
    pub(super) fn sorted(mut self) -> Vec<Measurement> {
        let kind = |at: &LoadLevel| match at {
            LoadLevel::Limit => 0,
            LoadLevel::Rate(_) | LoadLevel::Share(_) => 1,
            LoadLevel::Connections(_) => 2,
        };
        self.0.sort_by_key(|probe| (probe.workload, kind(&probe.at)));
        self.0
    }
}
