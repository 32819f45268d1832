//! The course of a search, as a state machine that time and the network never touch.

mod course;
mod ours;

use crate::background::Loss;
use crate::bounds::{Bounds, rounded};
use crate::curve::{SHARES, point};
use crate::drift::{Reference, Shift};
use crate::held::CapacityTrials;
use crate::judge::{hopeless, is_void, judge, steady};
use crate::narrow::{Range, Want, want};
use crate::warm::WarmUp;
use ours::Ours;
use plan::{Goal, Objective};
use record::{
    Background, CurvePoint, Ended, Failure, Judgement, Limit, LimitUnit, Purpose, Recovery, Slice,
    TrialResult, Verdict, WarmedUp,
};
use units::random::Random;
use units::{Nanos, Rate, Share};

/// A search makes no more trials than this, whatever happens.
pub const TRIALS_MOST: u32 = 300;
/// Change points before a target is called non-stationary.
const CHANGES_MOST: u32 = 8;
/// Those to the slower among them: a target that warms up comes to an end, one that tires does not.
const SLOWER_MOST: u32 = 2;
/// Warm-ups begun again because the target turned out faster, or the load too high.
const REWARMS_MOST: u32 = 8;
/// Upper bounds taken back because they passed when repeated.
const ROUNDS_MOST: u32 = 2;
/// A target that has changed so often moves, and is looked at for that no more.
const LOOKED_MOST: u32 = 3;
/// Trials between two looks at the reference load.
const SENTINEL_EVERY: u32 = 8;
/// Before publishing, one more look if the last is at least so many trials ago.
const SENTINEL_LAST: u32 = 3;
/// A shift this large (as a logarithm) needs no second opinion.
const PLAIN: f64 = 0.15;
/// The smallest rate tried is this part of the first, but not below 1/s if the first is not.
const FLOOR: f64 = 1.0 / 1024.0;
/// The load of warm-up and sentinel, as a share of the estimated capacity: busy, never overloaded.
const CALM: f64 = 0.5;
/// A target that stands still while it is looked at is looked at again, so many times.
const FROZEN_MOST: u32 = 2;
/// A median that has fallen by this much (as a logarithm) is that of a target that was not warm.
const WARMER: f64 = 0.08;
/// The first window of a warm-up that was over too early, in seconds.
const WARM_AGAIN: u64 = 8;
/// A warm-up has so many times as many requests outstanding as the target has in work when it does what it can: it is never idle, and nobody waits long.
const BUSY: f64 = 1.25;
/// No more than that.
const BUSY_MOST: f64 = 10_000.0;
/// The warmed-up target is first overloaded by this factor: its goodput there is the estimate.
const PROBE: f64 = 1.1;
/// An estimate this much larger than that before the warm-up calls for another.
const FASTER: f64 = 1.25;
/// Trials with a smaller loss say little about the capacity.
const TELLING: f64 = 0.03;
/// An estimate with a standard error above so many widths comes from a target that is random itself:
const NOISY: f64 = 0.4;
/// single trials near its capacity then go either way, and the bounds are closed to this part of the width.
const NARROWER: f64 = 0.5;
/// The least drain, and the drain in baseline p99s.
const DRAIN_LEAST: Nanos = Nanos::from_millis(100);
const DRAIN_TIMES: u64 = 3;
/// A short trial lasts at least so many baseline medians, or a slow target only fills up in it.
const FILLS_UP: u64 = 10;
/// A target that moves is worth so many full trials: three minutes with those of 10 s, those that were forgotten since included.
const PATIENCE: u64 = 18;
/// The curve takes about so many seconds.
const CURVE: f64 = 10.0;
/// A width that needs so many times the patience is far away.
const FAR: f64 = 4.0;
/// A trial within this share of a curve's rate serves as its point.
const NEAR: f64 = 0.02;

/// What to search for.
#[derive(Debug, Clone)]
pub struct Config {
    /// All are searched together; exceed ratios below 1.
    pub goals: Vec<Goal>,
    /// What makes a request bad.
    pub objective: Objective,
    /// The first rate tried.
    pub from: Rate,
    /// The largest rate tried.
    pub max: Rate,
    /// The goals' width: how close the bounds must be.
    pub width: Share,
    /// No trial is shorter: users who pause come to every step of their flow only in one that is longer than their pauses.
    pub least: Nanos,
    /// How long a user may pause altogether: not before does a load stand still, and what is outstanding is no queue that grows.
    pub pauses: Nanos,
    /// Time under load after which the search ends with what it has.
    pub budget: Option<Nanos>,
    /// When a request is given up.
    pub timeout: Nanos,
    /// Orders the confirming trials.
    pub seed: u64,
    /// Whether to measure response times at shares of the capacity at the end.
    pub curve: bool,
    /// What the limits count.
    pub unit: LimitUnit,
}

/// A load to be tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proposal {
    /// Why.
    pub purpose: Purpose,
    /// Offered rate; what is expected of a closed loop.
    pub rate: Rate,
    /// How long.
    pub duration: Nanos,
    /// So many requests are outstanding all the time, instead of arrivals at a rate.
    pub closed: Option<u32>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Make this trial and hand in its result.
    Try(Proposal),
    /// The search is over.
    Done(Box<Verdict>),
}

#[derive(Debug, Clone)]
enum Phase {
    /// From below until the first bad step; downwards if the first step is bad already.
    Climb { rate: f64, down: bool },
    /// Load until what the target does is level: gentle, or a closed loop of so many, which keeps it busy and cannot overload it.
    Warm { warm: WarmUp, closed: Option<u32> },
    /// The warm target at a gentle load.
    Calm {
        /// Looks at which it stood still.
        frozen: u32,
    },
    /// A mild overload of the warm target, for the estimate; upwards until one is found.
    Probe { rate: f64, factor: f64 },
    /// Both bounds of all goals.
    Narrow,
    /// A quarter of the rate at which a little was lost while no queue grew.
    Look { rate: f64, duration: Nanos },
    /// A bound is tried because the sentinel saw a shift.
    Suspect { rate: f64, shift: Shift },
    /// Above some rate torment itself is too slow: what it can make.
    Ceiling,
    /// Shares still to be measured.
    Curve(Vec<f64>),
    /// Over.
    Over(Box<Verdict>),
}

/// The response time at a calm load.
#[derive(Debug, Clone, Copy)]
struct Baseline {
    mean: Nanos,
    p50: Nanos,
    p99: Nanos,
}

/// Proposes loads, takes results, and ends in an interval with reasons.
#[derive(Debug, Clone)]
pub struct Search {
    config: Config,
    phase: Phase,
    pending: Option<Proposal>,
    bounds: Bounds,
    held: CapacityTrials,
    loss: Loss,
    /// How a request fails that is lost at any rate.
    failure: Option<Failure>,
    /// Time under load when the target had been warmed up.
    warm: Nanos,
    /// Whether it turns away what is too much: a closed loop would only be turned away the faster.
    refuses: bool,
    /// All warm-ups together.
    warmed_up: WarmedUp,
    /// Time under load since it was warmed up first, but for later warm-ups.
    measured: Nanos,
    /// The bounds that expired last: only a suggestion, should the search end before there are others.
    expired: Bounds,
    /// Capacity, as far as overloads have shown it.
    estimate: Option<f64>,
    /// Its standard error, as a share.
    doubt: f64,
    /// The highest rate that the climb passed.
    climbed: Option<f64>,
    ours: Ours,
    /// The reference load.
    calm: f64,
    reference: Option<Reference>,
    baseline: Option<Baseline>,
    points: Vec<(f64, CurvePoint)>,
    curve: Vec<CurvePoint>,
    ended: Ended,
    trials: u32,
    spent: Nanos,
    since_sentinel: u32,
    changes: u32,
    slower: u32,
    rewarms: u32,
    /// Bad warm-up windows in a row.
    stumbles: u32,
    rounds: u32,
}

impl Search {
    /// A search that has not begun.
    pub fn new(config: Config) -> Self {
        let rate = config.from.0.min(config.max.0);
        Self {
            config,
            phase: Phase::Climb { rate, down: false },
            pending: None,
            bounds: Bounds::default(),
            held: CapacityTrials::default(),
            loss: Loss::Unseen,
            failure: None,
            warm: Nanos::ZERO,
            refuses: false,
            warmed_up: WarmedUp { loaded: Nanos::ZERO, answered: 0, times: 1.0 },
            measured: Nanos::ZERO,
            expired: Bounds::default(),
            estimate: None,
            doubt: 0.0,
            climbed: None,
            ours: Ours::default(),
            calm: rate,
            reference: None,
            baseline: None,
            points: Vec::new(),
            curve: Vec::new(),
            ended: Ended::Converged,
            trials: 0,
            spent: Nanos::ZERO,
            since_sentinel: 0,
            changes: 0,
            slower: 0,
            rewarms: 0,
            stumbles: 0,
            rounds: 0,
        }
    }

    /// The next step; the same until its result is taken.
    #[expect(
        clippy::should_implement_trait,
        reason = "a search is no iterator: it must be fed between two steps"
    )]
    pub fn next(&mut self) -> Step {
        if let Phase::Over(verdict) = &self.phase {
            return Step::Done(verdict.clone());
        }
        if let Some(proposal) = self.pending {
            return Step::Try(proposal);
        }
        let Some(mut proposal) = self.propose() else {
            let verdict = self.over(self.ended.clone());
            return Step::Done(Box::new(verdict));
        };
        proposal.duration = proposal.duration.max(self.config.least);
        let late = self.config.budget.is_some_and(|b| self.spent + proposal.duration > b);
        if late || self.trials >= TRIALS_MOST {
            let ended =
                if matches!(self.phase, Phase::Curve(_)) { self.ended.clone() } else { Ended::BudgetSpent };
            return Step::Done(Box::new(self.over(ended)));
        }
        self.pending = Some(proposal);
        Step::Try(proposal)
    }

    /// Takes the result of the trial that [`Search::next`] proposed, and says what it means.
    pub fn take(&mut self, result: &TrialResult) -> Judgement {
        let judgement = self.judge(result);
        let result = &self.settled(result);
        let Some(proposal) = self.pending.take() else { return judgement };
        self.trials += 1;
        self.spent += result.loaded;
        if proposal.purpose == Purpose::WarmUp {
            self.warmed_up.loaded += result.loaded;
            self.warmed_up.answered += result.total.outcomes.answered();
        } else if self.warm > Nanos::ZERO {
            self.measured += result.loaded;
        }
        let rate = proposal.rate.0;
        if let Recovery::Not(_) = result.recovery {
            self.remember(rate, result, &judgement);
            self.over(Ended::NotRecovered);
            return judgement;
        }
        if !judgement.invalid.is_empty() {
            self.void(proposal.purpose, rate, result, &judgement);
            return judgement;
        }
        self.ours.valid();
        if judgement.good {
            let excused =
                Share::of(result.total.outcomes.bad(), result.total.due).0 > self.config.objective.loss.0;
            self.loss.take(rate, result, excused);
            let worst = result.total.failures.iter().max_by_key(|(_, count)| **count);
            self.failure = worst.map(|(failure, _)| failure.clone()).or(self.failure.take());
        }
        if self.trials == 1 && result.total.outcomes.answered() == 0 {
            self.over(Ended::TargetFails);
            return judgement;
        }
        match self.phase.clone() {
            Phase::Climb { down, .. } => self.climbed(rate, down, result, &judgement),
            Phase::Warm { warm, closed } => self.warmed(warm, closed, result, &judgement),
            Phase::Calm { frozen } => self.calmed(frozen, result),
            Phase::Probe { factor, .. } => self.probed(rate, factor, result, &judgement),
            Phase::Look { .. } => self.looked_below(rate, result),
            Phase::Narrow if proposal.purpose == Purpose::Sentinel => self.looked(result),
            Phase::Narrow => self.measured(rate, result, &judgement),
            Phase::Suspect { shift, .. } => self.suspected(rate, shift, result, &judgement),
            Phase::Ceiling => self.looked_up(proposal, result, &judgement),
            Phase::Curve(shares) => {
                self.curve.extend(shares.first().and_then(|s| point(*s, result)));
                self.phase = Phase::Curve(shares[1..].to_vec());
            }
            Phase::Over(_) => {}
        }
        judgement
    }

    /// What a trial means, by what is known of the target; without taking it.
    pub fn judge(&self, result: &TrialResult) -> Judgement {
        let mut judgement =
            judge(&self.settled(result), &self.config.objective, self.config.width, self.calm_mean());
        judgement.good |= self.estimates() && self.loss.excuses(result, &judgement);
        judgement
    }

    /// The result without what was outstanding before the first users had come to the end of their pauses.
    fn settled(&self, result: &TrialResult) -> TrialResult {
        let total = steady(&result.total, self.config.pauses).into_owned();
        TrialResult { total, ..result.clone() }
    }

    /// Whether no later second can save the trial that is under way, from what was seen of it `so_far`.
    pub fn hopeless(&self, so_far: &Slice) -> bool {
        let Config { objective, width, pauses, .. } = &self.config;
        let (calm, so_far) = (self.calm_mean(), steady(so_far, *pauses));
        self.pending.is_some_and(|p| {
            hopeless(&so_far, p.rate, p.duration, objective, *width, calm, self.is_full(&p))
                || p.closed.is_none() && is_void(&so_far, p.rate.over(p.duration), objective)
        })
    }

    /// The bounds as they stand, one for each goal.
    pub fn limits(&self) -> Vec<Limit> {
        let limit = |goal: &Goal| {
            if let Some(limit) = self.held.limit(goal, self.range().top).filter(|_| self.estimates()) {
                return limit;
            }
            let (now, before) = (self.bounds.limit(goal), self.expired.limit(goal));
            let suggested = before.lower.filter(|l| now.lower.is_none() && now.upper.is_none_or(|u| *l < u));
            match suggested {
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

    /// Ends the search with what it has.
    pub fn interrupt(&mut self, why: Ended) -> Verdict {
        self.over(why)
    }

    /// Time under load so far.
    pub fn spent(&self) -> Nanos {
        self.spent
    }

    /// How long the next trial may drain: three times the baseline p99, at least 100 ms, at most the time-out; without a baseline
    /// that.
    pub fn drain(&self) -> Nanos {
        let timeout = self.config.timeout;
        self.baseline.map_or(timeout, |calm| (calm.p99 * DRAIN_TIMES).max(DRAIN_LEAST).min(timeout))
    }

    fn background(&self) -> Option<Background> {
        let Loss::Background { lost, seen, at } = self.loss else { return None };
        Some(Background { bad: lost.bad, due: lost.due, at, seen, failure: self.failure.clone() })
    }

    fn calm_mean(&self) -> Option<Nanos> {
        self.baseline.map(|calm| calm.mean)
    }

    /// Whether this trial is one of those that the limits are estimated from.
    fn is_full(&self, proposal: &Proposal) -> bool {
        self.estimates() && matches!(self.phase, Phase::Narrow) && proposal.duration >= self.trial()
    }

    /// Whether the limits are quantiles of what the target can do, which all trials together tell. That no trial may be bad is none: it is
    /// an extreme value, and has to be shown.
    fn estimates(&self) -> bool {
        self.config.goals.iter().all(|goal| goal.exceed.0 > 0.0)
    }

    /// Whether one more full trial is more than the target's noise is worth: it may last beyond the patience, or the width cannot be reached in it.
    fn is_late(&self) -> bool {
        let whole = self.config.budget.unwrap_or(self.trial() * PATIENCE).as_secs_f64();
        let patience = (whole - CURVE).max(whole / 2.0);
        let loaded = (self.spent - self.warm).as_secs_f64();
        let trial = self.trial().as_secs_f64();
        let reached = self.held.width(&self.config.goals).unwrap_or(f64::INFINITY);
        let needed = loaded * (reached / self.config.width.0).powi(2);
        // Where the width is far away, the curve is had within that half, too.
        let half = patience / 2.0 - if needed > FAR * patience { CURVE / 2.0 } else { 0.0 };
        // Who gives a budget wants all of it used.
        self.measured.as_secs_f64() + trial > patience
            || self.config.budget.is_none() && loaded + trial > half && needed > patience
    }

    fn propose(&mut self) -> Option<Proposal> {
        loop {
            let secs = Nanos::from_secs;
            if let (Phase::Narrow, Some((rate, duration))) = (&self.phase, self.loss.look(self.range().floor))
            {
                self.phase = Phase::Look { rate: rounded(rate), duration };
            }
            let (purpose, rate, duration) = match &self.phase {
                Phase::Climb { rate, .. } => (Purpose::Climb, *rate, self.short(*rate, secs(1), 10.0)),
                Phase::Warm { warm, closed } => {
                    let rate = if closed.is_some() { self.calm / CALM } else { self.calm };
                    let duration = self.short(rate, warm.window(), 10.0).max(warm.window());
                    return Some(Proposal {
                        purpose: Purpose::WarmUp,
                        rate: Rate(rate),
                        duration,
                        closed: *closed,
                    });
                }
                Phase::Calm { .. } => (Purpose::WarmUp, self.calm, self.short(self.calm, secs(2), 2000.0)),
                Phase::Probe { rate, .. } => (Purpose::Measure, *rate, self.short(*rate, secs(2), 100.0)),
                Phase::Look { rate, duration } => (Purpose::Sentinel, *rate, *duration),
                Phase::Suspect { rate, .. } => (Purpose::Confirm, *rate, self.trial()),
                Phase::Narrow => match self.narrow() {
                    Some(p) => p,
                    None => {
                        self.begin_curve();
                        continue;
                    }
                },
                Phase::Ceiling => match self.aim() {
                    Some((rate, true)) => (Purpose::Confirm, rate, self.trial()),
                    Some((rate, false)) => (Purpose::Measure, rate, self.short(rate, secs(2), 100.0)),
                    None => {
                        if self.is_ours() {
                            self.begin_curve();
                        }
                        continue;
                    }
                },
                Phase::Curve(shares) => {
                    let rate = rounded(self.capacity()? * shares.first()?);
                    (Purpose::Curve, rate, self.short(rate, secs(2), 100.0))
                }
                Phase::Over(_) => return None,
            };
            return Some(Proposal { purpose, rate: Rate(rate), duration, closed: None });
        }
    }

    /// A trial of `seconds`, longer if that is few requests or short against the response time.
    fn short(&self, rate: f64, least: Nanos, requests: f64) -> Nanos {
        let fills_up = self.baseline.map_or(Nanos::ZERO, |calm| calm.p50 * FILLS_UP);
        least.max(Nanos::from_secs_f64(requests / rate)).max(fills_up).min(self.trial().max(least))
    }

    /// The longest of the goals' final trial durations.
    fn trial(&self) -> Nanos {
        self.config.goals.iter().map(|g| g.trial).max().unwrap_or(Nanos::from_secs(10))
    }

    fn range(&self) -> Range {
        let from = self.config.from.0.min(self.config.max.0);
        let floor = if from > 1.0 { (from * FLOOR).max(1.0) } else { from * FLOOR };
        Range { floor, top: self.config.max.0 }
    }

    /// The main loop: the lowest level that any goal wants; between times the sentinel.
    fn narrow(&self) -> Option<(Purpose, f64, Nanos)> {
        let look = || {
            let seconds = self.reference.map_or(Nanos::ZERO, |r| Nanos::from_secs_f64(r.seconds().ceil()));
            let least = seconds.clamp(Nanos::from_secs(2), self.trial().max(Nanos::from_secs(2)));
            (Purpose::Sentinel, self.calm, self.short(self.calm, least, 100.0))
        };
        if self.estimates() && self.held.is_known() {
            let want = self.held.want(&self.config.goals, self.config.width.0, self.range());
            let wanted = want.rate().filter(|_| !self.is_late());
            let looks = match wanted {
                Some(_) => SENTINEL_EVERY,
                None => SENTINEL_LAST,
            };
            if self.since_sentinel >= looks && self.reference.is_some() && self.changes < LOOKED_MOST {
                return Some(look());
            }
            return wanted.map(|rate| (Purpose::Measure, rate, self.trial()));
        }
        if self.since_sentinel >= SENTINEL_EVERY && self.reference.is_some() {
            return Some(look());
        }
        let coin = coin(self.config.seed, self.trials);
        let part = if self.doubt > self.config.width.0 * NOISY { NARROWER } else { 1.0 };
        let wants = self
            .config
            .goals
            .iter()
            .map(|g| want(&self.bounds, g, g.width.0 * part, self.estimate, self.range(), coin));
        let lowest = wants
            .filter_map(|w| Some((w.rate()?, w)))
            .min_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, w)| w);
        let below = self.held.below(self.config.width.0).filter(|_| self.estimates());
        let lowest = match (lowest.and_then(Want::rate), below) {
            (Some(wanted), Some(below)) if below < wanted => Some(Want::Final(below.max(self.range().floor))),
            _ => lowest,
        };
        match lowest {
            Some(Want::Coarse(rate)) => {
                Some((Purpose::Measure, rate, self.short(rate, Nanos::from_secs(2), 100.0)))
            }
            Some(Want::Final(rate)) => Some((Purpose::Measure, rate, self.trial())),
            Some(Want::Confirm(rate)) => Some((Purpose::Confirm, rate, self.trial())),
            Some(Want::Nothing) | None
                if self.since_sentinel >= SENTINEL_LAST && self.reference.is_some() =>
            {
                Some(look())
            }
            Some(Want::Nothing) | None => None,
        }
    }

    /// The capacity that the curve divides: the lower bound of the first goal that has one.
    fn capacity(&self) -> Option<f64> {
        self.limits().iter().find_map(|l| l.held.or(l.lower))
    }

    /// The bounds stand: says why, and lists the shares that no trial so far can serve.
    fn begin_curve(&mut self) {
        let limits = self.limits();
        let at_top =
            limits.iter().any(|l| l.upper.is_none() && l.lower.is_some_and(|r| r >= self.range().top));
        self.ended = if self.is_ours() {
            self.ours.making = self.ours.ceiling.and_then(|ceiling| ceiling.most());
            Ended::GeneratorLimit
        } else if at_top {
            Ended::MaxReached
        } else if limits.iter().all(|l| l.regular) {
            Ended::Converged
        } else if self.estimates() && self.held.is_known() {
            if self.config.budget.is_some() { Ended::BudgetSpent } else { Ended::Noisy }
        } else {
            Ended::BelowMin
        };
        let mut shares = Vec::new();
        if let Some(capacity) = self.capacity().filter(|_| self.config.curve) {
            for share in SHARES {
                let near = |(rate, _): &&(f64, CurvePoint)| (rate / (capacity * share) - 1.0).abs() <= NEAR;
                match self.points.iter().rfind(near) {
                    Some((_, p)) => self.curve.push(CurvePoint { share, ..*p }),
                    None => shares.push(share),
                }
            }
        }
        self.phase = Phase::Curve(shares);
    }

    fn over(&mut self, ended: Ended) -> Verdict {
        if let Phase::Over(verdict) = &self.phase {
            return (**verdict).clone();
        }
        self.curve.sort_by(|a, b| a.share.total_cmp(&b.share));
        let final_trial = self.trial();
        let verdict = Verdict::Limits {
            limits: self.limits(),
            curve: self.curve.clone(),
            detection_limit: self.drain().as_secs_f64() / final_trial.as_secs_f64(),
            trials: self.trials,
            loaded: self.spent,
            background: self.background(),
            warmed_up: Some(self.warmed_up).filter(|warm| warm.answered > 0),
            generator: self.ours.making.filter(|_| ended == Ended::GeneratorLimit),
            ended,
        };
        self.pending = None;
        self.phase = Phase::Over(Box::new(verdict.clone()));
        verdict
    }
}

/// A fair coin from the seed and a counter.
fn coin(seed: u64, counter: u32) -> bool {
    Random::nth(seed, counter.into()) >> 63 == 1
}
