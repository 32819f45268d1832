//! Runs a program for its output, until a time limit or a request to stop.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use serde::Deserialize;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Maximum delay in noticing a request to stop.
const STEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Maximum length of an error report.
const MAX_ERROR_CHARS: usize = 300;

/// A block, as the programs print it.
#[derive(Debug, Deserialize)]
pub struct PrintedBlock {
    /// Nanoseconds per handover.
    pub ns: f64,
    pub handovers: u64,
}

/// Why there is no output.
#[derive(Debug)]
pub enum NoOutput {
    /// On request.
    Stopped,
    /// The reason.
    Failed(String),
}

impl From<io::Error> for NoOutput {
    fn from(why: io::Error) -> Self {
        Self::Failed(why.to_string())
    }
}

/// Looks a program up in PATH.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| {
        let executable = rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok();
        executable && program.is_file()
    })
}

/// Its output, run on these processors, or on all if none is given. It is killed when it takes longer than `limit`, on a request
/// to stop, and with this process.
pub fn run(
    mut command: Command,
    processors: &[u32],
    limit: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<String, NoOutput> {
    // A file, since a pipe that nobody reads would block it.
    let mut stderr = anonymous_file()?;
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr.try_clone()?);
    sys::configure_child(&mut command, Signal::KILL, processors, Vec::new())?;
    let mut running = ProgramGuard(command.spawn()?);
    let mut output = running.0.stdout.take().expect("it was asked to be piped");
    let (mut stdout, until) = (Vec::new(), Instant::now() + limit);
    loop {
        if stop() {
            return Err(NoOutput::Stopped);
        }
        if Instant::now() > until {
            return Err(NoOutput::Failed(format!("it has not ended after {} s", limit.as_secs())));
        }
        let mut ready = [PollFd::new(&output, PollFlags::IN)];
        match poll(&mut ready, Some(&STEP)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(why) => return Err(io::Error::from(why).into()),
        }
        let mut part = [0; 4096];
        match output.read(&mut part)? {
            0 => break,
            some => stdout.extend_from_slice(&part[..some]),
        }
    }
    let status = running.0.wait()?;
    if status.success() {
        return String::from_utf8(stdout).map_err(|why| NoOutput::Failed(why.to_string()));
    }
    let mut text = String::new();
    stderr.rewind()?;
    // Anything but text explains nothing either.
    let _ = stderr.read_to_string(&mut text);
    let text: String =
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_ERROR_CHARS).collect();
    Err(NoOutput::Failed(format!("{status}: {text}")))
}

fn anonymous_file() -> io::Result<std::fs::File> {
    Ok(rustix::fs::memfd_create("complaints", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

/// Kills its process group: the compiler starts others.
struct ProgramGuard(Child);

impl Drop for ProgramGuard {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            if let Some(group) = rustix::process::Pid::from_raw(self.0.id().cast_signed()) {
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_it_prints_why_it_fails_and_when_it_is_enough() {
        let minute = Duration::from_secs(60);
        let said = run(shell("echo one; echo two"), &[], minute, &|| false).expect("every Linux has a shell");
        assert_eq!(said, "one\ntwo\n");
        let failed = run(shell("echo on purpose >&2; exit 3"), &[], minute, &|| false);
        assert!(matches!(&failed, Err(NoOutput::Failed(why)) if why.contains("on purpose")), "{failed:?}");
        let began = Instant::now();
        assert!(matches!(run(shell("sleep 600"), &[], minute, &|| true), Err(NoOutput::Stopped)));
        let late = run(shell("sleep 600 & sleep 600"), &[], Duration::from_millis(200), &|| false);
        assert!(matches!(&late, Err(NoOutput::Failed(why)) if why.contains("not ended")), "{late:?}");
        assert!(began.elapsed() < minute);
        assert!(find_program("sh").is_some() && find_program("no such program here").is_none());
    }
}
