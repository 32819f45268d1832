use rustix::process::{Pid, Signal, WaitOptions, getpid, getppid, kill_process, waitpid};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A child of this process that runs a function of its own, and ends with this process.
#[derive(Debug)]
pub struct ForkedChild {
    pid: Option<Pid>,
}

impl ForkedChild {
    /// Forks a child that does `body` and ends: with 0 if it says true. Only of a process with one thread: of others a child
    /// would find locks that nobody will ever release (fork(2)).
    pub fn start(body: impl FnOnce() -> bool) -> io::Result<Self> {
        let threads = std::fs::read_dir("/proc/self/task")?.count();
        if threads != 1 {
            return Err(io::Error::other(format!(
                "this process has {threads} threads: only one with a single one can be forked"
            )));
        }
        let parent = getpid();
        // SAFETY: this process has one thread, so that no lock is held by another and the child may do whatever this may;
        // it never returns from here.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let bound = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
                // The parent may have ended before the call above, which then never comes true.
                let body = || catch_unwind(AssertUnwindSafe(body)).unwrap_or(false);
                let well = bound && getppid() == Some(parent) && body();
                // SAFETY: it ends this process at once. What the parent was to do at its own end is not done twice.
                unsafe { libc::_exit(i32::from(!well)) }
            }
            pid => Ok(Self { pid: Pid::from_raw(pid) }),
        }
    }

    /// Waits for its end; whether it ended well.
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
