//! PostgreSQL's messages: kind, length, body (its documentation, 55.7 "Message Formats").

use crate::protocol::framer::Framer;

/// Kinds of server messages, by their first byte.
pub(crate) mod kind {
    pub const AUTHENTICATION: u8 = b'R';
    pub const BIND_COMPLETE: u8 = b'2';
    pub const COMMAND_COMPLETE: u8 = b'C';
    pub const COPY_BOTH_RESPONSE: u8 = b'W';
    pub const COPY_DATA: u8 = b'd';
    pub const COPY_IN_RESPONSE: u8 = b'G';
    pub const COPY_OUT_RESPONSE: u8 = b'H';
    pub const DATA_ROW: u8 = b'D';
    pub const EMPTY_QUERY_RESPONSE: u8 = b'I';
    pub const ERROR_RESPONSE: u8 = b'E';
    pub const KEY_DATA: u8 = b'K';
    /// The server knows only an older protocol version, or not every option.
    pub const NEGOTIATE: u8 = b'v';
    pub const NOTICE_RESPONSE: u8 = b'N';
    pub const NOTIFICATION_RESPONSE: u8 = b'A';
    pub const PARAMETER_STATUS: u8 = b'S';
    pub const PARSE_COMPLETE: u8 = b'1';
    pub const READY_FOR_QUERY: u8 = b'Z';
    pub const ROW_DESCRIPTION: u8 = b'T';
}

/// Bytes of kind and length.
const HEADER_SIZE: usize = 5;
/// Bytes kept of a message: an error may quote a whole statement, but its reason comes first.
const KEPT: usize = 16 * 1024;
/// Messages without user data are no longer than this (as in libpq, `fe-protocol3.c`): anything longer is no
/// message.
const MAX_SHORT: usize = 30_000;

/// Splits the server's bytes into messages, however the network has cut them.
#[derive(Default)]
pub(crate) struct MessageReader {
    framer: Framer,
    /// Bytes to skip before the next message.
    skip: usize,
}

/// One message from the server.
pub(crate) struct Message<'a> {
    pub kind: u8,
    /// Empty if not needed, as for rows, which are skipped as they arrive.
    pub body: &'a [u8],
}

impl MessageReader {
    /// Takes the next message from the front of `bytes`; `None` if there is no more in them.
    pub fn next<'a, 'b: 'a>(&'a mut self, bytes: &mut &'b [u8]) -> Result<Option<Message<'a>>, &'static str> {
        let passed = self.skip.min(bytes.len());
        self.skip -= passed;
        *bytes = &bytes[passed..];
        let Some(whole) = self.framer.next(bytes, needed)? else { return Ok(None) };
        let (kind, length) = head(whole)?;
        self.skip = HEADER_SIZE + length - whole.len();
        Ok(Some(Message { kind, body: &whole[HEADER_SIZE..] }))
    }
}

/// How many bytes to keep of the message that begins like this, as far as is known.
fn needed(bytes: &[u8]) -> Result<usize, &'static str> {
    if bytes.len() < HEADER_SIZE {
        return Ok(HEADER_SIZE);
    }
    let (kind, length) = head(bytes)?;
    Ok(HEADER_SIZE + if is_kept(kind) { length.min(KEPT) } else { 0 })
}

/// The kind and body length of the message that begins here.
fn head(bytes: &[u8]) -> Result<(u8, usize), &'static str> {
    let kind = bytes[0];
    let length = u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]) as usize;
    let is_long = matches!(
        kind,
        kind::DATA_ROW
            | kind::ROW_DESCRIPTION
            | kind::COPY_DATA
            | kind::ERROR_RESPONSE
            | kind::NOTICE_RESPONSE
            | kind::NOTIFICATION_RESPONSE
    );
    let limit = if is_long { i32::MAX as usize } else { MAX_SHORT };
    match length {
        4.. if length <= limit => Ok((kind, length - 4)),
        _ => Err("a message of an impossible length"),
    }
}

fn is_kept(kind: u8) -> bool {
    matches!(
        kind,
        kind::AUTHENTICATION | kind::ERROR_RESPONSE | kind::READY_FOR_QUERY | kind::COMMAND_COMPLETE
    )
}

/// Appends a message to the server: `body` writes what follows its length.
pub(crate) fn write_message(kind: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    write_length_prefixed(out, true, body);
}

/// Appends what `body` writes, preceded by its length, which may include the length's own bytes.
pub(crate) fn write_length_prefixed(out: &mut Vec<u8>, with_itself: bool, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = out.len() - start - if with_itself { 0 } else { 4 };
    out[start..start + 4].copy_from_slice(&(length as u32).to_be_bytes());
}

/// Appends a NUL-terminated text.
pub(crate) fn write_cstring(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}
