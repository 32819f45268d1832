//! Programs seen from outside: every system call of a program and of whatever it starts ([`follow`]), what they cost
//! ([`calls`]), those that make processes and threads ([`creations`]), and a program's instructions one by one
//! ([`instructions`]), all by ptrace(2); and, for root, the same calls as the kernel's tracepoints record them ([`Points`]).
//!
//! A program under trace is slower by far, 24 to 36 times for one that mostly starts others: times taken here say how
//! calls share a program's time, never how long it takes. What is traced ends with its tracer, however that ends, and
//! nothing runs longer than its [`Limits`]. This crate never attaches to a program that it has not started.

mod calls;
mod creations;
mod follow;
mod mapping;
mod points;
mod steps;

pub use calls::{Calls, Cost, Marks, calls};
pub use creations::{Made, creations};
pub use follow::{Followed, Stop, StopReason, TraceEnd, follow};
pub use mapping::Mapping;
pub use points::{Points, Recorded, instances, instances_in};
pub use steps::{Steps, instructions};

use std::time::Duration;
use std::{fmt, io};

/// What a program under trace may use up.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time on the wall.
    pub time: Duration,
    /// Stops: two for each system call, one for each instruction that is stepped over.
    pub stops: u64,
}

/// Why a program could not be traced.
#[derive(Debug)]
pub enum Error {
    /// It did not start.
    Start {
        /// Which.
        program: String,
        /// What the system says.
        why: io::Error,
    },
    /// The kernel refused to go on.
    Trace(io::Error),
    /// This can be seen on another architecture only.
    Architecture,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { program, why } if why.raw_os_error() == Some(EPERM) => write!(
                f,
                "cannot start '{program}' under trace: {why}; tracing is forbidden here if \
                 /proc/sys/kernel/yama/ptrace_scope is 3, or by the container's seccomp profile"
            ),
            Self::Start { program, why } => write!(f, "cannot start '{program}' under trace: {why}"),
            Self::Trace(why) => write!(f, "the trace broke off: {why}"),
            Self::Architecture => f.write_str("CPUID is an instruction of x86-64 only"),
        }
    }
}

impl std::error::Error for Error {}

/// Operation not permitted.
const EPERM: i32 = rustix::io::Errno::PERM.raw_os_error();
