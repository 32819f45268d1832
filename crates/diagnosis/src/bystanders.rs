//! Threads that bear the name of workers and serve nobody: supervisors, helpers, who accepts or dispatches.
//!
//! A worker's state changes with the load. Who does the same at rest, when well and when degraded is a bystander. Nobody
//! looked at the target at rest: what was in a state then is reckoned from the other two, for what requests occupy grows
//! with the rate that is answered (Little's law, at a constant time of service).

use crate::part_summary::{LoadedWindow, PartSummary};
use crate::workers::Bystanders;
use record::watch::{ThreadGroup, ThreadWait};
use std::collections::BTreeMap;

/// How many more than it has processes a service may have: a supervisor of its own, and who it set apart.
const MORE: f64 = 2.0;
/// One that is always there is seen for all but this part of the time; what comes to half of one is workers on their way from one request to the next.
const MISSED: f64 = 0.25;
/// Reckoned from two averages, a number at rest is known no better than this; what is spare, which was seen, says which it is.
const DOUBT: f64 = 0.5;
/// The rate answered when degraded is at least so many times that when well, or nothing is reckoned from the two.
const APART: f64 = 1.2;

/// Those that both sides show.
pub(crate) fn find_bystanders(well: &PartSummary<'_>, bad: &PartSummary<'_>) -> Bystanders {
    let processes = f64::from(bad.service().processes.max(well.service().processes));
    let mut by = BTreeMap::new();
    for group in &bad.service().groups {
        let Some(before) = well.service().groups.iter().find(|before| before.name == group.name) else {
            continue;
        };
        let mut found = in_group(well, bad, before, group);
        // Many that look idle under any load may be workers that wait for each other all the same.
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut room = (processes + MORE).min(group.threads.round() - 1.0);
        found.retain(|(wait, count)| {
            let thread = matches!(wait, ThreadWait::Futex { .. });
            // Those that look busy with more requests than there are surely are none.
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
    // One request occupies one thread at most: no more of the busy ones stand by than there are above that.
    let mut spare = spare(well, &after.name);
    let mut found = Vec::new();
    // Who stands by does not make connections.
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
        // Where workers rest that are on their way from one request to the next, a part of one is of these.
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

/// Whether the same whole number of a group's threads waits so in each window, while at least one more of the others is busy: where workers rest there
/// is one fewer then.
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

/// Threads of a group that look busy. Where some wait for connections they made, those at one that had closed before it was identified do, too.
fn all_busy(group: &ThreadGroup) -> f64 {
    let connects = group.states.iter().any(|state| matches!(state.wait, ThreadWait::Peer { .. }));
    let is_busy = |wait: &ThreadWait| busy(wait) || connects && *wait == ThreadWait::Socket;
    group.states.iter().filter(|state| is_busy(&state.wait)).map(|state| state.threads).sum()
}

/// Whether so much more was answered that something can be reckoned from the two.
fn apart(well: &PartSummary<'_>, bad: &PartSummary<'_>) -> bool {
    well.load.answered > 0.0 && bad.load.answered >= APART * well.load.answered
}

/// Threads of a group that look busy beyond the requests outstanding where the target was well: in the median of those windows with the fewest
/// requests, for averages of few are the surest.
fn spare(well: &PartSummary<'_>, name: &str) -> f64 {
    const LEAST: usize = 5;
    let of = |moment: &LoadedWindow<'_>| {
        Some((moment.outstanding, all_busy(group_of(moment, name)?) - moment.outstanding))
    };
    // Where a load begins, what is outstanding rises for as long as an answer takes, and its average is less than what it comes to.
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

/// Whole threads that are always there, of what was seen on average.
fn whole(threads: f64) -> f64 {
    (threads + MISSED).floor()
}

fn threads(group: &ThreadGroup, wait: &ThreadWait) -> f64 {
    group.states.iter().filter(|state| state.wait == *wait).map(|state| state.threads).sum()
}

/// What a worker does with a request, as far as one can tell; all else it may do for want of one, too.
fn busy(wait: &ThreadWait) -> bool {
    match wait {
        ThreadWait::Running
        | ThreadWait::Peer { .. }
        | ThreadWait::Sleep
        | ThreadWait::Disk { .. }
        | ThreadWait::PageFault => true,
        // Java sleeps so.
        ThreadWait::Futex { within_s, .. } => *within_s == Some(1),
        ThreadWait::Client
        | ThreadWait::Accept
        | ThreadWait::Events
        | ThreadWait::Pipe
        | ThreadWait::Child => false,
        ThreadWait::Socket | ThreadWait::Other { .. } | ThreadWait::Unknown => false,
    }
}
