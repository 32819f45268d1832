//! Whether the target's machine was uneven: the same piece of arithmetic, timed repeatedly, took varying processor time. What a target
//! holds varies with that, and no kernel counter shows it.

use crate::ObservedRun;
use crate::observed_run::Trial;
use record::watch::Window;
use record::{Caveat, CaveatDetails, CaveatKind, Purpose, SearchEnd, Verdict};
use units::Share;

/// Usual length of a trial, in windows, and of the stretches compared.
const STRETCH: usize = 10;
/// Fewer tell nothing.
const STRETCHES_LEAST: usize = 6;
/// Below this standard deviation of its speed between stretches, as a share, a machine is even.
const UNEVEN: f64 = 0.03;

/// Why a limit is not known better, as far as the machine is responsible: for searches in which the target's capacity varied.
pub(super) fn uneven(recording: &ObservedRun, came_to: &Verdict) -> Option<Caveat> {
    let Verdict::Limits {
        ended: SearchEnd::Noisy | SearchEnd::BudgetSpent | SearchEnd::NonStationary, ..
    } = came_to
    else {
        return None;
    };
    recording.places().into_iter().find_map(|place| {
        // Other trials are shorter, or keep no processor busy: an idle one has another clock rate.
        let is_near = |trial: &&Trial| matches!(trial.purpose, Purpose::Measure | Purpose::Confirm);
        let trials = recording.trials.iter().filter(is_near).filter_map(|trial| trial.at(place));
        let stretches = trials.flat_map(|seen| seen.windows.chunks(STRETCH));
        let slower: Vec<f64> = stretches.filter_map(pace).map(f64::ln).collect();
        let (mean, count) = (slower.iter().sum::<f64>() / slower.len() as f64, slower.len());
        let squares: f64 = slower.iter().map(|slower| (slower - mean).powi(2)).sum();
        let is_uneven = count >= STRETCHES_LEAST && (squares / (count - 1) as f64).sqrt() > UNEVEN;
        let most = |of: fn(f64, f64) -> f64| slower.iter().copied().map(|slower| mean - slower).reduce(of);
        let (slowest, quickest) = most(f64::min).zip(most(f64::max)).filter(|_| is_uneven)?;
        let grounds =
            CaveatDetails::Speeds { slowest: Share(slowest.exp()), quickest: Share(quickest.exp()) };
        Some(Caveat::with_details(CaveatKind::UnevenMachine, grounds))
    })
}

/// Its mean time, in a stretch of at least half the usual length.
fn pace(windows: &[Window]) -> Option<f64> {
    let paces: Vec<f64> = windows.iter().filter_map(|window| window.host.as_ref()?.pace_ns).collect();
    (2 * paces.len() >= STRETCH).then(|| paces.iter().sum::<f64>() / paces.len() as f64)
}
