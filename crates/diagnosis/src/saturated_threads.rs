//! The threads that carry a service: all requests pass through them, and they are always busy.

use crate::case::Case;
use crate::part_summary::PartSummary;
use crate::processors::FULL;
use crate::programs::{ScalingAdvice, find_by_name, find_by_subject};
use record::watch::{ThreadGroup, ThreadWait};

/// A thread that always wants a processor, and has one this share of the time, is a limit by itself.
pub(crate) const ONE_THREAD: f64 = 0.9;

/// More such threads are a pool.
const FEW: f64 = 4.5;
/// They do this share of the service's work,
const MOST: f64 = 0.8;
/// or this one, if it is known that all requests pass through them: collectors and compilers do the rest.
const MOST_OF_LOOP: f64 = 0.5;
/// A thread with a processor for a smaller share of its time lacks one.
pub(crate) const HAD: f64 = 0.6;

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
    most: f64,
}

/// The always busy threads of a group, if they do nearly all of its work: number, and processor time.
pub(crate) fn restless(group: &ThreadGroup, seconds: f64) -> Option<(f64, u64)> {
    never_at_rest(group, seconds, MOST)
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
    let (seconds, is_loop) = (
        case.bad.observed_seconds(),
        case.subject().and_then(find_by_subject).is_some_and(|known| known.loops),
    );
    let most = if is_loop { MOST_OF_LOOP } else { MOST };
    let all: u64 = case.bad.service().groups.iter().map(|group| group.on_cpu_ns).sum();
    let (group, threads, on_cpu_ns) = case.bad.service().groups.iter().find_map(|group| {
        let (threads, on_cpu_ns) = never_at_rest(group, seconds, most)?;
        (on_cpu_ns as f64 >= most * all as f64).then_some((group, threads, on_cpu_ns))
    })?;
    let used = on_cpu_ns as f64 / 1e9 / seconds / threads;
    // Go runs as many threads as it has processors, each of which waits for events when it has nothing to run.
    let as_many = case.is_go() && case.cpus() < threads + 0.5;
    (used >= HAD && threads < FEW && !as_many).then(|| SaturatedThreads {
        group,
        threads,
        used,
        loops: !case.is_go() && were_waiting(case, group, threads),
        most,
    })
}

/// The same, if it has more processors than they can use; or as few as event loops, which they or other threads of its own fill.
pub(crate) fn find_few_saturated<'a>(case: &'a Case<'_>) -> Option<SaturatedThreads<'a>> {
    let fills = case.cpu() >= FULL * case.cpus();
    find_saturated(case).filter(|carriers| !fills || carriers.loops && carriers.threads < case.cpus() + 0.5)
}

/// Whether they waited for nothing but events while the service was well.
fn were_waiting(case: &Case<'_>, group: &ThreadGroup, threads: f64) -> bool {
    let known = case.subject().and_then(find_by_subject).filter(|program| program.processes.is_some());
    let is_loop = |side: &PartSummary<'_>| {
        let before = side.service().groups.iter().find(|before| before.name == group.name);
        before.is_some_and(|before| {
            // How often a thread is seen running says little: one sampled in step with the requests always looks the same.
            let else_where = |g: &ThreadGroup| {
                g.threads - threads_waiting(g, &ThreadWait::Running) - threads_waiting(g, &ThreadWait::Events)
            };
            let elsewhere = (else_where(before) - else_where(group)).abs();
            let waited =
                threads_waiting(before, &ThreadWait::Events) - threads_waiting(group, &ThreadWait::Events);
            // Near its limit it rests for moments that are seldom sampled: then its processor time shows that it did.
            let rested = threads - before.on_cpu_ns as f64 / 1e9 / side.observed_seconds();
            let tenth = 0.1 * threads;
            let waits = waited >= tenth || rested >= tenth && waited > elsewhere;
            elsewhere <= tenth && (waits || known.is_some())
        })
    };
    known.is_some_and(|known| known.loops) || case.when_well(is_loop).unwrap_or(known.is_some())
}

/// How many of its threads wait so.
pub(crate) fn threads_waiting(group: &ThreadGroup, wait: &ThreadWait) -> f64 {
    group.states.iter().filter(|state| state.wait == *wait).map(|state| state.threads).sum()
}

/// How to give a service more processes, if known.
pub(crate) fn scaling_advice(case: &Case<'_>) -> Option<ScalingAdvice> {
    find_by_subject(case.subject()?)?.processes
}

impl SaturatedThreads<'_> {
    /// Always busy threads of the group in another window.
    pub fn restless(&self, group: &ThreadGroup, seconds: f64) -> f64 {
        never_at_rest(group, seconds, self.most).map_or(0.0, |(threads, _)| threads)
    }

    /// How to get more of them.
    pub fn more(&self, case: &Case<'_>) -> String {
        let wanted = (self.threads.round() + 1.0).max(case.cpus().floor()) as u32;
        // A process started by the service bears its own name.
        let other = find_by_name(&self.group.name).and_then(|program| program.processes);
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
    let seconds = case.bad.observed_seconds();
    let never_idle = |group: &ThreadGroup| restless(group, seconds).is_some();
    case.runnable() >= SHARE * case.bad.load.outstanding || case.bad.service().groups.iter().any(never_idle)
}
