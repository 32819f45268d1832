//! How quick answers are, if the goal does not ask for that.

use super::pictures::knee;
use crate::contrary_trials::SAME_MARK;
use crate::document::{Text, Tone};
use crate::wording::{format_rate, rounded};
use crate::{ArrivalKind, ReportKind, RunView, TimeSummary, Trial, TrialState, freezes, hiccups};
use plan::Objective;
use std::ops::RangeInclusive;
use units::{Nanos, Rate};

/// Trials near a limit, and near the planned load, as shares of it.
const NEAR_LIMIT: RangeInclusive<f64> = 0.97..=1.03;
const NEAR_PLANNED: RangeInclusive<f64> = 0.78..=0.82;
/// The planned load, as a share of what holds, whether or not that is the limit: the rest is for what a search does not see.
const PLANNED_SHARE: f64 = 0.8;
/// A rate that differs from the share by more is called about that share.
const SHARE_TOLERANCE: f64 = 0.01;
/// A figure measured at a rate this much lower is given with that rate.
const SAME_RATE_SHARE: f64 = 0.98;

/// What to plan for, the response time at that load, and how to ask for quick answers.
pub(super) fn line(view: &RunView) -> Option<Text> {
    let goal = &view.started.as_ref()?.goal;
    let objective: Objective = goal.parse().ok()?;
    view.verdict()?;
    if view.arrival_kind() != ArrivalKind::Requests {
        return None;
    }
    let (label, plan) = match view.kind() {
        ReportKind::Load => of_load(view)?,
        ReportKind::Search if view.is_slowing_down() => {
            return Some(Text::labelled("plan for", "no rate yet: it does less the longer it runs"));
        }
        ReportKind::Search => ("plan for", of_search(view)?),
        _ => return None,
    };
    let asks =
        if objective.deadline.is_some() || view.is_generator_limited() || view.goal_met() == Some(false) {
            ""
        } else {
            "; to set a limit: --goal 'p99<50ms'"
        };
    Some(Text::labelled(label, plan).with_span(Tone::Faint, asks))
}

fn p99(trial: &Trial) -> Option<Nanos> {
    trial.figures.quantiles().map(|times| times.p99)
}

/// The offered load and its response time: nothing is known of higher rates, and too high a rate gives no figure to plan with.
fn of_load(view: &RunView) -> Option<(&'static str, String)> {
    let load = view.load()?;
    // In a closed loop nothing is late, and the rate is its throughput.
    let is_late = |late: &TimeSummary| late.quantiles.max > Nanos(1);
    let is_open = load.figures.times().nth(LATENESS_INDEX).flatten().as_ref().is_none_or(is_late);
    let rate = load.rate.filter(|_| is_open);
    match (view.goal_met()?, rate) {
        (false, rate) => {
            let rate = rate?;
            Some(("plan for", format!("less than {rate}; torment find shows how much it holds")))
        }
        (true, rate) => {
            let times = load.figures.quantiles()?;
            let quick = format!("p50 is {} and p99 {}", times.p50, times.p99);
            Some(match rate {
                Some(rate) if freezes::is_recurrent(view) => {
                    ("tried", format!("{rate} alone: {quick}, with the freezes"))
                }
                Some(rate) => {
                    ("tried", format!("{rate} alone: {quick}; torment find shows how much it holds"))
                }
                None => ("response time", quick),
            })
        }
    }
}

/// The rate to plan for, and why.
struct PlanningRate {
    rate: f64,
    why: String,
    /// A share of something: nearby rates do as well.
    is_share: bool,
}

impl PlanningRate {
    /// Four fifths of what holds; less if answers take longer already, or if the limit may be lower.
    fn of(view: &RunView, held: f64) -> Self {
        let (holds, longer) = match freezes::sustained_rate(view) {
            Some(rate) => (rate.0, " for longer than a trial"),
            None => (held, ""),
        };
        let why = format!("80 % of what holds{longer}, to have room");
        let mut plan = Self { rate: holds * PLANNED_SHARE, why, is_share: true };
        let lower = view.limits.first().and_then(|limit| limit.lower).filter(|lower| *lower < plan.rate);
        if let Some(lower) = lower {
            plan = Self { rate: lower, why: "the lower end of the interval".to_owned(), is_share: false };
        }
        if let Some(knee) = knee(view).filter(|knee| *knee <= plan.rate) {
            plan = Self { rate: knee, why: "where the knee is".to_owned(), is_share: false };
        }
        plan
    }
}

/// Good trials with their rates.
fn good(view: &RunView) -> impl Iterator<Item = (f64, &Trial)> {
    let good = view.trials.iter().filter(|trial| trial.state() == TrialState::Good);
    good.filter_map(|trial| Some((trial.rate?.0, trial)))
}

/// What to plan for, with the response time there or at the highest measured rate below, and near what holds.
pub(super) fn of_search(view: &RunView) -> Option<String> {
    let held = view.held()?;
    let plan = PlanningRate::of(view, held);
    if view.is_generator_limited() {
        let rate = rounded(Rate(plan.rate));
        let tried = good(view).any(|(at, _)| (at / plan.rate - 1.0).abs() <= SHARE_TOLERANCE);
        let tried = if tried { "" } else { " (that was not tried)" };
        return Some(format!(
            "{rate}{tried}, {}, until the target's own limit is known; response times here are partly torment's own",
            plan.why
        ));
    }
    let within = |shares: RangeInclusive<f64>, state: TrialState| {
        let there = move |trial: &&Trial| trial.rate.is_some_and(|rate| shares.contains(&(rate.0 / held)));
        view.trials.iter().filter(move |trial| trial.state() == state).filter(there)
    };
    // At four fifths a trial was made on purpose.
    let is_easy = |at: f64| NEAR_PLANNED.contains(&(plan.rate / held)) && NEAR_PLANNED.contains(&(at / held));
    let easy = good(view).filter(|(at, _)| is_easy(*at)).max_by_key(|(_, trial)| p99(trial));
    let below = || {
        let below = good(view).filter(|(at, _)| *at <= plan.rate * (1.0 + SAME_MARK));
        below.max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let measured = easy.or_else(below).and_then(|(at, trial)| Some((at, trial.figures.quantiles()?)));
    let there = measured.map(|(at, _)| at).filter(|at| is_easy(*at) || *at == plan.rate);
    let rate = there.map_or_else(|| rounded(Rate(plan.rate)), Rate);
    let near = within(NEAR_LIMIT, TrialState::Good).filter_map(p99).max();
    // A bad mark there would seem to contradict the figure.
    let bad = |near: Nanos| {
        within(NEAR_LIMIT, TrialState::Bad).filter_map(p99).max().filter(|bad| bad.0 > 2 * near.0)
    };
    let in_bad =
        near.and_then(bad).map(|bad| format!(" in good trials, {bad} in bad ones")).unwrap_or_default();
    let quick = measured.map(|(at, times)| {
        let is_hiccup = |near: &Nanos| times.p99.as_secs_f64() > hiccups::HICCUP_RATIO * near.as_secs_f64();
        let why = near.filter(is_hiccup).map(|_| format!(" ({})", hiccups::why(view, at, true)));
        let held_up = freezes::wait_words(view, times.p99);
        let (p50, p99, why) = (times.p50, times.p99, why.unwrap_or_default());
        if at < rate.0 * SAME_RATE_SHARE {
            format!("; that was not tried: at {} p50 is {p50} and p99 {p99}{why}{held_up}", Rate(at))
        } else {
            format!(": p50 is {p50} and p99 {p99} there{why}{held_up}")
        }
    });
    let near = near.map(|near| format!("; p99 up to {near} near {}/s{in_bad}", format_rate(held)));
    let about =
        if plan.is_share && (rate.0 / plan.rate - 1.0).abs() > SHARE_TOLERANCE { "about " } else { "" };
    Some(format!("{rate}, {about}{}{}{}", plan.why, quick.unwrap_or_default(), near.unwrap_or_default()))
}

/// Index of lateness among a load's times.
const LATENESS_INDEX: usize = 2;
