//! What each member reported of a trial, and what lost members still owed.

use crate::LoopAssignment;
use record::{Outcome, SLICE, Slice, SliceMerger, TrialCounts};
use schedule::{OfferedLoad, Schedule};
use std::collections::BTreeMap;
use units::Nanos;

/// Slices that may precede a missing one: as many unacknowledged ones as a member keeps.
pub const UNACKNOWLEDGED_MOST: usize = 120;
/// Slices per acknowledgement: each costs the coordinator as much as what it receives.
const SLICES_PER_ACKNOWLEDGEMENT: u32 = 4;

/// The books of one trial: every arrival is counted once, whatever becomes of its sender.
///
/// Slices may come late, twice, and in any order. Of a lost member, what it reported without a gap counts; what its
/// loops owed beyond that is known from the schedule, and is `unsent`. What it had sent without reporting the end is
/// `unfinished`.
#[derive(Debug)]
pub struct Ledger {
    members: BTreeMap<u32, MemberLedger>,
    merger: SliceMerger,
    offer: OfferedLoad,
    /// Loops in all.
    total_loops: u32,
    /// When the load ends.
    load_end: Nanos,
    closed: bool,
}

#[derive(Debug, Default)]
struct MemberLedger {
    /// Index in the order of members.
    index: usize,
    loops: Vec<u32>,
    /// The first slice missing.
    next_slice: u32,
    /// Where slice `next_slice` begins.
    reported_until: Nanos,
    /// Slices before this one were acknowledged.
    acknowledged: u32,
    /// Slices after `next_slice` that came early.
    early: BTreeMap<u32, Slice>,
    due: u64,
    decided: u64,
    backlog: u64,
    /// Number of slices in all, and when its load ended.
    end: Option<(u32, Nanos)>,
    lost: bool,
    /// If it is lost: how long it may have gone on after its last report.
    overrun: Nanos,
    unaccounted: u64,
}

impl MemberLedger {
    fn is_complete(&self) -> bool {
        self.end.is_some_and(|(slices, _)| self.next_slice >= slices)
    }

    /// `slice` is its first unreported one.
    fn enter(&mut self, slice: &Slice, merger: &mut SliceMerger) {
        self.next_slice += 1;
        self.reported_until += slice.elapsed;
        self.due += slice.due;
        self.decided += slice.outcomes.total();
        self.backlog = slice.backlog;
        merger.add(self.index, slice);
    }

    /// Nothing more will come of it, if it has reported all.
    fn finish_if_complete(&self, merger: &mut SliceMerger) {
        if let Some((_, at)) = self.end.filter(|_| self.is_complete()) {
            merger.finish_source(self.index, at);
        }
    }
}

impl Ledger {
    /// For a trial with these loops.
    pub fn new(loops: &LoopAssignment, offer: &OfferedLoad) -> Self {
        let member_ledger = |(place, member)| {
            let member_ledger =
                MemberLedger { index: place, loops: loops.of(member).to_vec(), ..MemberLedger::default() };
            (member, member_ledger)
        };
        let books: BTreeMap<u32, MemberLedger> = loops.members().enumerate().map(member_ledger).collect();
        let merger = SliceMerger::for_members(books.len());
        Self {
            members: books,
            merger,
            offer: offer.clone(),
            total_loops: loops.total(),
            load_end: offer.latest_end(),
            closed: false,
        }
    }

    /// A member's slice. False if it is a duplicate, too late, or invalid.
    pub fn add_slice(&mut self, member: u32, slice: &Slice) -> bool {
        let Some(member_ledger) = self.members.get_mut(&member) else { return false };
        let known = slice.index < member_ledger.next_slice || member_ledger.early.contains_key(&slice.index);
        if known
            || member_ledger.lost
            || member_ledger.is_complete()
            || member_ledger.early.len() >= UNACKNOWLEDGED_MOST
            || !slice.is_likely()
        {
            return false;
        }
        if slice.index == member_ledger.next_slice {
            member_ledger.enter(slice, &mut self.merger);
        } else {
            member_ledger.early.insert(slice.index, slice.clone());
        }
        while let Some(slice) = member_ledger.early.remove(&member_ledger.next_slice) {
            member_ledger.enter(&slice, &mut self.merger);
        }
        member_ledger.finish_if_complete(&mut self.merger);
        self.close();
        true
    }

    /// A member will report this many slices; its load ended at `at`.
    pub fn finish_member(&mut self, member: u32, at: Nanos, slices: u32) {
        let member_ledger = self.members.get_mut(&member);
        if let Some(member_ledger) = member_ledger.filter(|ledger| !ledger.lost && ledger.end.is_none()) {
            member_ledger.end = Some((slices, at));
            member_ledger.finish_if_complete(&mut self.merger);
            self.close();
        }
    }

    /// A member is lost before it reported all. If it could not be ended, nor told that the load ended, it may have
    /// gone on for this long.
    pub fn lose_member(&mut self, member: u32, goes_on: Nanos) {
        if let Some(member_ledger) =
            self.members.get_mut(&member).filter(|member_ledger| !member_ledger.is_complete())
        {
            (member_ledger.lost, member_ledger.overrun) = (true, goes_on);
            member_ledger.early.clear();
        }
        self.close();
    }

    /// The load ends early.
    pub fn end_load(&mut self, at: Nanos) {
        self.load_end = self.load_end.min(at);
    }

    /// Books what lost members owed, once all others have reported: not earlier, since the load may still be ended.
    fn close(&mut self) {
        if self.closed
            || !self.members.values().all(|member_ledger| member_ledger.lost || member_ledger.is_complete())
        {
            return;
        }
        self.closed = true;
        for member_ledger in self.members.values_mut().filter(|member_ledger| member_ledger.lost) {
            let (mut owed, mut reported) = (BTreeMap::<u32, u64>::new(), member_ledger.due);
            for second in owed_seconds(&self.offer, &member_ledger.loops, self.total_loops, self.load_end) {
                *owed.entry(second).or_default() += 1;
            }
            // What it reported was the first of it.
            for count in owed.values_mut() {
                let known = reported.min(*count);
                (*count, reported) = (*count - known, reported - known);
            }
            owed.retain(|_, count| *count > 0);
            let open = member_ledger.due.saturating_sub(member_ledger.decided);
            let waiting = member_ledger.backlog.min(open);
            // Arrivals due after the end are not counted, though they may have been sent.
            let within =
                |ends| owed_seconds(&self.offer, &member_ledger.loops, self.total_loops, ends).count() as u64;
            let beyond = within(self.load_end.max(member_ledger.reported_until + member_ledger.overrun))
                - within(self.load_end);
            member_ledger.unaccounted = waiting + owed.values().sum::<u64>() + beyond;
            let mut first = Slice { index: member_ledger.next_slice, ..Slice::default() };
            first.outcomes.add(Outcome::Unsent, waiting);
            first.outcomes.add(Outcome::Unfinished, open - waiting);
            let mut missing = BTreeMap::from([(member_ledger.next_slice, first)]);
            for (second, due) in owed {
                let index = second.max(member_ledger.next_slice);
                let slice = missing.entry(index).or_insert_with(|| Slice { index, ..Slice::default() });
                slice.due += due;
                slice.outcomes.add(Outcome::Unsent, due);
            }
            for slice in missing.values().filter(|slice| slice.due + slice.outcomes.total() > 0) {
                self.merger.add(member_ledger.index, slice);
            }
            self.merger.finish_source(member_ledger.index, member_ledger.reported_until.min(self.load_end));
        }
    }

    /// The next second that every member has reported or has no more of. What lost members owed follows once the others
    /// are over.
    pub fn next_complete(&mut self) -> Option<Slice> {
        self.merger.next_complete()
    }

    /// All complete seconds so far, merged.
    pub fn total(&self) -> &Slice {
        self.merger.total()
    }

    /// Whether every member has reported all, or is lost.
    pub fn is_over(&self) -> bool {
        self.closed
    }

    /// The trial's counts.
    pub fn into_counts(self) -> TrialCounts {
        self.merger.into_counts()
    }

    /// The second up to which a member may drop its slices, if worth a message: several came since the last one.
    pub fn acknowledge(&mut self, member: u32) -> Option<u32> {
        let member_ledger = self.members.get_mut(&member)?;
        let is_due = member_ledger.next_slice >= member_ledger.acknowledged + SLICES_PER_ACKNOWLEDGEMENT;
        is_due.then(|| {
            member_ledger.acknowledged = member_ledger.next_slice;
            member_ledger.next_slice - 1
        })
    }

    /// How far a member has reported without a gap.
    pub fn reported_until(&self, member: u32) -> Nanos {
        self.members.get(&member).map_or(Nanos::ZERO, |member_ledger| member_ledger.reported_until)
    }

    /// Arrivals a lost member owed since its last report, as known when the trial is over.
    pub fn unaccounted(&self, member: u32) -> u64 {
        self.members.get(&member).map_or(0, |member_ledger| member_ledger.unaccounted)
    }
}

/// The second of each arrival that these loops owe until the load ends; a closed loop owes nothing in advance.
fn owed_seconds<'o>(
    offer: &'o OfferedLoad,
    loops: &'o [u32],
    all: u32,
    ends: Nanos,
) -> impl Iterator<Item = u32> + 'o {
    let schedule = match offer {
        OfferedLoad::Open(schedule) => Some(schedule),
        OfferedLoad::Closed { .. } => None,
    };
    let of_loop = move |schedule: &'o Schedule, index: u32| {
        let due = schedule.arrivals(index, all).map(|arrival| arrival.due);
        due.take_while(move |due| *due < ends).map(|due| (due.0 / SLICE.0) as u32)
    };
    schedule
        .into_iter()
        .flat_map(move |schedule| loops.iter().flat_map(move |index| of_loop(schedule, *index)))
}
