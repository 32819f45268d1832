//! What was seen of the programs under load.

use super::{Family, Samples, families as family};
use crate::watched::{Trees, cpu_ns_of};
use record::watch::{Cgroup, Group, Jvm, Role, SubjectWindow, Watched, Window};
use std::collections::BTreeMap;

/// Groups of threads of one program, and other ends of its connections; what is more is summed.
const GROUPS: usize = 32;
/// States of one group; what is more is summed.
const STATES: usize = 16;
/// What the sum of all others is called.
const OTHERS: &str = "others";

/// The programs that are watched, with their counters since the run began.
#[derive(Debug, Clone, Default)]
pub(super) struct Target {
    trees: Trees,
    /// By the number of their tree.
    sums: Vec<Sums>,
    /// As they were last seen: processors that each may use, and all else.
    last: BTreeMap<usize, (f64, SubjectWindow)>,
    /// Processors by place.
    allowed: Vec<f64>,
}

/// What has grown since the run began; in nanoseconds, and numbers of things.
#[derive(Debug, Clone, Default)]
struct Sums {
    cpu: u64,
    groups: BTreeMap<String, (u64, u64)>,
    quota: Option<Quota>,
    jvm: Option<Java>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Quota {
    periods: u64,
    throttled: u64,
    throttled_ns: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Java {
    pauses: u64,
    pause_ns: u64,
    safepoint_ns: u64,
    compiles: u64,
}

impl Target {
    /// Who is watched from now on.
    pub fn watch(&mut self, watched: &Watched) {
        self.trees.watch(watched);
        self.allowed = watched.subjects.iter().map(|subject| subject.cpus).collect();
        self.sums.resize_with(self.trees.known().len(), Sums::default);
        self.last.clear();
    }

    /// What was seen of them within a second.
    pub fn see(&mut self, window: &Window) {
        self.last.clear();
        for (place, seen) in window.subjects.iter().enumerate() {
            let Some(tree) = self.trees.at(place) else { continue };
            if !seen.is_there() {
                continue;
            }
            self.sums[tree].add(seen);
            let allowed = self.allowed.get(place).copied().unwrap_or_default();
            self.last.insert(tree, (allowed, seen.clone()));
        }
    }

    pub fn tell(&self, samples: &mut Samples) {
        for (number, tree) in self.trees.known().iter().enumerate() {
            let role = match tree.role {
                Role::Service => "service",
                Role::Downstream => "downstream",
            };
            let mut told = Told { program: tree.title(), role, samples };
            told.sums(&self.sums[number]);
            if let Some((allowed, seen)) = self.last.get(&number) {
                told.last(*allowed, seen);
            }
        }
    }
}

impl Sums {
    fn add(&mut self, seen: &SubjectWindow) {
        self.cpu += cpu_ns_of(seen);
        for Group { name, on_cpu_ns, run_delay_ns, .. } in &seen.groups {
            let fits = self.groups.len() < GROUPS || self.groups.contains_key(name);
            let sums = self.groups.entry(if fits { name } else { OTHERS }.to_owned()).or_default();
            *sums = (sums.0 + on_cpu_ns, sums.1 + run_delay_ns);
        }
        if let Some(quota) = seen.cgroup.as_ref().and_then(|cgroup| cgroup.cpu.as_ref()) {
            let sums = self.quota.get_or_insert_default();
            sums.periods += quota.periods;
            sums.throttled += quota.throttled;
            sums.throttled_ns += quota.throttled_ns;
        }
        if let Some(jvm) = &seen.jvm {
            let sums = self.jvm.get_or_insert_default();
            sums.pauses += jvm.pauses;
            sums.pause_ns += jvm.pause_ns;
            sums.safepoint_ns += jvm.safepoint_ns;
            sums.compiles += jvm.compiles;
        }
    }
}

/// One program as it is told.
struct Told<'a> {
    program: String,
    role: &'static str,
    samples: &'a mut Samples,
}

impl Told<'_> {
    fn sums(&mut self, sums: &Sums) {
        self.seconds(&family::CPU, &[], sums.cpu);
        for (group, (cpu, delay)) in &sums.groups {
            self.seconds(&family::GROUP_CPU, &[group], *cpu);
            self.seconds(&family::GROUP_DELAY, &[group], *delay);
        }
        if let Some(quota) = sums.quota {
            self.count(&family::PERIODS, &[], quota.periods);
            self.count(&family::THROTTLED_PERIODS, &[], quota.throttled);
            self.seconds(&family::THROTTLED, &[], quota.throttled_ns);
        }
        if let Some(jvm) = sums.jvm {
            self.count(&family::GC, &[], jvm.pauses);
            self.seconds(&family::GC_TIME, &[], jvm.pause_ns);
            self.seconds(&family::SAFEPOINT_TIME, &[], jvm.safepoint_ns);
            self.count(&family::COMPILES, &[], jvm.compiles);
        }
    }

    fn last(&mut self, allowed: f64, seen: &SubjectWindow) {
        if allowed > 0.0 {
            self.number(&family::CPU_ALLOWED, &[], allowed);
        }
        self.count(&family::MEMORY, &[], seen.rss_bytes);
        self.count(&family::CLIENTS, &[], u64::from(seen.clients));
        for group in &seen.groups {
            self.group(group);
        }
        let peers = seen.peers.iter().map(|peer| (peer.address.clone(), peer.established));
        for (peer, established) in largest(peers, GROUPS) {
            self.number(&family::PEERS, &[&peer], established);
        }
        for listener in seen.listeners.iter().take(GROUPS) {
            self.count(&family::QUEUE, &[&listener.address], u64::from(listener.queued));
        }
        if let Some(cgroup) = &seen.cgroup {
            self.cgroup(cgroup);
        }
        if let Some(Jvm { heap_used_bytes, heap_max_bytes, .. }) = seen.jvm {
            self.count(&family::HEAP, &[], heap_used_bytes);
            self.count(&family::HEAP_MAX, &[], heap_max_bytes);
        }
    }

    fn group(&mut self, group: &Group) {
        let states = group.states.iter().map(|state| (state.wait.to_string(), state.threads));
        for (state, threads) in largest(states, STATES) {
            self.number(&family::THREADS, &[&group.name, &state], threads);
        }
    }

    fn cgroup(&mut self, cgroup: &Cgroup) {
        if let Some(quota) = cgroup.cpu.as_ref().filter(|quota| quota.cpus > 0.0) {
            self.number(&family::CPU_QUOTA, &[], quota.cpus);
        }
        if let Some(memory) = cgroup.memory.as_ref().filter(|memory| memory.limit_bytes > 0) {
            let used = memory.used_bytes.saturating_sub(memory.cache_bytes);
            self.count(&family::CGROUP_MEMORY, &[], used);
            self.count(&family::CGROUP_LIMIT, &[], memory.limit_bytes);
        }
    }

    fn seconds(&mut self, family: &'static Family, labels: &[&str], ns: u64) {
        self.number(family, labels, ns as f64 / 1e9);
    }

    fn number(&mut self, family: &'static Family, labels: &[&str], value: f64) {
        self.samples.number(family, &[&[self.program.as_str(), self.role][..], labels].concat(), value);
    }

    fn count(&mut self, family: &'static Family, labels: &[&str], value: u64) {
        self.samples.count(family, &[&[self.program.as_str(), self.role][..], labels].concat(), value);
    }
}

/// So many of some named amounts, the largest first, the rest as one sum; two of one name are one.
pub(super) fn largest(named: impl Iterator<Item = (String, f64)>, most: usize) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    named.for_each(|(name, amount)| *sums.entry(name).or_default() += amount);
    let mut all: Vec<(String, f64)> = sums.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    if all.len() > most {
        let others = all.split_off(most).into_iter().map(|(_, amount)| amount).sum();
        all.push((OTHERS.to_owned(), others));
    }
    all
}
