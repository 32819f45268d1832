//! The threads that carry a service: all requests pass through them, and they are always busy.

use crate::case::Case;
use crate::part_summary::PartSummary;
use crate::processors::FULL_UTILISATION;
use crate::programs::{ScalingAdvice, find_by_name, find_by_subject};
use record::watch::{ThreadGroup, ThreadWait};

/// A thread that always wants a processor, and has one this share of the time, is a limit by itself.
pub(crate) const ONE_THREAD: f64 = 0.9;

/// More such threads are a pool.
const MAX_SATURATED: f64 = 4.5;
/// They do this share of the service's work,
const MIN_GROUP_SHARE: f64 = 0.8;
/// or this one, if it is known that all requests pass through them: collectors and compilers do the rest.
const MIN_LOOP_SHARE: f64 = 0.5;
/// A thread with a processor for a smaller share of its time lacks one.
pub(crate) const MIN_CPU_SHARE: f64 = 0.6;

/// The threads that carry a service.
pub(crate) struct SaturatedThreads<'a> {
    pub group: &'a ThreadGroup,
    /// How many are always busy.
    pub threads: f64,
    /// Share of the time each was on a processor.
    pub used: f64,
    /// While it was well they waited for events.
    pub loops: bool,
    /// They do at least this share of the service's work.
    min_group_share: f64,
}

/// The always busy threads of a group, if they do nearly all of its work: number, and processor time.
pub(crate) fn restless(group: &ThreadGroup, seconds: f64) -> Option<(f64, u64)> {
    never_at_rest(group, seconds, MIN_GROUP_SHARE)
}

/// The same, for this share of its work. If they were not looked for it is all of the group or none.
fn never_at_rest(group: &ThreadGroup, seconds: f64, most: f64) -> Option<(f64, u64)> {
    let (threads, on_cpu_ns) = match group.full {
        Some(full) => (full.threads, full.on_cpu_ns),
        None => {
            let wanted = (group.on_cpu_ns + group.run_delay_ns) as f64;
            let all = wanted >= 0.97 * seconds * 1e9 * group.threads;
            (if all { group.threads } else { 0.0 }, group.on_cpu_ns)
        }
    };
    let enough = on_cpu_ns as f64 >= most * group.on_cpu_ns as f64;
    (threads >= ONE_THREAD && enough && seconds > 0.0).then_some((threads, on_cpu_ns))
}

/// Threads that carry the whole service.
pub(crate) fn find_saturated<'a>(case: &'a Case<'_>) -> Option<SaturatedThreads<'a>> {
    if case.subject().is_some_and(|subject| subject.java.is_some()) {
        return None;
    }
    let seconds = case.degraded.observed_seconds();
    let is_loop = case.subject().and_then(find_by_subject).is_some_and(|known| known.is_event_loop);
    let min_group_share = if is_loop { MIN_LOOP_SHARE } else { MIN_GROUP_SHARE };
    let all: u64 = case.degraded.service().groups.iter().map(|group| group.on_cpu_ns).sum();
    let (group, threads, on_cpu_ns) = case.degraded.service().groups.iter().find_map(|group| {
        let (threads, on_cpu_ns) = never_at_rest(group, seconds, min_group_share)?;
        (on_cpu_ns as f64 >= min_group_share * all as f64).then_some((group, threads, on_cpu_ns))
    })?;
    let used = on_cpu_ns as f64 / 1e9 / seconds / threads;
    // As many threads as processors, each of which waits for events when it has nothing to run.
    let fills_processors = case.schedules_itself() && case.cpus() < threads + 0.5;
    (used >= MIN_CPU_SHARE && threads < MAX_SATURATED && !fills_processors).then(|| SaturatedThreads {
        group,
        threads,
        used,
        loops: !case.schedules_itself() && were_waiting(case, group, threads),
        min_group_share,
    })
}

/// The same, if it has more processors than they can use; or as few as event loops, which they or other threads of its own fill.
pub(crate) fn find_few_saturated<'a>(case: &'a Case<'_>) -> Option<SaturatedThreads<'a>> {
    let fills = case.cpu() >= FULL_UTILISATION * case.cpus();
    find_saturated(case).filter(|carriers| !fills || carriers.loops && carriers.threads < case.cpus() + 0.5)
}

/// Whether they waited for nothing but events while the service was well.
fn were_waiting(case: &Case<'_>, group: &ThreadGroup, threads: f64) -> bool {
    let known = case.subject().and_then(find_by_subject).filter(|program| program.process_advice.is_some());
    let is_loop = |side: &PartSummary<'_>| {
        side.service().group(&group.name).is_some_and(|before| {
            // How often a thread is seen running says little: one sampled in step with the requests always looks the same.
            let elsewhere_in = |g: &ThreadGroup| {
                g.threads - g.waiting(&ThreadWait::Running) - g.waiting(&ThreadWait::Events)
            };
            let elsewhere = (elsewhere_in(before) - elsewhere_in(group)).abs();
            let waited = before.waiting(&ThreadWait::Events) - group.waiting(&ThreadWait::Events);
            // Near its limit it rests for moments that are seldom sampled: then its processor time shows that it did.
            let rested = threads - before.on_cpu_ns as f64 / 1e9 / side.observed_seconds();
            let tenth = 0.1 * threads;
            let waits = waited >= tenth || rested >= tenth && waited > elsewhere;
            elsewhere <= tenth && (waits || known.is_some())
        })
    };
    known.is_some_and(|known| known.is_event_loop) || case.when_well(is_loop).unwrap_or(known.is_some())
}

/// How to give a service more processes, if known.
pub(crate) fn scaling_advice(case: &Case<'_>) -> Option<ScalingAdvice> {
    find_by_subject(case.subject()?)?.process_advice
}

impl SaturatedThreads<'_> {
    /// Always busy threads of the group in another window.
    pub fn restless(&self, group: &ThreadGroup, seconds: f64) -> f64 {
        never_at_rest(group, seconds, self.min_group_share).map_or(0.0, |(threads, _)| threads)
    }

    /// How to get more of them.
    pub fn scale_out_advice(&self, case: &Case<'_>) -> String {
        let wanted = (self.threads.round() + 1.0).max(case.cpus().floor()) as u32;
        // A process started by the service bears its own name.
        let other = find_by_name(&self.group.name).and_then(|program| program.process_advice);
        match other.or_else(|| scaling_advice(case)) {
            Some(more) => more(wanted),
            None => format!("{wanted} processes of it, with the same listening socket or behind a balancer"),
        }
    }
}

/// Whether requests spend their time waiting for processors: by Little's law, ready threads ÷ requests outstanding is the share of the
/// response time. Or all pass through a few threads that are never idle.
pub(crate) fn is_cpu_starved(case: &Case<'_>) -> bool {
    const SHARE: f64 = 0.15;
    let seconds = case.degraded.observed_seconds();
    let never_idle = |group: &ThreadGroup| restless(group, seconds).is_some();
    case.runnable() >= SHARE * case.degraded.load.outstanding
        || case.degraded.service().groups.iter().any(never_idle)
}
