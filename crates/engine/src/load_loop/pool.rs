//! What one trial leaves of its connections to the next, which shall begin as if it were the first.
//!
//! An overload leaves thousands that nobody needs any more. A target closes those that are idle for as long as it keeps them, all at
//! once, in the middle of the next trial: it stood still for a second, and the limit was its own doing in the report and ours in truth.

use super::LoadLoop;
use crate::slots::SlotKey;
use std::collections::VecDeque;
use units::Nanos;

/// So many are kept whatever they did.
const KEPT: usize = 100;
/// One that the last second of a load did not need is not needed.
const UNNEEDED_NS: u64 = 1_000_000_000;
/// If nobody was answered for so long, those that wait may wait for the places of others. Who is merely slow answers one after the other.
const HUSHED_NS: u64 = 900_000_000;

/// A request that waits for so long on a connection that nothing was answered on yet, and for so many times as long as any on a used one took, one of
/// which was sent later, waits for a place.
const WANTS_A_PLACE: Nanos = Nanos::from_millis(100);
const WANTS_A_PLACE_TIMES: u64 = 2;
/// As long as it is not known that the target serves few it must have waited for so long, and nothing have been answered on a new connection meanwhile: a
/// target that is late with all accepts some now and then.
const SHOWS_PLACES: Nanos = Nanos::from_millis(500);
/// One may be slow for other reasons; so many at once wait because the target serves no more connections than those that have carried answers.
const CROWD: usize = 3;

/// What is known of them.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// How many there were when the trial began.
    began_with: usize,
    /// Whether a request of it was bad.
    pub bad: bool,
    /// When its load was over, on the monotonic clock, of an open loop.
    pub load_ended_ns: Option<u64>,
    /// When its load was over, or an answer came after that, on the monotonic clock.
    pub answered_ns: u64,
    /// Whether it closes what nobody asks anything on, for the sake of those that still wait.
    pub gives_way: bool,
    /// Requests of an open loop that are the first on their connection, and when they were sent; some were answered meanwhile.
    first: VecDeque<(SlotKey, Nanos)>,
    /// The longest that one on a used connection took, and when the last that was answered there was sent.
    longest: Nanos,
    last: Nanos,
    /// When the last answer came that was the first on its connection.
    first_answered: Nanos,
}

impl Pool {
    pub fn new(began_with: usize) -> Self {
        Self { began_with, ..Self::default() }
    }

    /// On a connection that had carried an answer, what was sent at this moment was answered after so long.
    pub fn served(&mut self, sent: Nanos, within: Nanos) {
        (self.longest, self.last) = (self.longest.max(within), sent);
    }

    /// On a new one an answer came at this moment.
    pub fn served_first(&mut self, received: Nanos) {
        self.first_answered = received;
    }
}

impl LoadLoop {
    /// Closes what the next trial does not need. Sessions of a database are as many as were asked for, and those that are held stand.
    pub(super) fn trim_pool(&mut self) {
        let Some(ended_ns) = self.pool.load_ended_ns.take().filter(|_| self.hold.is_none()) else { return };
        if self.setup.script.session.is_some() {
            return;
        }
        let most = if self.pool.bad { self.pool.began_with.max(KEPT) } else { usize::MAX };
        let most = self.connections.places().unwrap_or(most);
        self.connections.trim(most, KEPT, ended_ns.saturating_sub(UNNEEDED_NS));
    }

    /// The first request on a connection was sent.
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

    /// Whether somebody waits for the place of a connection that has just answered, while nobody waits for the connection itself. A target may have places
    /// for so many, and keep each open: one process a connection, and who came after those is served once one of them ends. Users go away; connections that are
    /// used in turn for ever would be our doing. Each that waits is made room for once.
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

    /// The load is over, so that no connection becomes idle for somebody's sake any more: of a target that serves few, all make way that are.
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

    /// Whether nothing was answered on new connections since that was sent, and everything on used ones: a target that is late with all of them has places
    /// for more, and so has one that accepts them one by one.
    fn starves_new_ones(&mut self, sent: Nanos, now: Nanos) -> bool {
        now - self.pool.first_answered.max(sent) > SHOWS_PLACES
            && self.exchanges.iter_mut().all(|(_, exchange)| {
                !exchange.used || exchange.orphan || now - exchange.sent <= WANTS_A_PLACE
            })
    }

    /// The same once the load is over: nobody would end, for those that are done stay open for the next trial, and the target never recovered.
    pub(super) fn give_way(&mut self) {
        let hushed = sys::monotonic_ns().saturating_sub(self.pool.answered_ns) >= HUSHED_NS;
        if hushed && self.unsettled && self.present.is_none() && self.hold.is_none() {
            self.pool.gives_way = true;
            self.connections.close_idle();
        }
    }
}
