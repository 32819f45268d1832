//! A client for tests: plain sockets, one answer at a time, nothing hidden.

pub mod crowd;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use torment_reference::{BuiltinService, ConcurrencyModel, ListenAddress, ServiceConfig};

/// Nothing here takes this long; a hanging test would say nothing.
const TIMEOUT: Duration = Duration::from_secs(60);

pub const MODELS: [ConcurrencyModel; 4] = [
    ConcurrencyModel::POOL,
    ConcurrencyModel::Threads,
    ConcurrencyModel::ASYNC,
    ConcurrencyModel::Async { loops: 2 },
];

/// A service on a free port.
pub fn service(model: ConcurrencyModel) -> BuiltinService {
    BuiltinService::start(ServiceConfig { model, ..ServiceConfig::default() })
        .expect("a free port and a temporary folder")
}

/// The log once nothing is in flight: an answer is logged just after it is sent, so a
/// client that has it may be ahead of the log by a moment.
pub fn settled(service: &BuiltinService) -> serde_json::Value {
    loop {
        let truth = service.truth();
        let patterns = truth["patterns"].as_object().expect("a table");
        if patterns.values().all(|p| p["in_flight"] == 0) {
            return truth;
        }
        std::thread::yield_now();
    }
}

pub trait ClientStream: Read + Write + Send {}
impl<T: Read + Write + Send> ClientStream for T {}

pub struct Client {
    stream: BufReader<Box<dyn ClientStream>>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ReceivedAnswer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl ReceivedAnswer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("all our pages are UTF-8")
    }
}

impl Client {
    pub fn of(service: &BuiltinService) -> Self {
        Self::to(service.address())
    }

    pub fn to(address: &ListenAddress) -> Self {
        let stream: Box<dyn ClientStream> = match address {
            ListenAddress::Tcp(address) => {
                let stream = TcpStream::connect(address).expect("the service listens");
                stream.set_nodelay(true).expect("a TCP socket");
                stream.set_read_timeout(Some(TIMEOUT)).expect("not zero");
                stream.set_write_timeout(Some(TIMEOUT)).expect("not zero");
                Box::new(stream)
            }
            ListenAddress::Unix(path) => {
                let stream = UnixStream::connect(path).expect("the service listens");
                stream.set_read_timeout(Some(TIMEOUT)).expect("not zero");
                Box::new(stream)
            }
        };
        Self { stream: BufReader::new(stream) }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the service reads");
    }

    pub fn get(&mut self, target: &str) -> ReceivedAnswer {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n").as_bytes());
        self.answer()
    }

    pub fn post(&mut self, target: &str, body: &str) -> ReceivedAnswer {
        let head = format!("POST {target} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n", body.len());
        self.send(format!("{head}{body}").as_bytes());
        self.answer()
    }

    /// The next final answer; panics if the connection ends before it is complete.
    pub fn answer(&mut self) -> ReceivedAnswer {
        loop {
            let (status, headers) = self.head();
            if status >= 200 {
                let body = self.body(&headers);
                return ReceivedAnswer { status, headers, body };
            }
        }
    }

    /// The next head, of an interim or the final answer.
    pub fn head(&mut self) -> (u16, Vec<(String, String)>) {
        let line = self.line();
        let status = line
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3)?.parse().ok())
            .unwrap_or_else(|| panic!("no status line: {line:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                return (status, headers);
            }
            let (name, value) = line.split_once(": ").expect("a header has a colon");
            headers.push((name.to_lowercase(), value.to_owned()));
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the service writes text");
        line.strip_suffix("\r\n").unwrap_or_else(|| panic!("the line is cut short: {line:?}")).to_owned()
    }

    pub fn body(&mut self, headers: &[(String, String)]) -> Vec<u8> {
        let header = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        let mut body = Vec::new();
        if let Some(length) = header("content-length") {
            body.resize(length.parse().expect("a number"), 0);
            self.stream.read_exact(&mut body).expect("the body is as long as it says");
        } else if header("transfer-encoding") == Some("chunked") {
            loop {
                let size = usize::from_str_radix(&self.line(), 16).expect("a chunk's size");
                let start = body.len();
                body.resize(start + size, 0);
                self.stream.read_exact(&mut body[start..]).expect("the chunk is as long as it says");
                assert_eq!(self.line(), "", "a chunk ends with its line");
                if size == 0 {
                    break;
                }
            }
        } else if header("connection") == Some("close") {
            self.stream.read_to_end(&mut body).expect("the service closes in order");
        }
        body
    }

    /// Whether the service has closed the connection, with nothing more to read.
    pub fn at_end(&mut self) -> bool {
        matches!(self.stream.fill_buf(), Ok([]))
    }
}
