//! How the loop waits: precisely where that is wanted, with few wake-ups where processor time is scarce.
//!
//! Waking a thread costs several microseconds of processor time, up to twenty on virtual machines. A loop that
//! wakes for each request and each answer spends more on waking than on its work. So it may nap: sleep without
//! listening, for as long as requests may be late. Answers are not affected: the kernel timestamps their
//! arrival.

use rustix::time::Timespec;
use units::Nanos;

/// The last stretch before a due time is spun: sleeping wakes some 20 to 60 µs late on a virtual machine.
const SPIN: Nanos = Nanos::from_micros(60);
/// Spinning is worth its processor time only where it is a small part of the gap between arrivals.
const SPIN_GAP: Nanos = Nanos::from_micros(300);
/// How late a sleep ends at most, nearly always.
const OVERSLEEP: Nanos = Nanos::from_micros(50);
/// A shorter nap costs as much as it saves.
const MIN_NAP: Nanos = Nanos::from_micros(50);
/// With fewer requests in flight, a nap would leave a closed loop idle.
const MIN_NAP_OUTSTANDING: u64 = 32;
/// Longest nap of a closed loop, and the largest fraction of the service time that it may take: each user comes
/// back later by that much.
const MAX_CLOSED_NAP: Nanos = Nanos::from_micros(150);
const NAP_DIVISOR: u64 = 6;
/// The fraction of a sleep by which it may end late, doubled for safety (fs/select.c estimates a thousandth).
const TIMER_COARSENESS: u64 = 500;

/// How one loop waits in the current trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitPolicy {
    lateness: Nanos,
    /// Mean gap between arrivals; zero in a closed loop.
    interval: Nanos,
    /// A closed loop's service time, smoothed.
    service: Nanos,
}

/// How to wait for the next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitPlan {
    /// First sleep this long without listening.
    pub nap: Nanos,
    /// Then listen for events, at most this long.
    pub poll: Nanos,
}

impl WaitPolicy {
    pub fn new(lateness: Nanos, interval: Nanos) -> Self {
        Self { lateness, interval, service: Nanos::ZERO }
    }

    /// An answer arrived, with this service time.
    pub fn served(&mut self, service: Nanos) {
        self.service = Nanos((self.service.0 * 63 + service.0) / 64);
    }

    /// `due`: time to the next arrival; `until_next`: time to whatever else cannot wait; `outstanding` requests may
    /// be answered at any moment.
    pub fn plan_wait(&self, due: Option<Nanos>, until_next: Nanos, outstanding: u64) -> WaitPlan {
        let open_loop = self.interval > Nanos::ZERO;
        let slack = if open_loop {
            self.lateness - OVERSLEEP
        } else if self.lateness == Nanos::ZERO || outstanding < MIN_NAP_OUTSTANDING {
            Nanos::ZERO
        } else {
            MAX_CLOSED_NAP.min(self.service / NAP_DIVISOR)
        };
        if slack >= MIN_NAP {
            let until_due = due.map_or(until_next, |due| due + slack);
            let nap = if outstanding > 0 { slack.min(until_due) } else { Nanos::ZERO };
            return WaitPlan { nap: nap.min(until_next), poll: until_due.min(until_next) - nap };
        }
        let Some(due) = due else { return WaitPlan { nap: Nanos::ZERO, poll: until_next } };
        // Long sleeps end late in proportion: wake before that, and sleep again for the rest.
        let due = due - due / TIMER_COARSENESS;
        let poll = match self.lateness == Nanos::ZERO || self.interval >= SPIN_GAP {
            true if due <= SPIN || self.interval < SPIN_GAP => Nanos::ZERO,
            true => due - SPIN,
            false => due,
        };
        WaitPlan { nap: Nanos::ZERO, poll: poll.min(until_next) }
    }
}

/// In the kernel's form.
pub fn to_timespec(time: Nanos) -> Timespec {
    Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 }
}
