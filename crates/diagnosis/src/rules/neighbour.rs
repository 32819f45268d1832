//! Neighbours use the processors that the service lacks.

use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, source};
use crate::format::{format_count, format_number};
use crate::loaded_window::average;
use crate::part_summary::PartSummary;
use crate::processors::{MAX_HOST_IDLE, MIN_THROTTLED_SHARE, host_cpus, idle_cpus, is_machine_full};
use crate::saturated_threads::{find_saturated, is_cpu_starved};
use record::Cause;
use units::Share;

/// Neighbours are the cause from this share of the used processors on.
const MIN_NEIGHBOUR_SHARE: f64 = 0.3;
/// Answers must take at least this many times as long.
const MIN_SLOWDOWN: f64 = 1.25;

/// The neighbours' share of the used processors, if that makes them the cause: threads of the service are ready, it does not get its
/// processors, nothing throttles it, and others use as much as it lacks.
pub(super) fn neighbours_share(case: &Case<'_>) -> Option<f64> {
    let all = &case.degraded.merged;
    let host = all.host.as_ref()?;
    let taken = case.degraded.per_second(host.neighbours_cpu_ns) / 1e9;
    let busy = host_cpus(all) - idle_cpus(all);
    let quota = case.degraded.service().cpu_quota();
    let is_throttled = quota.is_some_and(|quota| quota.throttled_share() >= MIN_THROTTLED_SHARE);
    // If it may use all processors and some are idle, others do not take them from it.
    let all_of_them = case.cpus() >= host_cpus(all);
    let full = is_machine_full(all) || !all_of_them;
    // A few threads can use at most a processor each.
    let wanted_cpus = find_saturated(case).map_or(case.cpus(), |carriers| carriers.threads.min(case.cpus()));
    let missing_cpus = wanted_cpus - case.cpu() - case.downstream_cpu();
    let takes_it = taken >= 0.5 * missing_cpus && missing_cpus >= 0.25 * wanted_cpus;
    (full && !is_throttled && takes_it && is_cpu_starved(case)).then_some(taken / busy.max(0.01))
}

/// Whether answers take longer than while the service was well, as far as both are known: a service that only refuses is not slowed down
/// by anybody.
fn is_slower(case: &Case<'_>) -> bool {
    case.degraded
        .load
        .response_p50
        .zip(case.well_median())
        .is_none_or(|(now, well)| now >= MIN_SLOWDOWN * well)
}

pub(crate) fn neighbour(case: &Case<'_>) -> Option<RuleFinding> {
    let share = neighbours_share(case).filter(|_| is_slower(case))?;
    let host = case.degraded.merged.host.as_ref()?;
    let (idle, all) = (idle_cpus(&case.degraded.merged), host_cpus(&case.degraded.merged));
    let names: Vec<String> = host
        .neighbours
        .iter()
        .take(3)
        .map(|n| {
            let used = format_count(case.degraded.per_second(n.cpu_ns) / 1e9, "processor");
            format!("{} (process {}: {used})", n.name, n.pid)
        })
        .collect();
    Some(
        RuleFinding::new(Cause::Neighbour)
            .with_sentence(format!(
                "Other processes use {} of the processors in use on this machine: {}.",
                Share(share),
                names.first().cloned().unwrap_or_default()
            ))
            .margin(share, MIN_NEIGHBOUR_SHARE, 0.5)
            .persisting(case, |window| {
                window.host.as_ref().is_some_and(|host| {
                    let taken = average(host.neighbours_cpu_ns, window.length());
                    taken >= MIN_NEIGHBOUR_SHARE * (host_cpus(window) - idle_cpus(window))
                })
            })
            .sources(2 + u32::from(case.runnable() >= 1.0))
            .fact(names.join(", "))
            .measured(share, MIN_NEIGHBOUR_SHARE, "share", "/proc/*/stat")
            .fact(format!("{} ready and waiting for a processor", format_count(case.runnable(), "thread")))
            .measured(case.runnable(), 0.3, "threads", source::SCHEDSTAT)
            .well(case.when_well(PartSummary::runnable))
            .fact(format!("{} of {} idle", format_number(idle), format_count(all, "processor")))
            .measured(idle, MAX_HOST_IDLE * all, "processors", source::HOST)
            .chain(["requests", "threads ready", "processors used by others"])
            .advise("stop or move the neighbour, or pin it to other processors, and measure again")
            .unless("the target is just as slow once the neighbour is gone"),
    )
}
