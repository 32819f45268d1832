//! Sends each request once: is the target there, what does it answer?

use crate::EngineConfig;
use crate::content::Content;
use crate::error::{CONNECT_LIMIT, Error, reason};
use crate::outstanding::User;
use crate::prepared_flows::{CookieOrigin, PreparedFlows, PreparedStep};
use crate::protocol::{Completion, PreparedRequest, Protocol, Readiness, SessionSetup};
use crate::stream::{ReadBuffer, Stream};
use crate::wait_policy::to_timespec;
use plan::RenderContext;
use record::Failure;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use units::Nanos;

/// The interval at which a connection attempt is polled.
const CONNECT_POLL: Nanos = Nanos::from_millis(1);

/// One request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Where it went.
    pub to: String,
    /// The request as HTTP/1.1 would write it, or the statement with its parameters.
    pub request: Vec<u8>,
    /// The answer: status line, headers, body, as far as the protocol has them.
    pub answer: Vec<u8>,
    /// Status code, if the protocol has one.
    pub status: Option<u16>,
    /// Whether the answer is as the plan expects, and why not.
    pub verdict: Result<(), Failure>,
    /// From the first packet to a usable connection, TLS and login included; zero if already open.
    pub connect: Nanos,
    /// From the request's first byte sent to the answer's first received.
    pub first_byte: Nanos,
    /// From the request's first byte sent to the answer's last received.
    pub service: Nanos,
}

/// Makes one connection, TLS session included, and sends nothing.
///
/// Fails, with the reason in words, if that takes longer than [`CONNECT_LIMIT`].
pub fn connect_once(config: &EngineConfig) -> Result<(), Error> {
    BlockingConnection::connect(config, PreparedFlows::new(config)?.session.as_ref()).map(|_| ())
}

/// Sends the requests of one user of each flow, or only the very first, and waits for each whole answer, at
/// most for its timeout; connecting may take [`CONNECT_LIMIT`] besides. A flow ends early at an answer that the
/// plan does not expect. There are no pauses between steps.
///
/// Fails, with the reason in words, if there is no connection, no TLS session, no answer, or no valid one.
pub fn exchanges_once(config: &EngineConfig, only_first: bool) -> Result<Vec<Exchange>, Error> {
    let mut script = PreparedFlows::new(config)?;
    let PreparedFlows { flows, session, cookie_origin, seed, .. } = &mut script;
    let mut done = Vec::new();
    let mut idle_connection = None;
    for flow in flows {
        let (mut user, cookie_origin) = (User::default(), flow.cookies.then_some(&*cookie_origin));
        for step in &mut flow.steps {
            let began = sys::monotonic_ns();
            let open = idle_connection.take().filter(|open: &BlockingConnection| open.protocol.room() > 0);
            let (mut connection, connect) = match open {
                Some(open) => (open, Nanos::ZERO),
                None => {
                    let connection = BlockingConnection::connect(config, session.as_ref())?;
                    (connection, Nanos(sys::monotonic_ns() - began))
                }
            };
            let mut exchange = connection.exchange(config, step, &mut user, cookie_origin, *seed)?;
            exchange.connect = connect;
            let ended = exchange.verdict.is_err();
            done.push(exchange);
            if only_first {
                return Ok(done);
            }
            idle_connection = Some(connection);
            if ended {
                break;
            }
        }
    }
    Ok(done)
}

struct BlockingConnection {
    stream: Stream,
    protocol: Protocol,
    inbox: ReadBuffer,
}

impl BlockingConnection {
    fn connect(config: &EngineConfig, session: Option<&Arc<SessionSetup>>) -> Result<Self, Error> {
        let to = config.endpoint.describe();
        let connect_error = |why: io::Error| match why.kind() {
            _ if why.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
                Error::Tls { to: to.clone(), why: why.to_string() }
            }
            // The server's message at login, or what is wrong with it.
            io::ErrorKind::InvalidData
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ResourceBusy
            | io::ErrorKind::UnexpectedEof
                if session.is_some() =>
            {
                Error::Session { to: to.clone(), why: why.to_string() }
            }
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof if config.endpoint.tls.is_some() => {
                Error::Tls { to: to.clone(), why: why.to_string() }
            }
            _ => Error::Connect { to: to.clone(), why },
        };
        let limit = sys::monotonic_ns() + CONNECT_LIMIT.as_nanos() as u64;
        let stream = Stream::connect(&config.endpoint, 0).map_err(connect_error)?;
        let mut connection = Self { stream, protocol: Protocol::Undecided, inbox: ReadBuffer::new() };
        while !connection
            .protocol
            .establish(&config.endpoint, session, &mut connection.stream, &mut connection.inbox)
            .map_err(connect_error)?
        {
            let now = sys::monotonic_ns();
            if now > limit {
                return Err(Error::Connect { to, why: io::ErrorKind::TimedOut.into() });
            }
            // A TLS handshake waits for bytes, a TCP one for room to write: a short wait serves both.
            wait(&connection.stream, PollFlags::IN, now + CONNECT_POLL.0);
        }
        connection.inbox.count = 0;
        Ok(connection)
    }

    fn exchange(
        &mut self,
        config: &EngineConfig,
        step: &mut PreparedStep,
        user: &mut User,
        cookie_origin: Option<&CookieOrigin>,
        seed: u64,
    ) -> Result<Exchange, Error> {
        let to = config.endpoint.describe();
        let is_sql = matches!(step.prepared, PreparedRequest::Sql { .. });
        let error = |why: String| match is_sql {
            true => Error::Session { to: to.clone(), why },
            false => Error::NotHttp { to: to.clone(), why },
        };
        let Self { stream, protocol, inbox } = self;
        step.prepared.want_content();
        let (mut cookies, context) = (Vec::new(), RenderContext { number: 0, seed, extracted: &user.taken });
        if let Some(cookie_origin) = cookie_origin {
            user.jar.header(&cookie_origin.cookie_context(&step.path), &mut cookies);
        }
        let request = step.prepared.preview(&context, &cookies);
        inbox.count = 0;
        let sent = sys::monotonic_ns();
        let io_error = |e: io::Error| error(reason(&e));
        protocol.send(stream, &mut step.prepared, &context, &cookies, 0).map_err(io_error)?;
        protocol.flush(stream).map_err(io_error)?;
        let (mut completions, mut first_byte): (Vec<Completion>, Option<u64>) = (Vec::new(), None);
        let limit = sent + step.timeout.0;
        let result = loop {
            let received = protocol.receive(stream, inbox, Readiness::End, &mut completions);
            if inbox.count > 0 {
                first_byte.get_or_insert_with(sys::monotonic_ns);
            }
            if let Some(completion) = completions.pop() {
                break completion.result;
            }
            let mut awaited = PollFlags::IN;
            awaited.set(PollFlags::OUT, protocol.wants_write(stream));
            match received {
                Ok(()) if wait(stream, awaited, limit) => {}
                Ok(()) => return Err(Error::NoAnswer { to, waited: step.timeout }),
                Err(Failure::Closed) if inbox.count == 0 => {
                    return Err(error("the connection was closed without an answer".to_owned()));
                }
                Err(Failure::Closed) => {
                    return Err(error("the connection was closed in the middle of the answer".to_owned()));
                }
                Err(Failure::Protocol(why)) => return Err(error(why)),
                Err(why) => break Err(why),
            }
        };
        let now = sys::monotonic_ns();
        let (status, verdict, content) = match result {
            Ok(answer) => {
                let verdict = step.check_answer(&answer, Some(user), cookie_origin);
                (answer.status, verdict, answer.content)
            }
            Err(why) => (None, Err(why), None),
        };
        // For display: redact secrets.
        let redacted = |text: Vec<u8>| config.secrets.redact(&text).into_owned();
        let verdict = verdict.map_err(|mut why: Failure| {
            why.visit_texts(&mut |text| config.secrets.redact_in_place(text));
            why
        });
        Ok(Exchange {
            to,
            request: redacted(request),
            answer: redacted(format_answer(self.protocol.name(), status, content.as_deref())),
            status,
            verdict,
            connect: Nanos::ZERO,
            first_byte: Nanos(first_byte.unwrap_or(now) - sent),
            service: Nanos(now - sent),
        })
    }
}

/// An answer as text, head and body.
fn format_answer(protocol: &str, status: Option<u16>, content: Option<&Content>) -> Vec<u8> {
    let Some(status) = status else {
        // What a statement did, in the server's words.
        return content.map_or_else(Vec::new, |content| [&content.body[..], b"\n"].concat());
    };
    let mut out = format!("{protocol} {status}\r\n").into_bytes();
    let Some(content) = content else { return out };
    for (name, value) in &content.headers {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&content.body);
    out
}

/// Waits for the socket until `limit`, on the monotonic clock; false once that has passed.
fn wait(stream: &Stream, flags: PollFlags, limit: u64) -> bool {
    let Some(socket) = stream.socket() else { return true };
    let left = to_timespec(Nanos(limit.saturating_sub(sys::monotonic_ns())));
    let mut fds = [PollFd::from_borrowed_fd(socket.as_fd(), flags)];
    // An interrupted wait is just shorter: the caller checks again.
    let _ = poll(&mut fds, Some(&left));
    sys::monotonic_ns() < limit
}
