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

/// Who waited in a silence is freed with the others if the answer comes within this part of its length: what has gathered needs
/// time to be answered; in a closed loop nothing gathers.
pub fn freed_within(is_closed: bool) -> u64 {
    if is_closed { 8 } else { 2 }
}
