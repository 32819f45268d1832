//! The fault matrix: services that are broken in a known way, each put under load and watched, and
//! the verdict that has to come out. What `torment selftest` runs.
//!
//! A [`Cell`] is data: what is started, what limits are around it, what is sent, and which
//! [`Cause`](record::Cause) is the truth. [`run`] carries cells out one after the other and gives a
//! [`Report`]. A cell that cannot be had on this machine (no PostgreSQL, no root, no such JDK) is skipped,
//! and says why.
//!
//! Loads go to services of our own on this machine only; nothing outside a cell is changed, and
//! whatever a cell started ends with it, however it ends.

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

/// Why a cell came to no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CaseError {
    /// This machine cannot show the fault, or does not let us.
    Skip(String),
    /// Something went wrong that should not.
    Fail(String),
}

impl From<String> for CaseError {
    fn from(why: String) -> Self {
        Self::Fail(why)
    }
}

impl CaseError {
    /// Of an error that should not be, with what was tried.
    pub(crate) fn fail<E: std::fmt::Display>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |why| Self::Fail(format!("{what}: {why}"))
    }
}

/// What happens while cells are carried out.
#[derive(Debug)]
pub enum CaseProgress<'a> {
    /// A cell begins, for the n-th time, from 1.
    Began {
        /// Which.
        cell: &'a FaultCase,
        /// Counted from 1.
        repetition: u32,
    },
    /// It is over.
    Ended {
        /// Which, and what came of it.
        tried: &'a CaseResult,
        /// Everything that happened while it was watched.
        events: &'a [Event],
    },
}

/// Carries the cells out, each so many times, until all are done or `stop` is asked for.
pub fn run(
    cells: &[FaultCase],
    repetitions: u32,
    stop: &StopFlag,
    progress: &mut dyn FnMut(CaseProgress<'_>),
) -> SelftestReport {
    let mut report = SelftestReport::default();
    for repetition in 1..=repetitions {
        for cell in cells {
            if stop.is_requested() {
                return report;
            }
            // What cannot be had now will not be had later.
            if repetition > 1 && report.is_skipped(cell.name) {
                continue;
            }
            progress(CaseProgress::Began { cell, repetition });
            let mut events = Vec::new();
            let outcome = run_isolated(cell, stop, &mut events);
            if stop.is_requested() {
                return report;
            }
            let tried = CaseResult { cell: cell.name, expected: cell.expected, repetition, outcome };
            progress(CaseProgress::Ended { tried: &tried, events: &events });
            report.tried.push(tried);
        }
    }
    report
}

/// In a thread of its own: it may enter a network of its own, and a panic in it is a failed cell.
fn run_isolated(cell: &FaultCase, stop: &StopFlag, events: &mut Vec<Event>) -> CaseOutcome {
    let told = std::thread::scope(|scope| {
        let run = || catch_unwind(AssertUnwindSafe(|| case_run::run_case(cell, stop, events)));
        scope.spawn(run).join()
    });
    match told {
        Ok(Ok(Ok(()))) => CaseOutcome::Judged(CaseVerdict::from_events(events)),
        Ok(Ok(Err(CaseError::Skip(why)))) => CaseOutcome::Skipped(why),
        Ok(Ok(Err(CaseError::Fail(why)))) => CaseOutcome::Failed(why),
        Ok(Err(panic)) | Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            CaseOutcome::Failed(said.unwrap_or_else(|| "it panicked".to_owned()))
        }
    }
}
