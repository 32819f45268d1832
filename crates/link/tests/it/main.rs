//! Both sides over real sockets, with whatever may go wrong in between.

mod breaks;
mod clock_namespace;
mod clocks;
mod credentials;
mod messages;
mod relay;
mod tls;

use fleet::{BuildStamp, FleetRole, Hello, Instruction, MemberReport, PROTOCOL};
use std::thread::JoinHandle;
use std::time::Duration;
use torment_link::{CoordinatorLink, Duplex, Error, MemberEvent, MemberLink};

/// Nothing here takes this long, on however busy a machine.
const SOON: Duration = Duration::from_secs(60);
/// Time for something that should not happen.
const SHORT: Duration = Duration::from_millis(20);

fn hello(build: &str) -> Hello {
    let (build, place, machine) = (build.to_owned(), "here".to_owned(), "1f-2".to_owned());
    let (role, member) = (FleetRole::Worker, None);
    let (stamp, pid) = (stamp("x86_64", "1a"), std::process::id());
    Hello { protocol: PROTOCOL, build, stamp, role, member, place, machine, pid }
}

fn stamp(arch: &str, digest: &str) -> BuildStamp {
    BuildStamp { arch: arch.to_owned(), digest: digest.to_owned() }
}

fn post() -> CoordinatorLink {
    CoordinatorLink::open("1.0", &stamp("x86_64", "1a"), FleetRole::Worker, &[])
        .expect("there is room for a thread")
}

/// Joins on a thread of its own: joining blocks until admitted.
fn joins(way: impl Into<Duplex>, hello: Hello) -> JoinHandle<Result<MemberLink, Error>> {
    let way = way.into();
    std::thread::spawn(move || MemberLink::connect(way, hello, &[]))
}

fn joined(joining: JoinHandle<Result<MemberLink, Error>>) -> MemberLink {
    joining.join().expect("it does not panic").expect("it is let in")
}

/// A coordinator and its member 7, with a relay between them.
fn both() -> (CoordinatorLink, MemberLink, relay::Relay) {
    let mut coordinator_link = post();
    let (relay, theirs) = relay::between(coordinator_link.socket_for(7).expect("a descriptor is free"));
    let member_link = joined(joins(theirs, hello("1.0")));
    assert_eq!(next_event(&mut coordinator_link), (7, MemberEvent::Joined(hello("1.0"))));
    (coordinator_link, member_link, relay)
}

fn next_event(coordinator_link: &mut CoordinatorLink) -> (u32, MemberEvent) {
    coordinator_link.next(SOON).expect("something is heard")
}

/// Why a member is gone, and what it reported before.
fn gone(coordinator_link: &mut CoordinatorLink, member: u32) -> (Vec<MemberReport>, String) {
    let mut told = Vec::new();
    loop {
        match next_event(coordinator_link) {
            (from, MemberEvent::Gone(why)) if from == member => return (told, why),
            (from, MemberEvent::Reported(report)) if from == member => told.push(report),
            (_, MemberEvent::Jumped(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Why the coordinator is gone, and what it sent before.
fn left(member_link: &mut MemberLink) -> (Vec<Instruction>, String) {
    let mut said = Vec::new();
    loop {
        match member_link.next(SOON) {
            Ok(Some(what)) => said.push(what),
            Ok(None) => panic!("nothing for {SOON:?}"),
            Err(Error::Gone(why)) => return (said, why),
            Err(other) => panic!("{other}"),
        }
    }
}
