//! Pages broken in a known way: each does real work or waits for one real thing, a known truth
//! for whoever names what a service waits for.
//!
//! Unlike on the truth pages capacity is not exact: it is that of the machine, of the kernel's
//! timers, of a database. Exact is what a request needs, and what it waits for.

mod burn;
mod call;
mod contended;
mod fault_work;
mod held_resources;

use std::time::Instant;

use crate::ServiceState;
use crate::answer::Answer;
use crate::database::{DatabaseError, DatabaseFault, WAIT_LIMIT};
use contended::ContendedResources;
use held_resources::HeldResources;

pub(crate) use fault_work::FaultWork;

/// State shared by the fault pages of one service.
#[derive(Default)]
pub(crate) struct FaultState {
    contended: ContendedResources,
    held: HeldResources,
}

impl FaultState {
    /// Ends the threads that outlive their request.
    pub(crate) fn stop(&self) {
        self.held.stop_threads();
    }
}

impl FaultWork {
    /// Whether it blocks its thread, or needs a descriptor table that
    /// outlives it: an event loop permits neither.
    pub(crate) fn blocks(&self) -> bool {
        !matches!(
            self,
            Self::Cpu { .. } | Self::Burn(_) | Self::Memory { .. } | Self::FreeMemory | Self::Thread { .. }
        )
    }
}

/// An event loop's answer to blocking work.
pub(crate) fn blocking_refused() -> Answer {
    Answer::text(
        400,
        "this page blocks the thread that serves it; start with --model pool, threads or serial\n",
    )
}

impl ServiceState {
    /// Runs a fault page's work in the calling thread.
    pub(crate) fn run_fault(&self, work: &FaultWork) -> Answer {
        let done = || Answer::text(200, "done\n");
        let refused = |why: String| Answer::text(503, format!("{why}\n"));
        let faults = &self.faults;
        match work {
            FaultWork::Cpu { time } => {
                contended::burn(*time, || self.stop.is_stopping());
                done()
            }
            FaultWork::Burn(burning) => {
                burning.spend(&|| self.stop.is_stopping());
                done()
            }
            FaultWork::Lock { time } => {
                faults.contended.lock(*time, || self.stop.is_stopping());
                done()
            }
            FaultWork::Permit { size, time } => {
                match faults.contended.permit(*size, *time, || self.stop.is_stopping()) {
                    Ok(()) => done(),
                    Err(why) => refused(why),
                }
            }
            FaultWork::Call { to, path } => match call::call(*to, path) {
                Ok(status) if status < 400 => done(),
                Ok(status) => Answer::text(502, format!("{to} answered {status}\n")),
                Err(e) => Answer::text(502, format!("{to} did not answer: {e}\n")),
            },
            FaultWork::Database(fault) => self.run_database_fault(fault),
            FaultWork::Memory { bytes } => faults.held.memory(*bytes).map_or_else(refused, |()| done()),
            FaultWork::FreeMemory => {
                faults.held.free_memory();
                done()
            }
            FaultWork::Thread { life } => faults.held.thread(*life).map_or_else(refused, |()| done()),
            FaultWork::Open => faults.held.open().map_or_else(refused, |()| done()),
            FaultWork::CloseAll => {
                faults.held.close_all();
                done()
            }
            FaultWork::File { bytes } => faults.held.append(*bytes).map_or_else(refused, |()| done()),
        }
    }

    fn run_database_fault(&self, fault: &DatabaseFault) -> Answer {
        let outcome = match fault {
            DatabaseFault::Connect { .. } => {
                self.database.with_unpooled_session(|session| session.run_fault(fault))
            }
            _ => self.database.with_session(Instant::now() + WAIT_LIMIT, |session| session.run_fault(fault)),
        };
        match outcome {
            Ok(Ok(())) => Answer::text(200, "done\n"),
            Ok(Err(DatabaseError(words))) => Answer::text(503, format!("the database failed: {words}\n")),
            Err(_) => Answer::text(503, "no database connection came free within 30 s\n"),
        }
    }
}
