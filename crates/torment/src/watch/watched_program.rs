//! A program started to be watched, and ended afterwards with all that it started.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{self, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Wait between the termination signal and the kill.
const TERMINATION_LIMIT: Duration = Duration::from_secs(5);

/// The running program, in its own process group; it ends on drop.
pub(super) struct WatchedProgram(process::Child);

impl WatchedProgram {
    /// Starts it with its output on standard error: standard output is for the result.
    pub fn start(words: &[String]) -> Result<Self> {
        let (program, arguments) = words.split_first().context("no program to start")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(io::stderr()).process_group(0);
        let child = command.spawn().with_context(|| format!("cannot start '{program}'"))?;
        Ok(Self(child))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // It may be gone already.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for WatchedProgram {
    fn drop(&mut self) {
        self.signal(Signal::TERM);
        let until = Instant::now() + TERMINATION_LIMIT;
        while Instant::now() < until && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        // Also what it started and left behind.
        self.signal(Signal::KILL);
        let _ = self.0.wait();
    }
}
