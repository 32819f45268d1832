//! Processors: what counts as saturated, how many are idle, and the cost of a request.

use crate::case::Case;
use crate::format::{format_count, format_factor, format_number, format_time};
use crate::loaded_window::{average, cpu as cpu_of, runnable as runnable_of};
use record::CapacityCheck;
use record::watch::{TreeWindow, Window};
use units::Rate;

/// Utilisation of a saturated service's processors.
pub(crate) const FULL_UTILISATION: f64 = 0.85;
/// At this utilisation none is left, though no thread is ready: a runtime with its own scheduler, such as Go's, has as many threads as
/// processors, and queues work itself.
pub(crate) const EXHAUSTED_UTILISATION: f64 = 0.95;
/// Or at this one, if ready threads would use the rest: between two threads a processor is idle for moments.
pub(crate) const NEARLY_FULL_UTILISATION: f64 = 0.9;
/// A machine is saturated with at most this share idle.
pub(crate) const MAX_HOST_IDLE: f64 = 0.07;
/// From this many ready threads on, they wait for a processor.
pub(crate) const MIN_READY_THREADS: f64 = 0.5;
/// From this share of throttled periods on, a quota counts.
pub(crate) const MIN_THROTTLED_SHARE: f64 = 0.10;
/// A calculated ceiling below this share of the measured rate explains nothing: requests have become cheaper.
const MIN_CEILING_SHARE: f64 = 0.85;

/// A verdict comes before the profile that a search may take.
pub(crate) const CHEAPER_ADVICE: &str = "make a request cheaper: start with the code that takes most of it (torment profile PID, if this run has no profile)";

/// Idle processors of the machine.
pub(crate) fn idle_cpus(window: &Window) -> f64 {
    window.host.as_ref().map_or(0.0, |host| average(host.idle_ns + host.iowait_ns, window.length()))
}

/// Whether the machine has no processor to spare.
pub(crate) fn is_machine_full(window: &Window) -> bool {
    window.host.is_some() && idle_cpus(window) <= MAX_HOST_IDLE * host_cpus(window)
}

/// Whether the processors that the service is confined to have none to spare.
fn are_own_full(window: &Window, cpus: f64) -> bool {
    let idle = window.host.as_ref().and_then(|host| host.service_idle_ns);
    idle.is_some_and(|idle| average(idle, window.length()) <= MAX_HOST_IDLE * cpus)
}

/// Whether a service with `cpus` processors available has too few because others on the machine, torment among them, use the rest: it
/// would use all if it had them. A runtime with its own scheduler, such as Go's, never has more threads ready than processors available,
/// however much waits.
pub(crate) fn is_crowded_out(window: &Window, cpus: f64) -> bool {
    let wants = |service: &TreeWindow| {
        let (used, ready) = (cpu_of(service, window.length()), runnable_of(service, window.length()));
        used + ready
            >= if ready >= MIN_READY_THREADS { FULL_UTILISATION } else { EXHAUSTED_UTILISATION } * cpus
    };
    (is_machine_full(window) || are_own_full(window, cpus)) && window.service().is_some_and(wants)
}

pub(crate) fn host_cpus(window: &Window) -> f64 {
    window.host.as_ref().map_or(1.0, |host| f64::from(host.cpus.max(1)))
}

/// The next limit for a service that is to get `wanted` processors: if the machine has no more, or none would be left to make the load,
/// whoever follows the advice must know before.
pub(crate) fn next_limit(case: &Case<'_>, wanted: f64) -> String {
    let host = case.degraded.merged.host.as_ref().map_or(f64::INFINITY, |host| f64::from(host.cpus));
    match wanted.round() {
        wanted if wanted > host => {
            format!("this machine has only {}: for more, use a larger one", format_count(host, "processor"))
        }
        wanted if wanted == host && !case.is_remote() => format!(
            "that is all {} of this machine, so the load has to come from another one (--on ssh:HOST)",
            format_count(host, "processor")
        ),
        _ => "the processors of the machine are the next limit".to_owned(),
    }
}

/// With more than this share of a machine, torment or another program takes processors from the service.
const MIN_COMPETING_SHARE: f64 = 0.15;

/// The processors torment uses, if it takes them from a service on the same machine, and others do not take more.
pub(crate) fn competing_cpus(case: &Case<'_>) -> Option<f64> {
    let (own, others) = (case.degraded.torment_cpu(), case.degraded.neighbours_cpu());
    (own >= others && is_competing(case, own)).then_some(own)
}

/// Whether other programs take them from it, and torment takes fewer.
pub(crate) fn are_others_competing(case: &Case<'_>) -> bool {
    let (own, others) = (case.degraded.torment_cpu(), case.degraded.neighbours_cpu());
    others > own && is_competing(case, others)
}

/// Whether a program that uses so many has too many of a full machine.
fn is_competing(case: &Case<'_>, used: f64) -> bool {
    let all = &case.degraded.merged;
    used > MIN_COMPETING_SHARE * host_cpus(all) && is_machine_full(all)
}

/// What to do about that.
pub(crate) fn separation_advice(case: &Case<'_>, own: f64) -> String {
    let (own, all) = (format_number(own), format_count(host_cpus(&case.degraded.merged), "processor"));
    format!("give torment a machine of its own first: it used {own} of the {all}")
}

/// From this many connections on, and this many times those that sufficed when it was well, their number is work in itself.
const MANY_CONNECTIONS: f64 = 1000.0;
const MIN_CONNECTION_GROWTH: f64 = 10.0;

/// Advice if the load had a connection for each waiting request: servers do less over thousands than over a few.
pub(crate) fn connections_advice(case: &Case<'_>) -> Option<String> {
    let (now, before) = (case.degraded.load.connections, case.well.as_ref()?.load.connections);
    let many = now >= MANY_CONNECTIONS
        && now >= MIN_CONNECTION_GROWTH * before
        && case.degraded.load.outstanding >= MANY_CONNECTIONS;
    many.then(|| {
        format!(
            "or test it over few connections, as a proxy in front would keep: --max-connections 64; \
             this load used {}, against {} when it was well",
            format_number(now),
            format_number(before)
        )
    })
}

/// Ceiling from the cost of a request while the target was well, close to its limit if it was seen there.
pub(crate) fn ceiling_by_cost(case: &Case<'_>, available: f64, what: &str) -> Option<CapacityCheck> {
    let seen = case.near.as_ref().or(case.well.as_ref()).filter(|seen| !seen.windows.is_empty())?;
    let used = seen.cpu();
    let cost = used / seen.load.answered.max(f64::MIN_POSITIVE);
    // Below a few hundredths of a processor the cost is noise.
    // And a cost that would not allow the measured rate is that of a cold target, or of little load.
    if used < 0.05 || !cost.is_finite() || available / cost < MIN_CEILING_SHARE * case.degraded.load.answered
    {
        return None;
    }
    let available_is = format_factor(available);
    let what =
        if available_is == "1" { what.replacen("processors", "processor", 1) } else { what.to_owned() };
    Some(CapacityCheck {
        formula: format!("{available_is} {what} / {} of processor time a request", format_time(cost)),
        ceiling: Rate(available / cost),
        measured: Rate(case.degraded.load.answered),
    })
}
