//! The limit as a distribution: what the trials say of it, which rate tells most next, and when it is known.

use crate::bounds::rounded;
use crate::capacity::{Capacity, Observation, QuantileEstimate};
use crate::narrow::{NextTrial, RateRange};
use crate::trial::FullTrial;
use plan::Goal;
use record::{Limit, LimitUnit};
use stats::Slope;
use units::Share;

/// Trials that anchor the answer lie this many widths below it,
const BELOW: f64 = 0.43;
/// those that measure the capacity this many above the middle: far enough for the divergence rule to see it,
const ABOVE: f64 = 0.55;
/// and this many spreads, so that most of them measure it.
const SPREADS_ABOVE: f64 = 0.8;
/// A target that overload does not measure is tried this many widths beside where it fails.
const BESIDE: f64 = 0.3;
/// Clean trials needed at the published rate, and bad ones above it.
const GOOD_LEAST: usize = 3;
const BAD_LEAST: usize = 2;
/// If a queue does not grow linearly, two trials may agree by chance.
const BAD_ALIKE: usize = 3;
/// A target that moves is known by what it could do, not by what it held.
const GOOD_MOVING: usize = 1;
/// This many trials agree surely if their spread is at most this many widths.
const ALIKE: f64 = 0.5;
/// A spread of this many widths means that the target moves: a few of its trials may agree by chance.
const STEADY: f64 = 0.2;
const BAD_MOVING: usize = 6;
/// If two halves of the trials differ by this many standard errors, the target has changed.
const CHANGED: f64 = 4.0;
/// This many measurements that surely rise mean a target that gets faster; if they fall, slower.
const RISING_LEAST: usize = 4;
const RISING: f64 = 0.999;
/// Fewer steps between measurements say nothing of noise.
const STEPS_LEAST: usize = 2;
/// This many bad full trials and no good one mean a target that holds less than short trials suggest.
const SINKING: usize = 2;
/// The largest step down.
const DEEPEST: f64 = 0.5;
/// A target moves if its capacity differs between trials by more than this, and so many times what chance explains,
const MOVES: f64 = 0.03;
const CHANCE: f64 = 2.0;
/// with this probability.
const SURELY: f64 = 0.7;
/// It is tried at this multiple of the most it did; if it holds that repeatedly, the step doubles each time, up to this often.
const TOP: f64 = 1.03;
const LONGER_MOST: usize = 3;
/// Two looks differ by chance by this many standard deviations of a step, or by this many if the target moves.
const APART: f64 = 2.0;
const APART_MOVING: f64 = 4.0;
/// A target sinks if it does less than this share of what it held, throughout this many overloads with a long queue.
const SINKS: f64 = 0.8;
const OVERLOADS: usize = 2;
/// It sinks a little if its overloads clearly did less than it held, in the median this share, and sinking is likelier than moving by
/// this log-odds.
const SINKS_A_LITTLE: f64 = 0.97;
const LIKELIER: f64 = 3.0;
/// If it moves and may sink too, a trial measured it only if it did at least this share of its rate: the queue was short.
const NEAR: f64 = 0.95;
/// If that is this likely, the next rate is at most what this share of its trials hold: a deep queue hides what it can do.
const MAYBE: f64 = 0.2;
const SHALLOW: f64 = 0.25;
/// Fewer trials are not split into halves.
const HALVES: usize = 6;

/// All full trials since the last warm-up, and the capacity they show.
#[derive(Debug, Clone, Default)]
pub struct CapacityTrials {
    trials: Vec<FullTrial>,
    capacity: Option<Capacity>,
    /// Consecutive ten-second spans differ.
    moves: bool,
    /// A few seconds showed clearly more than any whole trial.
    contradicted: bool,
    /// It slows down under a queue: overload does not measure what it can hold.
    sinks: bool,
    /// The probability that it both sinks and moves.
    both: f64,
    /// What it did for a second or two before the first trial, in requests per second.
    shown: f64,
}

impl CapacityTrials {
    /// Adds a full trial; `shown` is what the target did for a second or two.
    pub fn push(&mut self, trial: FullTrial, shown: f64) {
        self.trials.push(trial);
        self.shown = shown;
        self.refit();
    }

    fn refit(&mut self) {
        self.sinks = self.sinks_now();
        let said: Vec<Observation> = self.trials.iter().map(|trial| self.observation(trial)).collect();
        let good = self.trials.iter().any(FullTrial::is_good);
        let of = if self.sinks { Capacity::of_sinking } else { Capacity::of };
        self.capacity = of(&said).filter(|_| good);
        let differs = |capacity: &Capacity| self.contradicted || self.differs(capacity);
        self.moves = !self.sinks && self.capacity.as_ref().is_some_and(differs);
        if self.moves {
            let (moving, shallow) = (self.moving(), self.shallow());
            self.both = self.likely_both(&shallow, &moving);
            let known = Capacity::of_moving(&moving).or(self.capacity.take());
            let other = Capacity::of_moving(&shallow).filter(|_| self.both > 0.0);
            self.capacity = known.map(|known| known.mixed_with(other.as_ref(), self.both));
        }
    }

    /// The observations, for a target that moves.
    fn moving(&self) -> Vec<Observation> {
        let most = self.highest_held();
        self.trials.iter().map(|trial| trial.against_moving(most)).collect()
    }

    /// The same if it also sinks: with a long queue it did less than it could.
    fn shallow(&self) -> Vec<Observation> {
        let within = |(trial, said): (&FullTrial, Observation)| match said {
            Observation::Was(did) if did < trial.rate * NEAR => Observation::Between(did, trial.rate),
            said => said,
        };
        self.trials.iter().zip(self.moving()).map(within).collect()
    }

    /// The probability that a moving target also sinks: zero if for two seconds of any overload it did what it can do otherwise.
    fn likely_both(&self, shallow: &[Observation], moving: &[Observation]) -> f64 {
        let can = self.highest_held().max(self.shown) * SINKS_A_LITTLE;
        // Without a deep overload there is nothing to weigh.
        let deep = shallow.iter().zip(moving).filter(|(shallow, moving)| shallow != moving).count();
        if deep < OVERLOADS || self.crowded().iter().any(|did| *did >= can) {
            return 0.0;
        }
        1.0 / (1.0 + (-Capacity::odds_of_sinking(shallow, moving)).exp())
    }

    /// What a trial says in view of the others.
    fn observation(&self, trial: &FullTrial) -> Observation {
        if self.sinks { self.observation_if_sinking(trial) } else { trial.against(self.highest_held()) }
    }

    /// The same if the target sinks.
    fn observation_if_sinking(&self, trial: &FullTrial) -> Observation {
        if trial.is_good() { trial.said } else { Observation::Between(self.sunk(), trial.rate) }
    }

    /// A sinking target's median throughput under a long queue. None if that is no less than it holds: then it only does more over few
    /// connections.
    pub fn overloaded(&self) -> Option<f64> {
        let mut crowded = self.crowded();
        crowded.sort_by(f64::total_cmp);
        crowded
            .get(crowded.len() / 2)
            .filter(|did| self.sinks && **did < self.highest_held())
            .map(|did| rounded(*did))
    }

    /// Its throughput in each overload with a long queue.
    fn crowded(&self) -> Vec<f64> {
        self.bad().filter_map(|trial| trial.crowded).collect()
    }

    /// The least of these: it holds that whatever the queue.
    fn sunk(&self) -> f64 {
        self.crowded().into_iter().fold(self.highest_held(), f64::min)
    }

    /// Whether it slows down under a long queue, as does a server for which each connection is work: at no moment of any overload did it
    /// do what it can do otherwise. A target that moves does so at times, and one that has become slower did so earlier.
    fn sinks_now(&self) -> bool {
        let can = self.highest_held().max(self.shown) * SINKS;
        let crowded = self.crowded();
        crowded.len() >= OVERLOADS
            && (crowded.iter().all(|did| *did < can)
                || self.odds_of_sinking().is_some_and(|odds| odds > LIKELIER))
    }

    /// The log-odds of a target that sinks a little against one that moves: that one, too, does less in some trials than it held in
    /// others, but then the rates it held and did not hold are mixed. None if overloads did not clearly do less.
    fn odds_of_sinking(&self) -> Option<f64> {
        let (most, moving) = (self.highest_held(), self.moving());
        let did: Vec<f64> = moving.iter().filter_map(Observation::measured).collect();
        let mean = did.iter().sum::<f64>() / did.len() as f64;
        if did.len() < OVERLOADS || mean > most * SINKS_A_LITTLE {
            return None;
        }
        let sunk: Vec<Observation> =
            self.trials.iter().map(|trial| self.observation_if_sinking(trial)).collect();
        Some(Capacity::odds_of_sinking(&sunk, &moving))
    }

    /// Whether measurements differ by more than noise and chance explain: with independent arrivals and answers, a count has a standard
    /// deviation of √(2n).
    fn differs(&self, capacity: &Capacity) -> bool {
        let mut due: Vec<u64> =
            self.trials.iter().filter(|trial| trial.measures()).map(|trial| trial.due).collect();
        due.sort_unstable();
        let chance = due.get(due.len() / 2).map_or(0.0, |due| (2.0 / *due as f64).sqrt());
        capacity.spreads_beyond(MOVES.max(CHANCE * chance)) > SURELY
    }

    /// It clearly did more in a few seconds than in any whole trial, however often that was retried: it moves.
    pub fn mark_moving(&mut self) {
        self.contradicted = true;
        self.refit();
    }

    /// Whether it seems steady: in each overload the queue grew linearly.
    pub fn is_straight(&self) -> bool {
        self.is_known() && !self.moves && self.bad().all(|trial| trial.straight)
    }

    /// And all overloads agree.
    pub fn is_steady(&self, width: f64) -> bool {
        self.is_straight() && self.spreads_within(STEADY * width)
    }

    /// And enough agree that it is not by chance.
    pub fn is_surely_steady(&self, width: f64) -> bool {
        self.is_straight() && self.overloads() >= BAD_ALIKE && self.spreads_within(ALIKE * width)
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

    /// Whether the target moves: consecutive ten-second spans differ.
    pub fn moves(&self) -> bool {
        self.moves
    }

    /// Whether a few seconds say nothing of it: it moves, or one trial held what a few seconds of another did not.
    pub fn disagrees(&self, width: f64) -> bool {
        let most = self.highest_held();
        let stopped =
            self.trials.iter().filter_map(|trial| trial.stopped(most)).fold(f64::INFINITY, f64::min);
        self.moves() || most > stopped * (1.0 + width)
    }

    /// The highest rate that any trial has shown; 0 if none did.
    pub fn highest_shown(&self) -> f64 {
        self.measured().into_iter().map(f64::exp).fold(self.highest_held(), f64::max)
    }

    /// Revokes excuses: a trial that lost more than `allowed` was bad.
    pub fn revoke_excused(&mut self, allowed: Share) {
        let lost = |trial: &FullTrial| Share::of(trial.bad, trial.due).0 > allowed.0;
        for trial in self.trials.iter_mut().filter(|trial| trial.is_good() && lost(trial)) {
            trial.said = Observation::Below(trial.rate);
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
        let further =
            self.trials.len().checked_sub(SINKING).filter(|_| !self.trials.iter().any(FullTrial::is_good))?;
        let kept_up = |trial: &FullTrial| if self.sinks { trial.rate } else { trial.said.rate() };
        let least = self.trials.iter().map(kept_up).fold(f64::INFINITY, f64::min);
        let step = BELOW * width * 2f64.powi(further as i32);
        Some(rounded(least * (1.0 - step.min(DEEPEST))))
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
        let (middle, by) = self.trend().filter(|(_, by)| *by < -2.0 * width && !self.sinks)?;
        let due = self.trials.iter().map(|trial| trial.due).sum();
        Some(((middle - by / 2.0).exp(), (middle + by / 2.0).exp(), due))
    }

    /// The mean of the measurements, and how much it surely rises or falls from first to last; as logarithms.
    fn trend(&self) -> Option<(f64, f64)> {
        let measured = self.measured();
        let line = Slope::fit(&measured, 1.0).filter(|_| measured.len() >= RISING_LEAST)?;
        let steep = Slope { per_unit: line.per_unit.abs(), ..line };
        let count = measured.len() as f64;
        let trend = (measured.iter().sum::<f64>() / count, line.per_unit * (count - 1.0));
        Some(trend).filter(|_| steep.lower_bound(RISING) > 0.0)
    }

    /// Drops the earlier half of the trials if the later half is of a changed target; returns whether it did. A target that moves always
    /// seems to have changed.
    pub fn drop_outdated(&mut self, width: f64) -> bool {
        let half = self.trials.len() / 2;
        if self.trials.len() < HALVES || self.moves() {
            return false;
        }
        let middle = |trials: &[FullTrial]| {
            let said: Vec<Observation> = trials.iter().map(|trial| self.observation(trial)).collect();
            let known = Capacity::of(&said)?.held_by(0.5);
            Some((known.middle.ln(), (known.high / known.low).ln() / 4.0))
        };
        let halves = middle(&self.trials[..half]).zip(middle(&self.trials[half..]));
        let changed = halves.is_some_and(|(before, after)| {
            let by = (after.0 - before.0).abs();
            by > CHANGED * before.1.hypot(after.1) && by > 2.0 * width
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
        let known: Vec<QuantileEstimate> =
            goals.iter().map(|goal| capacity.held_by(1.0 - goal.exceed.0)).collect();
        let least = known.iter().min_by(|a, b| a.middle.total_cmp(&b.middle)).expect("there is a goal");
        let most = known.iter().max_by(|a, b| a.middle.total_cmp(&b.middle)).expect("there is a goal");
        let good = self.good_near(least, width).count();
        let bad = self.overloads();
        let good_least = if self.moves() { GOOD_MOVING } else { GOOD_LEAST };
        let bad_least = match capacity.spread() <= STEADY * width {
            true if self.is_steady(width) => BAD_LEAST,
            true if !self.moves() => BAD_ALIKE,
            _ => BAD_MOVING,
        };
        if known.iter().all(|known| known.width() <= width) && good >= good_least && bad >= bad_least {
            return NextTrial::Nothing;
        }
        let clamp = |rate: f64| rounded(rate).clamp(range.floor, range.top);
        let anchors = (good < good_least || self.sinks) && good <= bad;
        if anchors {
            NextTrial::Final(clamp(least.middle * (1.0 - BELOW * width)))
        } else if let Some((held, lost)) = self.bracket().filter(|_| !self.is_measured() || self.may_sink()) {
            let middle = (held * lost).sqrt();
            let side = if good <= bad { 1.0 - BESIDE * width } else { 1.0 + BESIDE * width };
            NextTrial::Final(clamp(if lost > held * (1.0 + width / 2.0) { middle } else { middle * side }))
        } else if self.moves()
            && bad >= BAD_MOVING
            && self.highest_held() < least.middle * (1.0 - width / 2.0)
        {
            // Nothing is published as held that was not held once: what all trials together suggest is tried.
            NextTrial::Final(clamp(least.middle))
        } else if self.moves() {
            // Above its capacity every trial measures; higher rates only lengthen the queue.
            let top = self.highest_shown().max(self.shown)
                * TOP.powi(1 << self.climbing().saturating_sub(1).min(LONGER_MOST));
            let shallow = if self.both > MAYBE { capacity.held_by(SHALLOW).middle } else { top };
            NextTrial::Final(clamp(top.min(shallow)))
        } else {
            let above = (ABOVE * width).max(SPREADS_ABOVE * capacity.spread());
            NextTrial::Final(clamp(most.middle * (1.0 + above)))
        }
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
        self.trials.iter().any(|trial| matches!(self.observation(trial), Observation::Was(_)))
    }

    /// Whether it may sink a little: what it holds tells, overload does not.
    pub fn may_sink(&self) -> bool {
        self.moves && self.bracket().is_some() && self.odds_of_sinking().is_some_and(|odds| odds > -LIKELIER)
    }

    /// How much two looks may differ by chance, as a logarithm: from the steps between measurements, which a steady speed-up does not
    /// inflate.
    pub fn noise(&self) -> f64 {
        let measured = self.measured();
        let steps: Vec<f64> = measured.windows(2).map(|two| two[1] - two[0]).collect();
        if steps.len() < STEPS_LEAST {
            return 0.0;
        }
        let count = steps.len() as f64;
        let mean = steps.iter().sum::<f64>() / count;
        let apart = if self.moves { APART_MOVING } else { APART };
        apart * (steps.iter().map(|step| (step - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
    }

    /// The logarithms of what overloaded trials measured.
    fn measured(&self) -> Vec<f64> {
        let was = |trial: &FullTrial| match trial.said {
            Observation::Was(rate) => Some(rate.ln()),
            _ => None,
        };
        self.trials.iter().filter_map(was).collect()
    }

    /// How well the goals are known: the widest interval.
    pub fn width(&self, goals: &[Goal]) -> Option<f64> {
        let capacity = self.capacity.as_ref()?;
        goals.iter().map(|goal| capacity.held_by(1.0 - goal.exceed.0).width()).max_by(f64::total_cmp)
    }

    /// Clean trials that support this rate.
    fn good_near(&self, known: &QuantileEstimate, width: f64) -> impl Iterator<Item = &FullTrial> {
        let least = known.low * (1.0 - width);
        self.trials.iter().filter(move |trial| trial.is_good() && trial.rate >= least)
    }

    /// What to publish for `goal`.
    pub fn limit(&self, goal: &Goal, top: f64) -> Option<Limit> {
        let known = self.capacity.as_ref()?.held_by(1.0 - goal.exceed.0);
        // Nothing is published as held that was not held once.
        let held = rounded(known.middle.min(self.highest_held()));
        let least = if self.sinks { known.low.max(self.sunk()) } else { known.low };
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
