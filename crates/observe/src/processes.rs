//! The processes of each subject by their own account, and the neighbours.

mod descriptors;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use descriptors::descriptors;

use crate::neighbours::Everyone;
use crate::said::Unobservable;
use crate::scene::Scene;
use crate::source::Source;
use record::watch::{Missing, Window};
use std::collections::HashSet;
use tree::Tree;

/// Reads each subject's processes. It comes after the machine, into whose part the neighbours go.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    trees: Vec<Tree>,
    everyone: Everyone,
    said: Unobservable,
}

impl Source for Processes {
    fn cut(&mut self, scene: &Scene, window: &mut Window) {
        let watched: HashSet<u32> = scene.subjects.iter().flat_map(|cast| &cast.pids).copied().collect();
        self.everyone.look(&watched);
        self.trees.resize_with(scene.subjects.len(), Tree::default);
        for ((cast, part), tree) in scene.subjects.iter().zip(&mut window.subjects).zip(&mut self.trees) {
            tree.read(&cast.pids, part, &self.everyone, &mut self.said);
        }
        let length = window.length().to_duration();
        if let Some(host) = &mut window.host {
            (host.neighbours, host.neighbours_cpu_ns) = self.everyone.within(length);
        }
    }

    fn missing(&self) -> Vec<Missing> {
        self.said.list()
    }
}
