//! The limit as a distribution: what the trials say of it, which rate tells most next, and when it is known.

use crate::bounds::rounded;
use crate::capacity::Capacity;
use crate::moving::{Kinds, TrialParts};
use crate::narrow::{NextTrial, RateRange};
use crate::observation::Observation;
use crate::slump::odds_of_slump;
use crate::trial::FullTrial;
use plan::Goal;
use record::{Limit, LimitUnit};
use stats::{Estimate, Slope};
use units::Share;

/// Trials that anchor the answer lie this many widths below it,
const ANCHOR_WIDTHS_BELOW: f64 = 0.43;
/// those that measure the capacity this many above the middle: far enough for the divergence rule to see it,
const WIDTHS_ABOVE: f64 = 0.55;
/// and this many spreads, so that most of them measure it.
const SPREADS_ABOVE: f64 = 0.8;
/// A target that overload does not measure is tried this many widths beside where it fails.
const WIDTHS_BESIDE: f64 = 0.3;
/// Clean trials needed at the published rate, and bad ones above it.
const MIN_GOOD: usize = 3;
const MIN_BAD: usize = 2;
/// If a queue does not grow linearly, two trials may agree by chance.
const MIN_BAD_NONLINEAR: usize = 3;
/// A target that moves is known by what it could do, not by what it held.
const MIN_GOOD_MOVING: usize = 1;
/// This many trials agree surely if their spread is at most this many widths.
const MAX_AGREEING_SPREAD: f64 = 0.5;
/// A spread of this many widths means that the target moves: a few of its trials may agree by chance.
const MAX_STEADY_SPREAD: f64 = 0.2;
const MIN_BAD_MOVING: usize = 6;
/// If two halves of the trials differ by this many standard errors, the target has changed.
const MIN_CHANGE_ERRORS: f64 = 4.0;
/// This many measurements that surely rise mean a target that gets faster; if they fall, slower.
const MIN_TREND_TRIALS: usize = 4;
const TREND_CONFIDENCE: f64 = 0.999;
/// Fewer steps between measurements say nothing of noise.
const MIN_STEPS: usize = 2;
/// This many bad full trials and no good one mean a target that holds less than short trials suggest.
const MIN_BAD_WITHOUT_GOOD: usize = 2;
/// The largest step down.
const MAX_STEP_DOWN: f64 = 0.5;
/// A target moves if its capacity differs between trials by more than this, and so many times what chance explains,
const MIN_MOVING_SPREAD: f64 = 0.03;
const CHANCE_FACTOR: f64 = 2.0;
/// with this probability.
const MIN_PROBABILITY: f64 = 0.7;
/// It is tried at this multiple of the most it did; if it holds that repeatedly, the step doubles each time, up to this often.
const TOP_FACTOR: f64 = 1.03;
const MAX_DOUBLINGS: usize = 3;
/// Two looks differ by chance by this many standard deviations of a step, or by this many if the target moves.
const NOISE_DEVIATIONS: f64 = 2.0;
const NOISE_DEVIATIONS_MOVING: f64 = 4.0;
/// A target sinks if it does less than this share of what it held, throughout this many overloads with a long queue.
const MAX_SUNK_SHARE: f64 = 0.8;
const MIN_OVERLOADS: usize = 2;
/// It sinks a little if its overloads clearly did less than it held, in the median this share, and sinking is likelier than moving by
/// this log-odds.
const MAX_SUNK_SHARE_LITTLE: f64 = 0.97;
const MIN_LOG_ODDS: f64 = 3.0;
/// It does less as its queue grows if that is likelier by this, so that its overloads agree by chance;
const MIN_SLUMP_LOG_ODDS: f64 = 2.0;
/// and that is open from this on.
const MIN_OPEN_LOG_ODDS: f64 = 1.0;
/// If it moves and may sink too, a trial measured it only if it did at least this share of its rate: the queue was short.
const MIN_KEPT_SHARE: f64 = 0.95;
/// If that is this likely, the next rate is at most what this share of its trials hold: a deep queue hides what it can do.
const MIN_SINKING_PROBABILITY: f64 = 0.2;
const SHALLOW_SHARE: f64 = 0.25;
/// Fewer trials are not split into halves.
const MIN_TRIALS_TO_SPLIT: usize = 6;

/// All full trials since the last warm-up, and the capacity they show.
#[derive(Debug, Clone, Default)]
pub struct CapacityTrials {
    trials: Vec<FullTrial>,
    capacity: Option<Capacity>,
    /// The target moves: consecutive ten-second spans differ.
    pub is_moving: bool,
    /// A few seconds showed clearly more than any whole trial.
    contradicted: bool,
    /// It slows down under a queue: overload does not measure what it can hold.
    is_sinking: bool,
    /// The probability that it both sinks and moves.
    sinking_probability: f64,
    /// What it did for a second or two before the first trial, in requests per second.
    shown_rate: f64,
    kinds: Kinds,
}

impl CapacityTrials {
    /// Adds a full trial; `shown` is what the target did for a second or two.
    pub fn push(&mut self, trial: FullTrial, shown_rate: f64) {
        self.trials.push(trial);
        self.shown_rate = shown_rate;
        self.refit();
    }

    fn refit(&mut self) {
        self.is_sinking = self.sinks_now();
        let observations: Vec<Observation> =
            self.trials.iter().map(|trial| self.observation(trial)).collect();
        let good = self.trials.iter().any(FullTrial::is_good);
        let fit = if self.is_sinking { Capacity::of_sinking } else { Capacity::of };
        self.capacity = fit(&observations).filter(|_| good);
        let slumps = self.odds_of_slump() > MIN_SLUMP_LOG_ODDS;
        let differs = |capacity: &Capacity| self.contradicted || slumps || self.differs(capacity);
        self.is_moving = !self.is_sinking && self.capacity.as_ref().is_some_and(differs);
        if self.is_moving {
            let (moving, shallow) = (self.moving(), self.shallow());
            self.sinking_probability = self.likely_both(&shallow, &moving);
            let known = self.fit_moving(&moving).or(self.capacity.take());
            let other = (self.sinking_probability > 0.0).then(|| self.fit_moving(&shallow)).flatten();
            self.capacity = known.map(|known| known.mixed_with(other.as_ref(), self.sinking_probability));
        }
    }

    fn fit_moving(&mut self, observations: &[Observation]) -> Option<Capacity> {
        let of_each = self.trials.iter().zip(observations);
        let throughputs = of_each.map(|(trial, said)| trial.throughputs(*said)).collect();
        // An overload may be given more time to drain; what is held must be answered within the usual.
        let drain = self.trials.iter().map(|trial| trial.drain).fold(f64::INFINITY, f64::min);
        Capacity::of_moving(observations, &TrialParts { throughputs, drain }, &mut self.kinds)
    }

    /// The observations, for a target that moves.
    fn moving(&self) -> Vec<Observation> {
        let most = self.highest_held();
        self.trials.iter().map(|trial| trial.against_moving(most)).collect()
    }

    /// The same if it also sinks: with a long queue it did less than it could.
    fn shallow(&self) -> Vec<Observation> {
        let within = |(trial, said): (&FullTrial, Observation)| match said {
            Observation::Measured(did) if did < trial.rate * MIN_KEPT_SHARE => {
                Observation::Between(did, trial.rate)
            }
            said => said,
        };
        self.trials.iter().zip(self.moving()).map(within).collect()
    }

    /// The probability that a moving target also sinks. If for two seconds of any overload it did what it can do otherwise, only a slump
    /// speaks for it.
    fn likely_both(&self, shallow: &[Observation], moving: &[Observation]) -> f64 {
        let attainable = self.highest_held().max(self.shown_rate) * MAX_SUNK_SHARE_LITTLE;
        // Without a deep overload there is nothing to weigh.
        let changed = shallow.iter().zip(moving).filter(|(shallow, moving)| shallow != moving).count();
        if changed < MIN_OVERLOADS {
            return 0.0;
        }
        let slump = self.odds_of_slump();
        let odds = match self.crowded_rates().iter().any(|did| *did >= attainable) {
            true if slump == 0.0 => return 0.0,
            true => slump - MIN_LOG_ODDS,
            false => slump + Capacity::odds_of_sinking(shallow, moving),
        };
        1.0 / (1.0 + (-odds).exp())
    }

    /// The log-odds that it does less as its queue grows, by the whole trials that overloaded it.
    fn odds_of_slump(&self) -> f64 {
        let of_each = self.trials.iter().zip(self.moving());
        let overloads: Vec<_> = of_each.filter_map(|(trial, said)| trial.throughputs(said)).collect();
        odds_of_slump(&overloads)
    }

    /// What a trial says in view of the others.
    fn observation(&self, trial: &FullTrial) -> Observation {
        if self.is_sinking { self.observation_if_sinking(trial) } else { trial.against(self.highest_held()) }
    }

    /// The same if the target sinks.
    fn observation_if_sinking(&self, trial: &FullTrial) -> Observation {
        if trial.is_good() {
            trial.observation
        } else {
            Observation::Between(self.lowest_crowded(), trial.rate)
        }
    }

    /// A sinking target's median throughput under a long queue. None if that is no less than it holds: then it only does more over few
    /// connections.
    pub fn overloaded(&self) -> Option<f64> {
        let mut crowded = self.crowded_rates();
        crowded.sort_by(f64::total_cmp);
        crowded
            .get(crowded.len() / 2)
            .filter(|did| self.is_sinking && **did < self.highest_held())
            .map(|did| rounded(*did))
    }

    /// Its throughput in each overload with a long queue.
    fn crowded_rates(&self) -> Vec<f64> {
        self.bad().filter_map(|trial| trial.crowded_rate).collect()
    }

    /// The least of these: it holds that whatever the queue.
    fn lowest_crowded(&self) -> f64 {
        self.crowded_rates().into_iter().fold(self.highest_held(), f64::min)
    }

    /// Whether it slows down under a long queue, as does a server for which each connection is work: at no moment of any overload did it
    /// do what it can do otherwise. A target that moves does so at times, and one that has become slower did so earlier.
    fn sinks_now(&self) -> bool {
        let threshold = self.highest_held().max(self.shown_rate) * MAX_SUNK_SHARE;
        let crowded = self.crowded_rates();
        crowded.len() >= MIN_OVERLOADS
            && (crowded.iter().all(|did| *did < threshold)
                || self.odds_of_sinking().is_some_and(|odds| odds > MIN_LOG_ODDS))
    }

    /// The log-odds of a target that sinks a little against one that moves: that one, too, does less in some trials than it held in
    /// others, but then the rates it held and did not hold are mixed. None if overloads did not clearly do less.
    fn odds_of_sinking(&self) -> Option<f64> {
        let (most, moving) = (self.highest_held(), self.moving());
        let measured_rates: Vec<f64> = moving.iter().filter_map(Observation::measured).collect();
        let mean = measured_rates.iter().sum::<f64>() / measured_rates.len() as f64;
        if measured_rates.len() < MIN_OVERLOADS || mean > most * MAX_SUNK_SHARE_LITTLE {
            return None;
        }
        let sunk: Vec<Observation> =
            self.trials.iter().map(|trial| self.observation_if_sinking(trial)).collect();
        Some(Capacity::odds_of_sinking(&sunk, &moving))
    }

    /// Whether measurements differ by more than noise and chance explain: with independent arrivals and answers, a count has a standard
    /// deviation of √(2n).
    fn differs(&self, capacity: &Capacity) -> bool {
        let measuring = self.trials.iter().filter(|trial| trial.observation.measured().is_some());
        let mut due: Vec<u64> = measuring.map(|trial| trial.due).collect();
        due.sort_unstable();
        let chance = due.get(due.len() / 2).map_or(0.0, |due| (2.0 / *due as f64).sqrt());
        capacity.spreads_beyond(MIN_MOVING_SPREAD.max(CHANCE_FACTOR * chance)) > MIN_PROBABILITY
    }

    /// It clearly did more in a few seconds than in any whole trial, however often that was retried: it moves.
    pub fn mark_moving(&mut self) {
        self.contradicted = true;
        self.refit();
    }

    /// Whether it seems steady: in each overload the queue grew linearly.
    pub fn is_straight(&self) -> bool {
        self.is_known() && !self.is_moving && self.bad().all(|trial| trial.is_linear)
    }

    /// And all overloads agree.
    pub fn is_steady(&self, width: f64) -> bool {
        self.is_straight() && self.spreads_within(MAX_STEADY_SPREAD * width)
    }

    /// And enough agree that it is not by chance.
    pub fn is_surely_steady(&self, width: f64) -> bool {
        self.is_straight()
            && self.overloads() >= MIN_BAD_NONLINEAR
            && self.spreads_within(MAX_AGREEING_SPREAD * width)
    }

    fn spreads_within(&self, share: f64) -> bool {
        self.capacity.as_ref().is_some_and(|capacity| capacity.spread() <= share)
    }

    /// Trials that overloaded the target.
    pub fn overloads(&self) -> usize {
        self.bad().count()
    }

    fn bad(&self) -> impl Iterator<Item = &FullTrial> {
        self.trials.iter().filter(|trial| !trial.is_good())
    }

    /// Whether a few seconds say nothing of it: it moves, or one trial held what a few seconds of another did not.
    pub fn disagrees(&self, width: f64) -> bool {
        let most = self.highest_held();
        let stopped =
            self.trials.iter().filter_map(|trial| trial.stopped(most)).fold(f64::INFINITY, f64::min);
        self.is_moving || most > stopped * (1.0 + width)
    }

    /// The highest rate that any trial has shown; 0 if none did.
    pub fn highest_shown(&self) -> f64 {
        self.measured().into_iter().map(f64::exp).fold(self.highest_held(), f64::max)
    }

    /// Revokes excuses: a trial that lost more than `allowed` was bad.
    pub fn revoke_excused(&mut self, allowed: Share) {
        let lost = |trial: &FullTrial| Share::of(trial.bad, trial.due).0 > allowed.0;
        for trial in self.trials.iter_mut().filter(|trial| trial.is_good() && lost(trial)) {
            trial.observation = Observation::Below(trial.rate);
        }
        self.refit();
    }

    /// Whether the capacity is bounded from both sides.
    pub fn is_known(&self) -> bool {
        self.capacity.is_some()
    }

    /// The next rate if all full trials were bad: below what any of them kept up, by a growing step. Short trials may have passed above
    /// it, for not every two seconds tip a target over. A measurement of a sinking target says nothing.
    pub fn next_lower_rate(&self, width: f64) -> Option<f64> {
        let further = self
            .trials
            .len()
            .checked_sub(MIN_BAD_WITHOUT_GOOD)
            .filter(|_| !self.trials.iter().any(FullTrial::is_good))?;
        let kept_up = |trial: &FullTrial| if self.is_sinking { trial.rate } else { trial.observation.rate() };
        let least = self.trials.iter().map(kept_up).fold(f64::INFINITY, f64::min);
        let step = ANCHOR_WIDTHS_BELOW * width * 2f64.powi(further as i32);
        Some(rounded(least * (1.0 - step.min(MAX_STEP_DOWN))))
    }

    /// The highest rate that a trial held; 0 if none did.
    pub fn highest_held(&self) -> f64 {
        self.trials.iter().filter(|trial| trial.is_good()).map(|trial| trial.rate).fold(0.0, f64::max)
    }

    /// What a target that surely gets faster did in its last measuring trial: it was not warm.
    pub fn speedup(&self, width: f64) -> Option<f64> {
        self.trend().filter(|(_, by)| *by > 2.0 * width)?;
        self.measured().last().map(|last| last.exp())
    }

    /// What a target that surely gets slower did at first and at the end, in requests per second, by a line through all measurements; and
    /// after how many requests. A sinking target does less as more waits, which is different.
    pub fn slowdown(&self, width: f64) -> Option<(f64, f64, u64)> {
        let (middle, by) = self.trend().filter(|(_, by)| *by < -2.0 * width && !self.is_sinking)?;
        let due = self.trials.iter().map(|trial| trial.due).sum();
        Some(((middle - by / 2.0).exp(), (middle + by / 2.0).exp(), due))
    }

    /// The mean of the measurements, and how much it surely rises or falls from first to last; as logarithms.
    fn trend(&self) -> Option<(f64, f64)> {
        let measured = self.measured();
        let line = Slope::fit(&measured, 1.0).filter(|_| measured.len() >= MIN_TREND_TRIALS)?;
        let steep = Slope { per_unit: line.per_unit.abs(), ..line };
        let count = measured.len() as f64;
        let trend = (measured.iter().sum::<f64>() / count, line.per_unit * (count - 1.0));
        Some(trend).filter(|_| steep.lower_bound(TREND_CONFIDENCE) > 0.0)
    }

    /// Drops the earlier half of the trials if the later half is of a changed target; returns whether it did. A target that moves always
    /// seems to have changed.
    pub fn drop_outdated(&mut self, width: f64) -> bool {
        let half = self.trials.len() / 2;
        if self.trials.len() < MIN_TRIALS_TO_SPLIT || self.is_moving {
            return false;
        }
        let middle = |trials: &[FullTrial]| {
            let observations: Vec<Observation> = trials.iter().map(|trial| self.observation(trial)).collect();
            let known = Capacity::of(&observations)?.held_by(0.5);
            Some((known.value.ln(), (known.high / known.low).ln() / 4.0))
        };
        let halves = middle(&self.trials[..half]).zip(middle(&self.trials[half..]));
        let changed = halves.is_some_and(|(before, after)| {
            let by = (after.0 - before.0).abs();
            by > MIN_CHANGE_ERRORS * before.1.hypot(after.1) && by > 2.0 * width
        });
        if changed {
            self.trials.drain(..half);
            self.refit();
        }
        changed
    }

    /// The next rate; nothing once all goals are known to the width.
    pub fn next_trial(&self, goals: &[Goal], width: f64, range: RateRange) -> NextTrial {
        let Some(capacity) = &self.capacity else { return NextTrial::Nothing };
        let known: Vec<Estimate> = goals.iter().map(|goal| capacity.held_by(1.0 - goal.exceed.0)).collect();
        let least = known.iter().min_by(|a, b| a.value.total_cmp(&b.value)).expect("there is a goal");
        let most = known.iter().max_by(|a, b| a.value.total_cmp(&b.value)).expect("there is a goal");
        let good = self.good_near(least, width).count();
        let bad = self.overloads();
        let min_good = if self.is_moving { MIN_GOOD_MOVING } else { MIN_GOOD };
        let min_bad = match capacity.spread() <= MAX_STEADY_SPREAD * width {
            true if self.is_steady(width) => MIN_BAD,
            true if !self.is_moving => MIN_BAD_NONLINEAR,
            _ => MIN_BAD_MOVING,
        };
        if known.iter().all(|known| known.width() <= width) && good >= min_good && bad >= min_bad {
            return NextTrial::Nothing;
        }
        let clamp = |rate: f64| rounded(rate).clamp(range.floor, range.top);
        let needs_anchor = (good < min_good || self.is_sinking) && good <= bad;
        if needs_anchor {
            NextTrial::Final(clamp(least.value * (1.0 - ANCHOR_WIDTHS_BELOW * width)))
        } else if let Some((held, lost)) = self.bracket().filter(|_| !self.is_measured() || self.may_sink()) {
            let middle = (held * lost).sqrt();
            let side = if good <= bad { 1.0 - WIDTHS_BESIDE * width } else { 1.0 + WIDTHS_BESIDE * width };
            NextTrial::Final(clamp(if lost > held * (1.0 + width / 2.0) { middle } else { middle * side }))
        } else if self.is_moving {
            // Above its capacity every trial measures; higher rates only lengthen the queue.
            let top = self.highest_shown().max(self.shown_rate)
                * TOP_FACTOR.powi(1 << self.climbing().saturating_sub(1).min(MAX_DOUBLINGS));
            let shallow = if self.sinking_probability > MIN_SINKING_PROBABILITY {
                capacity.held_by(SHALLOW_SHARE).value
            } else {
                top
            };
            NextTrial::Final(clamp(top.min(shallow)))
        } else {
            let above = (WIDTHS_ABOVE * width).max(SPREADS_ABOVE * capacity.spread());
            NextTrial::Final(clamp(most.value * (1.0 + above)))
        }
    }

    /// Nothing is published as held that was not held once: what all trials of a target that moves suggest, if none held it.
    pub fn unheld(&self, goals: &[Goal], width: f64, range: RateRange) -> Option<f64> {
        let capacity =
            self.capacity.as_ref().filter(|_| self.is_moving && self.overloads() >= MIN_BAD_MOVING)?;
        let suggested =
            goals.iter().map(|goal| capacity.held_by(1.0 - goal.exceed.0).value).min_by(f64::total_cmp)?;
        let rate = rounded(suggested).clamp(range.floor, range.top);
        (self.highest_held() < rate * (1.0 - width / 2.0)).then_some(rate)
    }

    /// How many of the last trials each held more than the one before.
    fn climbing(&self) -> usize {
        let climbs = |two: &&[FullTrial]| two.iter().all(FullTrial::is_good) && two[0].rate < two[1].rate;
        self.trials.windows(2).rev().take_while(climbs).count()
    }

    /// The highest rate held, and the lowest above all held that was not.
    fn bracket(&self) -> Option<(f64, f64)> {
        let least = self.bad().map(|trial| trial.rate).reduce(f64::min)?;
        let most = self.highest_held();
        (least > most).then_some((most, least))
    }

    fn is_measured(&self) -> bool {
        self.trials.iter().any(|trial| self.observation(trial).measured().is_some())
    }

    /// Whether it may sink a little: what it holds tells, overload does not.
    pub fn may_sink(&self) -> bool {
        self.odds_of_slump() > MIN_OPEN_LOG_ODDS
            || self.is_moving
                && self.bracket().is_some()
                && self.odds_of_sinking().is_some_and(|odds| odds > -MIN_LOG_ODDS)
    }

    /// How much two looks may differ by chance, as a logarithm: from the steps between measurements, which a steady speed-up does not
    /// inflate.
    pub fn noise(&self) -> f64 {
        let measured = self.measured();
        let steps: Vec<f64> = measured.windows(2).map(|two| two[1] - two[0]).collect();
        if steps.len() < MIN_STEPS {
            return 0.0;
        }
        let count = steps.len() as f64;
        let mean = steps.iter().sum::<f64>() / count;
        let deviations = if self.is_moving { NOISE_DEVIATIONS_MOVING } else { NOISE_DEVIATIONS };
        deviations * (steps.iter().map(|step| (step - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
    }

    /// The logarithms of what overloaded trials measured.
    fn measured(&self) -> Vec<f64> {
        self.trials.iter().filter_map(|trial| trial.observation.measured()).map(f64::ln).collect()
    }

    /// How well the goals are known: the widest interval.
    pub fn width(&self, goals: &[Goal]) -> Option<f64> {
        let capacity = self.capacity.as_ref()?;
        goals.iter().map(|goal| capacity.held_by(1.0 - goal.exceed.0).width()).max_by(f64::total_cmp)
    }

    /// Clean trials that support this rate.
    fn good_near(&self, known: &Estimate, width: f64) -> impl Iterator<Item = &FullTrial> {
        let least = known.low * (1.0 - width);
        self.trials.iter().filter(move |trial| trial.is_good() && trial.rate >= least)
    }

    /// What to publish for `goal`.
    pub fn limit(&self, goal: &Goal, top: f64) -> Option<Limit> {
        let known = self.capacity.as_ref()?.held_by(1.0 - goal.exceed.0);
        // Nothing is published as held that was not held once.
        let held = rounded(known.value.min(self.highest_held()));
        let least = if self.is_sinking { known.low.max(self.lowest_crowded()) } else { known.low };
        let lower = rounded(least).min(held);
        let near = || self.good_near(&known, goal.width.0);
        Some(Limit {
            goal: goal.name.clone(),
            held: Some(held),
            lower: Some(lower),
            upper: Some(rounded(known.high)).filter(|_| known.low < top),
            unit: LimitUnit::Requests,
            regular: known.width() <= goal.width.0,
            good_trials: near().count() as u32,
            bad_trials: self.overloads() as u32,
            lower_due: near().map(|trial| trial.due).sum(),
            lower_bad: near().map(|trial| trial.bad).sum(),
            throughput: None,
        })
    }
}

#[cfg(test)]
mod tests;
