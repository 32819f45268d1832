/// A system call in which threads wait, by what its arguments mean (syscalls(2)). The numbers are those of the
/// architecture this is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// futex(2).
    Futex,
    /// poll(2), ppoll(2): first an array of `struct pollfd`, second its length.
    Poll,
    /// select(2), pselect(2): first one more than the highest descriptor.
    Select,
    /// epoll_wait(2) and its like, and completions that are waited for.
    Events,
    /// accept(2).
    Accept,
    /// Reads from, writes to or connects the descriptor that is its first argument.
    Descriptor(&'static str),
    /// nanosleep(2), clock_nanosleep(2), pause(2).
    Sleep,
    /// wait4(2), waitid(2).
    Child,
    /// Any other; none if its name is not known here.
    Other(Option<&'static str>),
}

/// What the call of this number is.
pub fn call(number: i64) -> Call {
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_poll => return Call::Poll,
        libc::SYS_select => return Call::Select,
        libc::SYS_epoll_wait => return Call::Events,
        libc::SYS_pause => return Call::Sleep,
        libc::SYS_open => return Call::Other(Some("open")),
        libc::SYS_rename => return Call::Other(Some("rename")),
        libc::SYS_unlink => return Call::Other(Some("unlink")),
        _ => {}
    }
    match number {
        libc::SYS_futex => Call::Futex,
        libc::SYS_ppoll => Call::Poll,
        libc::SYS_pselect6 => Call::Select,
        libc::SYS_epoll_pwait
        | libc::SYS_epoll_pwait2
        | libc::SYS_io_uring_enter
        | libc::SYS_io_getevents => Call::Events,
        libc::SYS_accept | libc::SYS_accept4 => Call::Accept,
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Call::Sleep,
        libc::SYS_wait4 | libc::SYS_waitid => Call::Child,
        _ => descriptor(number).map_or_else(|| Call::Other(other(number)), Call::Descriptor),
    }
}

fn descriptor(number: i64) -> Option<&'static str> {
    Some(match number {
        libc::SYS_read => "read",
        libc::SYS_write => "write",
        libc::SYS_readv => "readv",
        libc::SYS_writev => "writev",
        libc::SYS_pread64 => "pread64",
        libc::SYS_pwrite64 => "pwrite64",
        libc::SYS_preadv => "preadv",
        libc::SYS_pwritev => "pwritev",
        libc::SYS_recvfrom => "recvfrom",
        libc::SYS_recvmsg => "recvmsg",
        libc::SYS_recvmmsg => "recvmmsg",
        libc::SYS_sendto => "sendto",
        libc::SYS_sendmsg => "sendmsg",
        libc::SYS_sendmmsg => "sendmmsg",
        libc::SYS_connect => "connect",
        libc::SYS_fsync => "fsync",
        libc::SYS_fdatasync => "fdatasync",
        libc::SYS_sync_file_range => "sync_file_range",
        libc::SYS_syncfs => "syncfs",
        libc::SYS_ftruncate => "ftruncate",
        libc::SYS_fallocate => "fallocate",
        libc::SYS_getdents64 => "getdents64",
        libc::SYS_splice => "splice",
        _ => return None,
    })
}

fn other(number: i64) -> Option<&'static str> {
    Some(match number {
        libc::SYS_futex_waitv => "futex_waitv",
        // These wait for whoever has locked the file, not for the file.
        libc::SYS_flock => "flock",
        libc::SYS_fcntl => "fcntl",
        libc::SYS_sendfile => "sendfile",
        libc::SYS_openat => "openat",
        libc::SYS_renameat2 => "renameat2",
        libc::SYS_unlinkat => "unlinkat",
        libc::SYS_mkdirat => "mkdirat",
        libc::SYS_newfstatat => "newfstatat",
        libc::SYS_statx => "statx",
        libc::SYS_sync => "sync",
        libc::SYS_msync => "msync",
        libc::SYS_mmap => "mmap",
        libc::SYS_munmap => "munmap",
        libc::SYS_mprotect => "mprotect",
        libc::SYS_madvise => "madvise",
        libc::SYS_brk => "brk",
        libc::SYS_clone => "clone",
        libc::SYS_execve => "execve",
        libc::SYS_exit => "exit",
        libc::SYS_exit_group => "exit_group",
        libc::SYS_semop => "semop",
        libc::SYS_semtimedop => "semtimedop",
        libc::SYS_msgrcv => "msgrcv",
        libc::SYS_rt_sigtimedwait => "rt_sigtimedwait",
        libc::SYS_rt_sigsuspend => "rt_sigsuspend",
        libc::SYS_restart_syscall => "restart_syscall",
        libc::SYS_ioctl => "ioctl",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_this_architecture() {
        assert_eq!(call(libc::SYS_futex), Call::Futex);
        assert_eq!(call(libc::SYS_ppoll), Call::Poll);
        assert_eq!(call(libc::SYS_recvfrom), Call::Descriptor("recvfrom"));
        assert_eq!(call(libc::SYS_semop), Call::Other(Some("semop")));
        assert_eq!(call(-1), Call::Other(None));
        assert_eq!(call(i64::MAX), Call::Other(None));
    }
}
