//! The Java virtual machine: garbage collection, safepoints, cold code.

use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, source};
use crate::format::{format_count, format_number, format_time};
use crate::loaded_window::{LoadedWindow, average};
use crate::processors::{FULL_UTILISATION, idle_cpus};
use crate::saturated_threads::is_cpu_starved;
use record::Cause;
use record::watch::{Jvm, Window};
use units::{Bytes, Share};

/// Share of the time stopped for collection from which it counts.
const MIN_STOPPED_SHARE: f64 = 0.10;
/// A collector that takes less than this of full processors is not what they are short for.
const MAX_MINOR_SHARE: f64 = 1.0 / 3.0;
/// Share of the safepoints' time spent until all threads have stopped, and of all time.
const MIN_SYNC_SHARE: f64 = 0.3;
const MIN_SYNC_TIME: f64 = 0.02;
/// Processors that compilers use or wait for while code is cold.
const MIN_COMPILER_CPUS: f64 = 0.2;

fn stopped_share(window: &Window) -> f64 {
    let jvm = window.service().and_then(|service| service.jvm.as_ref());
    jvm.map_or(0.0, |jvm| average(jvm.pause_ns, window.length()))
}

pub(crate) fn gc(case: &Case<'_>) -> Option<RuleFinding> {
    let jvm = case.degraded.service().jvm.as_ref()?;
    let share = stopped_share(&case.degraded.merged);
    if share < MIN_STOPPED_SHARE {
        return None;
    }
    let mean = jvm.pause_ns as f64 / 1e9 / jvm.pauses.max(1) as f64;
    let collector = collector_cpus(case, jvm);
    let full = match jvm.full_pauses {
        0 => String::new(),
        full => format!(", {full} of them of the whole heap"),
    };
    Some(
        RuleFinding::new(Cause::Gc)
            .with_sentence(format!(
                "Garbage collection stopped {} {} of the time ({} of {} on average{full}).",
                case.name(),
                Share(share),
                format_count(jvm.pauses as f64, "pause"),
                format_time(mean)
            ))
            .margin(share, MIN_STOPPED_SHARE, 2.0 * MIN_STOPPED_SHARE)
            .persisting(case, |window| stopped_share(window) >= MIN_STOPPED_SHARE)
            .sources(if collector >= 0.2 { 3 } else { 2 })
            .fact(format!("stopped {} of the time", Share(share)))
            .measured(share, MIN_STOPPED_SHARE, "share", source::PERFDATA)
            .well(case.when_well(|side| stopped_share(&side.merged)))
            .fact(format!("the collector's threads use {}", format_count(collector, "processor")))
            .measured(collector, 0.2, "processors", source::SCHEDSTAT)
            .fact(format!(
                "heap {} of {}; the last collection was for {}",
                Bytes(jvm.heap_used_bytes),
                Bytes(jvm.heap_max_bytes),
                jvm.cause
            ))
            .measured(jvm.heap_used_bytes as f64, jvm.heap_max_bytes as f64, "bytes", source::PERFDATA)
            .chain(["requests", "allocation", "garbage collection"])
            .advise("allocate less per request (async-profiler -e alloc), or give the heap more room (-Xmx)")
            .advise("if pauses are the problem and processors are free: another collector (-XX:+UseZGC)")
            .unless(format!(
                "pauses take less than {} of the time in a run that is just as slow",
                Share(MIN_STOPPED_SHARE)
            )),
    )
}

/// The processors that the collector's threads use.
fn collector_cpus(case: &Case<'_>, jvm: &Jvm) -> f64 {
    let threads = case.degraded.service().groups.iter().filter(|group| is_collector(&group.name));
    let used: u64 = threads.map(|group| group.on_cpu_ns).sum();
    case.degraded.per_second(jvm.collector_cpu_ns.unwrap_or(0).max(used)) / 1e9
}

/// Whether all processors are in use, and by far the most of it is not the collector's: then it is part of what a request costs.
pub(crate) fn is_collector_minor(case: &Case<'_>) -> bool {
    let Some(jvm) = &case.degraded.service().jvm else { return false };
    let used = case.cpu();
    let most = MAX_MINOR_SHARE * used;
    used >= FULL_UTILISATION * case.cpus()
        && collector_cpus(case, jvm) < most
        && stopped_share(&case.degraded.merged) < MAX_MINOR_SHARE
}

fn is_collector(name: &str) -> bool {
    ["GC Thread", "G1 ", "ZGC", "Shenandoah"].iter().any(|known| name.starts_with(known))
}

pub(crate) fn safepoint(case: &Case<'_>) -> Option<RuleFinding> {
    let jvm = case.degraded.service().jvm.as_ref()?;
    let wall = case.degraded.merged.length().0.max(1) as f64;
    let (sync, all) = (jvm.safepoint_sync_ns as f64, jvm.safepoint_ns as f64);
    if sync < MIN_SYNC_SHARE * all || sync < MIN_SYNC_TIME * wall {
        return None;
    }
    Some(
        RuleFinding::new(Cause::Safepoint)
            .with_sentence(format!(
                "Threads of {} are slow to stop: {} of the time is spent waiting until all have.",
                case.name(),
                Share(sync / wall)
            ))
            .margin(sync, MIN_SYNC_TIME * wall, 3.0 * MIN_SYNC_TIME * wall)
            .sources(1)
            .fact(format!("{} of {} spent on safepoints", format_time(sync / 1e9), format_time(all / 1e9)))
            .measured(sync / wall, MIN_SYNC_TIME, "share", source::PERFDATA)
            .chain(["requests"])
            .limiting("safepoint")
            .chain(["the slowest thread to stop"])
            .advise(
                "look for long loops without a safepoint, page faults, or a lack of processors \
                 (-Xlog:safepoint)",
            )
            .unless("processors are short: then threads are slow to do anything"),
    )
}

fn is_compiler(name: &str) -> bool {
    name.starts_with("C1 Compiler") || name.starts_with("C2 Compiler")
}

/// None if the service was not observed.
fn compiler_cpus(window: &Window) -> Option<f64> {
    let groups = window.service()?.groups.iter().filter(|group| is_compiler(&group.name));
    Some(average(groups.map(|g| g.on_cpu_ns + g.run_delay_ns).sum(), window.length()))
}

pub(crate) fn cold(case: &Case<'_>) -> Option<RuleFinding> {
    /// A compiler that wants a processor most of the time is never done.
    const BUSY: f64 = 0.5;
    /// Otherwise it must use this share of the service's processors.
    const SHARE: f64 = 0.2;
    let jvm = case.degraded.service().jvm.as_ref()?;
    let used = compiler_cpus(&case.degraded.merged)?;
    let needed = MIN_COMPILER_CPUS.max(0.1 * case.cpus());
    let half = case.degraded.windows.len() / 2;
    let mean = |windows: &[LoadedWindow<'_>]| {
        windows.iter().filter_map(|w| compiler_cpus(w)).sum::<f64>() / windows.len().max(1) as f64
    };
    let (early, late) = (mean(&case.degraded.windows[..half]), mean(&case.degraded.windows[half..]));
    let share = used / case.cpu().max(0.01);
    // Compiling slows nobody down while a processor is idle; unless it did, and no longer does.
    let idle = idle_cpus(&case.degraded.merged);
    let short = idle <= 0.15 * case.cpus();
    let slows = case.recovered || short && is_cpu_starved(case);
    if !slows || used < needed || (used < BUSY && share < SHARE) || (half >= 2 && early < needed) {
        return None;
    }
    let classes = case.degraded.per_second(jvm.classes);
    Some(
        RuleFinding::new(Cause::ColdJit)
            .with_sentence(format!(
                "{} is still warming up: its compilers use or wait for {}, beside the \
                 {} that it uses. These figures are of a cold service.",
                case.name(),
                format_count(used, "processor"),
                format_number(case.cpu())
            ))
            .margin(used, needed, 2.0 * needed)
            .persisting(case, |w| compiler_cpus(w).is_some_and(|used| used >= 0.5 * needed))
            .sources(1 + u32::from(case.recovered) + u32::from(classes >= 5.0 || jvm.compiles > 50))
            .fact(format!(
                "compilers: {} at first, {} at the end",
                format_count(early, "processor"),
                format_number(late)
            ))
            .measured(used, needed, "processors", source::SCHEDSTAT)
            .well(case.when_well(|side| compiler_cpus(&side.merged).unwrap_or(0.0)))
            .fact(format!(
                "{} methods compiled, {} classes loaded a second",
                jvm.compiles,
                format_number(classes)
            ))
            .measured(jvm.compiles as f64, 50.0, "methods", source::PERFDATA)
            .fact(if case.recovered {
                "later, at the same rate, it was well"
            } else {
                "it was not seen well at this rate later"
            })
            .measured(f64::from(u8::from(case.recovered)), 1.0, "", source::LOAD)
            .chain(["requests", "code not yet compiled", "compilers"])
            .advise("warm it up first: load it for a minute below its limit, then measure")
            .unless("it is just as slow after a minute of load"),
    )
}
