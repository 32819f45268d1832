//! A small scripted HTTP/1.1 server that records the requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// Its index among all requests, from 0.
    pub number: usize,
    /// Its index on its connection, from 0.
    pub turn: usize,
    pub at: Instant,
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl ReceivedRequest {
    /// The value of a header; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value)
    }
}

/// How the server handles a request.
pub enum Reply {
    /// Answers: status, header lines, body.
    Answer(u16, Vec<String>, String),
    /// Closes the connection in the middle of the answer.
    Break,
    /// Closes the connection without answering.
    Vanish,
    /// Sends nothing, as long as the client waits.
    Silence,
}

impl Reply {
    pub fn ok(headers: &[&str], body: impl Into<String>) -> Self {
        Self::Answer(200, headers.iter().map(|h| (*h).to_owned()).collect(), body.into())
    }
}

pub struct Server {
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    over: Arc<AtomicBool>,
}

impl Server {
    /// Listens on a free port until it is dropped.
    pub fn start(script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let (received, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let script = Arc::new(script);
        let (log, stop) = (Arc::clone(&received), Arc::clone(&over));
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let (log, script) = (Arc::clone(&log), Arc::clone(&script));
                // It ends when its client closes.
                std::thread::spawn(move || connection.and_then(|stream| converse(stream, &log, &*script)));
            }
        });
        Self { address, received, over }
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.received.lock().expect("no thread panics while it logs").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // The listener checks the flag when somebody connects.
        let _ = TcpStream::connect(self.address);
    }
}

fn converse(
    stream: TcpStream,
    log: &Mutex<Vec<ReceivedRequest>>,
    script: &dyn Fn(&ReceivedRequest) -> Reply,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let (mut lines, mut turn) = (BufReader::new(stream), 0);
    while let Some(mut request) = read_request(&mut lines)? {
        {
            let mut log = log.lock().expect("no thread panics while it logs");
            (request.number, request.turn) = (log.len(), turn);
            log.push(request.clone());
        }
        match script(&request) {
            Reply::Answer(status, headers, body) => {
                let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
                let length = body.len();
                out.write_all(
                    format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
                        .as_bytes(),
                )?;
                if headers.to_ascii_lowercase().contains("connection: close") {
                    return Ok(());
                }
            }
            Reply::Break => return out.write_all(b"HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nhalf of it"),
            Reply::Vanish => return Ok(()),
            Reply::Silence => {}
        }
        turn += 1;
    }
    Ok(())
}

/// The next request; `None` when the client has closed.
fn read_request(lines: &mut impl BufRead) -> std::io::Result<Option<ReceivedRequest>> {
    let mut next = || {
        let mut line = String::new();
        lines.read_line(&mut line).map(|_| line.trim_end().to_owned())
    };
    let first = next()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let at = Instant::now();
    let mut headers = Vec::new();
    loop {
        let line = next()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = ReceivedRequest { number: 0, turn: 0, at, method, path, headers, body: String::new() };
    let length = request.header("content-length").parse().unwrap_or(0);
    lines.take(length).read_to_string(&mut request.body)?;
    Ok(Some(request))
}
