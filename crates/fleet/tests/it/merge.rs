//! What many members count equals what one would.

use crate::simulated_machine::{offer, schedules, slices};
use proptest::prelude::*;
use record::{Slice, TrialCounts};
use schedule::Schedule;
use torment_fleet::{Ledger, LoopAssignment};
use units::Nanos;

/// Through the wire format.
fn sent(slice: &Slice) -> Slice {
    let bytes = rmp_serde::to_vec_named(slice).expect("it can be written");
    rmp_serde::from_slice(&bytes).expect("it can be read")
}

/// What `members` count, merged in an order that begins with the one at `first` in each second.
fn counted(
    schedule: &Schedule,
    members: u32,
    loops_each: u32,
    first: usize,
    backwards: bool,
) -> (TrialCounts, Vec<Slice>) {
    let loops = LoopAssignment::deal((0..members).map(|member| (member, loops_each)));
    let mut ledger = Ledger::new(&loops, &offer(schedule));
    let told: Vec<Vec<Slice>> = (0..members)
        .map(|member| {
            slices(schedule, loops.of(member), loops.total(), Nanos::MAX).iter().map(sent).collect()
        })
        .collect();
    let mut wholes = Vec::new();
    for second in 0..told[0].len() {
        let mut order: Vec<usize> = (0..told.len()).collect();
        order.rotate_left(first % told.len());
        if backwards {
            order.reverse();
        }
        for member in order {
            assert!(ledger.add_slice(member as u32, &told[member][second]));
        }
        wholes.extend(std::iter::from_fn(|| ledger.next_complete()));
    }
    assert_eq!(wholes.len(), told[0].len(), "each second was whole as soon as all had told of it");
    (0..members).for_each(|member| ledger.finish_member(member, schedule.duration(), told[0].len() as u32));
    assert!(ledger.is_over());
    (ledger.into_counts(), wholes)
}

/// All but the mean numbers outstanding, which are sums of fractions.
fn stored(slice: &Slice) -> String {
    serde_json::to_string(&Slice { outstanding: Vec::new(), ..slice.clone() }).expect("it can be written")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_many_counted_is_what_one_would_have_byte_for_byte(
        schedule in schedules(), members in prop_oneof![1_u32..9, Just(64)], first: usize, backwards: bool,
    ) {
        let (one, seconds) = counted(&schedule, 1, members, 0, false);
        let (many, wholes) = counted(&schedule, members, 1, first, backwards);
        prop_assert_eq!(one.loaded, many.loaded);
        prop_assert_eq!(stored(&one.total), stored(&many.total));
        for (one, many) in seconds.iter().zip(&wholes) {
            prop_assert_eq!(stored(one), stored(many));
        }
        for (one, many) in one.total.outstanding.iter().zip(&many.total.outstanding) {
            prop_assert!((one - many).abs() < 1e-9 * one.abs().max(1.0));
        }
        // With the same members it is identical to the last digit, whoever reports first.
        let (again, _) = counted(&schedule, members, 1, 0, !backwards);
        let bytes = |counted: &TrialCounts| rmp_serde::to_vec_named(&counted.total).expect("it can be written");
        prop_assert_eq!(bytes(&many), bytes(&again));
    }
}
