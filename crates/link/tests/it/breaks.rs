//! Broken and stalled links.

use crate::{SOON, both, gone, left, next_event};
use fleet::{Instruction, MemberReport};
use std::time::Duration;
use torment_link::MemberEvent;

#[test]
fn a_link_that_is_cut_is_gone_for_both() {
    let (mut coordinator_link, mut member_link, relay) = both();
    relay.cut();
    let (_, why) = gone(&mut coordinator_link, 7);
    assert!(why.starts_with("the link broke") || why == "it closed the link", "{why}");
    let (_, why) = left(&mut member_link);
    assert!(why.starts_with("the link broke") || why == "it closed the link", "{why}");
    assert!(!coordinator_link.send(7, Instruction::Leave));
}

#[test]
fn who_is_only_slow_is_not_gone() {
    let (mut coordinator_link, mut member_link, relay) = both();
    relay.stalls();
    for trial in 0..100 {
        assert!(member_link.send(MemberReport::Armed { trial }));
        assert!(coordinator_link.send(7, Instruction::Cancel { trial }));
    }
    assert!(coordinator_link.next(Duration::from_secs(1)).is_none(), "nothing passes");
    relay.goes_on();
    for trial in 0..100 {
        assert_eq!(
            next_event(&mut coordinator_link),
            (7, MemberEvent::Reported(MemberReport::Armed { trial }))
        );
        assert_eq!(member_link.next(SOON).expect("it is there"), Some(Instruction::Cancel { trial }));
    }
}

/// A coordinator that does not read: queues stay bounded, and nothing accepted is lost.
#[test]
fn what_is_not_heard_waits_where_it_is_told() {
    let (mut coordinator_link, member_link, relay) = both();
    relay.stalls();
    let long = |trial: u64| MemberReport::Leaving { why: format!("{trial} {}", "x".repeat(4_000)) };
    let taken = (0..100_000).take_while(|trial| member_link.send(long(*trial))).count();
    assert!((200..10_000).contains(&taken), "{taken}");
    relay.goes_on();
    for trial in 0..taken as u64 {
        assert_eq!(next_event(&mut coordinator_link), (7, MemberEvent::Reported(long(trial))));
    }
}

#[test]
fn who_does_not_read_is_let_go() {
    let (mut coordinator_link, member_link, relay) = both();
    relay.stalls();
    let told = (0..100_000)
        .take_while(|trial| coordinator_link.send(7, Instruction::Cancel { trial: *trial }))
        .count();
    assert!((200..50_000).contains(&told), "{told}");
    let (_, why) = gone(&mut coordinator_link, 7);
    assert_eq!(why, "it does not read what it is told");
    assert!(!coordinator_link.send(7, Instruction::Leave));
    relay.goes_on();
    drop(member_link);
}

/// Members receive heartbeats only while somebody conducts, not from one that hangs.
#[test]
fn silence_means_that_nobody_conducts() {
    let (mut coordinator_link, member_link, _relay) = both();
    let asked =
        |coordinator_link: &mut CoordinatorLink| drop(coordinator_link.next(Duration::from_millis(10)));
    let until = |mut coordinator_link: Option<&mut CoordinatorLink>, is: &dyn Fn(u64) -> bool| {
        let began = std::time::Instant::now();
        while !is(member_link.silent_for().0) {
            match &mut coordinator_link {
                Some(coordinator_link) => asked(coordinator_link),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
            assert!(began.elapsed() < SOON, "silent for {}", member_link.silent_for());
        }
    };
    use torment_link::CoordinatorLink;
    // Twice it waited a while and then received something other than an instruction.
    for _ in 0..2 {
        until(Some(&mut coordinator_link), &|silent| silent > 300_000_000);
        until(Some(&mut coordinator_link), &|silent| silent < 300_000_000);
    }
    until(None, &|silent| silent > 2_500_000_000);
}
