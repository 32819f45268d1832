use super::sessions_words;
use record::watch::{ThreadWait, TreeWindow, WatchCoverage, Window};
use std::collections::BTreeMap;
use units::Nanos;

/// A window's key figures.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WindowFigures {
    /// Processors used by the service.
    pub cpus: f64,
    /// Processors allowed; 0 if unknown.
    pub allowed: f64,
    /// Average number of ready threads; `None` if not observable.
    pub ready: Option<f64>,
    /// What its threads wait for, with average numbers, most first; includes idle threads.
    pub waits: Vec<(String, f64)>,
    /// Activity of the database's sessions except idling, with average numbers, most first.
    pub sessions: Vec<(String, f64)>,
}

/// A window's figures; `None` if no process is watched.
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

/// Processors used: by the threads if observed, else as the processes report.
pub(crate) fn cpu_of(subject: &TreeWindow, length: Nanos) -> f64 {
    let threads: u64 = subject.groups.iter().map(|group| group.on_cpu_ns).sum();
    average_over(threads.max(subject.cpu_ns), length)
}

/// A sum of nanoseconds as an average count.
pub(crate) fn average_over(ns: u64, length: Nanos) -> f64 {
    ns as f64 / (length.0 as f64).max(1.0)
}

/// How many threads of a process tree wait for what, most first; without negligible waits.
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
