//! Readiness checks: one attempt, answered with yes or what was seen instead.

use crate::port;
use fetch::ServerAddress;
use plan::{ReadyCondition, UrlParts};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Timeout of one attempt. A first request can take long; it is then repeated.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// What is checked.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadyCheck {
    /// An answer to a GET.
    Http { at: SocketAddr, host: String, path: String },
    /// A listener at the address.
    Port(SocketAddr),
    /// A line of its output, checked by the guard.
    Log(String),
    /// Nothing.
    Started,
}

impl ReadyCheck {
    /// Fails with what is wrong with the URL.
    pub fn from_plan(ready: &ReadyCondition) -> Result<Self, String> {
        Ok(match ready {
            ReadyCondition::Http(url) => parse_http(url)?,
            ReadyCondition::Port(port) => Self::Port((Ipv4Addr::LOCALHOST, *port).into()),
            ReadyCondition::Log(text) => Self::Log(text.clone()),
            ReadyCondition::Started => Self::Started,
        })
    }

    /// The port of this machine that must have a listener.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Http { at, .. } | Self::Port(at) => port::is_local(at.ip()).then_some(at.port()),
            Self::Log(_) | Self::Started => None,
        }
    }

    /// Whether it is ready, or what was seen instead.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Http { at, host, path } => match get_status(*at, host, path) {
                Ok(status) if status < 400 => Ok(()),
                Ok(status) => Err(format!(
                    "http://{host}{path} was answered with status {status}, and one below 400 is expected"
                )),
                Err(why) => Err(format!("http://{host}{path} was not answered ({why})")),
            },
            Self::Port(at) => match TcpStream::connect_timeout(at, ATTEMPT_TIMEOUT) {
                Ok(_) => Ok(()),
                Err(why) => Err(format!("nothing listens at {at} ({why})")),
            },
            Self::Log(text) => Err(format!("it printed no line with '{text}'")),
            Self::Started => Ok(()),
        }
    }
}

/// A URL as [`ReadyCheck::Http`].
fn parse_http(url: &str) -> Result<ReadyCheck, String> {
    let parts = UrlParts::parse(url);
    let wrong = |expected: &str| format!("'{url}' is not {expected}");
    if parts.scheme != "http" {
        return Err(wrong("an http:// URL"));
    }
    let origin = parts.origin().map_err(wrong)?;
    let path = parts.path.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let at =
        sys::resolve_host(&origin.host, origin.port, ATTEMPT_TIMEOUT).map_err(|e| format!("'{url}': {e}"))?;
    // Of a name's several addresses, none accepts connections yet: services listen on the first or on all.
    Ok(ReadyCheck::Http { at, host: parts.host.to_owned(), path })
}

/// The status of the answer to a GET.
fn get_status(at: SocketAddr, host: &str, path: &str) -> Result<u16, String> {
    let agent = fetch::agent(ServerAddress::At(at), ATTEMPT_TIMEOUT, None);
    let answer = fetch::get(&agent, host, path).header("connection", "close").call();
    answer.map(|answer| answer.status().as_u16()).map_err(|why| fetch::describe_error(&why, ATTEMPT_TIMEOUT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn urls() {
        let parsed = |url: &str| match parse_http(url).unwrap_or_else(|e| panic!("{e}")) {
            ReadyCheck::Http { at, host, path } => (at.to_string(), host, path),
            other => panic!("{other:?}"),
        };
        let of = |at: &str, host: &str, path: &str| (at.to_owned(), host.to_owned(), path.to_owned());
        assert_eq!(parsed("http://127.0.0.1:8080/a?b=c#d"), of("127.0.0.1:8080", "127.0.0.1:8080", "/a?b=c"));
        assert_eq!(parsed("http://[::1]:81"), of("[::1]:81", "[::1]:81", "/"));
        assert_eq!(parsed("http://[::1]?x"), of("[::1]:80", "[::1]", "/?x"));
        for wrong in ["https://a/", "http://127.0.0.1:x/", "127.0.0.1"] {
            assert!(parse_http(wrong).expect_err("it is wrong").contains(wrong));
        }
    }

    #[test]
    fn a_status_below_400_is_ready() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let at = listener.local_addr().expect("it is bound");
        let server = std::thread::spawn(move || {
            for status in ["HTTP/1.1 503 No\r\n\r\n", "HTTP/1.1 302 There\r\n\r\n", "", "SSH-2.0-x\r\n"] {
                let (mut stream, _) = listener.accept().expect("somebody asks");
                let mut buffer = [0; 1000];
                let _ = stream.read(&mut buffer);
                stream.write_all(status.as_bytes()).expect("it waits for the answer");
            }
        });
        let ready =
            ReadyCheck::from_plan(&ReadyCondition::Http(format!("http://{at}/health"))).expect("a URL");
        assert_eq!(ready.port(), Some(at.port()));
        assert!(ready.check().expect_err("503").contains("/health was answered with status 503"));
        assert_eq!(ready.check(), Ok(()));
        assert!(ready.check().expect_err("no answer").contains("ended within the answer"));
        assert!(ready.check().expect_err("another protocol").contains("is no HTTP"));
        server.join().expect("it answered four times");
        assert!(ready.check().expect_err("nobody is there").contains("was not answered"));
        assert!(ReadyCheck::Port(at).check().expect_err("nobody is there").contains("nothing listens"));
    }
}
