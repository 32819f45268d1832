//! A client's connection: bytes in, exchanges, bytes out. It never waits; the models do.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown};

use crate::answer::Answer;
use crate::answer_encoder::{AnswerForm, SendBuffer};
use crate::clinic::HandlerResult;
use crate::request_log::RequestLog;
use crate::request_parser::{self, ParseResult, Request};
use crate::route::Route;

/// Bytes read and discarded after a refusal, so that the client, still sending, gets
/// to read the reason; closing at once would reset its connection.
const DRAIN_LIMIT: usize = 64 << 20;

pub(crate) struct Connection {
    pub(crate) socket: Arc<OwnedFd>,
    input: Vec<u8>,
    /// Parsing is pointless before this many bytes have arrived.
    bytes_needed: usize,
    sent_continue: bool,
    /// Only one exchange, whatever the client wants.
    single_use: bool,
    /// When the first bytes of the request in the inbox arrived at the socket.
    arrival: Option<Instant>,
    output: SendBuffer,
    /// Bytes discarded since a refusal.
    drained: Option<usize>,
}

/// Result of a read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReceiveResult {
    /// This many bytes, in the inbox.
    Bytes(usize),
    /// Nothing yet (or nothing wanted).
    WouldBlock,
    /// The client closed, or the connection broke.
    Closed,
}

/// A request that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    /// `None` for an invalid request; its connection is closed.
    route: Option<Route>,
    arrival: Instant,
    form: AnswerForm,
}

/// Whether a connection continues after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionReuse {
    KeepAlive,
    Close,
}

impl Connection {
    pub(crate) fn new(socket: Arc<OwnedFd>) -> Self {
        Self {
            socket,
            input: Vec::new(),
            bytes_needed: 1,
            sent_continue: false,
            single_use: false,
            arrival: None,
            output: SendBuffer::default(),
            drained: None,
        }
    }

    /// A connection that is closed after its first answer.
    pub(crate) fn new_single_use(socket: Arc<OwnedFd>) -> Self {
        Self { single_use: true, ..Self::new(socket) }
    }

    /// Reads once. The arrival time of the data comes from the kernel (of the newest segment, if there are
    /// several); else it is `ready`, when the socket was found readable, and without that it is now.
    pub(crate) fn receive(&mut self, scratch: &mut [u8], ready: Option<Instant>) -> ReceiveResult {
        let (n, age) = loop {
            match sys::recv_with_age(&self.socket, scratch) {
                Ok((0, _)) => return ReceiveResult::Closed,
                Ok(read) => break read,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return ReceiveResult::WouldBlock,
                Err(_) => return ReceiveResult::Closed,
            }
        };
        if let Some(thrown) = &mut self.drained {
            *thrown += n;
            return if *thrown > DRAIN_LIMIT { ReceiveResult::Closed } else { ReceiveResult::Bytes(n) };
        }
        if self.input.is_empty() {
            let now = Instant::now();
            self.arrival = Some(age.and_then(|age| now.checked_sub(age)).or(ready).unwrap_or(now));
        }
        self.input.extend_from_slice(&scratch[..n]);
        ReceiveResult::Bytes(n)
    }

    /// Takes the next complete request from the inbox, with the result of `reply`.
    pub(crate) fn next(
        &mut self,
        log: &RequestLog,
        handler: impl FnOnce(Route, &Request<'_>, Instant) -> HandlerResult,
    ) -> Option<(Exchange, HandlerResult)> {
        if self.input.len() < self.bytes_needed || self.drained.is_some() {
            return None;
        }
        let arrival = *self.arrival.get_or_insert_with(Instant::now);
        let (exchange, result, used) = match request_parser::parse(&self.input) {
            ParseResult::Partial { at_least, wants_continue } => {
                self.bytes_needed = at_least;
                if wants_continue && !self.sent_continue {
                    self.sent_continue = true;
                    // 25 bytes fit the socket's buffer; a client that gets none of them
                    // sends its body after a while all the same.
                    let _ = self.send(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                return None;
            }
            ParseResult::Whole { request, used } => {
                let route = Route::of(request.path);
                log.received(route, arrival);
                let form = AnswerForm {
                    head_only: request.method == "HEAD",
                    is_http11: request.is_http11,
                    keep_alive: request.keep_alive && !self.single_use,
                };
                let exchange = Exchange { route: Some(route), arrival, form };
                (exchange, handler(route, &request, arrival), used)
            }
            ParseResult::Refused(refusal) => {
                log.refused();
                let form = AnswerForm { head_only: false, is_http11: true, keep_alive: false };
                let answer = Answer::text(refusal.status, format!("{}\n", refusal.reason));
                (Exchange { route: None, arrival, form }, HandlerResult::Answer(answer), self.input.len())
            }
        };
        self.input.drain(..used);
        if self.input.is_empty() {
            // An idle connection holds no memory.
            self.input = Vec::new();
        }
        (self.bytes_needed, self.sent_continue, self.arrival) = (1, false, None);
        Some((exchange, result))
    }

    /// Queues the answer. Returns whether another exchange can follow on this connection.
    pub(crate) fn push(&mut self, exchange: &Exchange, answer: &Answer) -> ConnectionReuse {
        if self.output.push(answer, exchange.form) {
            ConnectionReuse::KeepAlive
        } else {
            ConnectionReuse::Close
        }
    }

    /// Sends what is queued; `false` when the socket accepts no more for now.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        loop {
            let next = self.output.next();
            if next.is_empty() {
                return Ok(true);
            }
            match rustix::net::send(&self.socket, next, SendFlags::NOSIGNAL) {
                Ok(n) => self.output.advance(n),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
    }

    /// The answer is sent: logs it. `KeepAlive` if the connection continues, if only to be
    /// drained after a refusal.
    pub(crate) fn finish(
        &mut self,
        log: &RequestLog,
        exchange: &Exchange,
        sent: &SentAnswer,
        after: ConnectionReuse,
    ) -> ConnectionReuse {
        match exchange.route {
            Some(route) => {
                log.answered(route, sent.status, exchange.arrival, sent.due, Instant::now());
                after
            }
            None => {
                self.drained = Some(0);
                match rustix::net::shutdown(&self.socket, Shutdown::Write) {
                    Ok(()) => ConnectionReuse::KeepAlive,
                    Err(_) => ConnectionReuse::Close,
                }
            }
        }
    }
}

/// What the log needs of an answer after it is gone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentAnswer {
    status: u16,
    due: Option<Instant>,
}

impl From<&Answer> for SentAnswer {
    fn from(answer: &Answer) -> Self {
        Self { status: answer.status, due: answer.not_before }
    }
}

impl Exchange {
    /// The client is gone, or the service ends, before the answer is sent.
    pub(crate) fn abandon(&self, log: &RequestLog) {
        if let Some(route) = self.route {
            log.abandoned(route);
        }
    }
}
