//! Planned loads in virtual time.

use super::*;
use crate::simulated::{EventCollector, OverloadCollapse, SimulatedTarget, plan};
use plan::Arrivals;
use record::{Event, Failure, Recovery};

/// Parses `"2s:100 1s:100-200"`.
fn stages(text: &str) -> Planned {
    let stage = |word: &str| {
        let (duration, rates) = word.split_once(':').expect("seconds and rates");
        let (from, to) = rates.split_once('-').unwrap_or((rates, rates));
        let rate = |text: &str| Rate(text.parse().expect("a rate"));
        Stage { duration: duration.parse().expect("a time"), from: rate(from), to: rate(to) }
    };
    Planned::Open { stages: text.split_whitespace().map(stage).collect(), arrivals: Arrivals::Even }
}

/// One load: exit code, trial and judgement.
fn load(target: SimulatedTarget, planned: &Planned, goal: &str) -> (u8, TrialResult, record::Judgement) {
    let mut plan = plan();
    plan.objective = goal.parse().expect("a goal");
    plan.flows[0].steps[0].timeout = target.timeout;
    let target = SimulatedTarget { deadline: plan.objective.deadline, ..target };
    let (mut collector, stop) = (EventCollector::default(), target.stop());
    let mut runner = TrialRunner::unwatched(target, &mut collector, &stop);
    let (verdict, code) = run(&mut runner, &plan, planned);
    drop(runner);
    let Some(Event::TrialDone { result, judgement, .. }) = collector.0.pop() else {
        panic!("{:?}", collector.0)
    };
    let Verdict::Goal { met, outcomes, loss, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(met, judgement.invalid.is_empty().then_some(judgement.good));
    assert_eq!((outcomes, loss), (result.total.outcomes, judgement.loss));
    (code, *result, judgement)
}

#[test]
fn the_goal_is_met_or_not_or_nobody_knows() {
    let second = stages("1s:100");
    let slow = || SimulatedTarget::delay(Nanos::from_millis(20));
    let (code, trial, _) = load(slow(), &second, "p99<15ms");
    assert_eq!((code, trial.total.outcomes.late), (exit::NOT_MET, 100));
    let (code, trial, _) = load(slow(), &second, "p99<2s");
    assert_eq!((code, trial.total.outcomes.ok), (exit::MET, 100));
    let stuck =
        SimulatedTarget { timeout: Nanos::from_millis(300), ..SimulatedTarget::delay(Nanos::from_secs(2)) };
    let (code, trial, _) = load(stuck, &second, "zero-drop");
    assert_eq!((code, trial.total.outcomes.timeout), (exit::NOT_MET, 100));
    // They count with the time they had waited.
    assert_eq!(trial.total.response.count(), 100);
    assert!(
        trial.total.response.quantile(0.0) >= Some(Nanos::from_millis(299)),
        "{:?}",
        trial.total.response
    );
    let stolen = SimulatedTarget { stolen: 0.3, ..slow() };
    assert_eq!(load(stolen, &second, "p99<15ms").0, exit::NOT_TRUSTWORTHY);
    let wrong = SimulatedTarget { failures: Some((1, Failure::Status(410))), ..slow() };
    let (code, trial, _) = load(wrong, &second, "zero-drop");
    assert_eq!((code, trial.total.failures[&Failure::Status(410)]), (exit::NOT_MET, 100));
}

#[test]
fn stages_make_as_many_arrivals_as_lie_under_their_lines() {
    let article = stages("600ms:0-10 600ms:10-100 600ms:100-500 600ms:500-1000 1200ms:1000");
    let (code, trial, _) = load(SimulatedTarget::queue(), &article, "zero-drop");
    let due = 0.6 * (5.0 + 55.0 + 300.0 + 750.0) + 1.2 * 1_000.0;
    assert_eq!((code, trial.total.due), (exit::MET, due as u64));
    assert!((trial.rate.0 - due / 3.6).abs() < 1e-9, "{:?}", trial.rate);
}

/// A load of 50, 100, 200 and 300/s was once called a growing queue: all stages were taken for one, and twice the rate
/// means twice as much in flight.
#[test]
fn a_step_is_no_growing_queue() {
    for held in [Nanos::from_millis(20), Nanos::from_millis(500), Nanos::from_secs(2)] {
        for planned in ["6s:100 6s:200", "4s:50 4s:100 4s:200 6s:300", "5s:200 5s:100 5s:200"] {
            let (code, _, judgement) = load(SimulatedTarget::delay(held), &stages(planned), "zero-drop");
            assert_eq!((judgement.growth_per_second, code), (None, exit::MET), "{planned} of {held}");
        }
    }
    // Stages of equal rate all count, and a real queue after a step is seen.
    let judged = |planned| load(SimulatedTarget::queue(), &stages(planned), "zero-drop").2.growth_per_second;
    for planned in ["5s:2200 5s:2200", "4s:100 8s:2200", "4s:100 2s:100-2200 4s:2200 4s:2200"] {
        let growth = judged(planned).unwrap_or_else(|| panic!("{planned} grows"));
        assert!((growth - 200.0).abs() < 10.0, "{planned}: {growth}");
    }
    // A ramp gives no value: what is outstanding grows with the rate.
    assert_eq!(judged("8s:100-1900"), None);
}

#[test]
fn a_load_that_is_cut_short_keeps_what_it_has() {
    let at = |seconds: f64| {
        let target =
            SimulatedTarget { interrupt_at: Some(Nanos::from_secs_f64(seconds)), ..SimulatedTarget::queue() };
        load(target, &stages("4s:1000"), "zero-drop")
    };
    let (code, trial, judgement) = at(1.5);
    assert_eq!((code, trial.total.due), (exit::INTERRUPTED, 1500));
    assert_eq!(judgement.invalid.last().map(|caveat| &caveat.doubt), Some(&CaveatKind::Interrupted));
    assert_eq!(at(4.0).0, exit::MET, "all of it was made");
}

#[test]
fn a_load_is_drained_and_the_target_waited_for() {
    let breaks =
        Some(OverloadCollapse { threshold: 100, slowdown: 20_000, duration: Nanos::from_secs(100_000) });
    let (code, trial, _) = load(
        SimulatedTarget { collapse: breaks, ..SimulatedTarget::queue() },
        &stages("2s:4000"),
        "zero-drop",
    );
    assert_eq!(code, exit::NOT_MET);
    assert_eq!(trial.recovery, Recovery::Not(Nanos::from_secs(30)));
    assert_eq!(trial.total.outcomes.total(), trial.total.due);
}
