//! How quick answers are, where the goal does not ask for that.

use super::front::met;
use crate::document::{Text, Tone};
use crate::words::{number, rounded};
use crate::{Kind, RunView, Times, Trial, TrialState, Words, freezes, hiccups};
use plan::Objective;
use std::ops::RangeInclusive;
use units::{Nanos, Rate};

/// Trials near a limit, and those at what to plan for, as shares of it.
const NEAR: RangeInclusive<f64> = 0.97..=1.03;
const EASY: RangeInclusive<f64> = 0.78..=0.82;

/// What to plan for, how quick answers are then, and how to ask for quick ones.
pub(super) fn line(view: &RunView) -> Option<Text> {
    let goal = &view.started.as_ref()?.goal;
    let objective: Objective = goal.parse().ok()?;
    view.end.as_ref()?.verdict.as_ref()?;
    if view.words() != Words::Requests {
        return None;
    }
    let (label, plan) = match view.kind() {
        Kind::Load if met(view) == Some(true) => {
            let load = view.load()?;
            let times = load.figures.response()?.quantiles;
            let quick = format!("p50 is {} and p99 {}", times.p50, times.p99);
            // In a closed loop nothing is late, and the rate is what it got through.
            let is_late = |late: &Times| late.quantiles.max > Nanos(1);
            match load
                .rate
                .filter(|_| load.figures.times().nth(LATENESS).flatten().as_ref().is_none_or(is_late))
            {
                Some(rate) => ("plan for", format!("{rate}, which it held: {quick}")),
                None => ("response time", quick),
            }
        }
        Kind::Search => ("plan for", of_search(view)?),
        _ => return None,
    };
    let asks = if objective.deadline.is_some() || view.is_ours() {
        ""
    } else {
        "; to set a limit: --goal 'p99<50ms'"
    };
    Some(Text::labelled(label, plan).and(Tone::Faint, asks))
}

fn p99(trial: &Trial) -> Option<Nanos> {
    trial.figures.response().map(|times| times.quantiles.p99)
}

/// Four fifths of the limit, with how quick answers are there, where that was measured, and next to the limit; where none was reached, what was
/// held.
fn of_search(view: &RunView) -> Option<String> {
    let held = view.limits.first().and_then(|limit| limit.held.or(limit.lower))?;
    if view.is_ours() {
        let held = Rate(held);
        return Some(format!("{held} at most, which it held; response times there are partly torment's own"));
    }
    let within = |shares: RangeInclusive<f64>, state: TrialState| {
        let there = move |trial: &&Trial| trial.rate.is_some_and(|rate| shares.contains(&(rate.0 / held)));
        view.trials.iter().filter(move |trial| TrialState::of(trial) == state).filter(there)
    };
    let near = within(NEAR, TrialState::Good).filter_map(p99).max();
    let easy = within(EASY, TrialState::Good)
        .filter_map(|trial| Some((trial.rate?, trial.figures.response()?.quantiles)))
        .max_by_key(|(_, times)| times.p99);
    let is_found = view.fails_at().is_some();
    let Some((rate, times)) = easy else {
        let near = near.map(|near| format!("; p99 is {near} at most near {}/s", number(held)));
        let (at, why) =
            if is_found { (rounded(Rate(held * EASILY)), "80 % of that") } else { (Rate(held), HELD) };
        return Some(format!("{at} at most, {why}{}", near.unwrap_or_default()));
    };
    // Who sees a bad mark there would find the figure wrong.
    let bad =
        |near: Nanos| within(NEAR, TrialState::Bad).filter_map(p99).max().filter(|bad| bad.0 > 2 * near.0);
    let in_bad =
        near.and_then(bad).map(|bad| format!(" in good trials, {bad} in bad ones")).unwrap_or_default();
    let quick = format!("p50 is {} and p99 {}", times.p50, times.p99);
    let is_hiccup = |near: &Nanos| times.p99.as_secs_f64() > hiccups::ABOVE * near.as_secs_f64();
    let why = near.filter(is_hiccup).map(|_| format!(" ({})", hiccups::why(view, rate.0, true)));
    let why = why.unwrap_or_default() + &freezes::hold_up(view, times.p99);
    if !is_found {
        // Nothing is to be kept away from a limit that was not reached.
        let there = near.map(|near| format!(": p99 up to {near} there{in_bad}")).unwrap_or_default();
        return Some(format!("{} at most, {HELD}{there}; at {rate} {quick}{why}", Rate(held)));
    }
    let up_to = near.map(|near| format!(", p99 up to {near} near {}/s{in_bad}", number(held)));
    Some(format!("{rate} at most, 80 % of that: {quick} there{why}{}", up_to.unwrap_or_default()))
}

/// Where lateness stands among the times of a load.
const LATENESS: usize = 2;
/// What to plan for, as a share of the limit.
const EASILY: f64 = 0.8;
const HELD: &str = "the highest that held";
