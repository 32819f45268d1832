//! torment's end of the process that reads.

use crate::reader::{ReadRequest, ReadResponse, ReaderTask};
use crate::{Error, ReadMeasurement, ReadSource, RereadTimes};
use serde::Serialize;
use service::Subprocess;
use std::os::fd::OwnedFd;
use std::path::Path;
use units::{Bytes, Nanos};

/// A process that reads. It ends when this is dropped, and with the thread that started it.
#[derive(Debug)]
pub struct ReaderProcess {
    anew: Subprocess,
    what: String,
}

impl ReaderProcess {
    /// Starts `program reader`, which is [`crate::read`], in the control groups whose open `cgroup.procs` are given.
    ///
    /// # Errors
    /// When it does not start, or what it is to read cannot be.
    pub fn start(
        program: &Path,
        behind: &ReadSource,
        seed: u64,
        groups: Vec<OwnedFd>,
    ) -> Result<Self, Error> {
        let anew = Subprocess::start(program, "reader", groups).map_err(Error::Reader)?;
        let what = match behind {
            ReadSource::Memory { most, .. } => format!("{most} of memory"),
            ReadSource::File { path, .. } | ReadSource::Direct { path, .. } => path.display().to_string(),
        };
        let mut this = Self { anew, what };
        match this.ask(&ReaderTask { behind: behind.clone(), seed })? {
            ReadResponse::Ready => Ok(this),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads at random in the first `set` for so long, from a cache filled by one pass in order.
    ///
    /// # Errors
    /// When that cannot be read, or the process has ended.
    pub fn read(&mut self, set: Bytes, time: Nanos) -> Result<ReadMeasurement, Error> {
        match self.ask(&ReadRequest::Read { set, time })? {
            ReadResponse::Reading(reading) => Ok(reading),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads some blocks past the kernel's cache, and then the same again.
    ///
    /// # Errors
    /// When the file system does not let that be done, or the process has ended.
    pub fn read_twice(&mut self) -> Result<RereadTimes, Error> {
        match self.ask(&ReadRequest::Twice)? {
            ReadResponse::Twice(twice) => Ok(twice),
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&mut self, what: &impl Serialize) -> Result<ReadResponse, Error> {
        let answer: Result<ReadResponse, String> = self.anew.ask(what).map_err(Error::Reader)?;
        answer.map_err(|why| Error::Read(self.what.clone(), why))
    }
}

fn unexpected(answer: &ReadResponse) -> Error {
    Error::Reader(format!("it answers {answer:?}, which is unexpected"))
}
