//! Bystanders: threads named like workers that serve no request, such as supervisors, helpers, acceptors and dispatchers.
//!
//! A worker's state changes with the load. A thread that does the same at rest, when well and when degraded is a bystander. The target is
//! not observed at rest: how many threads were in a state then is extrapolated from the other two, for the number occupied by requests
//! grows with the answered rate (Little's law, at constant service time).

use crate::loaded_window::LoadedWindow;
use crate::part_summary::PartSummary;
use crate::workers::Bystanders;
use record::watch::{ThreadGroup, ThreadWait};
use std::collections::BTreeMap;

/// How many more threads than processes a service may have: a supervisor of its own, and one set apart by it.
const EXTRA_THREADS: f64 = 2.0;
/// A permanent thread is seen for all but this share of the time; half a thread means workers between two requests.
const MAX_MISSED_SHARE: f64 = 0.25;
/// Extrapolated from two averages, a number at rest is known no better than this; the spare threads, which were observed, decide.
const REST_ERROR: f64 = 0.5;
/// Nothing is extrapolated unless the answered rate when degraded is at least this many times that when well.
const MIN_RATE_RATIO: f64 = 1.2;

/// Bystanders by both sides.
pub(crate) fn find_bystanders(well: &PartSummary<'_>, degraded: &PartSummary<'_>) -> Bystanders {
    let processes = f64::from(degraded.service().processes.max(well.service().processes));
    let mut by_group = BTreeMap::new();
    for group in &degraded.service().groups {
        let Some(before) = well.service().group(&group.name) else { continue };
        let mut found = in_group(well, degraded, before, group);
        // Many that look idle under any load may still be workers that wait for each other.
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut room = (processes + EXTRA_THREADS).min(group.threads.round() - 1.0);
        found.retain(|(wait, count)| {
            let is_futex = matches!(wait, ThreadWait::Futex { .. });
            // Threads that look busy in excess of the requests are surely none.
            if is_busy_wait(wait) && !is_futex || is_permanent(well, degraded, before, group, wait) {
                return true;
            }
            let queueing = is_futex && !is_busy_wait(wait);
            let fits = *count <= room && !(queueing && *count > processes);
            room -= if fits { *count } else { 0.0 };
            fits
        });
        by_group.insert(group.name.clone(), found.into_iter().collect());
    }
    Bystanders(by_group)
}

fn in_group(
    well: &PartSummary<'_>,
    degraded: &PartSummary<'_>,
    before: &ThreadGroup,
    after: &ThreadGroup,
) -> Vec<(ThreadWait, f64)> {
    let answered = (well.load.answered, degraded.load.answered);
    let extrapolate = can_extrapolate(well, degraded);
    // A request occupies at most one thread: at most the excess of busy ones over requests are bystanders.
    let mut spare = spare_threads(well, &after.name);
    let mut found = Vec::new();
    // Bystanders make no connections.
    for state in after.states.iter().filter(|state| state.wait != ThreadWait::Socket) {
        let (then, now) = (before.waiting(&state.wait), state.threads);
        let at_rest = then - answered.0 * (now - then) / (answered.1 - answered.0);
        let mut same = then.min(now);
        match (is_busy_wait(&state.wait), extrapolate) {
            (true, true) => same = same.min(at_rest + REST_ERROR).min(spare),
            (true, false) => continue,
            (false, true) => same = same.min(at_rest),
            (false, false) => {}
        }
        // In the state where workers rest between two requests, a fraction of one is a worker.
        let same = if then >= now + 1.0 { same.floor() } else { whole_threads(same) };
        if same >= 1.0 {
            if is_busy_wait(&state.wait) {
                spare -= same;
            }
            found.push((state.wait.clone(), same));
        }
    }
    found
}

/// Whether the same whole number of a group's threads waits so in each window, while at least one more of the others is busy: resting
/// workers would then be one fewer.
fn is_permanent(
    well: &PartSummary<'_>,
    degraded: &PartSummary<'_>,
    before: &ThreadGroup,
    after: &ThreadGroup,
    wait: &ThreadWait,
) -> bool {
    let count_in =
        |moment: &LoadedWindow<'_>| Some(whole_threads(moment.service()?.group(&after.name)?.waiting(wait)));
    let mut counts = well.windows.iter().chain(&degraded.windows).filter_map(count_in);
    let first = counts.next();
    can_extrapolate(well, degraded)
        && all_busy(after) >= all_busy(before) + 1.0
        && counts.all(|count| Some(count) == first)
}

/// Threads of a group that look busy. If some wait for connections they made, this includes those on one that closed before it was
/// identified.
fn all_busy(group: &ThreadGroup) -> f64 {
    let connects = group.states.iter().any(|state| matches!(state.wait, ThreadWait::Peer { .. }));
    let is_busy = |wait: &ThreadWait| is_busy_wait(wait) || connects && *wait == ThreadWait::Socket;
    group.states.iter().filter(|state| is_busy(&state.wait)).map(|state| state.threads).sum()
}

/// Whether the answered rates differ enough for an extrapolation.
fn can_extrapolate(well: &PartSummary<'_>, degraded: &PartSummary<'_>) -> bool {
    well.load.answered > 0.0 && degraded.load.answered >= MIN_RATE_RATIO * well.load.answered
}

/// Threads of a group that look busy beyond the requests outstanding while the target was well: the median over the windows with the
/// fewest requests, whose averages are the most precise.
fn spare_threads(well: &PartSummary<'_>, name: &str) -> f64 {
    const LEAST: usize = 5;
    let of = |moment: &LoadedWindow<'_>| {
        Some((moment.outstanding, all_busy(moment.service()?.group(name)?) - moment.outstanding))
    };
    // At the start of a load, the number outstanding rises for one response time, and its average is below its final value.
    let later = |moment: &&LoadedWindow<'_>| moment.from >= moment.length() / 2;
    let mut all: Vec<(f64, f64)> = well.windows.iter().filter(later).filter_map(of).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.truncate((all.len() / 4).max(LEAST));
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all.get(all.len() / 2).map_or(0.0, |(_, spare)| whole_threads(*spare))
}

/// Whole permanent threads, from an average.
fn whole_threads(threads: f64) -> f64 {
    (threads + MAX_MISSED_SHARE).floor()
}

/// Whether a thread probably serves a request; in any other state it may also be waiting for one.
fn is_busy_wait(wait: &ThreadWait) -> bool {
    match wait {
        ThreadWait::Running
        | ThreadWait::Peer { .. }
        | ThreadWait::Sleep
        | ThreadWait::Disk { .. }
        | ThreadWait::PageFault => true,
        // Java sleeps this way.
        ThreadWait::Futex { within_s, .. } => *within_s == Some(1),
        ThreadWait::Client
        | ThreadWait::Accept
        | ThreadWait::Events
        | ThreadWait::Pipe
        | ThreadWait::Child => false,
        ThreadWait::Socket | ThreadWait::Other { .. } | ThreadWait::Unknown => false,
    }
}
