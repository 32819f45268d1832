//! What each phase makes of a trial, and which phase follows.

use super::{
    Baseline, CALM, CHANGES_MOST, FASTER, PLAIN, PROBE, Phase, REWARMS_MOST, ROUNDS_MOST, SLOWER_MOST,
    Search, TELLING,
};
use crate::bounds::rounded;
use crate::classify::Seen;
use crate::curve::point;
use crate::drift::{Reference, Shift};
use crate::judge::kept_up;
use crate::warm::{Median, WarmUp};
use record::{Ended, Judgement, TrialResult};
use units::Nanos;

impl Search {
    pub(super) fn remember(&mut self, rate: f64, result: &TrialResult, judgement: &Judgement) {
        let seconds = if result.hopeless { result.planned } else { result.loaded };
        let seen = Seen {
            seconds: seconds.as_secs_f64(),
            loss: judgement.loss,
            good: judgement.good,
            due: result.total.due,
            bad: result.total.outcomes.bad(),
        };
        self.bounds.add(rate, seen);
        if judgement.good {
            self.points.extend(point(0.0, result).map(|p| (rate, p)));
        }
    }

    pub(super) fn climbed(&mut self, rate: f64, down: bool, result: &TrialResult, judgement: &Judgement) {
        self.remember(rate, result, judgement);
        let range = self.range();
        if judgement.good {
            self.climbed = Some(rate);
            self.calmer(result, true);
            if down || rate >= range.top {
                self.warm_up(self.estimate.unwrap_or(rate).max(rate));
            } else {
                self.phase = Phase::Climb { rate: (rate * 2.0).min(range.top), down };
            }
            return;
        }
        self.estimate = kept_up(result, self.calm_mean()).map(|k| k.rate);
        match self.climbed {
            Some(passed) => self.warm_up(self.estimate.unwrap_or(passed).max(passed)),
            None if rate <= range.floor => {
                self.over(Ended::BelowMin);
            }
            None => self.phase = Phase::Climb { rate: (rate / 2.0).max(range.floor), down: true },
        }
    }

    /// Begins a warm-up at half of `capacity`.
    fn warm_up(&mut self, capacity: f64) {
        self.calm = rounded((capacity * CALM).clamp(self.range().floor, self.range().top));
        // The more often the target has changed, the less a short look is believed.
        self.phase = Phase::Warm(WarmUp::new(Nanos::from_secs(1 << self.changes.min(6))));
    }

    pub(super) fn warmed(&mut self, mut warm: WarmUp, result: &TrialResult, judgement: &Judgement) {
        let median =
            Median::of(&result.total.response).filter(|_| judgement.good || judgement.loss < TELLING);
        let Some(median) = median else {
            self.rewarms += 1;
            self.stumbles += 1;
            if self.rewarms > REWARMS_MOST {
                self.over(Ended::NonStationary);
            } else if self.stumbles > 1 {
                // Never warm up in overload: requests that die in the queue warm nothing.
                self.estimate = None;
                self.warm_up(self.calm);
            }
            return;
        };
        self.stumbles = 0;
        let first = warm.level().is_none();
        warm.push(result.loaded, median);
        self.calmer(result, first);
        if !warm.done() {
            self.phase = Phase::Warm(warm);
            return;
        }
        self.reference = warm.level().map(|(length, median)| Reference::new(median, length.as_secs_f64()));
        self.since_sentinel = 0;
        self.expire();
        self.points.extend(point(0.0, result).map(|p| (self.calm, p)));
        let open = match (self.estimate, self.void) {
            (Some(estimate), _) => estimate * PROBE,
            (None, Some(_)) => self.climbed.unwrap_or(self.calm),
            (None, None) => self.calm / CALM,
        };
        self.phase = Phase::Probe { rate: rounded(open).min(self.range().top), factor: FASTER };
    }

    pub(super) fn probed(&mut self, rate: f64, factor: f64, result: &TrialResult, judgement: &Judgement) {
        self.remember(rate, result, judgement);
        let range = self.range();
        if judgement.good {
            let above = rounded(rate * factor).min(range.top);
            let end = rate >= range.top || range.void.is_some_and(|v| above >= v);
            self.phase = if end {
                Phase::Narrow
            } else {
                Phase::Probe { rate: above, factor: (factor * 1.25).min(2.0) }
            };
            if end {
                self.estimate = None;
            }
            return;
        }
        let kept = kept_up(result, self.calm_mean());
        let now = kept.map_or(self.calm, |k| k.rate.max(self.calm));
        let before = self.estimate.replace(now).unwrap_or(f64::INFINITY);
        self.doubt = kept.map_or(0.0, |k| k.doubt);
        self.phase = Phase::Narrow;
        if now > before * FASTER && self.rewarms < REWARMS_MOST {
            self.rewarms += 1;
            self.warm_up(now);
        }
    }

    pub(super) fn measured(&mut self, rate: f64, result: &TrialResult, judgement: &Judgement) {
        let earlier = self.bounds.at(rate);
        let single_bad = earlier.len() == 1 && !earlier[0].good;
        self.remember(rate, result, judgement);
        self.since_sentinel += 1;
        if judgement.good && single_bad && self.rounds < ROUNDS_MOST {
            self.rounds += 1;
            self.bounds.expire_bad(rate);
        }
        if !judgement.good && judgement.loss > TELLING {
            self.estimate = kept_up(result, self.calm_mean()).map(|k| k.rate).or(self.estimate);
        }
    }

    /// The sentinel has looked: a shift brings a bound under suspicion.
    pub(super) fn looked(&mut self, result: &TrialResult) {
        self.since_sentinel = 0;
        let now = Median::of(&result.total.response);
        let shift = match (&self.reference, now) {
            (Some(reference), Some(now)) => reference.shift(now),
            _ => None,
        };
        let Some(shift) = shift else {
            self.points.extend(point(0.0, result).map(|p| (self.calm, p)));
            return;
        };
        let proven = self.config.goals.iter().map(|g| self.bounds.proven(g));
        let bound = match shift {
            Shift::Faster(_) => proven.filter_map(|(_, u)| Some(u?.rate)).max_by(f64::total_cmp),
            Shift::Slower(_) => proven.filter_map(|(l, _)| Some(l?.rate)).min_by(f64::total_cmp),
        };
        match bound {
            Some(rate) => self.phase = Phase::Suspect { rate, shift },
            None if shift.ratio().ln().abs() > PLAIN => self.change_point(shift),
            None => {}
        }
    }

    pub(super) fn suspected(&mut self, rate: f64, shift: Shift, result: &TrialResult, judgement: &Judgement) {
        self.phase = Phase::Narrow;
        let changed = judgement.good == matches!(shift, Shift::Faster(_));
        if changed {
            self.change_point(shift);
            return;
        }
        self.remember(rate, result, judgement);
        if let Some(reference) = &mut self.reference {
            reference.was_noise(shift);
        }
    }

    /// The target is not what it was: every bound expires and the search opens again, upwards.
    fn change_point(&mut self, shift: Shift) {
        self.changes += 1;
        self.slower += u32::from(matches!(shift, Shift::Slower(_)));
        if self.changes > CHANGES_MOST || self.slower > SLOWER_MOST {
            self.over(Ended::NonStationary);
            return;
        }
        let factor = (1.0 / shift.ratio()).clamp(0.25, 4.0);
        self.estimate = self.estimate.map(|e| e * factor);
        self.expire();
        self.warm_up(self.calm / CALM * factor);
    }

    /// No trial so far counts any more, for the target is not what it was.
    fn expire(&mut self) {
        self.expired.give_way(std::mem::take(&mut self.bounds));
        self.points.clear();
    }

    pub(super) fn generator_limit(&mut self, rate: f64) {
        self.void = Some(self.void.map_or(rate, |v| v.min(rate)));
        self.estimate = self.estimate.filter(|e| *e < rate);
        match &self.phase {
            Phase::Climb { .. } => match self.climbed {
                Some(passed) => self.warm_up(passed),
                None => {
                    self.over(Ended::GeneratorLimit);
                }
            },
            Phase::Warm(_) => {
                self.over(Ended::GeneratorLimit);
            }
            Phase::Probe { .. } | Phase::Suspect { .. } => self.phase = Phase::Narrow,
            Phase::Narrow if rate <= self.range().floor * 2.0 => {
                self.over(Ended::GeneratorLimit);
            }
            Phase::Narrow => self.since_sentinel = 0,
            Phase::Curve(shares) => self.phase = Phase::Curve(shares[1..].to_vec()),
            Phase::Over(_) => {}
        }
    }

    /// Notes how long a calm target takes. The mean is that of the quickest of the windows of a warm-up, of which `anew` says
    /// that it is the first: what a stall adds is none of it.
    fn calmer(&mut self, result: &TrialResult, anew: bool) {
        let times = &result.total.response;
        let Some((q, mean)) = times.quantiles().zip(times.mean()) else { return };
        let before = self.baseline;
        let mean = before.filter(|_| !anew).map_or(mean, |calm| calm.mean.min(mean));
        let quicker = before.filter(|calm| !matches!(self.phase, Phase::Warm(_)) && calm.p99 <= q.p99);
        let (p50, p99) = quicker.map_or((q.p50, q.p99), |calm| (calm.p50, calm.p99));
        self.baseline = Some(Baseline { mean, p50, p99 });
    }
}
