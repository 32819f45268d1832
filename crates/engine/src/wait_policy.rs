//! How the loop waits: exactly where that is wanted, rarely where processor time is dear.
//!
//! Waking a thread costs several microseconds of processor time, on virtual machines up to twenty.
//! A loop that wakes for each request and each answer spends more on waking than on its work. So it
//! may nap: sleep without listening, for as long as requests may be late. Answers are none the worse
//! for it, their time of arrival is stamped by the kernel.

use rustix::time::Timespec;
use units::Nanos;

/// The last stretch before a due time is spun: sleeping wakes some 20 to 60 µs late on a virtual machine.
const SPIN: Nanos = Nanos::from_micros(60);
/// Spinning is worth its processor time only where it is a small part of the gap between arrivals.
const SPIN_GAP: Nanos = Nanos::from_micros(300);
/// How late a sleep ends, nearly always.
const OVERSLEEP: Nanos = Nanos::from_micros(50);
/// A shorter nap costs as much as it saves.
const NAP_LEAST: Nanos = Nanos::from_micros(50);
/// With fewer requests in flight a closed loop is not kept busy while it naps.
const NAP_OUTSTANDING: u64 = 32;
/// Longest nap of a closed loop, and the part of the service time that it may take at most: each user
/// comes back so much later.
const NAP_CLOSED: Nanos = Nanos::from_micros(150);
const NAP_SHARE: u64 = 6;
/// The part of a sleep that it may end late, doubled for safety (fs/select.c estimates a thousandth).
const COARSENESS: u64 = 500;

/// How one loop waits in the present trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitPolicy {
    lateness: Nanos,
    /// Mean gap between arrivals; zero of a closed loop.
    gap: Nanos,
    /// What a closed loop last measured, smoothed.
    service: Nanos,
}

/// What to do until something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitPlan {
    /// Sleep so long first, deaf to news;
    pub nap: Nanos,
    /// then so long at most, or until there is news.
    pub listen: Nanos,
}

impl WaitPolicy {
    pub fn new(lateness: Nanos, gap: Nanos) -> Self {
        Self { lateness, gap, service: Nanos::ZERO }
    }

    /// An answer came, so long after its request was sent.
    pub fn served(&mut self, service: Nanos) {
        self.service = Nanos((self.service.0 * 63 + service.0) / 64);
    }

    /// The next arrival is due in `due`, the next thing that cannot wait is in `rest`; `outstanding`
    /// requests may be answered any moment.
    pub fn plan_wait(&self, due: Option<Nanos>, rest: Nanos, outstanding: u64) -> WaitPlan {
        let open_loop = self.gap > Nanos::ZERO;
        let slack = if open_loop {
            self.lateness - OVERSLEEP
        } else if self.lateness == Nanos::ZERO || outstanding < NAP_OUTSTANDING {
            Nanos::ZERO
        } else {
            NAP_CLOSED.min(self.service / NAP_SHARE)
        };
        if slack >= NAP_LEAST {
            let until_due = due.map_or(rest, |due| due + slack);
            let nap = if outstanding > 0 { slack.min(until_due) } else { Nanos::ZERO };
            return WaitPlan { nap: nap.min(rest), listen: until_due.min(rest) - nap };
        }
        let Some(due) = due else { return WaitPlan { nap: Nanos::ZERO, listen: rest } };
        // Long sleeps end late by a part of their length: wake before that, and sleep the rest anew.
        let due = due - due / COARSENESS;
        let listen = match self.lateness == Nanos::ZERO || self.gap >= SPIN_GAP {
            true if due <= SPIN || self.gap < SPIN_GAP => Nanos::ZERO,
            true => due - SPIN,
            false => due,
        };
        WaitPlan { nap: Nanos::ZERO, listen: listen.min(rest) }
    }
}

/// As the kernel takes it.
pub fn to_timespec(time: Nanos) -> Timespec {
    Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 }
}
