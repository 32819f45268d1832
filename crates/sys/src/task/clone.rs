//! clone3(2) without libc, whose wrapper cannot share memory with a child that has no stack of its own.

use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use std::ffi::c_int;
use std::io;

/// Whose memory a child uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildMemory {
    /// A copy of its parent's, made page by page on write.
    Copied,
    /// Its parent's (CLONE_VM); the starting thread waits until the child has ended or executed another program
    /// (CLONE_VFORK).
    Shared,
}

/// CLONE_CLEAR_SIGHAND: resets all signal handlers in the child. The libc crate's constant does not fit its own
/// type.
pub(super) const CLEAR_SIGHAND: u64 = 1 << 32;
pub(super) const VM: u64 = libc::CLONE_VM as u64;
pub(super) const VFORK: u64 = libc::CLONE_VFORK as u64;
pub(super) const PIDFD: u64 = libc::CLONE_PIDFD as u64;

/// A [`ChildStep`] of this number is no system call: it writes its second argument to where its first one
/// points.
const WRITE: isize = -1;
/// Any result but an error is accepted.
const ANY_RESULT: isize = -1;

/// One action of a child.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct ChildStep {
    number: isize,
    arguments: [usize; 5],
    /// Any other result ends the child with ESRCH.
    expected: isize,
}

impl ChildStep {
    /// A system call, which may return anything but an error.
    pub(super) fn call<const N: usize>(number: libc::c_long, values: [usize; N]) -> Self {
        let mut arguments = [0; 5];
        arguments[..N].copy_from_slice(&values);
        Self { number: number as isize, arguments, expected: ANY_RESULT }
    }

    /// The same call, which must return `wanted`.
    pub(super) fn expecting(self, expected: isize) -> Self {
        Self { expected, ..self }
    }

    fn write(to: *mut usize, value: usize) -> Self {
        Self { number: WRITE, arguments: [to.expose_provenance(), value, 0, 0, 0], expected: ANY_RESULT }
    }

    /// The last step, unless that is an execve(2).
    pub(super) fn exit(status: usize) -> Self {
        Self::call(libc::SYS_exit_group, [status])
    }
}

/// `struct clone_args` of Linux 5.3, its first version.
#[derive(Debug, Default)]
#[repr(C)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

/// Starts a child that takes these steps. The first that fails ends it with 127 and leaves its negative error
/// number at `failure` in the child's memory.
///
/// # Safety
/// The last step must not return on success: it is an exit, or an execve. What the steps' arguments point to
/// must be valid for the steps' reads and writes; `failure` must be valid for writes. CLONE_VM requires
/// CLONE_VFORK, so that all of it, and this thread's stack, outlives the child's use. A `pidfd` must be given
/// if and only if the flags say so.
pub(super) unsafe fn clone(
    flags: u64,
    pidfd: Option<&mut c_int>,
    failure: *mut isize,
    steps: *const ChildStep,
) -> io::Result<Pid> {
    let pidfd = pidfd.map_or(0, |pidfd| (&raw mut *pidfd).expose_provenance() as u64);
    let arguments = CloneArgs { flags, pidfd, exit_signal: libc::SIGCHLD as u64, ..CloneArgs::default() };
    // SAFETY: the arguments live until the call is made; the caller guarantees the rest.
    let result = unsafe { enter(&arguments, failure, steps) };
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result as i32));
    }
    Ok(Pid::from_raw(result as i32).expect("a child's number is above 0"))
}

/// # Safety
/// As for [`clone`].
#[cfg(target_arch = "x86_64")]
unsafe fn enter(arguments: &CloneArgs, failure: *mut isize, steps: *const ChildStep) -> isize {
    let result;
    // SAFETY: in the parent this is one system call, which changes the registers listed below. The child never
    // leaves the block: it uses registers, what the caller has prepared, and no stack, so it does not matter
    // whose that is. If a signal runs a handler of ours in the child, it uses the stack below, which is free
    // while the parent waits.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 6f",
            "2:",
            "mov rax, [r12]",
            "mov rdi, [r12 + 8]",
            "mov rsi, [r12 + 16]",
            "mov rdx, [r12 + 24]",
            "mov r10, [r12 + 32]",
            "mov r8, [r12 + 40]",
            "mov r14, [r12 + 48]",
            "add r12, 56",
            "cmp rax, -1",
            "jne 3f",
            "mov [rdi], rsi",
            "jmp 2b",
            "3:",
            "syscall",
            "test rax, rax",
            "js 5f",
            "cmp r14, -1",
            "je 2b",
            "cmp rax, r14",
            "je 2b",
            "mov rax, {lost}",
            "5:",
            "mov [r13], rax",
            "mov edi, 127",
            "mov eax, {exit}",
            "syscall",
            "ud2",
            "6:",
            lost = const -libc::ESRCH,
            exit = const libc::SYS_exit_group,
            inlateout("rax") libc::SYS_clone3 as isize => result,
            in("rdi") &raw const *arguments,
            in("rsi") size_of::<CloneArgs>(),
            in("r12") steps,
            in("r13") failure,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    result
}

/// # Safety
/// As for [`clone`].
#[cfg(target_arch = "aarch64")]
unsafe fn enter(arguments: &CloneArgs, failure: *mut isize, steps: *const ChildStep) -> isize {
    let result;
    // SAFETY: in the parent this is one system call, which changes only its result register. The child never
    // leaves the block: it uses registers, what the caller has prepared, and no stack, so it does not matter
    // whose that is. If a signal runs a handler of ours in the child, it uses the stack below, which is free
    // while the parent waits.
    unsafe {
        std::arch::asm!(
            "svc 0",
            "cbnz x0, 6f",
            "2:",
            "ldp x8, x0, [x20]",
            "ldp x1, x2, [x20, 16]",
            "ldp x3, x4, [x20, 32]",
            "ldr x9, [x20, 48]",
            "add x20, x20, 56",
            "cmn x8, 1",
            "b.ne 3f",
            "str x1, [x0]",
            "b 2b",
            "3:",
            "svc 0",
            "tbnz x0, 63, 5f",
            "cmn x9, 1",
            "b.eq 2b",
            "cmp x0, x9",
            "b.eq 2b",
            "mov x0, {lost}",
            "5:",
            "str x0, [x21]",
            "mov x0, 127",
            "mov x8, {exit}",
            "svc 0",
            "brk 1",
            "6:",
            lost = const -libc::ESRCH,
            exit = const libc::SYS_exit_group,
            in("x8") libc::SYS_clone3,
            inlateout("x0") (&raw const *arguments).expose_provenance() as isize => result,
            in("x1") size_of::<CloneArgs>(),
            in("x20") steps,
            in("x21") failure,
        );
    }
    result
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn enter(_: &CloneArgs, _: *mut isize, _: *const ChildStep) -> isize {
    -(libc::ENOSYS as isize)
}

/// waitpid(2), retried when interrupted.
pub(crate) fn wait_for_child(pid: Pid) -> io::Result<WaitStatus> {
    loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(status),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(why) => return Err(why.into()),
        }
    }
}

/// clone3(2); the child exits at once.
pub fn clone3(memory: ChildMemory) -> io::Result<Pid> {
    let flags = match memory {
        ChildMemory::Copied => 0,
        ChildMemory::Shared => VM | VFORK,
    };
    let mut failure = 0;
    let steps = [ChildStep::exit(0)];
    // SAFETY: the only step is an exit; shared memory comes with CLONE_VFORK.
    unsafe { clone(flags, None, &raw mut failure, steps.as_ptr()) }
}

/// Has a child write `written` into a variable that holds `before`. Returns what the child then read there, and
/// what this process reads after the child's end. CLONE_VFORK is used either way, so that only the memory
/// differs.
pub fn write_in_child(memory: ChildMemory, before: u8, written: u8) -> io::Result<(u8, u8)> {
    let flags = match memory {
        ChildMemory::Copied => VFORK,
        ChildMemory::Shared => VM | VFORK,
    };
    let mut failure = 0;
    let mut steps = [ChildStep::exit(0), ChildStep::exit(usize::from(before))];
    let steps_at = steps.as_mut_ptr();
    // SAFETY: both are within the array. The variable is the argument of the child's exit: its exit status is
    // what it reads.
    let variable = unsafe { (&raw mut (*steps_at.add(1)).arguments).cast::<usize>() };
    // SAFETY: within the array, which nobody else borrows.
    unsafe { steps_at.write(ChildStep::write(variable, usize::from(written))) };
    // SAFETY: the last step is an exit, and the first writes into the array, which is alive. Shared memory
    // comes with CLONE_VFORK.
    let pid = unsafe { clone(flags, None, &raw mut failure, steps_at) }?;
    let in_child =
        wait_for_child(pid)?.exit_status().ok_or_else(|| io::Error::other("the child was ended"))?;
    // SAFETY: within the array; the child has ended. Volatile, as the compiler knows of no other writer.
    let in_parent = unsafe { variable.read_volatile() };
    let byte = |value: usize| {
        u8::try_from(value).map_err(|_| io::Error::other(format!("{value} was never written")))
    };
    Ok((byte(in_child as usize)?, byte(in_parent)?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::ended;
    use super::*;

    #[test]
    fn children_of_either_kind_end_well() {
        for memory in [ChildMemory::Copied, ChildMemory::Shared] {
            assert_eq!(ended(clone3(memory).expect("there is room for a process")), Some(0), "{memory:?}");
        }
    }

    #[test]
    fn what_a_child_writes_is_seen_only_where_memory_is_shared() {
        assert_eq!(write_in_child(ChildMemory::Shared, 1, 42).expect("a child"), (42, 42));
        assert_eq!(write_in_child(ChildMemory::Copied, 1, 42).expect("a child"), (42, 1));
    }

    #[test]
    fn a_step_that_fails_or_gives_another_result_ends_the_child_and_says_why() {
        let run_step = |step: ChildStep| {
            let mut failure = 0;
            let steps = [step, ChildStep::exit(0)];
            // SAFETY: the last step is an exit, the first takes no memory, and shared memory comes with
            // CLONE_VFORK.
            let pid = unsafe { clone(VM | VFORK | CLEAR_SIGHAND, None, &raw mut failure, steps.as_ptr()) };
            let status = ended(pid.expect("there is room for a process"));
            // SAFETY: ours, and the child has ended. Volatile, as the compiler knows of no other writer.
            (status, unsafe { (&raw const failure).read_volatile() })
        };
        let parent = std::process::id() as isize;
        assert_eq!(run_step(ChildStep::call(libc::SYS_getppid, []).expecting(parent)), (Some(0), 0));
        assert_eq!(
            run_step(ChildStep::call(libc::SYS_getppid, []).expecting(parent + 1)),
            (Some(127), -libc::ESRCH as isize)
        );
        assert_eq!(
            run_step(ChildStep::call(libc::SYS_close, [usize::MAX])),
            (Some(127), -libc::EBADF as isize)
        );
    }

    #[test]
    fn flags_that_contradict_each_other_are_refused() {
        let mut failure = 0;
        let steps = [ChildStep::exit(0)];
        // CLONE_SIGHAND requires CLONE_VM (clone(2)).
        // SAFETY: the only step is an exit; no memory is shared.
        let refused = unsafe { clone(libc::CLONE_SIGHAND as u64, None, &raw mut failure, steps.as_ptr()) };
        assert_eq!(refused.expect_err("it contradicts itself").raw_os_error(), Some(libc::EINVAL));
    }
}
