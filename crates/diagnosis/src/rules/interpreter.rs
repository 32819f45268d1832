//! An interpreter lock, as in Python and Ruby: only one thread of a process computes at a time.

use super::contention::{
    Contention, MIN_ENGAGED, MIN_WAITING_SHARE, contention_of, find_contention, outstanding_fact,
    stacks_fact, station, waiting_fact, waits_for_a_thread,
};
use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, fact, source};
use crate::format::{format_count, format_number};
use crate::loaded_window::cpu as cpu_of;
use crate::processors::ceiling_by_cost;
use crate::request_path::use_of;
use crate::saturated_threads::{restless, scaling_advice};
use crate::workers::is_interpreted;
use record::{Cause, Evidence, Station, StationKind};

/// A process whose interpreter is the limit uses at least this much of one processor,
const COMPUTES: f64 = 0.7;
/// and at most this much, including parallel system calls.
const COMPUTES_MOST: f64 = 1.3;
/// Limit per process if one process only supervises the others.
const COMPUTES_UNDER_A_MASTER: f64 = 1.1;
/// At least this many of its threads want to do something.
const MIN_RUNNABLE: f64 = 1.5;

/// Whether its interpreters compute all the time: each of its processes uses one processor, and no more.
pub(super) fn is_full(case: &Case<'_>) -> bool {
    case.subject().is_some_and(is_interpreted) && (COMPUTES..=COMPUTES_MOST).contains(&cpus_per_process(case))
}

/// Whether these wait for an interpreter lock. Python's waits have deadlines of milliseconds, Ruby's none.
pub(super) fn waits_for_interpreter(case: &Case<'_>, contention: &Contention) -> bool {
    contention.workers.interpreted && (is_full(case) || contention.within == Some(1))
}

/// Processors that each of its interpreters uses.
fn full_fact(case: &Case<'_>) -> Evidence {
    fact(format!("{} of a processor used by each of its interpreters", format_number(cpus_per_process(case))))
        .measured(cpus_per_process(case), COMPUTES, "processors", source::SCHEDSTAT)
        .well(case.when_well(|side| side.cpu() / processes(case)))
}

/// Processes whose interpreters compute: all, or all but a master, such as gunicorn's and Puma's.
fn processes(case: &Case<'_>) -> f64 {
    let all = f64::from(case.degraded.service().processes.max(1));
    let under_a_master = COMPUTES..=COMPUTES_UNDER_A_MASTER;
    match case.cpu() < COMPUTES * all && under_a_master.contains(&(case.cpu() / (all - 1.0))) {
        true => all - 1.0,
        false => all,
    }
}

/// Processors that each process uses.
fn cpus_per_process(case: &Case<'_>) -> f64 {
    case.cpu() / processes(case)
}

pub(crate) fn interpreter(case: &Case<'_>) -> Option<RuleFinding> {
    let workers = case.degraded.workers.clone().filter(|workers| workers.interpreted)?;
    let (processes, load) = (processes(case), &case.degraded.load);
    let waiting =
        find_contention(case, &case.degraded.as_window()).filter(|crowd| waits_for_interpreter(case, crowd));
    // Other threads than the computing one are in a system call meanwhile, without the lock, or ready to be.
    let several = workers.running + workers.queueing() >= MIN_RUNNABLE * processes
        && load.outstanding >= MIN_ENGAGED * processes
        // A thread that is always busy is an event loop.
        && case.degraded.service().groups.iter().all(|group| restless(group, case.degraded.observed_seconds()).is_none());
    if waiting.is_none() && !(is_full(case) && several) {
        return None;
    }
    let contention = waiting.unwrap_or_else(|| contention_of(workers, load.outstanding, case.well_workers()));
    let (value, least, most) = match is_full(case) {
        true => (cpus_per_process(case), COMPUTES, 0.95),
        false => (contention.waiting, MIN_WAITING_SHARE * contention.engaged, 0.9 * contention.engaged),
    };
    let stacks = stacks_fact(case, &contention.workers, waits_for_a_thread);
    let count_text = format_count(contention.workers.count.round(), "worker");
    let whose = match processes {
        1.0 => format!("Only one of {}'s {count_text} computes", case.name()),
        _ => format!("In each of {}'s {processes} processes only one thread computes", case.name()),
    };
    let more = match scaling_advice(case) {
        Some(more) => format!(": {}", more((processes + 1.0).max(case.cpus().floor()) as u32)),
        None => String::new(),
    };
    let lock = Station {
        size: Some(processes),
        degraded: Some(use_of(cpus_per_process(case).min(1.0) * processes, Some(contention.waiting), load)),
        ..StationKind::Threads.station(format_count(processes, "interpreter"))
    };
    Some(
        RuleFinding::new(Cause::Lock)
            .with_sentence(format!("{whose} at a time: the others wait for the interpreter's lock."))
            .margin(value, least, most)
            .persisting(case, |window| {
                let computes = |service| cpu_of(service, window.length()) >= COMPUTES * processes;
                window.service().is_some_and(computes) || find_contention(case, window).is_some()
            })
            .sources(2 + u32::from(stacks.is_some()))
            .seen_by_sweeps(case)
            .evidence(full_fact(case))
            .evidence(waiting_fact(case, &contention))
            .evidences(stacks)
            .evidence(outstanding_fact(case))
            .arithmetic(ceiling_by_cost(case, processes, "processor for each interpreter"))
            .chain(station(case))
            .limiting(lock)
            .chain(["one thread of each"])
            .advise(format!("more processes instead of threads, each with an interpreter of its own{more}"))
            .advise("more threads will not help, nor will more processors alone")
            .predicts_doubling(
                case,
                "twice the processes",
                load.answered,
                "if the rate stays the same, the interpreter was not the cause",
            )
            .unless(format!("each process uses less than {COMPUTES} of a processor and is just as slow")),
    )
}
