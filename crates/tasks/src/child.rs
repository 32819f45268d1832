//! The process that has the threads, from torment's side.

use crate::Error;
use crate::crowd::{Ask, CEILING, Order, Said, share, shared};
use crate::number::field;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::process::Signal;
use serde::Serialize;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Until it is ready; a busy machine takes its time, and many mappings take theirs.
const PATIENCE: Duration = Duration::from_secs(60);

/// It ends when this is dropped, and with torment.
#[derive(Debug)]
pub struct Child {
    process: Process,
    socket: UnixStream,
    input: Vec<u8>,
    /// The number of threads it has, and how many it may have.
    file: OwnedFd,
}

/// What was heard in a given time.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Said(Said),
    Nothing,
    /// It has ended.
    Gone,
}

fn failed(why: impl std::fmt::Display) -> Error {
    Error::Crowd(why.to_string())
}

impl Child {
    /// Starts `program crowd` in these control groups, and waits until it is ready.
    pub fn start(program: &Path, ask: &Ask, groups: &[PathBuf]) -> Result<Self, Error> {
        let why = |why: io::Error| failed(format!("{} does not start: {why}", program.display()));
        let (socket, theirs) = UnixStream::pair().map_err(why)?;
        let file = memfd_create("torment-crowd", MemfdFlags::CLOEXEC).map_err(|e| why(e.into()))?;
        // It is there as a whole, and so is not charged to the other process.
        ftruncate(&file, 2 * CEILING)
            .and_then(|()| rustix::io::pwrite(&file, &[0; 16], 0))
            .map_err(|e| why(e.into()))?;
        let open = |path: &PathBuf| Ok(fs::OpenOptions::new().write(true).open(path)?.into());
        let groups = groups.iter().map(open).collect::<io::Result<Vec<OwnedFd>>>().map_err(why)?;
        let mut command = Command::new(program);
        command.arg("crowd").stdin(OwnedFd::from(theirs)).stdout(file.try_clone().map_err(why)?);
        // Ctrl-C at the terminal is torment's alone.
        command.stderr(Stdio::null()).process_group(0);
        sys::before_exec(&mut command, Signal::KILL, &[], groups).map_err(why)?;
        let process = command.spawn().map_err(why)?;
        // What is left of the command holds their end of the socket, whose other end would never say that it is gone.
        drop(command);
        let mut this = Self { process, socket, input: Vec::new(), file };
        this.tell(ask)?;
        match this.hear(PATIENCE)? {
            Heard::Said(Said::Here) => Ok(this),
            Heard::Said(Said::Refused(why)) => Err(Error::Crowd(why)),
            Heard::Gone => Err(failed(format!("it ended at once ({})", this.end()))),
            other => Err(failed(format!("it is not ready within {} s: {other:?}", PATIENCE.as_secs()))),
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Threads that it has made.
    pub fn made(&self) -> u64 {
        shared(&self.file, 0).unwrap_or_default()
    }

    /// Threads that it has now, but for the one it began with; none once it has ended.
    pub fn threads(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        Some(field(&status, "Threads")?.saturating_sub(1))
    }

    /// Has it make threads until there are so many.
    pub fn go(&mut self, ceiling: u64) -> Result<(), Error> {
        self.allow(ceiling)?;
        self.tell(&Order::Go)
    }

    /// Changes how many there may be while it makes them.
    pub fn allow(&self, ceiling: u64) -> Result<(), Error> {
        share(&self.file, CEILING, ceiling).map_err(failed)
    }

    /// Has it let its threads go, and end.
    pub fn release(&mut self) -> Result<(), Error> {
        self.tell(&Order::Release)
    }

    fn tell(&self, order: &impl Serialize) -> Result<(), Error> {
        let mut line = serde_json::to_vec(order).expect("numbers and names can be written");
        line.push(b'\n');
        match (&self.socket).write_all(&line) {
            // Whoever has ended says so where it is heard.
            Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            told => told.map_err(failed),
        }
    }

    /// What it says within this time.
    pub fn hear(&mut self, wait: Duration) -> Result<Heard, Error> {
        self.socket.set_read_timeout(Some(wait)).map_err(failed)?;
        let mut buffer = [0; 4096];
        loop {
            if let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                let said = serde_json::from_slice(&line);
                return said
                    .map(Heard::Said)
                    .map_err(|why| failed(format!("it says what is not understood: {why}")));
            }
            match self.socket.read(&mut buffer) {
                Ok(0) => return Ok(Heard::Gone),
                Ok(length) => self.input.extend_from_slice(&buffer[..length]),
                Err(why) if why.kind() == io::ErrorKind::ConnectionReset => return Ok(Heard::Gone),
                Err(why) if matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    return Ok(Heard::Nothing);
                }
                Err(why) => return Err(failed(why)),
            }
        }
    }

    /// How it ended: waits for that.
    pub fn end(&mut self) -> String {
        match self.process.wait() {
            Ok(status) => status.to_string(),
            Err(why) => why.to_string(),
        }
    }

    /// Whether it was killed: waits for its end.
    pub fn was_killed(&mut self) -> Result<(), Error> {
        let status: ExitStatus = self.process.wait().map_err(failed)?;
        match status.signal() {
            Some(signal) if signal == Signal::KILL.as_raw() => Ok(()),
            _ => Err(failed(format!("it ended although nobody asked it to ({status})"))),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
