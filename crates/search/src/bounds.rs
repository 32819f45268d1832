//! The database of trials that all goals share, and the bounds it proves.

use crate::classify::{Class, TrialAtLevel, classify, conditional_throughput, leans_bad};
use plan::Goal;
use record::{Limit, LimitUnit};
use units::Share;

/// Rates closer than this share are the same level.
const RATE_TOLERANCE: f64 = 1e-6;

/// A rate and its valid trials.
#[derive(Debug, Clone)]
pub struct RateLevel {
    /// Offered rate, per second.
    pub rate: f64,
    /// Trials there that have not expired.
    pub trials: Vec<TrialAtLevel>,
}

impl RateLevel {
    fn is_at(&self, rate: f64) -> bool {
        (self.rate / rate - 1.0).abs() < RATE_TOLERANCE
    }

    /// Whether it is proven to fail the goal, or leans that way.
    fn fails(&self, goal: &Goal) -> bool {
        match classify(&self.trials, goal) {
            Class::Upper => true,
            Class::Lower => false,
            Class::Undecided => leans_bad(&self.trials, goal),
        }
    }
}

/// The levels that one goal's limit lies between, proven or as far as the trials suggest.
#[derive(Debug, Clone, Copy)]
pub struct Bracket<'a> {
    /// The largest level below `upper` that meets the goal or leans that way.
    pub lower: Option<&'a RateLevel>,
    /// The smallest level that fails the goal or leans that way.
    pub upper: Option<&'a RateLevel>,
}

/// All levels, by rate.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    levels: Vec<RateLevel>,
}

/// The distance of two rates as in MLRsearch, relative to the larger.
pub fn width(lower: f64, upper: f64) -> f64 {
    (upper - lower) / upper
}

/// Rounds to four significant digits, so that people can read and compare levels.
pub fn rounded(rate: f64) -> f64 {
    let step = 10f64.powi(rate.max(1e-6).log10().floor() as i32 - 3);
    (rate / step).round() * step
}

impl Bounds {
    pub fn add(&mut self, rate: f64, trial: TrialAtLevel) {
        match self.levels.iter_mut().find(|l| l.is_at(rate)) {
            Some(level) => level.trials.push(trial),
            None => {
                let place = self.levels.partition_point(|l| l.rate < rate);
                self.levels.insert(place, RateLevel { rate, trials: vec![trial] });
            }
        }
    }

    /// Drops the bad trials at a level that has passed since.
    pub fn expire_bad(&mut self, rate: f64) {
        for level in self.levels.iter_mut().filter(|l| l.is_at(rate)) {
            level.trials.retain(|t| t.good);
        }
        self.levels.retain(|l| !l.trials.is_empty());
    }

    /// Revokes excuses: a trial that lost more than `allowed` was bad.
    pub fn revoke_excused(&mut self, allowed: Share) {
        for trial in self.levels.iter_mut().flat_map(|level| &mut level.trials) {
            trial.good &= Share::of(trial.bad, trial.due).0 <= allowed.0;
        }
    }

    /// Is replaced by newer trials; if all of those failed, they join these, for they suggest no lower bound.
    pub fn give_way(&mut self, newer: Self) {
        if newer.levels.iter().flat_map(|l| &l.trials).any(|t| t.good) {
            *self = newer;
        } else {
            newer.levels.into_iter().for_each(|l| l.trials.into_iter().for_each(|t| self.add(l.rate, t)));
        }
    }

    pub fn below(&self, rate: f64) -> Self {
        Self { levels: self.levels.iter().filter(|level| level.rate < rate).cloned().collect() }
    }

    /// This level alone.
    pub fn only(&self, rate: f64) -> Self {
        Self { levels: self.levels.iter().filter(|l| l.is_at(rate)).cloned().collect() }
    }

    pub fn at(&self, rate: f64) -> &[TrialAtLevel] {
        self.levels.iter().find(|l| l.is_at(rate)).map_or(&[], |l| &l.trials)
    }

    /// All levels, by ascending rate.
    pub fn levels(&self) -> &[RateLevel] {
        &self.levels
    }

    /// The highest rate that any trial held, of whatever length; 0 if none did.
    pub fn highest_held(&self) -> f64 {
        let held = |level: &&RateLevel| level.trials.iter().any(|trial| trial.good);
        self.levels.iter().rfind(held).map_or(0.0, |level| level.rate)
    }

    pub fn bracket(&self, goal: &Goal) -> Bracket<'_> {
        let split = self.levels.iter().position(|l| l.fails(goal)).unwrap_or(self.levels.len());
        Bracket { lower: split.checked_sub(1).map(|i| &self.levels[i]), upper: self.levels.get(split) }
    }

    /// The relevant bounds: the smallest level proven to fail and the largest below it proven to meet the goal.
    pub fn proven(&self, goal: &Goal) -> (Option<&RateLevel>, Option<&RateLevel>) {
        let is = |class| move |l: &&RateLevel| classify(&l.trials, goal) == class;
        let upper = self.levels.iter().find(is(Class::Upper));
        let below = |l: &&RateLevel| upper.is_none_or(|u| l.rate < u.rate);
        (self.levels.iter().filter(below).rfind(is(Class::Lower)), upper)
    }

    /// What to publish for `goal`: the proven bounds, else what the trials suggest, marked as not regular.
    pub fn limit(&self, goal: &Goal) -> Limit {
        let (lower, upper) = self.proven(goal);
        let regular = match (lower, upper) {
            (Some(l), Some(u)) => width(l.rate, u.rate) <= goal.width.0 + RATE_TOLERANCE,
            _ => false,
        };
        // Trials may fail even below what is proven to hold.
        let fails = |l: &&RateLevel| l.fails(goal) && lower.is_none_or(|lower| l.rate > lower.rate);
        let upper = upper.or_else(|| self.levels.iter().find(fails));
        let suggested = self.bracket(goal).lower.filter(|l| upper.is_none_or(|u| l.rate < u.rate));
        let lower = lower.or(suggested);
        let trials = |level: Option<&RateLevel>, good: bool| {
            level.map_or(0, |l| l.trials.iter().filter(|t| t.good == good).count() as u32)
        };
        Limit {
            held: None,
            goal: goal.name.clone(),
            lower: lower.map(|l| l.rate),
            upper: upper.map(|l| l.rate),
            unit: LimitUnit::Requests,
            regular,
            good_trials: trials(lower, true),
            bad_trials: trials(upper, false),
            lower_due: lower.map_or(0, |l| l.trials.iter().map(|t| t.due).sum()),
            lower_bad: lower.map_or(0, |l| l.trials.iter().map(|t| t.bad).sum()),
            throughput: lower.map(|l| conditional_throughput(l.rate, &l.trials, goal)).filter(|t| *t > 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Objective;
    use units::Nanos;

    fn bounds(text: &str) -> Bounds {
        let mut bounds = Bounds::default();
        for word in text.split_whitespace() {
            let (rate, kind) = word.split_at(word.len() - 1);
            let good = kind == "g";
            let loss = if good { 0.0 } else { 0.1 };
            let rate: f64 = rate.parse().expect("a number");
            bounds.add(rate, TrialAtLevel { seconds: 10.0, loss, good, due: 100, bad: u64::from(!good) });
        }
        bounds
    }

    #[test]
    fn the_smallest_upper_wins() {
        let [strict, typical] = Goal::strict_goals(
            &Objective::ZERO_DROP,
            Nanos::from_secs(10),
            Nanos::from_secs(30),
            Share(0.02),
        );
        let b = bounds("980g 980g 980g 990b 990g 990g 1000g 1000g 1000g 1005b 1005b");
        let s = b.limit(&strict);
        assert_eq!((s.lower, s.upper, s.regular, s.lower_due), (Some(980.0), Some(990.0), true, 300));
        let t = b.limit(&typical);
        assert_eq!((t.lower, t.upper, t.regular, t.bad_trials), (Some(1000.0), Some(1005.0), true, 2));
        assert_eq!(t.throughput, Some(1000.0));
    }

    #[test]
    fn what_is_not_proven_is_marked() {
        let [strict, typical] = Goal::strict_goals(
            &Objective::ZERO_DROP,
            Nanos::from_secs(10),
            Nanos::from_secs(30),
            Share(0.02),
        );
        let b = bounds("640g 1280g 2560b");
        for goal in [&strict, &typical] {
            let l = b.limit(goal);
            assert_eq!(
                (l.lower, l.upper, l.regular, l.throughput),
                (Some(1280.0), Some(2560.0), false, None)
            );
        }
        assert_eq!(Bounds::default().limit(&strict).lower, None);
        let b = bounds("980g 990b 1000g 1000g 1000g 1010b");
        let t = b.limit(&typical);
        assert_eq!((t.lower, t.upper), (Some(1000.0), Some(1010.0)), "an upper bound is above the lower one");
        let mut b = bounds("640g 1280g 1280b 1280g");
        b.expire_bad(1280.0);
        assert_eq!(b.limit(&strict).lower, Some(1280.0));
        assert!(b.bracket(&strict).upper.is_none());
    }

    #[test]
    fn levels_have_four_digits() {
        for (rate, expected) in [(1982.84, 1983.0), (12.3456, 12.35), (123456.0, 123500.0), (0.97654, 0.9765)]
        {
            assert!((rounded(rate) - expected).abs() < 1e-9, "{rate}");
        }
    }
}
