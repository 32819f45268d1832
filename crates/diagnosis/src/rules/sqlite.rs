//! SQLite's lock: one transaction writes at a time; others sleep and retry.

use super::contention::{
    MAX_CALM_UTILISATION, MIN_WAITING_SHARE, outstanding_fact, stacks, stacks_fact, station,
};
use super::lock::lock_limit;
use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, source};
use crate::format::{format_count, format_number};
use crate::loaded_window::LoadedWindow;
use crate::part_summary::PartSummary;
use record::Cause;
use record::watch::StackGroup;

fn sleeps(at: &StackGroup) -> bool {
    matches!(at.state.as_str(), "clock_nanosleep" | "nanosleep")
}

/// Where SQLite sleeps.
fn is_in_sqlite(at: &StackGroup) -> bool {
    sleeps(at) && (at.frame.to_lowercase().contains("sqlite") || at.frame == "unixSleep")
}

/// All workers but the writing one sleep there.
pub(crate) fn lock(case: &Case<'_>) -> Option<RuleFinding> {
    let workers = case.degraded.workers.as_ref()?;
    let evidence = stacks_fact(case, workers, is_in_sqlite)?;
    let threads_in = |is: fn(&StackGroup) -> bool| -> u32 {
        stacks(case, workers).filter(|at| is(at)).map(|at| at.threads).sum()
    };
    if 2 * threads_in(is_in_sqlite) < threads_in(sleeps) {
        return None;
    }
    let others = workers.count.min(case.degraded.load.outstanding) - 1.0;
    let sleeping = workers.sleeping;
    if others < 0.5
        || sleeping < MIN_WAITING_SHARE * others
        || case.cpu() >= MAX_CALM_UTILISATION * case.cpus()
    {
        return None;
    }
    let sleeping_in = |side: &PartSummary<'_>| side.workers.as_ref().map(|workers| workers.sleeping);
    let many_sleep = |window: &LoadedWindow<'_>| {
        case.workers(window).is_some_and(|workers| workers.sleeping >= MIN_WAITING_SHARE * others)
    };
    let (arithmetic, write) = lock_limit(case, "SQLite's write lock", workers.count - sleeping, sleeping_in);
    Some(
        RuleFinding::new(Cause::Lock)
            .with_sentence(format!(
                "{} of {} of {} sleep until SQLite lets them go on: one transaction at a time writes.",
                format_number(sleeping),
                format_count(workers.count, "worker"),
                case.name()
            ))
            .margin(sleeping, MIN_WAITING_SHARE * others, 0.9 * others)
            .persisting(case, many_sleep)
            .sources(3)
            .seen_by_sweeps(case)
            .fact(format!(
                    "{} of {} ({}) sleep",
                    format_number(sleeping),
                    format_count(workers.count, "worker"),
                    workers.name
                ))
                .measured(sleeping, MIN_WAITING_SHARE * others, "threads", source::SWEEP)
                .well(case.when_well(sleeping_in).flatten())
            .evidence(evidence)
            .evidence(outstanding_fact(case))
            .arithmetic(arithmetic)
            .chain(station(case))
            .limiting(write)
            .chain(["the transaction that writes"])
            .advise("write less per transaction, or batch the writes of several requests into one; WAL mode (PRAGMA journal_mode=WAL) makes each shorter")
            .advise("more workers will not help; a database with a lock for each row will")
            .predicts_doubling(
                case,
                "half the time in a transaction that writes",
                case.degraded.load.answered,
                "if the rate stays the same, the lock was not the cause",
            )
            .unless("the workers sleep elsewhere: torment profile PID shows where"),
    )
}
