//! Tests with a scripted server, over real connections.

use super::http::MOST;
use super::*;
use crate::source::Source as _;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;

const BODY: &str =
    "# TYPE hikaricp_connections_active gauge\nhikaricp_connections_active{pool=\"main\"} 10\n";

/// Passes each request, numbered from 0 over the whole server, to `answer`, which returns whether the
/// connection stays open. Runs until the test's process ends.
fn serve(answer: impl Fn(usize, &mut TcpStream, &str) -> bool + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}/actuator/prometheus", listener.local_addr().expect("it is bound"));
    let (answer, number) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (answer, number) = (answer.clone(), number.clone());
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    let request = String::from_utf8_lossy(&buffer[..n]).into_owned();
                    if !answer(number.fetch_add(1, Ordering::SeqCst), &mut stream, &request) {
                        let _ = stream.shutdown(Shutdown::Both);
                        return;
                    }
                }
            });
        }
    });
    url
}

fn plain(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// With a timeout long enough for a busy machine.
fn connection(url: &str) -> Connection {
    Connection::to(MetricsAddress::parse(url).expect("it is a URL"), Duration::from_secs(20))
}

fn fixed(answer: impl Into<Vec<u8>>) -> Result<Vec<u8>, String> {
    let answer = answer.into();
    let url = serve(move |_, stream, _| {
        let _ = stream.write_all(&answer);
        false
    });
    connection(&url).get()
}

#[test]
fn bodies_are_read_however_they_are_sent() {
    assert_eq!(fixed(plain("abc")), Ok(b"abc".to_vec()));
    assert_eq!(fixed("HTTP/1.0 200 OK\r\n\r\nto the end"), Ok(b"to the end".to_vec()));
    let chunks = "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n";
    assert_eq!(fixed(chunks), Ok(b"abc0123456789".to_vec()));
    let large = "a 1\n".repeat(MOST / 4);
    assert_eq!(fixed(plain(&large)).map(|body| body.len()), Ok(MOST));
}

#[test]
fn answers_that_are_none_are_said_in_words() {
    for (answer, part) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(), "it answers 404 Not Found"),
        ("HTTP/1.1 302\r\nLocation: /login\r\n\r\n".to_owned(), "it answers 302"),
        ("SSH-2.0-OpenSSH_9.2\r\n".to_owned(), "no HTTP"),
        ("\u{0}\u{1}\u{2}".to_owned(), "no HTTP"),
        (String::new(), "ended within"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".to_owned(), "ended within"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".to_owned(), "length"),
        (plain(&"x".repeat(MOST + 1)), "larger than 4 MB"),
        (format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(MOST + 1)), "larger than 4 MB"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc".to_owned(),
            "ended within",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(), "chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n".to_owned(), "chunk"),
        (format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", "1".repeat(80_000)), "stalled"),
        (format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(80_000)), "does not end"),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_owned(), "compressed (gzip)"),
    ] {
        let why = fixed(answer.clone()).expect_err(&answer[..answer.len().min(80)]);
        assert!(why.contains(part), "{why} lacks {part}");
    }
}

#[test]
fn one_that_drips_does_not_hold_us_beyond_the_deadline() {
    let url = serve(|_, stream, _| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
        let _ = stream.write_all(head);
        while stream.write_all(b"x").is_ok() {
            sleep(Duration::from_millis(5));
        }
        false
    });
    let place = MetricsAddress::parse(&url).expect("it is a URL");
    let connection = Connection::to(place, Duration::from_millis(200));
    assert_eq!(connection.get(), Err("no answer within 200 ms".to_owned()));
}

#[test]
fn a_connection_is_kept_and_made_anew_when_it_ended() {
    let url = serve(|number, stream, request| {
        assert!(request.starts_with("GET /actuator/prometheus HTTP/1.1\r\n"), "{request}");
        assert!(request.to_ascii_lowercase().contains("\r\nhost: 127.0.0.1:"), "{request}");
        let body = format!("{number} {}", stream.peer_addr().expect("it is connected").port());
        let _ = stream.write_all(plain(&body).as_bytes());
        number != 1
    });
    let connection = connection(&url);
    let get = || {
        let body = connection.get().expect("it answers");
        let text = String::from_utf8(body).expect("ours");
        text.split_once(' ').map(|(n, port)| (n.to_owned(), port.to_owned())).expect("two numbers")
    };
    let (first, second) = (get(), get());
    // Until the end of the stream has arrived.
    sleep(Duration::from_millis(200));
    let (third, fourth) = (get(), get());
    assert_eq!([&*first.0, &*second.0, &*third.0, &*fourth.0], ["0", "1", "2", "3"]);
    assert_eq!(first.1, second.1);
    assert_ne!(second.1, third.1);
    assert_eq!(third.1, fourth.1);
}

/// Cuts until a window matches.
fn cut_until(source: &mut MetricsSource, found: impl Fn(&Metrics) -> bool) -> Metrics {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        let mut window = Window::default();
        source.cut(&WatchScope::default(), &mut window);
        if let Some(metrics) = window.metrics.filter(&found) {
            return metrics;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("it was not found within a minute");
}

#[test]
fn an_endpoint_that_stops_answering_is_evidence_and_is_asked_again() {
    let url = serve(|number, stream, _| {
        if (2..4).contains(&number) {
            sleep(PATIENCE * 2);
        }
        stream.write_all(plain(BODY).as_bytes()).is_ok()
    });
    let mut source = MetricsSource::open(&url).expect("it is a URL");
    let mut watched = WatchCoverage::default();
    source.describe(&mut watched);
    assert_eq!(watched.metrics.as_ref(), Some(&url));
    let late = cut_until(&mut source, |m| m.error.is_some());
    assert_eq!((late.error.as_deref(), late.series.len()), (Some("no answer within 900 ms"), 0));
    assert!(Duration::from_nanos(late.took_ns) >= PATIENCE - Duration::from_millis(1));
    let again = cut_until(&mut source, |m| m.error.is_none());
    assert_eq!(again.series[0].name, "hikaricp_connections_active{pool=\"main\"}");
    assert_eq!(again.series[0].value, 10.0);
    assert!(again.took_ns > 0);
}

#[test]
fn what_is_wrong_at_the_start_is_said_once() {
    let refused = MetricsSource::open("https://127.0.0.1/metrics").err().expect("no TLS");
    assert!(refused.why.contains("without TLS"), "{refused:?}");
    let page = serve(|_, stream, _| stream.write_all(plain("<html>Sign in</html>").as_bytes()).is_ok());
    let source = MetricsSource::open(&page).expect("it is a URL");
    assert!(source.missing()[0].why.contains("Prometheus"), "{:?}", source.missing());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let gone = format!("http://{}/metrics", listener.local_addr().expect("it is bound"));
    drop(listener);
    let source = MetricsSource::open(&gone).expect("it is a URL");
    assert!(source.missing()[0].why.contains("refused"), "{:?}", source.missing());
}

#[test]
fn what_a_url_should_escape_is_asked_for_all_the_same() {
    let url = serve(|_, stream, request| {
        let line = request.lines().next().unwrap_or_default();
        stream.write_all(plain(line).as_bytes()).is_ok()
    });
    let asked = connection(&format!("{url}?match[]={{job=\"a\"}}&x=<>")).get().expect("it answers");
    let expected = "GET /actuator/prometheus?match[]={job=%22a%22}&x=%3C%3E HTTP/1.1";
    assert_eq!(String::from_utf8(asked).as_deref(), Ok(expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_answer_is_read_without_harm(
        head in "(HTTP/1\\.1 200 OK\r\n((Content-Length|Transfer-Encoding): ?(chunked|[0-9]{1,3})\r\n){0,2}\r\n)?",
        body in proptest::collection::vec(any::<u8>(), 0..200),
        chunk in "([0-9a-f]{0,3}\r\n){0,3}",
    ) {
        let bytes = [head.as_bytes(), chunk.as_bytes(), &body].concat();
        let length = bytes.len();
        if let Ok(body) = fixed(bytes) {
            prop_assert!(body.len() <= length);
        }
    }
}
