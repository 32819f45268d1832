use crate::task::wait_for_child;
use crate::with_parent::end_with_parent;
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A child that runs a function of this process, and is killed when this process ends.
#[derive(Debug)]
pub struct ForkedChild {
    pid: Option<Pid>,
}

impl ForkedChild {
    /// Forks a child that runs `body` and exits: with 0 if it returns true. Fails unless this process has one
    /// thread: otherwise the child might find locks that nobody will ever release (fork(2)).
    pub fn start(body: impl FnOnce() -> bool) -> io::Result<Self> {
        let threads = std::fs::read_dir("/proc/self/task")?.count();
        if threads != 1 {
            return Err(io::Error::other(format!(
                "this process has {threads} threads: only one with a single one can be forked"
            )));
        }
        let parent = getpid();
        // SAFETY: this process has one thread, so no other holds a lock and the child may do whatever this may;
        // it never returns from here.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let body = || catch_unwind(AssertUnwindSafe(body)).unwrap_or(false);
                let succeeded = end_with_parent(parent, Signal::KILL).is_ok() && body();
                // SAFETY: it ends this process at once. What the parent does on exit is not done twice.
                unsafe { libc::_exit(i32::from(!succeeded)) }
            }
            pid => Ok(Self { pid: Pid::from_raw(pid) }),
        }
    }

    /// Waits for its end; returns whether it exited with 0.
    pub fn wait(mut self) -> io::Result<bool> {
        let Some(pid) = self.pid.take() else { return Ok(false) };
        Ok(wait_for_child(pid)?.exit_status() == Some(0))
    }

    /// Its process.
    pub fn pid(&self) -> Option<Pid> {
        self.pid
    }
}

impl Drop for ForkedChild {
    fn drop(&mut self) {
        if let Some(pid) = self.pid.take() {
            let _ = kill_process(pid, Signal::KILL);
            let _ = wait_for_child(pid);
        }
    }
}
