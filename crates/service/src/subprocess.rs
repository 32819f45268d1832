//! torment re-executed: a process that does one kind of work, without the rest of torment. It takes requests on a
//! socket, its standard input, and answers there.

use crate::json_socket::{Incoming, JsonSocket};
use rustix::process::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// torment's end. The process ends when this is dropped, and with the thread that started it.
#[derive(Debug)]
pub struct Subprocess {
    process: Child,
    socket: JsonSocket,
}

impl Subprocess {
    /// Starts `program word`, in the control groups whose open `cgroup.procs` are given.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn start(program: &Path, subcommand: &str, groups: Vec<OwnedFd>) -> Result<Self, String> {
        Self::start_with(program, subcommand, groups, |command| command.stdout(Stdio::null()))
    }

    /// As [`Subprocess::start`], with further settings, such as where its output goes.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn start_with(
        program: &Path,
        subcommand: &str,
        groups: Vec<OwnedFd>,
        configure: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Self, String> {
        let failed = |why: io::Error| format!("{} does not start: {why}", program.display());
        let (socket, theirs) = JsonSocket::pair().map_err(failed)?;
        let mut command = Command::new(program);
        // Ctrl-C at the terminal is for torment alone.
        configure(command.arg(subcommand).process_group(0).stdin(theirs));
        sys::configure_child(&mut command, Signal::KILL, &[], groups).map_err(failed)?;
        // Drops the command, and with it the other end of the socket: ours then shows when the process is gone.
        Ok(Self { process: command.spawn().map_err(failed)?, socket })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends it a message.
    ///
    /// # Errors
    /// As [`JsonSocket::send`].
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        self.socket.send(message)
    }

    /// Receives a message within this time.
    ///
    /// # Errors
    /// As [`JsonSocket::receive`].
    pub fn receive<T: DeserializeOwned>(&mut self, within: Duration) -> io::Result<Incoming<T>> {
        self.socket.receive(within)
    }

    /// Its answer to a request; the inner error is its own reason why it cannot.
    ///
    /// # Errors
    /// If it cannot be reached, or has ended.
    pub fn ask<A: DeserializeOwned>(
        &mut self,
        request: &impl Serialize,
    ) -> Result<Result<A, String>, String> {
        match self.socket.send(request).and_then(|()| self.socket.receive_next()) {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(self.describe_end("it has ended")),
            Err(why) => Err(self.describe_end(&why.to_string())),
        }
    }

    fn describe_end(&mut self, why: &str) -> String {
        let _ = self.process.kill();
        match self.process.wait() {
            Ok(status) => format!("{why} ({status})"),
            Err(_) => why.to_owned(),
        }
    }

    /// Waits for it to end.
    ///
    /// # Errors
    /// If its exit status is unknown.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait()
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
