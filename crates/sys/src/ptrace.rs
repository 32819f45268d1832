use crate::errors::check_errno;
use crate::with_parent::end_with_parent;
use rustix::process::{Pid, Signal, getpid};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Requests of ptrace(2), the same on every architecture.
const TRACEME: libc::c_long = 0;
const CONTINUE: libc::c_long = 7;
const STEP: libc::c_long = 9;
const SYSCALL: libc::c_long = 24;
const SETOPTIONS: libc::c_long = 0x4200;
const GETEVENTMSG: libc::c_long = 0x4201;
const GET_SYSCALL_INFO: libc::c_long = 0x420e;

/// Options: mark stops at system calls; trace what the tracee starts; report exec; end all with the tracer.
const MARK_SYSCALLS: libc::c_long = 0x1;
const FOLLOW_FORK: libc::c_long = 0x2;
const FOLLOW_VFORK: libc::c_long = 0x4;
const FOLLOW_CLONE: libc::c_long = 0x8;
const TRACE_EXEC: libc::c_long = 0x10;
const END_WITH_TRACER: libc::c_long = 0x10_0000;

/// A stop of a tracee, from the status of waitpid(2); the first one is after exec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceeEvent {
    /// Before or after a system call.
    Syscall,
    /// It has started a process or a thread.
    Started,
    /// It has executed another program.
    Exec,
    /// Another event, of no interest.
    Other,
    /// A signal, delivered only if the tracee is resumed with it.
    Signal(i32),
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
}

/// How a stopped tracee goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeMode {
    /// To its next system call.
    ToSyscall,
    /// By one instruction.
    Step,
    /// To its next signal or event.
    Continue,
}

/// The side of a system call that a tracee is stopped at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyscallSide {
    /// Before the kernel executes it.
    Entry {
        /// The call's number.
        number: u64,
        /// Its arguments.
        arguments: [u64; 6],
    },
    /// After it; its result, negative for an error.
    Exit(i64),
    /// Not at a system call.
    Neither,
}

/// Where a tracee is stopped (`PTRACE_GET_SYSCALL_INFO`, since Linux 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyscallInfo {
    /// `AUDIT_ARCH_…` of its code: the kernel's, or another that it also runs.
    pub architecture: u32,
    /// Its instruction pointer.
    pub instruction: u64,
    /// Its stack pointer.
    pub stack: u64,
    /// The system call, if at one.
    pub side: SyscallSide,
}

/// `AUDIT_ARCH_…` of the target architecture; `None` if unknown.
pub const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};

/// Has the thread that starts `command` trace its program, in a process group of its own, killed when that
/// thread ends. It stops at its first instruction, as [`wait_tracee`] reports.
pub fn trace_on_start(command: &mut Command) {
    let parent = getpid();
    command.process_group(0);
    let enter = move || {
        end_with_parent(parent, Signal::KILL)?;
        request(TRACEME, 0, 0)
    };
    // SAFETY: between fork and exec only system calls are made: no memory is allocated or freed and no lock
    // taken, so it does not matter what other threads of this process were doing.
    unsafe {
        command.pre_exec(enter);
    }
}

/// Requests that give the kernel no address of this process, so it cannot change its memory: the last argument
/// is a number in all requests made here.
fn request(request: libc::c_long, pid: i32, number: libc::c_long) -> io::Result<()> {
    // SAFETY: no address of this process is given; effects on another process are not on this one's memory. The
    // tracee of `TRACEME` is the caller, which then stops at signals and otherwise goes on unchanged.
    check_errno(unsafe { libc::syscall(libc::SYS_ptrace, request, libc::c_long::from(pid), 0_usize, number) })
}

/// Traces whatever a stopped tracee starts, and has all of it end with the tracer.
pub fn follow_children(pid: Pid) -> io::Result<()> {
    let options = MARK_SYSCALLS | FOLLOW_FORK | FOLLOW_VFORK | FOLLOW_CLONE | TRACE_EXEC | END_WITH_TRACER;
    request(SETOPTIONS, pid.as_raw_nonzero().get(), options)
}

/// Has a stopped tracee end with the tracer; what it starts runs untraced.
pub fn kill_with_tracer(pid: Pid) -> io::Result<()> {
    request(SETOPTIONS, pid.as_raw_nonzero().get(), MARK_SYSCALLS | END_WITH_TRACER)
}

/// Resumes a stopped tracee, with this signal unless it is 0.
pub fn resume_tracee(pid: Pid, mode: ResumeMode, signal: i32) -> io::Result<()> {
    let code = match mode {
        ResumeMode::ToSyscall => SYSCALL,
        ResumeMode::Step => STEP,
        ResumeMode::Continue => CONTINUE,
    };
    request(code, pid.as_raw_nonzero().get(), signal.into())
}

/// Waits for any tracee of this thread; `None` when there is none left.
pub fn wait_tracee() -> io::Result<Option<(Pid, TraceeEvent)>> {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes an integer into one, borrowed for the call.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if let Some(pid) = Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw) {
            return Ok(Some((pid, parse_wait_status(status))));
        }
        let why = io::Error::last_os_error();
        match why.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(None),
            _ => return Err(why),
        }
    }
}

fn parse_wait_status(status: i32) -> TraceeEvent {
    if libc::WIFEXITED(status) {
        return TraceeEvent::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return TraceeEvent::Killed(libc::WTERMSIG(status));
    }
    match (libc::WSTOPSIG(status), status >> 16) {
        (signal, 0) if signal == libc::SIGTRAP | 0x80 => TraceeEvent::Syscall,
        (signal, 0) => TraceeEvent::Signal(signal),
        (_, libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE) => {
            TraceeEvent::Started
        }
        (_, libc::PTRACE_EVENT_EXEC) => TraceeEvent::Exec,
        _ => TraceeEvent::Other,
    }
}

/// The process or thread started by a tracee stopped at [`TraceeEvent::Started`].
pub fn child_of_tracee(pid: Pid) -> io::Result<Option<Pid>> {
    let mut number: libc::c_ulong = 0;
    // SAFETY: the kernel writes one number of this size into one, borrowed for the call.
    check_errno(unsafe {
        libc::syscall(
            libc::SYS_ptrace,
            GETEVENTMSG,
            libc::c_long::from(pid.as_raw_nonzero().get()),
            0_usize,
            &raw mut number,
        )
    })?;
    Ok(i32::try_from(number).ok().and_then(Pid::from_raw))
}

/// The size of `struct ptrace_syscall_info`, and the offsets in it.
const INFO_SIZE: usize = 88;

/// Where a tracee is stopped.
pub fn syscall_info(pid: Pid) -> io::Result<SyscallInfo> {
    let mut info = [0_u8; INFO_SIZE];
    // SAFETY: the kernel writes at most as many bytes as it is told, the size of the buffer, which is borrowed
    // for the call; any bytes are valid.
    let done = check_errno(unsafe {
        libc::syscall(
            libc::SYS_ptrace,
            GET_SYSCALL_INFO,
            libc::c_long::from(pid.as_raw_nonzero().get()),
            INFO_SIZE,
            info.as_mut_ptr(),
        )
    });
    done.map_err(|why| match why.raw_os_error() {
        Some(libc::EIO) => {
            io::Error::other("the kernel does not tell where a tracee is: Linux 5.3 or newer is needed")
        }
        _ => why,
    })?;
    Ok(parse_syscall_info(&info))
}

fn parse_syscall_info(info: &[u8; INFO_SIZE]) -> SyscallInfo {
    let wide = |at: usize| {
        let bytes = info.get(at..).and_then(<[u8]>::first_chunk);
        u64::from_ne_bytes(*bytes.expect("every place named here lies within it"))
    };
    let architecture = info.get(4..).and_then(<[u8]>::first_chunk);
    let side = match info[0] {
        1 => SyscallSide::Entry { number: wide(24), arguments: std::array::from_fn(|n| wide(32 + 8 * n)) },
        2 => SyscallSide::Exit(wide(24).cast_signed()),
        _ => SyscallSide::Neither,
    };
    SyscallInfo {
        architecture: u32::from_ne_bytes(*architecture.expect("four bytes lie there")),
        instruction: wide(8),
        stack: wide(16),
        side,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own: its tracees end with it, and no other test's children are waited for.
    fn in_own_thread<T: Send>(test: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(test).join().expect("the test holds"))
    }

    #[test]
    #[expect(clippy::zombie_processes, reason = "it is waited for as whoever is traced is")]
    fn the_calls_of_a_program_are_seen_on_both_sides() {
        let (entries, exits, code) = in_own_thread(|| {
            let mut command = Command::new("/bin/sh");
            trace_on_start(command.args(["-c", "exit 7"]));
            let child = command.spawn().expect("every Linux has a shell");
            let pid = Pid::from_child(&child);
            assert_eq!(wait_tracee().expect("it is ours"), Some((pid, TraceeEvent::Signal(libc::SIGTRAP))));
            follow_children(pid).expect("it is stopped");
            let (mut entries, mut exits) = (Vec::new(), 0);
            let mut signal = 0;
            loop {
                resume_tracee(pid, ResumeMode::ToSyscall, signal).expect("it is stopped");
                signal = 0;
                match wait_tracee().expect("it is ours").expect("it has not been waited for") {
                    (_, TraceeEvent::Exited(code)) => break (entries, exits, code),
                    (_, TraceeEvent::Signal(got)) => signal = got,
                    (_, TraceeEvent::Syscall) => {
                        let info = syscall_info(pid).expect("it is stopped");
                        assert_eq!(Some(info.architecture), ARCHITECTURE);
                        match info.side {
                            SyscallSide::Entry { number, arguments } => entries.push((number, arguments[0])),
                            SyscallSide::Exit(_) => exits += 1,
                            SyscallSide::Neither => panic!("{info:?}"),
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
        });
        assert_eq!(code, 7);
        let exit = (libc::SYS_exit_group.cast_unsigned(), 7);
        assert_eq!(entries.last(), Some(&exit), "{entries:?}");
        assert_eq!(exits, entries.len() - 1, "only exit_group does not return");
    }

    #[test]
    fn nobody_to_trace() {
        in_own_thread(|| {
            assert_eq!(wait_tracee().expect("none is no error"), None);
            let why =
                resume_tracee(getpid(), ResumeMode::Continue, 0).expect_err("we are not traced by ourselves");
            assert_eq!(why.raw_os_error(), Some(libc::ESRCH));
        });
    }
}
