//! The load generator is the first suspect: if it was the limit, nothing is said of the target.

use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, source};
use crate::format::{format_count, format_time};
use crate::processors::idle_cpus;
use record::{Cause, ExhaustedResource};
use units::{Share, grouped};

/// The pacing explains the response time from this share of it on,
const MIN_DELAY_SHARE: f64 = 0.3;
/// and from this time on.
const MIN_DELAY: f64 = 0.001;

/// With at most this many processors none is idle while a target on the same machine is loaded.
const FEW_PROCESSORS: u32 = 2;

pub(crate) fn generator(case: &Case<'_>) -> Option<RuleFinding> {
    let void_reason = case.void_reasons.iter().find(|caveat| caveat.doubt.is_generator());
    let load = &case.degraded.load;
    let own_delay = load.pacing_p99.unwrap_or(0.0);
    let response = load.response_p99.unwrap_or(0.0);
    // A late start does not explain unexpected or missing answers.
    let only_slow = load.timeouts == 0 && load.failures.is_empty();
    let delays = own_delay >= MIN_DELAY && own_delay >= MIN_DELAY_SHARE * response && only_slow;
    // A target that saturates the machine delays the generator too: then the target's own limit is the cause.
    if target_fills_the_machine(case) || void_reason.is_none() && !(delays && case.cpu() < 0.5 * case.cpus())
    {
        return None;
    }
    let own = &case.degraded.merged.own;
    let mut found = RuleFinding::new(Cause::Generator)
        .with_sentence(
            "The load generator itself was the limit: these figures measure torment, not the target.",
        )
        .margin(own_delay, MIN_DELAY, 2.0 * MIN_DELAY)
        .sources(if void_reason.is_some() { 3 } else { 2 });
    if let Some(caveat) = void_reason {
        found = found.fact(caveat.to_string()).measured(1.0, 1.0, "trials", source::LOAD);
    }
    if own_delay > 0.0 {
        let text = format!("torment sent requests {} late at p99", format_time(own_delay));
        found = found.fact(text).measured(own_delay * 1e3, MIN_DELAY * 1e3, "ms", source::LOAD);
    }
    if case.degraded.observed_seconds() > 0.0 && !case.is_remote() {
        let waited = case.degraded.per_second(own.loops_run_delay_ns) / 1e9;
        let text = format!(
            "its loops used {} and waited {} of the time for one",
            format_count(case.degraded.per_second(own.loops_cpu_ns) / 1e9, "processor"),
            Share(waited)
        );
        found = found.fact(text).measured(waited, 0.05, "share", source::SCHEDSTAT);
    }
    let lower = case.is_load.then(|| "or ask for a lower rate: below it the figures hold".to_owned());
    Some(
        found
            .advise(match case.degraded.merged.host.as_ref().map(|host| host.cpus) {
                // None can be reserved.
                Some(..=FEW_PROCESSORS) => "generate the load on another machine: --on ssh:HOST",
                _ => "give torment processors of its own (--cores), or generate the load on another machine (--on ssh:HOST)",
            })
            .advise_all(lower)
            .chain(["load generator → processor"])
            .unless("the generator's own delay stays below 1 ms when it has a processor of its own"),
    )
}

/// Share of one address's ports from which they count as exhausted.
const MIN_PORTS_SHARE: f64 = 0.8;

/// Whether hardly any of the machine is idle, and the target uses most of what is used.
fn target_fills_the_machine(case: &Case<'_>) -> bool {
    let all = &case.degraded.merged;
    let Some(host) = all.host.as_ref().filter(|_| !case.is_remote()) else { return false };
    let idle = idle_cpus(all);
    let busy = f64::from(host.cpus) - idle;
    idle <= 0.1 * f64::from(host.cpus) && case.cpu() + case.downstream_cpu() >= 0.5 * busy
}

/// Arrivals that failed for lack of a resource; also known from a trial whose seconds were not kept.
fn failed_for_lack(case: &Case<'_>, resource: ExhaustedResource) -> Option<(u64, String)> {
    let count = case.exhausted.get(&resource).copied().unwrap_or(0);
    let void = case.void_reasons.iter().find(|caveat| caveat.doubt == resource.into());
    match count {
        0 => void.map(|caveat| (0, caveat.to_string())),
        1 => Some((1, format!("1 arrival failed for lack of a {resource}"))),
        _ => Some((count, format!("{} arrivals failed for lack of a {resource}", grouped(count)))),
    }
}

pub(crate) fn ports(case: &Case<'_>) -> Option<RuleFinding> {
    let failures = failed_for_lack(case, ExhaustedResource::Port);
    let ports = case.degraded.merged.own.ports;
    if failures.is_none() && ports.share() < MIN_PORTS_SHARE {
        return None;
    }
    let sentence = match &failures {
        Some((_, text)) => format!("torment ran out of local ports: {text}."),
        None => "torment is about to run out of local ports.".to_owned(),
    };
    let mut found = RuleFinding::new(Cause::Ports)
        .with_sentence(format!("{sentence} This says nothing about the target."))
        .margin(if failures.is_some() { 1.0 } else { ports.share() }, MIN_PORTS_SHARE, 1.0)
        .sources(if failures.is_some() { 3 } else { 1 });
    if let Some((count, text)) = failures {
        found = found.fact(text).measured(count as f64, 1.0, "arrivals", source::LOAD);
    }
    let taken =
        format!("{} of {} local ports to the target are taken", grouped(ports.used), grouped(ports.limit));
    Some(
        found
            .fact(taken)
            .measured(ports.share(), MIN_PORTS_SHARE, "share", source::SOCKETS)
            .chain(["load generator → local ports"])
            .advise("keep connections alive, so that each serves many requests")
            .advise("or widen net.ipv4.ip_local_port_range, or load from more addresses"),
    )
}

pub(crate) fn descriptors(case: &Case<'_>) -> Option<RuleFinding> {
    let ((count, text), advice) = [
        (ExhaustedResource::Descriptor, "raise the limit (ulimit -n), or lower --max-connections"),
        (ExhaustedResource::Watch, "raise fs.epoll.max_user_watches"),
        (ExhaustedResource::Memory, "raise net.ipv4.tcp_mem, or lower --max-connections"),
    ]
    .into_iter()
    .find_map(|(lack, advice)| Some((failed_for_lack(case, lack)?, advice)))?;
    Some(
        RuleFinding::new(Cause::OwnDescriptors)
            .with_sentence(format!(
                "torment ran out of resources for connections: {text}. This says nothing about the target."
            ))
            .sources(3)
            .fact(text)
            .measured(count as f64, 1.0, "arrivals", source::LOAD)
            .chain(["load generator → descriptors"])
            .advise(advice),
    )
}
