//! Whether neighbours used processors that the target waited for, but too few to be the cause of its limit.

use crate::ObservedRun;
use crate::loaded_window::{average, cpu, runnable};
use crate::observed_run::Trial;
use crate::processors::{host_cpus, is_machine_full};
use crate::saturated_threads::restless;
use record::watch::Window;
use record::{Caveat, CaveatDetails, CaveatKind, Purpose};
use std::collections::BTreeMap;
use units::Share;

/// If a target waits for less than this share of the time it wants a processor, having it would hardly help.
const MIN_WAIT_SHARE: f64 = 0.08;
/// Neighbours used at least this share of what it waited for.
const MIN_NEIGHBOUR_SHARE: f64 = 0.5;
/// At most this many are named, and none that used less than this fraction (1 ÷ n) of the first.
const MAX_NAMED: usize = 3;
const NAMED_DIVISOR: u64 = 10;

/// What neighbours took from it in the trials that overloaded it.
pub(super) fn neighbours(recording: &ObservedRun) -> Option<Caveat> {
    recording.places().into_iter().find_map(|place| {
        let tells = |purpose| matches!(purpose, Purpose::Measure | Purpose::Confirm | Purpose::Load);
        let is_bad = |trial: &&Trial| tells(trial.purpose) && trial.end.as_ref().is_some_and(|end| !end.good);
        let trials = recording.trials.iter().filter(is_bad).filter_map(|trial| trial.at(place));
        let windows: Vec<&Window> = trials.flat_map(|seen| &seen.windows).collect();
        let all = Window::merged(windows.iter().copied());
        let (host, service) = (all.host.as_ref()?, all.service()?);
        let allowed = recording.watched.get(place)?.subjects.first()?.cpus;
        // If it may use all processors and some are idle, nobody takes them; if it is pinned to some, it never leaves those idle.
        let never_idle =
            service.groups.iter().any(|group| restless(group, all.length().as_secs_f64()).is_some());
        let has_none = is_machine_full(&all) || allowed < host_cpus(&all) && never_idle;
        let used = cpu(service, all.length());
        let waited = runnable(service, all.length()).min(allowed - used);
        let neighbour_cpus = average(host.neighbours_cpu_ns, all.length());
        let matters = has_none
            && waited >= MIN_WAIT_SHARE * (used + waited)
            && neighbour_cpus >= MIN_NEIGHBOUR_SHARE * waited;
        matters.then(|| {
            let (names, waited) = (names(&windows), Share(waited / (used + waited)));
            Caveat::with_details(
                CaveatKind::OthersAtWork,
                CaveatDetails::Neighbours { names, used: neighbour_cpus, waited },
            )
        })
    })
}

/// Programs by the total processor time of their processes: a compiler starts one per file.
fn names(windows: &[&Window]) -> Vec<String> {
    let mut by_name = BTreeMap::new();
    for neighbour in
        windows.iter().filter_map(|window| window.host.as_ref()).flat_map(|host| &host.neighbours)
    {
        *by_name.entry(&neighbour.name).or_insert(0) += neighbour.cpu_ns;
    }
    let mut names: Vec<(&String, u64)> = by_name.into_iter().collect();
    names.sort_by_key(|(_, cpu)| std::cmp::Reverse(*cpu));
    let most = names.first().map_or(0, |(_, cpu)| *cpu);
    names
        .iter()
        .take(MAX_NAMED)
        .filter(|(_, cpu)| NAMED_DIVISOR * cpu >= most)
        .map(|(name, _)| (*name).clone())
        .collect()
}
