//! Processors: quotas before the processors themselves, for the threads look the same.

use super::contention::MIN_ENGAGED;
use super::interpreter;
use super::neighbour::neighbours_share;
use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, fact, source};
use crate::format::{format_count, format_list, format_number};
use crate::loaded_window::{LoadedWindow, cpu as cpu_of, runnable as runnable_of};
use crate::part_summary::PartSummary;
use crate::processors::{
    CHEAPER_ADVICE, EXHAUSTED_UTILISATION, FULL_UTILISATION, MAX_HOST_IDLE, MIN_READY_THREADS,
    MIN_THROTTLED_SHARE, NEARLY_FULL_UTILISATION, are_others_competing, ceiling_by_cost, competing_cpus,
    connections_advice, host_cpus, idle_cpus, is_crowded_out, is_machine_full, next_limit, separation_advice,
};
use crate::request_path::use_of as used_there;
use crate::saturated_threads::{
    SaturatedThreads, find_few_saturated, find_saturated, is_cpu_starved, scaling_advice,
};
use record::watch::{CpuQuota, TreeWindow, WatchedProcesses, Window};
use record::{Cause, Station, StationKind};
use units::{Rate, Share};

/// Context switches below this share of the service's processor time explain nothing.
const MIN_SWITCHING_SHARE: f64 = 0.03;

/// Fewer threads than this are ready only for moments.
const FEW_READY: f64 = 0.1;

/// Who uses less than this of a processor is not named.
const MIN_NAMED: f64 = 0.05;

fn service_cpu(window: &Window) -> f64 {
    window.service().map_or(0.0, |service| cpu_of(service, window.length()))
}

fn service_runnable(window: &Window) -> f64 {
    window.service().map_or(0.0, |service| runnable_of(service, window.length()))
}

/// Processors on a request's path: their use, and threads ready for one.
fn station(case: &Case<'_>, name: String, size: f64, in_use: impl Fn(&Window) -> f64) -> Station {
    let named = Station { size: Some(size), ..StationKind::Threads.station(name) };
    case.station(named, |side| {
        Some(used_there(in_use(&side.merged), Some(service_runnable(&side.merged)), &side.load))
    })
}

pub(crate) fn quota(case: &Case<'_>) -> Option<RuleFinding> {
    let quota = case.degraded.service().cpu_quota().filter(|quota| quota.cpus > 0.0)?;
    let share = quota.throttled_share();
    let used = case.cpu();
    if share < MIN_THROTTLED_SHARE || used < 0.8 * quota.cpus {
        return None;
    }
    let throttled = |window: &LoadedWindow<'_>| {
        let quota = window.service().and_then(TreeWindow::cpu_quota);
        quota.is_some_and(|quota| quota.throttled_share() >= MIN_THROTTLED_SHARE)
    };
    let spare = idle_cpus(&case.degraded.merged);
    Some(
        RuleFinding::new(Cause::CpuQuota)
            .with_sentence(format!(
                "{} is limited to {} by its quota: throttled in {} of {} periods, while {} of the machine \
                 were idle.",
                case.name(),
                format_count(quota.cpus, "processor"),
                quota.throttled,
                quota.periods,
                format_count(spare, "processor")
            ))
            .margin(share, MIN_THROTTLED_SHARE, 0.5)
            .persisting(case, throttled)
            .sources(if used >= 0.9 * quota.cpus { 3 } else { 2 })
            .fact(format!("throttled in {} of the periods of {}", Share(share), quota.group))
            .measured(share, MIN_THROTTLED_SHARE, "share", "cpu.stat")
            .well(case.when_well(|side| side.service().cpu_quota().map_or(0.0, CpuQuota::throttled_share)))
            .fact(format!("{} used of {} allowed", format_number(used), format_number(quota.cpus)))
            .measured(used, 0.8 * quota.cpus, "processors", source::SCHEDSTAT)
            .fact(format!("{} ready and waiting", format_count(case.runnable(), "thread")))
            .measured(case.runnable(), 1.0, "threads", source::SCHEDSTAT)
            .arithmetic(ceiling_by_cost(case, quota.cpus, "processors of quota"))
            .chain(["requests".to_owned(), format!("{} ready", format_count(case.runnable(), "thread"))])
            .chain([station(
                case,
                format!("quota of {}", format_count(quota.cpus, "processor")),
                quota.cpus,
                service_cpu,
            )])
            .advise("raise the quota (cpu.max, CPUQuota, --cpus, resources.limits.cpu), or remove it")
            .advise("or let fewer threads compete for a processor at once: workers, collector, compilers")
            .predicts(
                format!("twice the quota ({})", format_number(2.0 * quota.cpus)),
                Some(Rate(case.degraded.load.answered * gain(quota.cpus, host_cpus(&case.degraded.merged)))),
                "processors are the next limit; if the rate does not rise, the quota was not the cause",
            )
            .unless(format!(
                "fewer than {} of the periods are throttled in a run that is just as slow",
                Share(MIN_THROTTLED_SHARE)
            )),
    )
}

/// The gain from twice the processors, with at most `most` available.
fn gain(now: f64, most: f64) -> f64 {
    ((2.0 * now).min(most) / now).max(1.0)
}

/// Whether a downstream is confined to the same processors as the service.
fn shares_processors(case: &Case<'_>, subject: &WatchedProcesses) -> bool {
    let same = |own: &WatchedProcesses| !own.processors.is_empty() && own.processors == subject.processors;
    case.subject().is_some_and(same)
}

/// Whether a downstream is not known to be confined to other processors than the service.
fn may_share_processors(case: &Case<'_>, subject: &WatchedProcesses) -> bool {
    let own: &[u32] = case.subject().map_or(&[], |own| &own.processors);
    // None are listed if it may use all.
    let any = own.is_empty() || subject.processors.is_empty();
    any || own.iter().any(|processor| subject.processors.contains(processor))
}

/// Processors used by trees confined to the same ones.
fn shared_cpu(case: &Case<'_>, window: &Window) -> f64 {
    let all = case.watched.subjects.iter().zip(&window.subjects).skip(1);
    let shared = all.filter(|(subject, _)| shares_processors(case, subject));
    shared.map(|(_, seen)| cpu_of(seen, window.length())).sum()
}

pub(crate) fn cpu(case: &Case<'_>) -> Option<RuleFinding> {
    // A downstream may be busy with something else.
    let is_idle = case.front.is_some() && case.degraded.load.outstanding < MIN_ENGAGED;
    if is_idle || neighbours_share(case).is_some() {
        return None;
    }
    let found = |carriers: SaturatedThreads<'_>| carriers.finding(case);
    find_few_saturated(case)
        .map(found)
        .or_else(|| all_in_use(case, FULL_UTILISATION, MIN_READY_THREADS))
        .or_else(|| find_saturated(case).map(found))
        .or_else(|| all_in_use(case, EXHAUSTED_UTILISATION, 0.0))
        .or_else(|| all_in_use(case, NEARLY_FULL_UTILISATION, case.cpus() - case.cpu()))
}

/// All its processors are in use, to this share, while at least this many threads are ready for more.
fn all_in_use(case: &Case<'_>, min_share: f64, min_ready: f64) -> Option<RuleFinding> {
    let (used, cpus, runnable) = (case.cpu(), case.cpus(), case.runnable());
    let lined_up = runnable >= MIN_READY_THREADS;
    let downstream = case.downstream_cpu();
    let own = case.degraded.torment_cpu();
    let host = host_cpus(&case.degraded.merged);
    let shared = shared_cpu(case, &case.degraded.merged);
    // An interpreter could not use them.
    let crowded_out = |window: &Window| is_crowded_out(window, cpus) && !interpreter::is_full(case);
    let full = |window: &LoadedWindow<'_>| {
        let used = service_cpu(window);
        let wants = used >= 0.25 * cpus && service_runnable(window) >= 1.0;
        let taken = is_machine_full(window) || used + shared_cpu(case, window) >= FULL_UTILISATION * cpus;
        used >= min_share * cpus || wants && taken || crowded_out(window)
    };
    let lacks = used + shared >= FULL_UTILISATION * cpus
        || is_cpu_starved(case)
        || crowded_out(&case.degraded.merged);
    if !full(&case.degraded.as_window()) || runnable < min_ready || downstream > used || !lacks {
        return None;
    }
    let available = (cpus - shared).min(host - own - downstream).max(0.05);
    let busy = host - idle_cpus(&case.degraded.merged);
    // It would use them if others did not.
    let crowded = used + shared < FULL_UTILISATION * cpus;
    let is = if format_number(runnable) == "1" { "is" } else { "are" };
    // What waits for its processors is not seen, and nothing else would make it use them all.
    let queues_itself = case.schedules_itself() && used >= EXHAUSTED_UTILISATION * cpus;
    let more_ready = format!("{} {is} ready to run", format_count(runnable, "more thread"));
    let found = RuleFinding::new(Cause::Cpu)
        .with_sentence(if used < FULL_UTILISATION * cpus && !crowded {
            let others: Vec<&str> = case
                .downstreams()
                .filter(|(s, _)| shares_processors(case, s))
                .map(|(s, _)| s.name.as_str())
                .collect();
            format!(
                "{} needs more processor time: it shares {} with {}; together they use {}, and {more_ready}.",
                case.name(),
                format_count(cpus, "processor"),
                others.join(" and "),
                format_number(used + shared),
            )
        } else {
            let few_ready = match runnable < FEW_READY {
                true => "no thread is ready to run",
                false => "hardly any thread is ready to run",
            };
            let rest = match (lined_up, crowded) {
                (true, _) => more_ready,
                (false, true) => few_ready.to_owned(),
                (false, false) => format!("queues the rest by itself, since {few_ready}"),
            };
            let beside = if crowded { beside(case) } else { String::new() };
            let (used, cpus) = (format_number(used), format_number(cpus));
            format!(
                "{} needs more processor time: it uses {used} of {cpus}{beside}, and {rest}.",
                case.name()
            )
        })
        .margin(((used + shared) / cpus).max(if crowded { busy / host } else { 0.0 }), FULL_UTILISATION, 0.95)
        .persisting(case, full)
        .sources(2 + u32::from(runnable >= cpus || queues_itself))
        .seen_by_sweeps(case)
        .fact(format!(
            "{} of {} used: {}",
            format_count(busy, "processor"),
            format_number(host),
            users(case, busy).join(", ")
        ))
        .measured(used, FULL_UTILISATION * cpus, "processors", source::SCHEDSTAT)
        .well(case.when_well(PartSummary::cpu));
    let waiting = lined_up.then(|| {
        fact(format!("{} ready and waiting for a processor", format_count(runnable, "thread")))
            .measured(runnable, cpus, "threads", source::SCHEDSTAT)
            .well(case.when_well(PartSummary::runnable))
    });
    // More processors alone are of no use to an interpreter.
    let interpreted = interpreter::is_full(case);
    let own_processors = case.subject().map_or(&[][..], |subject| &subject.processors);
    let more = match competing_cpus(case) {
        Some(own) => separation_advice(case, own),
        None if crowded && are_others_competing(case) => {
            "stop the other programs first, or give the service processors of its own".to_owned()
        }
        None if interpreted => {
            let how = scaling_advice(case).map(|scale| format!(", by {}", scale(cpus.ceil() as u32 + 1)));
            let how = how.unwrap_or_default();
            format!("more processors, and a process for each{how}: an interpreter uses one")
        }
        None if !own_processors.is_empty() => format!(
            "more processors: its affinity allows {} of the machine's {}",
            own_processors.len(),
            format_number(host)
        ),
        None => "more processors: capacity rises with them until the next limit".to_owned(),
    };
    let twice = match interpreted {
        true => "half that time per request, or twice the processors and the processes",
        false => "half that time per request, or twice the processors",
    };
    Some(
        found
            .evidences(waiting.into_iter().chain(by_group(&case.degraded)).chain(switching(case)))
            .arithmetic(ceiling_by_cost(case, available, "processors"))
            .chain([
                "requests".to_owned(),
                match lined_up {
                    true => format!("{} ready", format_count(runnable, "thread")),
                    false => format!("{}'s own queue", case.name()),
                },
            ])
            .chain([station(case, format_count(cpus, "processor"), cpus, |window| {
                service_cpu(window) + shared_cpu(case, window)
            })])
            .advise(CHEAPER_ADVICE)
            .advise(more)
            .advise_all(connections_advice(case))
            .predicts(
                twice,
                Some(Rate(2.0 * case.degraded.load.answered)),
                match next_limit(case, 2.0 * cpus) {
                    ends if 2.0 * cpus >= host => ends,
                    _ => "a lock or a pool is the next limit; if the rate does not rise, processors were not the \
                          cause"
                        .to_owned(),
                },
            )
            .unless(match crowded {
                true => {
                    let (whose, all) = match is_machine_full(&case.degraded.merged) {
                        true => ("the machine has", host),
                        false => ("its processors have", cpus),
                    };
                    format!(
                        "{whose} more than {} of a processor to spare and the service is just as slow",
                        format_number(MAX_HOST_IDLE * all)
                    )
                }
                false => {
                    format!("the service uses less than {} of its processors and is just as slow", Share(FULL_UTILISATION))
                }
            }),
    )
}

/// Who has part of its processors, as far as known: ` while torment uses 0.3 and other programs 0.8`.
fn beside(case: &Case<'_>) -> String {
    const OTHERS: &str = "other programs";
    if !is_machine_full(&case.degraded.merged) {
        // Who runs on which processor is not known, nor whom the kernel's interrupts serve.
        return " while the kernel and other programs use the rest".to_owned();
    }
    let length = case.degraded.merged.length();
    let near = case.downstreams().filter(|(subject, _)| may_share_processors(case, subject));
    let users = near
        .map(|(subject, seen)| (subject.name.as_str(), cpu_of(seen, length)))
        .chain([("torment", case.degraded.torment_cpu()), (OTHERS, case.degraded.neighbours_cpu())]);
    let each = users.filter(|(_, used)| *used >= MIN_NAMED).enumerate().map(|(place, (name, used))| {
        let verb = match place {
            0 if name == OTHERS => "use ",
            0 => "uses ",
            _ => "",
        };
        format!("{name} {verb}{}", format_number(used))
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() { String::new() } else { format!(" while {}", format_list(&each)) }
}

/// The users of the machine's busy processors.
fn users(case: &Case<'_>, busy: f64) -> Vec<String> {
    let length = case.degraded.merged.length();
    let mut users = vec![(case.name(), case.cpu())];
    let downstreams = case.downstreams().map(|(subject, seen)| (subject.name.as_str(), cpu_of(seen, length)));
    users.extend(downstreams.filter(|(_, used)| *used >= MIN_NAMED));
    users.push(("torment", case.degraded.torment_cpu()));
    let unnamed = busy - users.iter().map(|(_, used)| used).sum::<f64>();
    users.extend((unnamed >= MIN_NAMED).then_some(("others", unnamed)));
    users.iter().map(|(name, used)| format!("{name} {}", format_number(*used))).collect()
}

/// The groups that use the most, as evidence.
fn by_group(side: &PartSummary<'_>) -> Vec<record::Evidence> {
    let seconds = side.observed_seconds().max(f64::MIN_POSITIVE) * 1e9;
    let mut groups: Vec<_> = side.service().groups.iter().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.on_cpu_ns));
    let used = |ns: u64| ns as f64 / seconds;
    groups
        .iter()
        .take(3)
        .filter(|group| used(group.on_cpu_ns) >= 0.05)
        .map(|group| {
            let text = format!(
                "threads {}: {}, {} waiting for one",
                group.name,
                format_count(used(group.on_cpu_ns), "processor"),
                format_number(used(group.run_delay_ns))
            );
            fact(text).measured(used(group.on_cpu_ns), 0.0, "processors", source::SCHEDSTAT)
        })
        .collect()
}

/// Context switching overhead, if the cost of a switch is known here.
fn switching(case: &Case<'_>) -> Option<record::Evidence> {
    let costs = case.costs?;
    let each = costs.switch?;
    let rate = |side: &PartSummary<'_>| {
        side.per_second(side.service().groups.iter().map(|group| group.switches).sum())
    };
    let taken = |side: &PartSummary<'_>| rate(side) * each.as_secs_f64();
    let (used, least) = (taken(&case.degraded), MIN_SWITCHING_SHARE * case.cpu());
    if used < least {
        return None;
    }
    let text = format!(
        "{} context switches a second, at {each} each (torment probe, run {}): {} of the {} it uses",
        format_number(rate(&case.degraded)),
        costs.run,
        format_number(used),
        format_count(case.cpu(), "processor")
    );
    Some(fact(text).measured(used, least, "processors", source::SCHEDSTAT).well(case.when_well(taken)))
}
