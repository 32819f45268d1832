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

impl Silence {
    /// How long it lasted.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }
}

/// What gathered in a silence is answered no faster than the target can: a drain lasts at least so many times as long,
const AIR: f64 = 1.1;
/// up to this. A silence that goes on at the end of a load is waited for as long.
pub const WAITED_FOR: Nanos = Nanos::from_secs(5);

/// How much time a target that stood still needs to catch up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CatchUp {
    /// After the longest silence.
    pub longest: Nanos,
    /// When what gathered in any of them is answered at the latest; since the trial began.
    pub answered_by: Nanos,
}

impl CatchUp {
    /// After a silence that ended.
    pub fn after(silence: &Silence) -> Self {
        let longest = Nanos::from_secs_f64(silence.length().as_secs_f64() * AIR).min(WAITED_FOR);
        Self { longest, answered_by: silence.to + longest }
    }

    /// After both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let longest = self.longest.max(other.longest);
        Self { longest, answered_by: self.answered_by.max(other.answered_by) }
    }

    /// How long a load that ended at this moment of its trial drains, where `drain` would do without a silence.
    pub fn drain(&self, drain: Nanos, ended: Nanos) -> Nanos {
        drain.max(self.longest).max(self.answered_by - ended)
    }
}

/// Who waited in a silence is freed with the others if the answer comes within this part of its length: what has gathered needs
/// time to be answered; in a closed loop nothing gathers.
pub fn freed_within(is_closed: bool) -> u64 {
    if is_closed { 8 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gathered_has_time_to_be_answered_wherever_the_silence_lay() {
        let ms = Nanos::from_millis;
        let silence = |from, to| Silence { from: ms(from), to: ms(to), waiting: 9, freed: Some(9) };
        let drain = |silences: &[Silence]| {
            let all = silences.iter().map(CatchUp::after).fold(CatchUp::default(), CatchUp::and);
            all.drain(ms(100), ms(10_000))
        };
        assert_eq!(drain(&[]), ms(100));
        assert_eq!(drain(&[silence(2_000, 3_000)]), ms(1_100));
        // It ended 400 ms after the load.
        assert_eq!(drain(&[silence(9_400, 10_400)]), ms(400 + 1_100));
        assert_eq!(drain(&[silence(2_000, 5_000), silence(9_900, 10_100)]), ms(3_300));
        assert_eq!(drain(&[silence(1_000, 9_000)]), WAITED_FOR);
    }
}
