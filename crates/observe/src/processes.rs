//! The processes of each subject by the kernel's account, and the neighbours.

mod descriptors;
mod subject;
#[cfg(test)]
mod tests;

pub(crate) use descriptors::open_count;

use crate::missing::MissingLog;
use crate::neighbours::ProcessTable;
use crate::source::Source;
use crate::watch_scope::WatchScope;
use record::watch::{MissingMeasure, Window};
use std::collections::HashSet;
use subject::SubjectProcesses;

/// Reads each subject's processes. Must come after the machine, into whose part the neighbours go.
#[derive(Debug, Default)]
pub(crate) struct ProcessSource {
    trees: Vec<SubjectProcesses>,
    everyone: ProcessTable,
    said: MissingLog,
}

impl Source for ProcessSource {
    fn cut(&mut self, scene: &WatchScope, window: &mut Window) {
        let watched: HashSet<u32> = scene.subjects.iter().flat_map(|cast| &cast.pids).copied().collect();
        self.everyone.refresh(&watched);
        self.trees.resize_with(scene.subjects.len(), SubjectProcesses::default);
        for ((cast, part), tree) in scene.subjects.iter().zip(&mut window.subjects).zip(&mut self.trees) {
            tree.read(&cast.pids, part, &self.everyone, &mut self.said);
        }
        let length = window.length().to_duration();
        if let Some(host) = &mut window.host {
            (host.neighbours, host.neighbours_cpu_ns) = self.everyone.busiest(length);
        }
    }

    fn missing(&self) -> Vec<MissingMeasure> {
        self.said.list()
    }
}
