//! Bystanders: threads named like workers that serve no request, such as supervisors, helpers, acceptors and dispatchers.
//!
//! A worker's state changes with the load. A thread that does the same at rest, when well and when degraded is a bystander. The target is
//! not observed at rest: how many threads were in a state then is extrapolated from the other two, for the number occupied by requests
//! grows with the answered rate (Little's law, at constant service time).

use crate::part_summary::{LoadedWindow, PartSummary};
use crate::workers::Bystanders;
use record::watch::{ThreadGroup, ThreadWait};
use std::collections::BTreeMap;

/// How many more threads than processes a service may have: a supervisor of its own, and one set apart by it.
const MORE: f64 = 2.0;
/// A permanent thread is seen for all but this share of the time; half a thread means workers between two requests.
const MISSED: f64 = 0.25;
/// Extrapolated from two averages, a number at rest is known no better than this; the spare threads, which were observed, decide.
const DOUBT: f64 = 0.5;
/// Nothing is extrapolated unless the answered rate when degraded is at least this many times that when well.
const APART: f64 = 1.2;

/// Bystanders by both sides.
pub(crate) fn find_bystanders(well: &PartSummary<'_>, bad: &PartSummary<'_>) -> Bystanders {
    let processes = f64::from(bad.service().processes.max(well.service().processes));
    let mut by = BTreeMap::new();
    for group in &bad.service().groups {
        let Some(before) = well.service().groups.iter().find(|before| before.name == group.name) else {
            continue;
        };
        let mut found = in_group(well, bad, before, group);
        // Many that look idle under any load may still be workers that wait for each other.
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut room = (processes + MORE).min(group.threads.round() - 1.0);
        found.retain(|(wait, count)| {
            let thread = matches!(wait, ThreadWait::Futex { .. });
            // Threads that look busy in excess of the requests are surely none.
            if busy(wait) && !thread || always(well, bad, before, group, wait) {
                return true;
            }
            let queueing = thread && !busy(wait);
            let fits = *count <= room && !(queueing && *count > processes);
            room -= if fits { *count } else { 0.0 };
            fits
        });
        by.insert(group.name.clone(), found.into_iter().collect());
    }
    Bystanders(by)
}

fn in_group(
    well: &PartSummary<'_>,
    bad: &PartSummary<'_>,
    before: &ThreadGroup,
    after: &ThreadGroup,
) -> Vec<(ThreadWait, f64)> {
    let answered = (well.load.answered, bad.load.answered);
    let apart = apart(well, bad);
    // A request occupies at most one thread: at most the excess of busy ones over requests are bystanders.
    let mut spare = spare(well, &after.name);
    let mut found = Vec::new();
    // Bystanders make no connections.
    for state in after.states.iter().filter(|state| state.wait != ThreadWait::Socket) {
        let (then, now) = (threads(before, &state.wait), state.threads);
        let at_rest = then - answered.0 * (now - then) / (answered.1 - answered.0);
        let mut same = then.min(now);
        match (busy(&state.wait), apart) {
            (true, true) => same = same.min(at_rest + DOUBT).min(spare),
            (true, false) => continue,
            (false, true) => same = same.min(at_rest),
            (false, false) => {}
        }
        // In the state where workers rest between two requests, a fraction of one is a worker.
        let same = if then >= now + 1.0 { same.floor() } else { whole(same) };
        if same >= 1.0 {
            if busy(&state.wait) {
                spare -= same;
            }
            found.push((state.wait.clone(), same));
        }
    }
    found
}

/// Whether the same whole number of a group's threads waits so in each window, while at least one more of the others is busy: resting
/// workers would then be one fewer.
fn always(
    well: &PartSummary<'_>,
    bad: &PartSummary<'_>,
    before: &ThreadGroup,
    after: &ThreadGroup,
    wait: &ThreadWait,
) -> bool {
    let seen = |moment: &LoadedWindow<'_>| Some(whole(threads(group_of(moment, &after.name)?, wait)));
    let mut counts = well.each.iter().chain(&bad.each).filter_map(seen);
    let first = counts.next();
    apart(well, bad) && all_busy(after) >= all_busy(before) + 1.0 && counts.all(|count| Some(count) == first)
}

/// Threads of a group that look busy. If some wait for connections they made, this includes those on one that closed before it was
/// identified.
fn all_busy(group: &ThreadGroup) -> f64 {
    let connects = group.states.iter().any(|state| matches!(state.wait, ThreadWait::Peer { .. }));
    let is_busy = |wait: &ThreadWait| busy(wait) || connects && *wait == ThreadWait::Socket;
    group.states.iter().filter(|state| is_busy(&state.wait)).map(|state| state.threads).sum()
}

/// Whether the answered rates differ enough for an extrapolation.
fn apart(well: &PartSummary<'_>, bad: &PartSummary<'_>) -> bool {
    well.load.answered > 0.0 && bad.load.answered >= APART * well.load.answered
}

/// Threads of a group that look busy beyond the requests outstanding while the target was well: the median over the windows with the
/// fewest requests, whose averages are the most precise.
fn spare(well: &PartSummary<'_>, name: &str) -> f64 {
    const LEAST: usize = 5;
    let of = |moment: &LoadedWindow<'_>| {
        Some((moment.outstanding, all_busy(group_of(moment, name)?) - moment.outstanding))
    };
    // At the start of a load, the number outstanding rises for one response time, and its average is below its final value.
    let later = |moment: &&LoadedWindow<'_>| moment.from >= moment.length() / 2;
    let mut all: Vec<(f64, f64)> = well.each.iter().filter(later).filter_map(of).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.truncate((all.len() / 4).max(LEAST));
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all.get(all.len() / 2).map_or(0.0, |(_, spare)| whole(*spare))
}

/// The service's threads of that name, in one window.
fn group_of<'a>(moment: &LoadedWindow<'a>, name: &str) -> Option<&'a ThreadGroup> {
    moment.window.subjects.first()?.groups.iter().find(|group| group.name == name)
}

/// Whole permanent threads, from an average.
fn whole(threads: f64) -> f64 {
    (threads + MISSED).floor()
}

fn threads(group: &ThreadGroup, wait: &ThreadWait) -> f64 {
    group.states.iter().filter(|state| state.wait == *wait).map(|state| state.threads).sum()
}

/// Whether a thread probably serves a request; in any other state it may also be waiting for one.
fn busy(wait: &ThreadWait) -> bool {
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
