//! Pages that are broken in a known way: they do real work and wait for real things, each for one
//! kind, so that whoever names what a service waits for can be held to the truth.
//!
//! Unlike the truth pages their capacity is not exact: it is that of the machine, of the kernel's
//! timers, of a database. What is exact is what a request needs, and what it waits for.

mod burn;
mod call;
mod keep;
mod request;
mod wait;

use std::time::Instant;

use crate::Shared;
use crate::answer::Answer;
use crate::database::{Failure, Trouble, WAIT_LIMIT};
use keep::HeldResources;
use wait::Waits;

pub(crate) use request::Work;

/// What the fault pages of one service share.
#[derive(Default)]
pub(crate) struct Faults {
    waits: Waits,
    kept: HeldResources,
}

impl Faults {
    /// Ends the threads that live on after their request.
    pub(crate) fn end(&self) {
        self.kept.end();
    }
}

impl Work {
    /// Whether the thread that does it stands still meanwhile, or needs a table of descriptors that
    /// outlives it: an event loop can do neither.
    pub(crate) fn blocks(&self) -> bool {
        !matches!(
            self,
            Self::Cpu { .. } | Self::Burn(_) | Self::Memory { .. } | Self::ForgetMemory | Self::Thread { .. }
        )
    }
}

/// What an event loop answers to work that blocks.
pub(crate) fn not_in_a_loop() -> Answer {
    Answer::text(
        400,
        "this page blocks the thread that serves it; start with --model pool, threads or serial\n",
    )
}

impl Shared {
    /// Does what a fault page is there for, in the calling thread.
    pub(crate) fn work(&self, work: &Work) -> Answer {
        let done = || Answer::text(200, "done\n");
        let refused = |why: String| Answer::text(503, format!("{why}\n"));
        let faults = &self.faults;
        match work {
            Work::Cpu { time } => {
                wait::burn(*time, || self.stop.stopping());
                done()
            }
            Work::Burn(burning) => {
                burning.spend(&|| self.stop.stopping());
                done()
            }
            Work::Lock { time } => {
                faults.waits.lock(*time, || self.stop.stopping());
                done()
            }
            Work::Permit { size, time } => match faults.waits.permit(*size, *time, || self.stop.stopping()) {
                Ok(()) => done(),
                Err(why) => refused(why),
            },
            Work::Call { to, path } => match call::call(*to, path) {
                Ok(status) if status < 400 => done(),
                Ok(status) => Answer::text(502, format!("{to} answered {status}\n")),
                Err(e) => Answer::text(502, format!("{to} did not answer: {e}\n")),
            },
            Work::Database(trouble) => self.trouble(trouble),
            Work::Memory { bytes } => faults.kept.memory(*bytes).map_or_else(refused, |()| done()),
            Work::ForgetMemory => {
                faults.kept.forget_memory();
                done()
            }
            Work::Thread { life } => faults.kept.thread(*life).map_or_else(refused, |()| done()),
            Work::Open => faults.kept.open().map_or_else(refused, |()| done()),
            Work::CloseAll => {
                faults.kept.close_all();
                done()
            }
            Work::File { bytes } => faults.kept.append(*bytes).map_or_else(refused, |()| done()),
        }
    }

    fn trouble(&self, trouble: &Trouble) -> Answer {
        let made = match trouble {
            Trouble::Connect { .. } => self.database.visit(|session| session.trouble(trouble)),
            _ => self.database.with(Instant::now() + WAIT_LIMIT, |session| session.trouble(trouble)),
        };
        match made {
            Ok(Ok(())) => Answer::text(200, "done\n"),
            Ok(Err(Failure(words))) => Answer::text(503, format!("the database failed: {words}\n")),
            Err(_) => Answer::text(503, "no database connection came free within 30 s\n"),
        }
    }
}
