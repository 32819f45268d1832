//! Programs seen from outside: every system call of a program and of whatever it starts ([`follow`]), what they cost
//! ([`calls`]), those that make processes and threads ([`creations`]), and a program's instructions one by one
//! ([`instructions`]), all by ptrace(2); and, for root, the same calls as the kernel's tracepoints record them ([`Points`]).
//!
//! A program under trace is slower by far, 24 to 36 times for one that mostly starts others: times taken here say how
//! calls share a program's time, never how long it takes. What is traced ends with its tracer, however that ends, and
//! nothing runs longer than its [`Limits`]. This crate never attaches to a program that it has not started.

mod creations;
mod follow;
mod instructions;
mod mapping;
mod syscalls;
mod tracepoints;

pub use creations::{CreationCall, trace_creations};
pub use follow::{StopReason, TraceEnd, TraceResult, TraceStop, follow};
pub use instructions::{InstructionCounts, count_instructions};
pub use mapping::FileMapping;
pub use syscalls::{Milestones, SyscallCost, SyscallSummary, trace_syscalls};
pub use tracepoints::{RecordedSyscalls, TracepointRecorder, find_instances, find_instances_in};

use std::io;
use std::time::Duration;

/// What a program under trace may use up.
#[derive(Debug, Clone, Copy)]
pub struct TraceLimits {
    /// Time on the wall.
    pub time: Duration,
    /// Stops: two for each system call, one for each instruction that is stepped over.
    pub stops: u64,
}

/// Why a program could not be traced.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It did not start.
    #[error("cannot start '{program}' under trace: {why}{}", forbidden(.why))]
    Start {
        /// Which.
        program: String,
        /// What the system says.
        why: io::Error,
    },
    /// The kernel refused to go on.
    #[error("the trace broke off: {0}")]
    Trace(io::Error),
    /// This can be seen on another architecture only.
    #[error("CPUID is an instruction of x86-64 only")]
    Architecture,
}

/// Why tracing may be forbidden, where it is.
fn forbidden(why: &io::Error) -> &'static str {
    match why.raw_os_error() {
        Some(EPERM) => {
            "; tracing is forbidden here if /proc/sys/kernel/yama/ptrace_scope is 3, or by the container's seccomp profile"
        }
        _ => "",
    }
}

/// Operation not permitted.
const EPERM: i32 = rustix::io::Errno::PERM.raw_os_error();
