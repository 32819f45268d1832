//! HTTP/1.1 on one connection: one request at a time.

use super::http1_answer::{AnswerProgress, AnswerReader};
use super::http1_request::RequestWriter;
use super::{Answer, Completion, Readiness, ServerHandling, read_available};
use crate::stream::{ReadBuffer, Stream};
use crate::write_buffer::WriteBuffer;
use plan::RenderContext;
use record::Failure;
use std::io;
use units::Nanos;

pub(crate) struct Http1 {
    reader: AnswerReader,
    outbox: WriteBuffer,
    waiting: Option<u32>,
    /// Whether any byte of the answer has arrived.
    answer_begun: bool,
    /// When its first bytes arrived, if others were missing; zero otherwise.
    begun_ns: u64,
    /// Whether both sides would keep the connection for another request.
    keep_alive: bool,
    /// Whether the server has announced that it closes it.
    pub closes: bool,
    /// Idle seconds after which the server closes it, as it last said; 0: unknown.
    idle_s: u32,
}

impl Http1 {
    pub fn new() -> Self {
        Self {
            reader: AnswerReader::default(),
            outbox: WriteBuffer::default(),
            waiting: None,
            answer_begun: false,
            begun_ns: 0,
            keep_alive: true,
            closes: false,
            idle_s: 0,
        }
    }

    pub fn room(&self) -> usize {
        usize::from(self.waiting.is_none() && self.keep_alive)
    }

    pub fn send(
        &mut self,
        stream: &mut Stream,
        request: &mut RequestWriter,
        context: &RenderContext<'_>,
        cookies: &[u8],
        exchange: u32,
        content: bool,
    ) -> io::Result<()> {
        (self.waiting, self.answer_begun, self.begun_ns) = (Some(exchange), false, 0);
        self.reader.begin(request.is_head(), content);
        self.outbox.send(stream, request.encode(context, cookies))
    }

    pub fn receive(
        &mut self,
        stream: &mut Stream,
        inbox: &mut ReadBuffer,
        readiness: Readiness,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        // A server that accepts no more of the request may have answered already, and that is still to be read.
        let refused = self.outbox.flush(stream).is_err();
        read_available(stream, inbox, readiness, refused, |_, bytes, received_ns| {
            // Near the peer's end, no further event follows.
            self.handle_bytes(bytes, received_ns, readiness != Readiness::End, completions)
        })
    }

    /// Handles the next piece. `stays_open`: whether the connection stays open, as far as the kernel says.
    fn handle_bytes(
        &mut self,
        bytes: &[u8],
        received_ns: u64,
        stays_open: bool,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        if bytes.is_empty() {
            if let Some(answer) = self.reader.closed() {
                // An answer without a length implies that the connection ends with it.
                self.closes = true;
                self.complete(answer.status, received_ns, completions);
            }
            return Ok(());
        }
        if self.waiting.is_none() {
            // Unsolicited: a 408 before closing, or no HTTP at all.
            return Err(Failure::Closed);
        }
        self.answer_begun = true;
        match self.reader.feed(bytes).map_err(Failure::Protocol)? {
            AnswerProgress::Done(answer) => {
                self.idle_s = answer.idle_s;
                self.closes = !answer.keep_alive;
                self.keep_alive = answer.keep_alive && self.outbox.is_empty() && stays_open;
                self.complete(answer.status, received_ns, completions);
            }
            AnswerProgress::More if self.begun_ns == 0 => self.begun_ns = received_ns,
            AnswerProgress::More => {}
        }
        if self.keep_alive { Ok(()) } else { Err(Failure::Closed) }
    }

    /// Whether data waits for room in the socket.
    pub fn wants_write(&self) -> bool {
        !self.outbox.is_empty()
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_none()
    }

    pub fn idle_limit(&self) -> Option<Nanos> {
        (self.idle_s > 0).then(|| Nanos::from_secs(self.idle_s.into()))
    }

    pub fn each_open(&self, each: &mut dyn FnMut(u32, ServerHandling)) {
        let handling = if self.answer_begun { ServerHandling::Answered } else { ServerHandling::Unknown };
        self.waiting.into_iter().for_each(|exchange| each(exchange, handling));
    }

    fn complete(&mut self, status: u16, received_ns: u64, completions: &mut Vec<Completion>) {
        if let Some(exchange) = self.waiting.take() {
            let content = self.reader.take_content();
            let answer = Answer { status: Some(status), failure: None, content };
            completions.push(Completion {
                exchange,
                result: Ok(answer),
                received_ns,
                begun_ns: self.begun_ns,
                handling: ServerHandling::Answered,
            });
        }
    }
}
