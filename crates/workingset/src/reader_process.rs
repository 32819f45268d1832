//! torment's handle of the reader process.

use crate::reader::{ReadRequest, ReaderTask};
use crate::{Error, ReadMeasurement, ReadSource, RereadTimes};
use serde::Serialize;
use serde::de::DeserializeOwned;
use service::Subprocess;
use std::os::fd::OwnedFd;
use std::path::Path;
use units::{Bytes, Nanos};

/// A reader process. It ends when this is dropped, and with the thread that started it.
#[derive(Debug)]
pub struct ReaderProcess {
    process: Subprocess,
    source_name: String,
}

impl ReaderProcess {
    /// Starts `program reader`, which is [`crate::run_reader`], in the control groups whose open `cgroup.procs` are given.
    ///
    /// # Errors
    /// If it does not start, or its source cannot be read.
    pub fn start(
        program: &Path,
        source: &ReadSource,
        seed: u64,
        groups: Vec<OwnedFd>,
    ) -> Result<Self, Error> {
        let process = Subprocess::start(program, "reader", groups).map_err(Error::Reader)?;
        let source_name = match source {
            ReadSource::Memory { most, .. } => format!("{most} of memory"),
            ReadSource::File { path, .. } | ReadSource::Direct { path, .. } => path.display().to_string(),
        };
        let mut this = Self { process, source_name };
        this.ask::<()>(&ReaderTask { behind: source.clone(), seed })?;
        Ok(this)
    }

    /// Reads at random in the first `set` bytes for this time, from a cache filled by one sequential pass.
    ///
    /// # Errors
    /// If that cannot be read, or the process has ended.
    pub fn read(&mut self, set: Bytes, time: Nanos) -> Result<ReadMeasurement, Error> {
        self.ask(&ReadRequest::Read { set, time })
    }

    /// Reads some blocks past the page cache, then the same again.
    ///
    /// # Errors
    /// If the file system does not permit that, or the process has ended.
    pub fn read_twice(&mut self) -> Result<RereadTimes, Error> {
        self.ask(&ReadRequest::Twice)
    }

    fn ask<A: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<A, Error> {
        let answer: Result<A, String> = self.process.ask(request).map_err(Error::Reader)?;
        answer.map_err(|why| Error::Read(self.source_name.clone(), why))
    }
}
