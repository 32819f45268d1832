//! Encodes [`Answer`]s to bytes. Large bodies are generated while they are sent, so that ten
//! thousand of them at once do not need ten thousand times their size.

use crate::answer::{Answer, Body, Framing};
use http::StatusCode;
use std::io::Write;

/// Bytes of a large body generated at a time.
const CHUNK_SIZE: usize = 64 * 1024;
static FILLER: [u8; CHUNK_SIZE] = [b'x'; CHUNK_SIZE];

/// Bytes to be sent.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    buffer: Vec<u8>,
    sent: usize,
    filler: u64,
    chunked: bool,
}

/// What the request implies for its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerForm {
    /// HEAD: no body.
    pub(crate) head_only: bool,
    /// HTTP/1.1: chunks and interim answers are understood.
    pub(crate) is_http11: bool,
    pub(crate) keep_alive: bool,
}

impl SendBuffer {
    /// Queues an answer. Returns whether the connection can be used again after it.
    pub(crate) fn push(&mut self, answer: &Answer, form: AnswerForm) -> bool {
        let framing = match answer.framing {
            Framing::Chunked if !form.is_http11 => Framing::Close,
            framing => framing,
        };
        let keep_alive = form.keep_alive && framing != Framing::Close;
        let out = &mut self.buffer;
        if answer.interim && form.is_http11 {
            out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
            out.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n");
        }
        let _ = write!(out, "HTTP/1.1 {} {}\r\nserver: torment\r\n", answer.status, reason(answer.status));
        for (name, value) in &answer.headers {
            push_header(out, name, value);
        }
        // These two never have a body (RFC 9110, 15.3.5 and 15.4.5).
        let bodiless = matches!(answer.status, 204 | 304);
        if !bodiless {
            push_header(out, "content-type", answer.content_type);
            match framing {
                Framing::Length => {
                    let _ = write!(out, "content-length: {}\r\n", answer.body.len());
                }
                Framing::Chunked => push_header(out, "transfer-encoding", "chunked"),
                Framing::Close => {}
            }
        }
        if !keep_alive {
            push_header(out, "connection", "close");
        } else if !form.is_http11 {
            push_header(out, "connection", "keep-alive");
        }
        out.extend_from_slice(b"\r\n");
        if !bodiless && !form.head_only {
            self.push_body(&answer.body, framing == Framing::Chunked);
        }
        keep_alive
    }

    fn push_body(&mut self, body: &Body, chunked: bool) {
        let bytes = match body {
            Body::Text(text) => text.as_bytes(),
            Body::Raw(bytes) => bytes,
            Body::Filler(n) => {
                (self.filler, self.chunked) = (*n, chunked);
                if *n == 0 && chunked {
                    self.buffer.extend_from_slice(b"0\r\n\r\n");
                }
                return;
            }
        };
        if chunked {
            self.buffer.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
            self.buffer.extend_from_slice(bytes);
            self.buffer.extend_from_slice(if bytes.is_empty() { b"\r\n" } else { b"\r\n0\r\n\r\n" });
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// The next bytes to send; empty when all are sent.
    pub(crate) fn next(&mut self) -> &[u8] {
        if self.sent == self.buffer.len() && self.filler > 0 {
            self.buffer.clear();
            self.sent = 0;
        }
        if self.filler > 0 && self.buffer.len() < CHUNK_SIZE {
            let n = self.filler.min(CHUNK_SIZE as u64);
            self.filler -= n;
            if self.chunked {
                self.buffer.extend_from_slice(format!("{n:x}\r\n").as_bytes());
            }
            self.buffer.extend_from_slice(&FILLER[..n as usize]);
            if self.chunked {
                self.buffer.extend_from_slice(if self.filler == 0 { b"\r\n0\r\n\r\n" } else { b"\r\n" });
            }
        }
        &self.buffer[self.sent..]
    }

    /// The kernel took `n` of the bytes returned by `next`.
    pub(crate) fn advance(&mut self, n: usize) {
        self.sent += n;
        if self.sent == self.buffer.len() && self.filler == 0 {
            // An idle connection holds no memory.
            *self = Self::default();
        }
    }
}

fn push_header(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Statuses need not be standard ones.
fn reason(status: u16) -> &'static str {
    StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("As Asked")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: AnswerForm = AnswerForm { head_only: false, is_http11: true, keep_alive: true };

    /// All bytes of an answer, taken in steps of at most `step`.
    fn encoded(answer: &Answer, form: AnswerForm, step: usize) -> (Vec<u8>, bool) {
        let (mut out, mut all) = (SendBuffer::default(), Vec::new());
        let again = out.push(answer, form);
        loop {
            let next = out.next();
            if next.is_empty() {
                return (all, again);
            }
            let n = next.len().min(step);
            all.extend_from_slice(&next[..n]);
            out.advance(n);
        }
    }

    fn check(answer: &Answer, form: AnswerForm, expected: &str, again: bool) {
        let (bytes, keep_alive) = encoded(answer, form, usize::MAX);
        assert_eq!((String::from_utf8_lossy(&bytes).as_ref(), keep_alive), (expected, again));
        assert_eq!(encoded(answer, form, 1).0, bytes, "sent byte by byte");
    }

    #[test]
    fn answers_are_framed() {
        let head = "HTTP/1.1 200 OK\r\nserver: torment\r\ncontent-type: text/plain; charset=utf-8\r\n";
        let bytes = "HTTP/1.1 200 OK\r\nserver: torment\r\ncontent-type: application/octet-stream\r\n";
        let old = AnswerForm { is_http11: false, ..PLAIN };
        check(&Answer::text(200, "hi"), PLAIN, &format!("{head}content-length: 2\r\n\r\nhi"), true);
        check(
            &Answer::text(200, "hi"),
            AnswerForm { head_only: true, ..PLAIN },
            &format!("{head}content-length: 2\r\n\r\n"),
            true,
        );
        check(
            &Answer::text(200, "hi"),
            old,
            &format!("{head}content-length: 2\r\nconnection: keep-alive\r\n\r\nhi"),
            true,
        );
        check(
            &Answer::bytes(Body::Filler(3), Framing::Chunked),
            PLAIN,
            &format!("{bytes}transfer-encoding: chunked\r\n\r\n3\r\nxxx\r\n0\r\n\r\n"),
            true,
        );
        check(
            &Answer::bytes(Body::Filler(0), Framing::Chunked),
            PLAIN,
            &format!("{bytes}transfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
            true,
        );
        check(
            &Answer::bytes(Body::Filler(3), Framing::Chunked),
            old,
            &format!("{bytes}connection: close\r\n\r\nxxx"),
            false,
        );
        check(
            &Answer::bytes(Body::Filler(2), Framing::Close),
            PLAIN,
            &format!("{bytes}connection: close\r\n\r\nxx"),
            false,
        );
        check(&Answer::text(204, "no"), PLAIN, "HTTP/1.1 204 No Content\r\nserver: torment\r\n\r\n", true);
    }

    #[test]
    fn large_bodies_come_in_pieces() {
        for n in [CHUNK_SIZE as u64 - 1, CHUNK_SIZE as u64, CHUNK_SIZE as u64 + 1, 1_000_000] {
            let (bytes, _) = encoded(&Answer::bytes(Body::Filler(n), Framing::Length), PLAIN, 10_000);
            assert_eq!(bytes.iter().filter(|b| **b == b'x').count() as u64, n);
        }
    }
}
