//! torment's end of the process that reads.

use crate::reader::{Answer, ReadRequest, Task};
use crate::{Behind, Error, Reading, Twice};
use serde::Serialize;
use service::Anew;
use std::os::fd::OwnedFd;
use std::path::Path;
use units::{Bytes, Nanos};

/// A process that reads. It ends when this is dropped, and with the thread that started it.
#[derive(Debug)]
pub struct Reader {
    anew: Anew,
    what: String,
}

impl Reader {
    /// Starts `program reader`, which is [`crate::read`], in the control groups whose open `cgroup.procs` are given.
    ///
    /// # Errors
    /// When it does not start, or what it is to read cannot be.
    pub fn start(program: &Path, behind: &Behind, seed: u64, groups: Vec<OwnedFd>) -> Result<Self, Error> {
        let anew = Anew::start(program, "reader", groups).map_err(Error::Reader)?;
        let what = match behind {
            Behind::Memory { most, .. } => format!("{most} of memory"),
            Behind::File { path, .. } | Behind::Direct { path, .. } => path.display().to_string(),
        };
        let mut this = Self { anew, what };
        match this.ask(&Task { behind: behind.clone(), seed })? {
            Answer::Ready => Ok(this),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads at random in the first `set` for so long, from a cache filled by one pass in order.
    ///
    /// # Errors
    /// When that cannot be read, or the process has ended.
    pub fn read(&mut self, set: Bytes, time: Nanos) -> Result<Reading, Error> {
        match self.ask(&ReadRequest::Read { set, time })? {
            Answer::Reading(reading) => Ok(reading),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads some blocks past the kernel's cache, and then the same again.
    ///
    /// # Errors
    /// When the file system does not let that be done, or the process has ended.
    pub fn twice(&mut self) -> Result<Twice, Error> {
        match self.ask(&ReadRequest::Twice)? {
            Answer::Twice(twice) => Ok(twice),
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&mut self, what: &impl Serialize) -> Result<Answer, Error> {
        let answer: Result<Answer, String> = self.anew.ask(what).map_err(Error::Reader)?;
        answer.map_err(|why| Error::Read(self.what.clone(), why))
    }
}

fn unexpected(answer: &Answer) -> Error {
    Error::Reader(format!("it answers {answer:?}, which is unexpected"))
}
