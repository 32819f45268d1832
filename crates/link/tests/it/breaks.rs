//! Broken and stalled links.

use crate::{SOON, both, gone, left, next_event};
use fleet::{Instruction, MemberReport};
use std::time::Duration;
use torment_link::MemberEvent;

#[test]
fn a_link_that_is_cut_is_gone_for_both() {
    let (mut post, mut wire, relay) = both();
    relay.cut();
    let (_, why) = gone(&mut post, 7);
    assert!(why.starts_with("the link broke") || why == "it closed the link", "{why}");
    let (_, why) = left(&mut wire);
    assert!(why.starts_with("the link broke") || why == "it closed the link", "{why}");
    assert!(!post.send(7, Instruction::Leave));
}

#[test]
fn who_is_only_slow_is_not_gone() {
    let (mut post, mut wire, relay) = both();
    relay.stalls();
    for trial in 0..100 {
        assert!(wire.send(MemberReport::Armed { trial }));
        assert!(post.send(7, Instruction::Cancel { trial }));
    }
    assert!(post.next(Duration::from_secs(1)).is_none(), "nothing passes");
    relay.goes_on();
    for trial in 0..100 {
        assert_eq!(next_event(&mut post), (7, MemberEvent::Told(MemberReport::Armed { trial })));
        assert_eq!(wire.next(SOON).expect("it is there"), Some(Instruction::Cancel { trial }));
    }
}

/// A coordinator that does not read: queues stay bounded, and nothing accepted is lost.
#[test]
fn what_is_not_heard_waits_where_it_is_told() {
    let (mut post, wire, relay) = both();
    relay.stalls();
    let long = |trial: u64| MemberReport::Leaving { why: format!("{trial} {}", "x".repeat(4_000)) };
    let taken = (0..100_000).take_while(|trial| wire.send(long(*trial))).count();
    assert!((200..10_000).contains(&taken), "{taken}");
    relay.goes_on();
    for trial in 0..taken as u64 {
        assert_eq!(next_event(&mut post), (7, MemberEvent::Told(long(trial))));
    }
}

#[test]
fn who_does_not_read_is_let_go() {
    let (mut post, wire, relay) = both();
    relay.stalls();
    let told = (0..100_000).take_while(|trial| post.send(7, Instruction::Cancel { trial: *trial })).count();
    assert!((200..50_000).contains(&told), "{told}");
    let (_, why) = gone(&mut post, 7);
    assert_eq!(why, "it does not read what it is told");
    assert!(!post.send(7, Instruction::Leave));
    relay.goes_on();
    drop(wire);
}

/// Members receive heartbeats only while somebody conducts, not from one that hangs.
#[test]
fn silence_means_that_nobody_conducts() {
    let (mut post, wire, _relay) = both();
    let asked = |post: &mut CoordinatorLink| drop(post.next(Duration::from_millis(10)));
    let until = |mut post: Option<&mut CoordinatorLink>, is: &dyn Fn(u64) -> bool| {
        let began = std::time::Instant::now();
        while !is(wire.silent_for().0) {
            match &mut post {
                Some(post) => asked(post),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
            assert!(began.elapsed() < SOON, "silent for {}", wire.silent_for());
        }
    };
    use torment_link::CoordinatorLink;
    // Twice it waited a while and then received something other than an instruction.
    for _ in 0..2 {
        until(Some(&mut post), &|silent| silent > 300_000_000);
        until(Some(&mut post), &|silent| silent < 300_000_000);
    }
    until(None, &|silent| silent > 2_500_000_000);
}
