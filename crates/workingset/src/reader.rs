//! The reader process, from the inside: the hidden command `reader`.

use crate::ReadSource;
use crate::block_file::BlockFile;
use crate::memory::MemoryLines;
use serde::{Deserialize, Serialize};
use service::JsonSocket;
use std::io;
use std::path::Path;
use units::{Bytes, Nanos};

/// A reader's task: its first line of input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ReaderTask {
    pub behind: ReadSource,
    pub seed: u64,
}

/// Further requests, one JSON line each. The response to each, and to the task once all is ready, is one line: the
/// result, or the error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ReadRequest {
    /// Answered by a [`ReadMeasurement`](crate::ReadMeasurement).
    Read { set: Bytes, time: Nanos },
    /// Answered by [`RereadTimes`](crate::RereadTimes).
    Twice,
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
    let mut source = match open_source(task) {
        Ok(open) => open,
        Err(why) => return socket.send_result(&io::Result::<()>::Err(why)),
    };
    socket.send_result(&Ok(()))?;
    while let Some(request) = socket.receive_next()? {
        match (request, &mut source) {
            (ReadRequest::Read { set, time }, OpenSource::Memory(lines)) => {
                socket.send_result(&Ok(lines.read(set, time)))
            }
            (ReadRequest::Read { set, time }, OpenSource::File(blocks)) => {
                socket.send_result(&blocks.read(set, time))
            }
            (ReadRequest::Twice, OpenSource::File(blocks)) => socket.send_result(&blocks.read_twice()),
            (ReadRequest::Twice, OpenSource::Memory(_)) => {
                socket.send_result(&io::Result::<()>::Err(io::Error::other("memory is below nothing")))
            }
        }?;
    }
    Ok(())
}

fn open_source(ReaderTask { behind, seed }: ReaderTask) -> io::Result<OpenSource> {
    let file = |path: &Path, depth, cache| {
        Ok(OpenSource::File(Box::new(BlockFile::open(path, depth, cache, seed)?)))
    };
    match behind {
        ReadSource::Memory { most, huge } => Ok(OpenSource::Memory(MemoryLines::new(most, huge, seed)?)),
        ReadSource::File { path, depth } => file(&path, depth, None),
        ReadSource::Direct { path, cache } => file(&path, 1, Some(cache)),
    }
}
