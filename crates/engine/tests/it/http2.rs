//! Load over HTTP/2: everything offered is accounted for, by the server's own count.

use bytes::Bytes;
use h2::Reason;
use http::Response;
use plan::{Generator, HttpVersion, Origin, Target};
use record::{Failure, Slice};
use schedule::Schedule;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use testbed::Nginx;
use torment_engine::{
    Engine, EngineConfig, LoadCommand, LoadGenerator, OfferedLoad, ResolvedTarget, exchanges_once,
};
use units::{Nanos, Rate};

const TIMEOUT: Nanos = Nanos::from_secs(5);

/// Requests for this path, at most `streams` at once on a connection.
fn job(url: &str, http: HttpVersion, streams: u32, path: &str, timeout: Nanos) -> EngineConfig {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (host, port) = rest.trim_end_matches('/').rsplit_once(':').expect("an address with a port");
    let origin = Origin {
        insecure: true,
        http,
        streams,
        ..Origin::new(scheme == "https", host, port.parse().expect("a number"))
    };
    let endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("an address needs no look-up");
    let generator = Generator { cores: vec![0], ..Generator::default() };
    EngineConfig { generator, ..EngineConfig::plain(endpoint, path, timeout) }
}

fn trial(job: &EngineConfig, offer: &OfferedLoad) -> Slice {
    let mut engine = Engine::start(job).expect("starts");
    let total =
        engine.run_trial(offer, TIMEOUT, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue).total;
    assert_eq!(total.outcomes.total(), total.due, "every arrival has an outcome");
    total
}

fn closed(connections: u32, requests: u64) -> OfferedLoad {
    OfferedLoad::Closed { connections, requests: Some(requests), duration: None }
}

fn open(rate: f64, ms: u64) -> OfferedLoad {
    OfferedLoad::Open(Schedule::constant(Rate(rate), Nanos::from_millis(ms)))
}

#[test]
fn nginx_counts_what_we_count() {
    let Some(nginx) = Nginx::start() else { return };
    let (Some(clear), Some(tls)) = (nginx.http2_url(), nginx.tls_url()) else {
        return eprintln!("SKIPPED: this nginx has no HTTP/2, or no TLS");
    };
    for (url, http, language) in [
        (&clear, HttpVersion::Two, "HTTP/2 200"),
        (&tls, HttpVersion::Two, "HTTP/2 200"),
        (&tls, HttpVersion::Either, "HTTP/2 200"),
        (&tls, HttpVersion::One, "HTTP/1.1 200"),
        (&nginx.url(), HttpVersion::Either, "HTTP/1.1 200"),
    ] {
        let job = job(url, http, 8, "/", TIMEOUT);
        let once = exchanges_once(&job, true).expect("it answers");
        let answer = String::from_utf8_lossy(&once[0].answer);
        assert!(answer.starts_with(language) && answer.contains("Welcome to nginx!"), "{url}: {answer}");
        // It leaves each connection after a thousand requests, whatever is in flight then.
        for offer in [closed(3, 20_000), open(3000.0, 2000)] {
            let before = nginx.requests();
            let total = trial(&job, &offer);
            assert_eq!(total.outcomes.ok, total.due, "{url} {http:?} {offer:?}: {:?}", total.failures);
            assert_eq!(nginx.requests() - before - 1, total.due, "{url} {http:?} {offer:?}");
            assert_eq!(
                (total.sent, total.lateness.count(), total.response.count()),
                (total.due, total.due, total.due)
            );
            assert!(total.service.quantile(0.5) > Some(Nanos::ZERO));
            assert!(total.received_bytes > 600 * total.due);
        }
    }
}

/// The server's behaviour, by path: `/0` to `/9`.
#[derive(Clone, Copy, PartialEq)]
enum ServerBehaviour {
    Answer,
    /// One in ten is refused.
    Refuse,
    /// One in ten is never answered.
    Forget,
    /// Every hundredth request ends its connection, unannounced.
    Vanish,
    /// Every hundredth request is the last that its connection accepts.
    Leave,
    /// A gRPC service that lacks one method of ten.
    Call,
}

/// A server with the h2 library; counts its connections and requests.
fn server(manner: ServerBehaviour, streams: u32) -> (SocketAddr, Arc<[AtomicU64; 2]>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    listener.set_nonblocking(true).expect("it is ours");
    let counts = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let shared = counts.clone();
    let serve = async move {
        let listener = tokio::net::TcpListener::from_std(listener).expect("it is non-blocking");
        while let Ok((stream, _)) = listener.accept().await {
            shared[0].fetch_add(1, Ordering::SeqCst);
            tokio::spawn(converse(stream, manner, streams, shared.clone()));
        }
    };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
        runtime.block_on(serve);
    });
    (address, counts)
}

async fn converse(
    stream: tokio::net::TcpStream,
    manner: ServerBehaviour,
    streams: u32,
    counts: Arc<[AtomicU64; 2]>,
) {
    let mut builder = h2::server::Builder::new();
    let Ok(mut connection) = builder.max_concurrent_streams(streams).handshake::<_, Bytes>(stream).await
    else {
        return;
    };
    let mut forgotten = Vec::new();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let number = counts[1].fetch_add(1, Ordering::SeqCst) + 1;
        let odd = request.uri().path() == "/7";
        match manner {
            ServerBehaviour::Refuse if odd => respond.send_reset(Reason::REFUSED_STREAM),
            ServerBehaviour::Forget if odd => forgotten.push(respond),
            ServerBehaviour::Call => drop(call(&mut respond, odd)),
            ServerBehaviour::Vanish if number.is_multiple_of(100) => return,
            _ => {
                if manner == ServerBehaviour::Leave && number.is_multiple_of(100) {
                    connection.graceful_shutdown();
                }
                // Whether the client still wants it does not matter.
                let _ = respond
                    .send_response(Response::new(()), false)
                    .and_then(|mut body| body.send_data(Bytes::from_static(b"hello"), true));
            }
        }
    }
}

/// A gRPC answer: its status comes after the body, or with the head if there is none.
fn call(respond: &mut h2::server::SendResponse<Bytes>, unknown: bool) -> Result<(), h2::Error> {
    let head = Response::builder().header("content-type", "application/grpc");
    if unknown {
        let head = head.header("grpc-status", "12").header("grpc-message", "Method%20not found!");
        return respond.send_response(head.body(()).expect("valid"), true).map(drop);
    }
    let mut body = respond.send_response(head.body(()).expect("valid"), false)?;
    body.send_data(Bytes::from_static(&[0; 5]), false)?;
    body.send_trailers(std::iter::once(("grpc-status".parse().expect("a name"), 0.into())).collect())
}

/// The result of this offer, and the connections and requests that the server saw.
fn against(manner: ServerBehaviour, streams: u32, offer: &OfferedLoad, timeout: Nanos) -> (Slice, u64, u64) {
    let (address, counts) = server(manner, streams);
    let job = job(&format!("http://{address}/"), HttpVersion::Two, 16, "/{0..9}", timeout);
    let total = trial(&job, offer);
    (total, counts[0].load(Ordering::SeqCst), counts[1].load(Ordering::SeqCst))
}

#[test]
fn the_server_sets_how_many_streams_there_are() {
    for streams in [1, 5, 1000] {
        let (total, connections, requests) =
            against(ServerBehaviour::Answer, streams, &closed(2, 3000), TIMEOUT);
        assert_eq!((total.outcomes.ok, requests), (3000, 3000), "{:?}", total.failures);
        // 32 at once need two connections with room for 16 each.
        let needed = 32 / u64::from(streams.min(16));
        assert!(connections >= needed.min(2) && connections <= 32, "{connections} for {streams}");
        assert_eq!(total.connects, connections);
    }
}

/// A refused request was not processed: it is resent once, and then counts as refused.
#[test]
fn a_refused_stream_is_one_failure() {
    let (total, connections, requests) = against(ServerBehaviour::Refuse, 100, &closed(1, 3000), TIMEOUT);
    assert_eq!((total.outcomes.ok, total.outcomes.failed), (2700, 300));
    assert_eq!((total.resent, requests), (300, 3300));
    let refused = Failure::Reset("REFUSED_STREAM".to_owned());
    assert_eq!(total.failures.into_iter().collect::<Vec<_>>(), [(refused, 300)]);
    assert_eq!(connections, 1);
}

/// Failed calls were counted as answered: their HTTP status is 200.
#[test]
fn a_call_is_answered_only_if_it_says_so() {
    let (total, _, requests) = against(ServerBehaviour::Call, 100, &closed(1, 1000), TIMEOUT);
    assert_eq!(
        (total.outcomes.ok, total.outcomes.failed, requests),
        (900, 100, 1000),
        "{:?}",
        total.failures
    );
    let lacks = Failure::Grpc("12 UNIMPLEMENTED: Method not found!".to_owned());
    assert_eq!((total.failures, total.statuses), ([(lacks, 100)].into(), [(200, 1000)].into()));
}

#[test]
fn a_stream_that_times_out_does_not_end_the_others() {
    let (total, connections, requests) =
        against(ServerBehaviour::Forget, 100, &open(100.0, 1000), Nanos::from_millis(300));
    assert_eq!((total.outcomes.ok, total.outcomes.timeout, requests), (90, 10, 100), "{total:?}");
    assert_eq!(connections, 1);
    assert!(total.response.max() >= Some(Nanos::from_millis(300)));
}

#[test]
fn connections_that_break_take_with_them_what_they_carry() {
    let (address, counts) = server(ServerBehaviour::Vanish, 100);
    let mut job = job(&format!("http://{address}/"), HttpVersion::Two, 16, "/{0..9}", TIMEOUT);
    job.generator.resend = false;
    let total = trial(&job, &closed(1, 3000));
    let (connections, requests) = (counts[0].load(Ordering::SeqCst), counts[1].load(Ordering::SeqCst));
    let failed = total.outcomes.failed;
    assert_eq!((total.outcomes.ok + failed, total.resent), (3000, 0), "{:?}", total.failures);
    assert!(total.failures.keys().all(|why| matches!(why, Failure::Dropped(_) | Failure::Closed)));
    assert!(connections >= requests / 100 && failed >= requests / 100, "{connections}, {failed}, {requests}");
}

/// With one stream at a time, so that none is cut off twice, nor on a connection that has not answered.
#[test]
fn what_a_broken_connection_carried_is_sent_again() {
    let (address, counts) = server(ServerBehaviour::Vanish, 1);
    let url = format!("http://{address}/");
    let mut job = job(&url, HttpVersion::Two, 1, "/{0..9}", TIMEOUT);
    let total = trial(&job, &closed(1, 988));
    assert_eq!((total.outcomes.ok, total.resent), (988, 9), "{:?}", total.failures);
    assert_eq!(counts[1].load(Ordering::SeqCst), 997);
    let plan::Payload::Http(request) = &mut job.flows[0].steps[0].ask else { panic!("it is HTTP") };
    request.method = "POST".to_owned();
    let total = trial(&job, &closed(1, 1000));
    let why = Failure::Dropped("POST is not resent".to_owned());
    assert_eq!((total.failures, total.resent), ([(why, 10)].into(), 0));
}

/// A hand-written server that processes two of three streams on each connection, announces that and leaves,
/// then answers. Counts its answers and connections.
fn leaves_with_one_untouched() -> (SocketAddr, Arc<[AtomicU64; 2]>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let counts = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let shared = counts.clone();
    let serve = move |mut stream: std::net::TcpStream| -> std::io::Result<()> {
        stream.read_exact(&mut [0; 24])?;
        stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])?;
        let mut head = [0; 9];
        loop {
            stream.read_exact(&mut head)?;
            let [_, a, b, kind, _, _, _, _, number] = head;
            stream.read_exact(&mut vec![0; usize::from(a) * 256 + usize::from(b)])?;
            // The third of a connection is stream 5.
            if kind == 1 && number == 5 {
                stream.write_all(&[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0])?;
                for number in [1, 3] {
                    stream.write_all(&[0, 0, 1, 1, 5, 0, 0, 0, number, 0x88])?;
                    shared[0].fetch_add(1, Ordering::SeqCst);
                }
            }
        }
    };
    let connections = counts.clone();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            connections[1].fetch_add(1, Ordering::SeqCst);
            // It ends when its client closes.
            let _ = serve(stream);
        }
    });
    (address, counts)
}

/// What a server says that it has not processed is resent, whatever its method.
#[test]
fn what_a_leaving_server_has_not_looked_at_is_sent_again() {
    let (address, counts) = leaves_with_one_untouched();
    // The last ones, too few to be answered, are unfinished, even where a silence at the end is waited for.
    let patience = TIMEOUT * 4;
    let mut job = job(&format!("http://{address}/"), HttpVersion::Two, 3, "/", patience);
    let plan::Payload::Http(request) = &mut job.flows[0].steps[0].ask else { panic!("it is HTTP") };
    request.method = "POST".to_owned();
    let load =
        OfferedLoad::Closed { connections: 1, requests: None, duration: Some(Nanos::from_millis(500)) };
    let mut engine = Engine::start(&job).expect("starts");
    let total = engine
        .run_trial(&load, Nanos::from_millis(300), &mut |_| {}, &mut |_| {}, &mut |_, _| {
            LoadCommand::Continue
        })
        .total;
    assert_eq!((total.outcomes.failed, total.outcomes.timeout), (0, 0), "{:?}", total.failures);
    let [answers, connections] = [0, 1].map(|at| counts[at].load(Ordering::SeqCst));
    assert!(total.outcomes.ok >= 20 && total.outcomes.ok == answers, "{} of {answers}", total.outcomes.ok);
    assert!(
        total.resent + 2 >= connections && total.resent <= connections,
        "{} on {connections}",
        total.resent
    );
    drop(engine);
    job.generator.resend = false;
    let total = trial(&job, &closed(1, 3));
    assert_eq!(total.failures, [(Failure::Reset("GOAWAY NO_ERROR".to_owned()), 1)].into());
}

/// The library first announces that it will leave, and only then what it has not processed, which is nothing.
#[test]
fn a_server_may_leave_without_losing_a_request() {
    let (total, connections, requests) = against(ServerBehaviour::Leave, 100, &closed(1, 3000), TIMEOUT);
    assert_eq!((total.outcomes.ok, requests), (3000, 3000), "{:?}", total.failures);
    assert_eq!((total.sent, total.lateness.count()), (3000, 3000));
    assert!(connections >= 30, "{connections}");
}

#[test]
fn a_server_without_http2_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let job = job(&format!("http://{address}/"), HttpVersion::Two, 8, "/", TIMEOUT);
    let error = exchanges_once(&job, true).expect_err("no HTTP/2").to_string();
    assert!(error.contains("http/2") && error.contains("http/1.1 400 bad request"), "{error}");
    let total = trial(&job, &closed(1, 5));
    let failures: Vec<String> = total.failures.keys().map(ToString::to_string).collect();
    assert!(
        total.outcomes.failed == 5 && failures.len() == 1 && failures[0].contains("http/2"),
        "{failures:?}"
    );
}
