/// A system call in which threads wait, by the meaning of its arguments (syscalls(2)). Numbers are those of the
/// target architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyscallKind {
    /// futex(2).
    Futex,
    /// poll(2), ppoll(2): an array of `struct pollfd`, then its length.
    Poll,
    /// select(2), pselect(2): first the highest descriptor plus one.
    Select,
    /// epoll_wait(2) and the like, and waiting for completions.
    EventWait,
    /// accept(2).
    Accept,
    /// Reads from, writes to or connects the descriptor in its first argument.
    Descriptor(&'static str),
    /// nanosleep(2), clock_nanosleep(2), pause(2).
    Sleep,
    /// wait4(2), waitid(2).
    ChildWait,
    /// Any other; `None` if its name is unknown.
    Other(Option<&'static str>),
}

/// The kind of the call with this number.
pub fn syscall_kind(number: i64) -> SyscallKind {
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_poll => return SyscallKind::Poll,
        libc::SYS_select => return SyscallKind::Select,
        libc::SYS_epoll_wait => return SyscallKind::EventWait,
        libc::SYS_pause => return SyscallKind::Sleep,
        libc::SYS_open => return SyscallKind::Other(Some("open")),
        libc::SYS_rename => return SyscallKind::Other(Some("rename")),
        libc::SYS_unlink => return SyscallKind::Other(Some("unlink")),
        _ => {}
    }
    match number {
        libc::SYS_futex => SyscallKind::Futex,
        libc::SYS_ppoll => SyscallKind::Poll,
        libc::SYS_pselect6 => SyscallKind::Select,
        libc::SYS_epoll_pwait
        | libc::SYS_epoll_pwait2
        | libc::SYS_io_uring_enter
        | libc::SYS_io_getevents => SyscallKind::EventWait,
        libc::SYS_accept | libc::SYS_accept4 => SyscallKind::Accept,
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => SyscallKind::Sleep,
        libc::SYS_wait4 | libc::SYS_waitid => SyscallKind::ChildWait,
        _ => descriptor(number).map_or_else(|| SyscallKind::Other(other(number)), SyscallKind::Descriptor),
    }
}

/// Finds the name of a call among these.
macro_rules! one_of {
    ($number:ident: $($call:ident)+) => {
        match $number {
            $(libc::$call => stringify!($call).strip_prefix("SYS_"),)+
            _ => None,
        }
    };
}

fn descriptor(number: i64) -> Option<&'static str> {
    one_of! {
        number:
        SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_preadv SYS_pwritev
        SYS_recvfrom SYS_recvmsg SYS_recvmmsg SYS_sendto SYS_sendmsg SYS_sendmmsg SYS_connect SYS_fsync
        SYS_fdatasync SYS_sync_file_range SYS_syncfs SYS_ftruncate SYS_fallocate SYS_getdents64 SYS_splice
    }
}

fn other(number: i64) -> Option<&'static str> {
    one_of! {
        number:
        SYS_futex_waitv SYS_flock SYS_fcntl SYS_sendfile SYS_openat SYS_renameat2 SYS_unlinkat SYS_mkdirat
        SYS_newfstatat SYS_statx SYS_sync SYS_msync SYS_mmap SYS_munmap SYS_mprotect SYS_madvise SYS_brk
        SYS_clone SYS_execve SYS_exit SYS_exit_group SYS_semop SYS_semtimedop SYS_msgrcv
        SYS_rt_sigtimedwait SYS_rt_sigsuspend SYS_restart_syscall SYS_ioctl
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_this_architecture() {
        assert_eq!(syscall_kind(libc::SYS_futex), SyscallKind::Futex);
        assert_eq!(syscall_kind(libc::SYS_ppoll), SyscallKind::Poll);
        assert_eq!(syscall_kind(libc::SYS_recvfrom), SyscallKind::Descriptor("recvfrom"));
        assert_eq!(syscall_kind(libc::SYS_semop), SyscallKind::Other(Some("semop")));
        assert_eq!(syscall_kind(-1), SyscallKind::Other(None));
        assert_eq!(syscall_kind(i64::MAX), SyscallKind::Other(None));
    }
}
