//! What was seen of the target, by the second: the columns, and which of many names are shown.

mod put;

use super::ranks::Ranks;
use super::rows::{Cells, Rows, Wanted};
use crate::watched::{self, Trees, cpu_of, session_words};
use put::Put;
use record::watch::{Group, Host, Postgres, SubjectWindow, Wait, Watched, Window};
use units::Nanos;

/// Groups of threads kept of one, and shown.
const GROUPS: (usize, usize) = (32, 6);
/// States kept of a group, and shown.
const STATES: (usize, usize) = (16, 8);
/// What sessions of a database do: kept, and shown.
const SESSIONS: (usize, usize) = (24, 7);
/// Other ends of connections, listening sockets and disks: kept, and shown.
const FEW: (usize, usize) = (16, 4);
/// Words for states over the whole run, so that the same state has the same colour everywhere.
const WORDS: usize = 64;
/// A thread that works says more than one that sleeps: by so many of them when groups are ranked.
const BUSY: f64 = 10.0;

/// Everything that is known of who was watched, but for the values.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub subjects: Vec<Tree>,
    pub sessions: Ranks,
    pub disks: Ranks,
    /// What any thread was seen to do, in the order in which that was first seen.
    pub words: Vec<String>,
    trees: Trees,
}

/// A process tree.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    pub who: watched::Tree,
    pub groups: Ranks,
    pub states: Vec<Ranks>,
    pub peers: Ranks,
    pub listeners: Ranks,
    /// The smallest quota seen last.
    pub quota: Option<f64>,
    /// Processors it may use.
    pub allowed: f64,
    pub memory_limit: Option<f64>,
    pub heap_max: Option<f64>,
    pub backlog: Option<f64>,
}

impl Seen {
    /// Who is watched from now on.
    pub fn watch(&mut self, watched: &Watched) {
        self.trees.watch(watched);
        let new = &self.trees.known()[self.subjects.len()..];
        self.subjects.extend(new.iter().map(|who| Tree { who: who.clone(), ..Tree::default() }));
        for (place, subject) in watched.subjects.iter().enumerate() {
            if let Some(tree) = self.trees.at(place) {
                self.subjects[tree].allowed = subject.cpus;
            }
        }
    }

    /// The values of a window.
    pub fn cells(&mut self, rows: &mut Rows, window: &Window) -> Cells {
        let length = window.length();
        let mut put = Put { rows, cells: Cells::new(), seconds: length.as_secs_f64() };
        if put.seconds <= 0.0 {
            return put.cells;
        }
        for (place, subject) in window.subjects.iter().enumerate() {
            let Some(tree) = self.trees.at(place) else { continue };
            self.subject(&mut put, tree, subject, length);
        }
        if let Some(host) = &window.host {
            self.host(&mut put, host);
        }
        if let Some(postgres) = &window.postgres {
            self.postgres(&mut put, postgres);
        }
        if let Some(network) = &window.network {
            put.network(network);
        }
        put.own(&window.own);
        put.cells
    }

    fn subject(&mut self, put: &mut Put<'_>, place: usize, seen: &SubjectWindow, length: Nanos) {
        let tree = &mut self.subjects[place];
        if !seen.is_there() {
            return;
        }
        let cpu = put.one(&format!("cpu.{place}"), cpu_of(seen, length));
        put.one(&format!("rss.{place}"), seen.rss_bytes as f64);
        put.one(&format!("clients.{place}"), f64::from(seen.clients));
        put.one(&format!("all_threads.{place}"), f64::from(seen.threads));
        if !seen.groups.is_empty() {
            let threads: f64 = seen.groups.iter().map(|group| group.threads).sum();
            let whole = put.one(&format!("threads.{place}"), threads);
            let delay: u64 = seen.groups.iter().map(|group| group.run_delay_ns).sum();
            put.share(&format!("ready.{place}"), delay);
            for group in &seen.groups {
                tree.group(put, place, group, (cpu, whole), &mut self.words);
            }
        }
        if let Some(cgroup) = &seen.cgroup {
            if let Some(quota) = cgroup.cpu.as_ref().filter(|quota| quota.cpus > 0.0) {
                tree.quota = Some(quota.cpus);
                if quota.periods > 0 {
                    let share = quota.throttled as f64 / quota.periods as f64;
                    put.one(&format!("throttled.{place}"), share);
                }
            }
            if let Some(memory) = cgroup.memory.as_ref().filter(|memory| memory.limit_bytes > 0) {
                tree.memory_limit = Some(memory.limit_bytes as f64);
                let used = memory.used_bytes.saturating_sub(memory.cache_bytes);
                put.one(&format!("memory.{place}"), used as f64);
            }
        }
        for peer in &seen.peers {
            if let Some(nth) = tree.peers.add(&peer.address, peer.established, FEW.0) {
                put.one(&format!("peers.{place}.{nth}"), peer.established);
            }
        }
        for listener in &seen.listeners {
            // One that never waits has an amount too, or it would not be shown.
            if let Some(nth) = tree.listeners.add(&listener.address, f64::from(listener.queued) + 1e-3, FEW.0)
            {
                put.one(&format!("queue.{place}.{nth}"), f64::from(listener.queued));
                tree.backlog = Some(tree.backlog.unwrap_or(0.0).max(f64::from(listener.backlog)));
            }
        }
        if let Some(jvm) = &seen.jvm {
            if jvm.heap_max_bytes > 0 {
                tree.heap_max = Some(jvm.heap_max_bytes as f64);
            }
            put.jvm(place, jvm);
        }
    }

    fn postgres(&mut self, put: &mut Put<'_>, postgres: &Postgres) {
        if postgres.looks > 0 {
            let all = put.one("database.connections", f64::from(postgres.connections));
            for sessions in postgres.sessions.iter().filter(|sessions| sessions.state != "idle") {
                if let Some(nth) = self.sessions.add(&session_words(sessions), sessions.count, SESSIONS.0) {
                    put.part(&format!("sessions.{nth}"), all, sessions.count);
                }
            }
        }
        put.rate("database.commits", postgres.commits);
        put.rate("database.rollbacks", postgres.rollbacks);
        if let Some(bytes) = postgres.wal_bytes {
            put.rate("database.wal", bytes);
        }
        put.rate("database.read", postgres.blocks_read);
    }

    fn host(&mut self, put: &mut Put<'_>, host: &Host) {
        for (id, ns) in [
            ("host.user", host.user_ns),
            ("host.system", host.system_ns),
            ("host.iowait", host.iowait_ns),
            ("host.steal", host.steal_ns),
        ] {
            let place = put.rows.column(id, true, None);
            put.cells.push((place, (ns as f64 / 1e9 / put.seconds) as f32));
        }
        put.share("host.neighbours", host.neighbours_cpu_ns);
        put.one("host.available", host.memory_available_bytes as f64);
        for disk in &host.disks {
            if let Some(nth) = self.disks.add(&disk.name, disk.busy_ms as f64 + 1e-3, FEW.0) {
                let busy = disk.busy_ms as f64 / 1000.0 / put.seconds;
                put.one(&format!("disk.{nth}"), busy.min(1.0));
            }
        }
    }

    /// Chooses anew what is shown; true if that changed.
    pub fn choose(&mut self) -> bool {
        let mut changed = self.sessions.choose(SESSIONS.1) | self.disks.choose(FEW.1);
        for tree in &mut self.subjects {
            changed |= tree.groups.choose(GROUPS.1) | tree.peers.choose(FEW.1) | tree.listeners.choose(FEW.1);
            for states in &mut tree.states {
                changed |= states.choose(STATES.1);
            }
        }
        changed
    }

    /// Every column that is shown.
    pub fn wanted(&self) -> Vec<Wanted> {
        let mut wanted = Wants::default();
        for (place, tree) in self.subjects.iter().enumerate() {
            for id in ["cpu", "rss", "clients", "all_threads", "threads", "ready", "throttled", "memory"] {
                wanted.one(format!("{id}.{place}"));
            }
            for id in ["heap", "gc", "safepoint", "compiles"] {
                wanted.one(format!("{id}.{place}"));
            }
            for (group, _) in tree.groups.shown() {
                wanted.one(format!("cpu.{place}.{group}"));
                let states = &tree.states[group];
                let id = |state: usize| format!("threads.{place}.{group}.{state}");
                states.shown().for_each(|(state, _)| wanted.one(id(state)));
                wanted.sum(format!("threads.{place}.{group}.other"), states.hidden().map(id));
            }
            let cpu = |group: usize| format!("cpu.{place}.{group}");
            wanted.sum(format!("cpu.{place}.other"), tree.groups.hidden().map(cpu));
            tree.peers.shown().for_each(|(nth, _)| wanted.one(format!("peers.{place}.{nth}")));
            tree.listeners.shown().for_each(|(nth, _)| wanted.one(format!("queue.{place}.{nth}")));
        }
        self.sessions.shown().for_each(|(nth, _)| wanted.one(format!("sessions.{nth}")));
        wanted.sum("sessions.other".to_owned(), self.sessions.hidden().map(|nth| format!("sessions.{nth}")));
        self.disks.shown().for_each(|(nth, _)| wanted.one(format!("disk.{nth}")));
        SINGLE.iter().for_each(|id| wanted.one((*id).to_owned()));
        wanted.0
    }

    /// The place of a state among all words, for its colour.
    pub fn word(&self, word: &str) -> u8 {
        self.words.iter().position(|known| known == word).unwrap_or(WORDS) as u8
    }
}

/// Columns of which there is one.
const SINGLE: [&str; 19] = [
    "database.connections",
    "database.commits",
    "database.rollbacks",
    "database.wal",
    "database.read",
    "net.overflows",
    "net.drops",
    "net.retransmitted",
    "net.time_wait",
    "host.user",
    "host.system",
    "host.iowait",
    "host.steal",
    "host.neighbours",
    "host.available",
    "own.all",
    "own.loops",
    "own.watch",
    "own.waiting",
];

#[derive(Default)]
struct Wants(Vec<Wanted>);

impl Wants {
    fn one(&mut self, id: String) {
        self.0.push(Wanted { of: vec![id.clone()], id });
    }

    fn sum(&mut self, id: String, of: impl Iterator<Item = String>) {
        let of: Vec<String> = of.collect();
        if !of.is_empty() {
            self.0.push(Wanted { id, of });
        }
    }
}

impl Tree {
    /// Its name for people.
    pub fn title(&self) -> String {
        self.who.title()
    }

    fn group(
        &mut self,
        put: &mut Put<'_>,
        place: usize,
        group: &Group,
        (cpu, whole): (usize, usize),
        words: &mut Vec<String>,
    ) {
        let busy = group.on_cpu_ns as f64 / 1e9;
        let amount = group.threads * put.seconds + BUSY * busy;
        let Some(nth) = self.groups.add(&group.name, amount, GROUPS.0) else { return };
        if nth >= self.states.len() {
            self.states.resize_with(nth + 1, Ranks::default);
        }
        put.part(&format!("cpu.{place}.{nth}"), cpu, busy / put.seconds);
        for state in &group.states {
            let word = state.wait.to_string();
            if !words.contains(&word) && words.len() < WORDS && state.wait != Wait::Running {
                words.push(word.clone());
            }
            if let Some(state_nth) = self.states[nth].add(&word, state.threads * put.seconds, STATES.0) {
                put.part(&format!("threads.{place}.{nth}.{state_nth}"), whole, state.threads);
            }
        }
    }
}
