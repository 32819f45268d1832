use crate::usage::duration;
use rustix::process::Pid;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// How a child ended, and the processor time charged to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildExit {
    /// Its exit status, or the signal that ended it.
    pub status: ExitStatus,
    /// User time of the child and the children that it waited for. Below a clock tick, the split into user and
    /// system is the kernel's guess.
    pub user: Duration,
    /// Kernel time, likewise.
    pub system: Duration,
}

/// Reaps a child that has ended; `None` if it still runs (wait4(2), WNOHANG).
///
/// Fails if it is no child of this process, or was waited for already.
pub fn reap(pid: Pid) -> io::Result<Option<ChildExit>> {
    let mut status = 0;
    // SAFETY: all fields are numbers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let pid = pid.as_raw_nonzero().get();
    // SAFETY: the kernel writes one status and one rusage, into ours. A process number touches no memory of
    // this process.
    let found = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG | libc::__WALL, &raw mut usage) };
    match found {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        _ => Ok(Some(ChildExit {
            status: ExitStatus::from_raw(status),
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    #[expect(clippy::zombie_processes, reason = "waiting for it is what is tested")]
    fn a_child_is_waited_for_once() {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read line; exit 3"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("every Linux has a shell");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("it is small")).expect("it is above 0");
        assert_eq!(reap(pid).expect("it is ours"), None);
        drop(child.stdin.take());
        let reaped = loop {
            match reap(pid).expect("it is ours") {
                Some(reaped) => break reaped,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(reaped.status.code(), Some(3));
        assert!(reap(pid).is_err(), "it was waited for already");
    }
}
