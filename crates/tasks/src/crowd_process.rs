//! The process that holds the threads, from torment's side.

use crate::Error;
use crate::crowd::{CEILING_OFFSET, CrowdCommand, CrowdReport, CrowdRequest, read_number, write_number};
use procfs::number_field;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::process::Signal;
use serde::Serialize;
use service::{Incoming, Subprocess};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Until it is ready; a busy machine is slow, and so are many mappings.
const PATIENCE: Duration = Duration::from_secs(60);

/// It ends when this is dropped, and with torment.
#[derive(Debug)]
pub struct CrowdProcess {
    process: Subprocess,
    /// The number of threads it has, and its ceiling.
    file: OwnedFd,
}

fn failed(why: impl std::fmt::Display) -> Error {
    Error::Crowd(why.to_string())
}

impl CrowdProcess {
    /// Starts `program crowd` in these control groups, and waits until it is ready.
    pub fn start(program: &Path, request: &CrowdRequest, groups: &[PathBuf]) -> Result<Self, Error> {
        let why = |why: io::Error| failed(format!("{} does not start: {why}", program.display()));
        let file = memfd_create("torment-crowd", MemfdFlags::CLOEXEC).map_err(|e| why(e.into()))?;
        // Allocated in full here, and so not charged to the other process.
        ftruncate(&file, 2 * CEILING_OFFSET)
            .and_then(|()| rustix::io::pwrite(&file, &[0; 16], 0))
            .map_err(|e| why(e.into()))?;
        let open = |path: &PathBuf| Ok(fs::OpenOptions::new().write(true).open(path)?.into());
        let groups = groups.iter().map(open).collect::<io::Result<Vec<OwnedFd>>>().map_err(why)?;
        let shared = file.try_clone().map_err(why)?;
        let process = Subprocess::start_with(program, "crowd", groups, |command| {
            command.stdout(shared).stderr(Stdio::null())
        });
        let mut this = Self { process: process.map_err(Error::Crowd)?, file };
        this.send(request)?;
        match this.receive(PATIENCE)? {
            Incoming::Message(CrowdReport::Here) => Ok(this),
            Incoming::Message(CrowdReport::Refused(why)) => Err(Error::Crowd(why)),
            Incoming::Closed => Err(failed(format!("it ended at once ({})", this.wait_for_exit()))),
            other => Err(failed(format!("it was not ready within {} s: {other:?}", PATIENCE.as_secs()))),
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Threads created.
    pub fn made(&self) -> u64 {
        read_number(&self.file, 0).unwrap_or_default()
    }

    /// Threads alive, without the first one; none once it has ended.
    pub fn threads(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        Some(number_field(&status, "Threads")?.saturating_sub(1))
    }

    /// Starts creating threads, up to this number.
    pub fn grow_to(&mut self, ceiling: u64) -> Result<(), Error> {
        self.set_ceiling(ceiling)?;
        self.send(&CrowdCommand::Go)
    }

    /// Changes the ceiling while threads are being created.
    pub fn set_ceiling(&self, ceiling: u64) -> Result<(), Error> {
        write_number(&self.file, CEILING_OFFSET, ceiling).map_err(failed)
    }

    /// Ends its threads, then the process.
    pub fn release(&mut self) -> Result<(), Error> {
        self.send(&CrowdCommand::Release)
    }

    fn send(&self, command: &impl Serialize) -> Result<(), Error> {
        match self.process.send(command) {
            // If it has ended, the next read reports it.
            Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(failed),
        }
    }

    /// Its next report within this time.
    pub fn receive(&mut self, wait: Duration) -> Result<Incoming<CrowdReport>, Error> {
        self.process.receive(wait).map_err(failed)
    }

    /// Waits for its end, and says how it ended.
    pub fn wait_for_exit(&mut self) -> String {
        match self.process.wait() {
            Ok(status) => status.to_string(),
            Err(why) => why.to_string(),
        }
    }

    /// Waits for its end, and checks that it was killed.
    pub fn expect_killed(&mut self) -> Result<(), Error> {
        let status = self.process.wait().map_err(failed)?;
        match status.signal() {
            Some(signal) if signal == Signal::KILL.as_raw() => Ok(()),
            _ => Err(failed(format!("it ended by itself ({status})"))),
        }
    }
}
