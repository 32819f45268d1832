//! The reader process, from the inside: the hidden command `reader`.

use crate::block_file::BlockFile;
use crate::memory::MemoryLines;
use crate::{ReadMeasurement, ReadSource, RereadTimes};
use serde::{Deserialize, Serialize};
use service::JsonSocket;
use std::io;
use units::{Bytes, Nanos};

/// A reader's task: its first line of input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ReaderTask {
    pub behind: ReadSource,
    pub seed: u64,
}

/// Further requests, one JSON line each. The response to each is one line: the result, or the error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ReadRequest {
    Read { set: Bytes, time: Nanos },
    Twice,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ReadResponse {
    Ready,
    Reading(ReadMeasurement),
    Twice(RereadTimes),
}

enum OpenSource {
    Memory(MemoryLines),
    File(Box<BlockFile>),
}

/// The hidden command `reader`: serves requests on its standard input until that ends.
///
/// # Errors
/// If it was started by hand, or nobody reads its output.
pub fn run_reader() -> io::Result<()> {
    let mut asked = JsonSocket::from_stdin()?;
    let Some(task): Option<ReaderTask> = asked.receive_next()? else { return Ok(()) };
    let mut open = match open(&task) {
        Ok(open) => open,
        Err(why) => return asked.send_result(&io::Result::<ReadResponse>::Err(why)),
    };
    asked.send_result(&Ok(ReadResponse::Ready))?;
    while let Some(ask) = asked.receive_next()? {
        asked.send_result(&carried_out(&ask, &task, &mut open))?;
    }
    Ok(())
}

fn open(task: &ReaderTask) -> io::Result<OpenSource> {
    let seed = task.seed;
    Ok(match &task.behind {
        ReadSource::Memory { most, huge } => OpenSource::Memory(MemoryLines::new(*most, *huge, seed)?),
        ReadSource::File { path, depth } => {
            OpenSource::File(Box::new(BlockFile::open(path, *depth, None, seed)?))
        }
        ReadSource::Direct { path, cache } => {
            OpenSource::File(Box::new(BlockFile::open(path, 1, Some(*cache), seed)?))
        }
    })
}

fn carried_out(ask: &ReadRequest, task: &ReaderTask, open: &mut OpenSource) -> io::Result<ReadResponse> {
    match (ask, open, &task.behind) {
        (ReadRequest::Read { set, time }, OpenSource::Memory(lines), _) => {
            Ok(ReadResponse::Reading(lines.read(*set, *time)))
        }
        (ReadRequest::Read { set, time }, OpenSource::File(blocks), _) => {
            blocks.read(*set, *time).map(ReadResponse::Reading)
        }
        (
            ReadRequest::Twice,
            OpenSource::File(blocks),
            ReadSource::File { path, .. } | ReadSource::Direct { path, .. },
        ) => blocks.read_twice(path).map(ReadResponse::Twice),
        (ReadRequest::Twice, ..) => Err(io::Error::other("memory is below nothing")),
    }
}
