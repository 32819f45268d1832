//! What a running search is trying, and why.

use crate::{ArrivalKind, RunView};
use record::Purpose;

/// `None` between trials, and unless a search is running.
pub(super) fn current_trial_words(view: &RunView) -> Option<String> {
    let current = view.current.as_ref().filter(|_| view.running)?;
    let why = match current.purpose {
        Purpose::Load => return None,
        Purpose::Climb => "to find an overload",
        Purpose::WarmUp => "to warm the target up",
        Purpose::Measure => "to narrow the interval",
        Purpose::Sentinel => "to see whether the target has changed",
        Purpose::Confirm => "to try a bound once more",
        Purpose::Recovery => "to see whether the target is as quick as before",
        Purpose::Curve => "to see how quick answers are below the limit",
        Purpose::Profile => "to see which code runs",
    };
    // All trials of a search for connections have one rate.
    let rate = current.rate.filter(|_| current.arrival_kind != ArrivalKind::Connections);
    Some(rate.map_or_else(|| format!("now: {why}"), |rate| format!("now: {rate}, {why}")))
}
