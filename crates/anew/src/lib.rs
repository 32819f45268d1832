//! torment executed anew: a process of its own that does one kind of thing, where nothing else of torment runs. It is asked over
//! a socket, its standard input, and answers there: a line of JSON each.

use rustix::process::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// torment's end of it. The process ends when this is dropped, and with the thread that started it.
#[derive(Debug)]
pub struct Anew {
    process: Child,
    socket: BufReader<UnixStream>,
}

impl Anew {
    /// Starts `program word`, in the control groups whose open `cgroup.procs` are given.
    ///
    /// # Errors
    /// With why it does not start.
    pub fn start(program: &Path, word: &str, groups: Vec<OwnedFd>) -> Result<Self, String> {
        let failed = |why: io::Error| format!("{} does not start: {why}", program.display());
        let (socket, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(program);
        // Ctrl-C at the terminal is torment's alone.
        command.arg(word).process_group(0).stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
        sys::before_exec(&mut command, Signal::KILL, &[], groups).map_err(failed)?;
        Ok(Self { process: command.spawn().map_err(failed)?, socket: BufReader::new(socket) })
    }

    /// What it answers; the inner error is its own words for why it cannot.
    ///
    /// # Errors
    /// If it cannot be asked, or has ended.
    pub fn ask<A: DeserializeOwned>(&mut self, what: &impl Serialize) -> Result<Result<A, String>, String> {
        let mut line = serde_json::to_vec(what).map_err(|why| format!("it cannot be told this: {why}"))?;
        line.push(b'\n');
        self.socket.get_ref().write_all(&line).map_err(|why| self.gone(&why.to_string()))?;
        let mut line = String::new();
        match self.socket.read_line(&mut line) {
            Ok(0) => Err(self.gone("it has ended")),
            Ok(_) => serde_json::from_str(&line).map_err(|why| format!("it says {line:?}: {why}")),
            Err(why) => Err(self.gone(&why.to_string())),
        }
    }

    fn gone(&mut self, why: &str) -> String {
        let _ = self.process.kill();
        match self.process.wait() {
            Ok(status) => format!("{why} ({status})"),
            Err(_) => why.to_owned(),
        }
    }
}

impl Drop for Anew {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The end of the process itself.
#[derive(Debug)]
pub struct Asked(BufReader<UnixStream>);

impl Asked {
    /// Of this process.
    ///
    /// # Errors
    /// If its standard input cannot be had.
    pub fn here() -> io::Result<Self> {
        let socket = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
        Ok(Self(BufReader::new(socket)))
    }

    /// The next question; none if there are no more.
    ///
    /// # Errors
    /// If it cannot be read, as when the process was started by hand.
    pub fn hear<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&line)?))
    }

    /// Answers the last one.
    ///
    /// # Errors
    /// If nobody hears it.
    pub fn answer<T: Serialize>(&mut self, answer: &io::Result<T>) -> io::Result<()> {
        let mut line = serde_json::to_vec(&answer.as_ref().map_err(ToString::to_string))?;
        line.push(b'\n');
        self.0.get_ref().write_all(&line)
    }
}
