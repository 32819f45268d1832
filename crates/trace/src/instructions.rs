use crate::follow::{start, unless_gone, with_time_limit};
use crate::{Error, TraceLimits};
use std::process::Command;
use std::sync::atomic::Ordering;
use sys::{ResumeMode, TraceeEvent};

/// Instructions executed in one run of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionCounts {
    /// User-space instructions of the program's first thread. A repeated one counts each repetition.
    pub instructions: u64,
    /// Of these, CPUID: in a virtual machine each exits to the host and back.
    pub cpuid: u64,
    /// Of these, system calls.
    pub syscalls: u64,
    /// Followed to the end, rather than to a limit.
    pub complete: bool,
}

/// x86-64 opcodes.
const CPUID: [u8; 2] = [0x0f, 0xa2];
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// Single-steps `command`, some 100,000 instructions per second. Children are not followed.
///
/// # Errors
/// If the program cannot be started, the kernel forbids tracing, or this is not x86-64.
pub fn count_instructions(mut command: Command, limits: TraceLimits) -> Result<InstructionCounts, Error> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Error::Architecture);
    }
    sys::trace_on_start(&mut command);
    with_time_limit(limits, |tracees| {
        let pid = start(&mut command)?;
        sys::kill_with_tracer(pid).map_err(Error::Trace)?;
        tracees.add(pid);
        let mut counts = InstructionCounts { instructions: 0, cpuid: 0, syscalls: 0, complete: false };
        let mut signal = 0;
        loop {
            if tracees.timed_out.load(Ordering::Relaxed) || counts.instructions >= limits.stops {
                tracees.kill();
            } else if let Ok(place) = sys::syscall_info(pid) {
                let mut code = [0; 2];
                // Only one byte of the page may be mapped: then it is neither opcode.
                let _ = sys::read_memory(pid, place.instruction, &mut code);
                counts.instructions += 1;
                counts.cpuid += u64::from(code == CPUID);
                counts.syscalls += u64::from(code == SYSCALL);
            }
            unless_gone(sys::resume_tracee(pid, ResumeMode::Step, signal)).map_err(Error::Trace)?;
            signal = match sys::wait_tracee().map_err(Error::Trace)? {
                None | Some((_, TraceeEvent::Killed(_))) => return Ok(counts),
                Some((_, TraceeEvent::Exited(_))) => {
                    return Ok(InstructionCounts { complete: true, ..counts });
                }
                // Each step stops with SIGTRAP.
                Some((_, TraceeEvent::Signal(signal))) if signal != SIGTRAP => signal,
                Some(_) => 0,
            };
        }
    })
}

const SIGTRAP: i32 = rustix::process::Signal::TRAP.as_raw();
