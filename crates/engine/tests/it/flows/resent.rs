//! Requests that meet a connection which the server is closing.

use super::{MS, counts, failures, job, offer, run};
use crate::bodies::TlsFront;
use crate::flows::server::{ReceivedRequest, Reply, Server};
use plan::{HttpVersion, Origin, Target};
use record::{Failure, Slice};
use schedule::Schedule;
use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Mutex;
use std::time::Duration;
use torment_engine::{Engine, EngineConfig, LoadCommand, LoadGenerator, OfferedLoad, ResolvedTarget};
use units::Rate;

/// Each connection has carried four answers when it is closed.
const FIFTH: usize = 4;
const PUT: &str = "[request]\nmethod = 'PUT'\nurl = '/{counter}'\nbody = 'it is {counter}'";

/// With one connection at a time, so that events are ordered.
fn one_by_one(server: &Server, plan: &str) -> EngineConfig {
    let mut job = job(server.address.port(), plan);
    job.generator.connections = 1;
    job
}

/// A server that treats the fifth request on each connection like this.
fn fifth(odd: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |request| match request.turn {
        FIFTH => odd(request),
        _ => Reply::ok(&["Set-Cookie: a=b"], if request.method == "HEAD" { "" } else { "{\"t\": 7}" }),
    })
}

/// Twenty requests, of which four meet the end of their connection, and all are answered.
fn all_answered(name: &str, job: &EngineConfig, server: &Server) -> Slice {
    let total = offer(job, 20);
    assert_eq!((total.outcomes.ok, total.resent), (20, 4), "{name}: {:?}", total.failures);
    assert_eq!((total.sent, total.lateness.count(), total.response.count()), (20, 20, 20), "{name}");
    assert_eq!(server.requests().len(), 24, "{name}");
    total
}

#[test]
fn it_is_sent_again_and_counts_once() {
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
        let server = fifth(|_| Reply::Vanish);
        let plan = format!("[request]\nmethod = '{method}'\nurl = '/{{counter}}'");
        all_answered(method, &one_by_one(&server, &plan), &server);
        let paths: Vec<_> = server.requests().into_iter().map(|request| request.path).collect();
        assert_eq!(paths.windows(2).filter(|two| two[0] == two[1]).count(), 4, "{paths:?}");
    }
}

#[test]
fn its_time_counts_from_when_it_was_due() {
    let server = fifth(|_| {
        std::thread::sleep(Duration::from_millis(300));
        Reply::Vanish
    });
    let total = all_answered("slowly", &one_by_one(&server, ""), &server);
    assert!(total.response.count_above(MS * 299) >= 4, "{:?}", total.response.quantiles());
    let service = total.service.quantile(0.5);
    assert!(service < Some(MS * 250), "the service time is that of the second sending: {service:?}");
}

#[test]
fn a_body_is_sent_again_as_it_was() {
    let server = fifth(|_| Reply::Vanish);
    all_answered("PUT", &one_by_one(&server, PUT), &server);
    let requests = server.requests();
    assert!(
        requests.iter().all(|request| request.body == format!("it is {}", &request.path[1..])),
        "{requests:?}"
    );
    let distinct: HashSet<_> = requests.iter().map(|request| &request.body).collect();
    assert_eq!(distinct.len(), 20);
}

#[test]
fn what_is_not_idempotent_is_not_sent_again() {
    for method in ["POST", "PATCH"] {
        let server = fifth(|_| Reply::Vanish);
        let total = offer(&one_by_one(&server, &format!("[request]\nmethod = '{method}'\nurl = '/'")), 20);
        let why = format!("the server closed a used connection; {method} is not resent");
        assert_eq!((failures(&total), total.resent), (vec![(why, 4)], 0));
        assert_eq!((total.outcomes.ok, server.requests().len()), (16, 20));
    }
}

#[test]
fn nothing_is_sent_again_where_the_plan_says_so() {
    let server = fifth(|_| Reply::Vanish);
    let total = offer(&one_by_one(&server, "[generator]\nresend = false"), 20);
    let why = "the server closed a used connection; the plan says not to resend";
    assert_eq!((failures(&total), total.resent), (vec![(why.to_owned(), 4)], 0));
    assert_eq!(server.requests().len(), 20);
}

/// A server that closes a new connection has no room: that is overload, and must show.
#[test]
fn a_new_connection_that_is_closed_is_a_failure() {
    let server = Server::start(|_| Reply::Vanish);
    let total = offer(&one_by_one(&server, ""), 20);
    assert_eq!((total.failures.get(&Failure::Closed), total.resent), (Some(&20), 0), "{:?}", total.failures);
    assert_eq!(server.requests().len(), 20);
}

#[test]
fn half_an_answer_is_a_failure() {
    let server = fifth(|_| Reply::Break);
    let total = offer(&one_by_one(&server, ""), 20);
    assert_eq!((total.failures.get(&Failure::Closed), total.resent), (Some(&4), 0), "{:?}", total.failures);
    assert_eq!(server.requests().len(), 20);
}

/// A server closes all connections with the same idle time within a moment: of half a million requests one was
/// said to be lost, as it had met two of them.
#[test]
fn a_request_may_meet_several_connections_that_close() {
    for (closing, failed) in [(2, 0), (3, 0), (4, 1)] {
        let closed = Mutex::new(HashMap::<String, u32>::new());
        let server = Server::start(move |request| {
            if request.turn == 0 {
                // So that all others need connections of their own.
                std::thread::sleep(Duration::from_millis(100));
                return Reply::ok(&[], "");
            }
            let mut closed = closed.lock().expect("nobody panics");
            let is_one = closed.is_empty() || closed.contains_key(&request.path);
            let met = if is_one { closed.entry(request.path.clone()).or_default() } else { &mut 0 };
            if is_one && *met < closing {
                *met += 1;
                return Reply::Vanish;
            }
            Reply::ok(&[], "")
        });
        let job = job(server.address.port(), "[request]\nurl = '/{counter}'");
        let mut engine = Engine::start(&job).expect("starts");
        assert_eq!(run(&mut engine, 20, MS * 5_000).outcomes.ok, 20);
        let total = run(&mut engine, 20, MS * 5_000);
        assert_eq!((total.outcomes.failed, total.resent), (failed, 1), "{closing}: {:?}", total.failures);
        assert_eq!(total.outcomes.ok, 20 - failed, "{closing}");
    }
}

/// Answers `each` requests on a connection and closes it 5 ms later, unannounced; connections beyond `most` are
/// kept.
fn close_silently(each: u32, most: usize) -> u16 {
    close(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", each, most)
}

/// The same, with this answer.
fn close(answer: &'static [u8], each: u32, most: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.expect("somebody comes");
            std::thread::spawn(move || {
                let mut left = if number < most { each } else { u32::MAX };
                while left > 0 && stream.read(&mut [0; 1000]).is_ok_and(|count| count > 0) {
                    let _ = stream.write_all(answer);
                    left -= 1;
                }
                std::thread::sleep(Duration::from_millis(5));
            });
        }
    });
    port
}

/// uWSGI's router closes each connection after its answer: a quarter of all requests met one just being closed,
/// a few met two, and it was said to hold a quarter of its capacity.
#[test]
fn who_closes_after_so_many_answers_is_asked_no_more() {
    for (each, connects) in [(1, 100), (3, 34)] {
        let mut engine = Engine::start(&job(close_silently(each, usize::MAX), "")).expect("starts");
        let learning = run(&mut engine, 100, MS * 1000);
        assert!(learning.outcomes.ok >= 95 && learning.resent > 0, "{:?}", learning.failures);
        let load = OfferedLoad::Open(Schedule::constant(Rate(400.0), MS * 250));
        let counted =
            engine.run_trial(&load, MS * 1000, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
        let total = counted.total;
        assert_eq!((total.outcomes.ok, total.resent), (100, 0), "{:?}", total.failures);
        assert!(total.connects.abs_diff(connects) <= 3, "{} of {each} answers each", total.connects);
        assert_eq!(counted.members[0].answers_each, Some(each.into()));
    }
}

/// PHP's own server, which sends `Connection: close` and no length, was said to close unannounced.
#[test]
fn who_says_no_length_announces_the_end() {
    for answer in ["Connection: close\r\n\r\nok", "\r\nok"] {
        let answer = format!("HTTP/1.1 200 OK\r\n{answer}").leak().as_bytes();
        let mut engine = Engine::start(&job(close(answer, 1, usize::MAX), "")).expect("starts");
        let load = OfferedLoad::Open(Schedule::constant(Rate(400.0), MS * 250));
        let counted =
            engine.run_trial(&load, MS * 1000, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
        assert_eq!(
            (counted.total.outcomes.ok, counted.total.connects),
            (100, 100),
            "{:?}",
            counted.total.failures
        );
        assert_eq!(counted.members[0].answers_each, None);
    }
}

#[test]
fn one_that_stays_after_all_is_used_again() {
    let mut engine = Engine::start(&job(close_silently(1, 30), "")).expect("starts");
    run(&mut engine, 100, MS * 1000);
    let load = OfferedLoad::Open(Schedule::constant(Rate(400.0), MS * 1000));
    let counted =
        engine.run_trial(&load, MS * 1000, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
    let total = counted.total;
    assert_eq!((total.outcomes.ok, total.resent), (400, 0), "{:?}", total.failures);
    assert!(total.connects <= 90, "for a tenth of a second: {}", total.connects);
    assert_eq!(counted.members[0].answers_each, None);
}

#[test]
fn a_request_is_sent_again_only_once() {
    // Turned away once, a request is so again, and then the connection is a new one.
    let turned_away = Mutex::new(HashSet::new());
    let server = Server::start(move |request| {
        let mut turned_away = turned_away.lock().expect("nobody panics");
        let again = !turned_away.insert(request.path.clone()) && request.turn == 0;
        if again || request.turn == FIFTH {
            return Reply::Vanish;
        }
        turned_away.remove(&request.path);
        Reply::ok(&[], "")
    });
    let total = offer(&one_by_one(&server, "[request]\nurl = '/{counter}'"), 20);
    let why = "the server closed a used connection; it was resent, and that connection closed too";
    assert_eq!(failures(&total), [(why.to_owned(), 4)]);
    assert_eq!((total.outcomes.ok, total.resent, server.requests().len()), (16, 4, 24));
}

/// In a flow each request is resent by itself, and its user stays the same.
#[test]
fn a_flow_goes_on() {
    let server = fifth(|_| Reply::Vanish);
    let plan = r#"
        [[flow]]
        [[flow.step]]
        url = "/one"
        take = { t = "json:/t" }
        [[flow.step]]
        url = "/two/{t}"
        [[flow.step]]
        url = "/three/{t}"
    "#;
    let total = offer(&one_by_one(&server, plan), 8);
    assert_eq!((total.outcomes.ok, total.resent), (8, 5), "{:?}", total.failures);
    assert_eq!(counts(&total), [(8, 8, 0); 3]);
    let requests = server.requests();
    let without =
        requests.iter().filter(|request| request.header("cookie") != "a=b" && request.path != "/one");
    assert_eq!((requests.len(), without.count()), (29, 0));
}

/// Sent once and then given up, it has an outcome: the figures of its step once lacked it.
#[test]
fn who_finds_no_other_connection_has_failed() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody comes");
        drop(listener);
        let mut piece = [0; 1000];
        for _ in 0..FIFTH {
            if stream.read(&mut piece).expect("it asks") > 0 {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("it listens");
            }
        }
        let _ = stream.read(&mut piece);
    });
    let mut job = job(port, "[[flow]]\n[[flow.step]]\nurl = '/'\n[[flow.step]]\nurl = '/'");
    job.generator.connections = 1;
    let total = offer(&job, 20);
    assert_eq!((total.outcomes.ok + total.outcomes.failed, total.resent), (20, 1), "{:?}", total.failures);
    let sent: u64 = counts(&total).iter().map(|(sent, ..)| sent).sum();
    assert_eq!(sent, FIFTH as u64 + 1);
}

#[test]
fn it_is_the_same_through_tls() {
    let server = fifth(|_| Reply::Vanish);
    let front = TlsFront::Rustls.open(server.address).expect("it is ours");
    let mut job = one_by_one(&server, PUT);
    let origin = Origin::new(true, "127.0.0.1".to_owned(), front.address.port());
    let origin = Origin { insecure: true, http: HttpVersion::One, ..origin };
    job.endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("an address");
    all_answered("TLS", &job, &server);
}

#[test]
fn it_is_the_same_over_a_unix_socket() {
    let server = fifth(|_| Reply::Vanish);
    let path = std::env::temp_dir().join(format!("torment-resent-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("the path is free");
    let address = server.address;
    std::thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            let server = std::net::TcpStream::connect(address).expect("it listens");
            let (mut from, mut to) = (client.try_clone().expect("free"), server.try_clone().expect("free"));
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            std::thread::spawn(move || {
                let (mut from, mut to) = (server, client);
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    let mut job = one_by_one(&server, PUT);
    let origin = Origin::new(false, "localhost".to_owned(), 80);
    let origin = Origin { unix_socket: Some(path.clone()), ..origin };
    job.endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("a path");
    all_answered("a Unix socket", &job, &server);
    let _ = std::fs::remove_file(&path);
}
