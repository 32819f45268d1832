//! What each member reported of a trial, and what lost members still owed.

use crate::LoopAssignment;
use record::{Outcome, SLICE, Slice, SliceMerger, TrialCounts};
use schedule::{OfferedLoad, Schedule};
use std::collections::BTreeMap;
use units::Nanos;

/// Slices that may precede a missing one: as many unacknowledged ones as a member keeps.
pub const KEPT_MOST: usize = 120;
/// Slices per acknowledgement: each costs the coordinator as much as what it receives.
const ACKNOWLEDGED: u32 = 4;

/// The books of one trial: every arrival is counted once, whatever becomes of its sender.
///
/// Slices may come late, twice, and in any order. Of a lost member, what it reported without a gap counts; what its
/// loops owed beyond that is known from the schedule, and is `unsent`. What it had sent without reporting the end is
/// `unfinished`.
#[derive(Debug)]
pub struct Ledger {
    books: BTreeMap<u32, MemberLedger>,
    gather: SliceMerger,
    offer: OfferedLoad,
    /// Loops in all.
    all: u32,
    /// When the load ends.
    ends: Nanos,
    closed: bool,
}

#[derive(Debug, Default)]
struct MemberLedger {
    /// Index in the order of members.
    place: usize,
    loops: Vec<u32>,
    /// The first slice missing.
    next: u32,
    /// Where slice `next` begins.
    until: Nanos,
    /// Slices before this one were acknowledged.
    acknowledged: u32,
    /// Slices after `next` that came early.
    early: BTreeMap<u32, Slice>,
    due: u64,
    decided: u64,
    backlog: u64,
    /// Number of slices in all, and when its load ended.
    last: Option<(u32, Nanos)>,
    lost: bool,
    /// If it is lost: how long it may have gone on after its last report.
    goes_on: Nanos,
    unaccounted: u64,
}

impl MemberLedger {
    fn is_complete(&self) -> bool {
        self.last.is_some_and(|(slices, _)| self.next >= slices)
    }

    /// `slice` is its first unreported one.
    fn enter(&mut self, slice: &Slice, gather: &mut SliceMerger) {
        self.next += 1;
        self.until += slice.elapsed;
        self.due += slice.due;
        self.decided += slice.outcomes.total();
        self.backlog = slice.backlog;
        gather.add(self.place, slice);
    }
}

impl Ledger {
    /// For a trial with these loops.
    pub fn new(loops: &LoopAssignment, offer: &OfferedLoad) -> Self {
        let book = |(place, member)| {
            let book = MemberLedger { place, loops: loops.of(member).to_vec(), ..MemberLedger::default() };
            (member, book)
        };
        let books: BTreeMap<u32, MemberLedger> = loops.members().enumerate().map(book).collect();
        let gather = SliceMerger::for_members(books.len());
        Self {
            books,
            gather,
            offer: offer.clone(),
            all: loops.total(),
            ends: offer.latest_end(),
            closed: false,
        }
    }

    /// A member's slice. False if it is a duplicate, too late, or invalid.
    pub fn add_slice(&mut self, member: u32, slice: &Slice) -> bool {
        let Some(book) = self.books.get_mut(&member) else { return false };
        let known = slice.index < book.next || book.early.contains_key(&slice.index);
        if known || book.lost || book.is_complete() || book.early.len() >= KEPT_MOST || !slice.is_likely() {
            return false;
        }
        if slice.index == book.next {
            book.enter(slice, &mut self.gather);
        } else {
            book.early.insert(slice.index, slice.clone());
        }
        while let Some(slice) = book.early.remove(&book.next) {
            book.enter(&slice, &mut self.gather);
        }
        if book.is_complete() {
            self.close_member(member);
        }
        true
    }

    /// A member will report this many slices; its load ended at `at`.
    pub fn finish_member(&mut self, member: u32, at: Nanos, slices: u32) {
        let Some(book) = self.books.get_mut(&member).filter(|book| !book.lost && book.last.is_none()) else {
            return;
        };
        book.last = Some((slices, at));
        if book.is_complete() {
            self.close_member(member);
        }
    }

    /// A member is lost before it reported all. If it could not be ended, nor told that the load ended, it may have
    /// gone on for this long.
    pub fn lose_member(&mut self, member: u32, goes_on: Nanos) {
        if let Some(book) = self.books.get_mut(&member).filter(|book| !book.is_complete()) {
            (book.lost, book.goes_on) = (true, goes_on);
            book.early.clear();
        }
        self.close();
    }

    /// The load ends early.
    pub fn end_load(&mut self, at: Nanos) {
        self.ends = self.ends.min(at);
    }

    fn close_member(&mut self, member: u32) {
        if let Some((MemberLedger { place, .. }, (_, at))) =
            self.books.get(&member).and_then(|b| Some((b, b.last?)))
        {
            self.gather.finish_source(*place, at);
        }
        self.close();
    }

    /// Books what lost members owed, once all others have reported: not earlier, since the load may still be ended.
    fn close(&mut self) {
        if self.closed || !self.books.values().all(|book| book.lost || book.is_complete()) {
            return;
        }
        self.closed = true;
        for book in self.books.values_mut().filter(|book| book.lost) {
            let (mut owed, mut told) = (BTreeMap::<u32, u64>::new(), book.due);
            for second in owed_seconds(&self.offer, &book.loops, self.all, self.ends) {
                *owed.entry(second).or_default() += 1;
            }
            // What it reported was the first of it.
            for count in owed.values_mut() {
                let known = told.min(*count);
                (*count, told) = (*count - known, told - known);
            }
            owed.retain(|_, count| *count > 0);
            let open = book.due.saturating_sub(book.decided);
            let waiting = book.backlog.min(open);
            // Arrivals due after the end are not counted, though they may have been sent.
            let within = |ends| owed_seconds(&self.offer, &book.loops, self.all, ends).count() as u64;
            let beyond = within(self.ends.max(book.until + book.goes_on)) - within(self.ends);
            book.unaccounted = waiting + owed.values().sum::<u64>() + beyond;
            let mut first = Slice { index: book.next, ..Slice::default() };
            first.outcomes.add(Outcome::Unsent, waiting);
            first.outcomes.add(Outcome::Unfinished, open - waiting);
            let mut missing = BTreeMap::from([(book.next, first)]);
            for (second, due) in owed {
                let index = second.max(book.next);
                let slice = missing.entry(index).or_insert_with(|| Slice { index, ..Slice::default() });
                slice.due += due;
                slice.outcomes.add(Outcome::Unsent, due);
            }
            for slice in missing.values().filter(|slice| slice.due + slice.outcomes.total() > 0) {
                self.gather.add(book.place, slice);
            }
            self.gather.finish_source(book.place, book.until.min(self.ends));
        }
    }

    /// The next second that every member has reported or has no more of. What lost members owed follows once the others
    /// are over.
    pub fn next_whole(&mut self) -> Option<Slice> {
        self.gather.next_complete()
    }

    /// All complete seconds so far, merged.
    pub fn total(&self) -> &Slice {
        self.gather.total()
    }

    /// Whether every member has reported all, or is lost.
    pub fn is_over(&self) -> bool {
        self.closed
    }

    /// The trial's counts.
    pub fn into_counted(self) -> TrialCounts {
        self.gather.into_counts()
    }

    /// The second up to which a member may drop its slices, if worth a message: several came since the last one.
    pub fn acknowledge(&mut self, member: u32) -> Option<u32> {
        let book = self.books.get_mut(&member)?;
        let is_due = book.next >= book.acknowledged + ACKNOWLEDGED;
        is_due.then(|| {
            book.acknowledged = book.next;
            book.next - 1
        })
    }

    /// How far a member has reported without a gap.
    pub fn reported_until(&self, member: u32) -> Nanos {
        self.books.get(&member).map_or(Nanos::ZERO, |book| book.until)
    }

    /// Arrivals a lost member owed since its last report, as known when the trial is over.
    pub fn unaccounted(&self, member: u32) -> u64 {
        self.books.get(&member).map_or(0, |book| book.unaccounted)
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
