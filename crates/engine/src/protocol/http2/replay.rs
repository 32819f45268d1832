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
    told: Vec<(u32, ReplayedEnd)>,
    end: Option<String>,
    /// Exchanges that wait for more.
    open: Vec<(u32, ServerHandling)>,
}

impl Http2Replay {
    /// Replays these bytes in pieces of this size, either from the start or once all requests are sent.
    pub fn of(said: &[u8], size: usize, sent: bool) -> Self {
        let mut talk = Http2::new(8);
        talk.phase = Phase::Greeted;
        let (mut told, mut end) = (Vec::new(), None);
        if sent {
            let mut settings = Vec::new();
            frame::put_head(0, kind::SETTINGS, 0, 0, &mut settings);
            talk.handle_bytes(&settings, teller(&mut told)).expect("it is what servers begin with");
            for (exchange, (method, body, content)) in
                (0..).zip([("GET", 0, true), ("HEAD", 0, false), ("POST", BODY, true), ("GET", 0, false)])
            {
                let who = RenderContext { number: exchange.into(), seed: 1, taken: &[] };
                talk.send(&mut request(method, body), &who, b"", exchange, content);
            }
        }
        for piece in said.chunks(size) {
            if let Err(broken) = talk.handle_bytes(piece, teller(&mut told)) {
                end = Some(broken.why);
                break;
            }
            // A server that reads everything sent to it.
            talk.flush(&mut Stream::Null { answered: true }).expect("nobody is there to refuse it");
            talk.assert_bounded();
        }
        let mut open = Vec::new();
        talk.each_open(&mut |exchange, touch| open.push((exchange, touch)));
        open.sort_unstable_by_key(|(exchange, _)| *exchange);
        Self { told: told.into_iter().map(result).collect(), end, open }
    }

    /// Whether it ended because the server overflowed a window.
    pub fn is_too_wide(&self) -> bool {
        self.end == Some(upload::window_overflow().why)
    }
}

/// Status and content or failure, and how the server handled it.
type ReplayedEnd = (Result<(u16, Option<Box<Content>>), String>, ServerHandling);

fn teller(told: &mut Vec<Completion>) -> CompletionSink<'_> {
    CompletionSink { told, received_ns: 0 }
}

fn result(told: Completion) -> (u32, ReplayedEnd) {
    let answer = told.result.map(|answer| {
        let status = answer.status.expect("HTTP has a status");
        (status, answer.content)
    });
    (told.exchange, (answer.map_err(|why| why.to_string()), told.touch))
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
        assert!(self.pieces.held() <= frame::HEAD + frame::PAYLOAD);
        assert!(self.block.as_ref().is_none_or(|block| block.bytes.len() <= answers::BLOCK_LIMIT));
        assert!(self.decoder.held() <= 8 * hpack::TABLE_SIZE, "{}", self.decoder.held());
        assert!(self.uploads.len() <= self.open.len() + 4, "{}", self.uploads.len());
        assert!(self.out.is_empty() && !self.blocked);
    }
}
