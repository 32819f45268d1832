use crate::{Error, FileMapping, StopReason, TraceLimits, TraceResult, follow};
use anatomy::{Architecture, CloneFlags, CloneKind, CreationSyscall};
use rustix::process::Pid;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use sys::{ARCHITECTURE, SyscallInfo, SyscallSide};

/// A system call that is about to make a process or a thread.
#[derive(Debug, Clone)]
pub struct CreationCall {
    /// Who makes it.
    pub pid: Pid,
    /// The program that runs there; none if it cannot be read.
    pub program: Option<PathBuf>,
    /// The call's number.
    pub number: u64,
    /// Which it is.
    pub creation: CreationSyscall,
    /// What it asks for; none for calls without flags, or if their structure cannot be read.
    pub flags: Option<CloneFlags>,
    /// The new one runs on a stack of its own.
    pub new_stack: bool,
    /// The instruction after the one that makes it.
    pub instruction: u64,
    /// The file that holds this instruction; none if it is in no file.
    pub mapping: Option<FileMapping>,
    /// The top of its stack, from the address where it ends.
    pub stack: Vec<u8>,
}

impl CreationCall {
    /// What comes about.
    pub fn clone_kind(&self) -> Option<CloneKind> {
        match self.creation {
            CreationSyscall::Fork => Some(CloneKind::Fork),
            CreationSyscall::Vfork => Some(CloneKind::Vfork),
            CreationSyscall::Clone | CreationSyscall::Clone3 => self.flags.map(|flags| flags.kind()),
        }
    }

    /// Whether this number, an address to return to, is on the top of its stack.
    pub fn returns_to(&self, address: u64) -> bool {
        self.stack.as_chunks().0.iter().any(|word| u64::from_ne_bytes(*word) == address)
    }
}

/// As much of the stack is read: posix_spawn keeps some 700 bytes between its callers' addresses.
const STACK: usize = 16 << 10;
/// Less of it may be there: its beginning is read in pieces of this size.
const PIECE: usize = 256;

/// Runs the program of `command` and tells `each` call by which it, or anything it starts, makes a process or a thread,
/// until `each` has seen enough.
///
/// # Errors
/// As [`follow`].
pub fn trace_creations(
    command: Command,
    limits: TraceLimits,
    mut each: impl FnMut(&CreationCall) -> ControlFlow<()> + Send,
) -> Result<TraceResult, Error> {
    follow(command, limits, |stop| match stop.what {
        StopReason::Call(place) => {
            creation_call(stop.pid, &place).map_or(ControlFlow::Continue(()), |made| each(&made))
        }
        _ => ControlFlow::Continue(()),
    })
}

fn creation_call(pid: Pid, place: &SyscallInfo) -> Option<CreationCall> {
    let SyscallSide::Entry { number, arguments } = place.side else { return None };
    let creation = Architecture::native()?
        .creation_syscall(number)
        .filter(|_| Some(place.architecture) == ARCHITECTURE)?;
    let (flags, new_stack) = match creation {
        CreationSyscall::Clone => {
            let stack = arguments[1];
            (Some(CloneFlags::of_clone(arguments[0])), stack != 0 && stack != place.stack)
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
        instruction: place.instruction,
        mapping: FileMapping::of(pid, place.instruction),
        stack: stack(pid, place.stack),
    })
}

/// Flags first, the signal fifth, the stack sixth in `struct clone_args` (clone(2)); whether there is one.
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
        // It ends before that. By halves, as much as there is.
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
