//! One lock: a crowd, and one who does something meanwhile.

use super::crowd::{
    CALM, Crowd, LEAST, MOST, ONE, crowded, dumped, is_idle, outstanding_fact, stacked, station,
    waiting_fact, waits_for_a_thread, waits_in_application, well_crowd,
};
use crate::case::Case;
use crate::condition::Condition;
use crate::found::{Figures, Found, source};
use crate::way::used;
use crate::words::{number, time};
use record::watch::{Look, ThreadsAt};
use record::{Arithmetic, Cause, Place, Station, Use};
use units::{Nanos, Rate};

/// A holder that is seen less often than this is not seen.
const SEEN: f64 = 0.1;
/// A lock that is the limit is held nearly all the time.
const HELD: f64 = 0.7;
/// As many wait as where it was well, give or take a look.
const AS_MANY: f64 = 0.95;

pub(super) fn lock(case: &Case<'_>, crowd: &Crowd) -> Option<Found> {
    // Who waits as where it was well, while most of the time nobody does anything, waits for work: requests do not come this far.
    let before = case.well.as_ref().and_then(|well| well.workers.as_ref());
    let as_many = |n: &f64| *n >= AS_MANY * crowd.waiting;
    if crowd.holding < HELD && before.is_some_and(|w| w.queues.get(&crowd.within).is_some_and(as_many)) {
        return None;
    }
    let waiting = |side: &Condition<'_>| well_crowd(side).map(|crowd| crowd.waiting);
    let (arithmetic, lock) = held(case, "one lock", crowd.holding, waiting);
    let stacks = stacked(case, &crowd.workers, waits_for_a_thread);
    let mut found = Found::new(Cause::Lock)
        .says(format!(
            "{} of {}'s {} workers wait for one lock: one request at a time gets through.",
            number(crowd.waiting),
            case.name(),
            number(crowd.workers.all)
        ))
        .margin(crowd.waiting, MOST * crowd.engaged, crowd.engaged * 0.9)
        .holding(case, |window| crowded(case, window).is_some_and(|crowd| crowd.holding <= ONE))
        .sources(2 + u32::from(stacks.is_some()))
        .seen_by_sweeps(case)
        .evidence(waiting_fact(case, crowd))
        .evidences(stacks)
        .fact(meanwhile(crowd.holding))
        .seen(crowd.holding, ONE, "threads", source::SWEEP)
        .evidence(outstanding_fact(case));
    if let Some(dump) = dumped(case, |at| is_blocked(at) || waits_in_application(at)) {
        found = found.evidence(dump).sources(3);
    }
    Some(advised(found.arithmetic(arithmetic).chain(station(case)).gave(lock), case))
}

/// A Java lock for which most threads wait that have a request, by the machine's own account: those of a larger pool wait for work, and look the same
/// from outside.
pub(super) fn monitor(case: &Case<'_>) -> Option<Found> {
    let own = case.about()?.pid;
    let at = case.looks.iter().find_map(|look| match look {
        Look::Threads { pid, at, .. } if *pid == own => Some(at),
        _ => None,
    })?;
    let blocked = at.iter().filter(|at| is_blocked(at)).max_by_key(|at| at.threads)?;
    let busy = at.iter().filter(|at| at.group == blocked.group && !is_idle(at));
    let (waiting, busy) = (f64::from(blocked.threads), f64::from(busy.map(|at| at.threads).sum::<u32>()));
    let outstanding = case.bad.load.outstanding;
    if waiting < ONE || waiting < MOST * busy || outstanding < LEAST || case.cpu() >= CALM * case.cpus() {
        return None;
    }
    let all = case.bad.workers.as_ref().map_or(busy, |workers| workers.all);
    let (arithmetic, lock) = held(case, "one lock", 1.0, |_| None);
    let found = Found::new(Cause::Lock)
        .says(format!(
            "Of {}'s {} workers {} had a request when the JVM was asked, and {} of these waited for one lock: one request at a time gets through.",
            case.name(),
            number(all),
            number(busy),
            number(waiting)
        ))
        .margin(waiting, MOST * busy, 0.8 * busy)
        .holding(case, |window| window.outstanding >= LEAST)
        .sources(2)
        .evidences(dumped(case, is_blocked))
        .evidence(outstanding_fact(case));
    Some(advised(found.arithmetic(arithmetic).chain(station(case)).gave(lock), case))
}

fn is_blocked(at: &ThreadsAt) -> bool {
    at.state == "BLOCKED"
}

/// What to do about it.
fn advised(found: Found, case: &Case<'_>) -> Found {
    found
        .chain(["its holder".to_owned()])
        .next("do less while it is held, or hold one lock for each key instead of one for all")
        .next("more workers or processors will not help")
        .doubles(
            case,
            "half the time under the lock",
            case.bad.load.answered,
            "if the rate stays the same, the lock was not the cause",
        )
        .unless(format!("more than {} workers hold something at once: then it is a pool", number(ONE)))
}

/// A lock that is the limit: what its time comes to, and its station. `waiting` is how many wait for it on a side.
pub(super) fn held(
    case: &Case<'_>,
    name: &str,
    holding: f64,
    waiting: impl Fn(&Condition<'_>) -> Option<f64>,
) -> (Option<Arithmetic>, Station) {
    let hold = case.well.as_ref().and_then(|well| well.load.response_p50);
    let arithmetic = hold.filter(|hold| *hold > 0.0).map(|hold| Arithmetic {
        formula: format!("1 / {} held per request", time(hold)),
        ceiling: Rate(1.0 / hold),
        measured: Rate(case.bad.load.answered),
    });
    let hold = hold.filter(|_| arithmetic.as_ref().is_some_and(Arithmetic::agrees));
    let ceiling = hold.map_or(String::new(), |hold| format!(" (held {} per request)", time(hold)));
    let stay = hold.map(Nanos::from_secs_f64);
    let now = waiting(&case.bad);
    let lock = Station {
        size: Some(1.0),
        well: case.when_well(|side| Use { in_use: None, stay, waiting: waiting(side) }),
        degraded: Some(match holding {
            holding if holding < SEEN => Use { waiting: now, ..Use::default() },
            holding => used(holding.min(1.0), now, &case.bad.load),
        }),
        ..Place::Threads.named(format!("{name}{ceiling}"))
    };
    (arithmetic, lock)
}

fn meanwhile(holding: f64) -> String {
    match number(holding).as_str() {
        "0" => "none is seen doing anything meanwhile".to_owned(),
        "1" => "one does something meanwhile, never more".to_owned(),
        some => format!("{some} does something meanwhile"),
    }
}
