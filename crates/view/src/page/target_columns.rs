//! Timeline columns for the target, and the choice of which of many names to show.

use super::rows::{Cells, PageColumn, TimelineRows};
use super::top_names::TopNames;
use crate::watched::{self, TreeRegistry, cpu_of, sessions_words};
use record::watch::{ThreadGroup, ThreadWait, TreeWindow, WatchCoverage, Window};
use std::collections::BTreeMap;
use units::Nanos;

/// Thread groups stored per process tree, and shown.
const GROUPS: (usize, usize) = (32, 6);
/// States stored per group, and shown.
const STATES: (usize, usize) = (16, 8);
/// Session states: stored, and shown.
const SESSIONS: (usize, usize) = (24, 7);
/// Remote ends of connections, listening sockets and disks: stored, and shown.
const PEERS: (usize, usize) = (16, 4);
/// State names over the whole run, so that a state keeps its colour everywhere.
const MAX_STATE_NAMES: usize = 64;
/// Weight of a running thread over a sleeping one when ranking groups.
const RUNNING_WEIGHT: f64 = 10.0;

/// Charted catalogue measures that exist once.
const CHARTED: [&str; 26] = units::texts![
    "process.resident" "process.clients" "cgroup.cpu_throttled_share" "cgroup.memory_without_cache"
    "jvm.heap" "jvm.pause" "jvm.safepoint" "jvm.compiles" "postgres.connections" "postgres.commits"
    "postgres.rollbacks" "postgres.wal" "postgres.blocks_read" "network.listen_overflows"
    "network.listen_drops" "network.segments_retransmitted" "host.user" "host.system" "host.iowait"
    "host.steal" "host.pace" "host.neighbours_cpu" "host.memory_available" "torment.cpu" "torment.watch_cpu"
    "torment.loops_ready"
];
/// Limits of what is drawn of a process tree: the last known.
const LIMITS: [&str; 3] = ["cgroup.cpu_quota", "cgroup.memory_limit", "jvm.heap_max"];
/// Sources that each machine has of its own.
const MACHINE: [&str; 3] = ["host", "network", "torment"];
/// Parts of one stack.
const STACKED: [&str; 4] = ["host.user", "host.system", "host.iowait", "host.steal"];

/// Everything known of what is watched, except the values.
#[derive(Debug, Clone, Default)]
pub(super) struct TargetColumns {
    pub tree_columns: Vec<TreeColumns>,
    pub sessions: TopNames,
    pub disks: TopNames,
    /// Thread states, in the order first seen.
    pub state_names: Vec<String>,
    /// Watched machines, in the order first reported.
    pub machines: Vec<WatchedMachine>,
    trees: TreeRegistry,
}

/// A watched machine.
#[derive(Debug, Clone, Default)]
pub(super) struct WatchedMachine {
    /// Its name; empty: torment's own.
    pub name: String,
    /// Its processors, once counted.
    pub cpus: Option<f64>,
    /// Suffix of its column ids; empty for the first.
    pub suffix: String,
}

#[derive(Debug, Clone, Default)]
pub(super) struct TreeColumns {
    pub identity: watched::TreeIdentity,
    pub groups: TopNames,
    pub states: Vec<TopNames>,
    pub peers: TopNames,
    pub listeners: TopNames,
    /// Processors allowed.
    pub allowed_cpus: f64,
    /// The last seen values, by name.
    limits: BTreeMap<String, f64>,
    pub backlog: Option<f64>,
}

impl WatchedMachine {
    /// The id of this machine's column or chart.
    pub fn id(&self, of: &str) -> String {
        format!("{of}{}", self.suffix)
    }
}

impl TargetColumns {
    /// Sets who is watched on a machine.
    pub fn set_watched(&mut self, machine: &str, watched: &WatchCoverage) {
        self.machine(machine);
        self.trees.set_watched(machine, watched);
        let new = &self.trees.known()[self.tree_columns.len()..];
        self.tree_columns
            .extend(new.iter().map(|who| TreeColumns { identity: who.clone(), ..TreeColumns::default() }));
        for (index, subject) in watched.subjects.iter().enumerate() {
            if let Some(tree) = self.trees.at(machine, index) {
                self.tree_columns[tree].allowed_cpus = subject.cpus;
            }
        }
    }

    /// A machine's index.
    fn machine(&mut self, name: &str) -> usize {
        let known = self.machines.iter().position(|known| known.name == name);
        known.unwrap_or_else(|| {
            let behind = match self.machines.len() {
                0 => String::new(),
                nth => format!("@{nth}"),
            };
            self.machines.push(WatchedMachine { name: name.to_owned(), cpus: None, suffix: behind });
            self.machines.len() - 1
        })
    }

    /// The values of a machine's window.
    pub fn cells(&mut self, rows: &mut TimelineRows, machine: &str, window: &Window) -> Cells {
        let length = window.length();
        let mut writer = CellWriter { rows, cells: Cells::new(), seconds: length.as_secs_f64() };
        if writer.seconds <= 0.0 {
            return writer.cells;
        }
        let number = self.machine(machine);
        if let Some(host) = &window.host {
            self.machines[number].cpus = Some(f64::from(host.cpus)).filter(|cpus| *cpus > 0.0);
        }
        self.singles(&mut writer, number, window);
        for (index, subject) in window.subjects.iter().enumerate() {
            let Some(tree) = self.trees.at(machine, index).filter(|_| subject.is_there()) else { continue };
            self.subject(&mut writer, tree, subject, length);
        }
        for disk in window.host.iter().flat_map(|host| &host.disks) {
            let name = if number == 0 { disk.name.clone() } else { format!("{} on {machine}", disk.name) };
            if let Some(nth) = self.disks.add(&name, disk.busy_ms as f64 + 1e-3, PEERS.0) {
                let busy = disk.busy_ms as f64 / 1000.0 / writer.seconds;
                writer.one(&format!("disk.{nth}"), busy.min(1.0));
            }
        }
        if let Some(postgres) = window.postgres.as_ref().filter(|postgres| postgres.looks > 0) {
            let all = writer.rows.column("postgres.connections", false, None);
            for sessions in postgres.sessions.iter().filter(|sessions| sessions.state != "idle") {
                if let Some(nth) = self.sessions.add(&sessions_words(sessions), sessions.count, SESSIONS.0) {
                    writer.part(&format!("sessions.{nth}"), all, sessions.count);
                }
            }
        }
        writer.cells
    }

    /// Measures that exist once, per process tree or at all: counters per second, and so times as shares.
    fn singles(&mut self, writer: &mut CellWriter<'_>, machine: usize, window: &Window) {
        let WatchedMachine { name, suffix: behind, .. } = &self.machines[machine];
        window.visit(&mut |of, measure, counted| {
            if !of.names.is_empty() {
                return;
            }
            let mut id = format!("{}.{}", of.source, measure.name);
            let value = measure.quantity.of(counted) / if measure.grows { writer.seconds } else { 1.0 };
            let tree = of.subject.and_then(|index| self.trees.at(name, index));
            let is_one_too_many = of.subject.is_some() && tree.is_none();
            if let Some(tree) = tree.filter(|_| LIMITS.contains(&id.as_str())) {
                self.tree_columns[tree].limits.insert(id, value);
                return;
            }
            if !CHARTED.contains(&id.as_str()) || is_one_too_many {
                return;
            }
            let is_stacked = STACKED.contains(&id.as_str());
            if let Some(tree) = tree {
                id += &format!(".{tree}");
            } else if MACHINE.contains(&of.source) {
                id += behind;
            }
            let column = writer.rows.column(&id, is_stacked, None);
            writer.cells.push((column, value as f32));
        });
    }

    fn subject(&mut self, writer: &mut CellWriter<'_>, place: usize, window: &TreeWindow, length: Nanos) {
        let tree = &mut self.tree_columns[place];
        let cpu = writer.one(&format!("cpu.{place}"), cpu_of(window, length));
        if !window.groups.is_empty() {
            let threads: f64 = window.groups.iter().map(|group| group.threads).sum();
            let whole = writer.one(&format!("threads.{place}"), threads);
            let delay: u64 = window.groups.iter().map(|group| group.run_delay_ns).sum();
            writer.one(&format!("ready.{place}"), delay as f64 / 1e9 / writer.seconds);
            for group in &window.groups {
                tree.group(writer, place, group, (cpu, whole), &mut self.state_names);
            }
        }
        for peer in &window.peers {
            if let Some(nth) = tree.peers.add(&peer.address, peer.established, PEERS.0) {
                writer.one(&format!("peers.{place}.{nth}"), peer.established);
            }
        }
        for listener in &window.listeners {
            // One that never queues needs an amount too, or it would not be shown.
            if let Some(nth) =
                tree.listeners.add(&listener.address, f64::from(listener.queued) + 1e-3, PEERS.0)
            {
                writer.one(&format!("queue.{place}.{nth}"), f64::from(listener.queued));
                tree.backlog = Some(tree.backlog.unwrap_or(0.0).max(f64::from(listener.backlog)));
            }
        }
    }

    /// Chooses again what is shown; true if that changed.
    pub fn choose_shown(&mut self) -> bool {
        let mut changed = self.sessions.choose(SESSIONS.1) | self.disks.choose(PEERS.1);
        for tree in &mut self.tree_columns {
            changed |=
                tree.groups.choose(GROUPS.1) | tree.peers.choose(PEERS.1) | tree.listeners.choose(PEERS.1);
            for states in &mut tree.states {
                changed |= states.choose(STATES.1);
            }
        }
        changed
    }

    /// All shown columns.
    pub fn wanted(&self) -> Vec<PageColumn> {
        let mut page_columns = PageColumns::default();
        for (place, tree) in self.tree_columns.iter().enumerate() {
            for id in ["cpu", "threads", "ready"].iter().chain(&CHARTED) {
                page_columns.one(format!("{id}.{place}"));
            }
            for (group, _) in tree.groups.shown() {
                page_columns.one(format!("cpu.{place}.{group}"));
                let states = &tree.states[group];
                let id = |state: usize| format!("threads.{place}.{group}.{state}");
                states.shown().for_each(|(state, _)| page_columns.one(id(state)));
                page_columns.sum(format!("threads.{place}.{group}.other"), states.hidden().map(id));
            }
            let cpu = |group: usize| format!("cpu.{place}.{group}");
            page_columns.sum(format!("cpu.{place}.other"), tree.groups.hidden().map(cpu));
            tree.peers.shown().for_each(|(nth, _)| page_columns.one(format!("peers.{place}.{nth}")));
            tree.listeners.shown().for_each(|(nth, _)| page_columns.one(format!("queue.{place}.{nth}")));
        }
        self.sessions.shown().for_each(|(nth, _)| page_columns.one(format!("sessions.{nth}")));
        page_columns
            .sum("sessions.other".to_owned(), self.sessions.hidden().map(|nth| format!("sessions.{nth}")));
        self.disks.shown().for_each(|(nth, _)| page_columns.one(format!("disk.{nth}")));
        for id in CHARTED {
            let source = id.split('.').next().unwrap_or_default();
            let machines = self.machines.iter().skip(1).filter(|_| MACHINE.contains(&source));
            page_columns.one(id.to_owned());
            machines.for_each(|machine| page_columns.one(format!("{id}{}", machine.suffix)));
        }
        page_columns.0
    }

    /// A state's index, for its colour.
    pub fn word(&self, word: &str) -> u8 {
        self.state_names.iter().position(|known| known == word).unwrap_or(MAX_STATE_NAMES) as u8
    }
}

#[derive(Default)]
struct PageColumns(Vec<PageColumn>);

impl PageColumns {
    fn one(&mut self, id: String) {
        self.0.push(PageColumn { sources: vec![id.clone()], id });
    }

    fn sum(&mut self, id: String, of: impl Iterator<Item = String>) {
        let of: Vec<String> = of.collect();
        if !of.is_empty() {
            self.0.push(PageColumn { id, sources: of });
        }
    }
}

/// Receives values.
struct CellWriter<'a> {
    rows: &'a mut TimelineRows,
    cells: Cells,
    /// The window's length.
    seconds: f64,
}

impl CellWriter<'_> {
    fn one(&mut self, id: &str, value: f64) -> usize {
        let column = self.rows.column(id, false, None);
        self.cells.push((column, value as f32));
        column
    }

    /// A part of a stack: zero if the whole was observed and it was not.
    fn part(&mut self, id: &str, whole: usize, value: f64) {
        let column = self.rows.column(id, true, Some(whole));
        self.cells.push((column, value as f32));
    }
}

impl TreeColumns {
    /// A limit's last seen value: `jvm.heap_max`.
    pub fn limit(&self, name: &str) -> Option<f64> {
        self.limits.get(name).copied()
    }

    pub fn title(&self) -> String {
        self.identity.title()
    }

    fn group(
        &mut self,
        writer: &mut CellWriter<'_>,
        place: usize,
        group: &ThreadGroup,
        (cpu, whole): (usize, usize),
        words: &mut Vec<String>,
    ) {
        let busy = group.on_cpu_ns as f64 / 1e9;
        let amount = group.threads * writer.seconds + RUNNING_WEIGHT * busy;
        let Some(nth) = self.groups.add(&group.name, amount, GROUPS.0) else { return };
        if nth >= self.states.len() {
            self.states.resize_with(nth + 1, TopNames::default);
        }
        writer.part(&format!("cpu.{place}.{nth}"), cpu, busy / writer.seconds);
        for state in &group.states {
            let word = state.wait.to_string();
            if !words.contains(&word) && words.len() < MAX_STATE_NAMES && state.wait != ThreadWait::Running {
                words.push(word.clone());
            }
            if let Some(state_nth) = self.states[nth].add(&word, state.threads * writer.seconds, STATES.0) {
                writer.part(&format!("threads.{place}.{nth}.{state_nth}"), whole, state.threads);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unknown name would draw nothing.
    #[test]
    fn what_is_drawn_is_in_the_catalogue() {
        let known = record::catalogue::catalogue_rows();
        for id in CHARTED.iter().chain(&LIMITS).chain(&STACKED) {
            let is_it = |source: &str, name: &str| format!("{source}.{name}") == *id;
            assert!(known.iter().any(|row| is_it(row.source, row.measure.name)), "{id}");
        }
    }
}
