//! What each phase makes of a trial, and which phase follows.

use super::proposal::{CONTRADICTION_FACTOR, LOOK_ABOVE, MAX_LOOKED_CHANGES};
use super::{Baseline, CALM_SHARE, FASTER, MAX_CHECKS, Phase, Proposal, Search};
use crate::background::LossOrigin;
use crate::bounds::rounded;
use crate::capacity_trials::CapacityTrials;
use crate::classify::TrialAtLevel;
use crate::curve::curve_point;
use crate::drift::{Reference, Shift};
use crate::judge::{
    MAX_STEADY_DOUBT, SustainedRate, longest_freeze, overload_threshold, sustained_rate, would_have_held,
};
use crate::observation::Observation;
use crate::trial::FullTrial;
use crate::warm_up::{WarmUp, WindowMedian};
use record::{Judgement, Purpose, SearchEnd, TrialResult};
use units::Nanos;

/// Change points before a target is called non-stationary.
const MAX_CHANGES: u32 = 8;
/// Slowdowns among them: a target that warms up comes to an end, one that tires does not.
const MAX_SLOWDOWNS: u32 = 2;
/// Warm-ups repeated because the target turned out faster, or the load too high.
const MAX_REWARMS: u32 = 8;
/// Upper bounds withdrawn because they passed when repeated.
const MAX_ROUNDS: u32 = 2;
/// A shift this large (as a logarithm) needs no second opinion.
const PLAIN_SHIFT: f64 = 0.15;
/// Most repeated looks at a target that freezes in them.
const MAX_FROZEN: u32 = 2;
/// So is a short trial that held despite a freeze of more than this share of it,
const MAX_FROZEN_SHARE: f64 = 0.1;
/// and a warm-up window that was frozen for more than this share.
const MAX_FROZEN_WINDOW_SHARE: f64 = 0.5;
/// A median that has fallen by this much (as a logarithm) means the target was not warm.
const MIN_WARMING: f64 = 0.08;
/// First window, in seconds, after a warm-up that ended too early.
const REWARM_SECONDS: u64 = 8;
/// A warm-up keeps this many times the target's in-flight requests at capacity outstanding: never idle, and queueing little.
const BUSY_FACTOR: f64 = 1.25;
/// At most.
const MAX_BUSY_USERS: f64 = 10_000.0;
/// A climb step whose mean response time is this many times the previous one's was answered out of a queue.
const MAX_QUEUE_FACTOR: u64 = 4;
/// Overload factor of the first look at the warm target: its goodput there is the estimate.
const PROBE_START: f64 = 1.1;
/// A queue of a few requests cannot grow linearly: a change of this many is none.
const FEW_REQUESTS: f64 = 3.0;
/// Trials with a smaller loss say little about the capacity.
const MIN_TELLING_LOSS: f64 = 0.03;

impl Search {
    /// Whether a trial proves nothing because the target froze in it: a short one that held, having had time to catch up afterwards, or a
    /// warm-up window that was little else. It is then repeated.
    pub(super) fn is_frozen(
        &mut self,
        proposal: Proposal,
        frozen_time: Nanos,
        judgement: &Judgement,
    ) -> bool {
        let most = match proposal.purpose {
            Purpose::Climb | Purpose::Measure
                if judgement.good && proposal.duration < self.trial_duration() =>
            {
                MAX_FROZEN_SHARE
            }
            Purpose::WarmUp if proposal.users.is_some() => MAX_FROZEN_WINDOW_SHARE,
            _ => f64::INFINITY,
        };
        let part = frozen_time.as_secs_f64() / proposal.duration.as_secs_f64();
        let frozen = self.frozen_trials < MAX_FROZEN && part > most;
        self.frozen_trials = if frozen { self.frozen_trials + 1 } else { 0 };
        frozen
    }

    pub(super) fn add_to_bounds(&mut self, rate: f64, result: &TrialResult, judgement: &Judgement) {
        let seconds = if result.hopeless { result.planned } else { result.loaded };
        let trial = TrialAtLevel {
            seconds: seconds.as_secs_f64(),
            loss: judgement.loss,
            good: judgement.good,
            due: result.total.due,
            bad: result.total.outcomes.bad(),
        };
        self.bounds.add(rate, trial);
        if judgement.good {
            self.curve_points.extend(curve_point(0.0, result).map(|p| (rate, p)));
        }
    }

    pub(super) fn take_climb(&mut self, rate: f64, down: bool, result: &TrialResult, judgement: &Judgement) {
        self.add_to_bounds(rate, result, judgement);
        let range = self.range();
        if judgement.good {
            self.climbed_rate = Some(rate);
            self.note_baseline(result, true);
            if down || rate >= range.top {
                self.warm_up(self.estimate.unwrap_or(rate).max(rate));
            } else {
                self.phase = Phase::Climb { rate: (rate * 2.0).min(range.top), down };
            }
            return;
        }
        let sustained = sustained_rate(result, self.calm_mean());
        self.estimate = sustained.map(|k| k.rate);
        self.refuses = 2 * result.total.outcomes.failed > result.total.outcomes.bad();
        match self.climbed_rate {
            Some(passed) => {
                self.warm_up(self.estimate.unwrap_or(passed).max(passed));
                self.shown_rate = sustained.map_or(0.0, SustainedRate::surely);
            }
            None if rate <= range.floor => {
                self.finish(SearchEnd::BelowMin);
            }
            None => self.phase = Phase::Climb { rate: (rate / 2.0).max(range.floor), down: true },
        }
    }

    /// Begins a warm-up at half of `capacity`.
    pub(super) fn warm_up(&mut self, capacity: f64) {
        self.calm_rate = rounded((capacity * CALM_SHARE).clamp(self.range().floor, self.range().top));
        // The more often the target has changed, the less a short look is believed.
        let first = match self.changes {
            0 => 1,
            changes if self.estimates() => REWARM_SECONDS << (changes - 1).min(3),
            changes => 1 << changes.min(6),
        };
        (self.shown_rate, self.fallen_rate, self.checks_done, self.looked_above) = (0.0, None, 0, false);
        let closed = self.busy_users(capacity);
        // Without quantiles, every trial from the first on must be of a warm target.
        let warm = WarmUp::new(Nanos::from_secs(first), closed.is_none() && self.estimates());
        self.phase = Phase::Warm { warm, closed };
    }

    /// How many outstanding requests keep a target of this capacity busy, by Little's law; none if users pause between them, excess load
    /// is refused, or no capacity is known.
    fn busy_users(&self, capacity: f64) -> Option<u32> {
        let can_loop = self.config.pauses == Nanos::ZERO && self.estimates() && !self.refuses;
        let mean = self.calm_mean().filter(|_| can_loop)?;
        self.estimate
            .map(|_| (capacity * mean.as_secs_f64() * BUSY_FACTOR).ceil().clamp(1.0, MAX_BUSY_USERS) as u32)
    }

    pub(super) fn take_warm_up(
        &mut self,
        mut warm: WarmUp,
        closed: Option<u32>,
        result: &TrialResult,
        judgement: &Judgement,
    ) {
        let median = match closed {
            Some(users) => WindowMedian::of_goodput(&result.total, users, result.loaded),
            None => WindowMedian::of(&result.total.response),
        };
        let median = median.filter(|_| judgement.good || judgement.loss < MIN_TELLING_LOSS);
        let Some(median) = median else {
            self.rewarms += 1;
            self.stumbles += 1;
            if self.rewarms > MAX_REWARMS {
                self.finish(SearchEnd::NonStationary);
            } else if self.stumbles > 1 {
                // Never warm up in overload: requests that die in the queue warm nothing.
                self.estimate = None;
                self.warm_up(self.calm_rate);
            }
            return;
        };
        self.stumbles = 0;
        let first = warm.level().is_none();
        warm.push(result.loaded, median, std::mem::take(&mut self.compiling_threads));
        if let Some(users) = closed {
            // What was in flight at the end may have been answered after it.
            let answered = result.total.outcomes.answered() as f64 / (1.0 + median.doubt);
            self.shown_rate =
                self.shown_rate.max((answered - f64::from(users)) / result.loaded.as_secs_f64());
        }
        if closed.is_none() {
            self.note_baseline(result, first);
        }
        if !warm.is_done() {
            self.phase = Phase::Warm { warm, closed };
            return;
        }
        self.warm_up_result.times *= warm.speedup();
        match (closed, warm.level()) {
            (Some(_), Some((_, level))) => {
                // Throughput without idle time is nearly the capacity.
                let goodput = 1.0 / level.value;
                let before = self.warm_goodput.replace(goodput);
                self.is_still_warm = before.is_some_and(|before| goodput.ln() - before.ln() < MIN_WARMING);
                self.estimate = Some(goodput);
                self.calm_rate = rounded((goodput * CALM_SHARE).clamp(self.range().floor, self.range().top));
                self.phase = Phase::Calm { frozen: 0 };
            }
            (None, Some((length, median))) => self.finish_warm_up(length, median, result),
            (_, None) => unreachable!("a window was just added"),
        }
    }

    /// Takes a look at the warm target under a gentle load.
    pub(super) fn take_calm(&mut self, frozen: u32, result: &TrialResult) {
        if frozen < MAX_FROZEN && longest_freeze(&result.total, result.rate.0).is_some() {
            self.phase = Phase::Calm { frozen: frozen + 1 };
            return;
        }
        self.note_baseline(result, true);
        match WindowMedian::of(&result.total.response) {
            Some(median) => self.finish_warm_up(result.loaded, median, result),
            None => self.warm_up(self.calm_rate / CALM_SHARE),
        }
    }

    /// Ends the warm-up with this window.
    fn finish_warm_up(&mut self, length: Nanos, median: WindowMedian, result: &TrialResult) {
        self.warm = self.spent;
        self.reference = Some(Reference::new(median, length.as_secs_f64(), &result.total.response));
        self.since_sentinel = 0;
        self.expire();
        let cold = std::mem::take(&mut self.cold);
        if self.estimate.is_some_and(|now| now.ln() - cold.highest_shown().ln() < MIN_WARMING) {
            // It was quicker for a while, but can do no more than before: it moves, and was already as warm as it gets.
            (self.capacity_trials, self.changes) = (cold, MAX_LOOKED_CHANGES);
        }
        self.curve_points.extend(curve_point(0.0, result).map(|p| (self.calm_rate, p)));
        if self.is_generator_limited() {
            self.phase = Phase::Ceiling;
            return;
        }
        let probe_rate = self.estimate.map_or(self.calm_rate / CALM_SHARE, |estimate| estimate * PROBE_START);
        self.phase = Phase::Probe { rate: rounded(probe_rate).min(self.range().top), factor: FASTER };
    }

    pub(super) fn take_probe(&mut self, rate: f64, factor: f64, result: &TrialResult, judgement: &Judgement) {
        self.add_to_bounds(rate, result, judgement);
        let range = self.range();
        if judgement.good {
            let above = rounded(rate * factor).min(range.top);
            self.phase = Phase::Probe { rate: above, factor: (factor * 1.25).min(2.0) };
            if rate >= range.top {
                (self.phase, self.estimate) = (Phase::Narrow, None);
            }
            return;
        }
        let sustained = sustained_rate(result, self.calm_mean());
        let now = sustained.map_or(self.calm_rate, |k| k.rate.max(self.calm_rate));
        self.shown_rate = self.shown_rate.max(sustained.map_or(0.0, SustainedRate::surely));
        let before = self.estimate.replace(now).unwrap_or(f64::INFINITY);
        self.estimate_doubt = sustained.map_or(0.0, |k| k.doubt);
        self.phase = Phase::Narrow;
        // If warming up again changed nothing, the target is not cold but faster in an open than in a closed loop.
        if now > before * FASTER && !self.is_still_warm && self.rewarms < MAX_REWARMS {
            self.rewarms += 1;
            self.warm_up(now);
        }
    }

    pub(super) fn take_measurement(&mut self, rate: f64, result: &TrialResult, judgement: &Judgement) {
        let earlier = self.bounds.at(rate);
        let single_bad = earlier.len() == 1 && !earlier[0].good;
        self.add_to_bounds(rate, result, judgement);
        self.since_sentinel += 1;
        let was_check = std::mem::take(&mut self.is_checking);
        self.checks_done += u32::from(was_check);
        if self.estimates() {
            self.add_full_trial(rate, result, judgement);
        }
        if was_check {
            self.fallen_rate = None;
            self.conclude_checks();
        }
        if judgement.good && single_bad && self.rounds < MAX_ROUNDS {
            self.rounds += 1;
            self.bounds.expire_bad(rate);
        }
        if !judgement.good && judgement.loss > MIN_TELLING_LOSS {
            self.estimate = sustained_rate(result, self.calm_mean()).map(|k| k.rate).or(self.estimate);
        }
    }

    /// Adds what a full trial says of the capacity.
    fn add_full_trial(&mut self, rate: f64, result: &TrialResult, judgement: &Judgement) {
        if result.planned < self.trial_duration() {
            return;
        }
        // An overload too small to be looked for is not seen: a trial that far above the capacity is held. And background loss is no
        // overload.
        let (overload_factor, kept_share) =
            (1.0 + overload_threshold(self.config.width), 1.0 - self.loss.share());
        let sustained = sustained_rate(result, self.calm_mean());
        let steadily = sustained.is_some_and(|kept| kept.doubt < MAX_STEADY_DOUBT * self.config.width.0);
        let few = |kept: SustainedRate| kept.doubt * kept.rate * result.loaded.as_secs_f64() < FEW_REQUESTS;
        let straight = steadily || judgement.growth_per_second.is_none() || sustained.is_some_and(few);
        let kept_rate = sustained.map(|kept| kept.rate / kept_share);
        let measured = judgement.growth_per_second.is_some()
            || judgement.loss > MIN_TELLING_LOSS
            || result.total.outcomes.unfinished > 0;
        let observation = match kept_rate.filter(|_| measured) {
            _ if judgement.good => Observation::AtLeast(rate),
            // A few seconds of a target that moves say little of a whole trial.
            Some(_) if result.hopeless && !steadily => Observation::Below(rate),
            Some(kept) => {
                let held = would_have_held(result, self.calm_mean(), kept);
                Observation::Measured((kept * overload_factor).min(held).min(rate))
            }
            None => Observation::Below(rate),
        };
        let trial = FullTrial::new(rate, observation, straight, result);
        self.capacity_trials.push(trial, self.shown_rate.max(self.bounds.highest_held()));
        let looked_enough = self.capacity_trials.is_moving && self.changes >= MAX_LOOKED_CHANGES;
        // Without time for another trial, what is known would be forgotten for nothing.
        let speedup = self
            .capacity_trials
            .speedup(self.config.width.0)
            .filter(|_| !looked_enough && !self.is_out_of_time());
        if let Some(faster) = speedup {
            if self.capacity_trials.is_moving {
                // It may rise by chance: if it then does no more, these trials count again.
                self.cold = std::mem::take(&mut self.capacity_trials);
            }
            self.changes += 1;
            if self.changes > MAX_CHANGES {
                self.finish(SearchEnd::NonStationary);
                return;
            }
            self.estimate = Some(faster);
            self.expire();
            self.warm_up(faster);
            return;
        }
        if self.capacity_trials.drop_outdated(self.config.width.0) {
            self.changes += 1;
            if self.changes > MAX_CHANGES {
                self.finish(SearchEnd::NonStationary);
            }
        }
    }

    /// Takes the look at a quarter of the rate: whether as much is lost there.
    pub(super) fn take_background_look(&mut self, rate: f64, result: &TrialResult) {
        self.loss.add_look(rate, result);
        self.phase = Phase::Narrow;
        if self.loss == LossOrigin::Overload {
            self.capacity_trials.revoke_excused(self.config.objective.loss);
            self.bounds.revoke_excused(self.config.objective.loss);
        }
    }

    /// Takes the sentinel's look: a shift puts a bound under suspicion.
    pub(super) fn take_sentinel(&mut self, result: &TrialResult) {
        self.since_sentinel = 0;
        let now = WindowMedian::of(&result.total.response);
        let Some(shift) = self.reference.zip(now).and_then(|(reference, now)| reference.shift(now)) else {
            self.curve_points.extend(curve_point(0.0, result).map(|p| (self.calm_rate, p)));
            return;
        };
        if self.estimates() {
            // A slowdown is part of how a target moves; one that was not warm has to be restarted.
            let plainly = shift.0.ln() < -self.capacity_trials.noise().max(MIN_WARMING);
            let times = &result.total.response;
            let all_faster = self.reference.is_some_and(|reference| reference.is_all_faster(shift, times));
            if !plainly || !all_faster {
                return;
            }
            // A target whose overloads agree may only have fallen into step with the arrivals: does it take more than before?
            let rate = rounded(self.capacity_trials.highest_shown() * shift.0.powf(-0.5).min(LOOK_ABOVE));
            if self.capacity_trials.is_surely_steady(self.config.width.0) && rate <= self.range().top {
                self.phase = Phase::Suspect { rate, shift };
            } else {
                self.change_point(shift);
            }
            return;
        }
        let proven = self.config.goals.iter().map(|g| self.bounds.proven(g));
        let bound = match shift.is_faster() {
            true => proven.filter_map(|(_, u)| Some(u?.rate)).max_by(f64::total_cmp),
            false => proven.filter_map(|(l, _)| Some(l?.rate)).min_by(f64::total_cmp),
        };
        match bound {
            Some(rate) => self.phase = Phase::Suspect { rate, shift },
            None if shift.0.ln().abs() > PLAIN_SHIFT => self.change_point(shift),
            None => {}
        }
    }

    pub(super) fn take_suspect(
        &mut self,
        rate: f64,
        shift: Shift,
        result: &TrialResult,
        judgement: &Judgement,
    ) {
        self.phase = Phase::Narrow;
        if judgement.good == shift.is_faster() {
            self.change_point(shift);
            return;
        }
        self.take_measurement(rate, result, judgement);
        if let Some(reference) = &mut self.reference {
            reference.add_noise(shift);
        }
    }

    /// The target has changed: every bound expires and the search opens again, upwards.
    fn change_point(&mut self, shift: Shift) {
        self.changes += 1;
        self.slowdowns += u32::from(!shift.is_faster());
        if self.changes > MAX_CHANGES || self.slowdowns > MAX_SLOWDOWNS {
            self.finish(SearchEnd::NonStationary);
            return;
        }
        let factor = (1.0 / shift.0).clamp(0.25, 4.0);
        self.cold = std::mem::take(&mut self.capacity_trials);
        self.estimate = self.estimate.map(|e| e * factor);
        self.expire();
        self.warm_up(self.calm_rate / CALM_SHARE * factor);
    }

    /// All trials expire: the target has changed.
    fn expire(&mut self) {
        self.expired_bounds.give_way(std::mem::take(&mut self.bounds));
        self.capacity_trials = CapacityTrials::default();
        self.curve_points.clear();
    }

    /// Takes a look above the limit. If the target kept up that long, a whole trial decides.
    pub(super) fn take_above(&mut self, rate: f64, result: &TrialResult, judgement: &Judgement) {
        self.add_to_bounds(rate, result, judgement);
        self.phase = Phase::Narrow;
        if judgement.good {
            self.shown_rate = self.shown_rate.max(rate);
            self.conclude_checks();
        }
    }

    /// The target moves if no whole trial has shown what a few seconds did, however often that was tried.
    fn conclude_checks(&mut self) {
        if self.checks_done == MAX_CHECKS && self.has_done_more() {
            self.capacity_trials.mark_moving();
        }
    }

    /// Takes a step of the curve. If one clearly below the limit was too much, a whole trial decides.
    pub(super) fn take_curve(
        &mut self,
        rate: f64,
        shares: &[f64],
        result: &TrialResult,
        judgement: &Judgement,
    ) {
        self.curve.extend(shares.first().and_then(|share| curve_point(*share, result)));
        self.phase = Phase::Curve(shares[1..].to_vec());
        let width = self.config.width.0;
        let factor =
            if self.capacity_trials.is_steady(width) { 1.0 + 2.0 * width } else { CONTRADICTION_FACTOR };
        let fell = !judgement.good && self.estimates() && rate * factor < self.capacity_trials.highest_held();
        if !fell || self.capacity_trials.is_moving || self.is_out_of_time() {
            return;
        }
        if self.checks_done == MAX_CHECKS {
            self.capacity_trials.mark_moving();
        } else {
            self.fallen_rate = Some(rate);
        }
        self.curve.clear();
        self.phase = Phase::Narrow;
    }

    /// Records a calm target's response time. The mean is that of the fastest warm-up window, `anew` for the first: stalls do not count.
    /// If it froze in each of them, half of its answers decide. The queue at the end of the climb does not count either.
    fn note_baseline(&mut self, result: &TrialResult, reset: bool) {
        let times = &result.total.response;
        let Some((q, mean)) = times.quantiles().zip(times.mean()) else { return };
        let before = self.baseline;
        let mean = longest_freeze(&result.total, result.rate.0).map_or(mean, |_| mean.min(q.p50));
        let mean = match before {
            Some(calm) if !reset => mean.min(calm.mean),
            Some(calm) if matches!(self.phase, Phase::Climb { .. }) => mean.min(calm.mean * MAX_QUEUE_FACTOR),
            _ => mean,
        };
        let quicker = before.filter(|calm| {
            !matches!(self.phase, Phase::Warm { .. } | Phase::Calm { .. }) && calm.p99 <= q.p99
        });
        let (p50, p99) = quicker.map_or((q.p50, q.p99), |calm| (calm.p50, calm.p99));
        self.baseline = Some(Baseline { mean, p50, p99 });
    }
}
