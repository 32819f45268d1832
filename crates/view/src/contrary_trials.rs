//! Trials on the wrong side of a limit: bad ones where it holds, good ones beyond it; and which good ones support it.

use crate::wording::format_rate;
use crate::wording::number_of;
use crate::{ArrivalKind, RunView, Trial, TrialState};
use record::{Limit, Purpose, SearchEnd};
use units::Nanos;

/// A shorter trial may end before a queue shows.
pub(crate) const BRIEF_TRIAL: Nanos = Nanos::from_secs(5);
/// Rates that differ by less than this share look the same to a reader.
const SAME_RATE: f64 = 0.0005;

/// Every trial that bears on the limit, with its x value: its rate or, in a search for connections, the number of open connections.
pub(crate) fn plotted_trials(view: &RunView) -> impl Iterator<Item = (f64, &Trial)> {
    let at = |trial: &Trial| match trial.arrival_kind {
        ArrivalKind::Connections => Some(trial.figures.connections as f64),
        ArrivalKind::Requests | ArrivalKind::Processes => trial.rate.map(|rate| rate.0),
    };
    view.trials
        .iter()
        .filter(|trial| trial.purpose.is_judged())
        .filter_map(move |trial| Some((at(trial)?, trial)))
}

/// The good trials made to find the limit.
pub(crate) fn good_trials(view: &RunView) -> impl Iterator<Item = &Trial> {
    view.trials.iter().filter(|trial| {
        matches!(trial.purpose, Purpose::Measure | Purpose::Confirm) && trial.state() == TrialState::Good
    })
}

/// How many marks lie on the wrong side of the drawn limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ContraryTrials {
    /// Bad, at or below what holds.
    pub bad: usize,
    /// The same before the warm-up, while the target was cold.
    pub cold: usize,
    /// The highest rate of those.
    pub cold_at: Option<f64>,
    /// Good, above it.
    pub good: usize,
    /// Length of the longest of those.
    pub longest_good: Nanos,
    /// Void, at or below what holds.
    pub void: usize,
    /// Void, above it.
    pub void_above: usize,
    /// Range of the void trials' offered rates.
    pub void_rates: Option<(f64, f64)>,
    /// The same for warm-ups in which the generator fell behind.
    pub warm_up_rates: Option<(f64, f64)>,
    /// Void warm-ups and recovery checks, which are not drawn.
    pub undrawn: usize,
}

/// Extends a range to a rate.
fn extend_range(known: Option<(f64, f64)>, rate: f64) -> Option<(f64, f64)> {
    let (least, most) = known.unwrap_or((rate, rate));
    Some((least.min(rate), most.max(rate)))
}

impl ContraryTrials {
    pub fn from_view(view: &RunView) -> Self {
        let mut found = Self::default();
        let Some(held) = view.held() else { return found };
        let warmed = view.trials.iter().find(|trial| trial.purpose == Purpose::WarmUp);
        let is_cold = |trial: &Trial| warmed.is_some_and(|warmed| trial.number < warmed.number);
        for (at, trial) in plotted_trials(view) {
            let holds = at <= held * (1.0 + SAME_RATE);
            match trial.state() {
                TrialState::Bad if holds && is_cold(trial) => {
                    found.cold += 1;
                    found.cold_at = Some(found.cold_at.map_or(at, |known| known.max(at)));
                }
                TrialState::Bad if holds => found.bad += 1,
                TrialState::Good if !holds => {
                    found.good += 1;
                    found.longest_good = found.longest_good.max(trial.loaded);
                }
                TrialState::Void => {
                    *(if holds { &mut found.void } else { &mut found.void_above }) += 1;
                    found.void_rates = extend_range(found.void_rates, at);
                }
                _ => {}
            }
        }
        let void = || view.trials.iter().filter(|trial| trial.is_void());
        found.undrawn = void().filter(|trial| !trial.purpose.is_judged()).count();
        let warm = void().filter(|trial| trial.purpose == Purpose::WarmUp);
        found.warm_up_rates =
            warm.filter_map(|trial| trial.rate).fold(None, |known, rate| extend_range(known, rate.0));
        found
    }

    /// The note below the picture; empty if no trial is on the wrong side.
    pub fn words(self, view: &RunView) -> String {
        let Self { bad, cold, good, longest_good: good_for, void, void_above, undrawn, .. } = self;
        let of = |count: usize, what: &str| number_of(count, &format!("{what} trial"));
        let mut text = String::new();
        if bad > 0 {
            // If no limit was found, the verdict says what that means.
            let found = view.search_ended().is_none_or(|ended| !ended.is_at_least());
            let why = if found { ": the limit is what nine trials in ten hold" } else { "" };
            text += &format!("; {} at or below the line{why}", of(bad, "bad"));
        }
        if cold > 0 {
            text += &format!("; {} before the warm-up, up to the dashed line", of(cold, "bad"));
        }
        // Beyond a limit that was found, the shading tells what lies there.
        let is_brief = good_for < BRIEF_TRIAL;
        if good > 0 && view.end.is_some() && (is_brief || view.fails_at().is_none()) {
            let why = match view.is_generator_limited() {
                true => "torment fell behind in others at these rates, so nothing is known to hold there",
                false if is_brief => "too short to count as held",
                false => "too little to count as held",
            };
            text += &format!("; {} beyond the line: {why}", of(good, "good"));
        }
        // Their number is stated above or among the caveats.
        if void + void_above > 0 {
            text += "; hollow: void, not counted";
        }
        if undrawn > 0 {
            let them =
                if undrawn == 1 { "a warm-up or recovery check" } else { "warm-ups and recovery checks" };
            text += &format!("; {} not drawn: {them}", of(undrawn, "void"));
        }
        text
    }
}

/// If no limit was found: the bad trials at or below what is said to hold, except before the warm-up; what is said to hold counts only the
/// good ones.
pub(crate) fn bad_below_limit(view: &RunView) -> Vec<&Trial> {
    let Some(held) = view.held().filter(|_| view.search_ended().is_some_and(SearchEnd::is_at_least)) else {
        return Vec::new();
    };
    let warm =
        view.trials.iter().find(|trial| trial.purpose == Purpose::WarmUp).map_or(0, |trial| trial.number);
    let failed = plotted_trials(view).filter(|(at, trial)| {
        *at <= held * (1.0 + SAME_RATE) && trial.number > warm && trial.state() == TrialState::Bad
    });
    failed.map(|(_, trial)| trial).collect()
}

/// Whether torment fell behind in another trial at this trial's rate.
pub(crate) fn fell_behind_at(view: &RunView, trial: &Trial) -> bool {
    view.trials.iter().filter(|other| is_late(other)).any(|other| {
        other.rate.zip(trial.rate).is_some_and(|(other, rate)| (other.0 / rate.0 - 1.0).abs() <= SAME_MARK)
    })
}

/// Whether it is void because of the generator.
fn is_late(trial: &Trial) -> bool {
    trial.void_reasons().iter().any(|caveat| caveat.doubt.is_generator())
}

/// Rates closer than this share are drawn at one place.
pub(crate) const SAME_MARK: f64 = 0.005;

/// The good trials drawn at a rate: how many, their requests due, and how many of those were bad.
pub(crate) fn good_at(view: &RunView, rate: f64) -> (u64, (u64, u64)) {
    let there = plotted_trials(view)
        .filter(|(at, trial)| (at / rate - 1.0).abs() <= SAME_MARK && trial.state() == TrialState::Good);
    there.fold((0, (0, 0)), |(count, (due, lost)), (_, trial)| {
        (count + 1, (due + trial.figures.due, lost + trial.figures.outcomes.bad()))
    })
}

/// The whole good trials since the last warm-up: earlier ones are of another target, and short ones prove little.
fn whole_since_warm_up(view: &RunView) -> Vec<&Trial> {
    let warmed = view.trials.iter().rfind(|trial| trial.purpose == Purpose::WarmUp);
    let since = warmed.map_or(0, |trial| trial.number);
    let longest = good_trials(view).map(|trial| trial.loaded).max().unwrap_or_default();
    good_trials(view).filter(|trial| trial.number > since && trial.loaded * 10 >= longest * 9).collect()
}

/// The good trials that support an estimated limit: the highest, as far as its interval reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SupportingTrials {
    pub good: usize,
    /// Bad trials among them, from their lowest rate up to what holds.
    pub bad: usize,
    /// Their lowest rate, and their highest.
    pub lowest: f64,
    pub highest: f64,
    /// Requests due in the good ones, and how many of them were bad.
    pub due: u64,
    pub lost: u64,
}

impl SupportingTrials {
    /// `None` if the limit was not estimated, or not from these trials.
    pub fn from_limit<'a>(view: &'a RunView, limit: &Limit) -> Option<Self> {
        let held = limit.held?;
        let rate = |trial: &Trial| trial.rate.map_or(0.0, |rate| rate.0);
        let due = |trials: &[&Trial]| trials.iter().map(|trial| trial.figures.due).sum::<u64>();
        let highest = |mut good: Vec<&'a Trial>| {
            good.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
            good.truncate(limit.good_trials as usize);
            (!good.is_empty() && due(&good) == limit.lower_due).then_some(good)
        };
        let mut good = highest(good_trials(view).collect()).or_else(|| highest(whole_since_warm_up(view)))?;
        let most = limit.upper.unwrap_or(f64::INFINITY) * (1.0 + SAME_RATE);
        if good.iter().any(|trial| rate(trial) <= most) {
            good.retain(|trial| rate(trial) <= most);
        }
        let (highest, lowest) = (rate(good[0]), rate(good[good.len() - 1]));
        let since = view.trials.iter().find(|trial| trial.purpose == Purpose::WarmUp).map_or(0, |t| t.number);
        let bad = view.trials.iter().filter(|trial| {
            matches!(trial.purpose, Purpose::Measure | Purpose::Confirm)
                && trial.number > since
                && trial.state() == TrialState::Bad
                && (lowest..=held * (1.0 + SAME_RATE)).contains(&rate(trial))
        });
        Some(Self {
            good: good.len(),
            bad: bad.count(),
            lowest,
            highest,
            due: due(&good),
            lost: good.iter().map(|trial| trial.figures.outcomes.bad()).sum(),
        })
    }

    /// `at 1,983 to 1,991`; `even at 31,490` if the limit is below all of them. Rates times trial lengths give the requests counted.
    pub fn at(&self, held: f64) -> String {
        let (lowest, highest) = (format_rate(self.lowest), format_rate(self.highest));
        let above = if self.lowest > held * (1.0 + SAME_RATE) { "even " } else { "" };
        if lowest == highest {
            format!("{above}at {highest}")
        } else {
            format!("{above}at {lowest} to {highest}")
        }
    }
}

/// In how many trials torment fell behind below the highest rate allowed, where too many to go on.
pub(crate) fn fell_behind(view: &RunView) -> Option<usize> {
    let late = view.trials.iter().filter(|trial| is_late(trial)).count();
    let many = late * MANY >= plotted_trials(view).count();
    (late > 0 && many && view.search_ended() == Some(&SearchEnd::MaxReached)).then_some(late)
}

/// One void trial in so many is too many.
const MANY: usize = 4;
