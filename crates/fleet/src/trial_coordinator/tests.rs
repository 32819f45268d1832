use super::*;
use proptest::prelude::*;

const NOW: Nanos = Nanos::from_secs(1_000);
const ROUND_TRIP: Nanos = Nanos::from_millis(1);

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn moves(coordinator: &mut TrialCoordinator) -> Vec<TrialAction> {
    std::iter::from_fn(|| coordinator.next_action()).collect()
}

/// Ticks regularly until `until`.
fn tick_until(coordinator: &mut TrialCoordinator, until: Nanos) {
    while coordinator.last_tick < until {
        coordinator.tick(until.min(coordinator.last_tick + TICK_MOST));
    }
}

/// Of two members, both of which begin at 1,000.3 s.
fn running() -> TrialCoordinator {
    let mut coordinator = TrialCoordinator::begin(1, [0, 1], ROUND_TRIP, NOW);
    assert_eq!(moves(&mut coordinator), [TrialAction::Arm { trial: 1, start: NOW + ms(300) }]);
    coordinator.armed(0, 1);
    assert_eq!(moves(&mut coordinator), []);
    coordinator.armed(1, 1);
    assert_eq!(moves(&mut coordinator), [TrialAction::Begin]);
    coordinator
}

#[test]
fn a_load_begins_when_all_have_said_so_and_is_over_when_all_have_told() {
    let mut coordinator = running();
    coordinator.tick(NOW + ms(5_000));
    coordinator.member_reported(0, ms(1_000));
    coordinator.member_over(0, ms(1_000));
    assert!(!coordinator.is_over());
    coordinator.member_over(1, ms(1_000));
    assert!(coordinator.is_over() && !coordinator.has_failed());
    assert_eq!(
        (moves(&mut coordinator), coordinator.absent().count(), coordinator.overran().count()),
        (vec![], 0, 0)
    );
}

#[test]
fn who_is_not_ready_is_given_twice_the_time_and_then_named() {
    // With a long round trip: the lead is three of it.
    let mut coordinator = TrialCoordinator::begin(5, [0, 1, 2], ms(200), NOW);
    assert_eq!(moves(&mut coordinator), [TrialAction::Arm { trial: 5, start: NOW + ms(600) }]);
    coordinator.armed(0, 5);
    tick_until(&mut coordinator, NOW + ms(400));
    assert_eq!(
        (moves(&mut coordinator), coordinator.decision_time()),
        (vec![], Some(NOW + ms(400) + Nanos(1)))
    );
    let again = NOW + ms(401);
    coordinator.tick(again);
    assert_eq!(
        moves(&mut coordinator),
        [TrialAction::Cancel { trial: 5 }, TrialAction::Arm { trial: 6, start: again + ms(1_200) }]
    );
    // Neither an answer to the first order counts, nor one that is too late.
    coordinator.armed(1, 5);
    coordinator.armed(0, 6);
    coordinator.armed(1, 6);
    tick_until(&mut coordinator, again + ms(1_001));
    coordinator.armed(2, 6);
    assert_eq!(moves(&mut coordinator), [TrialAction::Cancel { trial: 6 }]);
    assert!(coordinator.has_failed() && coordinator.is_over());
    assert_eq!(coordinator.absent().collect::<Vec<_>>(), [(2, &Absence::Unready)]);
    assert_eq!(coordinator.trial(), 6);
}

/// A coordinator that was starved of the processor once cancelled a load under way: nobody knew what had been sent.
#[test]
fn what_can_no_longer_be_called_off_has_begun() {
    let mut coordinator = TrialCoordinator::begin(1, [0, 1], ROUND_TRIP, NOW);
    coordinator.tick(NOW + ms(900));
    assert_eq!(
        moves(&mut coordinator),
        [TrialAction::Arm { trial: 1, start: NOW + ms(300) }, TrialAction::Begin]
    );
    // It is over when both have reported all, or one has reported nothing while it was listened to for long enough.
    coordinator.armed(0, 1);
    coordinator.member_reported(0, ms(1_000));
    coordinator.member_over(0, ms(1_000));
    assert_eq!((moves(&mut coordinator), coordinator.is_over()), (vec![], false));
    tick_until(&mut coordinator, NOW + ms(6_800));
    assert_eq!(moves(&mut coordinator), []);
    tick_until(&mut coordinator, NOW + ms(7_200));
    assert_eq!(coordinator.absent().collect::<Vec<_>>(), [(1, &Absence::Overdue(Nanos::ZERO))]);
    // So does one that is to end.
    let mut coordinator = TrialCoordinator::begin(1, [0, 1], ROUND_TRIP, NOW);
    coordinator.stop(NOW + ms(280));
    let arm = TrialAction::Arm { trial: 1, start: NOW + ms(300) };
    assert_eq!(
        moves(&mut coordinator),
        [arm, TrialAction::Begin, TrialAction::Stop { trial: 1, at: ms(180) }]
    );
}

#[test]
fn what_nobody_listened_to_is_not_late() {
    let mut coordinator = running();
    let start = coordinator.start_time();
    tick_until(&mut coordinator, start + ms(1_000));
    coordinator.member_reported(0, ms(1_000));
    coordinator.member_reported(1, ms(1_000));
    // A minute later.
    coordinator.tick(start + ms(61_000));
    assert_eq!(moves(&mut coordinator), []);
    coordinator.member_reported(0, ms(60_000));
    tick_until(&mut coordinator, start + ms(66_000));
    assert_eq!(moves(&mut coordinator), []);
    tick_until(&mut coordinator, start + ms(67_200));
    let stop = TrialAction::Stop { trial: 1, at: ms(66_300) };
    assert_eq!(
        moves(&mut coordinator),
        [TrialAction::Lose { member: 0 }, stop, TrialAction::Lose { member: 1 }]
    );
}

#[test]
fn whose_load_ends_by_itself_fell_short() {
    let mut coordinator = running();
    coordinator.member_over(0, ms(6_100));
    coordinator.member_over(1, ms(10_000));
    assert_eq!(coordinator.fell_short(ms(10_000)).collect::<Vec<_>>(), [(0, ms(6_100))]);
    // None fell short of a load that was stopped.
    let mut coordinator = running();
    coordinator.stop(coordinator.start_time() + ms(1_000));
    coordinator.member_over(0, ms(1_200));
    assert_eq!(coordinator.fell_short(ms(10_000)).count(), 0);
}

#[test]
fn who_reports_late_is_not_waited_for() {
    let mut coordinator = running();
    let start = coordinator.start_time();
    tick_until(&mut coordinator, start + ms(1_000));
    coordinator.member_reported(0, ms(6_000));
    coordinator.member_reported(1, ms(1_000));
    // Its next second is over at 2 s, and five more are allowed.
    tick_until(&mut coordinator, start + ms(7_000));
    assert_eq!(moves(&mut coordinator), []);
    coordinator.tick(start + ms(7_001));
    assert_eq!(
        moves(&mut coordinator),
        [TrialAction::Lose { member: 1 }, TrialAction::Stop { trial: 1, at: ms(7_201) }]
    );
    assert_eq!(coordinator.absent().collect::<Vec<_>>(), [(1, &Absence::Overdue(ms(1_000)))]);
    // Whatever it reports when it wakes up.
    coordinator.member_over(1, ms(9_000));
    assert!(!coordinator.is_over());
    coordinator.member_over(0, ms(7_201));
    assert!(coordinator.is_over());
    assert_eq!(coordinator.overran().count(), 0);
}

#[test]
fn a_lost_member_stops_the_others() {
    let mut coordinator = running();
    let start = coordinator.start_time();
    coordinator.member_lost(0, "it was killed".to_owned(), start + ms(1_500));
    assert_eq!(
        moves(&mut coordinator),
        [TrialAction::Lose { member: 0 }, TrialAction::Stop { trial: 1, at: ms(1_700) }]
    );
    // It is lost only once.
    coordinator.member_lost(0, "it is gone".to_owned(), start + ms(1_600));
    coordinator.stop(start + ms(1_600));
    assert_eq!((moves(&mut coordinator), coordinator.stopped()), (vec![], Some(ms(1_700))));
    // The other did not hear of the end for two seconds.
    coordinator.member_over(1, ms(3_000));
    let gone = Absence::Gone(ms(1_500), "it was killed".to_owned());
    assert_eq!(coordinator.absent().collect::<Vec<_>>(), [(0, &gone)]);
    assert_eq!(coordinator.overran().collect::<Vec<_>>(), [(1, ms(3_000))]);
}

#[test]
fn what_has_not_begun_does_not_begin() {
    for is_lost in [false, true] {
        let mut coordinator = TrialCoordinator::begin(1, [0, 1], ROUND_TRIP, NOW);
        coordinator.armed(0, 1);
        match is_lost {
            true => coordinator.member_lost(1, "it was killed".to_owned(), NOW + ms(10)),
            false => coordinator.stop(NOW + ms(10)),
        }
        coordinator.armed(1, 1);
        let moves = moves(&mut coordinator);
        assert_eq!(moves.last(), Some(&TrialAction::Cancel { trial: 1 }));
        assert!(!moves.contains(&TrialAction::Begin) && coordinator.has_failed() && coordinator.is_over());
        assert_eq!(coordinator.absent().count(), usize::from(is_lost));
    }
}

/// Events, in any order and at any time.
#[derive(Debug, Clone)]
enum TestEvent {
    Armed(u32, u64),
    Until(u32, u64),
    Over(u32, u64),
    Lost(u32),
    Stop,
    Nothing,
}

fn told() -> impl Strategy<Value = TestEvent> {
    let member = || 0_u32..5;
    prop_oneof![
        8 => (member(), 1_u64..3).prop_map(|(member, trial)| TestEvent::Armed(member, trial)),
        4 => (member(), 0_u64..20_000).prop_map(|(member, until)| TestEvent::Until(member, until)),
        2 => (member(), 0_u64..20_000).prop_map(|(member, at)| TestEvent::Over(member, at)),
        1 => member().prop_map(TestEvent::Lost),
        1 => Just(TestEvent::Stop),
        6 => Just(TestEvent::Nothing),
    ]
}

proptest! {
    #[test]
    fn whatever_is_told_it_comes_to_an_end_and_its_moves_make_sense(
        members in 1_u32..5, told in prop::collection::vec((0_u64..800, told()), 0..60),
    ) {
        let mut muster = TrialCoordinator::begin(1, 0..members, ROUND_TRIP, NOW);
        let (mut now, mut all, mut starts) = (NOW, Vec::new(), BTreeMap::new());
        let mut done = |muster: &mut TrialCoordinator, now: Nanos| {
            for each in moves(muster) {
                if let TrialAction::Arm { trial, start } = each {
                    prop_assert!(start >= now + LEAD_LEAST);
                    starts.insert(trial, start);
                }
                if let TrialAction::Cancel { trial } = each {
                    prop_assert!(now + READY_BEFORE / 2 <= starts[&trial], "some have begun");
                }
                all.push(each);
            }
            Ok(())
        };
        done(&mut muster, now)?;
        for (passed, told) in told {
            now += ms(passed);
            match told {
                TestEvent::Armed(member, trial) => muster.armed(member, trial),
                TestEvent::Until(member, until) => muster.member_reported(member, ms(until)),
                TestEvent::Over(member, at) => muster.member_over(member, ms(at)),
                TestEvent::Lost(member) => muster.member_lost(member, String::new(), now),
                TestEvent::Stop => muster.stop(now),
                TestEvent::Nothing => muster.tick(now),
            }
            done(&mut muster, now)?;
        }
        // Nobody reports any more: twice not ready, or overdue.
        for _ in 0..1_000 {
            now += TICK_MOST;
            muster.tick(now);
            done(&mut muster, now)?;
        }
        prop_assert!(muster.is_over());
        let count = |which: fn(&TrialAction) -> bool| all.iter().filter(|each| which(each)).count();
        let armed = count(|each| matches!(each, TrialAction::Arm { .. }));
        let cancelled = count(|each| matches!(each, TrialAction::Cancel { .. }));
        let begun = count(|each| matches!(each, TrialAction::Begin));
        prop_assert!((1..=2).contains(&armed) && begun <= 1);
        prop_assert_eq!(armed, cancelled + begun, "each begins or is cancelled: {:?}", all);
        prop_assert_eq!(begun == 0, muster.has_failed());
        let stopped = count(|each| matches!(each, TrialAction::Stop { .. }));
        prop_assert!(stopped <= begun, "{:?}", all);
        let lost = count(|each| matches!(each, TrialAction::Lose { .. }));
        prop_assert!(lost <= muster.absent().count() && muster.absent().count() <= members as usize);
        if lost > 0 && begun == 1 {
            prop_assert_eq!(stopped, 1, "a lost member stops the load: {:?}", all);
        }
    }
}
