//! Void trials: torment was too slow or was denied the machine; and what it can make then.

use super::{Phase, Proposal, Search};
use crate::bounds::RateLevel;
use crate::ceiling::{Ceiling, CeilingStep, generator_capacity};
use crate::classify::{Class, classify};
use crate::judge::sustained_rate;
use record::{GeneratorCapacity, Judgement, Purpose, SearchEnd, TrialResult};
use units::Nanos;

/// A void trial adds this,
const VOID_WEIGHT: u32 = 2;
/// a valid one subtracts one, and more than this is too many: three in a row, or four of seven.
const MAX_VOID_WEIGHT: u32 = 5;
/// A generator that kept more before the warm-up is being held up, which may last this many times as long.
const PATIENT_FACTOR: u32 = 4;
/// How often the ceiling may turn out to be above what the target can do, or a hiccup; then it is the answer.
const MAX_CEILINGS: u32 = 2;

/// After the time of this many trials, one that was kept is enough for what torment makes at least: more say nothing of the target.
const ENOUGH_TRIALS: f64 = 2.5;

/// How often trials were void, and what is known of the generator's ceiling.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct VoidTrials {
    weight: u32,
    ceilings: u32,
    /// Time under load when the last ceiling search began.
    ceiling_since: Nanos,
    /// While trials above it are void.
    pub ceiling: Option<Ceiling>,
    /// What a limiting generator made.
    pub capacity: Option<GeneratorCapacity>,
}

impl VoidTrials {
    /// Counts a valid trial.
    pub fn add_valid(&mut self) {
        self.weight = self.weight.saturating_sub(1);
    }
}

impl Search {
    /// Takes a void trial.
    pub(super) fn take_void(
        &mut self,
        purpose: Purpose,
        rate: f64,
        result: &TrialResult,
        judgement: &Judgement,
    ) {
        let capacity = generator_capacity(result, judgement);
        if let (Phase::Ceiling, Some(ceiling)) = (&self.phase, &mut self.void_trials.ceiling) {
            match purpose {
                Purpose::Confirm => ceiling.failed(rate, capacity),
                _ => ceiling.fell_behind(rate, capacity),
            }
            return;
        }
        self.void_trials.weight += VOID_WEIGHT;
        let warms = matches!(self.phase, Phase::Warm { .. } | Phase::Calm { .. });
        let patient = warms && self.climbed_rate.is_some_and(|climbed| rate < climbed);
        if self.void_trials.weight < if patient { PATIENT_FACTOR * MAX_VOID_WEIGHT } else { MAX_VOID_WEIGHT }
        {
            return;
        }
        self.void_trials.weight = 0;
        match (&self.phase, self.climbed_rate) {
            (Phase::Climb { .. }, Some(passed)) => {
                self.begin_ceiling(rate, capacity);
                self.warm_up(passed);
            }
            (Phase::Climb { .. } | Phase::Warm { .. } | Phase::Calm { .. }, _) => {
                self.void_trials.capacity = capacity;
                self.finish(SearchEnd::GeneratorLimit);
            }
            (Phase::Narrow, _) if purpose == Purpose::Sentinel => self.since_sentinel = 0,
            (Phase::Probe { .. } | Phase::Suspect { .. } | Phase::Look { .. } | Phase::Narrow, _) => {
                self.begin_ceiling(rate, capacity);
                self.phase = Phase::Ceiling;
            }
            (Phase::Above { .. }, _) => self.phase = Phase::Narrow,
            (Phase::Curve(shares), _) => self.phase = Phase::Curve(shares[1..].to_vec()),
            (Phase::Ceiling | Phase::Done(_), _) => {}
        }
    }

    fn begin_ceiling(&mut self, rate: f64, capacity: Option<GeneratorCapacity>) {
        self.void_trials.ceilings += 1;
        self.void_trials.ceiling_since = self.spent;
        let good = |level: &&RateLevel| level.rate < rate && level.trials.iter().all(|t| t.good);
        let kept = self.bounds.levels().iter().rfind(good).map(|level| level.rate);
        self.void_trials.ceiling = Some(Ceiling::new(rate, capacity, kept.or(self.climbed_rate)));
    }

    /// The next look: a rate, and whether for a whole trial. None if the ceiling is known, or is none.
    pub(super) fn next_ceiling_look(&mut self) -> Option<(f64, bool)> {
        let aim = self
            .void_trials
            .ceiling
            .map_or(CeilingStep::Gone, |ceiling| ceiling.next_step(self.range().floor));
        match aim {
            CeilingStep::Look(rate) => return Some((rate, false)),
            CeilingStep::Confirm(rate) => {
                let trials = self.bounds.at(rate);
                let classes = || self.config.goals.iter().map(|goal| classify(trials, goal));
                let open = classes().any(|class| class == Class::Undecided);
                let enough = self.estimates() && self.shown_enough();
                if open && !enough && classes().all(|class| class != Class::Upper) {
                    return Some((rate, true));
                }
            }
            CeilingStep::Gone => {
                self.leave_ceiling();
                return None;
            }
            CeilingStep::Nothing => {}
        }
        self.void_trials.ceiling.as_mut()?.last().map(|rate| (rate, false))
    }

    /// Whether it kept a rate for a whole trial, and was looked at for long enough.
    fn shown_enough(&self) -> bool {
        let looked = (self.spent - self.void_trials.ceiling_since).as_secs_f64();
        looked >= ENOUGH_TRIALS * self.trial_duration().as_secs_f64() && self.shown_to_keep().is_some()
    }

    /// The highest rate that torment, itself the limit, kept for a whole trial.
    pub(super) fn shown_to_keep(&self) -> Option<f64> {
        self.void_trials.ceiling?.shown_rate
    }

    /// Takes a valid look at the ceiling, or a trial at the rate that was kept.
    pub(super) fn take_ceiling(&mut self, proposal: Proposal, result: &TrialResult, judgement: &Judgement) {
        let rate = proposal.rate.0;
        self.add_to_bounds(rate, result, judgement);
        let sustained = sustained_rate(result, self.calm_mean()).map(|kept| kept.rate);
        let Some(ceiling) = &mut self.void_trials.ceiling else { return };
        match judgement.good {
            true if proposal.purpose == Purpose::Confirm => ceiling.kept_whole(rate),
            true => ceiling.kept(rate),
            false if self.void_trials.ceilings > MAX_CEILINGS => ceiling.fell_behind(rate, None),
            false => {
                self.estimate = sustained.or(self.estimate);
                self.leave_ceiling();
            }
        }
    }

    /// The target is the limit, or nothing holds torment up any more.
    fn leave_ceiling(&mut self) {
        // Time spent on the generator is not the target's.
        self.warm += self.spent - self.void_trials.ceiling_since.max(self.warm);
        let low = self.void_trials.ceiling.take().and_then(|ceiling| ceiling.low);
        self.phase = match low {
            _ if self.estimate.is_some() || self.capacity_trials.is_known() => Phase::Narrow,
            low => Phase::Probe { rate: low.unwrap_or(self.calm_rate), factor: super::FASTER },
        };
    }

    /// Whether torment was the limit: what it can make is known.
    pub(super) fn is_generator_limited(&self) -> bool {
        self.void_trials.ceiling.is_some()
    }

    /// How a search ends that knows, or is still looking for, torment's ceiling; none if that is not the limit.
    pub(super) fn generator_end(&mut self) -> Option<SearchEnd> {
        let ceiling = self.void_trials.ceiling?;
        self.void_trials.capacity = ceiling.capacity;
        Some(SearchEnd::GeneratorLimit)
    }

    /// The most that torment makes, as far as is known: it fell behind repeatedly, and is the limit unless that is over.
    pub fn generator_capacity(&self) -> Option<GeneratorCapacity> {
        self.void_trials.ceiling?.capacity
    }
}
