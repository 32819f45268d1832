//! Cleans up a trial's connections, so that the next begins as if it were the first.
//!
//! An overload leaves thousands that nobody needs. A target closes idle ones after its keep-alive time, all at
//! once, in the middle of the next trial: it froze for a second, and the report blamed the target for a limit
//! that was our doing.

use super::LoadLoop;
use crate::slots::SlotKey;
use std::collections::VecDeque;
use units::Nanos;

/// This many are kept in any case.
const KEPT: usize = 100;
/// A connection unused in the last second of a load is not needed.
const UNNEEDED_NS: u64 = 1_000_000_000;
/// If nothing was answered for this long, requests that wait may be waiting for the places of others. A target
/// that is merely slow answers one after the other.
const HUSHED_NS: u64 = 900_000_000;

/// A request waits for a place if it has waited this long on a connection that has not answered yet, and this
/// many times as long as any on a used connection took, provided one sent later was answered there.
const WANTS_A_PLACE: Nanos = Nanos::from_millis(100);
const WANTS_A_PLACE_TIMES: u64 = 2;
/// Until the target is known to serve few connections, the request must have waited this long, with no answer
/// on a new connection meanwhile: a target that accepts late still accepts some now and then.
const SHOWS_PLACES: Nanos = Nanos::from_millis(500);
/// One may be slow for other reasons; this many at once wait because the target serves no more connections than
/// those that have carried answers.
const CROWD: usize = 3;

/// Observations about the trial's connections.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// How many there were when the trial began.
    began_with: usize,
    /// Whether a request of the trial was bad.
    pub bad: bool,
    /// When an open loop's load was over, on the monotonic clock.
    pub load_ended_ns: Option<u64>,
    /// When its load was over, or the last answer after that arrived, on the monotonic clock.
    pub answered_ns: u64,
    /// Whether it closes idle connections for the sake of requests that still wait.
    pub gives_way: bool,
    /// An open loop's first requests on their connections, and when they were sent; some were answered
    /// meanwhile.
    first: VecDeque<(SlotKey, Nanos)>,
    /// The longest time that one on a used connection took, and when the last one answered there was sent.
    longest: Nanos,
    last: Nanos,
    /// When the last first answer on a connection arrived.
    first_answered: Nanos,
}

impl Pool {
    pub fn new(began_with: usize) -> Self {
        Self { began_with, ..Self::default() }
    }

    /// A request sent at this time on a used connection was answered after this long.
    pub fn served(&mut self, sent: Nanos, within: Nanos) {
        (self.longest, self.last) = (self.longest.max(within), sent);
    }

    /// The first answer on a new connection arrived.
    pub fn served_first(&mut self, received: Nanos) {
        self.first_answered = received;
    }
}

impl LoadLoop {
    /// Closes what the next trial does not need, except database sessions, whose number is fixed, and held
    /// connections.
    pub(super) fn trim_pool(&mut self) {
        let Some(ended_ns) = self.pool.load_ended_ns.take().filter(|_| self.hold.is_none()) else { return };
        if self.setup.script.session.is_some() {
            return;
        }
        let most = if self.pool.bad { self.pool.began_with.max(KEPT) } else { usize::MAX };
        let most = self.connections.places().unwrap_or(most);
        self.connections.trim(most, KEPT, ended_ns.saturating_sub(UNNEEDED_NS));
    }

    pub(super) fn note_first_request(&mut self, request: SlotKey, sent: Nanos) {
        if !self.is_closed_loop() && self.hold.is_none() && self.setup.script.session.is_none() {
            self.forget_answered();
            self.pool.first.push_back((request, sent));
        }
    }

    fn forget_answered(&mut self) {
        while let Some((request, _)) = self.pool.first.front()
            && self.exchanges.get(*request).is_none()
        {
            self.pool.first.pop_front();
        }
    }

    /// Whether a request waits for the place of a connection that has just answered, while none waits for the
    /// connection itself. A target may have places for a number of connections, and keep each open: one process
    /// per connection, and later ones are served once one of them ends. Users go away; connections reused
    /// forever would be our doing. Room is made once for each that waits.
    pub(super) fn is_place_wanted(&mut self) -> bool {
        if self.pool.first.is_empty() || !self.backlog.is_empty() || self.present.is_none() {
            return false;
        }
        self.forget_answered();
        let Some((_, sent)) = self.pool.first.front().copied() else { return false };
        let (now, Pool { longest, last, .. }) = (self.now(), &self.pool);
        let most = WANTS_A_PLACE.max(*longest * WANTS_A_PLACE_TIMES);
        if now - sent <= most || sent > *last {
            return false;
        }
        if self.connections.places().is_none() && !self.starves_new_ones(sent, now) {
            return false;
        }
        let waits = |(request, sent): &&(SlotKey, Nanos)| {
            now - *sent > most && self.exchanges.get(*request).is_some()
        };
        if self.pool.first.iter().filter(waits).take(CROWD).count() == CROWD {
            self.connections.note_places_full();
        }
        self.pool.first.pop_front();
        true
    }

    /// The load is over, so no connection becomes idle for another's sake any more: if the target serves few,
    /// all idle ones make way.
    pub(super) fn make_way(&mut self) {
        if self.connections.places().is_none() || self.pool.gives_way {
            return;
        }
        self.forget_answered();
        if !self.pool.first.is_empty() {
            self.pool.gives_way = true;
            self.connections.close_idle();
        }
    }

    /// Whether, since that was sent, nothing was answered on new connections and everything on used ones: a
    /// target that is late with all of them has places for more, and so has one that accepts them one by one.
    fn starves_new_ones(&mut self, sent: Nanos, now: Nanos) -> bool {
        now - self.pool.first_answered.max(sent) > SHOWS_PLACES
            && self.exchanges.iter_mut().all(|(_, exchange)| {
                !exchange.used || exchange.orphan || now - exchange.sent <= WANTS_A_PLACE
            })
    }

    /// Makes way once the load is over: otherwise finished connections would stay open for the next trial, and
    /// the target never recover.
    pub(super) fn give_way(&mut self) {
        let hushed = sys::monotonic_ns().saturating_sub(self.pool.answered_ns) >= HUSHED_NS;
        if hushed && self.unsettled && self.present.is_none() && self.hold.is_none() {
            self.pool.gives_way = true;
            self.connections.close_idle();
        }
    }
}
