use serde::{Deserialize, Serialize};
use units::Nanos;

/// A shorter stretch without an answer is no silence: at low rates, and with slow targets, it is ordinary.
pub const MIN_SILENCE: Nanos = Nanos::from_millis(100);

/// A stretch in which no request of any loop ended while some were in flight. torment's own stalls do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// The last answer before it, or when the first of the requests in flight was sent, whichever was later; since the trial began.
    pub from: Nanos,
    /// The first answer after it, as the kernel received it; or the end of the drain. Since the trial began.
    pub to: Nanos,
    /// Requests in flight at its end, or waiting for a connection, in the loop that noticed it first; the other loops have as many each.
    pub waiting: u64,
    /// Of them, those that ended soon after, by [`freed_within`]; none if it lasted to the end of the drain.
    pub freed: Option<u64>,
}

impl Silence {
    /// Its duration.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }

    /// The target's silences, from lists that each know only their own answers: the intersection of all.
    pub(crate) fn intersection(lists: &[Vec<Self>]) -> Vec<Self> {
        let Some((first, others)) = lists.split_first() else { return Vec::new() };
        let both = |mine: &Self, theirs: &Self| Self {
            from: mine.from.max(theirs.from),
            to: mine.to.min(theirs.to),
            waiting: mine.waiting.min(theirs.waiting),
            freed: mine.freed.zip(theirs.freed).map(|(mine, theirs)| mine.min(theirs)),
        };
        others.iter().fold(first.clone(), |so_far, theirs| {
            let pairs = so_far.iter().flat_map(|mine| theirs.iter().map(move |theirs| both(mine, theirs)));
            pairs.filter(|both| both.from + MIN_SILENCE <= both.to).collect()
        })
    }
}

/// What gathered in a silence is answered no faster than the target can: a drain lasts at least this many times as long,
const CATCH_UP_FACTOR: f64 = 1.1;
/// up to this. A silence that continues at the end of a load is waited out for as long.
pub const MAX_CATCH_UP: Nanos = Nanos::from_secs(5);

/// The time a frozen target needs to catch up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CatchUp {
    /// After the longest silence.
    pub longest: Nanos,
    /// When everything gathered in any of them is answered at the latest; since the trial began.
    pub answered_by: Nanos,
}

impl CatchUp {
    /// After a silence that ended.
    pub fn after(silence: &Silence) -> Self {
        let longest =
            Nanos::from_secs_f64(silence.length().as_secs_f64() * CATCH_UP_FACTOR).min(MAX_CATCH_UP);
        Self { longest, answered_by: silence.to + longest }
    }

    /// After both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let longest = self.longest.max(other.longest);
        Self { longest, answered_by: self.answered_by.max(other.answered_by) }
    }

    /// The drain of a load that ended at `ended` of its trial, if `drain` would do without a silence.
    pub fn drain(&self, drain: Nanos, ended: Nanos) -> Nanos {
        drain.max(self.longest).max(self.answered_by - ended)
    }
}

/// A request that waited in a silence was freed with the others if its answer comes within this fraction (1 ÷ n) of the silence's length:
/// what has gathered takes time to be answered; in a closed loop nothing gathers.
pub fn freed_within(is_closed: bool) -> u64 {
    if is_closed { 8 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_silent_while_nobody_hears_of_it() {
        let ms = Nanos::from_millis;
        let silence = |from, to, freed| Silence { from: ms(from), to: ms(to), waiting: 9, freed };
        let mine = vec![silence(100, 400, Some(9)), silence(600, 900, Some(8))];
        let theirs = vec![silence(50, 150, Some(3)), silence(650, 850, Some(5))];
        assert_eq!(
            Silence::intersection(&[mine.clone(), theirs.clone()]),
            [silence(650, 850, Some(5))],
            "50 ms are none"
        );
        assert_eq!(Silence::intersection(&[mine.clone(), vec![silence(0, 1000, None)]]).len(), 2);
        assert_eq!(Silence::intersection(&[mine.clone(), theirs, Vec::new()]), []);
        assert_eq!(Silence::intersection(std::slice::from_ref(&mine)), mine);
        assert_eq!(Silence::intersection(&[]), []);
    }

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
        assert_eq!(drain(&[silence(1_000, 9_000)]), MAX_CATCH_UP);
    }
}
