//! The target's current state, from the page's charts: for front ends without room for these.

use super::builder::PageBuilder;
use super::front;
use super::rows::LatestRow;
use super::target_columns::TreeColumns;
use crate::document::{PageCaveat, Phase, SeriesRole, Timeline};
use record::watch::ThreadWait;

/// Smaller averages are not mentioned.
const MIN_SHOWN: f64 = 0.05;

/// A watched process tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeStatus {
    /// Its role in the run.
    pub role: record::watch::TreeRole,
    /// Its name.
    pub name: String,
    /// Processors used.
    pub cpus: f64,
    /// Processors allowed: its quota, or the machine's; `None` if unknown.
    pub allowed: Option<f64>,
    /// Number of ready threads.
    pub ready: Option<f64>,
    /// Share of periods throttled.
    pub throttled: Option<f64>,
    /// Its thread groups, those with most threads and work first.
    pub groups: Vec<ThreadGroupStatus>,
}

/// Threads that share a name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadGroupStatus {
    /// Their name.
    pub name: String,
    /// Average number.
    pub threads: f64,
    /// Processors used.
    pub cpus: f64,
    /// What they do or wait for, most first.
    pub states: Vec<StackPart>,
}

/// A part of a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct StackPart {
    /// What they do or wait for.
    pub name: String,
    /// Determines the colour, as on the page.
    pub role: SeriesRole,
    /// Average number.
    pub count: f64,
}

impl PageBuilder {
    /// Who is watched, as last observed; omits who never was.
    pub fn trees(&self) -> Vec<TreeStatus> {
        let trees = self.target.tree_columns.iter().enumerate();
        trees.filter_map(|(place, tree)| self.tree(place, tree)).collect()
    }

    fn tree(&self, place: usize, tree: &TreeColumns) -> Option<TreeStatus> {
        let latest = self.rows.latest_row(&format!("cpu.{place}"))?;
        let of = |id: &str| latest.of(&format!("{id}.{place}"));
        let allowed = (tree.allowed_cpus > 0.0).then_some(tree.allowed_cpus);
        let quota = tree.limit("cgroup.cpu_quota").into_iter().chain(allowed).reduce(f64::min);
        // Threads are observed less often than processors.
        let threads = self.rows.latest_row(&format!("threads.{place}"));
        let group = |latest: &LatestRow<'_>| {
            let groups = tree.groups.by_amount().into_iter();
            groups.filter_map(|group| self.group(latest, place, tree, group)).collect()
        };
        Some(TreeStatus {
            role: tree.identity.role,
            name: tree.title(),
            cpus: of("cpu")?,
            allowed: quota,
            ready: of("ready"),
            throttled: of("cgroup.cpu_throttled_share").filter(|share| *share > 0.0),
            groups: threads.as_ref().map_or_else(Vec::new, group),
        })
    }

    fn group(
        &self,
        latest: &LatestRow<'_>,
        place: usize,
        tree: &TreeColumns,
        (group, name): (usize, &str),
    ) -> Option<ThreadGroupStatus> {
        let running = ThreadWait::Running.to_string();
        let states = &tree.states[group];
        let count = |state: usize| latest.of(&format!("threads.{place}.{group}.{state}"));
        let part = |(state, words): (usize, &str)| {
            let role =
                if words == running { SeriesRole::Busy } else { SeriesRole::Nth(self.target.word(words)) };
            Some(StackPart { name: words.to_owned(), role, count: count(state)? })
        };
        let other: f64 = states.hidden().filter_map(count).sum();
        let other = StackPart { name: "other".to_owned(), role: SeriesRole::Idle, count: other };
        let states = largest(states.shown().filter_map(part).chain([other]));
        let threads: f64 = states.iter().map(|state| state.count).sum();
        let cpus = latest.of(&format!("cpu.{place}.{group}")).unwrap_or(0.0);
        (threads >= MIN_SHOWN).then(|| ThreadGroupStatus { name: name.to_owned(), threads, cpus, states })
    }

    /// Activity of the database's sessions except idling, most first.
    pub fn sessions(&self) -> Vec<StackPart> {
        let Some(latest) = self.rows.latest_row("postgres.connections") else { return Vec::new() };
        let part = |(nth, words): (usize, &str)| {
            let count = latest.of(&format!("sessions.{nth}"))?;
            Some(StackPart { name: words.to_owned(), role: SeriesRole::Nth(nth as u8), count })
        };
        largest(self.target.sessions.shown().filter_map(part))
    }

    /// The last `seconds` of some columns, up to now.
    pub fn recent(&self, seconds: f64, ids: &[&str]) -> Timeline {
        self.rows.recent(self.rows.end() - seconds, ids)
    }

    /// All caveats.
    pub fn caveats(&self) -> Vec<PageCaveat> {
        front::page_caveats(&self.run, |_| false)
    }

    /// The last phases, at most `most`.
    pub fn phases(&self, most: usize) -> Vec<Phase> {
        front::phases(&self.run, most)
    }
}

fn largest(parts: impl Iterator<Item = StackPart>) -> Vec<StackPart> {
    let mut parts: Vec<StackPart> = parts.filter(|part| part.count >= MIN_SHOWN).collect();
    parts.sort_by(|a, b| b.count.total_cmp(&a.count));
    parts
}
