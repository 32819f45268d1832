//! What workers wait for: each other, a pool, something outside, a disk; or nobody can see what.

use crate::case::{Case, Side, cpu as cpu_of};
use crate::found::{Contrast, Found, fact, source};
use crate::rules::inside;
use crate::words::{count, number, percent, time};
use crate::workers::Workers;
use record::watch::{Look, SubjectWindow, Window};
use record::{Arithmetic, Cause, Prediction};
use units::Rate;

/// Of the workers engaged this share waits for each other, or for one thing.
const MOST: f64 = 0.5;
/// With more processor than this share in use, waits are symptoms of that.
const CALM: f64 = 0.7;
/// A lock has one holder; a pool has more.
const ONE: f64 = 1.5;
/// Fewer engaged workers say nothing.
const LEAST: f64 = 2.5;

/// What is known of a crowd of workers that wait for each other.
struct Crowd {
    /// Workers that wait for others.
    waiting: f64,
    /// Workers that do something meanwhile.
    holding: f64,
    engaged: f64,
    workers: Workers,
}

/// Workers that are not needed for what is outstanding may wait for work: they are no crowd. Where there are
/// such, those are taken for waiting that wait otherwise than workers did while the target was well.
fn crowd_of(workers: Workers, outstanding: f64, well: Option<&Workers>) -> Crowd {
    const ALL: f64 = 0.9;
    let engaged = workers.all.min(outstanding);
    let mut waiting = workers.queueing();
    if outstanding < ALL * workers.all {
        let idle = workers.all - outstanding;
        let before = |within: &Option<u32>| well.and_then(|w| w.queues.get(within)).copied().unwrap_or(0.0);
        let new: f64 = workers.queues.iter().map(|(within, n)| (n - before(within)).max(0.0)).sum();
        waiting = (waiting - idle).max(0.0).min(new);
    }
    let holding = workers.outside() + workers.running;
    Crowd { waiting, holding, engaged, workers }
}

fn crowded(case: &Case<'_>, window: &Window) -> Option<Crowd> {
    let subject = window.subjects.first()?;
    let crowd = crowd_of(
        Workers::find(subject, case.about())?,
        case.bad.load.outstanding,
        case.well.as_ref().and_then(|well| well.workers.as_ref()),
    );
    let calm = cpu_of(subject, window.length()) < CALM * case.cpus();
    (crowd.engaged >= LEAST && crowd.waiting >= MOST * crowd.engaged && calm).then_some(crowd)
}

/// A pool of connections or permits; a lock is a pool of one.
pub(crate) fn crowd(case: &Case<'_>) -> Option<Found> {
    let crowd = crowded(case, &case.bad.all)?;
    if crowd.holding <= ONE { lock(case, crowd) } else { pool(case, crowd) }
}

fn waiting_fact(case: &Case<'_>, crowd: &Crowd) -> record::Evidence {
    let deadline = crowd.workers.deadline_s.filter(|_| crowd.workers.timed > crowd.workers.untimed);
    let deadline = deadline.map_or(", without a deadline".to_owned(), |s| format!(", at most {s} s"));
    fact(
        format!(
            "{} of {} workers ({}) wait for another thread{deadline}",
            number(crowd.waiting),
            number(crowd.workers.all),
            crowd.workers.name
        ),
        crowd.waiting,
        MOST * crowd.engaged,
        "threads",
        source::SWEEP,
    )
    .well(case.when_well(|side| {
        let crowd = side
            .workers
            .clone()
            .map(|workers| crowd_of(workers, side.load.outstanding, side.workers.as_ref()));
        crowd.map_or(0.0, |crowd| crowd.waiting)
    }))
}

fn outstanding_fact(case: &Case<'_>) -> record::Evidence {
    let load = &case.bad.load;
    fact(
        format!(
            "{} requests are outstanding on average, the service uses {} of {} processors",
            number(load.outstanding),
            number(case.cpu()),
            number(case.cpus())
        ),
        load.outstanding,
        case.bad.workers.as_ref().map_or(0.0, |workers| workers.all),
        "requests",
        source::LOAD,
    )
    .well(case.when_well(|side| side.load.outstanding))
}

/// Where a virtual machine's own account puts the waiting threads.
fn dumped(case: &Case<'_>, is: impl Fn(&record::watch::ThreadsAt) -> bool) -> Option<record::Evidence> {
    let at = case.looks.iter().find_map(|look| match look {
        Look::Threads { at, .. } => at.iter().find(|at| is(at)),
        _ => None,
    })?;
    let by = at.asked_by.as_ref().map_or(String::new(), |asker| {
        let place = asker.place.as_ref().map_or(String::new(), |place| format!(" ({place})"));
        format!(", called by {}{place}", asker.method)
    });
    let text = format!("the JVM says: {} threads {} in {}{by}", at.threads, at.state, at.frame);
    Some(fact(text, f64::from(at.threads), 1.0, "threads", source::DUMP))
}

fn waits_in_application(at: &record::watch::ThreadsAt) -> bool {
    let idle =
        at.frame.contains("TaskQueue") || at.frame.contains("BlockingQueue") || at.frame.contains("ForkJoin");
    at.state != "RUNNABLE" && !idle
}

fn lock(case: &Case<'_>, crowd: Crowd) -> Option<Found> {
    let hold = case.well.as_ref().and_then(|well| well.load.response_p50);
    let arithmetic = hold.filter(|hold| *hold > 0.0).map(|hold| Arithmetic {
        formula: format!("1 / {} held per request", time(hold)),
        ceiling: Rate(1.0 / hold),
        measured: Rate(case.bad.load.answered),
    });
    let mut found = Found::new(
        Cause::Lock,
        format!(
            "{} of {}'s {} workers wait for one lock: one request at a time gets through.",
            number(crowd.waiting),
            case.name(),
            number(crowd.workers.all)
        ),
    )
    .margin(crowd.waiting, MOST * crowd.engaged, crowd.engaged * 0.9)
    .holding(case, |window| crowded(case, window).is_some_and(|crowd| crowd.holding <= ONE))
    .sources(2)
    .seen_by_sweeps(case)
    .evidence(waiting_fact(case, &crowd))
    .evidence(fact(
        format!("{} does something meanwhile", count(crowd.holding, "worker")),
        crowd.holding,
        ONE,
        "threads",
        source::SWEEP,
    ))
    .evidence(outstanding_fact(case));
    if let Some(dump) = dumped(case, |at| at.state == "BLOCKED" || waits_in_application(at)) {
        found = found.evidence(dump).sources(3);
    }
    let ceiling = hold.map_or(String::new(), |hold| format!(" (held {} per request)", time(hold)));
    Some(
        found
            .arithmetic(arithmetic)
            .chain([
                count(crowd.workers.all.round(), "worker"),
                format!("one lock{ceiling}"),
                "its holder".to_owned(),
            ])
            .next("do less while it is held, or hold one lock for each key instead of one for all")
            .next("more workers or processors will not help")
            .predicts(Prediction {
                change: "half the time under the lock".to_owned(),
                capacity: Some(Rate(2.0 * case.bad.load.answered)),
                then: "if the rate stays, the lock was not the cause".to_owned(),
            })
            .unless(format!(
                "{} workers hold something at once: below {} this is one lock, above it a pool",
                number(crowd.holding),
                number(ONE)
            )),
    )
}

/// How many of something are in use at once, by what, and where that was seen.
struct Size {
    count: f64,
    peer: Option<String>,
}

fn size(case: &Case<'_>, crowd: &Crowd) -> Size {
    let reading = crowd.workers.peers.first();
    match reading {
        Some((peer, readers)) if *readers >= 0.5 * crowd.holding => {
            let established = case.bad.service().peers.iter().find(|p| p.address == *peer);
            let connections = established.map_or(*readers, |p| p.established);
            // A connection that is used all the time is read from most of it.
            let count = if *readers >= 0.6 * connections { connections } else { *readers };
            Size { count: count.round(), peer: Some(peer.clone()) }
        }
        _ => Size { count: crowd.holding.round().max(2.0), peer: None },
    }
}

/// How long one of the pool is held for a request, from the time when the target was well: by Little's law the
/// number in use ÷ rate.
fn held(well: &Side<'_>, peer: Option<&str>) -> Option<f64> {
    let workers = well.workers.clone()?;
    let used = match peer {
        Some(peer) => workers.peers.iter().find(|(p, _)| p == peer).map_or(0.0, |(_, n)| *n),
        None => workers.outside(),
    };
    // Fewer than this on average were seen too seldom to divide by.
    (used >= 0.15 && well.load.answered > 0.0).then(|| used / well.load.answered)
}

fn pool(case: &Case<'_>, crowd: Crowd) -> Option<Found> {
    let Size { count: size, peer } = size(case, &crowd);
    let hold = case.well.as_ref().and_then(|well| held(well, peer.as_deref()));
    let measured = Rate(case.bad.load.answered);
    let thing = if peer.is_some() { "connection" } else { "permit" };
    let arithmetic = hold.map(|hold| Arithmetic {
        formula: format!("{} / {} held per request", count(size, thing), time(hold)),
        ceiling: Rate(size / hold),
        measured,
    });
    let at = peer.as_ref().map(|peer| format!(" to {}", named(case, peer))).unwrap_or_default();
    let mut found = Found::new(
        Cause::Pool,
        format!(
            "{} of {}'s {} workers wait for one of {} {thing}s{at}.",
            number(crowd.waiting),
            case.name(),
            number(crowd.workers.all),
            number(size)
        ),
    )
    .margin(crowd.waiting, MOST * crowd.engaged, 0.85 * crowd.engaged)
    .holding(case, |window| crowded(case, window).is_some_and(|crowd| crowd.holding > ONE))
    .sources(2)
    .seen_by_sweeps(case)
    .evidence(waiting_fact(case, &crowd))
    .evidence(
        fact(
            match &peer {
                Some(peer) => {
                    format!("{} read from {}, never more", number(crowd.workers.reading()), named(case, peer))
                }
                None => format!("{} do something meanwhile, never more", number(crowd.holding)),
            },
            crowd.holding,
            0.9 * size,
            "threads",
            source::SWEEP,
        )
        .well(case.when_well(|side| side.workers.as_ref().map_or(0.0, Workers::outside))),
    )
    .evidence(outstanding_fact(case));
    if let Some(dump) = dumped(case, waits_in_application) {
        found = found.evidence(dump).sources(3);
    }
    let sessions = inside::sessions(case, size);
    if let Some(sessions) = &sessions {
        found = found.evidence(sessions.evidence.clone()).sources(3);
    }
    let shorter = match hold {
        Some(hold) => format!("make what holds a {thing} shorter: it is held {} per request", time(hold)),
        None => format!("make what holds a {thing} shorter"),
    };
    let links = [count(crowd.workers.all.round(), "worker"), format!("{}{at}", count(size, thing))];
    Some(
        found
            .arithmetic(arithmetic)
            .chain(links.into_iter().chain(sessions.map(|sessions| sessions.link)))
            .next(shorter)
            .next(format!(
                "then a larger pool: {} times the rate wanted, in seconds held, and a fifth more",
                thing
            ))
            .predicts(Prediction {
                change: format!("a pool of {}", number(2.0 * size)),
                capacity: Some(Rate(2.0 * measured.0)),
                then: match &peer {
                    Some(peer) => {
                        format!("if the rate stays, {} is the limit behind the pool", named(case, peer))
                    }
                    None => "if the rate stays, what the pool guards is the limit".to_owned(),
                },
            })
            .unless(format!(
                "fewer than {} are in use while workers wait, or the workers are on processors",
                number((0.7 * size).floor())
            )),
    )
}

/// A peer with the name of the process that is there, if that is watched.
pub(crate) fn named(case: &Case<'_>, peer: &str) -> String {
    let port = |address: &str| address.rsplit_once(':').map(|(_, port)| port.to_owned());
    let subject = case.watched.subjects.iter().skip(1).find(|subject| {
        subject
            .listens
            .iter()
            .any(|listens| listens == peer || port(listens).is_some() && port(listens) == port(peer))
    });
    match subject {
        Some(subject) => format!("{peer} ({})", subject.name),
        None => peer.to_owned(),
    }
}

/// All workers are busy, each with something that is not itself at its limit.
pub(crate) fn workers(case: &Case<'_>) -> Option<Found> {
    let workers = case.bad.workers.clone()?;
    let all_taken = |window: &Window| {
        let subject = window.subjects.first();
        let there = subject.and_then(|subject| Workers::find(subject, case.about()));
        there.is_some_and(|w| {
            w.name == workers.name && w.all >= 0.9 * workers.all && w.outside() + w.running >= 0.8 * w.all
        })
    };
    let waits = workers.outside() >= MOST * workers.all;
    let full = workers.outside() + workers.running >= 0.8 * workers.all;
    let more = case.bad.load.most_outstanding >= 1.1 * workers.all;
    let calm = case.cpu() < CALM * case.cpus();
    if !(waits && full && more && calm && workers.all >= 1.5) {
        return None;
    }
    let (what, short) = occupation(case, &workers);
    let stay = case.well.as_ref().and_then(|well| well.load.response_p50);
    let arithmetic = stay.filter(|stay| *stay > 0.0).map(|stay| Arithmetic {
        formula: format!("{} / {} each", count(workers.all.round(), "worker"), time(stay)),
        ceiling: Rate(workers.all / stay),
        measured: Rate(case.bad.load.answered),
    });
    Some(
        Found::new(
            Cause::Workers,
            format!(
                "All {} workers of {} are taken, and {what}; {} requests are outstanding.",
                number(workers.all),
                case.name(),
                number(case.bad.load.outstanding)
            ),
        )
        .margin(workers.outside(), MOST * workers.all, 0.9 * workers.all)
        .holding(case, all_taken)
        .sources(2)
        .seen_by_sweeps(case)
        .evidence(
            fact(
                format!(
                    "{} of {} workers ({}) {what}",
                    number(workers.outside()),
                    number(workers.all),
                    workers.name
                ),
                workers.outside(),
                MOST * workers.all,
                "threads",
                source::SWEEP,
            )
            .well(case.when_well(|side| side.workers.as_ref().map_or(0.0, Workers::outside))),
        )
        .evidence(outstanding_fact(case))
        .arithmetic(arithmetic)
        .chain([count(workers.all.round(), "worker"), short])
        .next("shorten what they wait for")
        .next("or have more workers, virtual threads or an event loop: they only wait")
        .predicts(Prediction {
            change: format!("{} workers", number(2.0 * workers.all)),
            capacity: Some(Rate(2.0 * case.bad.load.answered)),
            then: "what they wait for is the next limit; if the rate stays, it was the cause already"
                .to_owned(),
        })
        .unless("workers are idle while requests wait"),
    )
}

/// What most of the workers do outside, as a clause and as a link of the chain.
fn occupation(case: &Case<'_>, workers: &Workers) -> (String, String) {
    let (peer, readers) = workers.peers.first().cloned().unwrap_or_default();
    if readers >= workers.sleeping && readers >= workers.disk {
        let peer = named(case, &peer);
        (format!("{} wait for {peer}", number(readers)), peer)
    } else if workers.disk >= workers.sleeping {
        let what = workers.disk_what.clone().unwrap_or_else(|| "a disk".to_owned());
        (format!("{} wait for {what}", number(workers.disk)), what)
    } else {
        (format!("{} sleep", number(workers.sleeping)), "time".to_owned())
    }
}

/// Workers wait for something else, and there is no pool in between.
pub(crate) fn downstream(case: &Case<'_>) -> Option<Found> {
    let workers = case.bad.workers.clone()?;
    let engaged = workers.all.min(case.bad.load.outstanding);
    let (peer, readers) = workers.peers.first().cloned()?;
    let calm = case.cpu() < CALM * case.cpus();
    if engaged < LEAST || readers < MOST * engaged || !calm {
        return None;
    }
    let reading = |window: &Window| {
        let there = window.subjects.first().and_then(|subject| Workers::find(subject, case.about()));
        there.is_some_and(|w| w.peers.iter().any(|(p, n)| *p == peer && *n >= MOST * engaged))
    };
    let place = named(case, &peer);
    let before = case.when_well(|side| {
        let there = side.workers.as_ref().and_then(|w| w.peers.iter().find(|(p, _)| *p == peer));
        there.map_or(0.0, |(_, n)| *n)
    });
    Some(
        Found::new(
            Cause::Downstream,
            format!(
                "{} of {} workers of {} wait for {place}.",
                number(readers),
                number(workers.all),
                case.name()
            ),
        )
        .margin(readers, MOST * engaged, 0.9 * engaged)
        .holding(case, reading)
        .sources(2)
        .seen_by_sweeps(case)
        .evidence(
            fact(
                format!("{} of {} workers read from {place}", number(readers), number(workers.all)),
                readers,
                MOST * engaged,
                "threads",
                source::SWEEP,
            )
            .well(before),
        )
        .evidence(outstanding_fact(case))
        .chain([count(workers.all.round(), "worker"), place.clone()])
        .next(format!("look at {place}: watch it too (--postgres, or torment there)"))
        .unless(format!("{place} answers as quickly as when the service was well")),
    )
}

/// Workers wait for a disk.
pub(crate) fn disk(case: &Case<'_>) -> Option<Found> {
    const SHARE: f64 = 0.3;
    let there = |subject: &SubjectWindow| -> (f64, Option<String>) {
        let workers = Workers::find(subject, case.about()).unwrap_or_default();
        (workers.disk, workers.disk_what)
    };
    let (waiting, what) = there(case.bad.service());
    let workers = case.bad.workers.as_ref().map_or(0.0, |workers| workers.all);
    let engaged = workers.min(case.bad.load.outstanding);
    // One writes, and the others wait for the file's lock, which they do in the disk's place as well, or for a mutex.
    let one_writes = case.bad.holds(|w| w.subjects.first().is_some_and(|s| there(s).0 >= 0.6)).0 >= 0.7;
    if engaged < LEAST || (waiting < SHARE * engaged && !(one_writes && waiting >= 0.7)) {
        return None;
    }
    let what = what.unwrap_or_else(|| "a disk".to_owned());
    let written = case.bad.service().written_bytes.unwrap_or(0);
    Some(
        Found::new(
            Cause::Disk,
            format!(
                "{} of {} workers of {} wait for a disk ({what}).",
                number(waiting),
                number(workers),
                case.name()
            ),
        )
        .margin(waiting, SHARE * engaged, 0.6 * engaged)
        .holding(case, |w| w.subjects.first().is_some_and(|s| there(s).0 >= 0.6))
        .sources(2)
        .seen_by_sweeps(case)
        .evidence(
            fact(
                format!("{} asleep and not to be woken, at {what}", count(waiting, "worker")),
                waiting,
                SHARE * engaged,
                "threads",
                source::SWEEP,
            )
            .well(case.when_well(|side| there(side.service()).0)),
        )
        .evidence(fact(
            format!("{} written a second", crate::words::bytes(case.bad.per_second(written) as u64)),
            written as f64,
            0.0,
            "bytes",
            "/proc/PID/io",
        ))
        .chain([count(workers.round(), "worker"), what])
        .next("write less often, or several requests' data at once; or on a faster disk")
        .unless(format!(
            "fewer than {} of the workers wait for a disk in a run that is as slow",
            percent(SHARE)
        )),
    )
}

/// Requests wait in the service, and none of its threads shows for what.
pub(crate) fn inside(case: &Case<'_>) -> Option<Found> {
    let there = case.bad.service();
    let threads: f64 = there.groups.iter().map(|group| group.threads).sum();
    let load = &case.bad.load;
    let before = case.when_well(|side| side.load.outstanding).unwrap_or(0.0);
    let calm = case.cpu() < MOST * case.cpus() && case.runnable() < 1.0;
    let more_than_threads =
        load.outstanding > 1.5 * threads.max(1.0) || load.outstanding >= 3.0 * before + 3.0;
    if there.sweep.is_none() || !calm || !more_than_threads || load.outstanding < LEAST {
        return None;
    }
    if let Some(found) = inside::pool_by_sockets(case) {
        return Some(found);
    }
    // Where workers can be seen waiting they say more, and where they wait for something that no rule
    // knows, that is the thing to say.
    let says_more = |w: &Workers| {
        let engaged = load.outstanding.min(w.all);
        w.all >= 8.0 && w.outside() + w.queueing() >= MOST * engaged || w.other >= MOST * engaged
    };
    if case.bad.workers.as_ref().is_some_and(says_more) {
        return None;
    }
    let found = Found::new(
        Cause::Inside,
        format!(
            "{} requests wait inside {}, which uses {} of {} processors; its threads do not show for what.",
            number(load.outstanding),
            case.name(),
            number(case.cpu()),
            number(case.cpus())
        ),
    )
    .margin(0.0, 0.0, 1.0)
    .sources(1)
    .seen_by_sweeps(case)
    .evidence(outstanding_fact(case))
    .evidence(fact(
        format!(
            "{} threads, of which {} run or want to",
            number(threads),
            number(case.cpu() + case.runnable())
        ),
        threads,
        load.outstanding,
        "threads",
        source::SWEEP,
    ));
    Some(
        found
            .chain(["requests".to_owned(), format!("inside {}", case.name())])
            .next("its own metrics say more: queues, pools, timers, limits of concurrency (--metrics URL)")
            .next("watch what it talks to as well (--postgres URL)")
            .unless("one of its own queues or pools is seen full"),
    )
}
