//! What one trial leaves of its connections to the next, which shall begin as if it were the first.
//!
//! An overload leaves thousands that nobody needs any more. A target closes those that are idle for as long as it keeps them, all at
//! once, in the middle of the next trial: it stood still for a second, and the limit was its own doing in the report and ours in truth.

use super::Worker;

/// So many are kept whatever they did.
const KEPT: usize = 100;
/// One that the last second of a load did not need is not needed.
const UNNEEDED_NS: u64 = 1_000_000_000;
/// If nobody was answered for so long, those that wait may wait for the places of others. Who is merely slow answers one after the other.
const HUSHED_NS: u64 = 900_000_000;

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
}

impl Pool {
    pub fn new(began_with: usize) -> Self {
        Self { began_with, ..Self::default() }
    }
}

impl Worker {
    /// Closes what the next trial does not need. Sessions of a database are as many as were asked for, and those that are held stand.
    pub(super) fn leave_pool(&mut self) {
        let Some(ended_ns) = self.pool.load_ended_ns.take().filter(|_| self.hold.is_none()) else { return };
        if self.setup.script.session.is_some() {
            return;
        }
        let most = if self.pool.bad { self.pool.began_with.max(KEPT) } else { usize::MAX };
        self.connections.leave(most, KEPT, ended_ns.saturating_sub(UNNEEDED_NS));
    }
    /// A target may have places for so many connections, and keep each open for minutes after its answer: who came after those is served once one of them
    /// ends. Nobody would, for those that are done stay open for the next trial, and the target never recovered.
    pub(super) fn give_way(&mut self) {
        let hushed = sys::monotonic_ns().saturating_sub(self.pool.answered_ns) >= HUSHED_NS;
        if hushed && self.unsettled && self.present.is_none() && self.hold.is_none() {
            self.pool.gives_way = true;
            self.connections.close_idle();
        }
    }
}
