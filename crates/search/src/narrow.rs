//! The level that serves one goal most: the main loop's choice, stateless.

use crate::bounds::{Bounds, RateLevel, rounded, width};
use crate::classify::{Class, classify};
use plan::Goal;

/// The first lower candidate lies this many widths below the estimated capacity,
const WIDTHS_BELOW: f64 = 0.43;
/// the first upper one this many above: far enough for the divergence rule (a quarter of a width) to see it, and both together just
/// within one width.
const WIDTHS_ABOVE: f64 = 0.55;
/// A bracket is closed by a level almost one width away.
const STEP_WIDTHS: f64 = 0.97;
/// Steps away from a bound that was not where expected, in widths: first small, then doubling.
const STEPS_DOWN: [f64; 2] = [0.5, 0.5];
/// A candidate within this many widths of a known level adds nothing.
const MIN_WIDTHS_APART: f64 = 0.125;
/// A bracket wider than this many widths is narrowed by short trials.
const COARSE_WIDTHS: f64 = 4.0;

/// The permitted rates.
#[derive(Debug, Clone, Copy)]
pub struct RateRange {
    /// Smallest rate tried.
    pub floor: f64,
    /// Largest rate tried.
    pub top: f64,
}

/// What one goal wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NextTrial {
    /// A short trial, to narrow a wide bracket.
    Coarse(f64),
    /// A trial of the goal's final duration.
    Final(f64),
    /// The same, and the last that a bound needs.
    Confirm(f64),
    /// Nothing more: both bounds hold, or one that cannot be passed.
    Nothing,
}

impl NextTrial {
    /// The wanted level.
    pub fn rate(self) -> Option<f64> {
        match self {
            Self::Coarse(r) | Self::Final(r) | Self::Confirm(r) => Some(r),
            Self::Nothing => None,
        }
    }
}

/// The next level for `goal`, from the trials so far and an estimate of the capacity.
///
/// `w` is the width to reach, at most the goal's. `coin` orders the last trials of the lower and the upper bound, so that a slow drift of
/// the target does not always favour the same one.
pub fn next_trial(
    bounds: &Bounds,
    goal: &Goal,
    w: f64,
    estimate: Option<f64>,
    range: RateRange,
    coin: bool,
) -> NextTrial {
    let bracket = bounds.bracket(goal);
    let clamp = |rate: f64| rounded(rate).clamp(range.floor, range.top);
    match (bracket.lower, bracket.upper) {
        (Some(lower), Some(upper)) if width(lower.rate, upper.rate) <= w + 1e-6 => {
            decide(lower, upper, goal, coin)
        }
        (Some(lower), Some(upper)) => between(lower.rate, upper.rate, w, estimate),
        (Some(lower), None) => {
            if lower.rate >= range.top {
                return settle(lower, goal, Class::Lower);
            }
            let passed =
                bounds.levels().iter().filter(|l| l.rate <= lower.rate && l.trials.iter().any(|t| t.good));
            let step = STEP_WIDTHS * w * 2f64.powi(passed.count() as i32 - 1);
            let by_estimate = estimate
                .map(|e| e * (1.0 + WIDTHS_ABOVE * w))
                .filter(|b| *b > lower.rate * (1.0 + MIN_WIDTHS_APART * w));
            let rate = by_estimate.unwrap_or(lower.rate / (1.0 - step.min(0.5)));
            sized(clamp(rate), rate / lower.rate - 1.0 > COARSE_WIDTHS * w)
        }
        (None, Some(upper)) => {
            if upper.rate <= range.floor {
                return settle(upper, goal, Class::Upper);
            }
            let failed = bounds.levels().iter().filter(|l| l.trials.iter().any(|t| !t.good)).count();
            let step = STEPS_DOWN
                .get(failed - 1)
                .copied()
                .unwrap_or_else(|| 2f64.powi((failed - STEPS_DOWN.len()) as i32 - 1))
                * w;
            let by_estimate = estimate
                .map(|e| e * (1.0 - WIDTHS_BELOW * w))
                .filter(|a| *a < upper.rate * (1.0 - MIN_WIDTHS_APART * w));
            let rate = by_estimate.unwrap_or(upper.rate * (1.0 - step.min(0.5)));
            sized(clamp(rate), by_estimate.is_none() && step > COARSE_WIDTHS * w)
        }
        (None, None) => match estimate {
            Some(estimate) => NextTrial::Final(clamp(estimate * (1.0 - WIDTHS_BELOW * w))),
            None => NextTrial::Coarse(range.floor),
        },
    }
}

fn sized(rate: f64, coarse: bool) -> NextTrial {
    if coarse { NextTrial::Coarse(rate) } else { NextTrial::Final(rate) }
}

/// Tries a level that no other can improve on until its class is certain.
fn settle(level: &RateLevel, goal: &Goal, class: Class) -> NextTrial {
    if classify(&level.trials, goal) == class { NextTrial::Nothing } else { NextTrial::Final(level.rate) }
}

fn between(lower: f64, upper: f64, w: f64, estimate: Option<f64>) -> NextTrial {
    let inside =
        |r: &f64| *r > lower * (1.0 + MIN_WIDTHS_APART * w) && *r < upper * (1.0 - MIN_WIDTHS_APART * w);
    let near = estimate
        .and_then(|e| [e * (1.0 - WIDTHS_BELOW * w), e * (1.0 + WIDTHS_ABOVE * w)].into_iter().find(inside));
    match near {
        Some(rate) => NextTrial::Final(rounded(rate)),
        None => sized(rounded((lower * upper).sqrt()), width(lower, upper) > COARSE_WIDTHS * w),
    }
}

/// Both bounds are close enough: tries each until it is certain. One trial of either first, for the cheapest surprise; the upper at least
/// twice, for its second trial confirms it.
fn decide(lower: &RateLevel, upper: &RateLevel, goal: &Goal, coin: bool) -> NextTrial {
    let tried = |level: &RateLevel| {
        level.trials.iter().filter(|t| t.seconds >= goal.trial.as_secs_f64() * 0.99).count()
    };
    let needs_lower = classify(&lower.trials, goal) != Class::Lower;
    let needs_upper = classify(&upper.trials, goal) != Class::Upper || tried(upper) < 2;
    let good: f64 = lower.trials.iter().filter(|t| t.good).map(|t| t.seconds).sum();
    let last_lower = goal.sum.as_secs_f64() * (1.0 - goal.exceed.0) - good <= goal.trial.as_secs_f64() * 1.01;
    let confirm = |last: bool, rate| if last { NextTrial::Confirm(rate) } else { NextTrial::Final(rate) };
    match (needs_lower, needs_upper) {
        (false, false) => NextTrial::Nothing,
        (true, _) if tried(lower) == 0 => NextTrial::Final(lower.rate),
        (_, true) if tried(upper) == 0 => NextTrial::Final(upper.rate),
        (true, false) => confirm(last_lower, lower.rate),
        (false, true) => NextTrial::Confirm(upper.rate),
        (true, true) if last_lower && coin => NextTrial::Confirm(upper.rate),
        (true, true) => confirm(last_lower, lower.rate),
    }
}
