//! HTTP/2 on one connection: many requests at once (RFC 9113).
//!
//! Of our own making rather than a library's, because the cost of a request is what a generator is
//! chosen for: frames are read where they arrived, header blocks no further than somebody asks, and
//! nothing is allocated for an exchange. The tests hold it against the library.

mod answers;
mod control;
mod encoder_table;
mod fields;
mod frame;
mod grpc;
mod hpack;
mod huffman;
mod open_streams;
mod primitives;
#[cfg(any(test, feature = "fuzzing"))]
mod replay;
mod request;
mod upload;

use super::framer::Framer;
use super::{Completion, Readiness, ServerHandling, read_available};
use crate::stream::{ReadBuffer, Stream};
use crate::write_buffer::WriteBuffer;
use control::CompletionSink;
use encoder_table::EncoderTable;
use frame::{ConnectionError, ErrorCode, MOST, kind, setting};
use hpack::Decoder;
use open_streams::{OpenStream, OpenStreams};
use plan::RenderContext;
use record::Failure;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use replay::Http2Replay;
pub(crate) use request::RequestWriter;
use std::collections::VecDeque;
use std::io;

/// What a server may send on a stream, and on the connection, before it must wait for us: so much
/// that it never does.
const WINDOW: u32 = 1 << 30;
/// What every window is before a word is said about it.
const FIRST_WINDOW: u32 = 65_535;
/// Answers to PING and SETTINGS that a server may leave unread.
const REPLIES_LIMIT: usize = 10_000;

/// One connection.
pub(crate) struct Http2 {
    pieces: Framer,
    decoder: Decoder,
    memory: EncoderTable,
    peer: Peer,
    open: OpenStreams,
    /// Most streams that the plan wants at once.
    streams: u32,
    /// The number of the next stream.
    next: u32,
    phase: Phase,
    /// A header block whose end is still to come.
    block: Option<Block>,
    /// Bytes received that the server has not been given back for the connection's window.
    taken: u32,
    /// Bytes of bodies that may be sent on the connection.
    window: i64,
    /// Streams with more of their body to send, each once.
    uploads: VecDeque<u32>,
    out: WriteBuffer,
    /// Whether the socket did not take all that was written.
    blocked: bool,
    /// Whether something is in `out`, or may be now, that no request follows.
    urgent: bool,
    replies: usize,
    room: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is said.
    New,
    /// The server has not said what it allows.
    Greeted,
    Talking,
    /// The server takes no more streams, and says why.
    Leaving(ErrorCode),
}

/// What the server has said of itself, or what holds until it does.
struct Peer {
    streams: u32,
    window: u32,
    payload: usize,
}

struct Block {
    stream: u32,
    /// Whether the stream ends with it.
    ends: bool,
    bytes: Vec<u8>,
}

impl Http2 {
    /// A connection that is to carry at most so many requests at once.
    pub fn new(streams: u32) -> Self {
        Self {
            pieces: Framer::default(),
            decoder: Decoder::new(),
            memory: EncoderTable::new(),
            peer: Peer { streams: u32::MAX, window: FIRST_WINDOW, payload: frame::PAYLOAD },
            open: OpenStreams::default(),
            streams,
            next: 1,
            phase: Phase::New,
            block: None,
            taken: 0,
            window: i64::from(FIRST_WINDOW),
            uploads: VecDeque::new(),
            out: WriteBuffer::default(),
            blocked: false,
            urgent: false,
            replies: 0,
            room: Vec::new(),
        }
    }

    /// Says what we allow, and hears what the server does; true once requests may go. Waiting for
    /// that keeps us from asking for more streams than there are.
    pub fn continue_handshake(&mut self, stream: &mut Stream, inbox: &mut ReadBuffer) -> io::Result<bool> {
        if self.phase == Phase::New {
            self.phase = Phase::Greeted;
            let settings = [(setting::ENABLE_PUSH, 0), (setting::INITIAL_WINDOW_SIZE, WINDOW)];
            self.out.bytes.extend_from_slice(frame::PREFACE);
            frame::put_head(6 * settings.len(), kind::SETTINGS, 0, 0, &mut self.out.bytes);
            for (name, value) in settings {
                self.out.bytes.extend_from_slice(&name.to_be_bytes());
                self.out.bytes.extend_from_slice(&value.to_be_bytes());
            }
            frame::put_number(kind::WINDOW_UPDATE, 0, WINDOW - FIRST_WINDOW, &mut self.out.bytes);
            self.flush(stream)?;
        }
        let result = self.receive(stream, inbox, Readiness::End, &mut Vec::new());
        match (result, self.phase) {
            (_, Phase::Leaving(code)) => {
                Err(io::Error::other(format!("the server takes no requests: GOAWAY {code}")))
            }
            (Ok(()), phase) => Ok(phase == Phase::Talking),
            (Err(Failure::Closed), _) => {
                Err(io::Error::other("closed before a word of HTTP/2: it may not be spoken there"))
            }
            (Err(Failure::Protocol(why)), _) => Err(io::Error::other(why)),
            (Err(why), _) => Err(io::Error::other(why.to_string())),
        }
    }

    /// How many more requests may be sent now.
    pub fn room(&self) -> usize {
        match self.phase {
            Phase::Talking => (self.streams.min(self.peer.streams) as usize).saturating_sub(self.open.len()),
            _ => 0,
        }
    }

    /// Takes a request up; it goes out with the next [`Http2::flush`].
    pub fn send(
        &mut self,
        request: &mut RequestWriter,
        who: &RenderContext<'_>,
        cookies: &[u8],
        exchange: u32,
        content: bool,
    ) {
        let stream = self.next;
        self.next += 2;
        if self.next > MOST {
            // There are no more numbers; the connection ends with what it carries.
            self.phase = Phase::Leaving(ErrorCode::NO_ERROR);
        }
        let mut open = OpenStream::new(exchange, request.is_head(), content, i64::from(self.peer.window));
        let body = request.body(who);
        let ends = body.is_empty();
        if !ends {
            open.body = Some((body.clone(), 0));
            open.queued = true;
            self.uploads.push_back(stream);
        }
        let start = self.out.bytes.len();
        self.out.bytes.extend_from_slice(&[0; frame::HEAD]);
        request.write_header_block(who, cookies, &mut self.memory, &mut self.out.bytes);
        frame::finish_headers(&mut self.out.bytes, start, stream, ends, self.peer.payload);
        self.open.insert(stream, open);
    }

    /// Writes as much as the socket takes of what is to be said: once a turn of the loop, so that all
    /// requests of a turn go out in one system call.
    pub fn flush(&mut self, stream: &mut Stream) -> io::Result<()> {
        self.urgent = false;
        loop {
            self.upload();
            self.blocked = !self.out.flush(stream)?;
            if self.blocked {
                return Ok(());
            }
            if self.uploads.is_empty() || self.window <= 0 {
                self.replies = 0;
                return Ok(());
            }
        }
    }

    pub fn receive(
        &mut self,
        stream: &mut Stream,
        inbox: &mut ReadBuffer,
        news: Readiness,
        told: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        // A server that takes no more may have said why, and what it has not looked at.
        let refused = self.blocked && self.flush(stream).is_err();
        let heard = read_available(stream, inbox, news, refused, |stream, bytes, received_ns| {
            let teller = CompletionSink { told: &mut *told, received_ns };
            self.handle_bytes(bytes, teller).map_err(|broken| self.fail_connection(broken, bytes, stream))
        });
        match heard {
            Ok(()) if self.urgent && self.flush(stream).is_err() => Err(self.closed()),
            Ok(()) if !self.is_left() => Ok(()),
            Ok(()) | Err(Failure::Closed) => Err(self.closed()),
            broken => broken,
        }
    }

    /// Whether something waits until the socket has room.
    pub fn wants_write(&self) -> bool {
        self.blocked
    }

    /// Nobody waits for this answer any longer: the server is told so with the next [`Http2::flush`].
    /// False: that was the last of a connection that takes no more.
    pub fn cancel(&mut self, exchange: u32) -> bool {
        if let Some(stream) = self.open.find(exchange) {
            self.reset(stream, ErrorCode::CANCEL);
        }
        !self.is_left()
    }

    /// Whether nothing more will come of this connection.
    fn is_left(&self) -> bool {
        matches!(self.phase, Phase::Leaving(_)) && self.open.len() == 0
    }

    pub fn is_idle(&self) -> bool {
        self.open.len() == 0
    }

    /// Calls `each` with every exchange that is not told yet, and what the server is known to have done about it.
    pub fn each_open(&self, each: &mut dyn FnMut(u32, ServerHandling)) {
        for open in self.open.iter() {
            each(open.exchange, if open.heard { ServerHandling::Answered } else { ServerHandling::Unknown });
        }
    }

    /// Ends a stream from our side.
    fn reset(&mut self, stream: u32, code: ErrorCode) -> Option<OpenStream> {
        frame::put_number(kind::RST_STREAM, stream, code.0, &mut self.out.bytes);
        self.open.remove(stream)
    }

    /// How a connection that the server has closed ended.
    fn closed(&self) -> Failure {
        match self.phase {
            Phase::Leaving(code) if code != ErrorCode::NO_ERROR => Failure::Reset(format!("GOAWAY {code}")),
            _ => Failure::Closed,
        }
    }

    fn fail_connection(&mut self, broken: ConnectionError, bytes: &[u8], stream: &mut Stream) -> Failure {
        let new = self.phase == Phase::Greeted;
        frame::put_head(8, kind::GOAWAY, 0, 0, &mut self.out.bytes);
        self.out.bytes.extend_from_slice(&0_u32.to_be_bytes());
        self.out.bytes.extend_from_slice(&broken.code.0.to_be_bytes());
        self.uploads.clear();
        // That the server learns why is worth a try; the failure is the result.
        let _ = self.flush(stream);
        if new {
            let start = &bytes[..bytes.len().min(40)];
            let start = start.escape_ascii();
            return Failure::Protocol(format!("no HTTP/2, the server begins with \"{start}\""));
        }
        Failure::Protocol(broken.why)
    }
}

#[cfg(test)]
mod tests;
