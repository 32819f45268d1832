//! Identifies process trees across restarts of services.

use crate::wording::place_suffix;
use record::watch::{TreeRole, WatchCoverage, WatchedProcesses};
use std::collections::BTreeMap;

/// Maximum process trees per place.
const MOST: usize = 6;

/// A run's process trees, in the order first watched.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreeRegistry {
    known: Vec<TreeIdentity>,
    /// Per machine, the tree that each subject index refers to; `None` beyond the maximum.
    by_subject: BTreeMap<String, Vec<Option<usize>>>,
}

/// Same name and role mean the same tree, even after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TreeIdentity {
    pub role: TreeRole,
    pub name: String,
    /// Its machine; empty: torment's own.
    pub machine: String,
    /// Index among trees of one name.
    index: usize,
}

impl TreeIdentity {
    pub fn title(&self) -> String {
        let name = if self.name.is_empty() { "process" } else { &self.name };
        let on = place_suffix(&self.machine);
        match self.index {
            0 => format!("{name}{on}"),
            nth => format!("{name} ({}){on}", nth + 1),
        }
    }
}

impl TreeRegistry {
    /// Sets who is watched on a machine.
    pub fn set_watched(&mut self, machine: &str, watched: &WatchCoverage) {
        let subjects = &watched.subjects;
        let meant = (0..subjects.len()).map(|index| self.tree(machine, subjects, index)).collect();
        self.by_subject.insert(machine.to_owned(), meant);
    }

    fn tree(&mut self, machine: &str, subjects: &[WatchedProcesses], index: usize) -> Option<usize> {
        let WatchedProcesses { role, name, .. } = &subjects[index];
        let same = |other: &&WatchedProcesses| (&other.role, &other.name) == (role, name);
        let nth = subjects[..index].iter().filter(same).count();
        let tree = TreeIdentity { role: *role, name: name.clone(), machine: machine.to_owned(), index: nth };
        let known = self.known.iter().position(|known| *known == tree);
        let there = self.known.iter().filter(|known| known.machine == machine).count();
        known.or_else(|| {
            (there < MOST).then(|| {
                self.known.push(tree);
                self.known.len() - 1
            })
        })
    }

    /// The tree index for a machine's subject.
    pub fn at(&self, machine: &str, index: usize) -> Option<usize> {
        self.by_subject.get(machine)?.get(index).copied().flatten()
    }

    /// All trees ever watched, by index.
    pub fn known(&self) -> &[TreeIdentity] {
        &self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_stays_itself_through_a_restart() {
        let watched = |names: &[&str]| {
            let subject =
                |name: &&str| WatchedProcesses { name: (*name).to_owned(), ..WatchedProcesses::default() };
            WatchCoverage { subjects: names.iter().map(subject).collect(), ..WatchCoverage::default() }
        };
        let mut trees = TreeRegistry::default();
        trees.set_watched("", &watched(&["java", "nginx", "java"]));
        trees.set_watched("", &watched(&["nginx", "", "java"]));
        assert_eq!(
            (0..4).map(|index| trees.at("", index)).collect::<Vec<_>>(),
            [Some(1), Some(3), Some(0), None]
        );
        let titles: Vec<String> = trees.known().iter().map(TreeIdentity::title).collect();
        assert_eq!(titles, ["java", "nginx", "java (2)", "process"]);
        trees.set_watched("", &watched(&["a", "b", "c", "java"]));
        assert_eq!(trees.at("", 2), None, "one too many");
        assert_eq!(trees.at("", 3), Some(0));
        // The same name on another machine is another tree.
        trees.set_watched("web", &watched(&["java"]));
        let web = trees.at("web", 0).expect("there is room");
        assert_eq!(trees.known()[web].title(), "java on web");
        assert_eq!((trees.at("", 3), trees.at("web", 1)), (Some(0), None));
    }
}
