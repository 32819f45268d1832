//! What workers wait for outside the service: a peer, time, a disk; and whether there are too few workers.

use super::contention::{
    MAX_CALM_UTILISATION, MIN_ENGAGED, MIN_WAITING_SHARE, name_peer, outstanding_fact, stacks_fact, station,
};
use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, fact, source};
use crate::format::{format_count, format_number, format_time};
use crate::loaded_window::LoadedWindow;
use crate::processors::FULL_UTILISATION;
use crate::programs::find_by_subject;
use crate::request_path::use_of;
use crate::workers::Workers;
use record::watch::Window;
use record::{CapacityCheck, Cause, Station, StationKind};
use units::{Bytes, Rate, Share};

/// Fewer count as one.
const MIN_SEVERAL: f64 = 1.5;

/// All workers are busy, each with something that is not itself at its limit.
pub(crate) fn workers(case: &Case<'_>) -> Option<RuleFinding> {
    let mut workers = case.degraded.workers.clone()?;
    let is_single = workers.count < MIN_SEVERAL;
    if is_single {
        workers.count = 1.0;
    }
    let all_taken = |window: &LoadedWindow<'_>| {
        case.workers(window).is_some_and(|w| {
            w.name == workers.name
                && w.count >= 0.9 * workers.count
                && w.outside() + w.running >= 0.8 * w.count
        })
    };
    let waits = workers.outside() >= MIN_WAITING_SHARE * workers.count;
    let full = workers.outside() + workers.running >= 0.8 * workers.count;
    let more = case.degraded.load.max_outstanding >= 1.1 * workers.count;
    let calm = case.cpu() < MAX_CALM_UTILISATION * case.cpus();
    // Thread-per-request is no limited number of workers.
    let windows = case.degraded.windows.iter();
    let counts: Vec<f64> = windows.filter_map(|w| Some(case.workers(w)?.count)).collect();
    // Threads created on demand exist by the second half.
    let half = &counts[counts.len() / 2..];
    let (least, most) = half.iter().fold((f64::MAX, 0.0_f64), |(a, b), n| (a.min(*n), b.max(*n)));
    let grows = half.len() >= 2 && least < 0.85 * most && half.last() > half.first();
    let hold_time = worker_hold_time(case, &workers);
    if grows || !(waits && full && more && calm) || is_single && hold_time.is_none() {
        return None;
    }
    let (what, short) = occupation(case, &workers);
    let stay = if is_single { hold_time } else { case.well_median() };
    let arithmetic = stay.filter(|stay| *stay > 0.0).map(|stay| CapacityCheck {
        formula: format!("{} / {} each", format_count(workers.count.round(), "worker"), format_time(stay)),
        ceiling: Rate(workers.count / stay),
        measured: Rate(case.degraded.load.answered),
    });
    Some(
        RuleFinding::new(Cause::Workers)
            .with_sentence(format!(
                "{} of {} {} taken, and {what}; {} requests are outstanding.",
                if is_single {
                    "The only worker".to_owned()
                } else {
                    format!("All {} workers", format_number(workers.count.round()))
                },
                case.name(),
                if is_single { "is" } else { "are" },
                format_number(case.degraded.load.outstanding)
            ))
            .margin(workers.outside(), MIN_WAITING_SHARE * workers.count, 0.9 * workers.count)
            .persisting(case, all_taken)
            // Without a second side it is unknown which of them are workers.
            .sources(if case.well.is_some() { 2 } else { 1 })
            .seen_by_sweeps(case)
            .fact(format!(
                "{} of {} ({}) {} for something else: {what}",
                format_number(workers.outside()),
                format_count(workers.count, "worker"),
                workers.name,
                if is_single { "waits" } else { "wait" }
            ))
            .measured(workers.outside(), MIN_WAITING_SHARE * workers.count, "threads", source::SWEEP)
            .well(case.when_well(|side| side.workers.as_ref().map_or(0.0, Workers::outside)))
            .evidence(outstanding_fact(case))
            .evidences(stacks_fact(case, &workers, |at| at.state != "futex"))
            .evidences(bystanders(case, &workers))
            .arithmetic(arithmetic)
            .limiting(station(case)?)
            .chain([short])
            .advise("shorten what they wait for")
            .advise(more_workers(case, &workers))
            .predicts_doubling(
                case,
                format!("{} workers", format_number(2.0 * workers.count)),
                case.degraded.load.answered,
                "what they wait for is the next limit; if the rate stays the same, it was the \
                 cause all along",
            )
            .unless("workers are idle while requests wait"),
    )
}

/// Seconds a request occupies a worker, by Little's law; none unless similar at both rates, or if no more workers are busy than while it
/// was well: then they are busy with something else.
fn worker_hold_time(case: &Case<'_>, workers: &Workers) -> Option<f64> {
    const SAME: std::ops::Range<f64> = 0.75..1.33;
    const MORE: f64 = 1.15;
    let well = case.well.as_ref()?;
    let before = well.workers.as_ref().filter(|before| before.name == workers.name)?;
    let busy = |workers: &Workers| workers.outside() + workers.running;
    let [each, then] = [(busy(workers), &case.degraded.load), (busy(before), &well.load)]
        .map(|(busy, load)| busy / load.answered);
    (busy(workers) >= MORE * busy(before) && SAME.contains(&(each / then))).then_some(then)
}

/// Threads of the same name that are no workers.
fn bystanders(case: &Case<'_>, workers: &Workers) -> Option<record::Evidence> {
    let others = case.bystanders.in_group(&workers.name);
    let text = format!("{} more with that name do the same at any load: not workers", format_number(others));
    (others > 0.0).then(|| fact(text).measured(others, 1.0, "threads", source::SWEEP))
}

/// With the memory of twice as many, if the cost of a thread is known here.
fn more_workers(case: &Case<'_>, workers: &Workers) -> String {
    let waits = if workers.count < MIN_SEVERAL { "it only waits" } else { "they only wait" };
    let advice = match case.subject().and_then(find_by_subject).and_then(|program| program.worker_setting) {
        Some(setting) => format!("or use more workers ({setting}): {waits}"),
        None => format!("or use more workers, virtual threads or an event loop: {waits}"),
    };
    match case.costs.and_then(|costs| costs.thread) {
        Some(each) => {
            let all = Bytes((each.0 as f64 * workers.count) as u64);
            format!(
                "{advice}; {} cost {all} here, {each} each, plus the stack they touch",
                format_count(workers.count, "more thread")
            )
        }
        None => advice,
    }
}

/// What most of the workers do outside, as a clause and as a link of the chain.
fn occupation(case: &Case<'_>, workers: &Workers) -> (String, String) {
    let wait = |threads: f64, what: &str| match workers.count < MIN_SEVERAL {
        true => format!("it waits for {what}"),
        false => format!("{} wait for {what}", format_number(threads)),
    };
    let (peer, readers) = workers.peers.first().cloned().unwrap_or_default();
    if readers >= workers.sleeping && readers >= workers.disk {
        let peer = name_peer(case, &peer);
        (wait(readers, &peer), peer)
    } else if workers.disk >= workers.sleeping {
        let what = workers.disk_wait.clone().unwrap_or_else(|| "a disk".to_owned());
        (wait(workers.disk, &what), what)
    } else if workers.count < MIN_SEVERAL {
        ("it sleeps".to_owned(), "time".to_owned())
    } else {
        (format!("{} sleep", format_number(workers.sleeping)), "time".to_owned())
    }
}

/// Workers wait for something else, without a pool in between.
pub(crate) fn downstream(case: &Case<'_>) -> Option<RuleFinding> {
    let workers = case.degraded.workers.clone()?;
    let engaged = workers.count.min(case.degraded.load.outstanding);
    let (peer, readers) = workers.peers.first().cloned()?;
    let calm = case.cpu() < MAX_CALM_UTILISATION * case.cpus();
    if engaged < MIN_ENGAGED || readers < MIN_WAITING_SHARE * engaged || !calm {
        return None;
    }
    let reading = |window: &LoadedWindow<'_>| {
        let there = case.workers(window);
        there.is_some_and(|w| w.peers.iter().any(|(p, n)| *p == peer && *n >= MIN_WAITING_SHARE * engaged))
    };
    let place = name_peer(case, &peer);
    let before = case.when_well(|side| {
        let there = side.workers.as_ref().and_then(|w| w.peers.iter().find(|(p, _)| *p == peer));
        there.map_or(0.0, |(_, n)| *n)
    });
    let there = Station {
        well: before.zip(case.well.as_ref()).map(|(readers, well)| use_of(readers, None, &well.load)),
        degraded: Some(use_of(readers, None, &case.degraded.load)),
        ..StationKind::Peers.station(&place)
    };
    Some(
        RuleFinding::new(Cause::Downstream)
            .with_sentence(format!(
                "{} of {} workers of {} wait for {place}.",
                format_number(readers),
                format_number(workers.count),
                case.name()
            ))
            .margin(readers, MIN_WAITING_SHARE * engaged, 0.9 * engaged)
            .persisting(case, reading)
            .sources(2)
            .seen_by_sweeps(case)
            .fact(format!(
                "{} of {} workers read from {place}",
                format_number(readers),
                format_number(workers.count)
            ))
            .measured(readers, MIN_WAITING_SHARE * engaged, "threads", source::SWEEP)
            .well(before)
            .evidence(outstanding_fact(case))
            .chain(station(case))
            .chain([there])
            .advise(format!("look at {place}: watch it too (--postgres, or torment there)"))
            .unless(format!("{place} answers as quickly as when the service was well")),
    )
}

/// Workers wait for a disk.
pub(crate) fn disk(case: &Case<'_>) -> Option<RuleFinding> {
    const SHARE: f64 = 0.3;
    let disk_waits = |window: &Window| case.workers(window).map_or(0.0, |workers| workers.disk);
    let one_waits = |window: &LoadedWindow<'_>| disk_waits(window) >= 0.6;
    let Workers { disk: waiting, disk_wait: what, .. } =
        case.workers(&case.degraded.merged).unwrap_or_default();
    let workers = case.degraded.workers.as_ref().map_or(0.0, |workers| workers.count);
    let engaged = workers.min(case.degraded.load.outstanding);
    // One writes, and the others wait for the file's lock, in the same kernel function, or for a mutex.
    let one_writes = case.degraded.share_of_windows(one_waits).0 >= 0.7;
    let is_one = |workers: &Workers| workers.count < MIN_SEVERAL && worker_hold_time(case, workers).is_some();
    let few = engaged < MIN_ENGAGED && !case.degraded.workers.as_ref().is_some_and(is_one);
    // Who holds what the others wait for may itself wait for a processor.
    let full = case.cpu() >= FULL_UTILISATION * case.cpus();
    if full || few || (waiting < SHARE * engaged && !(one_writes && waiting >= 0.7)) {
        return None;
    }
    let what = what.unwrap_or_else(|| "a disk".to_owned());
    let written = case.degraded.service().written_bytes.unwrap_or(0);
    Some(
        RuleFinding::new(Cause::Disk)
            .with_sentence(format!(
                "{} of {} of {} {} for a disk ({what}).",
                format_number(waiting),
                format_count(workers, "worker"),
                case.name(),
                if format_number(workers) == "1" { "waits" } else { "wait" }
            ))
            .margin(waiting, SHARE * engaged, 0.6 * engaged)
            .persisting(case, one_waits)
            .sources(2)
            .seen_by_sweeps(case)
            .fact(format!("{} in uninterruptible sleep, at {what}", format_count(waiting, "worker")))
            .measured(waiting, SHARE * engaged, "threads", source::SWEEP)
            .well(case.when_well(|side| disk_waits(&side.merged)))
            .fact(format!("{} written a second", Bytes(case.degraded.per_second(written) as u64)))
            .measured(written as f64, 0.0, "bytes", "/proc/PID/io")
            .chain(station(case))
            .chain([what])
            .advise("write less often, write the data of several requests at once, or use a faster disk")
            .unless(format!(
                "fewer than {} of the workers wait for a disk in a run that is just as slow",
                Share(SHARE)
            )),
    )
}
