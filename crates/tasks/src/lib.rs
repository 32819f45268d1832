//! How many threads a machine allows: every limit that counts, its room, and which one was hit.
//!
//! [`forecast`] reads the limits. [`ramp`] creates threads until one of them is hit, in a child that may be killed for it,
//! reads them again at that moment, and names it: the error of pthread_create(3) does not.
//! `docs/method/tasks.md` explains how.
//!
//! Others are spared: a reserve is left to them, and all threads end with torment.

mod advice;
mod binding_limit;
mod crowd;
mod crowd_process;
mod limits;
mod ramp;
mod readings;
mod reserve;

pub use advice::cpu_quota_advice;
pub use crowd::run_crowd;
pub use ramp::ramp;

use limits::ThreadCost;
use readings::LimitReadings;
use record::SystemLimit;
use std::path::Path;
use units::Bytes;

/// The threads wanted, and how many.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadsWanted {
    /// Stack size; none: the default of pthread_create(3).
    pub stack: Option<Bytes>,
    /// How much of each stack is touched.
    pub touch: Bytes,
    /// Threads without a stack: only what the kernel keeps for them.
    pub raw: bool,
    /// Maximum number of threads.
    pub max: Option<u64>,
    /// Leaves no reserve to others.
    pub until_failure: bool,
    /// Mappings that the process has before its first thread, like a large program.
    pub maps: u64,
}

/// The smallest usable stack (four times PTHREAD_STACK_MIN of x86-64).
const STACK_LEAST: Bytes = Bytes(64 << 10);
/// Stack that a thread needs besides what it touches.
const STACK_OWN: u64 = 16 << 10;

impl ThreadsWanted {
    /// Validates the request.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::InvalidRequest(why));
        let Self { stack, touch, .. } = *self;
        if self.raw && (stack.is_some() || touch.0 > 0) {
            return wrong("raw threads have no stack: leave out --raw, or --stack and --touch".to_owned());
        }
        if let Some(stack) = stack.filter(|stack| *stack < STACK_LEAST) {
            return wrong(format!(
                "{stack} is too small for a thread's stack; --stack takes {STACK_LEAST} or more"
            ));
        }
        let here = LimitReadings::take(Path::new("/"), std::process::id());
        let size = Bytes(ThreadCost::of(&here, self).stack);
        if touch.0 > 0 && touch.0.saturating_add(STACK_OWN) > size.0 {
            return wrong(format!("{touch} cannot be touched in a stack of {size}; give a larger --stack"));
        }
        Ok(())
    }
}

/// Why there is no ramp.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is invalid.
    #[error("{0}")]
    InvalidRequest(String),
    /// The reserve cannot be lifted here.
    #[error("--until-failure needs a control group of its own, so that nothing outlives the attempt: {0}")]
    UntilFailure(String),
    /// The process that holds the threads does not start or does not obey.
    #[error("the process that has the threads: {0}")]
    Crowd(String),
}

/// Every limit on the threads of a program started from here; the binding one first.
pub fn forecast(threads_wanted: &ThreadsWanted) -> Vec<SystemLimit> {
    forecast_of(Path::new("/"), std::process::id(), threads_wanted)
}

/// The same for another process, or below another root than `/`.
pub fn forecast_of(root: &Path, pid: u32, threads_wanted: &ThreadsWanted) -> Vec<SystemLimit> {
    limits::limits(&LimitReadings::take(root, pid), threads_wanted)
}
