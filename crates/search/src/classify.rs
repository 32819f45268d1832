//! What the trials at one level prove: the sums and classes of MLRsearch.
//!
//! Source: *Multiple Loss Ratio Search*, draft-ietf-bmwg-mlrsearch-15, "Load Classification Logic" and "Conditional Throughput". The
//! choice of the next level is free; this part is not.

use plan::Goal;

/// A trial shorter than the goal's final duration by less than this share still counts in full: engines stop at a slice's edge, not on
/// the nanosecond.
const FULL_SHARE: f64 = 0.99;

/// One valid trial at a level, reduced to what classification needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialAtLevel {
    /// Effective duration: as planned if it was stopped as hopeless, else as loaded.
    pub seconds: f64,
    /// Share of arrivals lost, including what a growing queue implies.
    pub loss: f64,
    /// Whether it met the objective.
    pub good: bool,
    /// Arrivals due.
    pub due: u64,
    /// Bad ones among them.
    pub bad: u64,
}

impl TrialAtLevel {
    fn is_full(&self, goal: &Goal) -> bool {
        self.seconds >= goal.trial.as_secs_f64() * FULL_SHARE
    }
}

/// A level's class for one goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Meets the goal, even if every missing second turns out bad.
    Lower,
    /// Fails the goal, even if every missing second turns out good.
    Upper,
    /// Neither yet.
    Undecided,
}

/// Seconds at one level, as the draft sums them.
struct Sums {
    full_good: f64,
    effective_bad: f64,
    whole: f64,
}

fn sums(trials: &[TrialAtLevel], goal: &Goal) -> Sums {
    let total = |full: bool, good: bool| -> f64 {
        trials.iter().filter(|t| t.is_full(goal) == full && t.good == good).map(|t| t.seconds).sum()
    };
    let exceed = goal.exceed.0;
    let balancing = total(false, true) * exceed / (1.0 - exceed);
    let full_good = total(true, true);
    let effective_bad = total(true, false) + (total(false, false) - balancing).max(0.0);
    Sums { full_good, effective_bad, whole: (full_good + effective_bad).max(goal.sum.as_secs_f64()) }
}

/// Classifies a level by all its valid trials. The goal's exceed ratio is below 1.
pub fn classify(trials: &[TrialAtLevel], goal: &Goal) -> Class {
    let s = sums(trials, goal);
    // A little slack, so that trials of 9.95 s add up to 30 s.
    let tolerance = (1.0 - FULL_SHARE) * s.whole;
    if s.effective_bad > goal.exceed.0 * s.whole {
        Class::Upper
    } else if s.whole - s.full_good <= goal.exceed.0 * s.whole + tolerance {
        Class::Lower
    } else {
        Class::Undecided
    }
}

/// Whether an undecided level leans bad: its bad seconds outweigh what the goal lets pass.
pub fn leans_bad(trials: &[TrialAtLevel], goal: &Goal) -> bool {
    let total = |good: bool| -> f64 { trials.iter().filter(|t| t.good == good).map(|t| t.seconds).sum() };
    total(false) > total(true) * goal.exceed.0 / (1.0 - goal.exceed.0)
}

/// Conditional throughput in requests per second: the level times one minus the loss at the (1 − E) quantile, by duration, of its full
/// trials; missing seconds count as lost.
pub fn conditional_throughput(rate: f64, trials: &[TrialAtLevel], goal: &Goal) -> f64 {
    let mut full: Vec<&TrialAtLevel> = trials.iter().filter(|t| t.is_full(goal)).collect();
    full.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let target = sums(trials, goal).whole * (1.0 - goal.exceed.0) * FULL_SHARE;
    let mut seconds = 0.0;
    for trial in full {
        seconds += trial.seconds;
        if seconds >= target {
            return rate * (1.0 - trial.loss).max(0.0);
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Objective;
    use units::{Nanos, Share};

    fn goals() -> [Goal; 2] {
        Goal::strict_goals(&Objective::ZERO_DROP, Nanos::from_secs(10), Nanos::from_secs(30), Share(0.02))
    }

    /// `"10g 10b 1g"`: seconds, good or bad.
    fn trials(text: &str) -> Vec<TrialAtLevel> {
        text.split_whitespace()
            .map(|word| {
                let (seconds, kind) = word.split_at(word.len() - 1);
                let good = kind == "g";
                let seconds = seconds.parse().expect("a number");
                TrialAtLevel { seconds, loss: if good { 0.0 } else { 0.25 }, good, due: 100, bad: 0 }
            })
            .collect()
    }

    fn check(text: &str, strict: Class, typical: Class) {
        let [s, t] = goals();
        assert_eq!((classify(&trials(text), &s), classify(&trials(text), &t)), (strict, typical), "{text}");
    }

    #[test]
    fn classes_follow_the_sums() {
        use Class::{Lower, Undecided, Upper};
        check("", Undecided, Undecided);
        check("10g", Undecided, Undecided);
        check("10g 10g", Undecided, Lower);
        check("10g 10g 10g", Lower, Lower);
        check("9.95g 9.95g 9.95g", Lower, Lower);
        check("10b", Upper, Undecided);
        check("10b 10g", Upper, Undecided);
        check("10b 10b", Upper, Upper);
        check("10b 10g 10g", Upper, Lower);
        check("10b 10b 10g 10g", Upper, Lower);
        check("60b 60g", Upper, Lower);
        // Short good trials decide nothing, but outweigh short bad ones for `typical`.
        check("1g 1g 1g", Undecided, Undecided);
        check("2b", Upper, Undecided);
        check("8b 8b", Upper, Upper);
        check("8b 8b 8g", Upper, Undecided);
    }

    #[test]
    fn throughput_counts_missing_seconds_as_lost() {
        let [strict, typical] = goals();
        assert_eq!(conditional_throughput(1000.0, &trials("10g 10g"), &strict), 0.0);
        assert_eq!(conditional_throughput(1000.0, &trials("10g 10g"), &typical), 1000.0);
        assert_eq!(conditional_throughput(1000.0, &trials("10g 10b 10g"), &strict), 750.0);
        assert_eq!(conditional_throughput(1000.0, &trials("10g 10b 10b"), &typical), 750.0);
    }
}
