//! HTTP/2 frames (RFC 9113 sections 4 and 6).

use crate::protocol::framer::Framer;
use std::fmt;

/// What a client sends first.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes before the payload of a frame.
pub(super) const HEADER_SIZE: usize = 9;
/// Largest payload of a frame, both ways, unless the other side allows more.
pub(super) const MAX_PAYLOAD: usize = 16_384;
/// Largest payload that we send, whatever the server allows.
pub(super) const MAX_PAYLOAD_SENT: usize = 256 * 1024;
/// Highest stream number, and largest window.
pub(super) const MAX_U31: u32 = (1 << 31) - 1;

/// Frame types; others are ignored.
pub(super) mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

pub(super) mod flag {
    pub const ACK: u8 = 1;
    pub const END_STREAM: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
    pub const PRIORITY: u8 = 0x20;
}

/// Identifiers of settings.
pub(super) mod setting {
    pub const HEADER_TABLE_SIZE: u16 = 1;
    pub const ENABLE_PUSH: u16 = 2;
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    pub const MAX_FRAME_SIZE: u16 = 5;
}

/// Why a stream or a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ErrorCode(pub u32);

impl ErrorCode {
    pub const NO_ERROR: Self = Self(0);
    pub const PROTOCOL_ERROR: Self = Self(1);
    pub const FLOW_CONTROL_ERROR: Self = Self(3);
    pub const FRAME_SIZE_ERROR: Self = Self(6);
    pub const REFUSED_STREAM: Self = Self(7);
    pub const CANCEL: Self = Self(8);
    pub const COMPRESSION_ERROR: Self = Self(9);
    pub const ENHANCE_YOUR_CALM: Self = Self(11);
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 14] = units::texts![
            "NO_ERROR" "PROTOCOL_ERROR" "INTERNAL_ERROR" "FLOW_CONTROL_ERROR" "SETTINGS_TIMEOUT"
            "STREAM_CLOSED" "FRAME_SIZE_ERROR" "REFUSED_STREAM" "CANCEL" "COMPRESSION_ERROR" "CONNECT_ERROR"
            "ENHANCE_YOUR_CALM" "INADEQUATE_SECURITY" "HTTP_1_1_REQUIRED"
        ];
        match NAMES.get(self.0 as usize) {
            Some(name) => f.write_str(name),
            None => f.write_str("an unknown error"),
        }
    }
}

/// The connection cannot go on: what the peer is told, and what the user is.
#[derive(Debug)]
pub(super) struct ConnectionError {
    pub code: ErrorCode,
    pub why: String,
}

impl ConnectionError {
    pub fn new(code: ErrorCode, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }

    pub fn protocol(why: impl Into<String>) -> Self {
        Self::new(ErrorCode::PROTOCOL_ERROR, why)
    }

    pub fn size(what: &str, length: usize) -> Self {
        Self::new(ErrorCode::FRAME_SIZE_ERROR, format!("{what} of {length} bytes"))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub kind: u8,
    pub flags: u8,
    /// 0 for the connection itself.
    pub stream: u32,
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The payload of DATA and HEADERS, without padding.
    pub fn unpadded(&self) -> Result<&'a [u8], ConnectionError> {
        if !self.has(flag::PADDED) {
            return Ok(self.payload);
        }
        let whole = || self.payload.split_first();
        whole()
            .and_then(|(padding, rest)| rest.get(..rest.len().checked_sub(usize::from(*padding))?))
            .ok_or_else(|| ConnectionError::protocol("a frame with more padding than payload"))
    }

    /// The payload as a four-byte number.
    pub fn number(&self, what: &str) -> Result<u32, ConnectionError> {
        let bytes = self.payload.try_into().map_err(|_| ConnectionError::size(what, self.payload.len()))?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn parse(whole: &'a [u8]) -> Self {
        let stream = u32::from_be_bytes([whole[5], whole[6], whole[7], whole[8]]) & MAX_U31;
        Self { kind: whole[3], flags: whole[4], stream, payload: &whole[HEADER_SIZE..] }
    }
}

/// The next whole frame; `bytes` is what is left after it.
pub(super) fn next_frame<'a, 'b: 'a>(
    framer: &'a mut Framer,
    bytes: &mut &'b [u8],
) -> Result<Option<Frame<'a>>, ConnectionError> {
    Ok(framer.next(bytes, needed)?.map(Frame::parse))
}

/// The length of the frame that begins like this, as far as is known.
fn needed(bytes: &[u8]) -> Result<usize, ConnectionError> {
    let Some(head) = bytes.first_chunk::<HEADER_SIZE>() else { return Ok(HEADER_SIZE) };
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    if length > MAX_PAYLOAD {
        return Err(ConnectionError::size("a frame", length));
    }
    Ok(HEADER_SIZE + length)
}

pub(super) fn put_header(length: usize, kind: u8, flags: u8, stream: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&head(length, kind, flags, stream));
}

pub(super) fn head(length: usize, kind: u8, flags: u8, stream: u32) -> [u8; HEADER_SIZE] {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    [a, b, c, kind, flags, d, e, f, g]
}

/// Appends a frame whose payload is one number.
pub(super) fn put_number(kind: u8, stream: u32, number: u32, out: &mut Vec<u8>) {
    put_header(4, kind, 0, stream, out);
    out.extend_from_slice(&number.to_be_bytes());
}

/// Completes a header block, written after room for a frame's head at `start`, into the frame that opens a
/// stream, or several if it is longer than a frame may be.
pub(super) fn finish_headers(
    out: &mut Vec<u8>,
    start: usize,
    stream: u32,
    end_stream: bool,
    max_payload: usize,
) {
    let flags = if end_stream { flag::END_STREAM } else { 0 };
    let length = out.len() - start - HEADER_SIZE;
    if length <= max_payload {
        let head = head(length, kind::HEADERS, flags | flag::END_HEADERS, stream);
        out[start..start + HEADER_SIZE].copy_from_slice(&head);
        return;
    }
    let block = out.split_off(start + HEADER_SIZE);
    out.truncate(start);
    let mut pieces = block.chunks(max_payload).peekable();
    let (mut kind, mut flags) = (kind::HEADERS, flags);
    while let Some(piece) = pieces.next() {
        let end = if pieces.peek().is_none() { flag::END_HEADERS } else { 0 };
        put_header(piece.len(), kind, flags | end, stream, out);
        out.extend_from_slice(piece);
        (kind, flags) = (kind::CONTINUATION, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_in_pieces_of_any_size() {
        let mut bytes = Vec::new();
        for (kind, length) in
            [(kind::DATA, 0), (kind::PING, 8), (kind::HEADERS, 300), (kind::DATA, MAX_PAYLOAD)]
        {
            put_header(length, kind, 5, 7, &mut bytes);
            bytes.extend(std::iter::repeat_n(kind, length));
        }
        for step in [1, 2, 8, 9, 10, 17, 18, 100, bytes.len()] {
            let (mut framer, mut frames) = (Framer::default(), Vec::new());
            for mut piece in bytes.chunks(step) {
                while let Some(frame) = next_frame(&mut framer, &mut piece).expect("valid") {
                    assert!(frame.payload.iter().all(|b| *b == frame.kind));
                    frames.push((frame.kind, frame.flags, frame.stream, frame.payload.len()));
                }
                assert!(piece.is_empty());
            }
            assert_eq!(
                frames,
                [(0, 5, 7, 0), (6, 5, 7, 8), (1, 5, 7, 300), (0, 5, 7, MAX_PAYLOAD)],
                "by {step}"
            );
        }
    }

    #[test]
    fn a_frame_larger_than_we_take_is_said() {
        let mut bytes = Vec::new();
        put_header(MAX_PAYLOAD + 1, kind::DATA, 0, 1, &mut bytes);
        let broken = next_frame(&mut Framer::default(), &mut bytes.as_slice()).expect_err("too large");
        assert_eq!(
            (broken.code, broken.why.as_str()),
            (ErrorCode::FRAME_SIZE_ERROR, "a frame of 16385 bytes")
        );
    }

    #[test]
    fn padding_is_left_out() {
        let frame = |payload| Frame { kind: 0, flags: flag::PADDED, stream: 1, payload };
        assert_eq!(frame(b"\x02abcde").unpadded().ok(), Some(&b"abc"[..]));
        assert_eq!(frame(b"\x05abcde").unpadded().ok(), Some(&b""[..]));
        assert!(frame(b"\x06abcde").unpadded().is_err());
        assert!(frame(b"").unpadded().is_err());
    }
}
