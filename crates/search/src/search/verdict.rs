//! What is known so far, and how a search ends.

use super::{Phase, Search};
use crate::background::LossOrigin;
use crate::curve::SHARES;
use plan::Goal;
use record::{BackgroundLoss, Caveat, CaveatDetails, CaveatKind, CurvePoint, Limit, SearchEnd, Verdict};
use units::Rate;

/// A trial within this share of a curve's rate serves as its point.
const MAX_RATE_DIFFERENCE: f64 = 0.02;

impl Search {
    /// The current bounds, one for each goal.
    pub fn limits(&self) -> Vec<Limit> {
        let limit = |goal: &Goal| {
            let estimated = self.capacity_trials.limit(goal, self.range().top).filter(|_| self.estimates());
            if let Some(limit) = estimated.filter(|limit| !self.has_shown_more(goal, limit)) {
                return limit;
            }
            let now = self.bounds.limit(goal);
            // A rate kept for a few seconds counts only up to one kept for a whole trial.
            let kept_rate =
                self.shown_to_keep().filter(|kept| self.proven(goal).is_none_or(|proven| proven < *kept));
            let kept_limit = kept_rate
                .map(|kept| self.bounds.only(kept).limit(goal))
                .filter(|whole| whole.lower.is_some());
            let now = match kept_limit {
                Some(whole) => {
                    Limit { upper: now.upper, bad_trials: now.bad_trials, regular: false, ..whole }
                }
                None => now,
            };
            let before = self.expired_bounds.below(now.upper.unwrap_or(f64::INFINITY)).limit(goal);
            match before.lower.filter(|_| now.lower.is_none()) {
                Some(_) => Limit {
                    upper: now.upper,
                    bad_trials: now.bad_trials,
                    regular: false,
                    throughput: None,
                    ..before
                },
                None => now,
            }
        };
        let in_unit = |goal: &Goal| Limit { unit: self.config.unit.clone(), ..limit(goal) };
        self.config.goals.iter().map(in_unit).collect()
    }

    /// Whether torment, itself the limit, has shown clean trials above all that the others prove: what stopped those may have been its
    /// own doing.
    fn has_shown_more(&self, goal: &Goal, than: &Limit) -> bool {
        let shown = [self.proven(goal), self.shown_to_keep()].into_iter().flatten().max_by(f64::total_cmp);
        self.is_generator_limited() && shown.is_some_and(|shown| than.lower.is_none_or(|lower| shown > lower))
    }

    /// The highest rate that surely meets the goal.
    fn proven(&self, goal: &Goal) -> Option<f64> {
        self.bounds.proven(goal).0.map(|level| level.rate)
    }

    /// A caveat that no limit lasts, if the target surely slowed down.
    pub fn slowing(&self) -> Option<Caveat> {
        let (first, last, due) =
            self.capacity_trials.slowdown(self.config.width.0).filter(|_| self.estimates())?;
        Some(Caveat::with_details(
            CaveatKind::SlowsDown,
            CaveatDetails::Slowed { first: Rate(first), last: Rate(last), due },
        ))
    }

    fn background(&self) -> Option<BackgroundLoss> {
        let LossOrigin::Background { lost, seen, at } = self.loss else { return None };
        Some(BackgroundLoss { bad: lost.bad, due: lost.due, at, seen, failure: self.failure.clone() })
    }

    /// The capacity that the curve's shares refer to: the lower bound of the first goal that has one.
    pub(super) fn capacity(&self) -> Option<f64> {
        self.limits().iter().find_map(|l| l.held.or(l.lower))
    }

    /// The bounds hold: notes why, and lists the shares that no trial so far can serve.
    pub(super) fn begin_curve(&mut self) {
        let limits = self.limits();
        let at_top =
            limits.iter().any(|l| l.upper.is_none() && l.lower.is_some_and(|r| r >= self.range().top));
        self.ended = if let Some(ours) = self.generator_end() {
            ours
        } else if at_top {
            SearchEnd::MaxReached
        } else if limits.iter().all(|l| l.regular) {
            SearchEnd::Converged
        } else if self.estimates() && self.capacity_trials.is_known() {
            if self.config.budget.is_some() { SearchEnd::BudgetSpent } else { SearchEnd::Noisy }
        } else if self.is_out_of_time() {
            SearchEnd::BudgetSpent
        } else {
            SearchEnd::BelowMin
        };
        let mut shares = Vec::new();
        if let Some(capacity) = self.capacity().filter(|_| self.config.curve) {
            for share in SHARES {
                let near = |(rate, _): &&(f64, CurvePoint)| {
                    (rate / (capacity * share) - 1.0).abs() <= MAX_RATE_DIFFERENCE
                };
                match self.curve_points.iter().rfind(near) {
                    Some((_, p)) => self.curve.push(CurvePoint { share, ..*p }),
                    None => shares.push(share),
                }
            }
        }
        // What of it fits in the time left by a last trial.
        shares.truncate((self.curve_in_time() * SHARES.len() as f64).round() as usize);
        self.phase = Phase::Curve(shares);
    }

    pub(super) fn finish(&mut self, ended: SearchEnd) -> Verdict {
        if let Phase::Done(verdict) = &self.phase {
            return (**verdict).clone();
        }
        self.curve.sort_by(|a, b| a.share.total_cmp(&b.share));
        let final_trial = self.trial_duration();
        let verdict = Verdict::Limits {
            limits: self.limits(),
            curve: self.curve.clone(),
            detection_limit: self.drain().as_secs_f64() / final_trial.as_secs_f64(),
            trials: self.trials,
            loaded: self.spent,
            background: self.background(),
            overloaded: self.capacity_trials.overloaded(),
            warmed_up: Some(self.warm_up_result).filter(|warm| warm.answered > 0),
            generator: self.void_trials.capacity.filter(|_| ended == SearchEnd::GeneratorLimit),
            ended,
        };
        self.pending = None;
        self.phase = Phase::Done(Box::new(verdict.clone()));
        verdict
    }
}
