//! Traces programs from outside: every system call of a program and its descendants ([`follow`]), what
//! these cost ([`trace_syscalls`]), those that create processes and threads ([`trace_creations`]), and a
//! program's instructions one by one ([`count_instructions`]), all by ptrace(2); and, for root, the same
//! system calls by the kernel's tracepoints ([`TracepointRecorder`]).
//!
//! Tracing slows a program down, 24 to 36 times if it mostly starts others: times taken here show how
//! system calls share a program's time, never how long it takes. Tracees end with their tracer, however
//! that ends, and never outlast their [`TraceLimits`]. This crate attaches only to programs that it
//! started.

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
pub use syscalls::{SyscallCost, SyscallSummary, trace_syscalls};
pub use tracepoints::{RecordedSyscalls, TracepointRecorder, find_instances, find_instances_in};

use std::io;
use std::time::Duration;

/// Limits of a trace.
#[derive(Debug, Clone, Copy)]
pub struct TraceLimits {
    /// Wall-clock time.
    pub time: Duration,
    /// Stops: two per system call, one per single-stepped instruction.
    pub stops: u64,
}

/// Why a program could not be traced.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be started.
    #[error("cannot start '{program}' under trace: {why}{}", forbidden(.why))]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        why: io::Error,
    },
    /// ptrace(2) failed.
    #[error("the trace broke off: {0}")]
    Trace(io::Error),
    /// Not supported on this architecture.
    #[error("CPUID is an instruction of x86-64 only")]
    Architecture,
}

/// An explanation, if tracing is forbidden.
fn forbidden(why: &io::Error) -> &'static str {
    match why.raw_os_error() {
        Some(EPERM) => {
            "; tracing is forbidden here if /proc/sys/kernel/yama/ptrace_scope is 3, or by the container's seccomp profile"
        }
        _ => "",
    }
}

const EPERM: i32 = rustix::io::Errno::PERM.raw_os_error();
