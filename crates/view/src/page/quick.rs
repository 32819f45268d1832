//! How quick answers are, where the goal does not ask for that.

use super::front::met;
use crate::document::{Text, Tone};
use crate::words::number;
use crate::{Kind, RunView, Trial, TrialState, Words, freezes, hiccups};
use plan::Objective;
use std::ops::RangeInclusive;
use units::Nanos;

/// Trials near a limit, and those at what to plan for, as shares of it.
const NEAR: RangeInclusive<f64> = 0.97..=1.03;
const EASY: RangeInclusive<f64> = 0.78..=0.82;

/// What to plan for, how quick answers are then, and how to ask for quick ones.
pub(super) fn line(view: &RunView) -> Option<Text> {
    let goal = &view.started.as_ref()?.goal;
    let objective: Objective = goal.parse().ok()?;
    view.end.as_ref()?.verdict.as_ref()?;
    // Where torment was the limit, much of them is its own.
    if objective.deadline.is_some() || view.words() != Words::Requests || view.is_ours() {
        return None;
    }
    let (label, quick) = match view.kind() {
        Kind::Load if met(view) == Some(true) => {
            let times = view.load()?.figures.response()?.quantiles;
            ("response time", format!("p50 is {} and p99 {}", times.p50, times.p99))
        }
        Kind::Search => of_search(view)?,
        _ => return None,
    };
    let asks = "; to set a limit: --goal 'p99<50ms'";
    Some(Text::labelled(label, quick).and(Tone::Faint, asks))
}

fn p99(trial: &Trial) -> Option<Nanos> {
    trial.figures.response().map(|times| times.quantiles.p99)
}

/// At four fifths of the limit, where that was measured, and next to it.
fn of_search(view: &RunView) -> Option<(&'static str, String)> {
    let held = view.limits.first().and_then(|limit| limit.held.or(limit.lower))?;
    let within = |shares: RangeInclusive<f64>, state: TrialState| {
        let there = move |trial: &&Trial| trial.rate.is_some_and(|rate| shares.contains(&(rate.0 / held)));
        view.trials.iter().filter(move |trial| TrialState::of(trial) == state).filter(there)
    };
    let near = within(NEAR, TrialState::Good).filter_map(p99).max();
    let easy = within(EASY, TrialState::Good)
        .filter_map(|trial| Some((trial.rate?, trial.figures.response()?.quantiles)))
        .max_by_key(|(_, times)| times.p99);
    let Some((rate, times)) = easy else {
        return Some(("response time", format!("p99 is {} at most near it", near?)));
    };
    let up_to = near.map(|near| {
        // Who sees a bad mark there would find the figure wrong.
        let bad = within(NEAR, TrialState::Bad).filter_map(p99).max().filter(|bad| bad.0 > 2 * near.0);
        let bad = bad.map(|bad| format!(" in good trials, {bad} in bad ones")).unwrap_or_default();
        format!(", p99 up to {near} near {}/s{bad}", number(held))
    });
    let is_hiccup = |near: Nanos| times.p99.as_secs_f64() > hiccups::ABOVE * near.as_secs_f64();
    let why =
        near.filter(|near| is_hiccup(*near)).map(|_| format!(" ({})", hiccups::why(view, rate.0, true)));
    let (label, at, there) = match view.fails_at() {
        Some(_) => ("plan for", format!("{rate} at most, 80 % of that:"), " there"),
        // Where no limit was reached nothing is to be kept away from it.
        None => ("response time", format!("at {rate}"), ""),
    };
    let quick = format!("p50 is {} and p99 {}{there}", times.p50, times.p99);
    let but = [why, Some(freezes::hold_up(view, times.p99)), up_to].into_iter().flatten().collect::<String>();
    Some((label, format!("{at} {quick}{but}")))
}
