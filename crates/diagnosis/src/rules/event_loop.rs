//! A few threads that all requests pass through, and that have no rest: event loops, most of them.

use super::processors::{FULL, ONE_THREAD, by_cost, host_cpus, idle};
use crate::case::Case;
use crate::condition::Condition;
use crate::found::{Contrast, Found, fact, source};
use crate::way;
use crate::words::{count, number};
use record::watch::{Group, SubjectWindow, Wait};
use record::{Cause, Place, Station};
use units::Rate;

/// More such threads are a pool.
const FEW: f64 = 4.5;
/// They do this share of what the service does.
const MOST: f64 = 0.8;
/// A thread that had a processor for less of its time lacks one.
const HAD: f64 = 0.6;

/// The threads that carry a service.
pub(super) struct Carriers<'a> {
    group: &'a Group,
    /// How many have no rest.
    pub threads: f64,
    /// Share of its time that each was on a processor.
    used: f64,
    /// Where it was well they waited for events.
    pub loops: bool,
}

/// Those threads of a group that have no rest, if they do nearly all of its work: how many, and their
/// processor time. Where nobody looked for such it is all of the group or nobody.
pub(super) fn restless(group: &Group, seconds: f64) -> Option<(f64, u64)> {
    let (threads, on_cpu_ns) = match group.full {
        Some(full) => (full.threads, full.on_cpu_ns),
        None => {
            let wanted = (group.on_cpu_ns + group.run_delay_ns) as f64;
            let all = wanted >= 0.97 * seconds * 1e9 * group.threads;
            (if all { group.threads } else { 0.0 }, group.on_cpu_ns)
        }
    };
    let most = on_cpu_ns as f64 >= MOST * group.on_cpu_ns as f64;
    (threads >= ONE_THREAD && most && seconds > 0.0).then_some((threads, on_cpu_ns))
}

/// Threads that carry the whole service.
pub(super) fn carriers<'a>(case: &'a Case<'_>) -> Option<Carriers<'a>> {
    if case.about().is_some_and(|subject| subject.java.is_some()) {
        return None;
    }
    let seconds = case.bad.seen();
    let all: u64 = case.bad.service().groups.iter().map(|group| group.on_cpu_ns).sum();
    let (group, threads, on_cpu_ns) = case.bad.service().groups.iter().find_map(|group| {
        let (threads, on_cpu_ns) = restless(group, seconds)?;
        (on_cpu_ns as f64 >= MOST * all as f64).then_some((group, threads, on_cpu_ns))
    })?;
    let used = on_cpu_ns as f64 / 1e9 / seconds / threads;
    (used >= HAD && threads < FEW).then(|| Carriers {
        group,
        threads,
        used,
        loops: were_waiting(case, group, threads),
    })
}

/// The same, where it has more processors than they can use.
pub(super) fn few<'a>(case: &'a Case<'_>) -> Option<Carriers<'a>> {
    carriers(case).filter(|_| case.cpu() < FULL * case.cpus())
}

/// Whether they waited for nothing but events where the service was well.
fn were_waiting(case: &Case<'_>, group: &Group, threads: f64) -> bool {
    let is_loop = |side: &Condition<'_>| {
        let before = side.service().groups.iter().find(|before| before.name == group.name);
        before.is_some_and(|before| {
            // How often a thread is seen running says little: who is looked at as regularly as requests come is always seen alike.
            let else_where = |g: &Group| g.threads - of(g, &Wait::Running) - of(g, &Wait::Events);
            let waited = of(before, &Wait::Events) - of(group, &Wait::Events);
            (else_where(before) - else_where(group)).abs() <= 0.1 * threads
                && (waited >= 0.1 * threads || more_of(case).is_some())
        })
    };
    case.when_well(is_loop).unwrap_or_else(|| more_of(case).is_some())
}

fn of(group: &Group, wait: &Wait) -> f64 {
    group.states.iter().filter(|state| state.wait == *wait).map(|state| state.threads).sum()
}

/// What has to be said to a service to have so many of a thing.
type More = fn(u32) -> String;

/// How a service that is known to be an event loop is given more of them: so many.
fn more_of(case: &Case<'_>) -> Option<More> {
    let about = case.about()?;
    let runs = |program: &str| {
        let words = || about.command.split([' ', '/']);
        about.name == program || words().any(|word| word == program)
    };
    let known: [(&str, More); 7] = [
        ("uvicorn", |n| format!("uvicorn --workers {n}")),
        ("hypercorn", |n| format!("hypercorn --workers {n}")),
        ("gunicorn", |n| format!("gunicorn --workers {n}")),
        ("nginx", |n| format!("worker_processes {n} in nginx.conf, or auto")),
        ("node", |n| format!("node:cluster, or {n} of it behind a balancer")),
        ("haproxy", |n| format!("nbthread {n} in haproxy.cfg")),
        ("redis-server", |n| format!("{n} of it, as a cluster")),
    ];
    known.into_iter().find(|(program, _)| runs(program)).map(|(_, more)| more)
}

impl Carriers<'_> {
    /// What has to be said to it to have more of them.
    pub fn more(&self, case: &Case<'_>) -> String {
        let wanted = (self.threads.round() + 1.0).max(case.cpus().floor()) as u32;
        match more_of(case) {
            Some(more) => more(wanted),
            None => format!("{wanted} processes of it, with the same listening socket or behind a balancer"),
        }
    }

    pub fn found(&self, case: &Case<'_>) -> Found {
        let Self { group, threads, used, loops } = self;
        let name = &group.name;
        let one = *threads < 1.5;
        let some = count(threads.round(), if *loops { "event loop" } else { "thread" });
        // More of them need something to run on.
        let held = case.cpus() < threads + 0.5;
        let more = if held {
            "it takes more processors, and as many processes"
        } else {
            "it takes more processes, not more threads"
        };
        let service = case.name();
        let whose = if service == *name { service.to_owned() } else { format!("{service} ({name})") };
        let sentence = match (loops, one) {
            (true, true) => format!(
                "All requests pass through one event loop of {whose}, which keeps one processor busy all the time: {more}."
            ),
            (true, false) => {
                format!(
                    "All requests pass through {some} of {whose}, which keep a processor each busy all the time: {more}."
                )
            }
            (false, _) => format!(
                "All requests pass through {some} of {whose}, and {} running all the time.",
                if one { "it is" } else { "they are" }
            ),
        };
        // Another one finds the processors that are idle now.
        let idle = idle(&case.bad.all);
        let gain = if held { 2.0 } else { ((threads + idle) / threads).clamp(1.0, 2.0) };
        let restless_there = |subject: &SubjectWindow, seconds: f64| {
            let there = subject.groups.iter().find(|there| there.name == *name);
            there.and_then(|there| restless(there, seconds)).map_or(0.0, |(threads, _)| threads)
        };
        let used_when_well = case.when_well(|side| {
            let before = side.service().groups.iter().find(|before| before.name == *name);
            before.map_or(0.0, |b| b.on_cpu_ns as f64 / 1e9 / side.seen())
        });
        let station = Station {
            size: Some(threads.round()),
            well: used_when_well
                .zip(case.well.as_ref())
                .map(|(used, well)| way::used(used, None, &well.load)),
            degraded: Some(way::used(used * threads, None, &case.bad.load)),
            ..Place::Threads.named(format!("{some} ({name})"))
        };
        let mut found = Found::new(Cause::Cpu)
            .says(sentence)
            .margin(*used, HAD, ONE_THREAD)
            .holding(case, |window| {
                let seconds = window.length().as_secs_f64();
                window.subjects.first().is_some_and(|s| restless_there(s, seconds) >= 0.9 * threads.round())
            })
            .sources(2)
            .evidence(
                fact(format!("{name}: {} of {some} used", number(used * threads)))
                    .seen(*used, ONE_THREAD, "share", source::SCHEDSTAT)
                    .well(used_when_well.map(|used| used / threads)),
            );
        let host = host_cpus(&case.bad.all);
        if idle >= 0.05 * host {
            let text = format!("{} of {} processors are idle meanwhile", number(idle), number(host));
            found = found.evidence(fact(text).seen(idle, 0.0, "processors", source::HOST));
        }
        if *loops {
            let there = of(group, &Wait::Events);
            let text = format!("{} waiting for events", count(there, "thread"));
            let before = case.when_well(|side| {
                let before = side.service().groups.iter().find(|before| before.name == *name);
                before.map_or(0.0, |before| of(before, &Wait::Events))
            });
            found = found.evidence(fact(text).seen(there, 0.0, "threads", source::SWEEP).well(before));
        }
        let found = found
            .arithmetic(by_cost(
                case,
                *threads,
                if one { "processor that it can use" } else { "processors that they can use" },
            ))
            .chain(["requests".to_owned()])
            .gave(station)
            .chain([if one { "one processor".to_owned() } else { count(threads.round(), "processor") }]);
        let first = match (loops, held) {
            (true, true) => format!("add processors and processes together: {}", self.more(case)),
            (true, false) => format!("more processes, one for each processor: {}", self.more(case)),
            (false, _) => "have more such threads or processes, up to the number of processors".to_owned(),
        };
        let second = match loops {
            true => "or make a request cheaper, or do its work elsewhere: while the loop computes, all wait",
            false => "or make a request cheaper: profile it (perf record -g -p PID)",
        };
        let [thing, things] = if *loops { ["process", "processes"] } else { ["such thread", "such threads"] };
        found
            .next(first)
            .next(second)
            .predicts(
                match (held, one) {
                    (true, _) => format!("twice the processors and {things}"),
                    (false, true) => format!("one more {thing}"),
                    (false, false) => format!("twice as many {things}"),
                },
                Some(Rate(case.bad.load.answered * gain)),
                "the processors of the machine are the next limit",
            )
            .unless("the thread is idle part of the time in a run that is as slow")
    }
}
