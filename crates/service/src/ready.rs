//! Whether a program can be used: asked once, answered with yes or what was seen instead.

use crate::port;
use plan::Ready;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// For one answer. A first request can take long; another is sent then.
const PATIENCE: Duration = Duration::from_secs(2);
/// Of an answer: its first line is what counts.
const LONGEST: usize = 4096;

/// Who is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Whoever answers there.
    Http { at: SocketAddr, host: String, path: String },
    /// Whoever listens there.
    Port(SocketAddr),
    /// Its output, by the guard.
    Log(String),
    /// Nobody.
    Started,
}

impl Asked {
    /// Fails with what is wrong with the URL.
    pub fn of(ready: &Ready) -> Result<Self, String> {
        Ok(match ready {
            Ready::Http(url) => http(url)?,
            Ready::Port(port) => Self::Port((Ipv4Addr::LOCALHOST, *port).into()),
            Ready::Log(text) => Self::Log(text.clone()),
            Ready::Started => Self::Started,
        })
    }

    /// The port of this machine at which somebody must listen.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Http { at, .. } | Self::Port(at) => port::is_local(at.ip()).then_some(at.port()),
            Self::Log(_) | Self::Started => None,
        }
    }

    /// Whether it can be used, or what was seen instead.
    pub fn answers(&self) -> Result<(), String> {
        match self {
            Self::Http { at, host, path } => match get(*at, host, path) {
                Ok(status) if status < 400 => Ok(()),
                Ok(status) => Err(format!(
                    "http://{host}{path} was answered with status {status}, and one below 400 is expected"
                )),
                Err(why) => Err(format!("http://{host}{path} was not answered ({why})")),
            },
            Self::Port(at) => match TcpStream::connect_timeout(at, PATIENCE) {
                Ok(_) => Ok(()),
                Err(why) => Err(format!("nobody listens at {at} ({why})")),
            },
            Self::Log(text) => Err(format!("it printed no line with '{text}'")),
            Self::Started => Ok(()),
        }
    }
}

/// A URL as [`Asked::Http`].
fn http(url: &str) -> Result<Asked, String> {
    let rest = url.strip_prefix("http://").ok_or_else(|| format!("'{url}' is no http:// URL"))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let path = path.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    // The colons of an address in brackets separate no port.
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            (name, port.parse().map_err(|_| format!("'{url}': '{port}' is no port"))?)
        }
        _ => (host, 80),
    };
    let at = sys::address(name, port, PATIENCE).map_err(|e| format!("'{url}': {e}"))?;
    // Of a name with several addresses none takes connections yet: services listen at the first or at all.
    Ok(Asked::Http { at, host: host.to_owned(), path })
}

/// The status of the answer to a GET.
fn get(at: SocketAddr, host: &str, path: &str) -> io::Result<u16> {
    let until = Instant::now() + PATIENCE;
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // At once: whoever answers the first line may not wait for the rest.
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: torment\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = [0; LONGEST];
    while !answer.contains(&b'\n') && answer.len() < LONGEST {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer within 2 s"));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => answer.extend_from_slice(&buffer[..length]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
    status(&answer).ok_or_else(|| io::Error::other("what came back is no HTTP/1.1"))
}

/// The status in an answer's first line.
fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    words.next()?.starts_with("HTTP/1.").then(|| words.next())??.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn urls() {
        let asked = |url: &str| match http(url).unwrap_or_else(|e| panic!("{e}")) {
            Asked::Http { at, host, path } => (at.to_string(), host, path),
            other => panic!("{other:?}"),
        };
        let of = |at: &str, host: &str, path: &str| (at.to_owned(), host.to_owned(), path.to_owned());
        assert_eq!(asked("http://127.0.0.1:8080/a?b=c#d"), of("127.0.0.1:8080", "127.0.0.1:8080", "/a?b=c"));
        assert_eq!(asked("http://[::1]:81"), of("[::1]:81", "[::1]:81", "/"));
        assert_eq!(asked("http://[::1]?x"), of("[::1]:80", "[::1]", "/?x"));
        for wrong in ["https://a/", "http://127.0.0.1:x/", "127.0.0.1"] {
            assert!(http(wrong).expect_err("it is wrong").contains(wrong));
        }
    }

    #[test]
    fn statuses() {
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\n", Some(200)),
            ("HTTP/1.0 503\r\n\r\n", Some(503)),
            ("HTTP/1.1 200", Some(200)),
            ("HTTP/2 200\n", None),
            ("", None),
            ("SSH-2.0-x\n", None),
        ] {
            assert_eq!(status(answer.as_bytes()), expected, "{answer}");
        }
    }

    #[test]
    fn a_status_below_400_is_ready() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let at = listener.local_addr().expect("it is bound");
        let server = std::thread::spawn(move || {
            for status in ["HTTP/1.1 503 No\r\n\r\n", "HTTP/1.1 302 There\r\n\r\n", ""] {
                let (mut stream, _) = listener.accept().expect("somebody asks");
                let mut buffer = [0; 1000];
                let _ = stream.read(&mut buffer);
                stream.write_all(status.as_bytes()).expect("it waits for the answer");
            }
        });
        let asked = Asked::of(&Ready::Http(format!("http://{at}/health"))).expect("a URL");
        assert_eq!(asked.port(), Some(at.port()));
        assert!(asked.answers().expect_err("503").contains("/health was answered with status 503"));
        assert_eq!(asked.answers(), Ok(()));
        assert!(asked.answers().expect_err("no answer").contains("no HTTP/1.1"));
        server.join().expect("it answered three times");
        assert!(asked.answers().expect_err("nobody is there").contains("was not answered"));
        assert!(Asked::Port(at).answers().expect_err("nobody is there").contains("nobody listens"));
    }
}
