//! Held connections, against a server that counts the requests on each.

use plan::{Arrivals, Origin, Stage, Target};
use schedule::Schedule;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use torment_engine::{
    ConnectionHolder, Engine, EngineConfig, HeldConnections, LoadCommand, LoadGenerator, OfferedLoad,
    ResolvedTarget,
};
use units::{Nanos, Rate};

/// Requests on each connection, in accept order; and how many are open.
#[derive(Default)]
struct ServerConnections {
    requests: Mutex<Vec<u64>>,
    open: AtomicUsize,
}

/// Answers on each connection; closes those beyond `room` at once, and announces closing after `few` answers
/// each.
fn serve(room: usize, few: u64) -> (u16, Arc<ServerConnections>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let connections = Arc::new(ServerConnections::default());
    let shared = Arc::clone(&connections);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (connections, Ok(stream)) = (Arc::clone(&shared), stream) else { return };
            if connections.open.load(Ordering::SeqCst) >= room {
                continue;
            }
            connections.open.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || {
                let number = {
                    let mut requests = connections.requests.lock().expect("nobody panics");
                    requests.push(0);
                    requests.len() - 1
                };
                let mut lines = BufReader::new(stream.try_clone().expect("a descriptor is free"));
                let (mut line, mut left, mut stream) = (String::new(), few, stream);
                while left > 0 && lines.read_line(&mut line).is_ok_and(|length| length > 0) {
                    if line == "\r\n" {
                        left -= 1;
                        let close = if left == 0 { "Connection: close\r\n" } else { "" };
                        connections.requests.lock().expect("nobody panics")[number] += 1;
                        if write!(stream, "HTTP/1.1 200 OK\r\n{close}Content-Length: 2\r\n\r\nok").is_err() {
                            break;
                        }
                    }
                    line.clear();
                }
                connections.open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    (port, connections)
}

fn engine(port: u16) -> Engine {
    let origin = Origin::new(false, "127.0.0.1".to_owned(), port);
    let endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("an address");
    Engine::start(&EngineConfig::plain(endpoint, "/", Nanos::from_secs(2))).expect("starts")
}

fn offer(engine: &mut Engine, rate: f64, time: Nanos) -> record::Slice {
    let load = OfferedLoad::Open(Schedule::constant(Rate(rate), time));
    let counted = engine
        .run_trial(&load, Nanos::from_secs(2), &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
    engine.settle(Nanos::from_secs(2), &|| false).expect("everything is answered");
    counted.total
}

/// The server notices a closed connection a moment later.
fn becomes(truth: impl Fn() -> bool) -> bool {
    (0..200).any(|_| {
        truth() || {
            std::thread::sleep(std::time::Duration::from_millis(10));
            false
        }
    })
}

#[test]
fn so_many_stand_and_each_is_asked_in_its_turn() {
    let (port, connections) = serve(usize::MAX, u64::MAX);
    let mut engine = engine(port);
    assert_eq!(engine.hold(200, &|| false), HeldConnections { open: 200, ..HeldConnections::default() });
    assert!(becomes(|| connections.open.load(Ordering::SeqCst) == 200));
    let total = offer(&mut engine, 600.0, Nanos::from_secs(1));
    assert_eq!((total.due, total.outcomes.ok, total.connections, total.connects), (600, 600, 200, 0));
    // Three each, except where one was still busy when its turn came.
    let requests = connections.requests.lock().expect("nobody panics").clone();
    let even = requests.iter().filter(|count| **count == 3).count();
    assert!(even >= 180 && requests.iter().all(|count| (1..=5).contains(count)), "{requests:?}");
    // Fewer, and more again.
    assert_eq!(engine.hold(50, &|| false).open, 50);
    assert!(becomes(|| connections.open.load(Ordering::SeqCst) == 50));
    assert_eq!(engine.hold(60, &|| false).open, 60);
    assert_eq!(offer(&mut engine, 100.0, Nanos::from_millis(500)).connections, 60);
    // Released, they are made on demand.
    engine.release();
    assert!(becomes(|| connections.open.load(Ordering::SeqCst) == 0));
    let total = offer(&mut engine, 100.0, Nanos::from_millis(500));
    assert_eq!(total.outcomes.ok, 50);
    assert!(total.connections < 10, "{} for one request at a time", total.connections);
}

#[test]
fn what_the_target_closes_is_not_made_again() {
    let (port, _) = serve(30, u64::MAX);
    let mut engine = engine(port);
    engine.hold(40, &|| false);
    let total = offer(&mut engine, 100.0, Nanos::from_secs(1));
    assert_eq!(total.connections, 30);
    assert_eq!(total.outcomes.total(), 100);
}

#[test]
fn what_it_closes_behind_an_answer_is() {
    let (port, connections) = serve(usize::MAX, 2);
    let mut engine = engine(port);
    assert_eq!(engine.hold(20, &|| false).open, 20);
    let total = offer(&mut engine, 200.0, Nanos::from_secs(1));
    assert_eq!((total.outcomes.ok, total.connections), (200, 20));
    assert!(total.connects >= 80, "{} were made anew", total.connects);
    let requests = connections.requests.lock().expect("nobody panics").clone();
    assert!(requests.iter().all(|count| *count <= 2));
}

#[test]
fn nobody_there_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    drop(listener);
    let held = engine(port).hold(10, &|| false);
    assert_eq!(held.open, 0);
    assert_eq!(held.refused, Some(record::Failure::Connect("connection refused".to_owned())));
}

/// A target that accepts nothing makes each connection wait for seconds: an interrupt went unnoticed.
#[test]
fn making_them_ends_when_it_is_interrupted() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let mut engine = engine(listener.local_addr().expect("it is bound").port());
    let began = Instant::now();
    let held = engine.hold(5_000, &|| began.elapsed() > Duration::from_millis(200));
    assert!(began.elapsed() < Duration::from_millis(1500), "heard after {:?}", began.elapsed());
    assert!((1..5_000).contains(&held.open), "{held:?}");
    assert_eq!(held.refused, None);
    assert_eq!(engine.hold(2, &|| false).open, 2, "and it can be asked again");
}

/// Answers all requests on a connection, each after this long.
fn answer_all(mut stream: TcpStream, after: Duration) {
    let lines = BufReader::new(stream.try_clone().expect("a descriptor is free")).lines();
    for _ in lines.map_while(Result::ok).filter(String::is_empty) {
        std::thread::sleep(after);
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            break;
        }
    }
}

/// Serves two connections at a time, each until its client closes it; later ones wait in the accept queue, as
/// with waitress beyond its hundred.
fn serve_two() -> u16 {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").expect("a port is free"));
    let port = listener.local_addr().expect("it is bound").port();
    for _ in 0..2 {
        let listener = Arc::clone(&listener);
        std::thread::spawn(move || {
            let streams = listener.incoming().map_while(Result::ok);
            streams.for_each(|stream| answer_all(stream, Duration::from_millis(50)));
        });
    }
    port
}

/// Those that were answered stayed open for the next trial, so nobody got in after them: the target was said
/// not to recover within half a minute.
#[test]
fn those_that_are_done_give_way_to_those_that_wait() {
    let mut engine = engine(serve_two());
    let load = OfferedLoad::Open(Schedule::constant(Rate(2_000.0), Nanos::from_millis(4)));
    let drain = Nanos::from_millis(10);
    let total =
        engine.run_trial(&load, drain, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue).total;
    assert_eq!((total.due, total.outcomes.unfinished), (8, 8));
    let took = engine.settle(Nanos::from_secs(5), &|| false).expect("all are served, two by two");
    assert!(took > Nanos::from_secs(1), "{took}: before that they might have ended by themselves");
    assert_eq!(offer(&mut engine, 20.0, Nanos::from_millis(500)).outcomes.ok, 10, "it goes on");
}

/// Starman serves five connections, each for as long as it is used: the sixth was made in a hiccup, and its
/// request waited for the end of the load, while the five were mostly idle. The target was said to lose
/// requests at a fifth of its capacity.
#[test]
fn who_waits_for_a_place_has_it_while_the_load_lasts() {
    let mut engine = engine(serve_two());
    let stage =
        |millis, rate| Stage { duration: Nanos::from_millis(millis), from: Rate(rate), to: Rate(rate) };
    let load = OfferedLoad::Open(Schedule::new(&[stage(20, 400.0), stage(2_000, 10.0)], Arrivals::Even, 1));
    let drain = Nanos::from_millis(10);
    let counted = engine.run_trial(&load, drain, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
    let total = counted.total;
    assert_eq!((total.due, total.outcomes.ok), (28, 28), "{:?}", total.outcomes);
    assert_eq!(counted.members[0].places, Some(2));
    let longest = total.response.max().expect("all were answered");
    assert!((Nanos::from_millis(500)..Nanos::from_millis(1_600)).contains(&longest), "{longest}");
}

/// Beyond their limits nginx and Node accept connections late, one by one, and were taken for targets that
/// serve few.
#[test]
fn who_accepts_late_has_places_for_all() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let ended = Arc::new(AtomicUsize::new(0));
    let ends = Arc::clone(&ended);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || {
                answer_all(stream, Duration::from_millis(20));
                ends.fetch_add(1, Ordering::SeqCst);
            });
            std::thread::sleep(Duration::from_millis(40));
        }
    });
    let mut engine = engine(port);
    let stage =
        |millis, rate| Stage { duration: Nanos::from_millis(millis), from: Rate(rate), to: Rate(rate) };
    let load = OfferedLoad::Open(Schedule::new(&[stage(20, 400.0), stage(1_000, 50.0)], Arrivals::Even, 1));
    let drain = Nanos::from_millis(100);
    let counted = engine.run_trial(&load, drain, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
    assert_eq!((counted.total.due, counted.total.outcomes.ok), (58, 58), "{:?}", counted.total.outcomes);
    assert_eq!(counted.members[0].places, None);
    assert_eq!(ended.load(Ordering::SeqCst), 0, "nobody gave way");
}
