//! Servers whose every byte the test has chosen.

use super::super::WINDOW;
use super::super::frame::{self, ErrorCode, flag, kind, put_header, put_number, setting};
use super::*;
use crate::protocol::framer::Framer;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::thread::JoinHandle;

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_header(payload.len(), kind, flags, stream, &mut out);
    out.extend_from_slice(payload);
    out
}

fn settings(all: &[(u16, u32)]) -> Vec<u8> {
    let pair = |(name, value): &(u16, u32)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(kind::SETTINGS, 0, 0, &all.iter().map(pair).collect::<Vec<_>>().concat())
}

fn number(kind: u8, stream: u32, number: u32) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(kind, stream, number, &mut out);
    out
}

/// An answer `200 OK` without a body.
fn ok(stream: u32) -> Vec<u8> {
    frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, stream, b"\x88")
}

/// A server for one connection: sends each piece once that many bytes have been received in all, closes its
/// side if `closes`, and returns what was received until the client closed.
fn server(pieces: Vec<(usize, Vec<u8>)>, closes: bool) -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let serve = move || {
        let (mut stream, _) = listener.accept().expect("the client connects");
        let (mut come, mut buffer) = (Vec::new(), [0; 65_536]);
        for (enough, piece) in pieces {
            while come.len() < enough {
                let count = stream.read(&mut buffer).expect("the client speaks");
                assert!(count > 0, "the client closed after {} of {enough} bytes", come.len());
                come.extend_from_slice(&buffer[..count]);
            }
            stream.write_all(&piece).expect("the client listens");
        }
        if closes {
            stream.shutdown(Shutdown::Write).expect("the client is there");
        }
        // A reset may cut off the end.
        let _ = stream.read_to_end(&mut come);
        come
    };
    (address, std::thread::spawn(serve))
}

/// Length of what a client sends before its first request, including its reply to the server's settings.
const GREETING: usize = 24 + 9 + 12 + 9 + 4 + 9;

/// The frames after the greeting: kind, flags, stream and payload.
fn frames(come: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let (mut framer, mut rest, mut found) = (Framer::default(), &come[GREETING..], Vec::new());
    while let Some(frame) = frame::next_frame(&mut framer, &mut rest).expect("valid") {
        found.push((frame.kind, frame.flags, frame.stream, frame.payload.to_vec()));
    }
    assert!(rest.is_empty());
    found
}

/// Sends one request to a server that then sends `piece`; returns what became of it, and of the connection.
fn outcome_of(piece: Vec<u8>) -> (Vec<String>, Failure) {
    let (address, served) = server(vec![(24, settings(&[])), (GREETING + 9, piece)], true);
    let mut client = Client::connect(address, 8).expect("it greets");
    client.send(&mut get("/"));
    let end = client.end();
    drop(client.stream);
    served.join().expect("the server has no complaint");
    client.completions.iter().for_each(|completion| assert!(completion.received_ns > 0));
    let completions = std::mem::take(&mut client.completions);
    (
        completions
            .into_iter()
            .map(|completion| format!("{:?}", completion.result.map(|answer| answer.status)))
            .collect(),
        end,
    )
}

#[test]
fn a_server_without_http2_is_named() {
    for (says, expected) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "no HTTP/2, the server begins with \"HTTP/1.1 400 Bad Request",
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "begins with \"SSH-2.0"),
        (b"", "it may not be spoken there"),
        (&ok(1), "no HTTP/2"),
        (
            &[settings(&[]), frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11])].concat(),
            "takes no requests: GOAWAY ENHANCE_YOUR_CALM",
        ),
    ] {
        let (address, served) = server(vec![(24, says.to_vec())], true);
        let error = Client::connect(address, 8).err().expect("no HTTP/2").to_string();
        assert!(error.contains(expected), "{error}");
        served.join().expect("the server has no complaint");
    }
}

#[test]
fn answers_that_are_none_are_failures_of_one_exchange() {
    let ends = flag::END_HEADERS | flag::END_STREAM;
    let head = |block: &[u8]| frame(kind::HEADERS, flag::END_HEADERS, 1, block);
    let data = |flags, bytes: &[u8]| frame(kind::DATA, flags, 1, bytes);
    for (piece, expected) in [
        (ok(1), "Ok(Some(200))"),
        ([head(b"\x88"), data(flag::END_STREAM, b"")].concat(), "Ok(Some(200))"),
        // Padding, a priority, an interim answer, trailers, a frame of a future kind.
        (
            [
                frame(
                    kind::HEADERS,
                    flag::END_HEADERS | flag::PADDED | flag::PRIORITY,
                    1,
                    b"\x02\0\0\0\0\x10\x48\x03103\0\0",
                ),
                head(b"\x8d\x5c\x014"),
                frame(0xbe, 0xff, 1, b"?"),
                data(flag::PADDED, b"\x03abc\0\0\0"),
                data(0, b"d"),
                frame(kind::HEADERS, ends, 1, b"\x40\x01a\x01b"),
            ]
            .concat(),
            "Ok(Some(404))",
        ),
        // A block in three frames.
        (
            [
                frame(kind::HEADERS, flag::END_STREAM, 1, b""),
                frame(kind::CONTINUATION, 0, 1, b"\x48\x03"),
                frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"418"),
            ]
            .concat(),
            "Ok(Some(418))",
        ),
        (frame(kind::HEADERS, ends, 1, b"\x40\x01a\x01b"), "Err(Protocol(\"an answer without :status\"))"),
        (frame(kind::HEADERS, ends, 1, b"\x48\x022x"), "Err(Protocol(\":status '2x'\"))"),
        (head(b"\x88\x89"), "Err(Protocol(\":status '204'\"))"),
        (head(b"\x88\x5c\x01x"), "Err(Protocol(\"content-length 'x'\"))"),
        (head(b"\x88\x5c\x012\x5c\x013"), "Err(Protocol(\"content-length '3'\"))"),
        (
            [head(b"\x88\x5c\x014"), data(flag::END_STREAM, b"abc")].concat(),
            "Err(Protocol(\"a body of 3 bytes where 4 are to come\"))",
        ),
        (
            [head(b"\x88\x5c\x014"), data(0, b"abcde")].concat(),
            "Err(Protocol(\"a body of 5 bytes where 4 are to come\"))",
        ),
        ([head(b"\x89"), data(0, b"x")].concat(), "Err(Protocol(\"a body of 1 bytes where 0 are to come\"))"),
        (data(0, b"x"), "Err(Protocol(\"a body or an end before the head of the answer\"))"),
        (
            frame(kind::HEADERS, ends, 1, b"\x48\x03100"),
            "Err(Protocol(\"a body or an end before the head of the answer\"))",
        ),
        ([head(b"\x88"), head(b"\x88")].concat(), "Err(Protocol(\"two heads of one answer\"))"),
        (number(kind::RST_STREAM, 1, 7), "Err(Reset(\"REFUSED_STREAM\"))"),
        (number(kind::RST_STREAM, 1, 77), "Err(Reset(\"an unknown error\"))"),
        (frame(kind::GOAWAY, 0, 0, &[0; 8]), "Err(Reset(\"GOAWAY NO_ERROR\"))"),
    ] {
        let (results, end) = outcome_of(piece);
        assert_eq!(results, [expected]);
        assert_eq!(end, Failure::Closed, "{expected}");
    }
}

#[test]
fn what_breaks_the_connection_is_said() {
    let error = |payload: &[u8], stream| frame(kind::HEADERS, flag::END_HEADERS, stream, payload);
    for (piece, expected) in [
        (ok(3), "a frame on stream 3, which is not begun"),
        (ok(2), "a frame on stream 2, which is not begun"),
        (ok(0), "a frame on stream 0, which is not begun"),
        (error(b"\xff\xff\xff\xff\xff\xff", 1), "an oversized number in a header block"),
        (error(b"\xbf", 1), "header field number 63, which there is not"),
        (error(b"\x48\x81\xff", 1), "a Huffman string that ends within a symbol"),
        (frame(kind::CONTINUATION, 0, 1, b""), "a header block that goes on without a beginning"),
        ([frame(kind::HEADERS, 0, 1, b""), ok(1)].concat(), "another frame within a header block"),
        (frame(kind::HEADERS, flag::PADDED, 1, b"\x09"), "a frame with more padding than payload"),
        (frame(kind::HEADERS, flag::PRIORITY, 1, b"\x09"), "HEADERS of 1 bytes"),
        (frame(kind::RST_STREAM, 0, 1, b"abc"), "RST_STREAM of 3 bytes"),
        (frame(kind::SETTINGS, 0, 0, b"abc"), "SETTINGS of 3 bytes"),
        (settings(&[(setting::INITIAL_WINDOW_SIZE, 1 << 31)]), "an oversized window"),
        (settings(&[(setting::MAX_FRAME_SIZE, 100)]), "frames of 100 bytes at most"),
        (frame(kind::PING, 0, 0, b"1234567"), "PING of 7 bytes"),
        (frame(kind::PING, 0, 1, b"12345678"), "a frame of the connection on stream 1"),
        (frame(kind::GOAWAY, 0, 0, b"1234567"), "GOAWAY of 7 bytes"),
        (frame(kind::PUSH_PROMISE, 0, 1, b"1234567"), "a push, which we do not allow"),
        (number(kind::WINDOW_UPDATE, 0, 0), "a window made larger by nothing"),
        (number(kind::WINDOW_UPDATE, 1, (1 << 31) - 1), "an oversized window"),
        (frame(kind::DATA, 0, 1, &[0; 16_385]), "a frame of 16385 bytes"),
        (frame(kind::PING, 0, 0, b"12345678").repeat(10_001), "more PING and SETTINGS than it reads answers"),
        (
            [frame(kind::HEADERS, 0, 1, b""), frame(kind::CONTINUATION, 0, 1, &[0; 16_384]).repeat(5)]
                .concat(),
            "a header block of more than 65536 bytes",
        ),
    ] {
        assert_eq!(outcome_of(piece), (Vec::new(), Failure::Protocol(expected.to_owned())));
    }
}

#[test]
fn a_server_may_leave() {
    // It has processed streams 1 and 3 of three, and answers them.
    let away = frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0, b'b', b'y', b'e']);
    let pieces = vec![(24, settings(&[])), (GREETING + 40, [away, ok(3)].concat()), (GREETING + 2000, ok(1))];
    let (address, served) = server(pieces, false);
    let mut client = Client::connect(address, 8).expect("it greets");
    (0..3).for_each(|_| client.send_only(&mut get("/"), false));
    assert_eq!(client.connection.room(), 5);
    client.connection.flush(&mut client.stream).expect("the server listens");
    client.receive_until(2).expect("one answer is still to come");
    assert_eq!((client.connection.room(), client.open()), (0, vec![0]));
    client.connection.out.bytes = frame(kind::PING, flag::ACK, 0, b"12345678").repeat(120);
    client.connection.flush(&mut client.stream).expect("the server listens");
    assert_eq!(client.end(), Failure::Closed);
    assert_eq!(client.results(), ["200", "200", "stream reset: GOAWAY NO_ERROR"]);
    drop(client);
    served.join().expect("the server has no complaint");
}

/// A server that left and forgot its last stream kept a connection on which nothing could be sent, forever.
#[test]
fn a_connection_left_by_both_sides_is_of_no_more_use() {
    let away = frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]);
    let (address, served) = server(vec![(24, settings(&[])), (GREETING + 20, away)], false);
    let mut client = Client::connect(address, 8).expect("it greets");
    (0..3).for_each(|_| client.send_only(&mut get("/"), false));
    client.connection.flush(&mut client.stream).expect("the server listens");
    client.receive_until(1).expect("two answers are still to come");
    assert_eq!((client.connection.room(), client.results().len()), (0, 1));
    assert!(client.connection.cancel(0), "another is still to come");
    assert!(!client.connection.cancel(1));
    drop(client);
    served.join().expect("the server has no complaint");
}

#[test]
fn a_server_that_leaves_in_anger_says_why() {
    let away = frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11]);
    let (results, end) = outcome_of(away);
    assert_eq!(results, [""; 0]);
    assert_eq!(end, Failure::Reset("GOAWAY ENHANCE_YOUR_CALM".to_owned()));
}

#[test]
fn a_ping_is_answered_and_settings_are_acknowledged() {
    let ping = frame(kind::PING, 0, 0, b"12345678");
    let unasked = frame(kind::PING, flag::ACK, 0, b"87654321");
    let again = settings(&[(setting::MAX_CONCURRENT_STREAMS, 3)]);
    let pieces =
        vec![(24, settings(&[])), (GREETING, [ping, unasked, again].concat()), (GREETING + 26, Vec::new())];
    let (address, served) = server(pieces, true);
    let mut client = Client::connect(address, 8).expect("it greets");
    assert_eq!(client.end(), Failure::Closed);
    assert_eq!(client.connection.room(), 3);
    drop(client);
    let received = frames(&served.join().expect("the server has no complaint"));
    assert_eq!(
        received,
        [(kind::PING, flag::ACK, 0, b"12345678".to_vec()), (kind::SETTINGS, flag::ACK, 0, Vec::new())]
    );
}

/// A window that a server reduces during an upload is negative until it grants more.
#[test]
fn windows_are_kept_to() {
    let window = |size| settings(&[(setting::INITIAL_WINDOW_SIZE, size)]);
    let put = || request("PUT", "/", &[], vec![b'x'; 200]);
    // The length of its head, from an upload that is not held up.
    let (address, served) = server(vec![(24, settings(&[]))], false);
    Client::connect(address, 8).expect("it greets").send(&mut put());
    let received = frames(&served.join().expect("the server has no complaint"));
    let head = received.iter().find(|f| f.0 == kind::HEADERS).expect("it was sent").3.len();
    let first = GREETING + 9 + head + 9 + 100;
    let pieces = vec![
        (24, window(100)),
        // The head and 100 bytes have arrived: 30 are taken back, of 40 granted 10 are left.
        (first, [window(70), number(kind::WINDOW_UPDATE, 1, 40)].concat()),
        (first + 9 + 9 + 10, number(kind::WINDOW_UPDATE, 1, 90)),
        (first + 9 + 9 + 10 + 9 + 90, ok(1)),
    ];
    let (address, served) = server(pieces, false);
    let mut client = Client::connect(address, 8).expect("it greets");
    client.send(&mut put());
    client.receive_until(1).expect("the server answers");
    assert_eq!(client.results(), ["200"]);
    drop(client);
    let received = frames(&served.join().expect("the server has no complaint"));
    let sizes: Vec<_> = received.iter().filter(|f| f.0 == kind::DATA).map(|f| (f.1, f.3.len())).collect();
    assert_eq!(sizes, [(0, 100), (0, 10), (flag::END_STREAM, 90)]);
}

/// A server that has answered does not want the rest of the request.
#[test]
fn an_early_answer_ends_the_upload() {
    let (address, served) = server(
        vec![(24, settings(&[])), (GREETING + 60_000, frame(kind::HEADERS, 5, 1, b"\x48\x03413"))],
        false,
    );
    let mut client = Client::connect(address, 8).expect("it greets");
    client.send(&mut request("PUT", "/", &[], vec![b'x'; 1 << 20]));
    client.receive_until(1).expect("the server answers");
    assert_eq!(client.results(), ["413"]);
    drop(client);
    let received = frames(&served.join().expect("the server has no complaint"));
    assert_eq!(received.last(), Some(&(kind::RST_STREAM, 0, 1, ErrorCode::CANCEL.0.to_be_bytes().to_vec())));
}

/// Answers larger than our windows, with windows that are nearly used up.
#[test]
fn windows_are_given_back() {
    let data = frame(kind::DATA, flag::PADDED, 1, b"\x04abc\0\0\0\0");
    let pieces = vec![
        (24, settings(&[])),
        (GREETING + 9, [frame(kind::HEADERS, flag::END_HEADERS, 1, b"\x88"), data].concat()),
        (GREETING + 9 + 26, frame(kind::DATA, flag::END_STREAM, 1, b"")),
    ];
    let (address, served) = server(pieces, false);
    let mut client = Client::connect(address, 8).expect("it greets");
    client.send(&mut get("/"));
    client.connection.unacknowledged = WINDOW / 2 - 8;
    client.connection.open.get_mut(&1).expect("it is open").unacknowledged = WINDOW / 2 - 8;
    client.receive_until(1).expect("the server answers");
    assert_eq!((client.connection.unacknowledged, client.results()), (0, vec!["200".to_owned()]));
    drop(client);
    let received = frames(&served.join().expect("the server has no complaint"));
    let half = (WINDOW / 2).to_be_bytes().to_vec();
    assert_eq!(received[1..], [(kind::WINDOW_UPDATE, 0, 0, half.clone()), (kind::WINDOW_UPDATE, 0, 1, half)]);
}

#[test]
fn the_numbers_of_streams_end() {
    let (address, served) = server(vec![(24, settings(&[])), (GREETING + 9, ok((1 << 31) - 1))], false);
    let mut client = Client::connect(address, 8).expect("it greets");
    client.connection.next_stream = (1 << 31) - 1;
    client.send(&mut get("/"));
    assert_eq!(client.connection.room(), 0);
    assert_eq!(client.end(), Failure::Closed);
    assert_eq!(client.results(), ["200"]);
    drop(client);
    served.join().expect("the server has no complaint");
}
