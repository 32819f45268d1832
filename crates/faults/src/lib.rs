//! The fault matrix: services broken in a known way, each put under load and observed, and
//! the verdict expected. What `torment selftest` runs.
//!
//! A [`FaultCase`] is data: what is started, its limits, its load, and the true
//! [`Cause`](record::Cause). [`run`] runs cases one after the other and returns a
//! [`SelftestReport`]. A case that this machine cannot run (no PostgreSQL, no root, no such JDK) is skipped,
//! with a reason.
//!
//! Loads go only to services of our own on this machine; nothing outside a case is changed, and
//! whatever a case started ends with it, however it ends.

mod case;
mod case_run;
mod cases;
mod client;
mod cpu_burner;
mod environment;
mod group;
mod java;
mod network_namespace;
mod postgres;
mod report;
mod target_process;

pub use case::{ExpectedCause, FaultCase};
pub use cases::all_cases;
pub use report::{CaseOutcome, CaseResult, CaseVerdict, SelftestReport};

use record::Event;
use runner::StopFlag;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a case has no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CaseError {
    /// This machine cannot show the fault, or does not let us.
    Skip(String),
    /// An unexpected error.
    Fail(String),
}

impl From<String> for CaseError {
    fn from(why: String) -> Self {
        Self::Fail(why)
    }
}

impl CaseError {
    /// Wraps an unexpected error with what was tried.
    pub(crate) fn fail<E: std::fmt::Display>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |why| Self::Fail(format!("{what}: {why}"))
    }
}

/// Progress of the cases.
#[derive(Debug)]
pub enum CaseProgress<'a> {
    /// A case begins.
    Began {
        /// Which.
        case: &'a FaultCase,
        /// Counted from 1.
        repetition: u32,
    },
    /// A case is over.
    Ended {
        /// Its result.
        result: &'a CaseResult,
        /// All events observed.
        events: &'a [Event],
    },
}

/// Runs the cases, each so many times, until all are done or `stop` is requested.
pub fn run(
    cases: &[FaultCase],
    repetitions: u32,
    stop: &StopFlag,
    progress: &mut dyn FnMut(CaseProgress<'_>),
) -> SelftestReport {
    let mut report = SelftestReport::default();
    for repetition in 1..=repetitions {
        for case in cases {
            if stop.is_requested() {
                return report;
            }
            // What is unavailable now stays so.
            if repetition > 1 && report.is_skipped(case.name) {
                continue;
            }
            progress(CaseProgress::Began { case, repetition });
            let mut events = Vec::new();
            let outcome = run_isolated(case, stop, &mut events);
            if stop.is_requested() {
                return report;
            }
            let tried = CaseResult { case: case.name, expected: case.expected, repetition, outcome };
            progress(CaseProgress::Ended { result: &tried, events: &events });
            report.results.push(tried);
        }
    }
    report
}

/// In a thread of its own: it may enter a network namespace, and a panic in it is a failed case.
fn run_isolated(case: &FaultCase, stop: &StopFlag, events: &mut Vec<Event>) -> CaseOutcome {
    let outcome = std::thread::scope(|scope| {
        let run = || catch_unwind(AssertUnwindSafe(|| case_run::run_case(case, stop, events)));
        scope.spawn(run).join()
    });
    match outcome {
        Ok(Ok(Ok(()))) => CaseOutcome::Judged(CaseVerdict::from_events(events)),
        Ok(Ok(Err(CaseError::Skip(why)))) => CaseOutcome::Skipped(why),
        Ok(Ok(Err(CaseError::Fail(why)))) => CaseOutcome::Failed(why),
        Ok(Err(panic)) | Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            CaseOutcome::Failed(message.unwrap_or_else(|| "it panicked".to_owned()))
        }
    }
}
