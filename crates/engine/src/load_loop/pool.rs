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
const MIN_POOL: usize = 100;
/// A connection unused in the last second of a load is not needed.
const UNNEEDED_NS: u64 = 1_000_000_000;
/// If nothing was answered for this long, requests that wait may be waiting for the places of others. A target
/// that is merely slow answers one after the other.
const SILENT_NS: u64 = 900_000_000;

/// A request waits for a place if it has waited this long on a connection that has not answered yet, and this
/// many times as long as any on a used connection took, provided one sent later was answered there.
const PLACE_WAIT: Nanos = Nanos::from_millis(100);
const PLACE_WAIT_FACTOR: u64 = 2;
/// Until the target is known to serve few connections, the request must have waited this long, with no answer
/// on a new connection meanwhile: a target that accepts late still accepts some now and then.
const PLACES_EVIDENCE: Nanos = Nanos::from_millis(500);
/// One may be slow for other reasons; this many at once wait because the target serves no more connections than
/// those that have carried answers.
const MIN_WAITING: usize = 3;

/// Observations about the trial's connections.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// How many there were when the trial began.
    initial_len: usize,
    /// Whether a request of the trial was bad.
    pub had_failures: bool,
    /// When an open loop's load was over, on the monotonic clock.
    pub load_ended_ns: Option<u64>,
    /// When its load was over, or the last answer after that arrived, on the monotonic clock.
    pub answered_ns: u64,
    /// Whether it closes idle connections for the sake of requests that still wait.
    pub gives_way: bool,
    /// An open loop's first requests on their connections, and when they were sent; some were answered
    /// meanwhile.
    first_requests: VecDeque<(SlotKey, Nanos)>,
    /// The longest time that one on a used connection took, and when the last one answered there was sent.
    max_service: Nanos,
    last_sent: Nanos,
    /// When the last first answer on a connection arrived.
    first_answered: Nanos,
}

impl Pool {
    pub fn new(initial_len: usize) -> Self {
        Self { initial_len, ..Self::default() }
    }

    /// A request sent at this time on a used connection was answered after this long.
    pub fn served(&mut self, sent: Nanos, service: Nanos) {
        (self.max_service, self.last_sent) = (self.max_service.max(service), sent);
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
        let most = if self.pool.had_failures { self.pool.initial_len.max(MIN_POOL) } else { usize::MAX };
        let most = self.connections.places().unwrap_or(most);
        self.connections.trim(most, MIN_POOL, ended_ns.saturating_sub(UNNEEDED_NS));
    }

    pub(super) fn note_first_request(&mut self, request: SlotKey, sent: Nanos) {
        if !self.is_closed_loop() && self.hold.is_none() && self.setup.script.session.is_none() {
            self.forget_answered();
            self.pool.first_requests.push_back((request, sent));
        }
    }

    fn forget_answered(&mut self) {
        while let Some((request, _)) = self.pool.first_requests.front()
            && self.exchanges.get(*request).is_none()
        {
            self.pool.first_requests.pop_front();
        }
    }

    /// Whether a request waits for the place of a connection that has just answered, while none waits for the
    /// connection itself. A target may have places for a number of connections, and keep each open: one process
    /// per connection, and later ones are served once one of them ends. Users go away; connections reused
    /// forever would be our doing. Room is made once for each that waits.
    pub(super) fn is_place_wanted(&mut self) -> bool {
        if self.pool.first_requests.is_empty() || !self.backlog.is_empty() || self.running.is_none() {
            return false;
        }
        self.forget_answered();
        let Some((_, sent)) = self.pool.first_requests.front().copied() else { return false };
        let (now, Pool { max_service, last_sent, .. }) = (self.now(), &self.pool);
        let max_wait = PLACE_WAIT.max(*max_service * PLACE_WAIT_FACTOR);
        if now - sent <= max_wait || sent > *last_sent {
            return false;
        }
        if self.connections.places().is_none() && !self.starves_new_ones(sent, now) {
            return false;
        }
        let waits = |(request, sent): &&(SlotKey, Nanos)| {
            now - *sent > max_wait && self.exchanges.get(*request).is_some()
        };
        if self.pool.first_requests.iter().filter(waits).take(MIN_WAITING).count() == MIN_WAITING {
            self.connections.note_places_full();
        }
        self.pool.first_requests.pop_front();
        true
    }

    /// The load is over, so no connection becomes idle for another's sake any more: if the target serves few,
    /// all idle ones make way.
    pub(super) fn make_way(&mut self) {
        if self.connections.places().is_none() || self.pool.gives_way {
            return;
        }
        self.forget_answered();
        if !self.pool.first_requests.is_empty() {
            self.pool.gives_way = true;
            self.connections.close_idle();
        }
    }

    /// Whether, since that was sent, nothing was answered on new connections and everything on used ones: a
    /// target that is late with all of them has places for more, and so has one that accepts them one by one.
    fn starves_new_ones(&mut self, sent: Nanos, now: Nanos) -> bool {
        now - self.pool.first_answered.max(sent) > PLACES_EVIDENCE
            && self
                .exchanges
                .iter_mut()
                .all(|(_, exchange)| !exchange.used || exchange.orphan || now - exchange.sent <= PLACE_WAIT)
    }

    /// Makes way once the load is over: otherwise finished connections would stay open for the next trial, and
    /// the target never recover.
    pub(super) fn give_way(&mut self) {
        let silent = sys::monotonic_ns().saturating_sub(self.pool.answered_ns) >= SILENT_NS;
        if silent && self.unsettled && self.running.is_none() && self.hold.is_none() {
            self.pool.gives_way = true;
            self.connections.close_idle();
        }
    }
}
