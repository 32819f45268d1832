//! Answers that a server writes in pieces.

use super::{MS, job};
use record::MemberFigures;
use schedule::Schedule;
use std::io::{Read, Write};
use std::net::TcpListener;
use torment_engine::{Engine, LoadCommand, LoadGenerator, OfferedLoad};
use units::{Nanos, Rate};

/// 400 requests to a server that writes head and body apart, with Nagle's algorithm or without, in a second of two loops.
fn answered_apart(nagle: bool) -> MemberFigures {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.set_nodelay(!nagle).expect("it is a TCP connection");
            std::thread::spawn(move || {
                while stream.read(&mut [0; 1000]).is_ok_and(|count| count > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
                    let _ = stream.write_all(b"ok");
                }
            });
        }
    });
    let mut job = job(port, "");
    job.loops = 2;
    let mut engine = Engine::start(&job).expect("starts");
    let load = OfferedLoad::Open(Schedule::constant(Rate(400.0), MS * 1000));
    let mut trial = || {
        engine.run_trial(&load, Nanos::from_secs(5), &mut |_| {}, &mut |_| {}, &mut |_, _| {
            LoadCommand::Continue
        })
    };
    trial();
    let counted = trial();
    assert_eq!(counted.total.outcomes.ok, 400, "{:?}", counted.total.failures);
    assert_eq!(counted.members.len(), 1);
    counted.members[0].clone()
}

#[test]
fn the_rest_waits_for_a_delayed_acknowledgement() {
    let figures = answered_apart(true);
    assert!((200..=400).contains(&figures.held_back), "{figures:?}");
    assert!(figures.delayed_acks.is_some_and(|acks| acks >= figures.held_back), "{figures:?}");
    let mean = figures.held_back_time.0 / figures.held_back;
    assert!((MS * 38..=MS * 50).contains(&Nanos(mean)), "{figures:?}");
}

#[test]
fn without_nagle_it_comes_at_once() {
    let figures = answered_apart(false);
    assert!(figures.held_back < 20, "{figures:?}");
}
