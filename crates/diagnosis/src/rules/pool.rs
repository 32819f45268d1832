//! A pool of connections or permits: a crowd, and always as many who hold one.

use super::crowd::{
    Crowd, MOST, ONE, crowded, dumped, named, outstanding_fact, stacked, station, waiting_fact,
    waits_for_a_thread, waits_in_application, well_crowd,
};
use super::inside;
use super::interpreter::waits_for_it;
use super::lock::{lock, monitor};
use crate::case::Case;
use crate::condition::Condition;
use crate::found::{Figures, Found, source};
use crate::way;
use crate::words::{count, factor, number, time};
use crate::workers::Workers;
use record::{Arithmetic, Cause, Place, Station, Use};
use units::{Nanos, Rate};

/// Seconds unlike the others.
const FEW: f64 = 0.1;

/// How many of something there are, and to whom they lead.
struct Size {
    count: f64,
    peer: Option<String>,
}

fn size(case: &Case<'_>, crowd: &Crowd) -> Size {
    let peers = &case.bad.service().peers;
    if let Some((peer, readers)) = crowd.workers.peers.first()
        && *readers >= 0.5 * crowd.holding
    {
        let established = peers.iter().find(|p| p.address == *peer);
        let connections = established.map_or(*readers, |p| p.established);
        // A connection that is used all the time is read from most of it.
        let count = if *readers >= 0.6 * connections { connections } else { *readers };
        return Size { count: count.round(), peer: Some(peer.clone()) };
    }
    // What a worker in an event loop of its own waits for is not seen; as many connections as there are such tell.
    let same = |peer: &&record::watch::Peer| {
        crowd.workers.idle >= 0.5 * crowd.holding
            && (0.6..=1.4).contains(&(crowd.holding / peer.established.max(0.1)))
    };
    match peers.iter().find(same) {
        Some(peer) => Size { count: peer.established.round(), peer: Some(peer.address.clone()) },
        None => {
            let most = held_but(case, crowd, FEW).max(crowd.holding);
            Size { count: most.round().max(2.0), peer: None }
        }
    }
}

/// How many workers held one in all but this share of the seconds: on its way from one worker to the next a permit is seen
/// with neither, so that the average is less than there are; and a second in which few looks were taken may show anything.
fn held_but(case: &Case<'_>, crowd: &Crowd, share: f64) -> f64 {
    let seconds = case.bad.each.iter().filter_map(|moment| crowded(case, moment));
    let mut held: Vec<f64> = seconds.map(|crowd| crowd.holding).collect();
    held.sort_by(f64::total_cmp);
    let place = (held.len() as f64 * (1.0 - share)) as usize;
    held.get(place.min(held.len().saturating_sub(1))).copied().unwrap_or(crowd.holding)
}

/// How many of the pool are in use where the target is well.
fn taken(well: &Condition<'_>, peer: Option<&str>) -> Option<f64> {
    let workers = well.workers.clone()?;
    let used = match peer {
        Some(peer) if workers.reading() > 0.0 => {
            workers.peers.iter().find(|(p, _)| p == peer).map_or(0.0, |(_, n)| *n)
        }
        _ => workers.holding() - workers.running,
    };
    // Fewer than this on average were seen too seldom to divide by.
    (used >= 0.15 && well.load.answered > 0.0).then_some(used)
}

/// How large a pool would be for twice the rate: what is in use then, and a fifth more, for requests do not come evenly.
fn larger(size: f64, thing: &str, hold: Option<f64>, measured: Rate) -> String {
    const SPARE: f64 = 1.2;
    let wanted = Rate(2.0 * measured.0);
    match hold {
        Some(hold) => format!(
            "then a larger pool: for {wanted}, say, {} ({wanted} × {} held, and a fifth more)",
            count((wanted.0 * hold * SPARE).ceil(), thing),
            time(hold)
        ),
        None => format!("then a larger pool than {}", count(size, thing)),
    }
}

/// A pool of connections or permits; a lock is a pool of one.
pub(crate) fn pool(case: &Case<'_>) -> Option<Found> {
    let Some(crowd) = crowded(case, &case.bad.whole()).filter(|crowd| !waits_for_it(case, crowd)) else {
        return monitor(case);
    };
    match held_but(case, &crowd, 0.5) {
        holding if holding <= ONE => lock(case, &Crowd { holding, ..crowd }),
        _ => of_several(case, &crowd),
    }
}

fn of_several(case: &Case<'_>, crowd: &Crowd) -> Option<Found> {
    let Size { count: size, peer } = size(case, crowd);
    // Connections are there or not; permits are only seen in use, here as when the target was well.
    let used = if peer.is_some() { size } else { crowd.holding };
    let before = case.well.as_ref().and_then(|well| Some((taken(well, peer.as_deref())?, well)));
    // How long one is held for a request: by Little's law the number in use ÷ rate.
    let hold = before.map(|(taken, well)| taken / well.load.answered);
    let measured = Rate(case.bad.load.answered);
    let thing = if peer.is_some() { "connection" } else { "permit" };
    let in_use = if number(used) == number(size) {
        count(size, thing)
    } else {
        format!("{} {thing}s in use", factor(used))
    };
    let arithmetic = hold.map(|hold| Arithmetic {
        formula: format!("{in_use} / {} held per request", time(hold)),
        ceiling: Rate(used / hold),
        measured,
    });
    // A time that does not give the rate measured is no time to reckon with.
    let hold = hold.filter(|_| arithmetic.as_ref().is_some_and(Arithmetic::agrees));
    let at = peer.as_ref().map(|peer| format!(" to {}", named(case, peer))).unwrap_or_default();
    let stacks = stacked(case, &crowd.workers, waits_for_a_thread);
    let mut found = Found::new(Cause::Pool)
        .says(format!(
            "{} of {}'s {} workers wait for one of {} {thing}s{at}.",
            number(crowd.waiting),
            case.name(),
            number(crowd.workers.all),
            number(size)
        ))
        .margin(crowd.waiting, MOST * crowd.engaged, 0.85 * crowd.engaged)
        .holding(case, |window| crowded(case, window).is_some_and(|crowd| crowd.holding > ONE))
        .sources(2 + u32::from(stacks.is_some()))
        .seen_by_sweeps(case)
        .evidence(waiting_fact(case, crowd))
        .evidences(stacks)
        .fact(match &peer {
            Some(peer) => {
                format!("{} read from {}, never more", number(crowd.workers.reading()), named(case, peer))
            }
            None => format!(
                "{} do something meanwhile, in no second more than {}",
                number(crowd.holding),
                number(size)
            ),
        })
        .seen(crowd.holding, 0.7 * size, "threads", source::SWEEP)
        .well(case.when_well(|side| side.workers.as_ref().map_or(0.0, Workers::outside)))
        .evidence(outstanding_fact(case));
    if let Some(dump) = dumped(case, waits_in_application) {
        found = found.evidence(dump).sources(3);
    }
    let sessions = inside::sessions(case, size);
    if let Some(sessions) = &sessions {
        found = found.evidence(sessions.evidence.clone()).sources(3);
    }
    let shorter = match hold {
        Some(hold) => format!("hold each {thing} for less time: now {} per request", time(hold)),
        None => format!("hold each {thing} for less time"),
    };
    let place = if peer.is_some() { Place::Peers } else { Place::Threads };
    let pool = Station {
        size: Some(size),
        well: before.map(|(taken, well)| Use {
            in_use: Some(taken),
            stay: hold.map(Nanos::from_secs_f64),
            waiting: well_crowd(well).map(|crowd| crowd.waiting),
        }),
        degraded: Some(way::used(crowd.holding.min(size), Some(crowd.waiting), &case.bad.load)),
        ..place.named(format!("{}{at}", count(size, thing)))
    };
    Some(
        found
            .arithmetic(arithmetic)
            .chain(station(case))
            .gave(pool)
            .chain(sessions.map(|sessions| sessions.link))
            .next(shorter)
            .next(larger(size, thing, hold, measured))
            .doubles(
                case,
                format!("{} instead of {}", count(2.0 * size, thing), number(size)),
                measured.0,
                &match &peer {
                    Some(peer) => {
                        format!(
                            "if the rate stays the same, {} is the limit behind the pool",
                            named(case, peer)
                        )
                    }
                    None => "if the rate stays the same, what the pool guards is the limit".to_owned(),
                },
            )
            .unless(format!(
                "fewer than {} are in use while workers wait, or the workers are on processors",
                number((0.7 * size).floor())
            )),
    )
}
