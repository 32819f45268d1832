//! The course of a search, as a state machine without clock or network.

mod config;
mod phases;
mod proposal;
mod verdict;
mod void_trials;

use crate::background::LossOrigin;
use crate::bounds::Bounds;
use crate::capacity_trials::CapacityTrials;
use crate::drift::{Reference, Shift};
use crate::judge::{GiveUpRule, freezes, hopeless, is_void, judge, settled_slice};
use crate::warm_up::WarmUp;
pub use config::{Proposal, SearchConfig, SearchStep};
use record::{
    CurvePoint, Failure, Judgement, Purpose, Recovery, SearchEnd, Silence, Slice, TrialResult, Verdict,
    WarmUpResult,
};
use units::{Nanos, Share};
use void_trials::VoidTrials;

/// Most trials of a search.
pub const MAX_TRIALS: u32 = 300;
/// Load of warm-up and sentinel, as a share of the estimated capacity: busy, never overloaded.
const CALM_SHARE: f64 = 0.5;
/// An estimate this many times that before the warm-up calls for another.
const FASTER: f64 = 1.25;
/// If this many whole trials do not reach what a few seconds showed, the target moves.
const MAX_CHECKS: u32 = 2;
/// Most overloads that may be stopped early for a linearly growing queue: with a target that moves they catch its slow times.
const MAX_SHORTENED: usize = 2;
/// The shortest drain, and the drain in baseline p99s.
const MIN_DRAIN: Nanos = Nanos::from_millis(100);
const DRAIN_FACTOR: u64 = 3;

#[derive(Debug, Clone)]
enum Phase {
    /// Upwards until the first bad step; downwards if the first step is already bad.
    Climb {
        rate: f64,
        down: bool,
    },
    /// Load until throughput is level: gentle, or a closed loop of this many users, which keeps the target busy and cannot overload it.
    Warm {
        warm: WarmUp,
        closed: Option<u32>,
    },
    /// The warm target under a gentle load.
    Calm {
        /// Looks in which it froze.
        frozen: u32,
    },
    /// A mild overload of the warm target, for the estimate; upwards until one is found.
    Probe {
        rate: f64,
        factor: f64,
    },
    /// Both bounds of all goals.
    Narrow,
    /// A quarter of the rate at which a little was lost without a growing queue.
    Look {
        rate: f64,
        duration: Nanos,
    },
    /// Retries a bound because the sentinel saw a shift.
    Suspect {
        rate: f64,
        shift: Shift,
    },
    /// Above some rate torment itself is too slow: finds what it can make.
    Ceiling,
    /// The limit is known: checks that a rate above it is too much.
    Above {
        rate: f64,
    },
    /// Shares of the curve still to measure.
    Curve(Vec<f64>),
    Done(Box<Verdict>),
}

/// Response time under a calm load.
#[derive(Debug, Clone, Copy)]
struct Baseline {
    mean: Nanos,
    p50: Nanos,
    p99: Nanos,
}

/// Proposes loads, takes results, and ends in an interval with reasons.
#[derive(Debug, Clone)]
pub struct Search {
    config: SearchConfig,
    phase: Phase,
    pending: Option<Proposal>,
    bounds: Bounds,
    capacity_trials: CapacityTrials,
    /// Trials of a target that seemed not to be warm.
    cold: CapacityTrials,
    loss: LossOrigin,
    /// How requests lost at any rate fail.
    failure: Option<Failure>,
    /// Time under load when the warm-up ended.
    warm: Nanos,
    /// Goodput of the last closed-loop warm-up, in requests per second, and whether the one before reached as much.
    warm_goodput: Option<f64>,
    is_still_warm: bool,
    /// Threads of the target that compiled during the last load.
    compiling_threads: f64,
    /// Whether it refuses excess load: a closed loop would only be refused faster.
    refuses: bool,
    /// All warm-ups together.
    warm_up_result: WarmUpResult,
    /// Time under load since the first warm-up, without later warm-ups.
    measured: Nanos,
    /// After half of its time so little was known that it gets all of it.
    coarse: bool,
    /// Consecutive short trials in which the target froze.
    frozen_trials: u32,
    /// The longest freeze in any trial.
    longest_freeze: Nanos,
    /// The bounds that expired last: only a suggestion, should the search end before there are others.
    expired_bounds: Bounds,
    /// The capacity as shown by overloads.
    estimate: Option<f64>,
    /// Its standard error, as a share.
    estimate_doubt: f64,
    /// The most it surely did before the first trial, in requests per second: when the climb ended, in any window of its last warm-up, in
    /// the probe; or at the end, above what was found.
    shown_rate: f64,
    /// A rate below the limit at which a step of the curve was bad.
    fallen_rate: Option<f64>,
    /// How often either was given a trial, and whether one is under way.
    checks_done: u32,
    is_checking: bool,
    /// How often such a contradiction was given a whole trial, and whether one is under way.
    looked_above: bool,
    /// The highest rate passed in the climb.
    climbed_rate: Option<f64>,
    void_trials: VoidTrials,
    /// Rate of the reference load.
    calm_rate: f64,
    reference: Option<Reference>,
    baseline: Option<Baseline>,
    curve_points: Vec<(f64, CurvePoint)>,
    curve: Vec<CurvePoint>,
    ended: SearchEnd,
    trials: u32,
    spent: Nanos,
    since_sentinel: u32,
    changes: u32,
    slowdowns: u32,
    rewarms: u32,
    /// Consecutive bad warm-up windows.
    stumbles: u32,
    rounds: u32,
}

impl Search {
    /// A search that has not begun.
    pub fn new(config: SearchConfig) -> Self {
        let rate = config.from.0.min(config.max.0);
        Self {
            config,
            phase: Phase::Climb { rate, down: false },
            pending: None,
            bounds: Bounds::default(),
            capacity_trials: CapacityTrials::default(),
            cold: CapacityTrials::default(),
            loss: LossOrigin::Unseen,
            failure: None,
            warm: Nanos::ZERO,
            warm_goodput: None,
            is_still_warm: false,
            compiling_threads: 0.0,
            refuses: false,
            warm_up_result: WarmUpResult { loaded: Nanos::ZERO, answered: 0, times: 1.0 },
            measured: Nanos::ZERO,
            coarse: false,
            frozen_trials: 0,
            longest_freeze: Nanos::ZERO,
            expired_bounds: Bounds::default(),
            estimate: None,
            estimate_doubt: 0.0,
            shown_rate: 0.0,
            fallen_rate: None,
            checks_done: 0,
            is_checking: false,
            looked_above: false,
            climbed_rate: None,
            void_trials: VoidTrials::default(),
            calm_rate: rate,
            reference: None,
            baseline: None,
            curve_points: Vec::new(),
            curve: Vec::new(),
            ended: SearchEnd::Converged,
            trials: 0,
            spent: Nanos::ZERO,
            since_sentinel: 0,
            changes: 0,
            slowdowns: 0,
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
    pub fn next(&mut self) -> SearchStep {
        if let Phase::Done(verdict) = &self.phase {
            return SearchStep::Done(verdict.clone());
        }
        if let Some(proposal) = self.pending {
            return SearchStep::Try(proposal);
        }
        let Some(mut proposal) = self.propose() else {
            let verdict = self.finish(self.ended.clone());
            return SearchStep::Done(Box::new(verdict));
        };
        proposal.duration = proposal.duration.max(self.config.least);
        let late = self.config.budget.is_some_and(|b| self.spent + proposal.duration > b);
        if late || self.trials >= MAX_TRIALS {
            return SearchStep::Done(Box::new(self.end_by_budget()));
        }
        self.pending = Some(proposal);
        SearchStep::Try(proposal)
    }

    /// Takes the result of the trial that [`Search::next`] proposed, and judges it.
    pub fn add_result(&mut self, result: &TrialResult) -> Judgement {
        let judgement = self.judge(result);
        let result = &self.settled(result);
        let Some(proposal) = self.pending.take() else { return judgement };
        self.trials += 1;
        self.spent += result.loaded;
        if proposal.purpose == Purpose::WarmUp {
            self.warm_up_result.loaded += result.loaded;
            self.warm_up_result.answered += result.total.outcomes.answered();
        } else if self.warm > Nanos::ZERO {
            self.measured += result.loaded;
        }
        let rate = proposal.rate.0;
        if let Recovery::Not(_) = result.recovery {
            self.add_to_bounds(rate, result, &judgement);
            self.finish(SearchEnd::NotRecovered);
            return judgement;
        }
        if !judgement.invalid.is_empty() {
            self.take_void(proposal.purpose, rate, result, &judgement);
            return judgement;
        }
        self.void_trials.add_valid();
        if judgement.good {
            let excused =
                Share::of(result.total.outcomes.bad(), result.total.due).0 > self.config.objective.loss.0;
            self.loss.add_trial(rate, result, excused);
            let worst = result.total.failures.iter().max_by_key(|(_, count)| **count);
            self.failure = worst.map(|(failure, _)| failure.clone()).or(self.failure.take());
        }
        if self.trials == 1 && result.total.outcomes.answered() == 0 {
            self.finish(SearchEnd::TargetFails);
            return judgement;
        }
        let users = proposal.users;
        let longest = freezes(&result.total, rate, users).map(Silence::length).max().unwrap_or(Nanos::ZERO);
        self.longest_freeze = self.longest_freeze.max(longest);
        if self.is_frozen(proposal, longest, &judgement) {
            return judgement;
        }
        match self.phase.clone() {
            Phase::Climb { down, .. } => self.take_climb(rate, down, result, &judgement),
            Phase::Warm { warm, closed } => self.take_warm_up(warm, closed, result, &judgement),
            Phase::Calm { frozen } => self.take_calm(frozen, result),
            Phase::Probe { factor, .. } => self.take_probe(rate, factor, result, &judgement),
            Phase::Look { .. } => self.take_background_look(rate, result),
            Phase::Narrow if proposal.purpose == Purpose::Sentinel => self.take_sentinel(result),
            Phase::Narrow => self.take_measurement(rate, result, &judgement),
            Phase::Suspect { shift, .. } => self.take_suspect(rate, shift, result, &judgement),
            Phase::Ceiling => self.take_ceiling(proposal, result, &judgement),
            Phase::Above { .. } => self.take_above(rate, result, &judgement),
            Phase::Curve(shares) => self.take_curve(rate, &shares, result, &judgement),
            Phase::Done(_) => {}
        }
        judgement
    }

    /// Adds time under load spent beside the trials, to see whether the target has recovered.
    pub fn add_load_time(&mut self, time: Nanos) {
        self.spent += time;
        if self.warm > Nanos::ZERO {
            self.measured += time;
        }
    }

    /// Sets how many of the target's threads were compiling during the load whose result comes next.
    pub fn set_compiling_threads(&mut self, threads: f64) {
        self.compiling_threads = threads;
    }

    /// Judges a trial by what is known of the target, without taking it.
    pub fn judge(&self, result: &TrialResult) -> Judgement {
        let mut judgement =
            judge(&self.settled(result), &self.config.objective, self.config.width, self.calm_mean());
        judgement.good |= self.estimates() && self.loss.excuses(result, &judgement);
        judgement
    }

    /// The result without what was outstanding before the first users had finished their pauses.
    fn settled(&self, result: &TrialResult) -> TrialResult {
        let total = settled_slice(&result.total, self.config.pauses).into_owned();
        TrialResult { total, ..result.clone() }
    }

    /// Whether no later second can save the running trial, from its slice `so_far`.
    pub fn hopeless(&self, so_far: &Slice) -> bool {
        let SearchConfig { objective, width, pauses, .. } = &self.config;
        let (calm, so_far) = (self.calm_mean(), settled_slice(so_far, *pauses));
        self.pending.is_some_and(|p| {
            hopeless(&so_far, p.rate, p.duration, objective, *width, calm, self.given_up(&p))
                || p.users.is_none() && is_void(&so_far, p.rate.expected_count(p.duration), objective)
        })
    }

    /// Whether the target moves, as far as is known: consecutive ten-second spans differ.
    pub fn moves(&self) -> bool {
        self.capacity_trials.is_moving
    }

    /// Ends the search with what it has: there is no time for the trial it proposes.
    pub fn end_by_budget(&mut self) -> Verdict {
        let ended = match self.phase {
            Phase::Curve(_) => self.ended.clone(),
            _ => self.generator_end().unwrap_or(SearchEnd::BudgetSpent),
        };
        self.finish(ended)
    }

    /// Ends the search with what it has.
    pub fn interrupt(&mut self, why: SearchEnd) -> Verdict {
        self.finish(why)
    }

    /// Time under load so far.
    pub fn spent(&self) -> Nanos {
        self.spent
    }

    /// How long the next trial may drain: three times the baseline p99 or the longest freeze so far, whichever is longer, from 100 ms to
    /// the timeout; without a baseline, the timeout.
    pub fn drain(&self) -> Nanos {
        let timeout = self.config.timeout;
        let slowest = |calm: Baseline| calm.p99.max(self.longest_freeze);
        self.baseline.map_or(timeout, |calm| (slowest(calm) * DRAIN_FACTOR).max(MIN_DRAIN).min(timeout))
    }

    fn calm_mean(&self) -> Option<Nanos> {
        self.baseline.map(|calm| calm.mean)
    }

    /// When this trial is given up for a growing queue.
    fn given_up(&self, proposal: &Proposal) -> GiveUpRule {
        match self.is_full(proposal) {
            true if self.is_checking || self.capacity_trials.disagrees(self.config.width.0) => {
                GiveUpRule::Never
            }
            true if self.capacity_trials.overloads() >= MAX_SHORTENED => GiveUpRule::ForLoss,
            true => GiveUpRule::IfSteady,
            false => GiveUpRule::Surely,
        }
    }

    /// Whether the limits are estimated from this trial.
    fn is_full(&self, proposal: &Proposal) -> bool {
        self.estimates() && matches!(self.phase, Phase::Narrow) && proposal.duration >= self.trial_duration()
    }

    /// Whether the limits are quantiles of the capacity, which all trials estimate together. "No trial may be bad" is none: it is an
    /// extreme value, and has to be shown.
    fn estimates(&self) -> bool {
        self.config.goals.iter().all(|goal| goal.exceed.0 > 0.0)
    }
}
