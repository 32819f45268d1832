//! The protocol of a connection: encodes requests and decodes answers.
//!
//! A protocol never waits and reads no clock: it is given bytes when there are some, and says which exchanges
//! they end. The caller numbers the exchanges.

mod error_text;
mod framer;
mod http1;
mod http1_answer;
mod http1_request;
mod http2;
mod prepared_request;
mod sql;

use crate::content::Content;
use crate::resolved_target::ResolvedTarget;
use crate::stream::{ReadBuffer, Stream};
use http1::Http1;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use http1_answer::{AnswerProgress, AnswerReader};
use http2::Http2;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use http2::Http2Replay;
use plan::{HttpVersion, RenderContext, Target};
pub(crate) use prepared_request::PreparedRequest;
use record::Failure;
pub(crate) use sql::SessionSetup;
use sql::Sql;
use std::io;
use std::sync::Arc;
use units::Nanos;

/// A complete answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status; `None` for protocols without one.
    pub status: Option<u16>,
    /// A failure that the answer itself reports, whatever its status.
    pub failure: Option<Failure>,
    /// Headers and body, if wanted.
    pub content: Option<Box<Content>>,
}

/// How one exchange ended.
#[derive(Debug)]
pub(crate) struct Completion {
    pub exchange: u32,
    pub result: Result<Answer, Failure>,
    /// When the kernel received its last byte, on the monotonic clock; zero if unknown.
    pub received_ns: u64,
    /// The same of its first bytes, if they arrived before the others; zero if they did not, or if unknown.
    pub begun_ns: u64,
    /// How far the server is known to have handled it.
    pub handling: ServerHandling,
}

/// How far the server is known to have handled a request: decides whether it may be resent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerHandling {
    /// It has answered, at least in part, well or not.
    Answered,
    /// Its connection ended before any byte of the answer: unknown.
    Unknown,
    /// Not at all: it has refused this stream (RFC 9113 section 8.7).
    Refused,
    /// Not at all: it leaves without error, and has said that it did not process this stream.
    GoingAway,
}

pub(crate) enum Protocol {
    /// Not known until connected.
    Undecided,
    Http1(Http1),
    Http2(Box<Http2>),
    Sql(Box<Sql>),
}

/// What the kernel said before a connection is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// Bytes arrived. More of them, or the end, will cause another event.
    Bytes,
    /// The peer's end of the connection is near: no further event follows.
    End,
    /// Nothing: whatever is there, the end included, may have arrived without an event.
    None,
}

/// Reads what is there, and passes `handle` each piece with the receive time of its last byte; an empty one is
/// the peer's end.
///
/// `refused`: the peer accepts no more data, and all that it still sends comes without events.
fn read_available(
    stream: &mut Stream,
    inbox: &mut ReadBuffer,
    readiness: Readiness,
    refused: bool,
    mut handle: impl FnMut(&mut Stream, &[u8], u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    loop {
        let count = match stream.read(inbox) {
            Ok(Some(count)) => count,
            Ok(None) if !refused => return Ok(()),
            Ok(None) | Err(_) => return Err(Failure::Closed),
        };
        handle(stream, &inbox.buffer[..count], inbox.received_ns)?;
        if count == 0 {
            return Err(Failure::Closed);
        }
        if stream.is_emptied(count, inbox) && readiness == Readiness::Bytes && !refused {
            return Ok(());
        }
    }
}

impl Protocol {
    /// Continues connecting, and the handshake or login; true once requests may be sent. An error is final.
    pub fn establish(
        &mut self,
        endpoint: &ResolvedTarget,
        session: Option<&Arc<SessionSetup>>,
        stream: &mut Stream,
        inbox: &mut ReadBuffer,
    ) -> io::Result<bool> {
        if matches!(self, Self::Undecided) {
            if !stream.continue_connecting()? {
                return Ok(false);
            }
            *self = Self::begin(endpoint, session, stream);
        }
        match self {
            Self::Undecided => Ok(false),
            Self::Http1(_) => Ok(true),
            Self::Http2(connection) => connection.continue_handshake(stream, inbox),
            Self::Sql(connection) => connection.continue_login(endpoint.tls.as_ref(), stream, inbox),
        }
    }

    /// The protocol of a new connection: with TLS, as negotiated.
    fn begin(endpoint: &ResolvedTarget, session: Option<&Arc<SessionSetup>>, stream: &Stream) -> Self {
        if let Some(session) = session {
            return Self::Sql(Box::new(Sql::new(Arc::clone(session))));
        }
        let Target::Http(origin) = &endpoint.target else { return Self::Http1(Http1::new()) };
        let two = match origin.http {
            HttpVersion::One => false,
            HttpVersion::Two => true,
            // Without TLS there is no negotiation.
            HttpVersion::Either => stream.has_chosen_http2(),
        };
        if two { Self::Http2(Box::new(Http2::new(origin.streams))) } else { Self::Http1(Http1::new()) }
    }

    /// The protocol's name in a status line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Http1(_) => "HTTP/1.1",
            Self::Http2(_) => "HTTP/2",
            Self::Undecided | Self::Sql(_) => "",
        }
    }

    /// Whether the peer closes it without having announced that.
    pub fn is_closed_silently(&self) -> bool {
        matches!(self, Self::Http1(connection) if !connection.closes)
    }

    /// How many more requests may be sent now.
    pub fn room(&self) -> usize {
        match self {
            Self::Undecided => 0,
            Self::Http1(connection) => connection.room(),
            Self::Http2(connection) => connection.room(),
            Self::Sql(connection) => connection.room(),
        }
    }

    /// Sends a request, with the user's cookies, if any; its answer is reported later under the number
    /// `exchange`. An error breaks the connection, with all it carries.
    pub fn send(
        &mut self,
        stream: &mut Stream,
        request: &mut PreparedRequest,
        context: &RenderContext<'_>,
        cookies: &[u8],
        exchange: u32,
    ) -> io::Result<()> {
        match (self, request) {
            (Self::Http1(connection), PreparedRequest::Http(http)) => {
                connection.send(stream, &mut http.http1, context, cookies, exchange, http.content)
            }
            (Self::Http2(connection), PreparedRequest::Http(http)) => {
                connection.send(&mut http.http2, context, cookies, exchange, http.content);
                Ok(())
            }
            (Self::Sql(connection), PreparedRequest::Sql { statement, content }) => {
                connection.send(stream, statement, context, exchange, *content)
            }
            _ => unreachable!("a connection that is not made has no room, and a plan speaks one language"),
        }
    }

    /// Whether sent data waits for [`Protocol::flush`], to go out together with more.
    pub fn holds_back(&self) -> bool {
        matches!(self, Self::Http2(_))
    }

    /// Sends the data held back. An error breaks the connection.
    pub fn flush(&mut self, stream: &mut Stream) -> io::Result<()> {
        match self {
            Self::Undecided | Self::Http1(_) | Self::Sql(_) => Ok(()),
            Self::Http2(connection) => connection.flush(stream),
        }
    }

    /// Writes what waits for room in the socket, reads what is there, and reports each exchange that ends. An
    /// error breaks the connection; the exchanges that it still carries end with it.
    pub fn receive(
        &mut self,
        stream: &mut Stream,
        inbox: &mut ReadBuffer,
        readiness: Readiness,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        match self {
            Self::Undecided => Ok(()),
            Self::Http1(connection) => connection.receive(stream, inbox, readiness, completions),
            Self::Http2(connection) => connection.receive(stream, inbox, readiness, completions),
            Self::Sql(connection) => connection.receive(stream, inbox, readiness, completions),
        }
    }

    /// Whether sent data waits for room in the socket.
    pub fn wants_write(&self, stream: &Stream) -> bool {
        let waits = match self {
            Self::Undecided => false,
            Self::Http1(connection) => connection.wants_write(),
            Self::Http2(connection) => connection.wants_write(),
            Self::Sql(connection) => connection.wants_write(),
        };
        waits || stream.holds_back()
    }

    /// Nobody waits for this answer any longer; false if the connection must be closed.
    pub fn cancel(&mut self, exchange: u32) -> bool {
        match self {
            Self::Undecided | Self::Http1(_) => false,
            Self::Http2(connection) => connection.cancel(exchange),
            Self::Sql(connection) => connection.cancel(exchange),
        }
    }

    /// Whether this is HTTP with nothing in flight.
    pub fn is_idle(&self) -> bool {
        match self {
            Self::Undecided | Self::Sql(_) => false,
            Self::Http1(connection) => connection.is_idle(),
            Self::Http2(connection) => connection.is_idle(),
        }
    }

    /// After how long idle the server closes it, if it has said so.
    pub fn idle_limit(&self) -> Option<Nanos> {
        match self {
            Self::Http1(connection) => connection.idle_limit(),
            // HTTP/2 cannot express it.
            Self::Undecided | Self::Http2(_) | Self::Sql(_) => None,
        }
    }

    /// Calls `each` with every exchange not yet reported, and how far the server is known to have handled it
    /// should the connection end now.
    pub fn each_open(&self, each: &mut dyn FnMut(u32, ServerHandling)) {
        match self {
            Self::Undecided => {}
            Self::Http1(connection) => connection.each_open(each),
            Self::Http2(connection) => connection.each_open(each),
            Self::Sql(connection) => connection.each_open(each),
        }
    }
}
