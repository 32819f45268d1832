//! Answers to requests: heads, bodies, and streams that the server ends.

use super::super::{Answer, ServerHandling};
use super::control::CompletionSink;
use super::frame::{self, ConnectionError, ErrorCode, Frame, flag, kind};
use super::grpc::{self, GrpcStatus};
use super::open_streams::OpenStream;
use super::primitives::{HeaderText, Malformed};
use super::{Block, Http2, WINDOW};
use record::Failure;

/// Longer header blocks are abuse.
pub(super) const BLOCK_LIMIT: usize = 64 * 1024;
/// Huffman-coded names.
const STATUS: &[u8] = &[0xb8, 0x84, 0x8d, 0x36, 0xa3];
const CONTENT_LENGTH: &[u8] = &[0x21, 0xea, 0x49, 0x6a, 0x4a, 0xd4, 0x16, 0xa9, 0x93, 0x3f];
const CONTENT_TYPE: &[u8] = &[0x21, 0xea, 0x49, 0x6a, 0x4a, 0xc9, 0xf5, 0x59, 0x7f];
const GRPC_STATUS: &[u8] = &[0x9a, 0xca, 0xc8, 0xb2, 0x12, 0x34, 0xda, 0x8f];
const GRPC_MESSAGE: &[u8] = &[0x9a, 0xca, 0xc8, 0xb5, 0x25, 0x42, 0x07, 0x31, 0x7f];

/// The relevant parts of a header block.
#[derive(Default)]
struct AnswerHead {
    status: Option<u16>,
    length: Option<u64>,
    is_grpc: bool,
    call: GrpcStatus,
    /// What is wrong with it, though it can be decoded.
    wrong: Option<String>,
}

impl Http2 {
    pub(super) fn headers(
        &mut self,
        frame: Frame<'_>,
        teller: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let mut payload = frame.unpadded()?;
        if frame.has(flag::PRIORITY) {
            payload = payload.get(5..).ok_or_else(|| ConnectionError::size("HEADERS", payload.len()))?;
        }
        let ends = frame.has(flag::END_STREAM);
        if frame.has(flag::END_HEADERS) {
            return self.handle_header_block(frame.stream, ends, payload, teller);
        }
        if let Some(open) = self.open.get(frame.stream) {
            open.heard = true;
        }
        self.block = Some(Block { stream: frame.stream, ends, bytes: payload.to_vec() });
        Ok(())
    }

    pub(super) fn continuation(
        &mut self,
        frame: Frame<'_>,
        teller: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let begun = self.block.take().filter(|block| block.stream == frame.stream);
        let mut block = begun
            .ok_or_else(|| ConnectionError::protocol("a header block that goes on without a beginning"))?;
        block.bytes.extend_from_slice(frame.payload);
        if block.bytes.len() > BLOCK_LIMIT {
            let why = format!("a header block of more than {BLOCK_LIMIT} bytes");
            return Err(ConnectionError::new(ErrorCode::ENHANCE_YOUR_CALM, why));
        }
        if frame.has(flag::END_HEADERS) {
            return self.handle_header_block(block.stream, block.ends, &block.bytes, teller);
        }
        self.block = Some(block);
        Ok(())
    }

    /// Handles a whole header block. One that nobody waits for is decoded too, as later ones refer to it.
    fn handle_header_block(
        &mut self,
        stream: u32,
        ends: bool,
        block: &[u8],
        teller: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let mut open = self.open.get(stream);
        // Of several blocks only the head is wanted: neither interim answers nor trailers.
        let content =
            open.as_mut().filter(|open| open.status.is_none()).and_then(|open| open.content.as_mut());
        let mut fields = content.map(|content| &mut content.headers);
        if let Some(fields) = &mut fields {
            fields.clear();
        }
        let (mut head, room) = (AnswerHead::default(), &mut self.room);
        let read = self.decoder.decode(block, |name, value| {
            if name.matches(b":status", STATUS) {
                head.set_status(value.decode(room)?);
            } else if name.matches(b"content-length", CONTENT_LENGTH) {
                head.set_length(value.decode(room)?);
            } else if name.matches(b"content-type", CONTENT_TYPE) {
                head.is_grpc = grpc::is_grpc(value.decode(room)?);
            } else if name.matches(b"grpc-status", GRPC_STATUS) {
                head.call.set_status(value.decode(room)?);
            } else if name.matches(b"grpc-message", GRPC_MESSAGE) {
                head.call.set_message(value.decode(room)?);
            }
            match &mut fields {
                Some(fields) => push_field(fields, name, value, room),
                None => Ok(()),
            }
        });
        read.map_err(|why| ConnectionError::new(ErrorCode::COMPRESSION_ERROR, why))?;
        let Some(open) = self.open.get(stream) else { return Ok(()) };
        open.heard = true;
        let result = open.apply_head(head).and_then(|()| open.status_if_complete(ends));
        self.end(stream, result, teller);
        Ok(())
    }

    pub(super) fn data(
        &mut self,
        frame: Frame<'_>,
        teller: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let taken = frame.payload.len() as u32;
        self.taken += taken;
        if self.taken >= WINDOW / 2 {
            frame::put_number(kind::WINDOW_UPDATE, 0, self.taken, &mut self.out.bytes);
            (self.taken, self.urgent) = (0, true);
        }
        let data = frame.unpadded()?;
        let Some(open) = self.open.get(frame.stream) else { return Ok(()) };
        if let Some(content) = &mut open.content {
            content.append(data);
        }
        open.heard = true;
        open.received += data.len() as u64;
        open.taken += taken;
        let result = open.status_if_complete(frame.has(flag::END_STREAM));
        if open.taken >= WINDOW / 2 {
            frame::put_number(kind::WINDOW_UPDATE, frame.stream, open.taken, &mut self.out.bytes);
            (open.taken, self.urgent) = (0, true);
        }
        self.end(frame.stream, result, teller);
        Ok(())
    }

    pub(super) fn handle_reset(
        &mut self,
        frame: Frame<'_>,
        teller: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let code = ErrorCode(frame.number("RST_STREAM")?);
        if let Some(open) = self.open.remove(frame.stream) {
            let touch = if code == ErrorCode::REFUSED_STREAM {
                ServerHandling::Refused
            } else {
                ServerHandling::Answered
            };
            teller.fail(open.exchange, Failure::Reset(code.to_string()), touch);
        }
        Ok(())
    }

    /// Ends a stream whose answer is complete, or malformed.
    fn end(&mut self, stream: u32, result: Result<Option<u16>, Malformed>, teller: &mut CompletionSink<'_>) {
        let (result, rest) = match result {
            Ok(None) => return,
            // A server that has answered does not want the rest of the request.
            Ok(status) => (Ok(status), ErrorCode::CANCEL),
            Err(why) => (Err(why), ErrorCode::PROTOCOL_ERROR),
        };
        let Some(open) = self.open.remove(stream) else { return };
        if result.is_err() || open.body.is_some() {
            frame::put_number(kind::RST_STREAM, stream, rest.0, &mut self.out.bytes);
            self.urgent = true;
        }
        let failure = open.call.and_then(GrpcStatus::failure);
        let answer = |status| Answer { status, failure, content: open.content };
        teller.complete(open.exchange, result.map(answer).map_err(Failure::Protocol));
    }
}

impl OpenStream {
    fn apply_head(&mut self, head: AnswerHead) -> Result<(), Malformed> {
        if let Some(wrong) = head.wrong {
            return Err(wrong);
        }
        match (self.status, head.status) {
            // Trailers.
            (Some(_), None) => {
                if let Some(call) = &mut self.call {
                    *call = head.call;
                }
            }
            (Some(_), Some(_)) => return Err("two heads of one answer".to_owned()),
            (None, None) => return Err("an answer without :status".to_owned()),
            // An interim answer.
            (None, Some(100..=199)) => {}
            (None, Some(status)) => {
                self.status = Some(status);
                self.call = head.is_grpc.then_some(head.call);
                let none = self.head_only || status == 204 || status == 304;
                self.expected = if none { Some(0) } else { head.length };
            }
        }
        Ok(())
    }

    /// The status, if the stream ends here and the answer is complete.
    fn status_if_complete(&self, ends: bool) -> Result<Option<u16>, Malformed> {
        match (self.status, self.expected) {
            (None, _) if ends || self.received > 0 => {
                Err("a body or an end before the head of the answer".to_owned())
            }
            (Some(_), Some(expected)) if self.received > expected || ends && self.received < expected => {
                Err(format!("a body of {} bytes where {expected} are to come", self.received))
            }
            (status, _) => Ok(status.filter(|_| ends)),
        }
    }
}

impl AnswerHead {
    fn set_status(&mut self, digits: &[u8]) {
        match digits {
            [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] if self.status.is_none() => {
                let digit = |digit: &u8| u16::from(digit - b'0');
                self.status = Some(digit(a) * 100 + digit(b) * 10 + digit(c));
            }
            other => self.wrong = Some(format!(":status '{}'", shown(other))),
        }
    }

    fn set_length(&mut self, digits: &[u8]) {
        let value = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
        if value.is_none() || self.length.is_some() && self.length != value {
            self.wrong = Some(format!("content-length '{}'", shown(digits)));
        }
        self.length = value;
    }
}

fn shown(bytes: &[u8]) -> std::slice::EscapeAscii<'_> {
    bytes[..bytes.len().min(20)].escape_ascii()
}

/// Adds a field that is wanted, unless it is a pseudo-header.
fn push_field(
    fields: &mut Vec<(String, Vec<u8>)>,
    name: &HeaderText<'_>,
    value: &HeaderText<'_>,
    room: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let name = String::from_utf8_lossy(name.decode(room)?).into_owned();
    let value = value.decode(room)?.to_vec();
    if !name.starts_with(':') {
        fields.push((name, value));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::http2::huffman;

    #[test]
    fn known_names_are_compressed_as_said() {
        for (compressed, name) in [
            (STATUS, ":status"),
            (CONTENT_LENGTH, "content-length"),
            (CONTENT_TYPE, "content-type"),
            (GRPC_STATUS, "grpc-status"),
            (GRPC_MESSAGE, "grpc-message"),
        ] {
            let mut text = Vec::new();
            huffman::decode(compressed, &mut text).expect("valid");
            assert_eq!(String::from_utf8(text).expect("text"), name);
        }
    }
}
