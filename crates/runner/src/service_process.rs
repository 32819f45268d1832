//! A child process that serves: the built-in service, which is this program, or another that prints its address.

use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Display;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What services print before the address, once they listen.
const LISTENS: &str = "listening on http://";
/// Start timeout: a JVM on a busy machine takes some seconds.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// Stop timeout; after it the service is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// A running service; it ends on drop, and our own also when this process dies, since its standard input ends then.
#[derive(Debug)]
pub struct ServiceProcess {
    child: Child,
    /// The address it listens on.
    pub address: SocketAddr,
}

impl ServiceProcess {
    /// The command for this program as `torment target`, with further options.
    ///
    /// # Errors
    /// If this program's file is not found.
    pub fn own(options: &[&str]) -> Result<Command, String> {
        let program =
            std::env::current_exe().map_err(|e| format!("torment cannot find its own executable: {e}"))?;
        let mut command = Command::new(program);
        command.args(["target", "--listen", "127.0.0.1:0", "--while-stdin"]).args(options);
        Ok(command)
    }

    /// Starts a command and waits until it prints its address. `began` gets its process first, so that limits hold from
    /// the beginning.
    ///
    /// # Errors
    /// Those of `began`, and if it does not start, or does not listen in time.
    pub fn start<E: From<String>>(
        command: &mut Command,
        began: impl FnOnce(u32) -> Result<(), E>,
    ) -> Result<Self, E> {
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |why: &dyn Display| E::from(format!("{program}: {why}"));
        // In a group of its own: we handle Ctrl-C, and end it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn().map_err(|why| failed(&why))?;
        let mut this = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        began(this.child.id())?;
        let stdout = this.child.stdout.take().expect("it was asked to be piped");
        let (sender, receiver) = mpsc::sync_channel(1);
        // Drain to the end: a service that prints more must not block.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(address) = line.trim().strip_prefix(LISTENS) {
                    // The receiver may have given up.
                    let _ = sender.try_send(address.trim_end_matches('/').to_owned());
                }
            }
        });
        let address = receiver.recv_timeout(START_PATIENCE);
        let address = address.map_err(|_| failed(&"it ended, or did not listen within a minute"))?;
        this.address =
            address.parse().map_err(|why| failed(&format_args!("it listens on '{address}': {why}")))?;
        Ok(this)
    }

    /// Its process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for ServiceProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // Not reaped yet, so the ID is still its own.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
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

    fn shell(script: &str) -> Result<ServiceProcess, String> {
        ServiceProcess::start(Command::new("sh").args(["-c", script]).stderr(Stdio::null()), |_| Ok(()))
    }

    #[test]
    fn a_service_ends_when_dropped_even_if_it_would_not() {
        let deaf =
            "trap '' TERM; echo hello; echo listening on http://127.0.0.1:7; while :; do sleep 1; done";
        for script in ["echo listening on http://127.0.0.1:7/; cat", deaf] {
            let service = shell(script).expect("it says where it listens");
            assert_eq!(service.address.port(), 7);
            let process = std::path::PathBuf::from(format!("/proc/{}", service.pid()));
            assert!(process.exists());
            drop(service);
            assert!(!process.exists(), "{script}");
        }
    }

    #[test]
    fn one_that_does_not_listen_is_no_service() {
        assert!(shell("echo no room").is_err());
        assert!(shell("echo listening on http://nowhere; cat").is_err());
    }
}
