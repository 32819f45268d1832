//! Which arrival belongs to whom.

use crate::simulated_machine::schedules;
use proptest::prelude::*;
use torment_fleet::LoopAssignment;

proptest! {
    #[test]
    fn all_shares_together_are_the_one_schedule(
        schedule in schedules(), each in prop::collection::btree_map(0_u32..2_000, 1_u32..5, 1..17),
    ) {
        let loops = LoopAssignment::deal(each.clone());
        prop_assert_eq!(loops.total(), each.values().sum::<u32>());
        let mut all = Vec::new();
        for (member, count) in &each {
            prop_assert_eq!(loops.of(*member).len(), *count as usize);
            for index in loops.of(*member) {
                all.extend(schedule.arrivals(*index, loops.total()));
            }
        }
        all.sort_by_key(|arrival| arrival.number);
        prop_assert_eq!(all, schedule.arrivals(0, 1).collect::<Vec<_>>());
    }

    /// Each of W equal members has every W-th arrival, so that none waits for another's burst.
    #[test]
    fn equal_members_take_turns(members in 1_u32..65, loops in 1_u32..5) {
        let dealt = LoopAssignment::deal((0..members).map(|member| (member, loops)));
        for member in 0..members {
            prop_assert!(dealt.of(member).iter().all(|index| index % members == member));
        }
    }
}
