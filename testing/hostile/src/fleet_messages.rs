use fleet::{
    ClockExchange, FleetRole, FromMember, Ledger, LoopAssignment, MemberReport, RemoteClock, ToMember,
    TrialCoordinator,
};
use schedule::{OfferedLoad, Schedule};
use units::{Nanos, Rate};

const STEP: Nanos = Nanos::from_millis(100);

/// Whatever the two members of a fleet report in turn, each of three seconds of load is counted once, and the trial ends. A message parsed
/// as a coordinator's is encoded back unchanged.
pub fn fleet_messages(bytes: &[u8]) {
    let mut rest = bytes;
    if let Ok(message) = rmp_serde::from_read::<_, ToMember>(&mut rest) {
        let again = rmp_serde::to_vec_named(&message).expect("it was just read");
        let again: ToMember = rmp_serde::from_slice(&again).expect("it was just written");
        assert_eq!(format!("{again:?}"), format!("{message:?}"));
    }
    let loops = LoopAssignment::deal([(0, 1), (1, 2)]);
    let offer = OfferedLoad::Open(Schedule::constant(Rate(100.0), Nanos::from_secs(3)));
    let (mut ledger, mut clock, mut now) = (Ledger::new(&loops, &offer), RemoteClock::default(), Nanos::ZERO);
    let mut coordinator = TrialCoordinator::begin(1, 0..2, Nanos::ZERO, now);
    let mut rest = bytes;
    for nth in 0.. {
        let Ok(message) = rmp_serde::from_read::<_, FromMember>(&mut rest) else { break };
        now += STEP;
        coordinator.tick(now);
        let member = nth % 2;
        match message {
            FromMember::Hello(hello) => assert!(FleetRole::ALL.contains(&hello.role)),
            FromMember::Time { asked, heard, told } => {
                let _ = clock.add(ClockExchange { asked, heard, told, answered: now });
                let _ = clock.reading(now);
            }
            FromMember::Told(MemberReport::Armed { trial }) => coordinator.armed(member, trial),
            FromMember::Told(MemberReport::Slice { slice, .. }) => {
                ledger.add_slice(member, &slice);
                coordinator.member_reported(member, ledger.reported_until(member));
            }
            FromMember::Told(MemberReport::Over { at, slices, worked, .. }) => {
                worked.busy_shares();
                ledger.finish_member(member, at, slices);
                coordinator.member_over(member, at);
            }
            FromMember::Told(_) => {}
        }
        while ledger.next_complete().is_some() {}
    }
    for member in 0..2 {
        coordinator.member_lost(member, String::new(), now);
        ledger.lose_member(member, Nanos::ZERO);
    }
    while ledger.next_complete().is_some() {}
    assert!(coordinator.is_over() && ledger.is_over());
    let counted = ledger.into_counts();
    assert!(counted.loaded <= offer.latest_end(), "{}", counted.loaded);
}
