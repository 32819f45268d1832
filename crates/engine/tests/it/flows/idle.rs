//! Connections that a server keeps only for some time.

use super::{MS, job};
use crate::flows::server::{Reply, Server};
use record::Slice;
use schedule::Schedule;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;
use torment_engine::{Engine, EngineConfig, LoadCommand, LoadGenerator, OfferedLoad};
use units::{Nanos, Rate};

/// `count` requests, one every 1.2 s.
fn seldom(job: &EngineConfig, count: u64) -> Slice {
    let gap = MS * 1200;
    let load = OfferedLoad::Open(Schedule::constant(Rate(1.0 / gap.as_secs_f64()), gap * count));
    let mut engine = Engine::start(job).expect("starts");
    let total = engine
        .run_trial(&load, Nanos::from_secs(5), &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue)
        .total;
    assert_eq!((total.due, total.outcomes.ok, total.resent), (count, count, 0), "{:?}", total.failures);
    total
}

#[test]
fn what_the_server_says_of_its_limit_is_kept_to() {
    for (header, connects) in [("Keep-Alive: timeout=1", 3), ("Keep-Alive: timeout=9, max=100", 1)] {
        let server = Server::start(move |_| Reply::ok(&[header], ""));
        let total = seldom(&job(server.address.port(), ""), 3);
        assert_eq!(total.connects, connects, "{header}");
    }
}

/// A server that closes its first connections after 600 ms, and keeps the others: that cannot be known.
#[test]
fn what_it_does_without_a_word_is_learned() {
    for (closed, connects) in [(2, 5), (1, 2)] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.expect("somebody comes");
                let limit = (number < closed).then_some(Duration::from_millis(600));
                stream.set_read_timeout(limit).expect("it is no moment");
                std::thread::spawn(move || {
                    while stream.read(&mut [0; 1000]).is_ok_and(|count| count > 0) {
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                    }
                });
            }
        });
        let total = seldom(&job(port, ""), 5);
        assert_eq!(total.connects, connects, "{closed} were closed");
    }
}
