//! Every arrival is counted once, whatever happens to its sender.

use crate::simulated_machine::{DRAIN, due_until, offer, schedules, sent_until, slices};
use proptest::prelude::*;
use record::{Slice, StepSlice, TrialCounts};
use schedule::{OfferedLoad, Schedule};
use std::collections::BTreeMap;
use torment_fleet::{Ledger, LoopAssignment};
use units::Nanos;
use units::random::{mix, one_of};

/// What reaches the coordinator.
#[derive(Debug, Clone)]
enum ReportStep {
    Slice(Box<Slice>),
    Over(Nanos, u32),
    Lost,
}

#[derive(Debug, Clone)]
struct TrialScript {
    schedule: Schedule,
    /// Each member's loops, and when some die, as a share of load and drain.
    members: BTreeMap<u32, (u32, Option<f64>)>,
    /// When the load is stopped after that, if somebody dies; `None`: it is not.
    stop: Option<f64>,
    /// Determines in what order messages arrive, and which arrive twice.
    seed: u64,
}

fn courses() -> impl Strategy<Value = TrialScript> {
    let member = (1_u32..4, prop::option::weighted(0.3, 0.0..1.0_f64));
    let members = prop::collection::btree_map(0_u32..100, member, 1..7);
    let stop = prop::option::weighted(0.3, 0.0..1.0_f64);
    (schedules(), members, stop, any::<u64>()).prop_map(|(schedule, members, stop, seed)| TrialScript {
        schedule,
        members,
        stop,
        seed,
    })
}

struct LedgerResult {
    counted: TrialCounts,
    /// Seconds in the order they became complete.
    wholes: Vec<Slice>,
    unaccounted: u64,
    /// Arrivals that reached the target.
    arrived: u64,
    ends: Nanos,
}

impl TrialScript {
    fn loops(&self) -> LoopAssignment {
        LoopAssignment::deal(self.members.iter().map(|(member, (loops, _))| (*member, *loops)))
    }

    /// `order` ranks a message by member and index: the lowest arrives first.
    fn run(&self, order: impl Fn(u32, usize) -> u64, twice: bool) -> LedgerResult {
        let (loops, whole) = (self.loops(), self.schedule.duration() + DRAIN);
        let share = |share: f64| Nanos::from_secs_f64(whole.as_secs_f64() * share);
        let deaths: BTreeMap<u32, Nanos> =
            self.members.iter().filter_map(|(member, (_, dies))| Some((*member, share((*dies)?)))).collect();
        // All are stopped a moment after the first was missed.
        let missed = deaths.values().min().map(|at| *at + Nanos::from_millis(200));
        let stop = self.stop.map(share).into_iter().chain(missed).min();
        let ends = stop.unwrap_or(Nanos::MAX).min(self.schedule.duration());
        let (mut told, mut arrived) = (Vec::new(), 0);
        for member in self.members.keys() {
            let own = loops.of(*member);
            let dies = deaths.get(member);
            // A member that dies before the stop goes on as planned until then.
            let until = if dies.is_some_and(|dies| *dies < ends) { Nanos::MAX } else { ends };
            let slices = slices(&self.schedule, own, loops.total(), until);
            let (count, mut at) = (slices.len(), Nanos::ZERO);
            let lives = dies.copied().unwrap_or(ends + DRAIN);
            arrived += sent_until(&self.schedule, own, loops.total(), until, lives);
            let mut its = Vec::new();
            for slice in slices {
                at += slice.elapsed;
                if dies.is_none_or(|dies| at <= *dies) {
                    its.push(ReportStep::Slice(Box::new(slice)));
                }
            }
            let last = if dies.is_none() { ReportStep::Over(ends, count as u32) } else { ReportStep::Lost };
            its.push(last);
            told.extend(
                its.into_iter().enumerate().map(|(index, each)| (order(*member, index), *member, each)),
            );
        }
        told.sort_by_key(|(when, member, _)| (*when, *member));
        let mut ledger = Ledger::new(&loops, &offer(&self.schedule));
        let mut wholes = Vec::new();
        if stop.is_some() {
            ledger.end_load(ends);
        }
        for (index, (_, member, each)) in told.iter().enumerate() {
            match each {
                ReportStep::Slice(slice) => {
                    ledger.add_slice(*member, slice);
                    if twice {
                        assert!(!ledger.add_slice(*member, slice), "it is counted once");
                        let (_, other, earlier) =
                            &told[one_of(mix(self.seed, index as u64), index as u128 + 1) as usize];
                        if let ReportStep::Slice(earlier) = earlier {
                            assert!(!ledger.add_slice(*other, earlier));
                        }
                    }
                }
                ReportStep::Over(at, slices) => ledger.finish_member(*member, *at, *slices),
                ReportStep::Lost => ledger.lose_member(*member, Nanos::ZERO),
            }
            wholes.extend(std::iter::from_fn(|| ledger.next_complete()));
        }
        assert!(ledger.is_over());
        let unaccounted = self.members.keys().map(|member| ledger.unaccounted(*member)).sum();
        LedgerResult { counted: ledger.into_counts(), wholes, unaccounted, arrived, ends }
    }
}

proptest! {
    #[test]
    fn every_arrival_is_in_the_books_once(course in courses(), twice: bool) {
        let seed = course.seed;
        let left = course.run(|member, index| mix(mix(seed, member.into()), index as u64), twice);
        let total = &left.counted.total;
        prop_assert_eq!(total.due, total.outcomes.total(), "{:?}", total.outcomes);
        prop_assert_eq!(total.due, due_until(&course.schedule, left.ends), "all that came due until {}", left.ends);
        prop_assert!(left.wholes.is_sorted_by_key(|slice| slice.index));
        let mut all = Slice::default();
        left.wholes.iter().for_each(|slice| all.merge_after(slice));
        prop_assert_eq!(&all, total);
    }

    /// In order: what reached the target lies between what was reported as sent, and that plus what lost members may
    /// have sent since.
    #[test]
    fn what_may_have_reached_the_target_is_known(course in courses()) {
        let left = course.run(|_, index| index as u64, false);
        let sent = left.counted.total.sent;
        let most = sent + left.unaccounted;
        prop_assert!((sent..=most).contains(&left.arrived), "{} not in {}..={}", left.arrived, sent, most);
    }

    /// Late, twice, reordered: the books are identical, to the last digit.
    #[test]
    fn the_order_of_what_is_told_changes_nothing(mut course in courses()) {
        course.members.values_mut().for_each(|(_, dies)| *dies = None);
        let seed = course.seed;
        let one = course.run(|_, index| index as u64, false).counted;
        let other = course.run(|member, index| mix(mix(seed, member.into()), index as u64), true).counted;
        prop_assert_eq!(one.total, other.total);
        prop_assert_eq!(one.loaded, other.loaded);
    }
}

fn told(index: u32, due: u64) -> Slice {
    let mut slice = Slice { index, due, elapsed: record::SLICE, loops: 1, ..Slice::default() };
    slice.outcomes.ok = due;
    slice
}

/// 10/s for four seconds, by two members with a loop each.
fn two() -> Ledger {
    let schedule = Schedule::constant(units::Rate(10.0), Nanos::from_secs(4));
    Ledger::new(&LoopAssignment::deal([(0, 1), (1, 1)]), &OfferedLoad::Open(schedule))
}

#[test]
fn what_a_lost_member_owed_is_unsent_and_what_it_had_open_unfinished() {
    let mut ledger = two();
    (0..4).for_each(|second| assert!(ledger.add_slice(0, &told(second, 5))));
    // Of its first five, one is unsent and two are in flight.
    let mut first = told(0, 5);
    (first.outcomes.ok, first.backlog, first.in_flight) = (2, 1, 2);
    assert!(ledger.add_slice(1, &first));
    // Slices after a gap were never acknowledged.
    assert!(ledger.add_slice(1, &told(2, 5)));
    assert_eq!([0, 1].map(|member| ledger.reported_until(member)), [record::SLICE * 4, record::SLICE]);
    assert_eq!([0, 1].map(|member| ledger.acknowledge(member)), [Some(3), None]);
    assert_eq!(ledger.acknowledge(0), None, "it has been told");
    ledger.lose_member(1, Nanos::ZERO);
    ledger.end_load(Nanos::from_millis(2_500));
    assert!(!ledger.add_slice(1, &told(1, 5)), "it is not listened to any more");
    assert_eq!(ledger.next_complete().map(|slice| slice.due), Some(10));
    assert!(ledger.next_complete().is_none(), "the load may still be ended");
    ledger.finish_member(0, Nanos::from_millis(2_500), 4);
    let wholes: Vec<Slice> = std::iter::from_fn(|| ledger.next_complete()).collect();
    // Due at 1.15, 1.35, … 1.95, and at 2.15, 2.35 s.
    let counts = |slice: &Slice| (slice.due, slice.outcomes.unsent, slice.outcomes.unfinished);
    assert_eq!(wholes.iter().map(counts).collect::<Vec<_>>(), [(10, 6, 2), (7, 2, 0), (5, 0, 0)]);
    assert_eq!(ledger.unaccounted(1), 8);
    assert_eq!(ledger.into_counts().loaded, Nanos::from_millis(2_500));
}

/// Unaware that the load is to end, it goes on until it has heard nothing for long: nobody counts that as due.
#[test]
fn who_is_out_of_reach_may_have_gone_on() {
    for (goes_on, unaccounted) in [(0, 5), (2_000, 10), (60_000, 15)] {
        let mut ledger = two();
        (0..2).for_each(|second| assert!(ledger.add_slice(0, &told(second, 5))));
        assert!(ledger.add_slice(1, &told(0, 5)));
        ledger.lose_member(1, Nanos::from_millis(goes_on));
        ledger.end_load(Nanos::from_secs(2));
        ledger.finish_member(0, Nanos::from_secs(2), 2);
        assert_eq!(ledger.unaccounted(1), unaccounted, "{goes_on} ms");
        while ledger.next_complete().is_some() {}
        assert_eq!((ledger.total().due, ledger.total().outcomes.unsent), (20, 5));
    }
}

#[test]
fn of_connections_nothing_is_owed() {
    let offer = OfferedLoad::Closed { connections: 2, requests: None, duration: Some(Nanos::from_secs(4)) };
    let mut ledger = Ledger::new(&LoopAssignment::deal([(0, 1), (1, 1)]), &offer);
    assert!(ledger.add_slice(0, &told(0, 5)));
    ledger.finish_member(0, record::SLICE, 1);
    ledger.lose_member(1, Nanos::ZERO);
    assert!(ledger.is_over());
    let whole = ledger.next_complete().expect("all is told");
    assert_eq!((whole.due, whole.outcomes.total(), ledger.unaccounted(1)), (5, 5, 0));
}

#[test]
fn strangers_and_what_comes_too_much_are_not_counted() {
    let mut ledger = two();
    assert!(!ledger.add_slice(7, &told(0, 5)));
    ledger.finish_member(7, Nanos::ZERO, 0);
    ledger.lose_member(7, Nanos::ZERO);
    let parts = vec![StepSlice::default(); 1_001];
    assert!(!ledger.add_slice(0, &Slice { parts, ..told(0, 5) }), "no plan has so many requests");
    // Its end may arrive before what it is the end of.
    ledger.finish_member(0, Nanos::from_secs(1), 1);
    assert!(!ledger.is_over());
    assert!(ledger.add_slice(0, &told(0, 5)));
    assert!(!ledger.add_slice(0, &told(1, 5)), "it said that there is no more");
    // A gap is never followed by more slices than a member keeps.
    let taken = (1..1_000).filter(|second| ledger.add_slice(1, &told(*second, 1))).count();
    assert_eq!(taken, 120);
    ledger.lose_member(1, Nanos::ZERO);
    assert!(ledger.is_over());
    // A member that has reported all cannot be lost.
    ledger.lose_member(0, Nanos::ZERO);
    assert_eq!(ledger.unaccounted(0), 0);
}
