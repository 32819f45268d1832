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
    grpc_status: GrpcStatus,
    /// What is wrong with it, though it can be decoded.
    error: Option<String>,
}

impl Http2 {
    pub(super) fn headers(
        &mut self,
        frame: Frame<'_>,
        sink: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let mut payload = frame.unpadded()?;
        if frame.has(flag::PRIORITY) {
            payload = payload.get(5..).ok_or_else(|| ConnectionError::size("HEADERS", payload.len()))?;
        }
        let end_stream = frame.has(flag::END_STREAM);
        if frame.has(flag::END_HEADERS) {
            return self.handle_header_block(frame.stream, end_stream, payload, sink);
        }
        if let Some(open) = self.open.get_mut(&frame.stream) {
            open.answer_begun = true;
        }
        self.header_block = Some(Block { stream: frame.stream, end_stream, bytes: payload.to_vec() });
        Ok(())
    }

    pub(super) fn continuation(
        &mut self,
        frame: Frame<'_>,
        sink: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let begun = self.header_block.take().filter(|block| block.stream == frame.stream);
        let mut block = begun
            .ok_or_else(|| ConnectionError::protocol("a header block that goes on without a beginning"))?;
        block.bytes.extend_from_slice(frame.payload);
        if block.bytes.len() > BLOCK_LIMIT {
            let why = format!("a header block of more than {BLOCK_LIMIT} bytes");
            return Err(ConnectionError::new(ErrorCode::ENHANCE_YOUR_CALM, why));
        }
        if frame.has(flag::END_HEADERS) {
            return self.handle_header_block(block.stream, block.end_stream, &block.bytes, sink);
        }
        self.header_block = Some(block);
        Ok(())
    }

    /// Handles a whole header block. One that nobody waits for is decoded too, as later ones refer to it.
    fn handle_header_block(
        &mut self,
        stream: u32,
        end_stream: bool,
        block: &[u8],
        sink: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let mut open = self.open.get_mut(&stream);
        // Of several blocks only the head is wanted: neither interim answers nor trailers.
        let content =
            open.as_mut().filter(|open| open.status.is_none()).and_then(|open| open.content.as_mut());
        let mut fields = content.map(|content| &mut content.headers);
        if let Some(fields) = &mut fields {
            fields.clear();
        }
        let (mut head, scratch) = (AnswerHead::default(), &mut self.scratch);
        let outcome = self.decoder.decode(block, |name, value| {
            if name.matches(b":status", STATUS) {
                head.set_status(value.decode(scratch)?);
            } else if name.matches(b"content-length", CONTENT_LENGTH) {
                head.set_length(value.decode(scratch)?);
            } else if name.matches(b"content-type", CONTENT_TYPE) {
                head.is_grpc = grpc::is_grpc(value.decode(scratch)?);
            } else if name.matches(b"grpc-status", GRPC_STATUS) {
                head.grpc_status.set_status(value.decode(scratch)?);
            } else if name.matches(b"grpc-message", GRPC_MESSAGE) {
                head.grpc_status.set_message(value.decode(scratch)?);
            }
            match &mut fields {
                Some(fields) => push_field(fields, name, value, scratch),
                None => Ok(()),
            }
        });
        outcome.map_err(|why| ConnectionError::new(ErrorCode::COMPRESSION_ERROR, why))?;
        let Some(open) = self.open.get_mut(&stream) else { return Ok(()) };
        open.answer_begun = true;
        let result = open.apply_head(head).and_then(|()| open.status_if_complete(end_stream));
        self.finish_stream(stream, result, sink);
        Ok(())
    }

    pub(super) fn data(
        &mut self,
        frame: Frame<'_>,
        sink: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let taken = frame.payload.len() as u32;
        self.unacknowledged += taken;
        if self.unacknowledged >= WINDOW / 2 {
            frame::put_number(kind::WINDOW_UPDATE, 0, self.unacknowledged, &mut self.out.bytes);
            (self.unacknowledged, self.flush_now) = (0, true);
        }
        let data = frame.unpadded()?;
        let Some(open) = self.open.get_mut(&frame.stream) else { return Ok(()) };
        if let Some(content) = &mut open.content {
            content.append(data);
        }
        open.answer_begun = true;
        open.received += data.len() as u64;
        open.unacknowledged += taken;
        let result = open.status_if_complete(frame.has(flag::END_STREAM));
        if open.unacknowledged >= WINDOW / 2 {
            frame::put_number(kind::WINDOW_UPDATE, frame.stream, open.unacknowledged, &mut self.out.bytes);
            (open.unacknowledged, self.flush_now) = (0, true);
        }
        self.finish_stream(frame.stream, result, sink);
        Ok(())
    }

    pub(super) fn handle_reset(
        &mut self,
        frame: Frame<'_>,
        sink: &mut CompletionSink<'_>,
    ) -> Result<(), ConnectionError> {
        let code = ErrorCode(frame.number("RST_STREAM")?);
        if let Some(open) = self.open.remove(&frame.stream) {
            let handling = if code == ErrorCode::REFUSED_STREAM {
                ServerHandling::Refused
            } else {
                ServerHandling::Answered
            };
            sink.push(open.exchange, Err(Failure::Reset(code.to_string())), handling);
        }
        Ok(())
    }

    /// Ends a stream whose answer is complete, or malformed.
    fn finish_stream(
        &mut self,
        stream: u32,
        result: Result<Option<u16>, Malformed>,
        sink: &mut CompletionSink<'_>,
    ) {
        let (result, code) = match result {
            Ok(None) => return,
            // A server that has answered does not want the rest of the request.
            Ok(status) => (Ok(status), ErrorCode::CANCEL),
            Err(why) => (Err(why), ErrorCode::PROTOCOL_ERROR),
        };
        let Some(open) = self.open.remove(&stream) else { return };
        if result.is_err() || open.body.is_some() {
            frame::put_number(kind::RST_STREAM, stream, code.0, &mut self.out.bytes);
            self.flush_now = true;
        }
        let failure = open.grpc_status.and_then(GrpcStatus::failure);
        let answer = |status| Answer { status, failure, content: open.content };
        let result = result.map(answer).map_err(Failure::Protocol);
        sink.push(open.exchange, result, ServerHandling::Answered);
    }
}

impl OpenStream {
    fn apply_head(&mut self, head: AnswerHead) -> Result<(), Malformed> {
        if let Some(error) = head.error {
            return Err(error);
        }
        match (self.status, head.status) {
            // Trailers.
            (Some(_), None) => {
                if let Some(grpc_status) = &mut self.grpc_status {
                    *grpc_status = head.grpc_status;
                }
            }
            (Some(_), Some(_)) => return Err("two heads of one answer".to_owned()),
            (None, None) => return Err("an answer without :status".to_owned()),
            // An interim answer.
            (None, Some(100..=199)) => {}
            (None, Some(status)) => {
                self.status = Some(status);
                self.grpc_status = head.is_grpc.then_some(head.grpc_status);
                let no_body = self.head_only || status == 204 || status == 304;
                self.expected = if no_body { Some(0) } else { head.length };
            }
        }
        Ok(())
    }

    /// The status, if the stream ends here and the answer is complete.
    fn status_if_complete(&self, end_stream: bool) -> Result<Option<u16>, Malformed> {
        match (self.status, self.expected) {
            (None, _) if end_stream || self.received > 0 => {
                Err("a body or an end before the head of the answer".to_owned())
            }
            (Some(_), Some(expected))
                if self.received > expected || end_stream && self.received < expected =>
            {
                Err(format!("a body of {} bytes where {expected} are to come", self.received))
            }
            (status, _) => Ok(status.filter(|_| end_stream)),
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
            other => self.error = Some(format!(":status '{}'", shown(other))),
        }
    }

    fn set_length(&mut self, digits: &[u8]) {
        let value = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
        if value.is_none() || self.length.is_some() && self.length != value {
            self.error = Some(format!("content-length '{}'", shown(digits)));
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
    scratch: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let name = String::from_utf8_lossy(name.decode(scratch)?).into_owned();
    let value = value.decode(scratch)?.to_vec();
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
