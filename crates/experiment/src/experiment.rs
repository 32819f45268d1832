use crate::check::{Error, check};
use crate::comparison::{ComparisonEstimate, EffectThreshold};
use crate::group::{BoundsCache, HypothesisGroup, counts, pilot};
use plan::{ArmMeasure, Hypothesis, LoadLevel};
use record::{ArmStart, Design, ExperimentEnd, OngoingStart};
use stats::shuffled;
use units::Nanos;

/// How often a void start is repeated in its block. If it is void once more, its arm is dropped.
const MAX_REPEATS: usize = 2;

/// A running experiment: proposes the next start, takes its result, and reports the state.
#[derive(Debug, Clone)]
pub struct Experiment {
    pub(crate) design: Design,
    /// All starts taken, in order.
    pub(crate) starts: Vec<ArmStart>,
    /// Why an arm could not be measured.
    pub(crate) dropped: Vec<Option<String>>,
    pub(crate) groups: Vec<HypothesisGroup>,
    /// For each hypothesis.
    pub(crate) estimates: Vec<ComparisonEstimate>,
    /// For each group's placebo.
    pub(crate) placebo_estimates: Vec<ComparisonEstimate>,
    pub(crate) cache: BoundsCache,
    /// The current block; 0 is the pilot.
    block: u32,
    /// Its remaining starts, and how often each was void.
    pending: Vec<Slot>,
    pub(crate) end: Option<ExperimentEnd>,
}

/// A start due in a block.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slot {
    arm: usize,
    placebo: bool,
    voids: usize,
}

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub enum ExperimentStep {
    /// Start an arm and measure it.
    Start {
        /// The start, with its expected duration by the starts so far.
        start: OngoingStart,
        /// Indices of the measurements, in this order.
        probes: Vec<usize>,
    },
    /// The experiment is over.
    Done(ExperimentEnd),
}

/// The least time for any verdict, if a start takes `start_time`: the pilot, and the blocks before the first look.
pub fn least_time(design: &Design, start_time: Nanos) -> Nanos {
    let starts = u64::from(design.pilot) + u64::from(design.least) * slots(design).len() as u64;
    start_time * starts
}

/// A hypothesis' smallest effect.
pub(crate) fn effect_threshold(hypothesis: &Hypothesis) -> EffectThreshold {
    EffectThreshold {
        delta: hypothesis.effect.0.ln_1p(),
        more_is_better: hypothesis.measure.more_is_better(),
    }
}

/// Each arm once, and the baseline once more as the placebo if there are hypotheses.
fn slots(design: &Design) -> Vec<Slot> {
    let slot = |arm, placebo| Slot { arm, placebo, voids: 0 };
    let placebo = (!design.hypotheses.is_empty()).then(|| slot(0, true));
    (0..design.arms.len()).map(|arm| slot(arm, false)).chain(placebo).collect()
}

impl Experiment {
    /// Begins an experiment.
    ///
    /// # Errors
    /// An invalid design: weights that do not sum to 0, a cause that no diagnosis names.
    pub fn new(design: &Design) -> Result<Self, Error> {
        check(design)?;
        Ok(Self::begin(design.clone(), BoundsCache::new()))
    }

    /// The same experiment before its first start, with another order within blocks. It shares the bounds, which take most of the setup
    /// time: for simulations.
    #[must_use]
    pub fn reseeded(&self, seed: u64) -> Self {
        Self::begin(Design { seed, ..self.design.clone() }, self.cache.clone())
    }

    fn begin(design: Design, cache: BoundsCache) -> Self {
        let groups = HypothesisGroup::all(&design);
        let mut experiment = Self {
            starts: Vec::new(),
            dropped: vec![None; design.arms.len()],
            estimates: vec![ComparisonEstimate::default(); design.hypotheses.len()],
            placebo_estimates: vec![ComparisonEstimate::default(); groups.len()],
            groups,
            cache,
            block: 0,
            pending: vec![Slot { arm: 0, placebo: false, voids: 0 }; design.pilot as usize],
            end: None,
            design,
        };
        experiment.update_groups();
        if experiment.pending.is_empty() {
            experiment.open_block();
        }
        experiment
    }

    /// The next step, after `spent`. Depends only on the design, the starts taken and this time.
    pub fn next(&mut self, spent: Nanos) -> ExperimentStep {
        if let Some(over) = self.end {
            return ExperimentStep::Done(over);
        }
        if self.is_block_unstarted()
            && self.design.budget.is_some_and(|budget| spent + self.remaining_time() > budget)
        {
            self.end = Some(ExperimentEnd::BudgetSpent);
            return ExperimentStep::Done(ExperimentEnd::BudgetSpent);
        }
        let slot = self.pending[0];
        let start = OngoingStart {
            number: self.starts.last().map_or(0, |visit| visit.number) + 1,
            block: self.block,
            arm: slot.arm,
            placebo: slot.placebo,
            expected: self.usual_duration(slot.arm),
        };
        ExperimentStep::Start { start, probes: self.probes(slot.arm, self.block).collect() }
    }

    /// Takes a start's result. Also resumes an interrupted experiment: given all stored starts, it proposes the same next ones as without
    /// the interruption.
    pub fn add_start(&mut self, start: &ArmStart) {
        while self.end.is_none() && self.block < start.block {
            self.finish_block();
        }
        self.starts.push(start.clone());
        let same = |slot: &Slot| slot.arm == start.arm && slot.placebo == start.placebo;
        if let Some(place) = self.pending.iter().position(same) {
            let slot = self.pending.remove(place);
            if let Some(why) = &start.void {
                self.repeat_or_drop(slot, why);
            }
        }
        if self.end.is_none() && self.pending.is_empty() {
            self.finish_block();
        }
    }

    /// The median capacity of the baseline for this workload in the pilot: what shares of the capacity refer to. None before its first
    /// search, or if that found nothing.
    pub fn capacity(&self, workload: &str) -> Option<f64> {
        let searched = |probe: usize| {
            let probe = self.design.probes.get(probe);
            probe.is_some_and(|probe| probe.workload == workload && probe.at == LoadLevel::Limit)
        };
        let taken = pilot(&self.starts).flat_map(|visit| &visit.taken).filter(|taken| searched(taken.probe));
        let figures = taken.flat_map(|taken| &taken.figures);
        let is_capacity = |(measure, figure): &&(ArmMeasure, f64)| {
            *measure == ArmMeasure::Capacity && figure.is_finite() && *figure > 0.0
        };
        let mut capacities: Vec<f64> = figures.filter(is_capacity).map(|(_, figure)| *figure).collect();
        capacities.sort_unstable_by(f64::total_cmp);
        let middle = capacities.len().checked_sub(1)? / 2;
        Some(f64::midpoint(capacities[middle], capacities[capacities.len() / 2]))
    }

    /// Blocks with every due start made.
    pub(crate) fn complete_blocks(&self) -> u32 {
        let is_complete = |block: &u32| {
            slots(&self.design).iter().filter(|slot| self.dropped[slot.arm].is_none()).all(|slot| {
                let is_it = |start: &ArmStart| {
                    counts(start, slot.arm) && start.placebo == slot.placebo && start.block == *block
                };
                self.starts.iter().any(is_it)
            })
        };
        (1..=self.block).filter(is_complete).count() as u32
    }

    fn is_block_unstarted(&self) -> bool {
        self.block == 0 || self.starts.last().is_none_or(|visit| visit.block < self.block)
    }

    /// Mean duration of this arm's starts so far; of any arm's, if it has none.
    fn usual_duration(&self, arm: usize) -> Option<Nanos> {
        // The pilot measures more of the baseline than the blocks do.
        let is_alike = |visit: &ArmStart| visit.arm == arm && (visit.block == 0) == (self.block == 0);
        let mean = |of: &dyn Fn(&ArmStart) -> bool| {
            let took: Vec<u64> =
                self.starts.iter().filter(|visit| of(visit)).map(|visit| visit.took.0).collect();
            let count = u64::try_from(took.len()).ok().filter(|count| *count > 0)?;
            Some(Nanos(took.iter().fold(0, |sum: u64, took| sum.saturating_add(*took)) / count))
        };
        let counts = |visit: &ArmStart| visit.void.is_none();
        mean(&|visit| is_alike(visit) && counts(visit))
            .or_else(|| mean(&|visit| visit.block > 0 && counts(visit)))
            .or_else(|| {
                // Of the pilot's time, the share of its measurements.
                let probes_due = self.probes(arm, self.block).count() as f64;
                let part = probes_due / self.probes(0, 0).count().max(1) as f64;
                mean(&counts).map(|pilot| Nanos((pilot.0 as f64 * part.min(1.0)) as u64))
            })
    }

    /// Indices of the measurements at a start of this arm.
    fn probes(&self, arm: usize, block: u32) -> impl Iterator<Item = usize> {
        let all = self.design.probes.iter().enumerate();
        all.filter(move |(place, probe)| {
            probe.arms.contains(&arm) && (block == 0 || !self.is_pilot_only(*place))
        })
        .map(|(place, _)| place)
    }

    /// Whether the pilot suffices for a measurement: it is of the baseline alone, and nothing is compared.
    fn is_pilot_only(&self, place: usize) -> bool {
        let compared = self.design.hypotheses.iter().any(|hypothesis| hypothesis.probe == place);
        self.design.pilot > 0
            && !compared
            && self.design.probes[place].arms == [0]
            && self.design.arms.len() > 1
    }

    /// Expected time for the rest of the block; for the pilot only of the next start, for each is useful by itself.
    fn remaining_time(&self) -> Nanos {
        let due_slots = if self.block == 0 { 1 } else { self.pending.len() };
        self.pending[..due_slots]
            .iter()
            .filter_map(|slot| self.usual_duration(slot.arm))
            .fold(Nanos(0), |sum, time| sum + time)
    }

    /// Repeats a void start at the end of its block, or drops its arm.
    fn repeat_or_drop(&mut self, slot: Slot, why: &str) {
        if slot.voids < MAX_REPEATS {
            self.pending.push(Slot { voids: slot.voids + 1, ..slot });
            return;
        }
        self.dropped[slot.arm] = Some(why.to_owned());
        self.pending.retain(|other| other.arm != slot.arm);
        self.update_groups();
        let nothing_left = (1..self.design.arms.len()).all(|arm| self.dropped[arm].is_some());
        if slot.arm == 0 || nothing_left || self.is_nothing_comparable() {
            self.end = Some(ExperimentEnd::NothingToCompare);
        }
    }

    /// Ends a block, or the pilot: looks at the result if due, and opens the next block.
    fn finish_block(&mut self) {
        let has_hypotheses = !self.design.hypotheses.is_empty();
        let blocks = if has_hypotheses { self.design.most } else { self.design.least };
        if has_hypotheses && self.block > 0 {
            self.analyse();
        }
        if has_hypotheses && self.block >= self.design.least {
            if self.is_nothing_comparable() {
                self.end = Some(ExperimentEnd::NothingToCompare);
            } else if self.is_decided() {
                self.end = Some(ExperimentEnd::Decided);
            }
        }
        if self.end.is_none() && self.block >= blocks {
            self.end = Some(ExperimentEnd::BlocksMade);
        }
        if self.end.is_none() {
            self.open_block();
        }
    }

    /// Opens the next block, in an order of its own.
    fn open_block(&mut self) {
        self.block += 1;
        let slots = slots(&self.design);
        let order = shuffled(slots.len(), self.design.seed, self.block);
        self.pending = order.into_iter().map(|place| slots[place]).collect();
        self.pending.retain(|slot| self.dropped[slot.arm].is_none());
    }
}
