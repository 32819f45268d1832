use crate::Slice;
use std::collections::BTreeMap;
use units::Nanos;

/// What one trial counted.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// All slices merged: load and drain.
    pub total: Slice,
    /// How long the load lasted.
    pub loaded: Nanos,
}

/// Puts what loops side by side tell of one trial together: a second is whole once each of them has told of it.
#[derive(Debug)]
pub struct Gather {
    /// Seconds of which not all have told.
    pending: BTreeMap<u32, Slice>,
    over: Vec<bool>,
    counted: Counted,
}

impl Gather {
    /// Of so many loops.
    pub fn of(loops: usize) -> Self {
        Self { pending: BTreeMap::new(), over: vec![false; loops], counted: Counted::default() }
    }

    /// One loop's slice.
    pub fn add(&mut self, slice: &Slice) {
        let merged = self.pending.entry(slice.index).or_default();
        merged.index = slice.index;
        merged.merge_parallel(slice);
    }

    /// A loop is done; its load ended at this moment.
    pub fn over(&mut self, index: usize, at: Nanos) {
        self.over[index] = true;
        self.counted.loaded = self.counted.loaded.max(at);
    }

    /// Whether all loops are done.
    pub fn is_over(&self) -> bool {
        !self.over.contains(&false)
    }

    /// The next second that is whole; when all loops are done, what is left of them.
    pub fn next_whole(&mut self) -> Option<Slice> {
        let ended = self.is_over();
        let first = self.pending.first_entry()?;
        if !ended && (first.get().loops as usize) < self.over.len() {
            return None;
        }
        let slice = first.remove();
        self.counted.total.merge_after(&slice);
        Some(slice)
    }

    /// All whole seconds so far, as one.
    pub fn total(&self) -> &Slice {
        &self.counted.total
    }

    /// All of it.
    pub fn end(self) -> Counted {
        self.counted
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
    fn a_second_is_whole_when_every_loop_has_told_of_it() {
        let mut gather = Gather::of(2);
        gather.add(&told(0, 3));
        assert!(gather.next_whole().is_none(), "the other has not told");
        gather.add(&told(1, 4));
        gather.add(&told(0, 5));
        let first = gather.next_whole().expect("both have told");
        assert_eq!((first.index, first.due, first.loops), (0, 8, 2));
        assert!(gather.next_whole().is_none());
        assert_eq!(gather.total().due, 8);
    }

    #[test]
    fn a_loop_that_had_less_to_tell_holds_nothing_back_when_all_are_done() {
        let mut gather = Gather::of(2);
        gather.add(&told(0, 3));
        gather.over(0, SLICE);
        assert!(!gather.is_over() && gather.next_whole().is_none());
        gather.over(1, SLICE * 2);
        assert!(gather.is_over());
        assert_eq!(gather.next_whole().map(|slice| slice.due), Some(3));
        let counted = gather.end();
        assert_eq!((counted.total.due, counted.loaded), (3, SLICE * 2));
    }
}
