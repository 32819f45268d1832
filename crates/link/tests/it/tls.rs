//! Who is admitted.

use crate::{gone, hello, joined, joins, next_event, post, stamp};
use fleet::{Hello, Instruction, MemberReport, PROTOCOL};
use std::io::Write;
use std::os::unix::net::UnixStream;
use torment_link::{Duplex, Error, MemberEvent};

#[test]
fn another_build_or_protocol_is_refused_and_both_are_told_why() {
    for other in [hello("0.9"), Hello { protocol: PROTOCOL + 1, ..hello("1.0") }] {
        let mut coordinator_link = post();
        let joining = joins(coordinator_link.socket_for(3).expect("a descriptor is free"), other.clone());
        let refused = joining.join().expect("it does not panic").expect_err("it is not let in");
        let (_, why) = gone(&mut coordinator_link, 3);
        assert!(why.contains(&other.build) && why.contains("must be the same build"), "{why}");
        assert!(matches!(&refused, Error::Refused(said) if *said == why), "{refused}");
    }
}

/// Same version, different sources: it may count differently.
#[test]
fn another_program_of_the_same_version_is_refused() {
    for other in [stamp("x86_64", "2b"), stamp("x86_64", "")] {
        let mut coordinator_link = post();
        let other = Hello { stamp: other, ..hello("1.0") };
        let joining = joins(coordinator_link.socket_for(3).expect("a descriptor is free"), other);
        joining.join().expect("it does not panic").expect_err("it is not let in");
        let (_, why) = gone(&mut coordinator_link, 3);
        for word in ["another torment 1.0", "build 1a)", "the same file"] {
            assert!(why.contains(word), "{why}");
        }
    }
    // Builds for other architectures always differ.
    let mut coordinator_link = post();
    let other = Hello { stamp: stamp("aarch64", "2b"), ..hello("1.0") };
    let _wire = joined(joins(coordinator_link.socket_for(3).expect("a descriptor is free"), other.clone()));
    assert_eq!(next_event(&mut coordinator_link), (3, MemberEvent::Joined(other)));
}

#[test]
fn the_newest_is_the_member() {
    let mut coordinator_link = post();
    let mut first =
        joined(joins(coordinator_link.socket_for(0).expect("a descriptor is free"), hello("1.0")));
    assert!(matches!(next_event(&mut coordinator_link), (0, MemberEvent::Joined(_))));
    let second = joined(joins(coordinator_link.socket_for(0).expect("a descriptor is free"), hello("1.0")));
    assert!(matches!(next_event(&mut coordinator_link), (0, MemberEvent::Joined(_))));
    let (_, why) = crate::left(&mut first);
    assert!(why.contains("link"), "{why}");
    assert!(second.send(MemberReport::Armed { trial: 1 }));
    assert_eq!(
        next_event(&mut coordinator_link),
        (0, MemberEvent::Reported(MemberReport::Armed { trial: 1 }))
    );
}

#[test]
fn who_speaks_otherwise_is_none() {
    for said in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense"] {
        let mut coordinator_link = post();
        let mut stranger = UnixStream::from(coordinator_link.socket_for(1).expect("a descriptor is free"));
        stranger.write_all(said).expect("it is listened to");
        drop(stranger);
        let (told, why) = gone(&mut coordinator_link, 1);
        assert!(told.is_empty() && !why.is_empty());
    }
}

#[test]
fn a_coordinator_that_is_none_is_said_to_be_gone() {
    let (ours, theirs) = UnixStream::pair().expect("a descriptor is free");
    (&ours).write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("it is listened to");
    let error = joins(theirs, hello("1.0")).join().expect("it does not panic").expect_err("there is nobody");
    assert!(matches!(error, Error::Gone(_)), "{error}");
}

/// As with ssh: standard input and output are pipes.
#[test]
fn two_pipes_are_a_way() {
    let mut coordinator_link = post();
    let [(from, theirs_out), (theirs_in, to)] =
        [(); 2].map(|()| std::io::pipe().expect("a descriptor is free"));
    coordinator_link.accept(2, Duplex::pipes(from.into(), to.into())).expect("they can be waited for");
    let mut member_link = joined(joins(Duplex::pipes(theirs_in.into(), theirs_out.into()), hello("1.0")));
    assert_eq!(next_event(&mut coordinator_link), (2, MemberEvent::Joined(hello("1.0"))));
    for trial in 0..2_000 {
        let why = format!("{trial} {}", "x".repeat(1_000));
        while !member_link.send(MemberReport::Leaving { why: why.clone() }) {
            std::thread::sleep(crate::SHORT);
        }
        assert_eq!(
            next_event(&mut coordinator_link),
            (2, MemberEvent::Reported(MemberReport::Leaving { why }))
        );
    }
    assert!(coordinator_link.send(2, Instruction::Leave));
    drop(coordinator_link);
    let (said, why) = crate::left(&mut member_link);
    assert_eq!((said, why.as_str()), (vec![Instruction::Leave], "it closed the link"));
}

#[test]
fn a_file_is_none() {
    let file =
        || std::fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).expect("it is there");
    let refused = post().accept(0, Duplex::pipes(file().into(), file().into()));
    assert!(matches!(refused, Err(Error::Start(_))), "{refused:?}");
}
