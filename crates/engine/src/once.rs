//! One request by itself: is the target there, what does it say?

use crate::answer::{Answer, AnswerReader, Progress};
use crate::request::RequestWriter;
use crate::stream::Stream;
use crate::{CONNECT_LIMIT, Error, Job};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use units::Nanos;

/// How often a connection being made is looked at.
const CONNECT_STEP: Nanos = Nanos::from_millis(1);

/// Everything of one request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Where it went.
    pub to: String,
    /// The request as sent.
    pub request: Vec<u8>,
    /// The answer as received, head and body, interim answers and chunk lines included.
    pub answer: Vec<u8>,
    /// Status code.
    pub status: u16,
    /// Whether the plan expects that status.
    pub expected: bool,
    /// From the first packet to a usable connection, TLS included.
    pub connect: Nanos,
    /// From the request's first byte sent to the answer's first received.
    pub first_byte: Nanos,
    /// From the request's first byte sent to the answer's last received.
    pub service: Nanos,
}

/// Makes one connection, TLS session included, and sends nothing.
///
/// Fails, with the reason in words, if there is none within [`CONNECT_LIMIT`].
pub fn connect_once(job: &Job) -> Result<(), Error> {
    connect(job).map(|_| ())
}

fn connect(job: &Job) -> Result<Stream, Error> {
    let to = job.endpoint.describe();
    let connect_error = |why: io::Error| match why.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof if job.endpoint.tls.is_some() => {
            Error::Tls { to: to.clone(), why: why.to_string() }
        }
        _ => Error::Connect { to: to.clone(), why },
    };
    let limit = sys::monotonic_ns() + CONNECT_LIMIT.as_nanos() as u64;
    let mut stream = Stream::connect(&job.endpoint, 0).map_err(connect_error)?;
    while !stream.established().map_err(connect_error)? {
        let now = sys::monotonic_ns();
        if now > limit {
            return Err(Error::Connect { to, why: io::ErrorKind::TimedOut.into() });
        }
        // A TLS handshake waits for bytes, a TCP one for room to write: a short wait serves both.
        wait(&stream, PollFlags::IN, now + CONNECT_STEP.0);
    }
    Ok(stream)
}

/// Sends the request of the first arrival and waits for its whole answer, at most for the plan's
/// time-out; connecting may take [`CONNECT_LIMIT`] beside it.
///
/// Fails, with the reason in words, if there is no connection, no TLS session, no answer, or no HTTP.
pub fn exchange_once(job: &Job) -> Result<Exchange, Error> {
    let to = job.endpoint.describe();
    let began = sys::monotonic_ns();
    let mut stream = connect(job)?;
    let sent = sys::monotonic_ns();
    let mut writer = RequestWriter::new(&job.request, &job.authority, job.generator.seed);
    let mut request = Vec::new();
    writer.write(0, &mut request);
    let broken = |why: io::Error| Error::NotHttp { to: to.clone(), why: crate::reason(&why) };
    let no_answer = || Error::NoAnswer { to: to.clone(), waited: job.request.timeout };
    let limit = sent + job.request.timeout.0;
    let mut written = 0;
    while written < request.len() || !stream.flush().map_err(broken)? {
        let count =
            if written < request.len() { stream.write(&request[written..]).map_err(broken)? } else { 0 };
        written += count;
        if count == 0 && !wait(&stream, PollFlags::OUT, limit) {
            return Err(no_answer());
        }
    }
    let mut reader = AnswerReader::new(job.request.method == "HEAD");
    let (mut bytes, mut first, mut buffer) = (Vec::new(), None, vec![0; 64 * 1024]);
    let done: Answer = loop {
        match stream.read(&mut buffer).map_err(broken)? {
            None => {
                if !wait(&stream, PollFlags::IN, limit) {
                    return Err(no_answer());
                }
            }
            Some(0) => match reader.closed() {
                Some(answer) => break answer,
                None => {
                    let why = if bytes.is_empty() {
                        "the connection was closed without an answer"
                    } else {
                        "the connection was closed in the middle of the answer"
                    };
                    return Err(Error::NotHttp { to, why: why.to_owned() });
                }
            },
            Some(count) => {
                first.get_or_insert_with(sys::monotonic_ns);
                bytes.extend_from_slice(&buffer[..count]);
                match reader.feed(&buffer[..count]) {
                    Ok(Progress::Done(answer)) => break answer,
                    Ok(Progress::More) => {}
                    Err(why) => return Err(Error::NotHttp { to, why }),
                }
            }
        }
    };
    let now = sys::monotonic_ns();
    Ok(Exchange {
        to,
        request,
        answer: bytes,
        status: done.status,
        expected: job.request.expect.iter().any(|range| range.contains(done.status)),
        connect: Nanos(sent - began),
        first_byte: Nanos(first.unwrap_or(now) - sent),
        service: Nanos(now - sent),
    })
}

/// Waits for the socket until `limit`, on the monotonic clock; false when that has passed.
fn wait(stream: &Stream, flags: PollFlags, limit: u64) -> bool {
    let Some(socket) = stream.socket() else { return true };
    let left = limit.saturating_sub(sys::monotonic_ns());
    let spec = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
    let mut fds = [PollFd::from_borrowed_fd(socket.as_fd(), flags)];
    // An interrupted wait is a short one: the caller looks again.
    let _ = poll(&mut fds, Some(&spec));
    sys::monotonic_ns() < limit
}
