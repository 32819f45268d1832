//! The limit as a distribution: what the trials so far say of it, which rate tells most next, and when it is known.

use crate::bounds::rounded;
use crate::capacity::{Capacity, Observation, QuantileEstimate};
use crate::narrow::{Range, Want};
use plan::Goal;
use record::{Limit, LimitUnit, Slice};
use stats::Slope;
use units::Share;

/// The trials that anchor the answer lie so many widths below it,
const BELOW: f64 = 0.43;
/// those that measure the capacity so many above the middle: far enough for the divergence rule to see it,
const ABOVE: f64 = 0.55;
/// and so many spreads, for most of them shall measure it.
const SPREADS_ABOVE: f64 = 0.8;
/// A target that no overload measures is tried so many widths beside where it fails.
const BESIDE: f64 = 0.3;
/// So many clean trials at what is published, and so many that were not above it.
const GOOD_LEAST: usize = 3;
const BAD_LEAST: usize = 2;
/// A spread of so many widths is that of a target that moves: a few of its trials may be alike by chance.
const STEADY: f64 = 0.2;
const BAD_MOVING: usize = 6;
/// Two halves of the trials that differ by so many standard errors are of two targets.
const CHANGED: f64 = 4.0;
/// So many measurements that surely rise one after the other are of a target that gets faster.
const RISING_LEAST: usize = 4;
const RISING: f64 = 0.999;
/// Fewer steps from one measurement to the next tell no noise.
const STEPS_LEAST: usize = 2;
/// Who does less than this part of what it held, when asked for more, is busy with turning away.
const COLLAPSED: f64 = 0.8;
/// So many full trials that were bad, and none that was good, are of a target that holds less than a short trial lets hope.
const SINKING: usize = 2;
/// No step down is larger.
const DEEPEST: f64 = 0.5;
/// Fewer trials have no halves.
const HALVES: usize = 6;

/// A full trial, and what it says.
#[derive(Debug, Clone, Copy)]
struct Trial {
    rate: f64,
    said: Observation,
    due: u64,
    bad: u64,
    /// What was lost was answered so.
    refused: bool,
}

impl Trial {
    fn good(&self) -> bool {
        matches!(self.said, Observation::AtLeast(_))
    }

    /// What it says where another trial held so much. Who is busy with turning away gets less done than it can: the overload did not measure it.
    fn against(&self, held: f64) -> Observation {
        match self.said {
            Observation::Was(did) if self.refused && did < held * COLLAPSED && self.rate > held => {
                Observation::Below(self.rate)
            }
            said => said,
        }
    }
}

/// All full trials since the last warm-up, and the capacity that they show.
#[derive(Debug, Clone, Default)]
pub struct CapacityTrials {
    trials: Vec<Trial>,
    capacity: Option<Capacity>,
}

impl CapacityTrials {
    /// Takes a full trial.
    pub fn push(&mut self, rate: f64, said: Observation, total: &Slice) {
        let (due, bad) = (total.due, total.outcomes.bad());
        self.trials.push(Trial { rate, said, due, bad, refused: 2 * total.outcomes.failed > bad });
        self.look();
    }

    fn look(&mut self) {
        let most = self.most();
        let said: Vec<Observation> = self.trials.iter().map(|trial| trial.against(most)).collect();
        let good = self.trials.iter().any(Trial::good);
        self.capacity = Capacity::of(&said).filter(|_| good);
    }

    /// What was excused is so no more: a trial that has lost more than allowed was bad.
    pub fn spoil(&mut self, allowed: Share) {
        let lost = |trial: &Trial| Share::of(trial.bad, trial.due).0 > allowed.0;
        for trial in self.trials.iter_mut().filter(|trial| trial.good() && lost(trial)) {
            trial.said = Observation::Below(trial.rate);
        }
        self.look();
    }

    /// Whether it can say something: it has seen both sides.
    pub fn is_known(&self) -> bool {
        self.capacity.is_some()
    }

    /// The next rate if all full trials were bad: below what any of them kept up, further with each. Short ones may have passed above it, for what
    /// tips a target over does not happen in every two seconds.
    pub fn below(&self, width: f64) -> Option<f64> {
        let further =
            self.trials.len().checked_sub(SINKING).filter(|_| !self.trials.iter().any(Trial::good))?;
        let least = self.trials.iter().map(|trial| trial.said.rate()).fold(f64::INFINITY, f64::min);
        let step = BELOW * width * 2f64.powi(further as i32);
        Some(rounded(least * (1.0 - step.min(DEEPEST))))
    }

    /// The highest rate that a trial held; 0 if none did.
    pub fn most(&self) -> f64 {
        self.trials.iter().filter(|trial| trial.good()).map(|trial| trial.rate).fold(0.0, f64::max)
    }

    /// What a target that surely gets faster from trial to trial did in the last that measured it: it was not warm.
    pub fn rises(&self, width: f64) -> Option<f64> {
        let measured = self.measured();
        let line = Slope::fit(&measured, 1.0).filter(|_| measured.len() >= RISING_LEAST)?;
        let surely = line.lower_bound(RISING) > 0.0;
        let by = line.per_unit * (measured.len() - 1) as f64;
        measured.last().filter(|_| surely && by > 2.0 * width).map(|last| last.exp())
    }

    /// If the later half of the trials is of another target than the earlier one, forgets the earlier; tells whether it was.
    pub fn changed(&mut self, width: f64) -> bool {
        let half = self.trials.len() / 2;
        if self.trials.len() < HALVES {
            return false;
        }
        let middle = |trials: &[Trial]| {
            let said: Vec<Observation> = trials.iter().map(|trial| trial.said).collect();
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
            self.look();
        }
        changed
    }

    /// The next rate; nothing once all goals are known to the width.
    pub fn want(&self, goals: &[Goal], width: f64, range: Range) -> Want {
        let Some(capacity) = &self.capacity else { return Want::Nothing };
        let known: Vec<QuantileEstimate> =
            goals.iter().map(|goal| capacity.held_by(1.0 - goal.exceed.0)).collect();
        let least = known.iter().min_by(|a, b| a.middle.total_cmp(&b.middle)).expect("there is a goal");
        let most = known.iter().max_by(|a, b| a.middle.total_cmp(&b.middle)).expect("there is a goal");
        let good = self.good_near(least, width).count();
        let bad = self.trials.iter().filter(|trial| !trial.good()).count();
        let steady = capacity.spread() <= STEADY * width;
        let bad_least = if steady { BAD_LEAST } else { BAD_MOVING };
        if known.iter().all(|known| known.width() <= width) && good >= GOOD_LEAST && bad >= bad_least {
            return Want::Nothing;
        }
        let clamp = |rate: f64| rounded(rate).clamp(range.floor, range.top);
        let anchors = good < GOOD_LEAST && good <= bad;
        if anchors {
            Want::Final(clamp(least.middle * (1.0 - BELOW * width)))
        } else if let Some((held, lost)) = self.bracket() {
            let middle = (held * lost).sqrt();
            let side = if good <= bad { 1.0 - BESIDE * width } else { 1.0 + BESIDE * width };
            Want::Final(clamp(if lost > held * (1.0 + width / 2.0) { middle } else { middle * side }))
        } else {
            let above = (ABOVE * width).max(SPREADS_ABOVE * capacity.spread());
            Want::Final(clamp(most.middle * (1.0 + above)))
        }
    }

    /// The highest rate that was held and the lowest that was not, of a target that no overload measures.
    fn bracket(&self) -> Option<(f64, f64)> {
        let most = self.most();
        let least =
            self.trials.iter().filter(|trial| !trial.good()).map(|trial| trial.rate).reduce(f64::min)?;
        let measured = self.trials.iter().any(|trial| matches!(trial.against(most), Observation::Was(_)));
        (!measured && least > most).then_some((most, least))
    }

    /// By how much, as a logarithm, two looks at it may differ by chance: from one measurement to the next, which a target that gets steadily
    /// faster does not do.
    pub fn noise(&self) -> f64 {
        let measured = self.measured();
        let steps: Vec<f64> = measured.windows(2).map(|two| two[1] - two[0]).collect();
        if steps.len() < STEPS_LEAST {
            return 0.0;
        }
        let count = steps.len() as f64;
        let mean = steps.iter().sum::<f64>() / count;
        2.0 * (steps.iter().map(|step| (step - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
    }

    /// The logarithms of what overloaded trials measured.
    fn measured(&self) -> Vec<f64> {
        let was = |trial: &Trial| match trial.said {
            Observation::Was(rate) => Some(rate.ln()),
            Observation::AtLeast(_) | Observation::Below(_) => None,
        };
        self.trials.iter().filter_map(was).collect()
    }

    /// How well the goals are known: the widest interval.
    pub fn width(&self, goals: &[Goal]) -> Option<f64> {
        let capacity = self.capacity.as_ref()?;
        goals.iter().map(|goal| capacity.held_by(1.0 - goal.exceed.0).width()).max_by(f64::total_cmp)
    }

    /// Clean trials that stand for this rate.
    fn good_near(&self, known: &QuantileEstimate, width: f64) -> impl Iterator<Item = &Trial> {
        let least = known.low * (1.0 - width);
        self.trials.iter().filter(move |trial| trial.good() && trial.rate >= least)
    }

    /// What to publish for `goal`.
    pub fn limit(&self, goal: &Goal, top: f64) -> Option<Limit> {
        let known = self.capacity.as_ref()?.held_by(1.0 - goal.exceed.0);
        // No more is said to be held than was held once.
        let held = rounded(known.middle.min(self.most()));
        let lower = rounded(known.low).min(held);
        let near = || self.good_near(&known, goal.width.0);
        Some(Limit {
            goal: goal.name.clone(),
            held: Some(held),
            lower: Some(lower),
            upper: Some(rounded(known.high)).filter(|_| known.low < top),
            unit: LimitUnit::Requests,
            regular: known.width() <= goal.width.0,
            good_trials: near().count() as u32,
            bad_trials: self.trials.iter().filter(|trial| !trial.good()).count() as u32,
            lower_due: near().map(|trial| trial.due).sum(),
            lower_bad: near().map(|trial| trial.bad).sum(),
            throughput: None,
        })
    }
}
