//! Refusals: by a queue, or a limit on threads, memory or descriptors.

use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, fact, source};
use crate::format::{format_count, format_number};
use crate::request_path;
use record::Cause;
use record::watch::{LimitUsage, TreeWindow};
use units::{Bytes, grouped};

/// Nobody would deliberately choose a smaller backlog for a loaded service.
const SHORT_BACKLOG: u32 = 64;

pub(crate) fn accept_queue(case: &Case<'_>) -> Option<RuleFinding> {
    let full = |subject: &TreeWindow| subject.listeners.iter().any(|l| l.queued > l.backlog);
    let there = case.degraded.service();
    let listener = there.listeners.iter().max_by_key(|l| l.queued)?;
    // This covers all sockets, so it says nothing of a downstream.
    let network = case.degraded.merged.network.filter(|_| case.front.is_none());
    let overflows = network.map_or(0, |network| network.listen_overflows);
    if !full(there) && (overflows == 0 || listener.queued * 2 < listener.backlog) {
        return None;
    }
    let queued = format!(
        "{} connections wait at {} to be accepted; at most {} can",
        listener.queued, listener.address, listener.backlog
    );
    let load = &case.degraded.load;
    let accept = "find what holds up the accepting threads; have more of them, or an event loop for \
                  connections";
    // A dropped connection retries after a second: so short a backlog is too short for a service that is idle meanwhile.
    let [first, second] = match listener.backlog < SHORT_BACKLOG && case.cpu() < 0.5 {
        true => [
            "listen with a longer backlog, 128 or more: the service is idle while connections are turned away",
            accept,
        ],
        false => [accept, "raise the backlog (and net.core.somaxconn) only if connections come in bursts"],
    };
    Some(
        RuleFinding::new(Cause::AcceptQueue)
            .with_sentence(format!(
                "The queue of new connections at {} is full ({} of {}): {} does not accept as fast as they \
                 arrive.",
                listener.address,
                listener.queued,
                listener.backlog,
                case.name()
            ))
            .margin(if overflows > 0 { 1.0 } else { 0.5 }, 0.0, 1.0)
            .persisting(case, |w| {
                w.service().is_some_and(full) || w.network.is_some_and(|network| network.listen_overflows > 0)
            })
            .sources(if overflows > 0 { 3 } else { 2 })
            .fact(queued)
            .measured(f64::from(listener.queued), f64::from(listener.backlog), "connections", source::SOCKETS)
            .well(case.when_well(|side| {
                side.service().listeners.iter().map(|l| f64::from(l.queued)).fold(0.0, f64::max)
            }))
            .fact(format!("{} connections turned away by the kernel", grouped(overflows)))
            .measured(overflows as f64, 1.0, "connections", "/proc/net/netstat ListenOverflows")
            .evidences((load.timeouts > 0).then(|| {
                fact(format!("{} timed out", format_count(load.timeouts as f64, "request"))).measured(
                    load.timeouts as f64,
                    1.0,
                    "requests",
                    source::LOAD,
                )
            }))
            .chain(["connections"])
            .limiting(request_path::limit_station(
                format!("accept queue of {}", listener.backlog),
                f64::from(listener.queued),
                f64::from(listener.backlog),
            ))
            .chain([format!("{} accepts too slowly", case.name())])
            .advise(first)
            .advise(second)
            .unless("the queue stays below its backlog once clients keep their connections alive"),
    )
}

pub(crate) fn tasks(case: &Case<'_>) -> Option<RuleFinding> {
    let there = case.degraded.service();
    let group = there.cgroup.as_ref().and_then(|cgroup| cgroup.tasks.as_ref());
    let refused = group.and_then(|tasks| tasks.refused).unwrap_or(0);
    let at_group = group.filter(|tasks| tasks.limit > 0 && (refused > 0 || tasks.used >= tasks.limit));
    let at_user = there.user_tasks.filter(|usage| usage.limit > 0 && usage.share() >= 1.0);
    let at_host =
        case.degraded.merged.host.as_ref().and_then(|h| h.tasks).filter(|usage| usage.share() >= 0.99);
    let (what, used, limit, advice) = match (at_group, at_user, at_host) {
        (Some(tasks), ..) => (
            format!("pids.max of {}", tasks.group),
            tasks.used,
            tasks.limit,
            "raise pids.max (TasksMax of a systemd unit, --pids-limit of a container)",
        ),
        (None, Some(usage), _) => (
            "RLIMIT_NPROC of its user".to_owned(),
            usage.used,
            usage.limit,
            "raise the user's limit of processes (ulimit -u, LimitNPROC)",
        ),
        (None, None, Some(usage)) => (
            "the machine's own limit".to_owned(),
            usage.used,
            usage.limit,
            "raise kernel.threads-max and kernel.pid_max",
        ),
        (None, None, None) => return None,
    };
    let at_limit = |subject: &TreeWindow| {
        let tasks = subject.cgroup.as_ref().and_then(|cgroup| cgroup.tasks.as_ref());
        tasks.is_some_and(|t| t.refused.unwrap_or(0) > 0 || t.used >= t.limit)
            || subject.user_tasks.is_some_and(|usage| usage.share() >= 1.0)
    };
    let threads = |side: &crate::part_summary::PartSummary<'_>| f64::from(side.service().threads);
    Some(
        RuleFinding::new(Cause::TaskLimit)
            .with_sentence(format!(
                "{} cannot create more threads: {} of {} are in use ({what}).",
                case.name(),
                grouped(used),
                grouped(limit)
            ))
            .persisting(case, |w| w.service().is_some_and(at_limit))
            .sources(if refused > 0 { 3 } else { 2 })
            .fact(format!("{} threads and processes of {} allowed", grouped(used), grouped(limit)))
            .measured(used as f64, limit as f64, "tasks", source::CGROUP)
            .well(case.when_well(threads))
            .fact(format!("{} new ones refused", grouped(refused)))
            .measured(refused as f64, 1.0, "tasks", source::CGROUP)
            .chain(["requests", "a thread for each"])
            .limiting(request_path::limit_station(what, used as f64, limit as f64))
            .advise(advice)
            .advise("or bound the number of threads: a pool with a queue, or virtual threads")
            .unless("the number of threads stays below the limit while requests still fail"),
    )
}

/// Unreclaimable share of its memory limit at which a group is in trouble.
const MIN_MEMORY_SHARE: f64 = 0.9;

pub(crate) fn memory(case: &Case<'_>) -> Option<RuleFinding> {
    let there = case.degraded.service();
    let memory = there.cgroup.as_ref()?.memory.as_ref().filter(|memory| memory.limit_bytes > 0)?;
    let held = memory.used_bytes.saturating_sub(memory.cache_bytes);
    let full = held as f64 >= MIN_MEMORY_SHARE * memory.limit_bytes as f64;
    if memory.kills == 0 && !(full && (memory.failures > 0 || memory.high > 0)) {
        return None;
    }
    let limit = Bytes(memory.limit_bytes);
    let what = if memory.kills > 0 { "was killed by" } else { "is at" };
    let at_limit = |subject: &TreeWindow| {
        let memory = subject.cgroup.as_ref().and_then(|cgroup| cgroup.memory.as_ref());
        memory.is_some_and(|m| m.kills > 0 || m.failures > 0 || m.high > 0) || subject.ended > 0
    };
    Some(
        RuleFinding::new(Cause::MemoryLimit)
            .with_sentence(format!("{} {what} its memory limit of {limit} ({}).", case.name(), memory.group))
            .persisting(case, |w| w.service().is_some_and(at_limit))
            .margin(if memory.kills > 0 { 1.0 } else { 0.5 }, 0.0, 1.0)
            .sources(if memory.kills > 0 { 3 } else { 2 })
            .fact(format!(
                "{} of {limit} in use, {} of it cache",
                Bytes(memory.used_bytes),
                Bytes(memory.cache_bytes)
            ))
            .measured(held as f64, MIN_MEMORY_SHARE * memory.limit_bytes as f64, "bytes", source::CGROUP)
            .fact(format!(
                "{} times at the limit, {} processes killed",
                grouped(memory.failures),
                memory.kills
            ))
            .measured((memory.failures + memory.kills) as f64, 1.0, "times", source::CGROUP)
            .chain(["requests".to_owned(), "memory".to_owned(), format!("limit of {limit}")])
            .advise(
                "find out what holds the memory, and whether it grows with the requests in flight or with \
                 their total number",
            )
            .advise("count heap, stacks, buffers and page cache against the limit before raising it")
            .unless("memory in use stays below the limit in a run that is just as slow"),
    )
}

/// Share of its descriptors from which a process runs out.
const MIN_DESCRIPTORS_SHARE: f64 = 0.95;

pub(crate) fn descriptors(case: &Case<'_>) -> Option<RuleFinding> {
    let near = |usage: &LimitUsage| usage.share() >= MIN_DESCRIPTORS_SHARE;
    let used = case.degraded.service().descriptors.filter(near)?;
    Some(
        RuleFinding::new(Cause::Descriptors)
            .with_sentence(format!(
                "{} has no descriptors left: {} of {} are open.",
                case.name(),
                grouped(used.used),
                grouped(used.limit)
            ))
            .margin(used.share(), MIN_DESCRIPTORS_SHARE, 1.0)
            .persisting(case, |w| {
                w.service().is_some_and(|service| service.descriptors.as_ref().is_some_and(near))
            })
            .persisting_if(used.used >= used.limit)
            .sources(2)
            .fact(format!("{} of {} descriptors open", grouped(used.used), grouped(used.limit)))
            .measured(used.share(), MIN_DESCRIPTORS_SHARE, "share", source::PROCESS)
            .well(case.when_well(|side| side.service().descriptors.map_or(0.0, |usage| usage.share())))
            .chain(["connections and files"])
            .limiting(request_path::limit_station(
                format!("limit of {} descriptors", grouped(used.limit)),
                used.used as f64,
                used.limit as f64,
            ))
            .advise("raise its limit (ulimit -n, LimitNOFILE), or find what is opened and not closed")
            .unless(format!(
                "fewer than {} stay open in a run that fails the same way",
                format_number(0.95 * used.limit as f64)
            )),
    )
}
