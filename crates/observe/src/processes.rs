//! The processes of each subject by the kernel's account, and the neighbours.

mod descriptors;
mod subject;
#[cfg(test)]
mod tests;

pub(crate) use descriptors::open_count;
pub(crate) use subject::ticks_since_boot;

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
    process_table: ProcessTable,
    missing_log: MissingLog,
}

impl Source for ProcessSource {
    fn cut(&mut self, scope: &WatchScope, window: &mut Window) {
        let watched: HashSet<u32> =
            scope.subjects.iter().flat_map(|subject| &subject.pids).copied().collect();
        self.process_table.refresh(&watched);
        self.trees.resize_with(scope.subjects.len(), SubjectProcesses::default);
        for ((subject, part), tree) in scope.subjects.iter().zip(&mut window.subjects).zip(&mut self.trees) {
            tree.read(&subject.pids, part, &self.process_table, &mut self.missing_log);
        }
        let length = window.length().to_duration();
        if let Some(host) = &mut window.host {
            (host.neighbours, host.neighbours_cpu_ns) = self.process_table.busiest(length);
        }
    }

    fn missing(&self) -> Vec<MissingMeasure> {
        self.missing_log.list()
    }
}
