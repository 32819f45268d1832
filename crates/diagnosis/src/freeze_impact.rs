//! The effect of freezes on the load: how many of the waiting requests they left, and whether they tell good trials from bad ones.

use crate::freezes::{Freeze, Freezes};
use crate::observed_run::{ObservedRun, Second, Trial};
use record::Purpose;
use std::collections::BTreeMap;
use units::{Nanos, Rate};

/// Trials within this factor of a rate are next to it.
const NEAR_LIMIT: f64 = 1.03;

/// A run's freezes related to its load.
#[derive(Debug, Clone)]
pub(crate) struct FreezeImpact {
    pub freezes: Freezes,
    /// By trial and second: how many of those outstanding were left by freezes.
    left_by_second: BTreeMap<(u32, Nanos), f64>,
    /// Freezes per minute next to the limit; none for a single load, or if no trial was bad.
    pub frequency: Option<FreezeFrequency>,
}

/// How often the target froze.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FreezeFrequency {
    /// Per minute, in the bad trials at the lowest bad rate; none if one of them had no freeze.
    pub when_bad: Option<f64>,
    /// Per minute, in the good trials at the highest rate below that, and above.
    pub when_good: f64,
}

impl FreezeFrequency {
    /// By what share rarer in good trials: 1 if only bad ones froze, 0 if there is no difference.
    pub fn rarer_when_good(self) -> f64 {
        self.when_bad.map_or(0.0, |bad| (1.0 - self.when_good / bad).max(0.0))
    }
}

impl FreezeImpact {
    /// None if the target never froze.
    pub fn of(recording: &ObservedRun) -> Option<Self> {
        let freezes = recording.freeze_detector.freezes()?;
        let left_by_second = recording.trials.iter().flat_map(|trial| {
            let here: Vec<&Freeze> =
                freezes.each.iter().filter(|freeze| freeze.trial == trial.number).collect();
            left_waiting_in(trial, &here)
        });
        let (left, frequency) = (left_by_second.collect(), freeze_frequency(recording, &freezes));
        Some(Self { freezes, left_by_second: left, frequency })
    }

    /// How many of those outstanding in a second were left by freezes.
    pub fn left_waiting(&self, second: &Second) -> f64 {
        self.left_by_second.get(&(second.trial, second.from)).copied().unwrap_or(0.0)
    }
}

/// What arrives in a freeze is left until no more are outstanding than that plus the usual number.
fn left_waiting_in(trial: &Trial, freezes: &[&Freeze]) -> Vec<((u32, Nanos), f64)> {
    let mut left = 0.0_f64;
    let quickest = trial.seconds.iter().filter_map(|second| second.response_p50).min().unwrap_or_default();
    let seconds = trial.seconds.iter().filter(|_| !freezes.is_empty());
    let of = seconds.map(|second| {
        let (end, rate) = (second.from + second.elapsed, Rate::of(second.due, second.elapsed).0);
        let frozen = freezes.iter().map(|freeze| (freeze.from.max(second.from), freeze.to.min(end)));
        let frozen = frozen.filter(|(from, to)| to > from).map(|(from, to)| (to - from).as_secs_f64());
        let most = left + rate * frozen.sum::<f64>();
        let always = rate * quickest.as_secs_f64();
        left = most.min((second.in_flight + second.backlog) as f64 - always).max(0.0);
        ((trial.number, second.from), most)
    });
    of.collect()
}

fn freeze_frequency(recording: &ObservedRun, freezes: &Freezes) -> Option<FreezeFrequency> {
    let judged = |good: bool| {
        let trials = recording.trials.iter();
        trials.filter(|trial| trial.purpose.is_judged() && trial.purpose != Purpose::Load).filter_map(
            move |trial| {
                let end = trial.end.as_ref().filter(|end| end.good == good && end.invalid.is_empty())?;
                Some((trial.rate?.0, trial.number, end.loaded))
            },
        )
    };
    let lowest_bad = judged(false).map(|(rate, ..)| rate).min_by(f64::total_cmp)?;
    let best_good =
        judged(true).map(|(rate, ..)| rate).filter(|rate| *rate <= lowest_bad).max_by(f64::total_cmp);
    let freezes_in = |number: u32| freezes.each.iter().filter(|freeze| freeze.trial == number).count();
    let per_minute = |trials: &[(f64, u32, Nanos)]| {
        let count: usize = trials.iter().map(|(_, number, _)| freezes_in(*number)).sum();
        let time: f64 = trials.iter().map(|(.., loaded)| loaded.as_secs_f64()).sum();
        if time > 0.0 { 60.0 * count as f64 / time } else { 0.0 }
    };
    let bad: Vec<_> = judged(false).filter(|(rate, ..)| *rate <= lowest_bad * NEAR_LIMIT).collect();
    let good: Vec<_> =
        judged(true).filter(|(rate, ..)| *rate >= best_good.unwrap_or(lowest_bad) / NEAR_LIMIT).collect();
    let bad = bad.iter().all(|(_, number, _)| freezes_in(*number) > 0).then(|| per_minute(&bad));
    Some(FreezeFrequency { when_bad: bad, when_good: per_minute(&good) })
}
