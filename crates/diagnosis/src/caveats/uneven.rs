//! Whether the target's machine was uneven: the same piece of arithmetic, timed repeatedly, took varying processor time. What a target
//! holds varies with that, and no kernel counter shows it.

use crate::ObservedRun;
use crate::observed_run::Trial;
use record::watch::Window;
use record::{Caveat, CaveatDetails, CaveatKind, Purpose, SearchEnd, Verdict};
use units::Share;

/// Usual length of a trial, in windows, and of the stretches compared.
const STRETCH_WINDOWS: usize = 10;
/// Fewer tell nothing.
const MIN_STRETCHES: usize = 6;
/// Below this standard deviation of its speed between stretches, as a share, a machine is even.
const MIN_DEVIATION: f64 = 0.03;

/// Why a limit is not known better, as far as the machine is responsible: for searches in which the target's capacity varied.
pub(super) fn uneven(recording: &ObservedRun, verdict: &Verdict) -> Option<Caveat> {
    let Verdict::Limits {
        ended: SearchEnd::Noisy | SearchEnd::BudgetSpent | SearchEnd::NonStationary, ..
    } = verdict
    else {
        return None;
    };
    recording.places().into_iter().find_map(|place| {
        // Other trials are shorter, or keep no processor busy: an idle one has another clock rate.
        let is_near = |trial: &&Trial| matches!(trial.purpose, Purpose::Measure | Purpose::Confirm);
        let trials = recording.trials.iter().filter(is_near).filter_map(|trial| trial.at(place));
        let stretches = trials.flat_map(|seen| seen.windows.chunks(STRETCH_WINDOWS));
        let log_paces: Vec<f64> = stretches.filter_map(pace).map(f64::ln).collect();
        let (mean, count) = (log_paces.iter().sum::<f64>() / log_paces.len() as f64, log_paces.len());
        let squares: f64 = log_paces.iter().map(|slower| (slower - mean).powi(2)).sum();
        let is_uneven = count >= MIN_STRETCHES && (squares / (count - 1) as f64).sqrt() > MIN_DEVIATION;
        let extreme =
            |of: fn(f64, f64) -> f64| log_paces.iter().copied().map(|slower| mean - slower).reduce(of);
        let (slowest, quickest) = extreme(f64::min).zip(extreme(f64::max)).filter(|_| is_uneven)?;
        let details =
            CaveatDetails::Speeds { slowest: Share(slowest.exp()), quickest: Share(quickest.exp()) };
        Some(Caveat::with_details(CaveatKind::UnevenMachine, details))
    })
}

/// Its mean time, in a stretch of at least half the usual length.
fn pace(windows: &[Window]) -> Option<f64> {
    let paces: Vec<f64> = windows.iter().filter_map(|window| window.host.as_ref()?.pace_ns).collect();
    (2 * paces.len() >= STRETCH_WINDOWS).then(|| paces.iter().sum::<f64>() / paces.len() as f64)
}
