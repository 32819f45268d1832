//! Background loss: one request in a thousand answered 500 at any rate says nothing about a limit.
//!
//! A few requests that fail while no queue grows are suspected to be such. The search goes on as if they had not failed, and looks at a
//! quarter of the rate: what is lost there too, or too rarely to tell, is no overload.

use record::{Judgement, TrialResult};
use units::Nanos;

/// A larger loss is overload, or leaves no limit to look for.
const MAX_BACKGROUND_LOSS: f64 = 0.02;
/// Lost requests the look should see, if the same share is lost there,
const EXPECTED_LOSSES: f64 = 10.0;
/// in at least, and at most, this time.
const LOOK_DURATIONS: [Nanos; 2] = [Nanos::from_secs(2), Nanos::from_secs(20)];
/// Rate of the look, as a share of the suspected rate.
pub const LOOK_RATE_SHARE: f64 = 0.25;
/// The count seen there must be at most this likely, or the loss is taken to be the same.
const MAX_PROBABILITY: f64 = 0.01;
/// Loss may exceed the expectation by this many standard deviations, and a few.
const DEVIATIONS: f64 = 3.3;
const EXTRA_LOSSES: f64 = 1.0;

/// Lost requests among those due.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LossCount {
    /// Lost.
    pub bad: u64,
    /// Due.
    pub due: u64,
}

impl LossCount {
    fn of(result: &TrialResult) -> Self {
        Self { bad: result.total.outcomes.bad(), due: result.total.due }
    }

    fn and(self, other: Self) -> Self {
        Self { bad: self.bad + other.bad, due: self.due + other.due }
    }

    fn share(self) -> f64 {
        self.bad as f64 / self.due.max(1) as f64
    }

    /// Whether so few are unlikely if the share is the same as elsewhere: given all that were lost, each was here with this side's share
    /// of all that were due.
    fn is_less(self, elsewhere: Self) -> bool {
        let all = self.and(elsewhere);
        stats::binomial_cdf(self.bad, all.bad, self.due as f64 / all.due.max(1) as f64) < MAX_PROBABILITY
    }

    /// Whether this share explains it.
    fn is_within(self, share: f64) -> bool {
        let expected = share * self.due as f64;
        self.bad as f64 <= expected + DEVIATIONS * expected.sqrt() + EXTRA_LOSSES
    }
}

/// What is known of the loss.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum LossOrigin {
    /// No loss except by overload, so far.
    #[default]
    Unseen,
    /// This much was lost at this rate; a quarter of it has not been looked at.
    Suspected(LossCount, f64),
    /// Lost at any rate.
    Background {
        /// Over all trials without a growing queue since it was suspected.
        lost: LossCount,
        /// Whether any was seen at a quarter of the rate; they may be too rare to tell.
        seen: bool,
        /// That quarter.
        at: f64,
    },
    /// Much less is lost at a quarter of the rate: overload.
    Overload,
}

impl LossOrigin {
    /// Whether this trial's loss is no overload, as far as is known. Late or unfinished requests are never excused: they waited.
    pub fn excuses(&self, result: &TrialResult, judgement: &Judgement) -> bool {
        let outcomes = &result.total.outcomes;
        let failed = outcomes.failed + outcomes.timeout;
        if failed != outcomes.bad() || judgement.growth_per_second.is_some() || result.hopeless {
            return false;
        }
        let lost = LossCount::of(result);
        match self {
            Self::Unseen | Self::Suspected(..) => lost.is_within(MAX_BACKGROUND_LOSS),
            Self::Background { lost: known, .. } => lost.is_within(known.share()),
            Self::Overload => false,
        }
    }

    /// Takes a trial at `rate` that is good, if only because it is `excused`.
    pub fn add_trial(&mut self, rate: f64, result: &TrialResult, excused: bool) {
        let lost = LossCount::of(result);
        match self {
            Self::Unseen if excused => *self = Self::Suspected(lost, rate),
            Self::Suspected(known, at) if rate >= *at => *known = known.and(lost),
            Self::Background { lost: known, .. } => *known = known.and(lost),
            Self::Unseen | Self::Suspected(..) | Self::Overload => {}
        }
    }

    /// The background loss.
    pub fn share(&self) -> f64 {
        match self {
            Self::Background { lost, .. } | Self::Suspected(lost, _) => lost.share(),
            Self::Unseen | Self::Overload => 0.0,
        }
    }

    /// The look that is needed: its rate and duration.
    pub fn needed_look(&self, floor: f64) -> Option<(f64, Nanos)> {
        let Self::Suspected(lost, rate) = self else { return None };
        let at = (rate * LOOK_RATE_SHARE).max(floor);
        let seconds = EXPECTED_LOSSES / (lost.share() * at).max(f64::MIN_POSITIVE);
        Some((at, Nanos::from_secs_f64(seconds.min(LOOK_DURATIONS[1].as_secs_f64())).max(LOOK_DURATIONS[0])))
    }

    /// Takes the result of the look.
    pub fn add_look(&mut self, rate: f64, result: &TrialResult) {
        let Self::Suspected(lost, _) = *self else { return };
        let found = LossCount::of(result);
        *self = match found.is_less(lost) {
            true => Self::Overload,
            false => Self::Background { lost: lost.and(found), seen: found.bad > 0, at: rate },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two of 320 had failed, and one of the look's 1,600, where ten were expected: then all trials of 2,000 down to 148/s were bad.
    #[test]
    fn a_few_say_little_of_a_share() {
        let seen = |bad, due| LossCount { bad, due };
        assert!(!seen(1, 1600).is_less(seen(2, 320)) && !seen(0, 1600).is_less(seen(1, 320)));
        assert!(seen(0, 10_000).is_less(seen(20, 20_000)) && !seen(5, 10_000).is_less(seen(20, 20_000)));
    }

    #[test]
    fn as_much_as_is_usual_is_no_more_than_that() {
        assert!(
            LossCount { bad: 2, due: 10 }.is_within(0.02) && !LossCount { bad: 3, due: 10 }.is_within(0.02)
        );
        assert!(
            LossCount { bad: 30, due: 20_000 }.is_within(0.001)
                && !LossCount { bad: 60, due: 20_000 }.is_within(0.001)
        );
    }
}
