//! The threshold of a level whose trials only say good or bad: a number of connections, the size of a working set.
//!
//! Climbs from a start by a factor until one is bad, then bisects, and confirms both bounds before publishing them. It assumes that
//! whatever is good stays so below, and tolerates an occasional wrong result: a level that was both good and bad gets the majority of
//! three.

use record::{Limit, LimitUnit, SearchEnd};

/// A void trial says nothing and is repeated; after this many in a row at one level, the generator is the limit.
const MAX_VOID: u32 = 3;
/// Trials that establish a bound.
const MIN_TRIALS: u32 = 2;

/// The range to search.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdRange {
    /// Unit of the levels: `connections`, `B`.
    pub unit: LimitUnit,
    /// Start of the climb.
    pub from: f64,
    /// Factor of the climb, and of the descent if the start is already bad; above 1.
    pub factor: f64,
    /// The lowest level.
    pub least: f64,
    /// The highest level.
    pub most: f64,
    /// Levels are whole multiples of this.
    pub grain: f64,
    /// How far apart the bounds may be, relative to the upper one. One grain always suffices.
    pub width: f64,
}

/// What a trial shows of its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelResult {
    /// The level holds; requests due and failed.
    Good {
        /// Requests due.
        due: u64,
        /// Bad ones, within the goal.
        bad: u64,
    },
    /// It does not hold.
    Bad,
    /// Nothing: something other than the target was the limit.
    Void,
}

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub enum ThresholdStep {
    /// A trial at this level.
    Try(f64),
    /// The search is over: why.
    Done(SearchEnd),
}

#[derive(Debug, Clone, PartialEq)]
struct LevelTrials {
    level: f64,
    good: u32,
    bad: u32,
    due: u64,
    lost: u64,
}

impl LevelTrials {
    /// None on a tie.
    fn is_good(&self) -> Option<bool> {
        (self.good != self.bad).then_some(self.good > self.bad)
    }

    fn is_confirmed(&self) -> bool {
        self.good.max(self.bad) >= MIN_TRIALS
    }
}

/// A search for a threshold.
#[derive(Debug, Clone)]
pub struct ThresholdSearch {
    range: ThresholdRange,
    /// In ascending order.
    levels: Vec<LevelTrials>,
    void_trials: u32,
    ended: Option<SearchEnd>,
}

impl ThresholdSearch {
    /// Begins a search.
    ///
    /// # Panics
    /// If the range is invalid: a factor of at most 1, no grain, or the least above the most.
    pub fn new(range: ThresholdRange) -> Self {
        assert!(range.factor > 1.0 && range.grain > 0.0 && range.least <= range.most, "a range: {range:?}");
        Self { range, levels: Vec::new(), void_trials: 0, ended: None }
    }

    /// The next step; the same until the trial's result is taken.
    pub fn next(&self) -> ThresholdStep {
        if let Some(ended) = &self.ended {
            return ThresholdStep::Done(ended.clone());
        }
        if let Some(tied) = self.levels.iter().find(|level| level.is_good().is_none()) {
            return ThresholdStep::Try(tied.level);
        }
        let ThresholdRange { from, factor, least, most, .. } = self.range;
        match (self.lower(), self.upper()) {
            (None, None) => ThresholdStep::Try(self.snapped(from)),
            (Some(lower), None) if lower.level >= self.snapped(most) => {
                confirm_or_end(lower, SearchEnd::MaxReached)
            }
            (Some(lower), None) => {
                ThresholdStep::Try(self.snapped(lower.level * factor).max(lower.level + self.range.grain))
            }
            (None, Some(upper)) if upper.level <= self.snapped(least) => {
                confirm_or_end(upper, SearchEnd::BelowMin)
            }
            (None, Some(upper)) => {
                ThresholdStep::Try(self.snapped(upper.level / factor).min(upper.level - self.range.grain))
            }
            (Some(lower), Some(upper)) if self.is_narrow(lower.level, upper.level) => {
                if lower.is_confirmed() {
                    confirm_or_end(upper, SearchEnd::Converged)
                } else {
                    ThresholdStep::Try(lower.level)
                }
            }
            (Some(lower), Some(upper)) => {
                let grain = self.range.grain;
                let middle = self.snapped(f64::midpoint(lower.level, upper.level));
                ThresholdStep::Try(middle.clamp(lower.level + grain, upper.level - grain))
            }
        }
    }

    /// Takes the result of the proposed trial.
    pub fn add_result(&mut self, result: LevelResult) {
        let ThresholdStep::Try(at) = self.next() else { return };
        if result == LevelResult::Void {
            self.void_trials += 1;
            if self.void_trials > MAX_VOID {
                self.ended = Some(SearchEnd::GeneratorLimit);
            }
            return;
        }
        self.void_trials = 0;
        let place = self.levels.partition_point(|level| level.level < at);
        if self.levels.get(place).is_none_or(|level| level.level > at) {
            self.levels.insert(place, LevelTrials { level: at, good: 0, bad: 0, due: 0, lost: 0 });
        }
        let level = &mut self.levels[place];
        match result {
            LevelResult::Good { due, bad } => {
                level.good += 1;
                level.due += due;
                level.lost += bad;
            }
            LevelResult::Bad | LevelResult::Void => level.bad += 1,
        }
    }

    /// Ends the search early.
    pub fn interrupt(&mut self, why: SearchEnd) {
        self.ended.get_or_insert(why);
    }

    /// The bounds so far.
    pub fn limit(&self, goal: &str) -> Limit {
        let (lower, upper) = (self.lower(), self.upper());
        let narrow = lower.zip(upper).is_some_and(|(lower, upper)| {
            self.is_narrow(lower.level, upper.level) && lower.is_confirmed() && upper.is_confirmed()
        });
        Limit {
            held: None,
            goal: goal.to_owned(),
            lower: lower.map(|level| level.level),
            upper: upper.map(|level| level.level),
            unit: self.range.unit.clone(),
            regular: narrow,
            good_trials: lower.map_or(0, |level| level.good),
            bad_trials: upper.map_or(0, |level| level.bad),
            lower_due: lower.map_or(0, |level| level.due),
            lower_bad: lower.map_or(0, |level| level.lost),
            throughput: None,
        }
    }

    /// The lowest bad level.
    fn upper(&self) -> Option<&LevelTrials> {
        self.levels.iter().find(|level| level.is_good() == Some(false))
    }

    /// The highest good level below the upper bound.
    fn lower(&self) -> Option<&LevelTrials> {
        let upper = self.upper().map_or(f64::INFINITY, |level| level.level);
        self.levels.iter().rev().find(|level| level.level < upper && level.is_good() == Some(true))
    }

    fn is_narrow(&self, lower: f64, upper: f64) -> bool {
        // Neighbours are a grain apart, up to rounding.
        upper - lower <= self.range.width * upper || upper - lower < 1.5 * self.range.grain
    }

    /// The nearest multiple of the grain within the range.
    fn snapped(&self, level: f64) -> f64 {
        let ThresholdRange { least, most, grain, .. } = self.range;
        (level.clamp(least, most) / grain).round().max(1.0) * grain
    }
}

/// Confirms a bound that was shown once before the search ends.
fn confirm_or_end(bound: &LevelTrials, ended: SearchEnd) -> ThresholdStep {
    if bound.is_confirmed() { ThresholdStep::Done(ended) } else { ThresholdStep::Try(bound.level) }
}

#[cfg(test)]
mod tests;
