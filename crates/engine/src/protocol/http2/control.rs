//! Handles the server's frames: here those about the connection, in `answers` the rest.

use super::super::{Answer, Completion, ServerHandling};
use super::frame::{self, ConnectionError, ErrorCode, Frame, flag, kind, setting};
use super::open_streams::OpenStream;
use super::{Http2, Phase, REPLIES_LIMIT};
use record::Failure;

/// Collects completed exchanges.
pub(super) struct CompletionSink<'a> {
    pub completions: &'a mut Vec<Completion>,
    pub received_ns: u64,
}

impl CompletionSink<'_> {
    pub fn push(&mut self, exchange: u32, result: Result<Answer, Failure>, handling: ServerHandling) {
        let received_ns = self.received_ns;
        self.completions.push(Completion { exchange, result, received_ns, begun_ns: 0, handling });
    }
}

impl Http2 {
    pub(super) fn handle_bytes(
        &mut self,
        mut bytes: &[u8],
        mut sink: CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let mut framer = std::mem::take(&mut self.framer);
        while let Some(frame) = frame::next_frame(&mut framer, &mut bytes)? {
            self.handle_frame(frame, &mut sink)?;
        }
        self.framer = framer;
        Ok(())
    }

    fn handle_frame(
        &mut self,
        frame: Frame<'_>,
        sink: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        if self.phase == Phase::PrefaceSent && frame.kind != kind::SETTINGS {
            return Err(ConnectionError::protocol("no settings first"));
        }
        if self.header_block.is_some() && frame.kind != kind::CONTINUATION {
            return Err(ConnectionError::protocol("another frame within a header block"));
        }
        let unknown = frame.stream >= self.next_stream || frame.stream.is_multiple_of(2);
        match (frame.kind, frame.stream) {
            (kind::SETTINGS, 0) => self.settings(frame),
            (kind::PING, 0) => self.ping(frame),
            (kind::GOAWAY, 0) => self.go_away(frame, sink),
            (kind::WINDOW_UPDATE, 0) => self.handle_window_update(frame),
            (kind::SETTINGS | kind::PING | kind::GOAWAY, stream) => {
                Err(ConnectionError::protocol(format!("a frame of the connection on stream {stream}")))
            }
            (kind::PUSH_PROMISE, _) => Err(ConnectionError::protocol("a push, which we do not allow")),
            (
                kind::DATA | kind::HEADERS | kind::CONTINUATION | kind::RST_STREAM | kind::WINDOW_UPDATE,
                stream,
            ) if unknown => {
                Err(ConnectionError::protocol(format!("a frame on stream {stream}, which is not begun")))
            }
            (kind::DATA, _) => self.data(frame, sink),
            (kind::HEADERS, _) => self.headers(frame, sink),
            (kind::CONTINUATION, _) => self.continuation(frame, sink),
            (kind::RST_STREAM, _) => self.handle_reset(frame, sink),
            (kind::WINDOW_UPDATE, _) => self.handle_window_update(frame),
            // Priorities, and additions of later standards.
            _ => Ok(()),
        }
    }

    fn settings(&mut self, frame: Frame<'_>) -> Result<(), ConnectionError> {
        let acknowledged = frame.has(flag::ACK);
        let (settings, []) = frame.payload.as_chunks::<6>() else {
            return Err(ConnectionError::size("SETTINGS", frame.payload.len()));
        };
        if acknowledged {
            return Ok(());
        }
        for [a, b, c, d, e, f] in settings {
            let value = u32::from_be_bytes([*c, *d, *e, *f]);
            match u16::from_be_bytes([*a, *b]) {
                setting::HEADER_TABLE_SIZE => self.encoder_table.set_limit(value),
                setting::MAX_CONCURRENT_STREAMS => self.peer.max_streams = value,
                setting::INITIAL_WINDOW_SIZE => self.set_initial_window(value)?,
                setting::MAX_FRAME_SIZE if (value as usize) < frame::MAX_PAYLOAD => {
                    return Err(ConnectionError::protocol(format!("frames of {value} bytes at most")));
                }
                setting::MAX_FRAME_SIZE => {
                    self.peer.max_payload = (value as usize).min(frame::MAX_PAYLOAD_SENT)
                }
                _ => {}
            }
        }
        if self.phase == Phase::PrefaceSent {
            self.phase = Phase::Ready;
        }
        self.reply(kind::SETTINGS, &[])
    }

    fn ping(&mut self, frame: Frame<'_>) -> Result<(), ConnectionError> {
        if frame.payload.len() != 8 {
            return Err(ConnectionError::size("PING", frame.payload.len()));
        }
        if frame.has(flag::ACK) { Ok(()) } else { self.reply(kind::PING, frame.payload) }
    }

    fn reply(&mut self, kind: u8, payload: &[u8]) -> Result<(), ConnectionError> {
        self.replies += 1;
        if self.replies > REPLIES_LIMIT {
            return Err(ConnectionError::new(
                ErrorCode::ENHANCE_YOUR_CALM,
                "more PING and SETTINGS than it reads answers",
            ));
        }
        frame::put_header(payload.len(), kind, flag::ACK, 0, &mut self.out.bytes);
        self.out.bytes.extend_from_slice(payload);
        self.flush_now = true;
        Ok(())
    }

    /// No more streams; those above the last one named were not processed, and never will be.
    fn go_away(&mut self, frame: Frame<'_>, sink: &mut CompletionSink<'_>) -> Result<(), ConnectionError> {
        let Some(([a, b, c, d, e, f, g, h], _)) = frame.payload.split_first_chunk() else {
            return Err(ConnectionError::size("GOAWAY", frame.payload.len()));
        };
        let last = u32::from_be_bytes([*a, *b, *c, *d]) & frame::MAX_U31;
        let code = ErrorCode(u32::from_be_bytes([*e, *f, *g, *h]));
        self.phase = Phase::GoingAway(code);
        for (_, OpenStream { exchange, .. }) in self.open.extract_if(|stream, _| *stream > last) {
            // nginx, for one, leaves after every thousand requests, with others in flight. A server that leaves
            // with an error, or before it has processed any, says what is wrong: that counts as failure.
            let handling = match code {
                ErrorCode::NO_ERROR if last > 0 => ServerHandling::GoingAway,
                ErrorCode::NO_ERROR => ServerHandling::Refused,
                _ => ServerHandling::Answered,
            };
            sink.push(exchange, Err(Failure::Reset(format!("GOAWAY {code}"))), handling);
        }
        Ok(())
    }
}
