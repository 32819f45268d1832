//! A child process that serves, for the length of a cell.

use crate::Trouble;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What services print once they listen, before the address.
const LISTENS: &str = "listening on http://";
/// A JVM on a busy machine takes some seconds.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// After that a service that was asked to end is ended.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// A service that runs; it ends when dropped, and our own also when this process dies, for then its
/// standard input ends.
pub(crate) struct Service {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Service {
    /// This very program as `torment target`.
    pub(crate) fn own(
        options: &[&str],
        began: impl FnOnce(u32) -> Result<(), Trouble>,
    ) -> Result<Self, Trouble> {
        let program = std::env::current_exe().map_err(Trouble::fail("this program cannot be found again"))?;
        let mut command = Command::new(program);
        command.args(["target", "--listen", "127.0.0.1:0", "--while-stdin"]).args(options);
        Self::start(&mut command, began)
    }

    /// Starts a command and waits until it says where it listens. `began` is told its process first, so
    /// that limits hold from the beginning.
    pub(crate) fn start(
        command: &mut Command,
        began: impl FnOnce(u32) -> Result<(), Trouble>,
    ) -> Result<Self, Trouble> {
        let program = command.get_program().to_string_lossy().into_owned();
        // A group of its own: Ctrl-C is for us to handle, who end it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().map_err(Trouble::fail(program.clone()))?;
        let mut this = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        began(this.child.id())?;
        let stdout = this.child.stdout.take().expect("it was asked to be piped");
        let (tell, told) = mpsc::sync_channel(1);
        // Reads to the end: a service that prints more must not stand still for it.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(address) = line.trim().strip_prefix(LISTENS) {
                    // Who waits may have given up.
                    let _ = tell.try_send(address.trim_end_matches('/').to_owned());
                }
            }
        });
        let address = told
            .recv_timeout(START_PATIENCE)
            .map_err(|_| Trouble::Fail(format!("{program} ended, or did not listen within a minute")))?;
        this.address = address.parse().map_err(Trouble::fail(format!("{program} listens on '{address}'")))?;
        Ok(this)
    }
}

/// Lets a process open so many files.
pub(crate) fn limit_descriptors(pid: u32, most: u64) -> Result<(), Trouble> {
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    prlimit(as_pid(pid), Resource::Nofile, limit)
        .map(|_| ())
        .map_err(|e| Trouble::Skip(format!("the limit of descriptors of a child cannot be set: {e}")))
}

fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if let Some(pid) = as_pid(self.child.id()) {
            // Not waited for yet, so it is still ours, ended or not.
            let _ = kill_process(pid, Signal::TERM);
        }
        let until = Instant::now() + STOP_PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Service, Trouble> {
        Service::start(Command::new("sh").args(["-c", script]), |_| Ok(()))
    }

    #[test]
    fn a_service_ends_when_dropped_even_if_it_would_not() {
        let deaf =
            "trap '' TERM; echo hello; echo listening on http://127.0.0.1:7; while :; do sleep 1; done";
        for script in ["echo listening on http://127.0.0.1:7/; cat", deaf] {
            let service = shell(script).expect("it says where it listens");
            assert_eq!(service.address.port(), 7);
            let process = std::path::PathBuf::from(format!("/proc/{}", service.child.id()));
            assert!(process.exists());
            drop(service);
            assert!(!process.exists(), "{script}");
        }
    }

    #[test]
    fn one_that_does_not_listen_is_no_service() {
        assert!(matches!(shell("echo no room"), Err(Trouble::Fail(_))));
        assert!(matches!(shell("echo listening on http://nowhere; cat"), Err(Trouble::Fail(_))));
    }

    #[test]
    fn descriptors_are_limited_from_the_beginning() {
        let script = "echo listening on http://127.0.0.1:7; cat";
        let began = |pid| limit_descriptors(pid, 77);
        let service = Service::start(Command::new("sh").args(["-c", script]), began).expect("our own child");
        let limits =
            std::fs::read_to_string(format!("/proc/{}/limits", service.child.id())).expect("it runs");
        let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("proc(5)");
        assert_eq!(line.split_whitespace().nth(3), Some("77"));
    }
}
