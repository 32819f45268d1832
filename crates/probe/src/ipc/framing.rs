//! Protocol framing: a length prefix, or HTTP/1.1 heads. Both read through a buffer, as their libraries do.

use super::stream::{MessageEnd, StreamEnd};
use std::io::{self, Read, Write};

/// Bytes per read.
const READ: usize = 16 << 10;
/// More header fields than we send.
const FIELDS: usize = 16;

/// Bytes read from a stream but not consumed.
struct BufferedStream {
    stream: StreamEnd,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl BufferedStream {
    fn new(stream: StreamEnd) -> Self {
        Self { stream, bytes: vec![0; READ], start: 0, end: 0 }
    }

    fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.end == self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end == self.bytes.len() {
                self.bytes.resize(2 * self.end, 0);
            }
        }
        match self.stream.read(&mut self.bytes[self.end..]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(some) => {
                self.end += some;
                Ok(())
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// Waits until `count` bytes are buffered.
    fn await_bytes(&mut self, count: usize) -> io::Result<()> {
        while self.unread().len() < count {
            self.fill()?;
        }
        Ok(())
    }

    fn skip(&mut self, count: usize) {
        self.start += count;
    }

    /// Reads a message, which must have the announced length.
    fn read_message(&mut self, length: usize, message: &mut [u8]) -> io::Result<()> {
        if length != message.len() {
            return Err(io::Error::other(format!(
                "{length} bytes were announced instead of {}",
                message.len()
            )));
        }
        self.await_bytes(length)?;
        message.copy_from_slice(&self.unread()[..length]);
        self.skip(length);
        Ok(())
    }
}

/// A message after its length in four bytes.
pub struct LengthPrefixed {
    input: BufferedStream,
    output: Vec<u8>,
}

impl LengthPrefixed {
    pub fn new(stream: StreamEnd) -> Self {
        Self { input: BufferedStream::new(stream), output: Vec::new() }
    }
}

impl MessageEnd for LengthPrefixed {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let length = u32::try_from(message.len()).map_err(io::Error::other)?;
        self.output.clear();
        self.output.extend_from_slice(&length.to_be_bytes());
        self.output.extend_from_slice(message);
        self.input.stream.write_all(&self.output)
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.input.await_bytes(4)?;
        let length = u32::from_be_bytes(self.input.unread()[..4].try_into().expect("it is cut to size"));
        self.input.skip(4);
        self.input.read_message(length as usize, message)
    }
}

/// A message as the body of a request or response, on a keep-alive connection.
pub struct HttpFramed {
    input: BufferedStream,
    output: Vec<u8>,
    client: bool,
}

impl HttpFramed {
    pub fn client(stream: StreamEnd) -> Self {
        Self { input: BufferedStream::new(stream), output: Vec::new(), client: true }
    }

    pub fn server(stream: StreamEnd) -> Self {
        Self { input: BufferedStream::new(stream), output: Vec::new(), client: false }
    }

    /// Length of the buffered head, and the body length it announces; none while the head is incomplete.
    fn parse_head(&self) -> io::Result<Option<(usize, usize)>> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let (parsed, fields, is_expected) = if self.client {
            let mut response = httparse::Response::new(&mut fields);
            let parsed = response.parse(self.input.unread()).map_err(io::Error::other)?;
            (parsed, response.headers, response.code == Some(200))
        } else {
            let mut request = httparse::Request::new(&mut fields);
            let parsed = request.parse(self.input.unread()).map_err(io::Error::other)?;
            (parsed, request.headers, request.path == Some("/echo") && request.method == Some("POST"))
        };
        let httparse::Status::Complete(length) = parsed else { return Ok(None) };
        if !is_expected {
            return Err(io::Error::other("a head that is neither our request nor the answer to it"));
        }
        let content_length = fields.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
        let body = content_length.and_then(|field| str::from_utf8(field.value).ok()?.parse().ok());
        let body = body.ok_or_else(|| io::Error::other("a head that does not say how long the body is"))?;
        Ok(Some((length, body)))
    }
}

impl MessageEnd for HttpFramed {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.output.clear();
        let first =
            if self.client { "POST /echo HTTP/1.1\r\nHost: localhost\r\n" } else { "HTTP/1.1 200 OK\r\n" };
        write!(
            self.output,
            "{first}Content-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
            message.len()
        )?;
        self.output.extend_from_slice(message);
        self.input.stream.write_all(&self.output)
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        let (head, body) = loop {
            match self.parse_head()? {
                Some(head) => break head,
                None => self.input.fill()?,
            }
        };
        self.input.skip(head);
        self.input.read_message(body, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipc::{Transport, stream::pair};

    fn echoes<E: MessageEnd + Send>(mut first: E, mut second: E) {
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for size in [1, 128, 100_000, 128] {
                    let mut message = vec![0; size];
                    second.receive(&mut message).expect("it comes");
                    second.send(&message).expect("it is taken");
                }
            });
            for size in [1, 128, 100_000, 128] {
                let sent: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
                first.send(&sent).expect("it is taken");
                let mut got = vec![0; size];
                first.receive(&mut got).expect("it comes back");
                assert!(got == sent, "{size}");
            }
        });
    }

    #[test]
    fn messages_of_any_size_come_back_from_their_frames() {
        let (first, second) = pair(Transport::Tcp, None).expect("it can be had");
        echoes(LengthPrefixed::new(first), LengthPrefixed::new(second));
        let (first, second) = pair(Transport::Unix, None).expect("it can be had");
        echoes(HttpFramed::client(first), HttpFramed::server(second));
    }

    #[test]
    fn a_frame_that_is_wrong_is_refused() {
        let (mut first, second) = pair(Transport::Unix, None).expect("it can be had");
        first.send(&[0, 0, 0, 9, 1]).expect("it is taken");
        assert!(LengthPrefixed::new(second).receive(&mut [0; 8]).is_err());
        let (mut first, second) = pair(Transport::Unix, None).expect("it can be had");
        first.send(b"GET / HTTP/1.1\r\n\r\n").expect("it is taken");
        assert!(HttpFramed::server(second).receive(&mut [0; 8]).is_err());
    }
}
