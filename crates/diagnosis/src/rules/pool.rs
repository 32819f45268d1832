//! A pool of connections or permits: many wait, and a constant number hold one.

use super::contention::{
    Contention, MAX_SINGLE_HOLDER, MIN_WAITING_SHARE, find_contention, name_peer, outstanding_fact,
    stacks_fact, station, thread_dump_fact, waiting_fact, waits_for_a_thread, waits_in_application,
    well_contention,
};
use super::hidden_pool;
use super::interpreter::waits_for_interpreter;
use super::lock::{lock, monitor};
use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, source};
use crate::format::{format_count, format_factor, format_number, format_time};
use crate::part_summary::PartSummary;
use crate::request_path;
use crate::workers::Workers;
use record::{CapacityCheck, Cause, Station, StationKind, StationUse};
use units::{Nanos, Rate};

/// Share of deviating seconds.
const RARE_SHARE: f64 = 0.1;

/// The number of connections, and their peer; or the number of permits.
fn find_pool_size(case: &Case<'_>, contention: &Contention) -> (f64, Option<String>) {
    let peers = &case.degraded.service().peers;
    if let Some((peer, readers)) = contention.workers.peers.first()
        && *readers >= 0.5 * contention.holding
    {
        let established = peers.iter().find(|p| p.address == *peer);
        let connections = established.map_or(*readers, |p| p.established);
        // A permanently used connection is being read most of the time.
        let count = if *readers >= 0.6 * connections { connections } else { *readers };
        return (count.round(), Some(peer.clone()));
    }
    // What a worker waits for in an event loop of its own is not observable; as many connections as there are such workers tell.
    let same = |peer: &&record::watch::PeerConnections| {
        contention.workers.idle >= 0.5 * contention.holding
            && (0.6..=1.4).contains(&(contention.holding / peer.established.max(0.1)))
    };
    match peers.iter().find(same) {
        Some(peer) => (peer.established.round(), Some(peer.address.clone())),
        None => {
            let most = holding_quantile(case, contention, RARE_SHARE).max(contention.holding);
            (most.round().max(2.0), None)
        }
    }
}

/// Workers that held one in all but this share of the seconds: a permit passing between two workers is seen with neither, so the average
/// is too low; and a second with few looks may show anything.
fn holding_quantile(case: &Case<'_>, contention: &Contention, share: f64) -> f64 {
    let seconds = case.degraded.windows.iter().filter_map(|moment| find_contention(case, moment));
    let mut held: Vec<f64> = seconds.map(|crowd| crowd.holding).collect();
    held.sort_by(f64::total_cmp);
    let place = (held.len() as f64 * (1.0 - share)) as usize;
    held.get(place.min(held.len().saturating_sub(1))).copied().unwrap_or(contention.holding)
}

/// How many of the pool are in use while the target is well.
fn taken(well: &PartSummary<'_>, peer: Option<&str>) -> Option<f64> {
    let workers = well.workers.clone()?;
    let used = match peer {
        Some(peer) if workers.reading() > 0.0 => {
            workers.peers.iter().find(|(p, _)| p == peer).map_or(0.0, |(_, n)| *n)
        }
        _ => workers.holding() - workers.running,
    };
    // A lower average rests on too few looks to divide by.
    (used >= 0.15 && well.load.answered > 0.0).then_some(used)
}

/// The pool size for twice the rate: what is then in use, and a fifth more, for requests do not arrive evenly.
fn size_advice(size: f64, thing: &str, hold: Option<f64>, measured: Rate) -> String {
    const SPARE: f64 = 1.2;
    let wanted = Rate(2.0 * measured.0);
    match hold {
        Some(hold) => format!(
            "then a larger pool: for {wanted}, about {} ({wanted} × {} held, plus a fifth)",
            format_count((wanted.0 * hold * SPARE).ceil(), thing),
            format_time(hold)
        ),
        None => format!("then a larger pool than {}", format_count(size, thing)),
    }
}

/// A pool of connections or permits; a lock is a pool of one.
pub(crate) fn pool(case: &Case<'_>) -> Option<RuleFinding> {
    let Some(contention) =
        find_contention(case, &case.degraded.as_window()).filter(|crowd| !waits_for_interpreter(case, crowd))
    else {
        return monitor(case);
    };
    match holding_quantile(case, &contention, 0.5) {
        holding if holding <= MAX_SINGLE_HOLDER => lock(case, &Contention { holding, ..contention }),
        _ => pool_of_several(case, &contention),
    }
}

fn pool_of_several(case: &Case<'_>, contention: &Contention) -> Option<RuleFinding> {
    let (size, peer) = find_pool_size(case, contention);
    // Connections exist or not; permits are only visible in use, here as while the target was well.
    let used = if peer.is_some() { size } else { contention.holding };
    let before = case.well.as_ref().and_then(|well| Some((taken(well, peer.as_deref())?, well)));
    // Hold time per request: by Little's law the number in use ÷ rate.
    let hold = before.map(|(taken, well)| taken / well.load.answered);
    let measured = Rate(case.degraded.load.answered);
    let thing = if peer.is_some() { "connection" } else { "permit" };
    let in_use = if format_number(used) == format_number(size) {
        format_count(size, thing)
    } else {
        format!("{} {thing}s in use", format_factor(used))
    };
    let arithmetic = hold.map(|hold| CapacityCheck {
        formula: format!("{in_use} / {} held per request", format_time(hold)),
        ceiling: Rate(used / hold),
        measured,
    });
    // A time that does not reproduce the measured rate is not used.
    let hold = hold.filter(|_| arithmetic.as_ref().is_some_and(CapacityCheck::agrees));
    let peer_name = peer.as_ref().map(|peer| name_peer(case, peer));
    let peer_text = peer_name.as_ref().map(|peer| format!(" to {peer}")).unwrap_or_default();
    let stacks = stacks_fact(case, &contention.workers, waits_for_a_thread);
    let mut found = RuleFinding::new(Cause::Pool)
        .with_sentence(format!(
            "{} of {}'s {} workers wait for one of {} {thing}s{peer_text}.",
            format_number(contention.waiting),
            case.name(),
            format_number(contention.workers.count),
            format_number(size)
        ))
        .margin(contention.waiting, MIN_WAITING_SHARE * contention.engaged, 0.85 * contention.engaged)
        .persisting(case, |window| {
            find_contention(case, window).is_some_and(|crowd| crowd.holding > MAX_SINGLE_HOLDER)
        })
        .sources(2 + u32::from(stacks.is_some()))
        .seen_by_sweeps(case)
        .evidence(waiting_fact(case, contention))
        .evidences(stacks)
        .fact(match &peer_name {
            Some(peer) => {
                format!("{} read from {peer}, never more", format_number(contention.workers.reading()))
            }
            None => format!(
                "{} are active meanwhile, at most {} in any second",
                format_number(contention.holding),
                format_number(size)
            ),
        })
        .measured(contention.holding, 0.7 * size, "threads", source::SWEEP)
        .well(case.when_well(|side| side.workers.as_ref().map_or(0.0, Workers::outside)))
        .evidence(outstanding_fact(case));
    if let Some(dump) = thread_dump_fact(case, waits_in_application) {
        found = found.evidence(dump).sources(3);
    }
    let (busy_sessions, link) = hidden_pool::sessions(case, size).unzip();
    if let Some(busy) = busy_sessions {
        found = found.evidence(busy).sources(3);
    }
    let shorter = match hold {
        Some(hold) => format!("hold each {thing} for less time: now {} per request", format_time(hold)),
        None => format!("hold each {thing} for less time"),
    };
    let place = if peer.is_some() { StationKind::Peers } else { StationKind::Threads };
    let pool = Station {
        size: Some(size),
        well: before.map(|(taken, well)| StationUse {
            in_use: Some(taken),
            stay: hold.map(Nanos::from_secs_f64),
            waiting: well_contention(well).map(|crowd| crowd.waiting),
        }),
        degraded: Some(request_path::use_of(
            contention.holding.min(size),
            Some(contention.waiting),
            &case.degraded.load,
        )),
        ..place.station(format!("{}{peer_text}", format_count(size, thing)))
    };
    Some(
        found
            .arithmetic(arithmetic)
            .chain(station(case))
            .limiting(pool)
            .chain(link)
            .advise(shorter)
            .advise(size_advice(size, thing, hold, measured))
            .predicts_doubling(
                case,
                format!("{} instead of {}", format_count(2.0 * size, thing), format_number(size)),
                measured.0,
                &match peer_name {
                    Some(peer) => {
                        format!("if the rate stays the same, {peer} is the limit behind the pool")
                    }
                    None => "if the rate stays the same, what the pool guards is the limit".to_owned(),
                },
            )
            .unless(format!(
                "fewer than {} are in use while workers wait, or the workers are on processors",
                format_number((0.7 * size).floor())
            )),
    )
}
