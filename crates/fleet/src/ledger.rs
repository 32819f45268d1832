//! What each member has told of a trial, and what those owed that were lost.

use crate::LoopAssignment;
use record::{Outcome, SLICE, Slice, SliceMerger, TrialCounts};
use schedule::{OfferedLoad, Schedule};
use std::collections::BTreeMap;
use units::Nanos;

/// So many slices may come before one that is still on its way: as many as a member keeps that were not acknowledged.
pub const KEPT_MOST: usize = 120;
/// So many are acknowledged at once: each acknowledgement costs its coordinator as much as what it hears.
const ACKNOWLEDGED: u32 = 4;

/// The books of one trial: every arrival is in them once, whatever becomes of those who were to send it.
///
/// Slices may come late, twice, and in any order. Of a member that is lost counts what it told without a gap; what its loops owed
/// beyond that is known from the schedule, and is `unsent`. What it had sent and not told the end of is `unfinished`.
#[derive(Debug)]
pub struct Ledger {
    books: BTreeMap<u32, MemberLedger>,
    gather: SliceMerger,
    offer: OfferedLoad,
    /// All loops.
    all: u32,
    /// When the load ends.
    ends: Nanos,
    closed: bool,
}

/// Those of one member.
#[derive(Debug, Default)]
struct MemberLedger {
    /// Its place in the order of members.
    place: usize,
    loops: Vec<u32>,
    /// The first slice that it has not told,
    next: u32,
    /// which begins here.
    until: Nanos,
    /// It was told that all before this one have come.
    acknowledged: u32,
    /// Those behind it that have come already.
    early: BTreeMap<u32, Slice>,
    due: u64,
    decided: u64,
    backlog: u64,
    /// How many it tells, and when its load ended.
    last: Option<(u32, Nanos)>,
    lost: bool,
    /// If it is lost: so long it may have gone on after what it told.
    goes_on: Nanos,
    unaccounted: u64,
}

impl MemberLedger {
    fn is_complete(&self) -> bool {
        self.last.is_some_and(|(slices, _)| self.next >= slices)
    }

    /// The first that it had not told.
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
    /// Of a trial in which each does its part of the load.
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

    /// What a member tells of one of its seconds. False if that is known already, no longer asked for, or cannot be.
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

    /// A member tells no more than so many slices; its load ended at this moment.
    pub fn finish_member(&mut self, member: u32, at: Nanos, slices: u32) {
        let Some(book) = self.books.get_mut(&member).filter(|book| !book.lost && book.last.is_none()) else {
            return;
        };
        book.last = Some((slices, at));
        if book.is_complete() {
            self.close_member(member);
        }
    }

    /// Nothing more is asked of a member, which has not told all. If it could not be ended, nor told that the load is, it may have gone
    /// on for so long since.
    pub fn lose_member(&mut self, member: u32, goes_on: Nanos) {
        if let Some(book) = self.books.get_mut(&member).filter(|book| !book.is_complete()) {
            (book.lost, book.goes_on) = (true, goes_on);
            book.early.clear();
        }
        self.close();
    }

    /// The load is ended early.
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

    /// Once all have told what they tell, what the lost ones owed is booked: not before, for the load may still be ended.
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
            // What it told was the first of it.
            for count in owed.values_mut() {
                let known = told.min(*count);
                (*count, told) = (*count - known, told - known);
            }
            owed.retain(|_, count| *count > 0);
            let open = book.due.saturating_sub(book.decided);
            let waiting = book.backlog.min(open);
            // Nobody counts what came due after the end. It may have been sent all the same.
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

    /// The next second that is whole: every member has told of it, or has no more to tell. What lost ones owed is told once the
    /// others are over.
    pub fn next_whole(&mut self) -> Option<Slice> {
        self.gather.next_complete()
    }

    /// All whole seconds so far, as one.
    pub fn total(&self) -> &Slice {
        self.gather.total()
    }

    /// Whether all is told, or lost.
    pub fn is_over(&self) -> bool {
        self.closed
    }

    /// All of it.
    pub fn into_counted(self) -> TrialCounts {
        self.gather.into_counts()
    }

    /// Up to which second a member need not keep what it told, if that is worth a message: it has told of several since it last heard so.
    pub fn acknowledge(&mut self, member: u32) -> Option<u32> {
        let book = self.books.get_mut(&member)?;
        let is_due = book.next >= book.acknowledged + ACKNOWLEDGED;
        is_due.then(|| {
            book.acknowledged = book.next;
            book.next - 1
        })
    }

    /// Up to when a member has told of every second.
    pub fn reported_until(&self, member: u32) -> Nanos {
        self.books.get(&member).map_or(Nanos::ZERO, |book| book.until)
    }

    /// How many arrivals a lost member was to send since it last told, so far as is known when the trial is over.
    pub fn unaccounted(&self, member: u32) -> u64 {
        self.books.get(&member).map_or(0, |book| book.unaccounted)
    }
}

/// The second of each arrival that these loops owe until the load ends; of connections nothing is owed before it comes.
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
