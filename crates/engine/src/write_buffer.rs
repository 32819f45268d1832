//! What is on its way to the socket, and waits until that has room.

use crate::stream::Stream;
use std::io;

/// Bytes in their order. A body of sixteen megabytes goes out in hundreds of pieces: none moves the others.
#[derive(Default)]
pub(crate) struct WriteBuffer {
    /// Put what is to be said behind the rest; it goes with the next [`Outbox::flush`].
    pub bytes: Vec<u8>,
    /// Those that the stream has taken already.
    taken: usize,
}

impl WriteBuffer {
    /// Whether the stream has taken all of it.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Says this, behind what waits, and copies no more of it than waits too.
    pub fn send(&mut self, stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
        let taken = if self.is_empty() { stream.write(bytes)? } else { 0 };
        self.bytes.extend_from_slice(&bytes[taken..]);
        Ok(())
    }

    /// Writes on; false: the socket is full, and an event will tell that it has room again.
    pub fn flush(&mut self, stream: &mut Stream) -> io::Result<bool> {
        if !self.is_empty() {
            self.taken += stream.write(&self.bytes[self.taken..])?;
            if self.taken < self.bytes.len() {
                return Ok(false);
            }
            self.taken = 0;
            self.bytes.clear();
        }
        stream.flush()
    }
}
