use rustix::process::{Pid, Signal, WaitOptions, getpid, getppid, kill_process, waitpid};
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
                let bound = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
                // If the parent ended before the call above, its signal never comes.
                let body = || catch_unwind(AssertUnwindSafe(body)).unwrap_or(false);
                let succeeded = bound && getppid() == Some(parent) && body();
                // SAFETY: it ends this process at once. What the parent does on exit is not done twice.
                unsafe { libc::_exit(i32::from(!succeeded)) }
            }
            pid => Ok(Self { pid: Pid::from_raw(pid) }),
        }
    }

    /// Waits for its end; returns whether it exited with 0.
    pub fn wait(mut self) -> io::Result<bool> {
        let Some(pid) = self.pid.take() else { return Ok(false) };
        loop {
            match waitpid(Some(pid), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(status.exit_status() == Some(0)),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(why) => return Err(why.into()),
            }
        }
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
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}
