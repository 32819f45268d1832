//! Which load comes next, and for how long.

use super::{CALM_SHARE, MAX_CHECKS, Phase, Proposal, Search};
use crate::bounds::rounded;
use crate::curve::SHARES;
use crate::narrow::{NextTrial, RateRange, next_trial};
use plan::Goal;
use record::Purpose;
use units::random::Random;
use units::{Nanos, Rate};

/// Trials between two looks at the reference load.
const SENTINEL_EVERY: u32 = 8;
/// One more look before publishing, if the last is at least this many trials ago.
const SENTINEL_LAST: u32 = 3;
/// A target that has changed this often moves, and is no longer checked for change.
pub(super) const MAX_LOOKED_CHANGES: u32 = 3;
/// The smallest rate tried, as a share of the first, but not below 1/s unless the first is.
const FLOOR_FACTOR: f64 = 1.0 / 1024.0;
/// An estimate with a standard error above this many widths comes from a random target:
const NOISY_WIDTHS: f64 = 0.4;
/// single trials near its capacity then go either way, and the bounds are closed to this share of the width.
const NOISY_PART: f64 = 0.5;
/// A short trial lasts at least this many baseline medians, or a slow target only fills up in it.
const FILL_FACTOR: u64 = 10;
/// Full trials that a target that moves is worth: three minutes with those of 10 s, including those forgotten since.
const PATIENCE_TRIALS: u64 = 18;
/// The last of these show whether the rate to be published is held.
const LAST_TRIALS: i32 = 2;
/// One in this many of it at most is reserved for what follows the search.
const RESERVED_DIVISOR: u64 = 10;
/// A target that did this many times more before than any trial shows may do so again: a whole trial decides.
pub(super) const CONTRADICTION_FACTOR: f64 = 1.08;
/// It should not reach this many times the most that any did.
pub(super) const LOOK_ABOVE: f64 = 1.1;
/// A step of the curve from this share on tests whether the limit is right, and gets more time.
const CLOSE_SHARE: f64 = 0.9;
/// Requests that each step of it needs at least.
const CURVE_REQUESTS: f64 = 50.0;
/// Approximate duration of the curve, in seconds, unless requests are few.
const CURVE_SECONDS: f64 = 10.0;
/// A width that needs this many times the patience is far away.
const FAR_FACTOR: f64 = 4.0;
/// A limit known no better than this after half of the time gets all of it.
const COARSE_WIDTH: f64 = 0.2;

impl Search {
    /// Most seconds under load of a search, without its warm-ups and its curve.
    fn patience(&self) -> f64 {
        let usual = self.trial_duration() * PATIENCE_TRIALS;
        let left = usual - self.config.reserved.min(usual / RESERVED_DIVISOR);
        let whole = self.config.budget.unwrap_or(left).as_secs_f64();
        (whole - self.curve_seconds()).max(whole / 2.0)
    }

    /// Approximate duration of the curve, in seconds.
    fn curve_seconds(&self) -> f64 {
        let steps =
            |limit: f64| SHARES.map(|share| self.curve_step(limit, share).1.as_secs_f64()).iter().sum();
        self.estimate.map_or(CURVE_SECONDS, steps).max(CURVE_SECONDS)
    }

    /// Rate and duration of the curve's step at this share of the limit.
    fn curve_step(&self, limit: f64, share: f64) -> (f64, Nanos) {
        let (rate, least) = (rounded(limit * share), if share < CLOSE_SHARE { 1 } else { 2 });
        (rate, self.short_duration(rate, Nanos::from_secs(least), CURVE_REQUESTS))
    }

    /// The share of the curve that there is time for, after the trials.
    pub(super) fn curve_in_time(&self) -> f64 {
        ((self.patience() - self.measured.as_secs_f64()) / self.curve_seconds() + 1.0).clamp(0.0, 1.0)
    }

    /// Whether one more full trial would exceed the patience.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.is_out_of_time_by(0)
    }

    /// Whether one would even with a patience longer by this many trials.
    fn is_out_of_time_by(&self, trials: i32) -> bool {
        let trial = self.trial_duration().as_secs_f64();
        self.measured.as_secs_f64() + trial > self.patience() + trial * f64::from(trials)
    }

    /// Whether one more full trial is not worth it given the target's noise: there is no time for it, or the width is out of reach in
    /// that time.
    fn is_late(&self) -> bool {
        if self.is_out_of_time() {
            return true;
        }
        // A given budget is to be used up; and while it is open whether the target moves, so is which width can be reached.
        self.config.budget.is_none()
            && !self.coarse
            && !self.capacity_trials.may_sink()
            && self.is_half_over()
    }

    /// Whether half of the time is over and all of it would not suffice.
    fn is_half_over(&self) -> bool {
        let (patience, trial) = (self.patience(), self.trial_duration().as_secs_f64());
        // A repeated warm-up is part of how it moves.
        let loaded =
            if self.capacity_trials.is_moving { self.measured } else { self.spent - self.warm }.as_secs_f64();
        let reached = self.capacity_trials.width(&self.config.goals).unwrap_or(f64::INFINITY);
        let needed = loaded * (reached / self.config.width.0).powi(2);
        // If the width is far away, that half includes the curve.
        let half =
            patience / 2.0 - if needed > FAR_FACTOR * patience { self.curve_seconds() / 2.0 } else { 0.0 };
        loaded + trial > half && needed > patience
    }

    /// Whether the limit is then known so badly that it gets all of the time. Decided once: a search that ends when its interval looks
    /// narrow sometimes ends on luck.
    fn is_coarse(&self) -> bool {
        let known_badly = |reached| reached > COARSE_WIDTH;
        self.capacity_trials.width(&self.config.goals).is_some_and(known_badly) && self.is_half_over()
    }

    pub(super) fn propose(&mut self) -> Option<Proposal> {
        // Half of the time may also end with a sentinel, or during recovery.
        self.coarse |= self.estimates() && matches!(self.phase, Phase::Narrow) && self.is_coarse();
        loop {
            let secs = Nanos::from_secs;
            if let (Phase::Narrow, Some((rate, duration))) =
                (&self.phase, self.loss.needed_look(self.range().floor))
            {
                self.phase = Phase::Look { rate: rounded(rate), duration };
            }
            let (purpose, rate, duration) = match &self.phase {
                Phase::Climb { rate, .. } => {
                    (Purpose::Climb, *rate, self.short_duration(*rate, secs(1), 10.0))
                }
                Phase::Warm { warm, closed } => {
                    let rate = if closed.is_some() { self.calm_rate / CALM_SHARE } else { self.calm_rate };
                    let duration = self.short_duration(rate, warm.window(), 10.0).max(warm.window());
                    return Some(Proposal {
                        purpose: Purpose::WarmUp,
                        rate: Rate(rate),
                        duration,
                        users: *closed,
                    });
                }
                Phase::Calm { frozen } => {
                    // The shorter, the less likely it contains a freeze.
                    let requests = if *frozen == 0 { 2000.0 } else { 500.0 };
                    (Purpose::WarmUp, self.calm_rate, self.short_duration(self.calm_rate, secs(2), requests))
                }
                Phase::Probe { rate, .. } => {
                    (Purpose::Measure, *rate, self.short_duration(*rate, secs(2), 100.0))
                }
                Phase::Look { rate, duration } => (Purpose::Sentinel, *rate, *duration),
                Phase::Suspect { rate, .. } => (Purpose::Confirm, *rate, self.trial_duration()),
                Phase::Narrow => match self.contradiction() {
                    Some(rate) => {
                        self.is_checking = true;
                        (Purpose::Measure, rounded(rate).min(self.range().top), self.trial_duration())
                    }
                    None => match self.narrow() {
                        Some(p) => p,
                        None => {
                            self.after_narrowing();
                            continue;
                        }
                    },
                },
                Phase::Above { rate } => {
                    (Purpose::Measure, *rate, self.short_duration(*rate, secs(1), 100.0))
                }
                Phase::Ceiling if self.is_out_of_time() => {
                    self.begin_curve();
                    continue;
                }
                Phase::Ceiling => match self.next_ceiling_look() {
                    Some((rate, true)) => (Purpose::Confirm, rate, self.trial_duration()),
                    Some((rate, false)) => {
                        (Purpose::Measure, rate, self.short_duration(rate, secs(2), 100.0))
                    }
                    None => {
                        if self.is_generator_limited() {
                            self.begin_curve();
                        }
                        continue;
                    }
                },
                Phase::Curve(shares) => {
                    let (rate, duration) = self.curve_step(self.capacity()?, *shares.first()?);
                    (Purpose::Curve, rate, duration)
                }
                Phase::Done(_) => return None,
            };
            return Some(Proposal { purpose, rate: Rate(rate), duration, users: None });
        }
    }

    /// A whole trial to settle a contradiction: whether the target can do what a few seconds showed, or cannot do what they did not.
    fn contradiction(&self) -> Option<f64> {
        let checks = self.checks_done < MAX_CHECKS && self.estimates() && self.capacity_trials.is_known();
        let more = Some(self.shown_rate).filter(|_| self.has_done_more());
        more.or(self.fallen_rate).filter(|_| checks && !self.is_out_of_time())
    }

    /// The limit is known. Two trials stopped after a few seconds may both have met a moving target at a slow time: looks once clearly
    /// above the limit, then comes the curve.
    fn after_narrowing(&mut self) {
        let rate = rounded(self.capacity_trials.highest_shown() * LOOK_ABOVE);
        let looks = self.estimates() && self.capacity_trials.is_straight() && !self.looked_above;
        if looks && rate <= self.range().top && !self.is_generator_limited() && !self.is_out_of_time() {
            self.looked_above = true;
            self.phase = Phase::Above { rate };
        } else {
            self.begin_curve();
        }
    }

    /// Whether it clearly did more before than any trial has shown.
    pub(super) fn has_done_more(&self) -> bool {
        self.shown_rate > self.capacity_trials.highest_shown() * CONTRADICTION_FACTOR
    }

    /// At least `least`; longer if that is few requests or short against the response time.
    fn short_duration(&self, rate: f64, least: Nanos, requests: f64) -> Nanos {
        let fills_up = self.baseline.map_or(Nanos::ZERO, |calm| calm.p50 * FILL_FACTOR);
        least.max(Nanos::from_secs_f64(requests / rate)).max(fills_up).min(self.trial_duration().max(least))
    }

    /// The longest of the goals' final trial durations.
    pub(super) fn trial_duration(&self) -> Nanos {
        self.config.goals.iter().map(|g| g.trial).max().unwrap_or(Nanos::from_secs(10))
    }

    pub(super) fn range(&self) -> RateRange {
        let from = self.config.from.0.min(self.config.max.0);
        let floor = if from > 1.0 { (from * FLOOR_FACTOR).max(1.0) } else { from * FLOOR_FACTOR };
        RateRange { floor, top: self.config.max.0 }
    }

    /// The main loop: the lowest level that any goal wants; the sentinel in between.
    fn narrow(&self) -> Option<(Purpose, f64, Nanos)> {
        let look = || {
            let seconds = self.reference.map_or(Nanos::ZERO, |r| Nanos::from_secs_f64(r.seconds().ceil()));
            let least = seconds.clamp(Nanos::from_secs(2), self.trial_duration().max(Nanos::from_secs(2)));
            (Purpose::Sentinel, self.calm_rate, self.short_duration(self.calm_rate, least, 100.0))
        };
        if self.estimates() && self.capacity_trials.is_known() {
            let (goals, width, range) = (&self.config.goals, self.config.width.0, self.range());
            let telling =
                self.capacity_trials.next_trial(goals, width, range).rate().filter(|_| !self.is_late());
            let ends = telling.is_none() || self.is_out_of_time_by(-LAST_TRIALS);
            let unheld = || {
                self.capacity_trials.unheld(goals, width, range).filter(|_| ends && !self.is_out_of_time())
            };
            let wanted = unheld().or(telling);
            let sentinel_after = match wanted {
                Some(_) => SENTINEL_EVERY,
                // There is no time for another warm-up.
                None if self.is_out_of_time() => u32::MAX,
                None => SENTINEL_LAST,
            };
            if self.since_sentinel >= sentinel_after
                && self.reference.is_some()
                && self.changes < MAX_LOOKED_CHANGES
            {
                return Some(look());
            }
            return wanted.map(|rate| (Purpose::Measure, rate, self.trial_duration()));
        }
        // Two bounds that are not close are worth another trial: they may rest on short ones.
        if self.is_out_of_time_by(1) {
            return None;
        }
        if self.since_sentinel >= SENTINEL_EVERY && self.reference.is_some() {
            return Some(look());
        }
        // A fair coin from the seed and a counter.
        let coin = Random::nth(self.config.seed, self.trials.into()) >> 63 == 1;
        let part = if self.estimate_doubt > self.config.width.0 * NOISY_WIDTHS { NOISY_PART } else { 1.0 };
        let wanted =
            |g: &Goal| next_trial(&self.bounds, g, g.width.0 * part, self.estimate, self.range(), coin);
        let candidates = self.config.goals.iter().map(wanted).filter_map(|w| Some((w.rate()?, w)));
        let lowest = candidates.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, w)| w);
        let below = self.capacity_trials.next_lower_rate(self.config.width.0).filter(|_| self.estimates());
        let lowest = match (lowest.and_then(NextTrial::rate), below) {
            (Some(wanted), Some(below)) if below < wanted => {
                Some(NextTrial::Final(below.max(self.range().floor)))
            }
            _ => lowest,
        };
        match lowest {
            Some(NextTrial::Coarse(rate)) => {
                Some((Purpose::Measure, rate, self.short_duration(rate, Nanos::from_secs(2), 100.0)))
            }
            Some(NextTrial::Final(rate)) => Some((Purpose::Measure, rate, self.trial_duration())),
            Some(NextTrial::Confirm(rate)) => Some((Purpose::Confirm, rate, self.trial_duration())),
            Some(NextTrial::Nothing) | None
                if self.since_sentinel >= SENTINEL_LAST && self.reference.is_some() =>
            {
                Some(look())
            }
            Some(NextTrial::Nothing) | None => None,
        }
    }
}
