//! Pools inferred from their other end: connections, sessions, virtual threads.

use super::contention::{MIN_ENGAGED, MIN_WAITING_SHARE, contention_of, name_peer, outstanding_fact};
use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, fact, source};
use crate::format::{format_count, format_factor, format_number, format_time, round_to_three_digits};
use crate::part_summary::PartSummary;
use crate::request_path::use_of;
use crate::workers::Workers;
use record::watch::{CloserLook, PeerConnections, PostgresWindow};
use record::{CapacityCheck, Cause, Evidence, Station, StationKind, StationUse};
use units::{Nanos, Rate};

/// Average number of sessions busy for a client.
pub(crate) fn active_sessions(postgres: &PostgresWindow) -> f64 {
    let busy = |state: &str| {
        state == "active" || state.starts_with("idle in transaction") || state == "fastpath function call"
    };
    postgres.sessions.iter().filter(|s| busy(&s.state)).map(|s| s.count).sum()
}

/// Sessions on a request's path.
pub(crate) fn station(case: &Case<'_>, name: String, count: impl Fn(&PostgresWindow) -> f64) -> Station {
    case.station(StationKind::Database.station(name), |side| {
        Some(use_of(count(side.postgres()?), None, &side.load))
    })
}

/// What most of the active sessions do.
fn occupation(postgres: &PostgresWindow) -> String {
    let active = postgres.sessions.iter().filter(|s| s.state == "active");
    let most = active.max_by(|a, b| a.count.total_cmp(&b.count));
    match most.map(|s| (&s.wait_type, &s.wait_event)) {
        Some((Some(kind), Some(event))) => format!("{kind}:{event}"),
        Some(_) => "on a processor".to_owned(),
        None => "idle in transaction".to_owned(),
    }
}

/// Busy sessions, as many as a pool has connections; and their station: `10 sessions in Timeout:PgSleep`.
pub(crate) fn sessions(case: &Case<'_>, size: f64) -> Option<(Evidence, Station)> {
    let postgres = case.degraded.postgres()?;
    let busy = active_sessions(postgres);
    if busy < 0.6 * size {
        return None;
    }
    let doing = occupation(postgres);
    let text = format!("PostgreSQL: {} sessions busy, most in {doing}", format_number(busy));
    let name = format!("{} in {doing}", format_count(busy.round(), "session"));
    let evidence = fact(text).measured(busy, 0.6 * size, "sessions", source::ACTIVITY);
    Some((evidence, station(case, name, active_sessions)))
}

/// A pool whose waiters are not observable: its connections are always in use.
pub(crate) fn pool_by_sockets(case: &Case<'_>) -> Option<RuleFinding> {
    let virtual_threads = case.looks.iter().find_map(|look| match look {
        CloserLook::VirtualThreads(seen) => Some(seen),
        _ => None,
    });
    let load = &case.degraded.load;
    let waiting = virtual_threads.map(|seen| seen.delayed as f64);
    let waits_with_deadline =
        waiting.is_some_and(|waiting| waiting >= 0.4 * load.max_outstanding.min(load.outstanding * 2.0));
    let flat = |peer: &&PeerConnections| {
        peer.established >= 1.5 && f64::from(peer.most - peer.least.min(peer.most)) <= 0.2 * peer.established
    };
    let peers = &case.degraded.service().peers;
    let peer = peers.iter().filter(flat).max_by(|a, b| a.established.total_cmp(&b.established))?;
    let size = peer.established.round();
    if load.outstanding < 1.3 * size {
        return None;
    }
    let (busy_sessions, link) = sessions(case, size).unzip();
    let concurrency = Concurrency::of(case).filter(|one| one.served == size && one.is_multiplexed(case));
    if link.is_none() && !waits_with_deadline && concurrency.is_none() {
        return None;
    }
    let others = u32::from(link.is_some()) + u32::from(waits_with_deadline);
    let place = name_peer(case, &peer.address);
    let before = case.well.as_ref().and_then(|well| {
        let seen = well.merged.postgres.as_ref().map(active_sessions);
        let busy = seen.or_else(|| concurrency.as_ref().map(|one| well.load.answered * one.alone))?;
        (busy >= 0.15 && well.load.answered > 0.0).then_some((busy, well))
    });
    let hold_time = before.map(|(busy, well)| busy / well.load.answered);
    let arithmetic = hold_time.map(|hold| CapacityCheck {
        formula: format!("{} / {} held per request", format_count(size, "connection"), format_time(hold)),
        ceiling: Rate(size / hold),
        measured: Rate(load.answered),
    });
    let mut found = RuleFinding::new(Cause::Pool)
        .with_sentence(format!(
            "{} requests are outstanding in {}, which has {} to {place}, all of them in use.",
            format_number(load.outstanding),
            case.name(),
            format_count(size, "connection")
        ))
        .margin(load.outstanding, size, 3.0 * size)
        .sources(1 + others)
        .arithmetic(arithmetic)
        .fact(format!(
            "{} established to {place}, from {} to {}",
            format_number(peer.established),
            peer.least,
            peer.most
        ))
        .measured(peer.established, 1.5, "connections", source::SOCKETS)
        .fact(format!("{} of {} used", format_number(case.cpu()), format_count(case.cpus(), "processor")))
        .measured(case.cpu(), 0.5 * case.cpus(), "processors", source::SCHEDSTAT);
    if let (Some(seen), true) = (virtual_threads, waits_with_deadline) {
        let text = format!(
            "the JVM says: {} virtual threads wait with a deadline, {} are ready",
            seen.delayed, seen.queued
        );
        found = found.fact(text).measured(
            seen.delayed as f64,
            0.4 * load.outstanding,
            "virtual threads",
            "jcmd Thread.vthread_scheduler",
        );
    }
    if let Some(one) = &concurrency {
        let text = format!(
            "it serves {} at a time: one alone takes {}",
            format_count(one.served, "request"),
            format_time(one.alone)
        );
        found = found
            .fact(text)
            .measured(one.served, size, "requests", source::LOAD)
            .unless("as many permits in front of them, or workers, are the limit");
    }
    // The arithmetic also says that it serves as many as there are.
    if others == 0 {
        found = found.sources(1);
    }
    let held = hold_time.filter(|_| found.arithmetic.is_some());
    let pool = Station {
        size: Some(size),
        well: before.map(|(busy, _)| StationUse {
            in_use: Some(busy),
            stay: held.map(Nanos::from_secs_f64),
            waiting: None,
        }),
        degraded: Some(use_of(size, Some(load.outstanding - size), load)),
        ..StationKind::Peers.station(format!("{} to {place}", format_count(size, "connection")))
    };
    Some(
        found
            .evidences(busy_sessions)
            .chain(["requests"])
            .limiting(pool)
            .chain(link)
            .advise("hold each connection for less time")
            .advise("then a larger pool, if what is behind it has room")
            .predicts_doubling(
                case,
                format!("a pool of {}", format_number(2.0 * size)),
                load.answered,
                &format!("if the rate stays the same, {place} is the limit behind the pool"),
            )
            .unless(format!("connections to {place} are idle while requests wait")),
    )
}

/// The same for a downstream, such as a connection pooler.
pub(crate) fn pool_behind(case: &Case<'_>) -> Option<RuleFinding> {
    pool_by_sockets(case).filter(|_| is_calm(case))
}

/// Whether it has processors to spare and uses them when it wants.
fn is_calm(case: &Case<'_>) -> bool {
    case.cpu() < MIN_WAITING_SHARE * case.cpus() && case.runnable() < 1.0
}

/// Requests wait inside the service, and no thread shows for what.
pub(crate) fn hidden_queue(case: &Case<'_>) -> Option<RuleFinding> {
    let service = case.degraded.service();
    let threads: f64 = service.groups.iter().map(|group| group.threads).sum();
    let load = &case.degraded.load;
    let before = case.when_well(|side| side.load.outstanding).unwrap_or(0.0);
    let calm = is_calm(case);
    let more_than_threads =
        load.outstanding > 1.5 * threads.max(1.0) || load.outstanding >= 3.0 * before + 3.0;
    if service.sweep.is_none() || !calm || !more_than_threads || load.outstanding < MIN_ENGAGED {
        return None;
    }
    if let Some(found) = pool_by_sockets(case) {
        return Some(found);
    }
    // Observable waits of workers say more, and if they wait for something that no rule knows, that is the thing to say.
    let workers_explain = |w: &Workers| {
        let engaged = load.outstanding.min(w.count);
        let waiting = || contention_of(w.clone(), load.outstanding, case.well_workers()).waiting;
        w.count >= 8.0 && w.outside() + waiting() >= MIN_WAITING_SHARE * engaged
            || w.other >= MIN_WAITING_SHARE * engaged
    };
    // If it freezes now and then, they also wait for that, and the calculation from its answers in between says more.
    let concurrency = Concurrency::of(case);
    let is_calculated = concurrency.is_some() && case.freezes_leave_limit();
    if !is_calculated && case.degraded.workers.as_ref().is_some_and(workers_explain) {
        return None;
    }
    let name = case.name();
    let (outstanding, uses) = (
        format_number(load.outstanding),
        format!("{} of {}", format_factor(case.cpu()), format_count(case.cpus(), "processor")),
    );
    let found = RuleFinding::new(Cause::Inside)
        .with_sentence(match &concurrency {
            Some(one) => format!(
                "{name} serves {} at a time: {} is {} each, and one alone takes {} including the round trip. In overload {outstanding} wait inside it, while it uses {uses}{}.",
                format_count(one.served, "request"),
                Rate(round_to_three_digits(one.measured.0)),
                format_time(one.each),
                format_time(one.alone),
                if one.computes(case) { ": it computes all that time" } else { "" }
            ),
            None => format!(
                "{outstanding} requests wait inside {name}, which uses {uses}; its threads do not show what they wait for."
            ),
        })
        // The number served at once is calculated; what the others wait for has not been observed.
        .margin(if concurrency.is_some() { 1.0 } else { 0.0 }, 0.0, 1.0)
        .sources(1)
        .seen_by_sweeps(case)
        .evidence(outstanding_fact(case))
        .fact(format!(
                "{} threads, {} of them running or ready to run",
                format_number(threads),
                format_number(case.cpu() + case.runnable())
            ))
            .measured(threads, load.outstanding, "threads", source::SWEEP);
    let Some(one) = concurrency else {
        return Some(
            found
                .chain(["requests".to_owned(), format!("inside {name}")])
                .advise("look at its own metrics for full queues, pools, timers and concurrency limits (--metrics URL)")
                .advise("also watch what it talks to (--postgres URL)")
                .unless("one of its own queues or pools is seen full"),
        );
    };
    Some(one.explains(found, case))
}

/// How many requests a service serves at a time, if no thread shows it: by Little's law its rate at the limit × service time. A request
/// alone takes a little longer, for it also has to be transferred, read and written.
struct Concurrency {
    served: f64,
    /// Response time of a single request, in seconds.
    alone: f64,
    /// The same without the transfer.
    each: f64,
    measured: Rate,
}

/// The transfer may take up to this share of a single request's time, or this long,
const MAX_TRANSIT_SHARE: f64 = 0.2;
const SHORT_TRANSIT: f64 = 200e-6;
/// and at the limit a request may be this much shorter than alone.
const ROUNDING_SHARE: f64 = 0.05;
/// A request that uses this much of a processor while served waits for nothing.
const MIN_COMPUTE_SHARE: f64 = 0.85;
/// Of many, at most this fraction of one is rounded.
const MAX_ROUNDING: f64 = 0.25;

/// Requests served at a time, from a rate and the time of a single one. None unless it is nearly an integer: else each takes longer the
/// more there are, or the rate itself is limited.
fn whole_concurrency(rate: f64, alone: f64) -> Option<f64> {
    let at_once = rate * alone;
    let served = (at_once + (ROUNDING_SHARE * at_once).min(MAX_ROUNDING)).floor();
    let transit = alone - served / rate;
    // It is no sign if every other transfer time would do as well.
    let short = if rate * SHORT_TRANSIT < 0.5 { SHORT_TRANSIT } else { 0.0 };
    (served >= 1.0 && transit <= short.max(MAX_TRANSIT_SHARE * alone)).then_some(served)
}

impl Concurrency {
    fn of(case: &Case<'_>) -> Option<Self> {
        let well = case.well.as_ref()?;
        let alone = well.seconds.iter().filter_map(|second| second.response_p50).min()?.as_secs_f64();
        // Seconds in which it froze or caught up do not show its long-term rate.
        let measured = match case.freeze_impact {
            Some(_) => case.held_rate.filter(|_| case.freezes_leave_limit())?,
            None => Rate(case.degraded.load.answered),
        };
        let served = whole_concurrency(measured.0, alone)?;
        Some(Self { served, alone, each: served / measured.0, measured })
    }

    /// Whether no thread is dedicated to each request served: threads that each wait for a connection are workers.
    fn is_multiplexed(&self, case: &Case<'_>) -> bool {
        let waiting = case.degraded.workers.as_ref().map_or(0.0, Workers::outside);
        self.served > 1.0 && waiting < 0.5 * self.served
    }

    /// Whether the requests served use a processor each nearly all the time.
    fn computes(&self, case: &Case<'_>) -> bool {
        case.cpu() >= MIN_COMPUTE_SHARE * self.served
    }

    fn explains(self, found: RuleFinding, case: &Case<'_>) -> RuleFinding {
        let Self { served, each, .. } = self;
        let computes = self.computes(case);
        let load = &case.degraded.load;
        let station_use = |side: &PartSummary<'_>| {
            let busy = (side.load.answered * each).min(served);
            use_of(busy, Some((side.load.outstanding - busy).max(0.0)), &side.load)
        };
        let name = format!("{} at a time", format_number(served));
        let station = Station {
            size: Some(served),
            ..case.station(StationKind::Threads.station(name), |side| Some(station_use(side)))
        };
        let what = match computes {
            true if case.is_go() => "GOMAXPROCS, or a lock under which it computes",
            true => "threads or processes that compute, or a lock under which they do",
            false if served > 1.0 => "a pool, permits, workers",
            false => "a lock, a single worker",
        };
        let twice = format_number(2.0 * served);
        found
            .chain(["requests"])
            .limiting(station)
            .advise(format!(
                "find what limits it to {} at a time ({what}) and raise that, or make a request shorter",
                format_number(served)
            ))
            .advise(
                "its own metrics may name it (--metrics URL), or those of what it talks to (--postgres URL)",
            )
            .predicts_doubling(
                case,
                format!("{twice} at a time"),
                load.answered,
                "if the rate stays the same, a rate limit is at work, not a concurrency limit",
            )
            .unless(format!("more than {} are under way in it at once", format_number(served)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One at a time of 0.5 ms, 0.6 ms with its transfer, was no integer, and nothing was reported.
    #[test]
    fn the_way_of_a_request_is_not_counted() {
        for (rate, alone, served) in [
            (2_000.0, 0.000_5, Some(1.0)),
            (2_000.0, 0.000_6, Some(1.0)),
            (2_000.0, 0.000_69, Some(1.0)),
            (2_000.0, 0.000_8, None),
            (1_960.0, 0.000_5, Some(1.0)),
            (50.0, 0.024, Some(1.0)),
            (50.0, 0.028, None),
            (495.0, 0.020_1, Some(10.0)),
            (1_980.0, 0.050_3, Some(99.0)),
            // At this rate the transfer time cannot distinguish one from two.
            (20_000.0, 0.000_07, None),
            (20_000.0, 0.000_052, Some(1.0)),
            (140.0, 0.01, None),
            (10.0, 0.001, None),
        ] {
            assert_eq!(whole_concurrency(rate, alone), served, "{rate}/s, {alone} s alone");
        }
    }
}
