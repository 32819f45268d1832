//! HTTP/1.1 requests, from bytes to a [`Request`]. Pure: takes what has arrived so far and
//! classifies it. Bytes after the first request are left for the next call.

use std::borrow::Cow;

/// Maximum length of request line and headers; Tomcat allows 8 KiB, nginx 32 KiB.
pub(crate) const HEAD_LIMIT: usize = 16 * 1024;
/// More headers than any load generator sends.
const HEADERS_LIMIT: usize = 64;
/// The clinic's forms are far smaller; a test of 413 does not want to send more.
pub(crate) const BODY_LIMIT: usize = 1024 * 1024;
/// Chunk sizes and line ends add to a chunked body, but not without bound.
const CHUNKED_WIRE_LIMIT: usize = 2 * BODY_LIMIT + 64 * 1024;

/// One complete request, borrowed from its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// What follows the question mark, or empty.
    pub(crate) query: &'a str,
    pub(crate) body: Cow<'a, [u8]>,
    /// The client wants to reuse the connection.
    pub(crate) keep_alive: bool,
    /// HTTP/1.1 or later: chunks and interim answers are understood.
    pub(crate) is_http11: bool,
}

/// Result for the bytes so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParseResult<'a> {
    /// Incomplete; cannot be complete before `at_least` bytes have arrived.
    Partial { at_least: usize, wants_continue: bool },
    /// A request that took the first `used` bytes.
    Whole { request: Request<'a>, used: usize },
    /// Invalid: answer with this and close.
    Refused(Refusal),
}

/// Why bytes are no acceptable request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) reason: &'static str,
}

const fn refuse(status: u16, reason: &'static str) -> Refusal {
    Refusal { status, reason }
}

const TOO_LARGE: Refusal = refuse(413, "the body is larger than 1 MiB");

/// The headers that delimit the body.
#[derive(Default)]
struct FramingHeaders {
    length: Option<usize>,
    chunked: bool,
    expects_continue: bool,
    host: bool,
    close: bool,
    keep_alive: bool,
}

/// Parses the first request in `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> ParseResult<'_> {
    try_parse(bytes).unwrap_or_else(ParseResult::Refused)
}

fn try_parse(bytes: &[u8]) -> Result<ParseResult<'_>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
    let mut head = httparse::Request::new(&mut headers);
    let head_len = match head.parse(bytes) {
        Ok(httparse::Status::Complete(n)) if n <= HEAD_LIMIT => n,
        Ok(httparse::Status::Partial) if bytes.len() <= HEAD_LIMIT => {
            return Ok(ParseResult::Partial { at_least: bytes.len() + 1, wants_continue: false });
        }
        Ok(_) => return Err(refuse(431, "the head is longer than 16 KiB")),
        Err(httparse::Error::TooManyHeaders) => return Err(refuse(431, "more than 64 headers")),
        Err(httparse::Error::Version) => {
            return Err(refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken here"));
        }
        Err(_) => return Err(refuse(400, "this is not an HTTP/1.1 request")),
    };
    let (method, target) = (head.method.unwrap_or(""), head.path.unwrap_or(""));
    let is_http11 = head.version == Some(1);
    let framing = read_framing(head.headers)?;
    if is_http11 && !framing.host {
        return Err(refuse(400, "an HTTP/1.1 request needs a Host header"));
    }

    let rest = &bytes[head_len..];
    let wants_continue = framing.expects_continue && rest.is_empty();
    let (body, body_len) = if framing.chunked {
        match decode_chunks(rest)? {
            Some((body, used)) => (Cow::Owned(body), used),
            None if rest.len() > CHUNKED_WIRE_LIMIT => return Err(TOO_LARGE),
            None => return Ok(ParseResult::Partial { at_least: bytes.len() + 1, wants_continue }),
        }
    } else {
        let length = framing.length.unwrap_or(0);
        if length > BODY_LIMIT {
            return Err(TOO_LARGE);
        }
        let Some(body) = rest.get(..length) else {
            return Ok(ParseResult::Partial { at_least: head_len + length, wants_continue });
        };
        (Cow::Borrowed(body), length)
    };

    let (path, query) = split_target(target);
    let keep_alive = !framing.close && (is_http11 || framing.keep_alive);
    let request = Request { method, path, query, body, keep_alive, is_http11 };
    Ok(ParseResult::Whole { request, used: head_len + body_len })
}

fn read_framing(headers: &[httparse::Header<'_>]) -> Result<FramingHeaders, Refusal> {
    let mut framing = FramingHeaders::default();
    for header in headers {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            let length = std::str::from_utf8(value)
                .ok()
                .filter(|v| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit()))
                .ok_or(refuse(400, "Content-Length is not a number"))?;
            // More digits than fit a number simply mean too long a body.
            let length = length.parse().unwrap_or(usize::MAX);
            if framing.length.is_some_and(|other| other != length) {
                return Err(refuse(400, "two Content-Length headers disagree"));
            }
            framing.length = Some(length);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if framing.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(refuse(400, "the only Transfer-Encoding understood is chunked"));
            }
            framing.chunked = true;
        } else if header.name.eq_ignore_ascii_case("connection") {
            for word in value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                framing.close |= word.eq_ignore_ascii_case(b"close");
                framing.keep_alive |= word.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if header.name.eq_ignore_ascii_case("expect") {
            framing.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
        } else if header.name.eq_ignore_ascii_case("host") {
            framing.host = true;
        }
    }
    // Both at once is how requests are smuggled past a proxy (RFC 9112, 6.1).
    if framing.chunked && framing.length.is_some() {
        return Err(refuse(400, "both Content-Length and Transfer-Encoding are given"));
    }
    Ok(framing)
}

/// The whole body and its length on the wire, or `None` if incomplete.
fn decode_chunks(wire: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Refusal> {
    const BAD: Refusal = refuse(400, "the chunked body is malformed");
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let (line, size) = match httparse::parse_chunk_size(&wire[at..]).map_err(|_| BAD)? {
            httparse::Status::Complete(found) => found,
            // A size with its extension fits in one line of any sane length.
            httparse::Status::Partial if wire.len() - at > HEAD_LIMIT => return Err(BAD),
            httparse::Status::Partial => return Ok(None),
        };
        at += line;
        if size == 0 {
            return Ok(skip_trailers(&wire[at..])?.map(|used| (body, at + used)));
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > BODY_LIMIT || body.len() + size > BODY_LIMIT {
            return Err(TOO_LARGE);
        }
        let Some(chunk) = wire.get(at..at + size + 2) else {
            return Ok(None);
        };
        let (data, end) = chunk.split_at(size);
        if end != b"\r\n" {
            return Err(BAD);
        }
        body.extend_from_slice(data);
        at += size + 2;
    }
}

/// Skips trailer lines up to the empty one that ends the message.
fn skip_trailers(wire: &[u8]) -> Result<Option<usize>, Refusal> {
    let mut at = 0;
    while let Some(line) = wire[at..].windows(2).position(|pair| pair == b"\r\n") {
        at += line + 2;
        if line == 0 {
            return Ok(Some(at));
        }
    }
    if wire.len() > HEAD_LIMIT {
        return Err(refuse(431, "the trailers are longer than 16 KiB"));
    }
    Ok(None)
}

/// `http://host/path?query` and `/path?query` both give the path and the query.
fn split_target(target: &str) -> (&str, &str) {
    let origin = match target.find("://") {
        Some(scheme) if !target.starts_with('/') => {
            let rest = &target[scheme + 3..];
            rest.find('/').map_or("/", |slash| &rest[slash..])
        }
        _ => target,
    };
    origin.split_once('?').unwrap_or((origin, ""))
}

#[cfg(test)]
#[path = "request_parser_tests.rs"]
mod tests;
