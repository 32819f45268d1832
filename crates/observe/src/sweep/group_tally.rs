//! Totals of thread groups until a window is cut.

use super::wait_table::{WaitId, WaitTable};
use record::watch::{BusyThreads, ThreadGroup, ThreadState, ThreadWait};

/// Threads of the same name and subject.
#[derive(Debug, Default)]
pub(crate) struct GroupTally {
    pub subject: usize,
    pub name: String,
    /// Its current threads.
    pub members: Vec<u32>,
    pub on_cpu_ns: u64,
    pub run_delay_ns: u64,
    pub switches: u64,
    /// See [`super::thread_table::ThreadTable::update_restless`].
    pub busy: BusyThreads,
    /// Number of threads, summed over looks.
    threads: f64,
    states: Vec<(WaitId, f64)>,
    /// In this look: threads looked at whose wait was already known; others to be inspected; and how many
    /// of those were.
    pub known: u32,
    pub to_inspect: u32,
    pub inspected: u32,
}

impl GroupTally {
    pub fn new(subject: usize, name: String) -> Self {
        Self { subject, name, ..Self::default() }
    }

    /// A look begins.
    pub fn begin(&mut self) {
        (self.known, self.to_inspect, self.inspected) = (0, 0, 0);
    }

    /// How many threads each one stands for: of those whose wait was known, and of those inspected. The
    /// latter stand for all that moved and sleep; leaving them out would make the group look more idle than
    /// it is.
    pub fn weights(&self) -> (f64, f64) {
        let (known, to_inspect, inspected) =
            (f64::from(self.known), f64::from(self.to_inspect), f64::from(self.inspected));
        let moved = if inspected > 0.0 { to_inspect / inspected } else { 0.0 };
        let covered = known + if inspected > 0.0 { to_inspect } else { 0.0 };
        let each = if covered > 0.0 { self.members.len() as f64 / covered } else { 0.0 };
        (each, each * moved)
    }

    pub fn count(&mut self, wait: WaitId, weight: f64) {
        match self.states.iter_mut().find(|(known, _)| *known == wait) {
            Some((_, sum)) => *sum += weight,
            None => self.states.push((wait, weight)),
        }
    }

    /// A look ends.
    pub fn end(&mut self) {
        self.threads += self.members.len() as f64;
    }

    /// The group's part of the window that ends now, after this many looks; none if empty.
    pub fn cut(&mut self, waits: &WaitTable, looks: u32) -> Option<ThreadGroup> {
        let threads = self.threads / f64::from(looks.max(1));
        let sum: f64 = self.states.iter().map(|(_, weight)| weight).sum();
        let mut states: Vec<ThreadState> = self
            .states
            .iter()
            .filter(|(_, weight)| *weight > 0.0)
            .map(|(wait, weight)| ThreadState {
                wait: waits.wait(*wait).clone(),
                threads: weight / sum * threads,
            })
            .collect();
        if states.is_empty() && threads > 0.0 {
            states.push(ThreadState { wait: ThreadWait::Unknown, threads });
        }
        states.sort_by(|a, b| b.threads.total_cmp(&a.threads).then_with(|| a.wait.cmp(&b.wait)));
        let group = ThreadGroup {
            name: self.name.clone(),
            threads,
            on_cpu_ns: std::mem::take(&mut self.on_cpu_ns),
            run_delay_ns: std::mem::take(&mut self.run_delay_ns),
            switches: std::mem::take(&mut self.switches),
            full: Some(std::mem::take(&mut self.busy)),
            states,
        };
        self.threads = 0.0;
        self.states.clear();
        (group.threads > 0.0 || group.on_cpu_ns > 0).then_some(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_sum_to_threads_whatever_was_looked_at() {
        let mut waits = WaitTable::default();
        let [sleep, events] = [ThreadWait::Sleep, ThreadWait::Events].map(|wait| waits.intern(wait));
        let mut tally = GroupTally::new(0, "worker".to_owned());
        tally.members = (0..10).collect();
        // Of ten threads six were looked at: two had not moved, and of four that had, one was inspected.
        tally.begin();
        (tally.known, tally.to_inspect, tally.inspected) = (2, 4, 1);
        let (settled, moved) = tally.weights();
        tally.count(sleep, 2.0 * settled);
        tally.count(events, moved);
        tally.end();
        // Nothing could be looked at.
        tally.begin();
        assert_eq!(tally.weights(), (0.0, 0.0));
        tally.end();
        let group = tally.cut(&waits, 2).expect("there are threads");
        assert!((group.threads - 10.0).abs() < 1e-9);
        let shares: Vec<(ThreadWait, f64)> = group.states.into_iter().map(|s| (s.wait, s.threads)).collect();
        assert!((shares[0].1 - 20.0 / 3.0).abs() < 1e-9 && shares[0].0 == ThreadWait::Events, "{shares:?}");
        assert!((shares[1].1 - 10.0 / 3.0).abs() < 1e-9, "{shares:?}");
        assert_eq!(tally.cut(&waits, 1), None);
    }
}
