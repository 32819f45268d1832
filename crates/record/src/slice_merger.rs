use crate::{LostMember, MemberFigures, Silence, Slice};
use std::collections::BTreeMap;
use units::Nanos;

/// The counts of one trial.
#[derive(Debug, Clone, Default)]
pub struct TrialCounts {
    /// All slices merged: load and drain.
    pub total: Slice,
    /// Duration of the load.
    pub loaded: Nanos,
    /// Figures of each member: the single machine's, or all of a fleet.
    pub members: Vec<MemberFigures>,
    /// Members lost meanwhile.
    pub lost: Vec<LostMember>,
}

/// Merges the slices of one trial from parallel sources, loops or members of a fleet: a second is complete once each source has reported
/// it, or is done. Counts are the same in any order; fractions are added in the order of the sources.
#[derive(Debug)]
pub struct SliceMerger {
    /// Incomplete seconds.
    pending: BTreeMap<u32, PendingSecond>,
    finished: Vec<bool>,
    /// The sources do not know of each other's answers.
    is_fleet: bool,
    counts: TrialCounts,
}

/// An incomplete second.
#[derive(Debug, Default)]
struct PendingSecond {
    /// Counts, merged as they arrive.
    merged: Slice,
    /// What is measured, not counted, by source: outstanding arrivals, and silences.
    fractions: BTreeMap<usize, (Vec<f64>, Vec<Silence>)>,
}

impl SliceMerger {
    /// For this many loops of one process.
    pub fn new(loops: usize) -> Self {
        Self {
            pending: BTreeMap::new(),
            finished: vec![false; loops],
            is_fleet: false,
            counts: TrialCounts::default(),
        }
    }

    /// For this many members of a fleet. Each reports every stretch in which it had no answer: it is one of the target's if none of them
    /// had any.
    pub fn for_members(members: usize) -> Self {
        Self { is_fleet: true, ..Self::new(members) }
    }

    /// Adds a source's slice. Each source reports each of its seconds once.
    pub fn add(&mut self, index: usize, slice: &Slice) {
        let pending = self.pending.entry(slice.index).or_default();
        pending.merged.index = slice.index;
        pending.merged.merge_parallel(slice);
        pending.fractions.insert(index, (slice.outstanding.clone(), slice.silences.clone()));
    }

    /// A source is done; its load ended at this moment.
    pub fn finish_source(&mut self, index: usize, at: Nanos) {
        self.finished[index] = true;
        self.counts.loaded = self.counts.loaded.max(at);
    }

    /// Whether all sources are done.
    pub fn is_finished(&self) -> bool {
        !self.finished.contains(&false)
    }

    /// The next complete second.
    pub fn next_complete(&mut self) -> Option<Slice> {
        let first = self.pending.first_entry()?;
        let has_reported = |index: &usize| first.get().fractions.contains_key(index);
        if self.finished.iter().enumerate().any(|(index, over)| !over && !has_reported(&index)) {
            return None;
        }
        let PendingSecond { merged, fractions } = first.remove();
        let mut slice = Slice { outstanding: Vec::new(), silences: Vec::new(), ..merged };
        let mut silences = Vec::new();
        for (outstanding, heard) in fractions.into_values() {
            slice.add_outstanding(&outstanding);
            silences.push(heard);
        }
        slice.silences = if self.is_fleet { Silence::intersection(&silences) } else { silences.concat() };
        self.counts.total.merge_after(&slice);
        Some(slice)
    }

    /// All complete seconds so far, merged.
    pub fn total(&self) -> &Slice {
        &self.counts.total
    }

    /// The trial's counts.
    pub fn into_counts(self) -> TrialCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SLICE;

    fn told(index: u32, due: u64) -> Slice {
        Slice { index, due, loops: 1, elapsed: SLICE, ..Slice::default() }
    }

    #[test]
    fn a_second_is_whole_when_each_has_told_of_it() {
        let mut gather = SliceMerger::new(2);
        // From a member with two loops.
        gather.add(0, &Slice { loops: 2, ..told(0, 3) });
        assert!(gather.next_complete().is_none(), "the other has not told");
        gather.add(1, &told(0, 4));
        gather.add(0, &told(1, 5));
        let first = gather.next_complete().expect("both have told");
        assert_eq!((first.index, first.due, first.loops), (0, 7, 3));
        assert!(gather.next_complete().is_none());
        assert_eq!(gather.total().due, 7);
    }

    #[test]
    fn one_that_is_done_holds_nothing_back() {
        let mut gather = SliceMerger::new(2);
        gather.add(0, &told(0, 3));
        gather.finish_source(0, SLICE);
        assert!(gather.next_complete().is_none(), "the other has not told");
        gather.add(1, &told(0, 2));
        gather.add(1, &told(1, 1));
        assert_eq!(gather.next_complete().map(|slice| slice.due), Some(5));
        assert_eq!(gather.next_complete().map(|slice| slice.due), Some(1), "the first has no more to tell");
        assert!(!gather.is_finished());
        gather.finish_source(1, SLICE * 2);
        assert!(gather.is_finished());
        let counted = gather.into_counts();
        assert_eq!((counted.total.due, counted.loaded), (6, SLICE * 2));
    }

    /// Sums of fractions depend on their order: stored values once depended on which loop was faster.
    #[test]
    fn whoever_tells_first_the_second_is_the_same() {
        let slices: Vec<Slice> = [0.1, 0.2, 0.3, 1e9]
            .iter()
            .map(|held| Slice { outstanding: vec![*held; 10], ..told(0, 1) })
            .collect();
        let whole = |order: [usize; 4]| {
            let mut gather = SliceMerger::new(4);
            order.into_iter().for_each(|index| gather.add(index, &slices[index]));
            gather.next_complete().expect("all have told")
        };
        let first = whole([0, 1, 2, 3]);
        assert_eq!((first.due, first.outstanding.len()), (4, 10));
        for order in [[3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
            assert_eq!(whole(order), first, "{order:?}");
        }
    }
}
