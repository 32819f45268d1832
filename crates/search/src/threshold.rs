//! The threshold of a level of which each trial only says good or bad: a number of connections, the size of a working set.
//!
//! Climbs from a start by a factor until one is bad, halves what is between, and has both bounds shown twice before they
//! are told. It assumes that whatever is good stays so below, and lives with trials that now and then say the wrong
//! thing: a level that was both has the majority of three.

use record::{Limit, LimitUnit, SearchEnd};

/// A void trial says nothing and is made again; so many in a row at one level, and it is the generator that cannot.
const VOID_MOST: u32 = 3;
/// Shown so often a bound stands.
const SHOWN: u32 = 2;

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdRange {
    /// What levels are counted in: `connections`, `B`.
    pub unit: LimitUnit,
    /// Where the climb starts.
    pub from: f64,
    /// By what factor it climbs, and descends where the start is bad already; above 1.
    pub factor: f64,
    /// The lowest level.
    pub least: f64,
    /// The highest.
    pub most: f64,
    /// Levels are whole multiples of this.
    pub grain: f64,
    /// How far apart the bounds may be, relative to the upper one. Neighbours of one grain always suffice.
    pub width: f64,
}

/// What a trial has shown of its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelResult {
    /// It is held, and so much was asked of it, of which so much failed.
    Good {
        /// Requests due.
        due: u64,
        /// Bad ones, within the goal.
        bad: u64,
    },
    /// It is not.
    Bad,
    /// Nothing: something else than the target was the limit.
    Void,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum ThresholdStep {
    /// A trial at this level.
    Try(f64),
    /// Nothing: why.
    Done(SearchEnd),
}

/// All trials at one level.
#[derive(Debug, Clone, PartialEq)]
struct LevelTrials {
    at: f64,
    good: u32,
    bad: u32,
    due: u64,
    lost: u64,
}

impl LevelTrials {
    /// None while as many trials were good as bad.
    fn is_good(&self) -> Option<bool> {
        (self.good != self.bad).then_some(self.good > self.bad)
    }

    fn stands(&self) -> bool {
        self.good.max(self.bad) >= SHOWN
    }
}

/// The search.
#[derive(Debug, Clone)]
pub struct ThresholdSearch {
    range: ThresholdRange,
    /// From the lowest.
    levels: Vec<LevelTrials>,
    void: u32,
    ended: Option<SearchEnd>,
}

impl ThresholdSearch {
    /// Nothing is known yet.
    ///
    /// # Panics
    /// If the range is none: a factor of at most 1, no grain, or the least above the most.
    pub fn new(range: ThresholdRange) -> Self {
        assert!(range.factor > 1.0 && range.grain > 0.0 && range.least <= range.most, "a range: {range:?}");
        Self { range, levels: Vec::new(), void: 0, ended: None }
    }

    /// The same answer until it is told what the trial has shown.
    pub fn next(&self) -> ThresholdStep {
        if let Some(ended) = &self.ended {
            return ThresholdStep::Done(ended.clone());
        }
        if let Some(torn) = self.levels.iter().find(|level| level.is_good().is_none()) {
            return ThresholdStep::Try(torn.at);
        }
        let ThresholdRange { from, factor, least, most, .. } = self.range;
        match (self.lower(), self.upper()) {
            (None, None) => ThresholdStep::Try(self.snapped(from)),
            (Some(lower), None) if lower.at >= self.snapped(most) => {
                confirm_or_end(lower, SearchEnd::MaxReached)
            }
            (Some(lower), None) => {
                ThresholdStep::Try(self.snapped(lower.at * factor).max(lower.at + self.range.grain))
            }
            (None, Some(upper)) if upper.at <= self.snapped(least) => {
                confirm_or_end(upper, SearchEnd::BelowMin)
            }
            (None, Some(upper)) => {
                ThresholdStep::Try(self.snapped(upper.at / factor).min(upper.at - self.range.grain))
            }
            (Some(lower), Some(upper)) if self.is_narrow(lower.at, upper.at) => {
                if lower.stands() {
                    confirm_or_end(upper, SearchEnd::Converged)
                } else {
                    ThresholdStep::Try(lower.at)
                }
            }
            (Some(lower), Some(upper)) => {
                let grain = self.range.grain;
                let middle = self.snapped(f64::midpoint(lower.at, upper.at));
                ThresholdStep::Try(middle.clamp(lower.at + grain, upper.at - grain))
            }
        }
    }

    /// What the trial asked for has shown.
    pub fn take(&mut self, shown: LevelResult) {
        let ThresholdStep::Try(at) = self.next() else { return };
        if shown == LevelResult::Void {
            self.void += 1;
            if self.void > VOID_MOST {
                self.ended = Some(SearchEnd::GeneratorLimit);
            }
            return;
        }
        self.void = 0;
        let place = self.levels.partition_point(|level| level.at < at);
        if self.levels.get(place).is_none_or(|level| level.at > at) {
            self.levels.insert(place, LevelTrials { at, good: 0, bad: 0, due: 0, lost: 0 });
        }
        let level = &mut self.levels[place];
        match shown {
            LevelResult::Good { due, bad } => {
                level.good += 1;
                level.due += due;
                level.lost += bad;
            }
            LevelResult::Bad | LevelResult::Void => level.bad += 1,
        }
    }

    /// It ends before its end.
    pub fn interrupt(&mut self, why: SearchEnd) {
        self.ended.get_or_insert(why);
    }

    /// What is known by now.
    pub fn limit(&self, goal: &str) -> Limit {
        let (lower, upper) = (self.lower(), self.upper());
        let narrow = lower.zip(upper).is_some_and(|(lower, upper)| {
            self.is_narrow(lower.at, upper.at) && lower.stands() && upper.stands()
        });
        Limit {
            held: None,
            goal: goal.to_owned(),
            lower: lower.map(|level| level.at),
            upper: upper.map(|level| level.at),
            unit: self.range.unit.clone(),
            regular: narrow,
            good_trials: lower.map_or(0, |level| level.good),
            bad_trials: upper.map_or(0, |level| level.bad),
            lower_due: lower.map_or(0, |level| level.due),
            lower_bad: lower.map_or(0, |level| level.lost),
            throughput: None,
        }
    }

    /// The lowest level that is bad.
    fn upper(&self) -> Option<&LevelTrials> {
        self.levels.iter().find(|level| level.is_good() == Some(false))
    }

    /// The highest level that is good, of those below the upper bound.
    fn lower(&self) -> Option<&LevelTrials> {
        let upper = self.upper().map_or(f64::INFINITY, |level| level.at);
        self.levels.iter().rev().find(|level| level.at < upper && level.is_good() == Some(true))
    }

    fn is_narrow(&self, lower: f64, upper: f64) -> bool {
        // Neighbours are a grain apart, but for what floats make of it.
        upper - lower <= self.range.width * upper || upper - lower < 1.5 * self.range.grain
    }

    /// The multiple of the grain next to it, within the range.
    fn snapped(&self, level: f64) -> f64 {
        let ThresholdRange { least, most, grain, .. } = self.range;
        (level.clamp(least, most) / grain).round().max(1.0) * grain
    }
}

/// A bound that was shown once is shown again before it ends.
fn confirm_or_end(bound: &LevelTrials, ended: SearchEnd) -> ThresholdStep {
    if bound.stands() { ThresholdStep::Done(ended) } else { ThresholdStep::Try(bound.at) }
}

#[cfg(test)]
mod tests;
