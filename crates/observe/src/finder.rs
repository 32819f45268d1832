//! Finds the processes to watch: the service, its descendants and its downstream processes.

mod access_level;
mod downstream;
mod holders;
mod service;
mod socket_lister;
mod subject;
#[cfg(test)]
mod tests;

pub(crate) use socket_lister::{SocketLister, lister_for};

use crate::target::TargetLocation;
use crate::watch_scope::{WatchScope, WatchedTree};
use access_level::probe_access;
use downstream::DownstreamFinder;
use plan::WatchPlan;
use record::watch::{AccessLevel, MissingMeasure, TreeRole};
use service::{FoundService, find_named, listeners};
use std::collections::{BTreeMap, HashSet};
use subject::describe_subject;

/// Changes reported per second; of a service that starts a process per request, the rest are only counted.
const MAX_CHANGES: usize = 10;
/// Looks between searches, by command line or cgroup, of processes that are no descendants of known ones.
const FULL_SEARCH_EVERY: u32 = 5;

/// Finds the processes to watch, at first and then every second.
pub(crate) struct Finder {
    plan: WatchPlan,
    target: TargetLocation,
    scope: WatchScope,
    trees: Vec<ProcessTree>,
    /// Processes known to belong to no tree; a process is never reparented to a watched one.
    unrelated: HashSet<u32>,
    /// The service's listening sockets when it was found.
    listening: HashSet<u64>,
    downstream: DownstreamFinder,
    changes: Vec<String>,
    is_new: bool,
    looks: u32,
}

/// A process tree, with names by PID.
#[derive(Debug, Default)]
pub(crate) struct ProcessTree {
    pub roots: Vec<u32>,
    pub members: BTreeMap<u32, String>,
}

impl ProcessTree {
    /// Of these processes; descendants are added at the next look.
    pub fn of(pids: &[u32]) -> Self {
        let name =
            |pid: u32| procfs::running_process(pid).map_or_else(|| "?".to_owned(), |process| process.name);
        Self { roots: pids.to_vec(), members: pids.iter().map(|pid| (*pid, name(*pid))).collect() }
    }

    /// The first processes come first.
    pub fn pids(&self) -> Vec<u32> {
        let others = self.members.keys().filter(|pid| !self.roots.contains(pid));
        self.roots.iter().chain(others).copied().collect()
    }
}

impl Finder {
    pub fn new(plan: &WatchPlan, target: &TargetLocation) -> Self {
        let mut finder = Self {
            plan: plan.clone(),
            target: target.clone(),
            scope: WatchScope { subjects: vec![WatchedTree::default()], ..WatchScope::default() },
            trees: vec![ProcessTree::default()],
            unrelated: HashSet::new(),
            listening: HashSet::new(),
            downstream: DownstreamFinder::default(),
            changes: Vec::new(),
            is_new: false,
            looks: 0,
        };
        finder.refresh();
        finder.changes.clear();
        finder
    }

    pub fn scope(&self) -> &WatchScope {
        &self.scope
    }

    /// Takes the changes since the last call.
    pub fn changes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.changes)
    }

    /// Follows descendants, reports ended processes, and searches for the service if it is gone.
    pub fn refresh(&mut self) {
        let all: HashSet<u32> = procfs::pids().collect();
        self.drop_ended(&all);
        self.find_service();
        self.follow(&all);
        if std::mem::take(&mut self.is_new) {
            self.describe_service();
        }
        if !self.trees[0].members.is_empty() {
            let more = self.downstream.find_new(&mut self.trees);
            for (listens, first) in more {
                let pids = self.trees.last().map(ProcessTree::pids).unwrap_or_default();
                let subject = describe_subject(TreeRole::Downstream, first, &pids, listens);
                self.add_change(format!("the service talks to process {first} ({})", subject.name));
                self.scope.subjects.push(WatchedTree { about: subject, pids });
                self.unrelated.clear();
                self.follow(&all);
            }
        }
        for (tree, subject) in self.trees.iter().zip(&mut self.scope.subjects) {
            subject.pids = tree.pids();
        }
        self.looks = self.looks.wrapping_add(1);
    }

    fn add_change(&mut self, text: String) {
        if self.changes.len() < MAX_CHANGES {
            self.changes.push(text);
        }
    }

    fn drop_ended(&mut self, all: &HashSet<u32>) {
        self.unrelated.retain(|pid| all.contains(pid));
        let mut ended = Vec::new();
        for tree in &mut self.trees {
            let first = tree.roots.clone();
            tree.members.retain(|pid, name| {
                // A first process may be a zombie.
                let is_first = first.contains(pid);
                let lives = all.contains(pid) && (!is_first || procfs::running_process(*pid).is_some());
                if !lives && is_first {
                    ended.push(format!("process {pid} ({name}) ended"));
                }
                lives
            });
            tree.roots.retain(|pid| tree.members.contains_key(pid));
        }
        ended.into_iter().for_each(|text| self.add_change(text));
    }

    fn find_service(&mut self) {
        let is_gone = self.trees[0].members.is_empty();
        let named_ones = self.plan.names_processes();
        let found = if named_ones {
            let only_pids = self.plan.cgroup.is_none() && self.plan.command.is_none();
            if !is_gone && (only_pids || !self.looks.is_multiple_of(FULL_SEARCH_EVERY)) {
                return;
            }
            find_named(&self.plan)
        } else if matches!(self.target, TargetLocation::Pods(_) | TargetLocation::Inside) {
            if !is_gone && !self.looks.is_multiple_of(FULL_SEARCH_EVERY) {
                return;
            }
            service::find_serving(&self.target, &HashSet::new())
        } else {
            let listening = listeners(&self.target);
            if !is_gone && (listening.is_empty() || listening.is_subset(&self.listening)) {
                return;
            }
            let found = service::find_serving(&self.target, &listening);
            if !found.pids.is_empty() {
                self.listening = listening;
            }
            found
        };
        self.set_service(found, is_gone);
    }

    fn set_service(&mut self, found: FoundService, is_gone: bool) {
        let FoundService { pids, missing } = found;
        let new: Vec<u32> =
            pids.iter().copied().filter(|pid| !self.trees[0].members.contains_key(pid)).collect();
        if new.is_empty() {
            if is_gone {
                self.scope.level = AccessLevel::Outside;
                self.add_missing(missing);
            }
            return;
        }
        let tree = ProcessTree::of(&new);
        for (pid, name) in &tree.members {
            self.add_change(format!("process {pid} ({name}) is the service now"));
        }
        let service = &mut self.trees[0];
        service.roots.retain(|pid| pids.contains(pid));
        service.roots.splice(0..0, tree.roots);
        service.members.extend(tree.members);
        // Processes taken for others' children are reconsidered.
        self.unrelated.clear();
        self.is_new = true;
        self.scope.missing.retain(|missing| missing.what != "the service");
        self.add_missing(missing);
    }

    /// Describes the service, once its children are known: the one that listens may be a script's child.
    fn describe_service(&mut self) {
        let pids = self.trees[0].pids();
        let Some(first) = pids.first().copied() else { return };
        let listens = self.downstream.listen_addresses(&self.trees[0]);
        self.scope.subjects[0].about = describe_subject(TreeRole::Service, first, &pids, listens);
        let (level, why) = probe_access(first);
        self.scope.level = level;
        self.add_missing(why);
    }

    fn add_missing(&mut self, missing: Vec<MissingMeasure>) {
        for one in missing {
            if !self.scope.missing.contains(&one) {
                self.scope.missing.push(one);
            }
        }
    }

    /// Adds new descendants of watched processes.
    fn follow(&mut self, all: &HashSet<u32>) {
        let own = std::process::id();
        let is_known =
            |pid: &u32, trees: &[ProcessTree]| trees.iter().any(|tree| tree.members.contains_key(pid));
        let new = all.iter().filter(|pid| **pid != own && !self.unrelated.contains(pid));
        let new = new.filter(|pid| !is_known(pid, &self.trees));
        let mut new: Vec<procfs::Process> = new.filter_map(|pid| procfs::running_process(*pid)).collect();
        new.sort_by_key(|process| process.stat.start);
        loop {
            let before = new.len();
            new.retain(|process| {
                let tree = self.trees.iter_mut().find(|tree| tree.members.contains_key(&process.stat.parent));
                let Some(tree) = tree else { return true };
                tree.members.insert(process.stat.pid, process.name.clone());
                false
            });
            if new.len() == before {
                break;
            }
        }
        self.unrelated.extend(new.iter().map(|process| process.stat.pid));
    }
}
