//! Replays a server's bytes without a socket: for the fuzzers.

use super::control::CompletionSink;
use super::frame::{self, kind};
use super::{Http2, Phase, RequestWriter, answers, hpack, upload};
use crate::content::Content;
use crate::protocol::{Completion, ServerHandling};
use crate::stream::Stream;
use plan::{RenderContext, Request, Template};

/// Longer than the initial windows: some of it waits for the server.
const BODY: usize = 100_000;

/// The results of exchanges in order, and how the connection ended, if it did.
#[derive(Debug, PartialEq)]
pub(crate) struct Http2Replay {
    answers: Vec<(u32, ReplayedEnd)>,
    end: Option<String>,
    /// Exchanges that wait for more.
    open: Vec<(u32, ServerHandling)>,
}

impl Http2Replay {
    /// Replays these bytes in pieces of this size, either from the start or once all requests are sent.
    pub fn of(bytes: &[u8], size: usize, sent: bool) -> Self {
        let mut connection = Http2::new(8);
        connection.phase = Phase::PrefaceSent;
        let (mut completions, mut end) = (Vec::new(), None);
        if sent {
            let mut settings = Vec::new();
            frame::put_header(0, kind::SETTINGS, 0, 0, &mut settings);
            connection
                .handle_bytes(&settings, sink(&mut completions))
                .expect("it is what servers begin with");
            for (exchange, (method, body, content)) in
                (0..).zip([("GET", 0, true), ("HEAD", 0, false), ("POST", BODY, true), ("GET", 0, false)])
            {
                let context = RenderContext { number: exchange.into(), seed: 1, extracted: &[] };
                connection.send(&mut request(method, body), &context, b"", exchange, content);
            }
        }
        for piece in bytes.chunks(size) {
            if let Err(broken) = connection.handle_bytes(piece, sink(&mut completions)) {
                end = Some(broken.why);
                break;
            }
            // A server that reads everything sent to it.
            connection.flush(&mut Stream::Null { answered: true }).expect("nobody is there to refuse it");
            connection.assert_bounded();
        }
        let mut open = Vec::new();
        connection.each_open(&mut |exchange, handling| open.push((exchange, handling)));
        open.sort_unstable_by_key(|(exchange, _)| *exchange);
        Self { answers: completions.into_iter().map(result).collect(), end, open }
    }

    /// Whether it ended because the server overflowed a window.
    pub fn is_too_wide(&self) -> bool {
        self.end == Some(upload::window_overflow().why)
    }
}

/// Status and content or failure, and how the server handled it.
type ReplayedEnd = (Result<(u16, Option<Box<Content>>), String>, ServerHandling);

fn sink(completions: &mut Vec<Completion>) -> CompletionSink<'_> {
    CompletionSink { completions, received_ns: 0 }
}

fn result(completion: Completion) -> (u32, ReplayedEnd) {
    let answer = completion.result.map(|answer| {
        let status = answer.status.expect("HTTP has a status");
        (status, answer.content)
    });
    (completion.exchange, (answer.map_err(|why| why.to_string()), completion.handling))
}

fn request(method: &str, body: usize) -> RequestWriter {
    let request = Request {
        method: method.to_owned(),
        path: Template::literal("/"),
        headers: Vec::new(),
        body: Template::literal(vec![b'x'; body]),
        expect: Vec::new(),
        checks: Vec::new(),
    };
    RequestWriter::new(&request, "example", false)
}

impl Http2 {
    /// Memory that the server controls stays small.
    fn assert_bounded(&self) {
        assert!(self.framer.held() <= frame::HEADER_SIZE + frame::MAX_PAYLOAD);
        assert!(self.header_block.as_ref().is_none_or(|block| block.bytes.len() <= answers::BLOCK_LIMIT));
        assert!(self.decoder.held() <= 8 * hpack::TABLE_SIZE, "{}", self.decoder.held());
        assert!(self.uploads.len() <= self.open.len() + 4, "{}", self.uploads.len());
        assert!(self.out.is_empty() && !self.blocked);
    }
}
