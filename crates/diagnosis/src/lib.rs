//! Diagnosis: recorded windows ▶ evidence ▶ a verdict.
//!
//! [`ObservedRun`] folds a run's events; [`diagnose`] splits it into a well and a degraded part (`run_split`), merges the windows of each
//! (`record::catalogue`), applies every rule (`rules`), some also to downstreams (`downstream`), and orders the findings (`verdict`):
//! what explains what, which came first, with what confidence. A rule is a pure function of what was recorded, so that a better one can
//! judge an old run again.

mod bystanders;
mod case;
mod caveats;
mod compilers;
mod downstream;
mod finding;
mod format;
mod freeze_impact;
mod freezes;
mod loaded_window;
mod observed_run;
mod part_summary;
mod processors;
mod programs;
mod request_path;
mod rules;
mod run_split;
mod saturated_threads;
mod verdict;
mod workers;

pub use caveats::caveats;
pub use compilers::CompilerActivity;
pub use freezes::{Freeze, FreezeActivity, FreezeDetector, Freezes, format_times, rounded_length};
pub use observed_run::ObservedRun;

use case::Case;
use downstream::DownstreamView;
use freeze_impact::FreezeImpact;
use observed_run::{Trial, TrialEnd};
use record::watch::WatchCoverage;
use record::{Diagnosis, NoFinding, Purpose};
use units::{Nanos, Rate};

/// Diagnoses what gave first in a run, and where; also while it is running. Each place is judged by itself, then they are weighed
/// together.
pub fn diagnose(recording: &ObservedRun) -> Diagnosis {
    let unwatched = WatchCoverage::default();
    let places = recording.places();
    let splits: Vec<_> = places.iter().map(|place| run_split::split_run(recording, place)).collect();
    let watched = |place: &str| recording.watched.get(place).unwrap_or(&unwatched);
    let freeze_impact = FreezeImpact::of(recording);
    // The target freezes as a whole, so that is judged at the place where its activity was observed.
    let freeze_place = recording.freeze_detector.place().unwrap_or(places[0]);
    let frozen_at = |place: &str| freeze_impact.as_ref().filter(|_| place == freeze_place);
    let case = |(place, steps)| Case::of(recording, place, watched(place), frozen_at(place), steps);
    let cases: Vec<Case<'_>> = places.iter().copied().zip(&splits).map(case).collect();
    let views: Vec<Vec<DownstreamView>> =
        cases.iter().zip(&splits).map(|(case, steps)| DownstreamView::all(case.watched, steps)).collect();
    let downstream_cases: Vec<Case<'_>> = cases
        .iter()
        .zip(&splits)
        .zip(&views)
        .flat_map(|((case, steps), all)| {
            all.iter().map(move |one| case.for_downstream(recording, one, steps))
        })
        .collect();
    // The load is the same everywhere.
    let (split, case) = (&splits[0], &cases[0]);
    let diagnosis = if split.degraded.seconds.is_empty() && split.void_trials.is_empty() {
        never_degraded(recording, case)
    } else if recording.reached_max {
        no_limit_reached(recording, case)
    } else {
        verdict::judge(&cases, &downstream_cases)
    };
    Diagnosis { unseen: verdict::unseen_notes(&cases), ..diagnosis }
}

/// Diagnoses the running trial. It is not judged yet, so only its own seconds tell whether it is degraded.
pub fn diagnose_ongoing(recording: &ObservedRun) -> Diagnosis {
    let end = TrialEnd { loaded: Nanos(u64::MAX), good: true, invalid: Vec::new(), held_back: None };
    let last = recording.trials.last().cloned();
    let now = last.map(|trial| Trial { purpose: Purpose::Load, end: Some(end), ..trial });
    diagnose(&ObservedRun { trials: now.into_iter().collect(), ..recording.without_trials() })
}

/// The search found no limit: a bad trial on the way was bad by chance, for the target held more.
fn no_limit_reached(recording: &ObservedRun, case: &Case<'_>) -> Diagnosis {
    let mut diagnosis = verdict::empty_diagnosis(case);
    diagnosis.none = Some(NoFinding::NotSaturated);
    let rates = |good: bool| {
        let is_it = move |end: &TrialEnd| end.good == good && end.invalid.is_empty();
        let judged = recording.trials.iter().filter(|trial| trial.purpose != Purpose::WarmUp);
        let them = judged.filter(move |trial| trial.end.as_ref().is_some_and(is_it));
        them.filter_map(|trial| trial.rate)
    };
    let order = |a: &Rate, b: &Rate| a.0.total_cmp(&b.0);
    diagnosis.well_at = rates(true).max_by(order);
    let held = diagnosis.well_at.map(|rate| format!(", {rate}")).unwrap_or_default();
    // A late torment says nothing of the target.
    let bad_note = match (rates(false).count(), rates(false).min_by(order).zip(rates(false).max_by(order))) {
        (1, Some((rate, _))) => format!("; one bad trial at {rate} was chance"),
        (count, Some((least, most))) => {
            format!("; {count} bad trials at {} to {most} were chance", format::format_number(least.0))
        }
        _ => {
            diagnosis.degraded_at = None;
            String::new()
        }
    };
    diagnosis.sentences =
        vec![format!("Nothing gave: the target held the highest load allowed{held}{bad_note}.")];
    diagnosis
}

fn never_degraded(recording: &ObservedRun, case: &Case<'_>) -> Diagnosis {
    let mut diagnosis = verdict::empty_diagnosis(case);
    diagnosis.degraded_at = None;
    let Some(well) = &case.well else {
        diagnosis.none = Some(NoFinding::NothingMeasured);
        diagnosis.sentences = vec!["Nothing was measured that could be judged.".to_owned()];
        return diagnosis;
    };
    diagnosis.none = Some(NoFinding::NotSaturated);
    let offered = recording.trials.iter().filter_map(|trial| trial.rate);
    let highest = offered.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or(Rate(well.load.offered));
    diagnosis.well_at = Some(highest);
    diagnosis.sentences = vec![format!("Nothing gave: the target was well at {highest}.")];
    diagnosis
}
