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
    let mut socket = JsonSocket::from_stdin()?;
    let Some(task): Option<ReaderTask> = socket.receive_next()? else { return Ok(()) };
    let mut source = match open_source(&task) {
        Ok(open) => open,
        Err(why) => return socket.send_result(&io::Result::<ReadResponse>::Err(why)),
    };
    socket.send_result(&Ok(ReadResponse::Ready))?;
    while let Some(request) = socket.receive_next()? {
        socket.send_result(&handle_request(&request, &task, &mut source))?;
    }
    Ok(())
}

fn open_source(task: &ReaderTask) -> io::Result<OpenSource> {
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

fn handle_request(
    request: &ReadRequest,
    task: &ReaderTask,
    source: &mut OpenSource,
) -> io::Result<ReadResponse> {
    match (request, source, &task.behind) {
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
