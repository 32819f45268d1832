//! Workers that wait for each other: what locks and pools have in common.

use crate::case::Case;
use crate::finding::{EvidenceExt, fact, source};
use crate::format::{format_count, format_number};
use crate::loaded_window::{LoadedWindow, cpu as cpu_of};
use crate::part_summary::PartSummary;
use crate::processors::is_crowded_out;
use crate::request_path::use_of;
use crate::saturated_threads::restless;
use crate::workers::Workers;
use record::watch::{CloserLook, StackGroup};
use record::{Station, StationKind};

/// Share of the engaged workers that wait for each other, or for one thing.
pub(super) const MIN_WAITING_SHARE: f64 = 0.5;
/// Above this utilisation of the processors, or with none available, waits are symptoms of that.
pub(super) const MAX_CALM_UTILISATION: f64 = 0.7;
/// A lock has one holder; a pool has more.
pub(super) const MAX_SINGLE_HOLDER: f64 = 1.5;
/// Fewer engaged workers say nothing.
pub(super) const MIN_ENGAGED: f64 = 2.5;

/// Workers that wait for each other.
pub(super) struct Contention {
    /// Workers that wait for others.
    pub waiting: f64,
    /// Their most common deadline, in seconds; none: no deadline.
    pub within: Option<u32>,
    /// Workers that do something meanwhile.
    pub holding: f64,
    pub engaged: f64,
    pub workers: Workers,
}

impl Contention {
    /// Workers with a request: at most as many as requests, for an idle one may look as if it held something.
    pub fn busy(&self) -> f64 {
        (self.waiting + self.holding).min(self.engaged)
    }
}

/// Workers not needed for what is outstanding may wait for work: they do not count. If there are any, only those count as waiting that
/// wait differently from the workers while the target was well.
pub(super) fn contention_of(workers: Workers, outstanding: f64, well: Option<&Workers>) -> Contention {
    const ALL: f64 = 0.9;
    let engaged = workers.count.min(outstanding);
    let mut waiting = workers.queueing();
    let mut queues = workers.queues.clone();
    if outstanding < ALL * workers.count {
        let idle = workers.count - outstanding;
        let before = |within: &Option<u32>| well.and_then(|w| w.queues.get(within)).copied().unwrap_or(0.0);
        queues.iter_mut().for_each(|(within, n)| *n = (*n - before(within)).max(0.0));
        waiting = (waiting - idle).max(0.0).min(queues.values().sum());
    }
    let within = queues.iter().max_by(|a, b| a.1.total_cmp(b.1)).and_then(|(within, _)| *within);
    let holding = workers.holding();
    Contention { waiting, within, holding, engaged, workers }
}

pub(super) fn find_contention(case: &Case<'_>, moment: &LoadedWindow<'_>) -> Option<Contention> {
    let subject = moment.service()?;
    let contention = contention_of(case.workers(moment)?, moment.outstanding, case.well_workers());
    let calm = cpu_of(subject, moment.length()) < MAX_CALM_UTILISATION * case.cpus()
        && !is_crowded_out(moment, case.cpus());
    // If a thread is always busy the others wait for that one, or for nothing.
    let group = subject.group(&contention.workers.name)?;
    let holds = contention.engaged >= MIN_ENGAGED
        && contention.waiting >= MIN_WAITING_SHARE * contention.engaged
        && calm
        && restless(group, moment.length().as_secs_f64()).is_none();
    holds.then_some(contention)
}

/// That of a side, by how its own workers wait.
pub(super) fn well_contention(side: &PartSummary<'_>) -> Option<Contention> {
    let workers = side.workers.clone()?;
    Some(contention_of(workers, side.load.outstanding, side.workers.as_ref()))
}

/// The workers on a request's path, if any.
pub(super) fn station(case: &Case<'_>) -> Option<Station> {
    let (workers, outstanding) = (case.degraded.workers.clone()?, case.degraded.load.outstanding);
    let contention = contention_of(workers, outstanding, case.well_workers());
    let station_use = |crowd: &Contention, side: &PartSummary<'_>| {
        let before = (side.load.outstanding - crowd.busy()).max(0.0);
        use_of(crowd.busy(), Some(before), &side.load)
    };
    Some(Station {
        size: Some(contention.workers.count.round()),
        well: case.when_well(|side| well_contention(side).map(|crowd| station_use(&crowd, side))).flatten(),
        degraded: Some(station_use(&contention, &case.degraded)),
        ..StationKind::Threads.station(format_count(contention.workers.count.round(), "worker"))
    })
}

pub(super) fn waiting_fact(case: &Case<'_>, contention: &Contention) -> record::Evidence {
    let deadline =
        contention.within.map_or(", without a deadline".to_owned(), |s| format!(", at most {s} s"));
    fact(format!(
        "{} of {} workers ({}) wait for another thread{deadline}",
        format_number(contention.waiting),
        format_number(contention.workers.count),
        contention.workers.name
    ))
    .measured(contention.waiting, MIN_WAITING_SHARE * contention.engaged, "threads", source::SWEEP)
    .well(case.when_well(|side| well_contention(side).map_or(0.0, |crowd| crowd.waiting)))
}

pub(super) fn outstanding_fact(case: &Case<'_>) -> record::Evidence {
    let load = &case.degraded.load;
    let who = if case.front.is_some() { case.name() } else { "the service" };
    fact(format!(
        "{} requests are outstanding on average, {who} uses {} of {}",
        format_number(load.outstanding),
        format_number(case.cpu()),
        format_count(case.cpus(), "processor")
    ))
    .measured(load.outstanding, MIN_ENGAGED, "requests", source::LOAD)
    .well(case.when_well(|side| side.load.outstanding))
}

/// Where the waiting threads are by a JVM's own account.
pub(super) fn thread_dump_fact(
    case: &Case<'_>,
    is: impl Fn(&StackGroup) -> bool,
) -> Option<record::Evidence> {
    let stack = case.looks.iter().find_map(|look| match look {
        CloserLook::Threads { at, .. } => at.iter().find(|at| is(at)),
        _ => None,
    })?;
    let text = format!(
        "the JVM says: {} threads {} in {}{}",
        stack.threads,
        stack.state,
        stack.frame,
        called_by(stack)
    );
    Some(fact(text).measured(f64::from(stack.threads), 1.0, "threads", source::DUMP))
}

/// The workers' stacks, the most common first.
pub(super) fn stacks<'a>(case: &Case<'a>, workers: &Workers) -> impl Iterator<Item = &'a StackGroup> {
    let own = case.subject().map_or(0, |about| about.pid);
    let at = case.looks.iter().filter_map(move |look| match look {
        CloserLook::Stacks { pid, at, .. } if *pid == 0 && case.front.is_none() || *pid == own => Some(at),
        _ => None,
    });
    at.flatten().filter(|at| at.group == workers.name)
}

/// Where most of the workers waiting this way are, by their stacks.
pub(super) fn stacks_fact(
    case: &Case<'_>,
    workers: &Workers,
    is: impl Fn(&StackGroup) -> bool,
) -> Option<record::Evidence> {
    let stack = stacks(case, workers).find(|at| is(at))?;
    let StackGroup { threads, frame, state, .. } = stack;
    let text = format!("by their stacks, {threads} wait in {frame} ({state}){}", called_by(stack));
    Some(fact(text).measured(f64::from(*threads), 1.0, "threads", source::STACKS))
}

fn called_by(stack: &StackGroup) -> String {
    stack.asked_by.as_ref().map_or(String::new(), |asker| {
        let place = asker.place.as_ref().map_or(String::new(), |place| format!(" ({place})"));
        format!(", called by {}{place}", asker.method)
    })
}

/// On a futex, as for every lock and pool of threads.
pub(super) fn waits_for_a_thread(stack: &StackGroup) -> bool {
    stack.state == "futex" && waits_in_application(stack)
}

pub(super) fn waits_in_application(stack: &StackGroup) -> bool {
    stack.state != "RUNNABLE" && !is_idle(stack)
}

/// Threads of a pool that wait for work.
pub(super) fn is_idle(stack: &StackGroup) -> bool {
    /// Where idle threads wait: in the JDK, Tomcat, Jetty and JBoss.
    const IDLE_FRAMES: [&str; 6] =
        ["TaskQueue", "BlockingQueue", "BlockingArrayQueue", "ForkJoin", "Executor.getTask", "QueueExecutor"];
    IDLE_FRAMES.iter().any(|there| stack.frame.contains(there))
}

/// A peer with the name of its process, if observed.
pub(crate) fn name_peer(case: &Case<'_>, peer: &str) -> String {
    let port = |address: &str| address.rsplit_once(':').map(|(_, port)| port.to_owned());
    // Nobody talks to the service in front of it.
    let others = if case.front.is_some() { 2 } else { 1 };
    let subject = case.watched.subjects.iter().skip(others).find(|subject| {
        let is_same = |at: &String| at == peer || port(at).is_some() && port(at) == port(peer);
        subject.listens.iter().any(is_same)
    });
    match subject {
        Some(subject) => format!("{peer} ({})", subject.name),
        None => peer.to_owned(),
    }
}
