//! Joining over the network with join files.

use crate::{SHORT, SOON, gone, hello, joined, next_event, post};
use fleet::{FleetRole, Hello, Instruction, MemberReport};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use torment_link::{Authority, CoordinatorLink, Credentials, Error, JoinFile, MemberEvent, MemberLink};

const HOUR: Duration = Duration::from_secs(3600);

fn authority() -> Authority {
    Authority::new(HOUR).expect("there is randomness")
}

/// The address it listens on.
fn listens(coordinator_link: &CoordinatorLink, credentials: &Credentials) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let at = listener.local_addr().expect("it is bound");
    coordinator_link.listen(listener, credentials).expect("it can be listened to");
    at
}

/// A coordinator with credentials of that authority, and its address.
fn listening(authority: &Authority) -> (CoordinatorLink, SocketAddr) {
    let coordinator_link = post();
    let credentials = authority.issue(FleetRole::Coordinator).expect("there is randomness");
    let at = listens(&coordinator_link, &credentials);
    (coordinator_link, at)
}

fn file(authority: &Authority, role: FleetRole, at: SocketAddr) -> JoinFile {
    JoinFile { address: at.to_string(), credentials: authority.issue(role).expect("there is randomness") }
}

fn joins(file: JoinFile, hello: Hello) -> JoinHandle<Result<MemberLink, Error>> {
    std::thread::spawn(move || MemberLink::join(&file, hello, &[]))
}

/// Rejections, once there are some.
fn turned_away(coordinator_link: &mut CoordinatorLink) -> Vec<String> {
    let began = Instant::now();
    loop {
        let turned_away = coordinator_link.take_rejected();
        if !turned_away.is_empty() {
            return turned_away;
        }
        assert!(began.elapsed() < SOON, "nobody was turned away");
        assert_eq!(coordinator_link.next(SHORT), None, "nobody is let in");
    }
}

#[test]
fn a_file_lets_in_and_who_was_here_before_comes_back_as_itself() {
    let authority = authority();
    let (mut coordinator_link, at) = listening(&authority);
    let text = file(&authority, FleetRole::Worker, at).to_text();
    assert!(text.len() < 2_500, "{}", text.len());
    let file: JoinFile = text.parse().expect("it is what was written");
    assert_eq!(file.to_text(), text);
    let mut wires = Vec::new();
    for member in [0, 1] {
        wires.push(joined(joins(file.clone(), hello("1.0"))));
        assert_eq!(next_event(&mut coordinator_link), (member, MemberEvent::Joined(hello("1.0"))));
    }
    assert!(wires[1].send(MemberReport::Armed { trial: 3 }));
    assert_eq!(
        next_event(&mut coordinator_link),
        (1, MemberEvent::Reported(MemberReport::Armed { trial: 3 }))
    );
    assert!(coordinator_link.send(0, Instruction::Leave));
    assert_eq!(wires[0].next(SOON).expect("it is there"), Some(Instruction::Leave));
    coordinator_link.compare_clocks(SOON);
    let reading = coordinator_link.clock_reading(0, units::Nanos(sys::monotonic_ns())).expect("it was asked");
    assert!(reading.offset_ns.unsigned_abs() <= reading.bound.0, "{reading:?}");
    // One link broke, which the coordinator need not know yet.
    let again = Hello { member: Some(1), ..hello("1.0") };
    let back = joined(joins(file.clone(), again.clone()));
    assert_eq!(next_event(&mut coordinator_link), (1, MemberEvent::Joined(again)));
    assert!(back.send(MemberReport::Armed { trial: 4 }));
    assert_eq!(
        next_event(&mut coordinator_link),
        (1, MemberEvent::Reported(MemberReport::Armed { trial: 4 }))
    );
    drop(wires.remove(0));
    assert_eq!(gone(&mut coordinator_link, 0).1, "it closed the link");
    // Its number is free.
    let _third = joined(joins(file, hello("1.0")));
    assert_eq!(next_event(&mut coordinator_link), (0, MemberEvent::Joined(hello("1.0"))));
}

#[test]
fn whoever_is_of_another_run_role_or_build_is_refused_and_both_are_told_why() {
    let (ours, others) = (authority(), authority());
    let (mut coordinator_link, at) = listening(&ours);
    let refused =
        |file, hello| joins(file, hello).join().expect("it does not panic").expect_err("it is refused");
    // Another run's: neither trusts the other.
    let error = refused(file(&others, FleetRole::Worker, at), hello("1.0"));
    assert!(matches!(&error, Error::Gone(why) if why.contains("from this run?")), "{error}");
    assert!(turned_away(&mut coordinator_link)[0].contains("from this run?"));
    // Half of it is ours: it trusts us, we do not trust it.
    let [our_file, their_file] = [&ours, &others].map(|each| file(each, FleetRole::Worker, at).to_text());
    let end = "-----END CERTIFICATE-----\n";
    let (our_authority, _) = our_file.split_once(end).expect("it has two certificates");
    let (_, their_own) = their_file.split_once(end).expect("it has two certificates");
    let forged: JoinFile = format!("{our_authority}{end}{their_own}").parse().expect("it looks like one");
    let error = refused(forged, hello("1.0"));
    assert!(matches!(&error, Error::Gone(why) if why.contains("from this run?")), "{error}");
    assert!(turned_away(&mut coordinator_link)[0].contains("from this run?"));
    // Another role.
    let error = refused(file(&ours, FleetRole::Watcher, at), hello("1.0"));
    assert!(matches!(&error, Error::Refused(why) if why.contains("not let in a worker")), "{error}");
    assert!(turned_away(&mut coordinator_link)[0].contains("not let in a worker"));
    // The right file of the right run, at the wrong door.
    let watcher = fleet::Hello { role: FleetRole::Watcher, ..hello("1.0") };
    let error = refused(file(&ours, FleetRole::Watcher, at), watcher);
    assert!(
        matches!(&error, Error::Refused(why) if why.contains("only a worker can come in here")),
        "{error}"
    );
    assert!(turned_away(&mut coordinator_link)[0].contains("only a worker"));
    // Another build.
    let error = refused(file(&ours, FleetRole::Worker, at), hello("0.9"));
    assert!(matches!(&error, Error::Refused(why) if why.contains("the same build")), "{error}");
    assert!(turned_away(&mut coordinator_link)[0].contains("the same build"));
    // And a peer with another protocol.
    let mut stranger = TcpStream::connect(at).expect("it listens");
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it listens");
    let why = turned_away(&mut coordinator_link);
    assert!(why[0].starts_with("127.0.0.1:"), "{why:?}");
    // None of that did any harm.
    let _wire = joined(joins(file(&ours, FleetRole::Worker, at), hello("1.0")));
    assert!(matches!(next_event(&mut coordinator_link), (0, MemberEvent::Joined(_))));
}

/// Nobody can pose as the coordinator with a worker's file.
#[test]
fn a_worker_s_pass_lets_nobody_in() {
    let authority = authority();
    let coordinator_link = post();
    let credentials = authority.issue(FleetRole::Worker).expect("there is randomness");
    let at = listens(&coordinator_link, &credentials);
    let error = joins(file(&authority, FleetRole::Worker, at), hello("1.0"))
        .join()
        .expect("it does not panic")
        .expect_err("it is no coordinator");
    assert!(matches!(&error, Error::Gone(why) if why.contains("are not accepted")), "{error}");
}

#[test]
fn what_is_no_file_of_ours_is_said_to_be_none() {
    let whole = file(&authority(), FleetRole::Worker, ([127, 0, 0, 1], 9).into()).to_text();
    let at = whole.replace("at 127.0.0.1:9\n", "");
    let cut = whole.split("-----BEGIN PRIVATE").next().expect("it has a key").to_owned();
    for (text, why) in
        [(String::new(), "no file of torment"), (at, "where the coordinator is"), (cut, "holds no key")]
    {
        let error = text.parse::<JoinFile>().expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
    let file: JoinFile = whole.parse().expect("it is one");
    assert!(!format!("{file:?}").contains("BEGIN"), "its key is shown to nobody");
    // Nobody listens there.
    let error = joins(file, hello("1.0")).join().expect("it does not panic").expect_err("nobody listens");
    assert!(
        matches!(&error, Error::Gone(why) if why.starts_with("127.0.0.1:9 cannot be reached")),
        "{error}"
    );
}
