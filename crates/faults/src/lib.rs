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

mod burn;
mod cell;
mod cells;
mod client;
mod group;
mod java;
mod load;
mod postgres;
mod report;
mod scene;
mod service;
mod space;

pub use cell::{Cell, Expected};
pub use cells::all;
pub use report::{Judged, Outcome, Report, Tried};

use record::Event;
use runner::Stop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a cell came to no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// This machine cannot show the fault, or does not let us.
    Skip(String),
    /// Something went wrong that should not.
    Fail(String),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Fail(why)
    }
}

impl Trouble {
    /// Of an error that should not be, with what was tried.
    pub(crate) fn fail<E: std::fmt::Display>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |why| Self::Fail(format!("{what}: {why}"))
    }
}

/// What happens while cells are carried out.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A cell begins, for the n-th time, from 1.
    Began {
        /// Which.
        cell: &'a Cell,
        /// Counted from 1.
        repetition: u32,
    },
    /// It is over.
    Ended {
        /// Which, and what came of it.
        tried: &'a Tried,
        /// Everything that happened while it was watched.
        events: &'a [Event],
    },
}

/// Carries the cells out, each so many times, until all are done or `stop` is asked for.
pub fn run(cells: &[Cell], repetitions: u32, stop: &Stop, progress: &mut dyn FnMut(Progress<'_>)) -> Report {
    let mut report = Report::default();
    for repetition in 1..=repetitions {
        for cell in cells {
            if stop.asked() {
                return report;
            }
            // What cannot be had now will not be had later.
            if repetition > 1 && report.skipped(cell.name) {
                continue;
            }
            progress(Progress::Began { cell, repetition });
            let mut events = Vec::new();
            let outcome = carry_out(cell, stop, &mut events);
            if stop.asked() {
                return report;
            }
            let tried = Tried { cell: cell.name, expected: cell.expected, repetition, outcome };
            progress(Progress::Ended { tried: &tried, events: &events });
            report.tried.push(tried);
        }
    }
    report
}

/// In a thread of its own: it may enter a network of its own, and a panic in it is a failed cell.
fn carry_out(cell: &Cell, stop: &Stop, events: &mut Vec<Event>) -> Outcome {
    let told = std::thread::scope(|scope| {
        let run = || catch_unwind(AssertUnwindSafe(|| load::carry_out(cell, stop, events)));
        scope.spawn(run).join()
    });
    match told {
        Ok(Ok(Ok(()))) => Outcome::Judged(Judged::of(events)),
        Ok(Ok(Err(Trouble::Skip(why)))) => Outcome::Skipped(why),
        Ok(Ok(Err(Trouble::Fail(why)))) => Outcome::Failed(why),
        Ok(Err(panic)) | Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Outcome::Failed(said.unwrap_or_else(|| "it panicked".to_owned()))
        }
    }
}
