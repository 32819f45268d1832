//! One question at a time over one connection of HTTP/1.1, with a deadline and a bound.

use super::place::Place;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The most of a body that is read: node exporters of large machines say about one megabyte.
pub(super) const MOST: usize = 4 << 20;
/// The most of a head, and of a line between chunks.
const MOST_OF_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 100;

/// To an endpoint; made anew when it ends.
pub(super) struct Connection {
    place: Place,
    stream: Option<TcpStream>,
}

impl Connection {
    pub fn to(place: Place) -> Self {
        Self { place, stream: None }
    }

    /// The body of the answer to a GET, or why there is none.
    pub fn get(&mut self, deadline: Instant) -> Result<Vec<u8>, String> {
        if let Some(stream) = self.stream.take().filter(is_open) {
            return self.ask(stream, deadline);
        }
        let patience = deadline.saturating_duration_since(Instant::now());
        if patience.is_zero() {
            return Err(TOO_LONG.to_owned());
        }
        let stream = TcpStream::connect_timeout(&self.place.address, patience).map_err(|e| failed(&e))?;
        self.ask(stream, deadline)
    }

    fn ask(&mut self, mut stream: TcpStream, deadline: Instant) -> Result<Vec<u8>, String> {
        let Place { host, path, authorization, .. } = &self.place;
        let authorization =
            authorization.as_ref().map_or_else(String::new, |a| format!("Authorization: {a}\r\n"));
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: torment\r\n\
             Accept: text/plain;version=0.0.4\r\n{authorization}\r\n"
        );
        limit(&stream, deadline).map_err(|e| failed(&e))?;
        stream.write_all(request.as_bytes()).map_err(|e| failed(&e))?;
        let (body, keep) = answer(&mut Until { stream: &stream, deadline })?;
        if keep {
            self.stream = Some(stream);
        }
        Ok(body)
    }
}

/// Whether the other end has not closed a connection that was kept.
fn is_open(stream: &TcpStream) -> bool {
    let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    let waits = matches!(peeked, Err(e) if e.kind() == ErrorKind::WouldBlock);
    waits && stream.set_nonblocking(false).is_ok()
}

const TOO_LONG: &str = "no answer within 900 ms";

fn failed(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => TOO_LONG.to_owned(),
        _ => error.to_string(),
    }
}

fn limit(stream: &TcpStream, deadline: Instant) -> std::io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    // Nothing would mean without a limit.
    let left = left.max(Duration::from_micros(1));
    stream.set_read_timeout(Some(left))?;
    stream.set_write_timeout(Some(left))
}

/// Reads until a moment, however slowly the bytes come.
struct Until<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if Instant::now() >= self.deadline {
            return Err(ErrorKind::TimedOut.into());
        }
        limit(self.stream, self.deadline)?;
        self.stream.read(buffer)
    }
}

/// What was read and not used yet.
struct Reader<'a, R> {
    from: &'a mut R,
    bytes: Vec<u8>,
}

impl<R: Read> Reader<'_, R> {
    /// Reads some more; whether there was any.
    fn more(&mut self) -> Result<bool, String> {
        let mut buffer = [0; 16 << 10];
        loop {
            match self.from.read(&mut buffer) {
                Ok(n) => {
                    self.bytes.extend_from_slice(&buffer[..n]);
                    return Ok(n > 0);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(failed(&e)),
            }
        }
    }

    fn must_have_more(&mut self) -> Result<(), String> {
        match self.more()? {
            true => Ok(()),
            false => Err("the connection ended within the answer".to_owned()),
        }
    }

    fn take(&mut self, n: usize) -> Result<Vec<u8>, String> {
        while self.bytes.len() < n {
            self.must_have_more()?;
        }
        let rest = self.bytes.split_off(n);
        Ok(std::mem::replace(&mut self.bytes, rest))
    }

    /// A line without its end.
    fn line(&mut self) -> Result<Vec<u8>, String> {
        loop {
            if let Some(end) = self.bytes.windows(2).position(|w| w == b"\r\n") {
                let mut line = self.take(end + 2)?;
                line.truncate(end);
                return Ok(line);
            }
            if self.bytes.len() > MOST_OF_HEAD {
                return Err("the answer is no HTTP: a line of its chunks does not end".to_owned());
            }
            self.must_have_more()?;
        }
    }

    fn chunks(&mut self) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = line.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
            let size = std::str::from_utf8(size).ok().and_then(|s| usize::from_str_radix(s, 16).ok());
            let size = size.ok_or("the answer is no HTTP: the size of a chunk is no number")?;
            if size > MOST - body.len() {
                return Err(too_large());
            }
            if size == 0 {
                // Fields may follow, up to an empty line.
                while !self.line()?.is_empty() {}
                return Ok(body);
            }
            body.append(&mut self.take(size)?);
            if self.take(2)? != b"\r\n" {
                return Err("the answer is no HTTP: a chunk does not end where it says".to_owned());
            }
        }
    }
}

fn too_large() -> String {
    format!("the answer is larger than {} MB", MOST >> 20)
}

/// How long the body is.
#[derive(Debug, Clone, Copy)]
enum Length {
    Known(usize),
    Chunks,
    ToTheEnd,
}

/// The body of an answer, and whether the connection may be used again.
pub(super) fn answer(from: &mut impl Read) -> Result<(Vec<u8>, bool), String> {
    let mut reader = Reader { from, bytes: Vec::new() };
    let (head, length, keep) = loop {
        reader.must_have_more()?;
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&reader.bytes) {
            Ok(httparse::Status::Complete(head)) => {
                let (length, keep) = body_of(&response)?;
                break (head, length, keep);
            }
            Ok(httparse::Status::Partial) if reader.bytes.len() <= MOST_OF_HEAD => {}
            Ok(httparse::Status::Partial) => {
                return Err("the answer is no HTTP: its head does not end".to_owned());
            }
            Err(e) => return Err(format!("the answer is no HTTP: {e}")),
        }
    };
    reader.take(head)?;
    let body = match length {
        Length::Known(n) if n > MOST => return Err(too_large()),
        Length::Known(n) => reader.take(n)?,
        Length::Chunks => reader.chunks()?,
        Length::ToTheEnd => {
            while reader.more()? {
                if reader.bytes.len() > MOST {
                    return Err(too_large());
                }
            }
            std::mem::take(&mut reader.bytes)
        }
    };
    // What follows an answer was not asked for.
    Ok((body, keep && reader.bytes.is_empty()))
}

/// How the body of an answer is sent, and whether its connection may stay.
fn body_of(response: &httparse::Response<'_, '_>) -> Result<(Length, bool), String> {
    let code = response.code.unwrap_or_default();
    if code != 200 {
        return Err(format!("it answers {code} {}", response.reason.unwrap_or_default())
            .trim_end()
            .to_owned());
    }
    let value = |name: &str| {
        let header = response.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(header.value).trim().to_ascii_lowercase())
    };
    if let Some(encoding) = value("content-encoding").filter(|e| e != "identity") {
        return Err(format!("its answer is packed ({encoding}), which was not asked for"));
    }
    let keep = response.version == Some(1) && value("connection").is_none_or(|c| !c.contains("close"));
    match (value("transfer-encoding"), value("content-length")) {
        (Some(coding), _) if coding == "chunked" => Ok((Length::Chunks, keep)),
        (Some(coding), _) => Err(format!("its answer is sent in a way not known here ({coding})")),
        (None, Some(length)) => match length.parse() {
            Ok(length) => Ok((Length::Known(length), keep)),
            Err(_) => Err("the answer is no HTTP: its length is no number".to_owned()),
        },
        (None, None) => Ok((Length::ToTheEnd, false)),
    }
}
