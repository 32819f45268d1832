use super::sessions_words;
use record::watch::{ThreadWait, TreeWindow, WatchCoverage, Window};
use std::collections::BTreeMap;
use units::Nanos;

/// What a window comes to, in a few figures.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WindowFigures {
    /// Processors that the service used.
    pub cpus: f64,
    /// Processors that it may use; 0 if not known.
    pub allowed: f64,
    /// Its threads that were ready and waited for a processor, on average; none if not observable.
    pub ready: Option<f64>,
    /// What its threads wait for, with average numbers, the most first; threads that idle by their nature
    /// are among them.
    pub waits: Vec<(String, f64)>,
    /// What sessions of the database do but for idling, with average numbers, the most first.
    pub sessions: Vec<(String, f64)>,
}

/// The figures of a window; none if no process is watched.
pub fn window_figures(window: &Window, watched: &WatchCoverage) -> Option<WindowFigures> {
    let service = window.subjects.first().filter(|_| watched.has_processes())?;
    let length = window.length();
    let ready: u64 = service.groups.iter().map(|group| group.run_delay_ns).sum();
    let sessions = window.postgres.iter().flat_map(|postgres| &postgres.sessions);
    let sessions = sessions.filter(|s| s.state != "idle" && s.count >= 0.05);
    Some(WindowFigures {
        cpus: cpu_of(service, length),
        allowed: watched.subjects.first().map_or(0.0, |subject| subject.cpus),
        ready: (!service.groups.is_empty()).then(|| average_over(ready, length)),
        waits: waits(service),
        sessions: sessions.map(|s| (sessions_words(s), s.count)).collect(),
    })
}

/// Processors used: by the threads where they were seen, else by the processes' own account.
pub(crate) fn cpu_of(subject: &TreeWindow, length: Nanos) -> f64 {
    let threads: u64 = subject.groups.iter().map(|group| group.on_cpu_ns).sum();
    average_over(threads.max(subject.cpu_ns), length)
}

/// A sum of nanoseconds as an average number.
pub(crate) fn average_over(ns: u64, length: Nanos) -> f64 {
    ns as f64 / (length.0 as f64).max(1.0)
}

/// How many threads of a process tree wait for what, in words, the most first; without what hardly any thread does.
fn waits(subject: &TreeWindow) -> Vec<(String, f64)> {
    let mut waits: BTreeMap<&ThreadWait, f64> = BTreeMap::new();
    for state in subject.groups.iter().flat_map(|group| &group.states) {
        if state.wait != ThreadWait::Running {
            *waits.entry(&state.wait).or_default() += state.threads;
        }
    }
    let shown = waits.into_iter().filter(|(_, threads)| *threads >= 0.05);
    let mut waits: Vec<_> = shown.map(|(wait, threads)| (wait.to_string(), threads)).collect();
    waits.sort_by(|a, b| b.1.total_cmp(&a.1));
    waits
}
