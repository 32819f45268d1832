//! Messages arrive in order and whole.

use crate::{SHORT, both, gone, left, next_event};
use fleet::{Instruction, MemberReport, TargetCheck};
use plan::{Draft, PlanCommand, PortablePlan};
use record::Slice;
use torment_link::MemberEvent;

fn slice(index: u32) -> MemberReport {
    let mut slice = Slice { index, due: 50_000, ..Slice::default() };
    (0..3_000_u64).for_each(|step| slice.response.record(units::Nanos(step * 10_000)));
    MemberReport::Slice { trial: 1, slice: Box::new(slice) }
}

#[test]
fn both_tell_the_other_and_nothing_is_lost_on_the_way() {
    let (mut coordinator_link, mut member_link, _relay) = both();
    assert!(coordinator_link.next(SHORT).is_none());
    assert!(member_link.next(SHORT).expect("it is there").is_none());
    for second in 0..200 {
        assert!(member_link.send(slice(second)));
        assert!(coordinator_link.send(7, Instruction::Heard { trial: 1, second }));
    }
    for second in 0..200 {
        assert_eq!(next_event(&mut coordinator_link), (7, MemberEvent::Reported(slice(second))));
        let said = member_link.next(crate::SOON).expect("it is there");
        assert_eq!(said, Some(Instruction::Heard { trial: 1, second }));
    }
    assert!(!coordinator_link.send(8, Instruction::Leave), "there is no other");
}

/// With the most rows allowed.
#[test]
fn a_large_plan_arrives() {
    let (coordinator_link, mut member_link, _relay) = both();
    let text = "target.url = 'http://h/{users.id}'\nload.rate = 1\ndata.users.file = 'u.csv'";
    let mut none = |_: &str| Err("there is none".to_owned());
    let mut plan = Draft::from_toml("p.toml", text)
        .and_then(|draft| draft.check(PlanCommand::Run, &mut none))
        .expect("it is a plan");
    let rows = |_: &str| Ok(format!("id\n{}", "0123456789abcdef\n".repeat(60_000)));
    plan.bind(rows, |_| Err("there is none".to_owned())).expect("all is there");
    let (parcel, tries) = (Box::new(PortablePlan::new(&plan, None)), TargetCheck::Nothing);
    let welcome = Instruction::Welcome { member: 7, share: 1, parcel, cores: vec![1], tries };
    assert!(coordinator_link.send(7, welcome.clone()));
    assert_eq!(member_link.next(crate::SOON).expect("it is there"), Some(welcome));
}

/// What was sent before a member leaves is still received.
#[test]
fn who_goes_is_heard_out() {
    let (mut coordinator_link, member_link, _relay) = both();
    (0..50).for_each(|second| assert!(member_link.send(slice(second))));
    drop(member_link);
    let (told, why) = gone(&mut coordinator_link, 7);
    assert_eq!((told.len(), why.as_str()), (50, "it closed the link"));
    assert!(!coordinator_link.send(7, Instruction::Leave));

    let (coordinator_link, mut member_link, _relay) = both();
    (0..50).for_each(|_| assert!(coordinator_link.send(7, Instruction::Abandon)));
    drop(coordinator_link);
    let (said, why) = left(&mut member_link);
    assert_eq!((said.len(), why.as_str()), (50, "it closed the link"));
    assert!(!member_link.send(slice(0)));
}

/// More than 4 MiB is no slice.
#[test]
fn what_is_too_large_is_not_sent() {
    let (mut coordinator_link, member_link, _relay) = both();
    assert!(member_link.send(MemberReport::Leaving { why: "x".repeat(5 << 20) }));
    let (told, why) = gone(&mut coordinator_link, 7);
    assert!(told.is_empty() && why.contains("too large"), "{why}");
}
