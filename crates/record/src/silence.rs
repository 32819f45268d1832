use serde::{Deserialize, Serialize};
use units::Nanos;

/// A shorter stretch without an answer is no silence: at low rates, and of slow targets, it is nothing to speak of.
pub const SILENCE: Nanos = Nanos::from_millis(100);

/// A stretch in which no request of any loop ended, though some were under way all the while. torment's own standing still
/// is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// The last answer before it, or when the first of those was sent that were under way, whichever was later; since the
    /// trial began.
    pub from: Nanos,
    /// The first answer after it, as the kernel received it; or the end of the drain. Since the trial began.
    pub to: Nanos,
    /// Requests that were under way at its end, of the loop that heard of it first; of all others there are as many again.
    pub waiting: u64,
    /// Of them those that ended soon after, by [`freed_within`]; none if it lasted to the end of the drain.
    pub freed: Option<u64>,
}

/// What gathered in a silence is answered no faster than the target can: a drain lasts at least so many times as long,
const AIR: f64 = 1.1;
/// up to this. A silence that goes on at the end of a load is waited for as long.
pub const WAITED_FOR: Nanos = Nanos::from_secs(5);

/// How long a load of which the longest silence is known drains, where `drain` would do without one.
pub fn drained_after(drain: Nanos, silence: Nanos) -> Nanos {
    drain.max(Nanos::from_secs_f64(silence.as_secs_f64() * AIR).min(WAITED_FOR))
}

/// Who waited in a silence is freed with the others if the answer comes within this part of its length: what has gathered needs
/// time to be answered; in a closed loop nothing gathers.
pub fn freed_within(is_closed: bool) -> u64 {
    if is_closed { 8 } else { 2 }
}
