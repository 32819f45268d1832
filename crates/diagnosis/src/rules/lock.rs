//! A lock: many wait, and one does something meanwhile.

use super::contention::{
    Contention, MAX_CALM_UTILISATION, MAX_SINGLE_HOLDER, MIN_ENGAGED, MIN_WAITING_SHARE, find_contention,
    is_idle, outstanding_fact, stacks_fact, station, thread_dump_fact, waiting_fact, waits_for_a_thread,
    waits_in_application, well_contention,
};
use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, source};
use crate::format::{format_number, format_time};
use crate::part_summary::PartSummary;
use crate::request_path::use_of;
use record::watch::{CloserLook, StackGroup};
use record::{CapacityCheck, Cause, Station, StationKind, StationUse};
use units::{Nanos, Rate};

/// Below this average number, a holder counts as not observed.
const MIN_OBSERVED: f64 = 0.1;
/// A lock that is the limit is held nearly all the time.
const MIN_HOLDING: f64 = 0.7;
/// As many wait as while it was well, within sampling error.
const SAME_QUEUE: f64 = 0.95;

pub(super) fn lock(case: &Case<'_>, contention: &Contention) -> Option<RuleFinding> {
    // Threads that wait as while it was well, while mostly nobody does anything, wait for work: requests do not get this far.
    let before = case.well_workers().and_then(|workers| workers.queues.get(&contention.within));
    let as_many = |n: &f64| *n >= SAME_QUEUE * contention.waiting;
    if contention.holding < MIN_HOLDING && before.is_some_and(as_many) {
        return None;
    }
    let waiting = |side: &PartSummary<'_>| well_contention(side).map(|crowd| crowd.waiting);
    let (arithmetic, lock) = lock_limit(case, "one lock", contention.holding, waiting);
    let stacks = stacks_fact(case, &contention.workers, waits_for_a_thread);
    let mut found = RuleFinding::new(Cause::Lock)
        .with_sentence(format!(
            "{} of {}'s {} workers wait for one lock: one request at a time gets through.",
            format_number(contention.waiting),
            case.name(),
            format_number(contention.workers.count)
        ))
        .margin(contention.waiting, MIN_WAITING_SHARE * contention.engaged, contention.engaged * 0.9)
        .persisting(case, |window| {
            find_contention(case, window).is_some_and(|crowd| crowd.holding <= MAX_SINGLE_HOLDER)
        })
        .sources(2 + u32::from(stacks.is_some()))
        .seen_by_sweeps(case)
        .evidence(waiting_fact(case, contention))
        .evidences(stacks)
        .fact(format_holding(contention.holding))
        .measured(contention.holding, MAX_SINGLE_HOLDER, "threads", source::SWEEP)
        .evidence(outstanding_fact(case));
    if let Some(dump) = thread_dump_fact(case, |at| is_blocked(at) || waits_in_application(at)) {
        found = found.evidence(dump).sources(3);
    }
    Some(with_lock_advice(found.arithmetic(arithmetic).chain(station(case)).limiting(lock), case))
}

/// A Java lock that most threads with a request wait for, by the JVM's own account: the rest of a larger pool waits for work, and looks
/// the same from outside.
pub(super) fn monitor(case: &Case<'_>) -> Option<RuleFinding> {
    let own = case.subject()?.pid;
    let dump = case.looks.iter().find_map(|look| match look {
        CloserLook::Threads { pid, at, .. } if *pid == own => Some(at),
        _ => None,
    })?;
    let blocked = dump.iter().filter(|at| is_blocked(at)).max_by_key(|at| at.threads)?;
    let busy = dump.iter().filter(|at| at.group == blocked.group && !is_idle(at));
    let (waiting, busy) = (f64::from(blocked.threads), f64::from(busy.map(|at| at.threads).sum::<u32>()));
    let outstanding = case.degraded.load.outstanding;
    if waiting < MAX_SINGLE_HOLDER
        || waiting < MIN_WAITING_SHARE * busy
        || outstanding < MIN_ENGAGED
        || case.cpu() >= MAX_CALM_UTILISATION * case.cpus()
    {
        return None;
    }
    let all = case.degraded.workers.as_ref().map_or(busy, |workers| workers.count);
    let (arithmetic, lock) = lock_limit(case, "one lock", 1.0, |_| None);
    let found = RuleFinding::new(Cause::Lock)
        .with_sentence(format!(
            "Of {}'s {} workers {} had a request when the JVM was asked, and {} of these waited for one lock: one request at a time gets through.",
            case.name(),
            format_number(all),
            format_number(busy),
            format_number(waiting)
        ))
        .margin(waiting, MIN_WAITING_SHARE * busy, 0.8 * busy)
        .persisting(case, |window| window.outstanding >= MIN_ENGAGED)
        .sources(2)
        .evidences(thread_dump_fact(case, is_blocked))
        .evidence(outstanding_fact(case));
    Some(with_lock_advice(found.arithmetic(arithmetic).chain(station(case)).limiting(lock), case))
}

fn is_blocked(at: &StackGroup) -> bool {
    at.state == "BLOCKED"
}

/// Adds advice.
fn with_lock_advice(found: RuleFinding, case: &Case<'_>) -> RuleFinding {
    found
        .chain(["its holder"])
        .advise("do less while it is held, or hold one lock for each key instead of one for all")
        .advise("more workers or processors will not help")
        .predicts_doubling(
            case,
            "half the time under the lock",
            case.degraded.load.answered,
            "if the rate stays the same, the lock was not the cause",
        )
        .unless(format!(
            "more than {} workers hold something at once: then it is a pool",
            format_number(MAX_SINGLE_HOLDER)
        ))
}

/// A lock that is the limit: its hold time, and its station. `waiting` counts its waiters on a side.
pub(super) fn lock_limit(
    case: &Case<'_>,
    name: &str,
    holding: f64,
    waiting: impl Fn(&PartSummary<'_>) -> Option<f64>,
) -> (Option<CapacityCheck>, Station) {
    let hold = case.well_median();
    let arithmetic = hold.filter(|hold| *hold > 0.0).map(|hold| CapacityCheck {
        formula: format!("1 / {} held per request", format_time(hold)),
        ceiling: Rate(1.0 / hold),
        measured: Rate(case.degraded.load.answered),
    });
    let hold = hold.filter(|_| arithmetic.as_ref().is_some_and(CapacityCheck::agrees));
    let ceiling = hold.map_or(String::new(), |hold| format!(" (held {} per request)", format_time(hold)));
    let stay = hold.map(Nanos::from_secs_f64);
    let now = waiting(&case.degraded);
    let lock = Station {
        size: Some(1.0),
        well: case.when_well(|side| StationUse { in_use: None, stay, waiting: waiting(side) }),
        degraded: Some(match holding {
            holding if holding < MIN_OBSERVED => StationUse { waiting: now, ..StationUse::default() },
            holding => use_of(holding.min(1.0), now, &case.degraded.load),
        }),
        ..StationKind::Threads.station(format!("{name}{ceiling}"))
    };
    (arithmetic, lock)
}

fn format_holding(holding: f64) -> String {
    match format_number(holding).as_str() {
        "0" => "none is seen active meanwhile".to_owned(),
        "1" => "one is active meanwhile, never more".to_owned(),
        some => format!("{some} is active meanwhile"),
    }
}
