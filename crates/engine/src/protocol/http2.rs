//! HTTP/2 on one connection: many requests at once (RFC 9113).
//!
//! Written here rather than taken from a library, because a generator is chosen for its cost per request:
//! frames are decoded where they arrived, header blocks no further than needed, and nothing is allocated per
//! exchange. The tests check it against the library.

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
use frame::{ConnectionError, ErrorCode, MAX_U31, kind, setting};
use hpack::Decoder;
use open_streams::{OpenStream, OpenStreams};
use plan::RenderContext;
use record::Failure;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use replay::Http2Replay;
pub(crate) use request::RequestWriter;
use std::collections::VecDeque;
use std::io;

/// The receive window that we grant, per stream and connection: so large that the server never waits.
const WINDOW: u32 = 1 << 30;
/// Every window's initial size (RFC 9113).
const INITIAL_WINDOW: u32 = 65_535;
/// Replies to PING and SETTINGS that a server may leave unread.
const REPLIES_LIMIT: usize = 10_000;

pub(crate) struct Http2 {
    framer: Framer,
    decoder: Decoder,
    encoder_table: EncoderTable,
    peer: Peer,
    open: OpenStreams,
    /// Most streams that the plan wants at once.
    max_streams: u32,
    /// The next stream number.
    next_stream: u32,
    phase: Phase,
    /// A header block that is still incomplete.
    header_block: Option<Block>,
    /// Bytes received but not yet returned to the connection's window.
    unacknowledged: u32,
    /// Bytes of bodies that may be sent on the connection.
    window: i64,
    /// Streams with more of their body to send, each once.
    uploads: VecDeque<u32>,
    out: WriteBuffer,
    /// Whether the socket did not accept all that was written.
    blocked: bool,
    /// Whether `out` has, or may now get, data to be sent without waiting for a request.
    flush_now: bool,
    replies: usize,
    scratch: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is sent.
    Start,
    /// The server's settings have not arrived.
    PrefaceSent,
    Ready,
    /// The server accepts no more streams, for this reason.
    GoingAway(ErrorCode),
}

/// The server's settings, or their defaults.
struct Peer {
    max_streams: u32,
    initial_window: u32,
    max_payload: usize,
}

struct Block {
    stream: u32,
    end_stream: bool,
    bytes: Vec<u8>,
}

impl Http2 {
    /// A connection for at most this many concurrent requests.
    pub fn new(max_streams: u32) -> Self {
        Self {
            framer: Framer::default(),
            decoder: Decoder::new(),
            encoder_table: EncoderTable::new(),
            peer: Peer {
                max_streams: u32::MAX,
                initial_window: INITIAL_WINDOW,
                max_payload: frame::MAX_PAYLOAD,
            },
            open: OpenStreams::default(),
            max_streams,
            next_stream: 1,
            phase: Phase::Start,
            header_block: None,
            unacknowledged: 0,
            window: i64::from(INITIAL_WINDOW),
            uploads: VecDeque::new(),
            out: WriteBuffer::default(),
            blocked: false,
            flush_now: false,
            replies: 0,
            scratch: Vec::new(),
        }
    }

    /// Sends our settings, and awaits the server's; true once requests may be sent. Waiting keeps us from
    /// opening more streams than allowed.
    pub fn continue_handshake(&mut self, stream: &mut Stream, inbox: &mut ReadBuffer) -> io::Result<bool> {
        if self.phase == Phase::Start {
            self.phase = Phase::PrefaceSent;
            let settings = [(setting::ENABLE_PUSH, 0), (setting::INITIAL_WINDOW_SIZE, WINDOW)];
            self.out.bytes.extend_from_slice(frame::PREFACE);
            frame::put_header(6 * settings.len(), kind::SETTINGS, 0, 0, &mut self.out.bytes);
            for (name, value) in settings {
                self.out.bytes.extend_from_slice(&name.to_be_bytes());
                self.out.bytes.extend_from_slice(&value.to_be_bytes());
            }
            frame::put_number(kind::WINDOW_UPDATE, 0, WINDOW - INITIAL_WINDOW, &mut self.out.bytes);
            self.flush(stream)?;
        }
        let result = self.receive(stream, inbox, Readiness::End, &mut Vec::new());
        match (result, self.phase) {
            (_, Phase::GoingAway(code)) => {
                Err(io::Error::other(format!("the server takes no requests: GOAWAY {code}")))
            }
            (Ok(()), phase) => Ok(phase == Phase::Ready),
            (Err(Failure::Closed), _) => {
                Err(io::Error::other("closed before a word of HTTP/2: it may not be spoken there"))
            }
            (Err(Failure::Protocol(why)), _) => Err(io::Error::other(why)),
            (Err(why), _) => Err(io::Error::other(why.to_string())),
        }
    }

    pub fn room(&self) -> usize {
        match self.phase {
            Phase::Ready => {
                (self.max_streams.min(self.peer.max_streams) as usize).saturating_sub(self.open.len())
            }
            _ => 0,
        }
    }

    /// Accepts a request; it is sent by the next [`Http2::flush`].
    pub fn send(
        &mut self,
        request: &mut RequestWriter,
        context: &RenderContext<'_>,
        cookies: &[u8],
        exchange: u32,
        content: bool,
    ) {
        let stream = self.next_stream;
        self.next_stream += 2;
        if self.next_stream > MAX_U31 {
            // The stream numbers are used up; the connection ends after what it carries.
            self.phase = Phase::GoingAway(ErrorCode::NO_ERROR);
        }
        let mut open =
            OpenStream::new(exchange, request.is_head(), content, i64::from(self.peer.initial_window));
        let body = request.body(context);
        let end_stream = body.is_empty();
        if !end_stream {
            open.body = Some((body.clone(), 0));
            open.upload_queued = true;
            self.uploads.push_back(stream);
        }
        let start = self.out.bytes.len();
        self.out.bytes.extend_from_slice(&[0; frame::HEADER_SIZE]);
        request.write_header_block(context, cookies, &mut self.encoder_table, &mut self.out.bytes);
        frame::finish_headers(&mut self.out.bytes, start, stream, end_stream, self.peer.max_payload);
        self.open.insert(stream, open);
    }

    /// Writes as much as the socket accepts: once per turn of the loop, so that all requests of a turn go out
    /// in one system call.
    pub fn flush(&mut self, stream: &mut Stream) -> io::Result<()> {
        self.flush_now = false;
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
        readiness: Readiness,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        // A server that accepts no more may have said why, and what it has not processed.
        let refused = self.blocked && self.flush(stream).is_err();
        let result = read_available(stream, inbox, readiness, refused, |stream, bytes, received_ns| {
            let sink = CompletionSink { completions: &mut *completions, received_ns };
            self.handle_bytes(bytes, sink).map_err(|broken| self.fail_connection(broken, bytes, stream))
        });
        match result {
            Ok(()) if self.flush_now && self.flush(stream).is_err() => Err(self.closed()),
            Ok(()) if !self.is_left() => Ok(()),
            Ok(()) | Err(Failure::Closed) => Err(self.closed()),
            broken => broken,
        }
    }

    /// Whether data waits for room in the socket.
    pub fn wants_write(&self) -> bool {
        self.blocked
    }

    /// Nobody waits for this answer any longer: the server is told by the next [`Http2::flush`]. False: that
    /// was the last exchange of a connection that accepts no more.
    pub fn cancel(&mut self, exchange: u32) -> bool {
        // A linear search, only for cancelling.
        let stream = self.open.iter().find(|(_, open)| open.exchange == exchange).map(|(stream, _)| *stream);
        if let Some(stream) = stream {
            frame::put_number(kind::RST_STREAM, stream, ErrorCode::CANCEL.0, &mut self.out.bytes);
            self.open.remove(&stream);
        }
        !self.is_left()
    }

    /// Whether the connection is of no more use.
    fn is_left(&self) -> bool {
        matches!(self.phase, Phase::GoingAway(_)) && self.is_idle()
    }

    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Calls `each` with every exchange not yet reported, and how far the server is known to have handled it.
    pub fn each_open(&self, each: &mut dyn FnMut(u32, ServerHandling)) {
        for open in self.open.values() {
            let handling = if open.answer_begun { ServerHandling::Answered } else { ServerHandling::Unknown };
            each(open.exchange, handling);
        }
    }

    /// Why a connection that the server has closed ended.
    fn closed(&self) -> Failure {
        match self.phase {
            Phase::GoingAway(code) if code != ErrorCode::NO_ERROR => Failure::Reset(format!("GOAWAY {code}")),
            _ => Failure::Closed,
        }
    }

    fn fail_connection(&mut self, broken: ConnectionError, bytes: &[u8], stream: &mut Stream) -> Failure {
        let new = self.phase == Phase::PrefaceSent;
        frame::put_header(8, kind::GOAWAY, 0, 0, &mut self.out.bytes);
        self.out.bytes.extend_from_slice(&0_u32.to_be_bytes());
        self.out.bytes.extend_from_slice(&broken.code.0.to_be_bytes());
        self.uploads.clear();
        // Telling the server why is best effort; the failure is the result.
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
