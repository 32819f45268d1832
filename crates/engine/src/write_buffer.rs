//! Data waiting for room in the socket.

use crate::stream::Stream;
use std::io;

/// Bytes in order. Large bodies leave in hundreds of pieces; none of these moves the rest.
#[derive(Default)]
pub(crate) struct WriteBuffer {
    /// Append data here; it is sent by the next [`WriteBuffer::flush`].
    pub bytes: Vec<u8>,
    /// Bytes that the stream has already accepted.
    written: usize,
}

impl WriteBuffer {
    /// Whether the stream has accepted everything.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Sends these bytes after whatever waits, copying only what has to wait too.
    pub fn send(&mut self, stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
        let written = if self.is_empty() { stream.write(bytes)? } else { 0 };
        self.bytes.extend_from_slice(&bytes[written..]);
        Ok(())
    }

    /// Writes more; false: the socket is full, and an event follows when it has room again.
    pub fn flush(&mut self, stream: &mut Stream) -> io::Result<bool> {
        if !self.is_empty() {
            self.written += stream.write(&self.bytes[self.written..])?;
            if self.written < self.bytes.len() {
                return Ok(false);
            }
            self.written = 0;
            self.bytes.clear();
        }
        stream.flush()
    }
}
