//! What a server sends at the very moment it closes the connection.

use super::front::config;
use super::server::head;
use super::{job, run};
use plan::HttpVersion;
use record::Failure;
use rustls::{ServerConnection, StreamOwned};
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const TOO_LARGE: &[u8] = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

/// A server that handles its connections one after the other, with or without TLS.
fn server(tls: bool, serve: impl Fn(&mut dyn ReadWrite) -> io::Result<()> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let config = Arc::new(config());
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            // The client may do anything.
            let _ = if tls {
                let session = ServerConnection::new(config.clone()).expect("the configuration is whole");
                serve(&mut StreamOwned::new(session, stream))
            } else {
                serve(&mut stream)
            };
        }
    });
    address
}

/// A server that rejects a request before its body answers and closes. Writing the rest then failed before the
/// answer was read, and the answer was lost.
#[test]
fn an_answer_to_half_a_request_is_heard() {
    for tls in [false, true] {
        let address = server(tls, |stream| {
            head(&mut BufReader::with_capacity(1000, &mut *stream))?;
            // By now the client waits for room.
            std::thread::sleep(Duration::from_millis(100));
            stream.write_all(TOO_LARGE)?;
            stream.flush()
        });
        let total = run(&job(address, tls, HttpVersion::One, "/", 16 << 20), 3);
        assert_eq!(total.failures, [(Failure::Status(413), 3)].into(), "TLS: {tls}");
    }
}

/// TLS has an end of its own, which may come right behind an answer, long before that of the connection: when
/// it arrived with the answer and was ignored, no further event followed, and the next request ran into its
/// timeout.
#[test]
fn a_farewell_right_behind_an_answer_is_heard() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let config = Arc::new(config());
    std::thread::spawn(move || {
        let mut kept: Vec<TcpStream> = Vec::new();
        while let Ok((mut stream, _)) = listener.accept() {
            let mut session = ServerConnection::new(config.clone()).expect("the configuration is whole");
            let mut tls = rustls::Stream::new(&mut session, &mut stream);
            if head(&mut BufReader::with_capacity(1000, &mut tls)).is_err() {
                continue;
            }
            let mut both = Vec::new();
            session.writer().write_all(OK).expect("there is room");
            session.send_close_notify();
            while session.wants_write() {
                session.write_tls(&mut both).expect("a Vec takes every write");
            }
            stream.write_all(&both).expect("the client listens");
            kept.push(stream);
        }
    });
    let total = run(&job(address, true, HttpVersion::One, "/", 0), 3);
    assert_eq!((total.outcomes.ok, total.connects), (3, 3), "{:?}", total.outcomes);
}

/// The same behind the handshake: nothing was read between that and the first request.
#[test]
fn a_farewell_right_behind_the_handshake_is_heard() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let config = Arc::new(config());
    std::thread::spawn(move || {
        let mut kept: Vec<TcpStream> = Vec::new();
        while let Ok((mut stream, _)) = listener.accept() {
            let mut session = ServerConnection::new(config.clone()).expect("the configuration is whole");
            while !session.wants_write() {
                session.read_tls(&mut stream).expect("the client greets");
                session.process_new_packets().expect("it speaks TLS");
            }
            let mut all = Vec::new();
            session.send_close_notify();
            while session.wants_write() {
                session.write_tls(&mut all).expect("a Vec takes every write");
            }
            stream.write_all(&all).expect("the client listens");
            kept.push(stream);
        }
    });
    let total = run(&job(address, true, HttpVersion::One, "/", 0), 1);
    assert_eq!(total.failures, [(Failure::Closed, 1)].into(), "{:?}", total.outcomes);
}
