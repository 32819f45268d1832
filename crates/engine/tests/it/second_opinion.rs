//! torment agrees with hyper: both send the same server the same requests, and count the same complete answers,
//! by status, and the same failures.

use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper_util::rt::TokioIo;
use plan::{Generator, Origin, Payload, Target};
use rustix::net::{SendFlags, send};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use torment_engine::{Engine, EngineConfig, LoadCommand, LoadGenerator, OfferedLoad, ResolvedTarget};
use units::Nanos;

/// Requests of each client.
const REQUESTS: u64 = 12;
const TIMEOUT: Duration = Duration::from_secs(5);
/// Between two pieces of an answer, so that they arrive separately.
const PAUSE: Duration = Duration::from_micros(200);

const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nC\r\n world, well\r\n0\r\nX-Sum: 7\r\n\r\n";

#[derive(Clone, Copy)]
enum ServerAction {
    /// Answers, and waits for the next request.
    Say(&'static str),
    /// Answers, and closes the connection.
    SayAndClose(&'static str),
    /// Answers, and shuts down its sending side in the same packet; it goes on listening.
    SayAndShut(&'static str),
    /// Answers one byte at a time.
    Drip(&'static str),
    /// Answers in two pieces, cut one byte further on with each request.
    Cut(&'static str),
}
use ServerAction::{Cut, Drip, Say, SayAndClose, SayAndShut};

/// A client's counts: complete answers by status, and failures.
type ClientCounts = (BTreeMap<u16, u64>, u64);

fn answered(status: u16, count: u64) -> ClientCounts {
    (BTreeMap::from([(status, count)]), 0)
}

fn failed(count: u64) -> ClientCounts {
    (BTreeMap::new(), count)
}

/// What both must count: by method, the action, and the status of a complete answer.
const SAME: &[(&str, &str, ServerAction, Option<u16>)] = &[
    ("length", "GET", Say(WHOLE), Some(200)),
    ("no-body", "GET", Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Some(200)),
    (
        "same-length-twice",
        "GET",
        Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi"),
        Some(200),
    ),
    (
        "chunk-extensions",
        "GET",
        Say(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1;c=\"d\"\r\n!\r\n0;e\r\n\r\n",
        ),
        Some(200),
    ),
    ("trailers", "GET", Say(CHUNKED), Some(200)),
    (
        "chunked-and-length",
        "GET",
        Say(
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        ),
        Some(200),
    ),
    (
        "interim",
        "GET",
        Say(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        ),
        Some(200),
    ),
    ("head", "HEAD", Say("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"), Some(200)),
    ("head-chunked", "HEAD", Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), Some(200)),
    ("no-content", "GET", Say("HTTP/1.1 204 No Content\r\n\r\n"), Some(204)),
    ("not-modified", "GET", Say("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"), Some(304)),
    ("error", "GET", Say("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"), Some(503)),
    ("http-1.0", "GET", SayAndClose("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"), Some(200)),
    (
        "close-with-length",
        "GET",
        SayAndClose("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"),
        Some(200),
    ),
    (
        "close-ends-body",
        "GET",
        SayAndClose("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it"),
        Some(200),
    ),
    ("close-ends-body-unsaid", "GET", SayAndClose("HTTP/1.1 200 OK\r\n\r\nall of it"), Some(200)),
    ("ends-in-head", "GET", SayAndClose("HTTP/1.1 200 OK\r\nContent-Le"), None),
    ("ends-in-interim", "GET", SayAndClose("HTTP/1.1 100 Continue\r\n\r\n"), None),
    ("ends-in-body", "GET", SayAndClose("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it"), None),
    (
        "ends-in-chunk",
        "GET",
        SayAndClose("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf of it"),
        None,
    ),
    (
        "ends-before-last-chunk",
        "GET",
        SayAndClose("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        None,
    ),
    ("shuts-to-end-body", "GET", SayAndShut("HTTP/1.1 200 OK\r\n\r\nall of it"), Some(200)),
    ("shuts-before-answer", "GET", SayAndShut(""), None),
    ("closes-before-answer", "GET", SayAndClose(""), None),
    ("other-protocol", "GET", Say("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), None),
    (
        "wrong-chunk-size",
        "GET",
        Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nlots\r\nhello\r\n0\r\n\r\n"),
        None,
    ),
    (
        "chunk-longer-than-said",
        "GET",
        Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n"),
        None,
    ),
    ("two-lengths", "GET", Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!"), None),
    ("no-length", "GET", Say("HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nhi"), None),
    ("dripped", "GET", Drip(WHOLE), Some(200)),
    ("dripped-chunks", "GET", Drip(CHUNKED), Some(200)),
    ("cut", "GET", Cut(WHOLE), Some(200)),
    ("cut-chunks", "GET", Cut(CHUNKED), Some(200)),
];

/// The whole answer and the end of the connection in one packet: no further request may be sent there, though
/// the answer does not say `Connection: close` (RFC 9112 section 9.5).
const ENDS_WITH_ANSWER: &[(&str, &str, ServerAction, Option<u16>)] = &[
    ("shuts-after-answer", "GET", SayAndShut(WHOLE), Some(200)),
    ("shuts-after-chunks", "GET", SayAndShut(CHUNKED), Some(200)),
];

/// Name, action, section of RFC 9112, torment's result and hyper's.
type DifferingCase = (&'static str, ServerAction, &'static str, Option<u16>, Option<u16>);

/// Where the standard leaves the choice.
const DIFFERENT: &[DifferingCase] = &[
    // "a user agent MAY discard the remaining data or attempt to determine if that data belongs as
    // part of the prior message body, which might be the case if the prior message's Content-Length
    // value is incorrect". A service that miscounts is not well, so a load test says so.
    (
        "more-than-length",
        Say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more"),
        "6.3",
        None,
        Some(200),
    ),
];

struct Server {
    address: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Server {
    /// Handles each request like this, on a free port, until it is dropped.
    fn start(act: ServerAction) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let over = Arc::new(AtomicBool::new(false));
        let (ends, turn) = (Arc::clone(&over), Arc::new(AtomicUsize::new(0)));
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                let turn = Arc::clone(&turn);
                // It ends when its client closes.
                std::thread::spawn(move || connection.and_then(|stream| converse(&stream, act, &turn)));
            }
        });
        Self { address, over }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // The listener checks the flag when somebody connects.
        let _ = TcpStream::connect(self.address);
    }
}

fn converse(stream: &TcpStream, act: ServerAction, turn: &AtomicUsize) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut out, mut lines) = (stream, BufReader::new(stream));
    while hears_request(&mut lines)? {
        match act {
            Say(text) => out.write_all(text.as_bytes())?,
            SayAndClose(text) => return out.write_all(text.as_bytes()),
            SayAndShut(text) => {
                // MORE makes the kernel wait for more, and what comes is the end.
                let sent = send(stream, text.as_bytes(), SendFlags::MORE | SendFlags::NOSIGNAL)?;
                assert_eq!(sent, text.len(), "a short text fits into the kernel's buffer");
                stream.shutdown(Shutdown::Write)?;
            }
            Drip(text) => say(stream, text.as_bytes().chunks(1))?,
            Cut(text) => {
                let at = 1 + turn.fetch_add(1, Ordering::Relaxed) % (text.len() - 1);
                let (first, second) = text.as_bytes().split_at(at);
                say(stream, [first, second].into_iter())?;
            }
        }
    }
    Ok(())
}

fn say<'a>(mut stream: &TcpStream, pieces: impl Iterator<Item = &'a [u8]>) -> std::io::Result<()> {
    for piece in pieces {
        stream.write_all(piece)?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Reads a request without a body; false when the client has closed.
fn hears_request(lines: &mut impl BufRead) -> std::io::Result<bool> {
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        if line == "\r\n" {
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}

/// Each client is to see each cut of a text.
fn requests(act: ServerAction) -> u64 {
    match act {
        Cut(text) => text.len() as u64 - 1,
        _ => REQUESTS,
    }
}

fn torment(method: &str, act: ServerAction) -> ClientCounts {
    let (server, requests) = (Server::start(act), requests(act));
    let origin = Origin::new(false, server.address.ip().to_string(), server.address.port());
    let endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("an address needs no look-up");
    let generator = Generator { cores: vec![0], ..Generator::default() };
    let mut job = EngineConfig { generator, ..EngineConfig::plain(endpoint, "/", TIMEOUT.into()) };
    if let Payload::Http(request) = &mut job.flows[0].steps[0].ask {
        request.method = method.to_owned();
    }
    let mut engine = Engine::start(&job).expect("starts");
    let offer = OfferedLoad::Closed { connections: 2, requests: Some(requests), duration: None };
    let total = engine
        .run_trial(&offer, Nanos::from_secs(6), &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue)
        .total;
    assert_eq!((total.due, total.outcomes.total()), (requests, requests), "{total:?}");
    let complete: u64 = total.statuses.values().sum();
    (total.statuses.iter().map(|(status, count)| (*status, *count)).collect(), requests - complete)
}

fn hyper(method: &str, act: ServerAction) -> ClientCounts {
    let server = Server::start(act);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("starts");
    let (mut statuses, mut failures) = (BTreeMap::new(), 0);
    for _ in 0..requests(act) {
        let one = async { tokio::time::timeout(TIMEOUT, hyper_once(method, server.address)).await };
        match runtime.block_on(one).expect("it answers or fails in time") {
            Ok(status) => *statuses.entry(status).or_default() += 1,
            Err(_) => failures += 1,
        }
    }
    (statuses, failures)
}

/// One request on a connection of its own, and its complete answer.
async fn hyper_once(method: &str, address: SocketAddr) -> hyper::Result<u16> {
    let stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
    let (mut client, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::builder().method(method).uri("/").header("host", "test");
    let request = request.body(Empty::<&[u8]>::new()).expect("a request as any other");
    let answer = client.send_request(request).await?;
    let status = answer.status().as_u16();
    answer.into_body().collect().await?;
    connection.abort();
    Ok(status)
}

/// What differs in these cases.
fn disagreements(cases: &[(&str, &str, ServerAction, Option<u16>)]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, method, act, status) in cases {
        let truth = status.map_or(failed(requests(*act)), |status| answered(status, requests(*act)));
        let (by_hyper, by_torment) = (hyper(method, *act), torment(method, *act));
        if by_hyper != truth || by_torment != truth {
            found.push(format!("{name}: hyper {by_hyper:?}, torment {by_torment:?}, the truth {truth:?}"));
        }
    }
    found
}

#[test]
fn both_count_the_same() {
    assert_eq!(disagreements(SAME), Vec::<String>::new());
}

#[test]
fn a_connection_that_ends_with_an_answer_is_not_used_again() {
    assert_eq!(disagreements(ENDS_WITH_ANSWER), Vec::<String>::new());
}

#[test]
fn where_they_differ_the_standard_lets_them() {
    for (name, act, section, ours, theirs) in DIFFERENT {
        let truth = |status: &Option<u16>| status.map_or(failed(REQUESTS), |s| answered(s, REQUESTS));
        assert_eq!(hyper("GET", *act), truth(theirs), "hyper: {name}, section {section}");
        assert_eq!(torment("GET", *act), truth(ours), "torment: {name}, section {section}");
    }
}
