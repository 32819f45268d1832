//! A link whose peer sends almost what a member or a coordinator sends, from its first byte on.

use crate::mutants::mutant;
use crate::peak_memory;
use fleet::{BuildStamp, FleetRole, Hello, Instruction, MemberReport, PROTOCOL};
use link::{CoordinatorLink, MemberEvent, MemberLink};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::Nanos;
use units::random::Random;

const TIMEOUT: Duration = Duration::from_secs(60);
const MUTANTS: u64 = 150;
/// More than all of them take, whatever lengths they name.
const MAX_GROWTH: u64 = 256 << 20;

fn hello() -> Hello {
    let (build, place, machine) = ("1.0".to_owned(), "here".to_owned(), "1f-2".to_owned());
    let (role, stamp, member) = (FleetRole::Worker, BuildStamp::default(), None);
    Hello { protocol: PROTOCOL, build, stamp, role, member, place, machine, pid: 9 }
}

fn open_link() -> CoordinatorLink {
    CoordinatorLink::open("1.0", &BuildStamp::default(), FleetRole::Worker, &[])
        .expect("there is room for a thread")
}

/// The bytes sent in each direction.
type Transcript = Arc<Mutex<Vec<u8>>>;

/// Forwards and records the bytes.
fn relay(mut from: UnixStream, mut to: UnixStream, transcript: Transcript) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        transcript.lock().expect("nobody panics here").extend_from_slice(&buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Everything a member sends its coordinator in a short trial, and the replies.
fn conversation() -> [Vec<u8>; 2] {
    let mut post = open_link();
    let near = UnixStream::from(post.socket_for(0).expect("a descriptor is free"));
    let (far, theirs) = UnixStream::pair().expect("a descriptor is free");
    let transcript = [Transcript::default(), Transcript::default()];
    let passing = [(&far, &near, &transcript[0]), (&near, &far, &transcript[1])].map(|(from, to, said)| {
        let twin = |socket: &UnixStream| socket.try_clone().expect("a descriptor is free");
        let (from, to, transcript) = (twin(from), twin(to), Arc::clone(said));
        std::thread::spawn(move || relay(from, to, transcript))
    });
    let mut wire = MemberLink::connect(theirs, hello(), &[]).expect("it is let in");
    assert_eq!(post.next(TIMEOUT), Some((0, MemberEvent::Joined(hello()))));
    let mut slice = record::Slice { due: 100, loops: 1, elapsed: record::SLICE, ..record::Slice::default() };
    (0..100).for_each(|step| slice.response.record(Nanos(step * 10_000)));
    let worked = Box::new(record::MemberFigures::default());
    let tidings = [
        MemberReport::Armed { trial: 1 },
        MemberReport::Slice { trial: 1, slice: Box::new(slice) },
        MemberReport::Over { trial: 1, at: record::SLICE, slices: 1, worked },
    ];
    for report in tidings {
        assert!(wire.send(report.clone()));
        assert_eq!(post.next(TIMEOUT), Some((0, MemberEvent::Reported(report))));
    }
    post.compare_clocks(TIMEOUT);
    for instruction in [Instruction::Heard { trial: 1, second: 0 }, Instruction::Leave] {
        assert!(post.send(0, instruction.clone()));
        assert_eq!(wire.next(TIMEOUT).expect("it is there"), Some(instruction));
    }
    drop((wire, post));
    passing.into_iter().for_each(|passing| passing.join().expect("it does not panic"));
    transcript.map(|said| said.lock().expect("nobody panics here").clone())
}

/// A socket whose peer sends exactly these bytes.
fn socket_with(bytes: Vec<u8>) -> UnixStream {
    let (mut theirs, ours) = UnixStream::pair().expect("a descriptor is free");
    std::thread::spawn(move || {
        let _ = theirs.write_all(&bytes);
        let _ = theirs.shutdown(Shutdown::Write);
        let _ = theirs.read_to_end(&mut Vec::new());
    });
    ours
}

/// Counts panics: a panicking task ends its stream just as the peer would.
fn panics() -> &'static AtomicUsize {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        before(info);
    }));
    &PANICS
}

#[test]
fn whoever_nearly_speaks_as_the_other_side_is_gone_and_harms_nobody() {
    let panics = panics();
    let [to_coordinator, from_coordinator] = conversation();
    assert!(to_coordinator.len() > 500 && from_coordinator.len() > 500, "it was a conversation");
    let before = peak_memory();
    let mut post = open_link();
    for seed in 0..MUTANTS {
        post.accept(7, socket_with(mutant(&to_coordinator, &mut Random(seed))))
            .expect("it can be waited for");
        loop {
            match post.next(TIMEOUT) {
                Some((_, MemberEvent::Gone(_))) => break,
                Some((member, _)) => assert_eq!(member, 7),
                None => panic!("mutant {seed} of a member is still there"),
            }
        }
    }
    for seed in 0..MUTANTS {
        let Ok(mut wire) =
            MemberLink::connect(socket_with(mutant(&from_coordinator, &mut Random(seed))), hello(), &[])
        else {
            continue;
        };
        while wire.next(TIMEOUT).is_ok_and(|said| said.is_some()) {}
    }
    // The coordinator still works.
    let theirs = post.socket_for(8).expect("a descriptor is free");
    let wire = std::thread::spawn(|| MemberLink::connect(theirs, hello(), &[]));
    assert_eq!(post.next(TIMEOUT), Some((8, MemberEvent::Joined(hello()))));
    drop(wire.join().expect("it does not panic").expect("it is let in"));
    assert_eq!(panics.load(Ordering::Relaxed), 0, "something panicked");
    let grown = peak_memory().saturating_sub(before);
    assert!(grown < MAX_GROWTH, "{grown} bytes more");
}
