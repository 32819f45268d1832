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

use crate::ServiceState;
use crate::answer::Answer;
use crate::database::{DatabaseError, DatabaseFault};
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
        match self.try_fault(work) {
            Ok(()) => Answer::text(200, "done\n"),
            Err(why) => {
                let status = if matches!(work, FaultWork::Call { .. }) { 502 } else { 503 };
                Answer::text(status, format!("{why}\n"))
            }
        }
    }

    fn try_fault(&self, work: &FaultWork) -> Result<(), String> {
        let is_stopping = || self.stop.is_stopping();
        let faults = &self.faults;
        match work {
            FaultWork::Cpu { time } => contended::burn(*time, is_stopping),
            FaultWork::Burn(burning) => burning.spend(&is_stopping),
            FaultWork::Lock { time } => faults.contended.lock(*time, is_stopping),
            FaultWork::Permit { size, time } => faults.contended.permit(*size, *time, is_stopping)?,
            FaultWork::Call { to, path } => match call::call(*to, path) {
                Ok(status) if status < 400 => {}
                Ok(status) => return Err(format!("{to} answered {status}")),
                Err(e) => return Err(format!("{to} did not answer: {e}")),
            },
            FaultWork::Database(fault) => self.run_database_fault(fault)?,
            FaultWork::Memory { bytes } => faults.held.memory(*bytes)?,
            FaultWork::FreeMemory => faults.held.free_memory(),
            FaultWork::Thread { life } => faults.held.thread(*life)?,
            FaultWork::Open => faults.held.open()?,
            FaultWork::CloseAll => faults.held.close_all(),
            FaultWork::File { bytes } => faults.held.append(*bytes)?,
        }
        Ok(())
    }

    fn run_database_fault(&self, fault: &DatabaseFault) -> Result<(), String> {
        self.database
            .run_fault(fault)
            .map_err(|_| "no database connection came free within 30 s".to_owned())?
            .map_err(|DatabaseError(words)| format!("the database failed: {words}"))
    }
}
