use crate::{Error, FileMapping, StopReason, TraceLimits, TraceResult, follow};
use anatomy::{Architecture, CloneFlags, CloneKind, CreationSyscall};
use rustix::process::Pid;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use sys::{ARCHITECTURE, SyscallInfo, SyscallSide};

/// A system call about to create a process or thread.
#[derive(Debug, Clone)]
pub struct CreationCall {
    /// The caller.
    pub pid: Pid,
    /// Its program; none if unreadable.
    pub program: Option<PathBuf>,
    /// System call number.
    pub number: u64,
    /// Which call it is.
    pub creation: CreationSyscall,
    /// Its clone flags; none for calls without, or if `struct clone_args` is unreadable.
    pub flags: Option<CloneFlags>,
    /// The child gets its own stack.
    pub new_stack: bool,
    /// Address of the instruction after the call.
    pub instruction: u64,
    /// The file that contains that instruction, if any.
    pub mapping: Option<FileMapping>,
    /// The top of the caller's stack, from the stack pointer.
    pub stack: Vec<u8>,
}

impl CreationCall {
    /// What kind of child it creates.
    pub fn clone_kind(&self) -> Option<CloneKind> {
        match self.creation {
            CreationSyscall::Fork => Some(CloneKind::Fork),
            CreationSyscall::Vfork => Some(CloneKind::Vfork),
            CreationSyscall::Clone | CreationSyscall::Clone3 => self.flags.map(|flags| flags.kind()),
        }
    }

    /// Whether this return address is on the top of the caller's stack.
    pub fn returns_to(&self, address: u64) -> bool {
        self.stack.as_chunks().0.iter().any(|word| u64::from_ne_bytes(*word) == address)
    }
}

/// Bytes read of the stack: posix_spawn keeps some 700 bytes between its callers' return addresses.
const STACK: usize = 16 << 10;
/// Granularity of reading where less of the stack is mapped.
const PIECE: usize = 256;

/// Runs `command` and calls `each` for every call by which it or a descendant creates a process or thread,
/// until `each` has seen enough.
///
/// # Errors
/// As [`follow`].
pub fn trace_creations(
    command: Command,
    limits: TraceLimits,
    mut each: impl FnMut(&CreationCall) -> ControlFlow<()> + Send,
) -> Result<TraceResult, Error> {
    follow(command, limits, |stop| match stop.reason {
        StopReason::Syscall(place) => {
            creation_call(stop.pid, &place).map_or(ControlFlow::Continue(()), |call| each(&call))
        }
        _ => ControlFlow::Continue(()),
    })
}

fn creation_call(pid: Pid, syscall: &SyscallInfo) -> Option<CreationCall> {
    let SyscallSide::Entry { number, arguments } = syscall.side else { return None };
    let creation = Architecture::native()?
        .creation_syscall(number)
        .filter(|_| Some(syscall.architecture) == ARCHITECTURE)?;
    let (flags, new_stack) = match creation {
        CreationSyscall::Clone => {
            let stack = arguments[1];
            (Some(CloneFlags::of_clone(arguments[0])), stack != 0 && stack != syscall.stack)
        }
        CreationSyscall::Clone3 => {
            clone3(pid, arguments[0]).map_or((None, false), |(flags, stack)| (Some(flags), stack))
        }
        CreationSyscall::Fork | CreationSyscall::Vfork => (None, false),
    };
    Some(CreationCall {
        pid,
        program: std::fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero())).ok(),
        number,
        creation,
        flags,
        new_stack,
        instruction: syscall.instruction,
        mapping: FileMapping::of(pid, syscall.instruction),
        stack: stack(pid, syscall.stack),
    })
}

/// Reads `struct clone_args` (clone(2)): flags first, exit signal fifth, stack sixth; returns the flags and
/// whether there is a stack.
fn clone3(pid: Pid, address: u64) -> Option<(CloneFlags, bool)> {
    let mut arguments = [0; 48];
    sys::read_memory(pid, address, &mut arguments).ok()?;
    let word = |at: usize| arguments.get(at..).and_then(<[u8]>::first_chunk).map(|w| u64::from_ne_bytes(*w));
    Some((CloneFlags::of_clone3(word(0)?, word(32)?), word(40)? != 0))
}

fn stack(pid: Pid, from: u64) -> Vec<u8> {
    let mut stack = vec![0; STACK];
    let read = |stack: &mut [u8]| sys::read_memory(pid, from, stack).is_ok();
    if !read(&mut stack) {
        // The stack ends before that: bisects for as much as there is.
        let (mut there, mut beyond) = (0, STACK / PIECE);
        while beyond - there > 1 {
            let middle = there.midpoint(beyond);
            if read(&mut stack[..middle * PIECE]) { there = middle } else { beyond = middle }
        }
        stack.truncate(there * PIECE);
        if !read(&mut stack) {
            stack.clear();
        }
    }
    stack
}
