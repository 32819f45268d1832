//! `torment run`: one load as planned, with a verdict on the goal.

use crate::exit;
use crate::trial_runner::{PlannedTrial, TrialRunner};
use engine::{LoadGenerator, OfferedLoad};
use plan::{Load as Planned, Plan, Stage};
use record::{BLOCK, CaveatKind, Purpose, TrialResult, Verdict};
use schedule::Schedule;
use search::{WarmUp, WindowMedian, judge, settled_slice};
use units::{Nanos, Rate, Share};

/// The divergence rule looks for an overload of a quarter of this, as in a search.
const WIDTH: Share = Share(0.02);
/// The first two windows of a warm-up; each later one is twice as long.
const WARM_FIRST: Nanos = Nanos::from_secs(1);
/// The shortest rest of a warm-up worth another window.
const WARM_LEAST: Nanos = Nanos::from_millis(100);

pub(crate) fn run<C: LoadGenerator>(
    runner: &mut TrialRunner<'_, C>,
    plan: &Plan,
    planned: &Planned,
) -> (Verdict, u8) {
    // The load has an end, users have none: wait for what is in flight then.
    let load = planned_trial(plan, planned, Purpose::Load, runner.drain(plan.longest_timeout()));
    let mut finished = runner.trial(&load, &|_| false);
    if let Planned::Open { stages, .. } = planned {
        finished.result.rate = mean_rate(stages);
    }
    let steady = steady_part(&finished.result, planned, plan.longest_pauses());
    let mut judgement = judge(&steady, &plan.objective, WIDTH, None);
    if finished.interrupted {
        judgement.invalid.push(CaveatKind::Interrupted.into());
    }
    if let Planned::Closed { .. } = planned {
        // Throughput: requests started but not answered within the load, one per connection, belong to no rate.
        finished.result.rate = Rate::of(finished.answered, finished.result.loaded);
    }
    let valid = judgement.invalid.is_empty();
    let verdict = Verdict::Goal {
        met: valid.then_some(judgement.good),
        goal: plan.objective.to_string(),
        outcomes: finished.result.total.outcomes,
        loss: judgement.loss,
    };
    let code = match (finished.interrupted, valid, judgement.good) {
        (true, ..) => exit::INTERRUPTED,
        (_, false, _) => exit::NOT_TRUSTWORTHY,
        (_, _, true) => exit::MET,
        (_, _, false) => exit::NOT_MET,
    };
    runner.emit_judgement(finished, &judgement);
    (verdict, code)
}

fn planned_trial(plan: &Plan, planned: &Planned, purpose: Purpose, drain: Nanos) -> PlannedTrial {
    let (offer, rate, duration) = match planned {
        Planned::Open { stages, arrivals } => {
            let schedule = Schedule::new(stages, *arrivals, plan.generator.seed);
            let (rate, duration) = (schedule.max_rate(), schedule.duration());
            (OfferedLoad::Open(schedule), Some(rate), Some(duration))
        }
        Planned::Closed { connections, requests, duration } => {
            let offer =
                OfferedLoad::Closed { connections: *connections, requests: *requests, duration: *duration };
            (offer, None, *duration)
        }
    };
    PlannedTrial { purpose, offer, rate, duration, drain }
}

/// Repeats a load, each time longer, until the target's response is level, as a search does; for at most `most`.
pub(crate) fn warm_up<C: LoadGenerator>(
    runner: &mut TrialRunner<'_, C>,
    plan: &Plan,
    planned: &Planned,
    most: Nanos,
) {
    let (mut warm, began) = (WarmUp::new(WARM_FIRST, false), runner.now());
    while !warm.is_done() && !runner.is_interrupted() {
        let window = warm.window().min(most - (runner.now() - began));
        if window < WARM_LEAST {
            return;
        }
        let planned = with_duration(planned, window);
        let load = planned_trial(plan, &planned, Purpose::WarmUp, window.min(plan.longest_timeout()));
        let finished = runner.trial(&load, &|_| false);
        let level = match planned {
            Planned::Open { .. } => WindowMedian::of(&finished.result.total.response),
            Planned::Closed { connections, .. } => {
                WindowMedian::of_goodput(&finished.result.total, connections, finished.result.loaded)
            }
        };
        // With no answers nothing warms up; the load that counts will show it.
        let Some(level) = level else { return };
        warm.push(window, level, runner.observer.compiling(finished.result.loaded));
    }
}

/// The same load, this long.
fn with_duration(planned: &Planned, duration: Nanos) -> Planned {
    match planned {
        Planned::Open { stages, arrivals } => {
            let stage = |stage: &Stage| Stage { duration, ..*stage };
            Planned::Open { stages: stages.first().map(stage).into_iter().collect(), arrivals: *arrivals }
        }
        Planned::Closed { connections, requests, .. } => {
            Planned::Closed { connections: *connections, requests: *requests, duration: Some(duration) }
        }
    }
}

fn mean_rate(stages: &[Stage]) -> Rate {
    let time: f64 = stages.iter().map(|s| s.duration.as_secs_f64()).sum();
    let count: f64 = stages.iter().map(|s| s.duration.as_secs_f64() * (s.from.0 + s.to.0) / 2.0).sum();
    Rate(count / time.max(f64::MIN_POSITIVE))
}

/// For the judge: a queue can only be called growing at a constant rate, so the divergence rule sees only the last
/// stretch of constant rate, and nothing if the load ends in a ramp. It excludes what the step to that rate puts in
/// flight, as at the start of a load. A closed loop cannot diverge.
fn steady_part(result: &TrialResult, planned: &Planned, pauses: Nanos) -> TrialResult {
    let total = settled_slice(&result.total, pauses).into_owned();
    let mut steady = TrialResult { total, ..result.clone() };
    let held: Nanos = match planned {
        Planned::Open { stages, .. } => {
            let ends_at = stages.last().map(|last| last.to);
            let still = |stage: &&Stage| stage.from == stage.to && Some(stage.to) == ends_at;
            stages.iter().rev().take_while(still).fold(Nanos::ZERO, |held, stage| held + stage.duration)
        }
        Planned::Closed { .. } => Nanos::ZERO,
    };
    let blocks = (held.0 / BLOCK.0) as usize;
    let skip = steady.total.outstanding.len().saturating_sub(blocks);
    steady.total.outstanding.drain(..skip);
    steady
}

#[cfg(test)]
mod tests;
