//! One part of a run: offered load, results, and observations.

use crate::loaded_window::{LoadedWindow, cpu, runnable};
use crate::observed_run::Second;
use crate::run_split::RunPart;
use crate::workers::Workers;
use record::watch::{PostgresWindow, TreeWindow, Window};
use record::{Failure, Outcome};
use std::collections::BTreeMap;
use units::Nanos;

/// The part where the target was well, or where it was degraded.
pub(crate) struct PartSummary<'a> {
    pub load: LoadSummary,
    /// All windows merged; of zero length if nothing was observed.
    pub merged: Window,
    pub windows: Vec<LoadedWindow<'a>>,
    pub seconds: Vec<&'a Second>,
    /// The service's tree; `all.subjects` may be empty.
    service: TreeWindow,
    /// Its workers, if it has any.
    pub workers: Option<Workers>,
}

/// Load and answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoadSummary {
    /// Arrivals per second.
    pub offered: f64,
    /// Answers as expected, per second.
    pub answered: f64,
    /// Arrivals outstanding, on average.
    pub outstanding: f64,
    /// The most outstanding in any second.
    pub max_outstanding: f64,
    /// Sent and not done, due and not sent, connections: averages over the ends of the seconds.
    pub in_flight: f64,
    pub backlog: f64,
    pub connections: f64,
    /// torment's loops, and the processors they used.
    pub loops: f64,
    pub loops_cpu: f64,
    /// Medians over the seconds of their medians and p99s.
    pub response_p50: Option<f64>,
    pub response_p99: Option<f64>,
    /// The pacing: the median second's p99.
    pub pacing_p99: Option<f64>,
    pub timeouts: u64,
    pub failures: BTreeMap<Failure, u64>,
    pub seconds: f64,
}

impl LoadSummary {
    fn of(seconds: &[&Second]) -> Self {
        let time: Nanos = seconds.iter().fold(Nanos::ZERO, |sum, s| sum + s.elapsed);
        let span = time.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut failures: BTreeMap<Failure, u64> = BTreeMap::new();
        for (failure, count) in seconds.iter().flat_map(|s| &s.failures) {
            *failures.entry(failure.clone()).or_default() += count;
        }
        let sum = |of: &dyn Fn(&Second) -> u64| seconds.iter().map(|s| of(s)).sum::<u64>();
        let mean = |of: &dyn Fn(&Second) -> f64| {
            seconds.iter().map(|s| of(s) * s.elapsed.as_secs_f64()).sum::<f64>() / span
        };
        Self {
            offered: sum(&|s| s.due) as f64 / span,
            answered: mean(&Second::answered),
            outstanding: mean(&|s| s.outstanding),
            in_flight: mean(&|s| s.in_flight as f64),
            backlog: mean(&|s| s.backlog as f64),
            connections: mean(&|s| s.connections as f64),
            loops: seconds.iter().map(|s| f64::from(s.loops)).fold(0.0, f64::max),
            loops_cpu: sum(&|s| s.cpu.0) as f64 / 1e9 / span,
            max_outstanding: seconds.iter().map(|s| s.outstanding).fold(0.0, f64::max),
            response_p50: median(seconds.iter().filter_map(|s| s.response_p50)),
            response_p99: median(seconds.iter().filter_map(|s| s.response_p99)),
            pacing_p99: median(seconds.iter().filter_map(|s| s.pacing_p99)),
            timeouts: sum(&|s| s.outcomes.get(Outcome::Timeout)),
            failures,
            seconds: time.as_secs_f64(),
        }
    }

    /// Arrivals whose failure satisfies `is`.
    pub fn count_failures(&self, is: impl Fn(&Failure) -> bool) -> u64 {
        self.failures.iter().filter(|(failure, _)| is(failure)).map(|(_, count)| count).sum()
    }
}

fn median(times: impl Iterator<Item = Nanos>) -> Option<f64> {
    let mut times: Vec<Nanos> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).map(|time| time.as_secs_f64())
}

impl<'a> PartSummary<'a> {
    /// Without its workers: these are known once there are two sides to compare.
    pub fn of(part: &RunPart<'a>) -> Self {
        let load = LoadSummary::of(&part.seconds);
        let windows = part.windows.clone();
        let merged = Window::merged(windows.iter().map(|moment| moment.window));
        let service = merged.subjects.first().cloned().unwrap_or_default();
        Self { load, merged, windows, seconds: part.seconds.clone(), service, workers: None }
    }

    /// For a downstream: at most what waited in each window is outstanding there.
    pub fn limit_outstanding(&mut self) {
        let waited = self.windows.iter().map(|moment| moment.outstanding);
        let sum: f64 = waited.clone().sum();
        self.load.outstanding = sum / self.windows.len().max(1) as f64;
        self.load.max_outstanding = waited.fold(0.0, f64::max);
    }

    /// The service's tree.
    pub fn service(&self) -> &TreeWindow {
        &self.service
    }

    /// All of it as one window.
    pub fn as_window(&self) -> LoadedWindow<'_> {
        LoadedWindow { window: &self.merged, outstanding: self.load.outstanding }
    }

    /// Observed seconds.
    pub fn observed_seconds(&self) -> f64 {
        self.merged.length().as_secs_f64()
    }

    /// Processors the service used.
    pub fn cpu(&self) -> f64 {
        cpu(&self.service, self.merged.length())
    }

    /// Processors torment used.
    pub fn torment_cpu(&self) -> f64 {
        self.per_second(self.merged.own.cpu_ns) / 1e9
    }

    /// Processors used by programs that are neither observed nor torment.
    pub fn neighbours_cpu(&self) -> f64 {
        self.merged.host.as_ref().map_or(0.0, |host| self.per_second(host.neighbours_cpu_ns) / 1e9)
    }

    /// Its threads that were ready for a processor.
    pub fn runnable(&self) -> f64 {
        runnable(&self.service, self.merged.length())
    }

    /// The database's statistics, if any look at it succeeded.
    pub fn postgres(&self) -> Option<&PostgresWindow> {
        self.merged.postgres.as_ref().filter(|postgres| postgres.looks > 0)
    }

    /// A counter as a rate per second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.observed_seconds().max(f64::MIN_POSITIVE)
    }

    /// The share and the number of windows in which it holds.
    pub fn share_of_windows(&self, is: impl Fn(&LoadedWindow<'_>) -> bool) -> (f64, u32) {
        let count = self.windows.iter().filter(|moment| is(moment)).count();
        (count as f64 / self.windows.len().max(1) as f64, count as u32)
    }
}
