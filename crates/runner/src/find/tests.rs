//! Whole searches in virtual time, as the runner conducts them.

use super::*;
use crate::simulated::{EventCollector, OverloadCollapse, SimulatedTarget, plan};
use crate::stop_flag::StopFlag;
use plan::Objective;
use record::{ExhaustedResource, Failure, GeneratorCapacity, Judgement, Limit, Purpose, TrialResult};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::{Nanos, Rate, Share};

struct SimulatedSearch {
    limits: Vec<Limit>,
    ended: SearchEnd,
    code: u8,
    generator: Option<GeneratorCapacity>,
    events: Vec<Event>,
    /// Duration in seconds.
    took: f64,
}

impl SimulatedSearch {
    fn trials(&self) -> Vec<(&TrialResult, &Judgement)> {
        let mut trials = Vec::new();
        for event in &self.events {
            if let Event::TrialDone { result, judgement, .. } = event {
                trials.push((result.as_ref(), judgement));
            }
        }
        trials
    }

    /// Without the recovery probes after overloads.
    fn made(&self) -> usize {
        self.trials().iter().filter(|(result, _)| result.purpose != Purpose::Recovery).count()
    }
}

fn search(target: SimulatedTarget, change: impl Fn(&mut Plan, &mut SearchPlan)) -> SimulatedSearch {
    let (mut plan, mut search_plan) = (plan(), SearchPlan::default());
    change(&mut plan, &mut search_plan);
    let target = SimulatedTarget { deadline: plan.objective.deadline, ..target };
    let (mut collector, stop) = (EventCollector::default(), target.stop());
    let mut runner = TrialRunner::unwatched(target, &mut collector, &stop);
    let (verdict, code) = find(&mut runner, &plan, &search_plan, LimitUnit::Requests, (true, Nanos::ZERO));
    let took = runner.now().as_secs_f64();
    drop(runner);
    let Verdict::Limits { limits, ended, generator, .. } = verdict else {
        panic!("a search ends in limits: {verdict:?}")
    };
    let found = SimulatedSearch { limits, ended, code, generator, events: collector.0, took };
    is_consistent(&found);
    found
}

/// Every trial is reported from start to end, with all its seconds, followed by what is known after it.
#[track_caller]
fn is_consistent(found: &SimulatedSearch) {
    let (mut started, mut due) = (0, 0);
    for (at, event) in found.events.iter().enumerate() {
        match event {
            Event::TrialStarted { trial, .. } => {
                assert_eq!(*trial, started + 1, "one after the other");
                (started, due) = (*trial, 0);
            }
            Event::SliceDone { trial, slice } => {
                assert_eq!(*trial, started);
                due += slice.due;
            }
            Event::TrialDone { trial, result, judgement } => {
                assert_eq!((*trial, due), (started, result.total.due), "trial {trial}");
                assert_eq!(result.total.outcomes.total(), due, "each has an outcome: trial {trial}");
                let bounds = matches!(found.events.get(at + 1), Some(Event::Bounds { .. }));
                let cut_short = found.ended == SearchEnd::Interrupted && at + 1 == found.events.len();
                let untold = result.purpose == Purpose::Recovery || result.fleet_caveats().next().is_some();
                // It is repeated with more workers.
                let grows = judgement.invalid.iter().any(|caveat| caveat.doubt.is_generator());
                assert!(bounds || cut_short || untold || grows, "trial {trial}");
            }
            Event::WorkerLost { trial, .. } => assert_eq!(*trial, started),
            Event::Bounds { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[track_caller]
fn lower(found: &SimulatedSearch) -> f64 {
    found.limits[0].lower.unwrap_or_else(|| panic!("no lower bound: {:?} {:?}", found.ended, found.limits))
}

#[test]
fn the_limit_of_a_queue_is_found() {
    let found = search(SimulatedTarget::queue(), |_, _| {});
    assert_eq!((&found.ended, found.code), (&SearchEnd::Converged, exit::MET));
    for limit in &found.limits {
        let (lower, upper) = (limit.lower.expect("a lower bound"), limit.upper.expect("an upper bound"));
        assert!((1_960.0..=2_000.0).contains(&lower) && upper <= 2_060.0, "{lower} to {upper}");
        assert!(limit.regular && (upper - lower) / upper <= 0.02 + 1e-3, "{limit:?}");
        assert_eq!(limit.lower_bad, 0, "zero drop is zero");
        let good = found.trials().iter().filter(|(t, j)| j.good && t.rate.0 >= lower * 0.98).count();
        assert!(good >= limit.good_trials as usize, "{limit:?}");
    }
    let curve = found.trials().iter().filter(|(trial, _)| trial.purpose == Purpose::Curve).count();
    assert!(curve > 0, "response times at shares of the capacity");
    assert!(found.trials().iter().all(|(trial, _)| trial.total.outcomes.refused == 0));
}

#[test]
fn ten_servers_of_twenty_milliseconds_hold_five_hundred_a_second() {
    let pool =
        SimulatedTarget { servers: Some(10), service: Nanos::from_millis(20), ..SimulatedTarget::queue() };
    let found = search(pool, |_, find| (find.from, find.trial) = (Rate(400.0), Nanos::from_secs(5)));
    assert_eq!((&found.ended, found.code), (&SearchEnd::Converged, exit::MET));
    assert!((490.0..=500.0).contains(&lower(&found)), "at least {}", lower(&found));
}

#[test]
fn a_limit_out_of_reach_is_at_least_the_highest_rate() {
    let found = search(SimulatedTarget::delay(Nanos::from_millis(10)), |_, find| find.max = Rate(3000.0));
    assert_eq!((&found.ended, found.code), (&SearchEnd::MaxReached, exit::MET));
    assert_eq!((lower(&found), found.limits[0].upper), (3000.0, None));
}

/// A target that answers after eight seconds was once said to hold 10/s and fail at 20/s: the requests in flight before
/// the first answer were taken for a growing queue.
#[test]
fn who_takes_long_to_answer_is_not_overloaded() {
    let found = search(SimulatedTarget::delay(Nanos::from_secs(8)), |plan, find| {
        plan.flows[0].steps[0].timeout = Nanos::from_secs(30);
        find.max = Rate(200.0);
    });
    assert_eq!((&found.ended, lower(&found)), (&SearchEnd::MaxReached, 200.0));
    assert!(found.trials().iter().all(|(trial, judgement)| judgement.good && !trial.hopeless));
}

#[test]
fn a_goal_on_response_times_has_a_limit_of_its_own() {
    let goal = |text: &str| text.parse::<Objective>().expect("a goal");
    let found = search(SimulatedTarget::queue(), |plan, _| plan.objective = goal("p99<50ms"));
    assert_eq!((&found.ended, found.code), (&SearchEnd::Converged, exit::MET));
    assert!((1_900.0..=2_040.0).contains(&lower(&found)), "at least {}", lower(&found));
    for (trial, judgement) in found.trials() {
        if judgement.good && trial.purpose != Purpose::Recovery {
            let late = trial.total.outcomes.late as f64;
            assert!(late <= 0.01 * trial.total.due as f64, "called good: {late} late of {}", trial.total.due);
        }
    }
    let found =
        search(SimulatedTarget::delay(Nanos::from_millis(10)), |plan, _| plan.objective = goal("p99<1ms"));
    assert_eq!((&found.ended, found.limits[0].lower), (&SearchEnd::BelowMin, None));
    assert_eq!(found.code, exit::NOT_MET);
}

#[test]
fn the_budget_counts_all_the_time_that_passes() {
    for seconds in [8, 16] {
        let budget = Nanos::from_secs(seconds);
        let found = search(SimulatedTarget::queue(), |_, find| {
            (find.budget, find.trial) = (Some(budget), Nanos::from_secs(2));
        });
        assert!(found.took <= seconds as f64 + 5.0, "a budget of {seconds} s was {} s", found.took);
        // What is known by then is true, and not overstated.
        let regular = found.limits.iter().all(|limit| limit.regular);
        assert!(!regular, "nothing is proven in {seconds} s");
        assert_eq!((&found.ended, found.code), (&SearchEnd::BudgetSpent, exit::UNDECIDED));
        for limit in &found.limits {
            assert!(limit.lower.is_none_or(|lower| lower <= 2_040.0), "{limit:?}");
            assert!(limit.upper.is_none_or(|upper| upper >= 1_960.0), "{limit:?}");
        }
    }
    // A slow target's response time counts as well: under load it would be half of that.
    let found = search(SimulatedTarget::delay(Nanos::from_secs(2)), |plan, find| {
        plan.flows[0].steps[0].timeout = Nanos::from_secs(30);
        find.budget = Some(Nanos::from_secs(30));
    });
    assert_eq!((&found.ended, found.code), (&SearchEnd::BudgetSpent, exit::UNDECIDED));
    assert!(found.took <= 35.0, "{} s", found.took);
}

#[test]
fn an_overload_is_left_before_its_time() {
    let found = search(SimulatedTarget::queue(), |_, find| {
        (find.from, find.trial) = (Rate(20_000.0), Nanos::from_secs(30));
    });
    assert_eq!(found.ended, SearchEnd::Converged);
    assert!((1_960.0..=2_000.0).contains(&lower(&found)), "at least {}", lower(&found));
    let hopeless: Vec<f64> = found
        .trials()
        .iter()
        .filter(|(trial, _)| trial.hopeless)
        .map(|(trial, _)| trial.loaded.as_secs_f64())
        .collect();
    assert!(hopeless.iter().any(|seconds| *seconds < 10.0), "{hopeless:?}");
    assert!(found.trials().iter().all(|(trial, judgement)| !trial.hopeless || !judgement.good));
}

#[test]
fn who_asks_for_the_end_gets_what_was_found() {
    let interrupted_after = |target: SimulatedTarget, seconds: f64| {
        search(SimulatedTarget { interrupt_at: Some(Nanos::from_secs_f64(seconds)), ..target }, |_, _| {})
    };
    let before = {
        let target = SimulatedTarget::queue();
        let (mut collector, stop) =
            (EventCollector::default(), StopFlag::new(Arc::new(AtomicBool::new(true))));
        let mut runner = TrialRunner::unwatched(target, &mut collector, &stop);
        find(&mut runner, &plan(), &SearchPlan::default(), LimitUnit::Requests, (true, Nanos::ZERO))
    };
    assert!(
        matches!(&before.0, Verdict::Limits { ended: SearchEnd::Interrupted, trials: 0, .. }),
        "{before:?}"
    );
    assert_eq!(before.1, exit::INTERRUPTED);
    for seconds in [0.4, 3.3, 9.6, 20.2] {
        let found = interrupted_after(SimulatedTarget::queue(), seconds);
        assert_eq!((&found.ended, found.code), (&SearchEnd::Interrupted, exit::INTERRUPTED), "{seconds} s");
        assert!(found.took <= seconds + 2.0, "{seconds} s: {} s", found.took);
        assert_eq!(found.limits[0].lower.is_some(), seconds > 3.0, "{seconds} s: {:?}", found.limits);
    }
    // While it drains, and during recovery.
    let collapse = Some(OverloadCollapse { threshold: 100, slowdown: 10, duration: Nanos::from_secs(12) });
    let target = || SimulatedTarget { collapse, ..SimulatedTarget::queue() };
    let whole = search(target(), |_, _| {});
    let over = whole.trials().iter().position(|(_, judgement)| !judgement.good).expect("an overload");
    assert!(over > 0);
    for seconds in [9.0, 10.0, 11.0, 12.0, 14.0, 16.0] {
        let found = interrupted_after(target(), seconds);
        assert_eq!((&found.ended, found.code), (&SearchEnd::Interrupted, exit::INTERRUPTED), "{seconds} s");
        assert!(found.made() <= over + 2, "{seconds} s: {} trials", found.made());
    }
}

#[test]
fn a_target_that_does_not_come_back_is_left_alone() {
    // Slow for good: each probe finds it slower than before.
    let collapse =
        Some(OverloadCollapse { threshold: 200, slowdown: 20, duration: Nanos::from_secs(100_000) });
    let found = search(SimulatedTarget { collapse, ..SimulatedTarget::queue() }, |_, _| {});
    assert_eq!((&found.ended, found.code), (&SearchEnd::NotRecovered, exit::NOT_RECOVERED));
    assert_eq!(found.trials().iter().filter(|(trial, _)| trial.purpose == Purpose::Recovery).count(), 60);
    assert!(lower(&found) <= 2_000.0);
    // So slow that its backlog is never answered.
    let collapse =
        |lasts| Some(OverloadCollapse { threshold: 200, slowdown: 1000, duration: Nanos::from_secs(lasts) });
    let found =
        search(SimulatedTarget { collapse: collapse(100_000), ..SimulatedTarget::queue() }, |_, _| {});
    assert_eq!((&found.ended, found.code), (&SearchEnd::NotRecovered, exit::NOT_RECOVERED));
    let last = found.trials().into_iter().rfind(|(trial, _)| trial.purpose != Purpose::Recovery);
    assert_eq!(last.expect("a trial").0.recovery, Recovery::Not(Nanos::from_secs(30)));
}

/// An overload may lose requests, for instance in an accept queue, while the target recovers: CherryPy was said to need
/// a restart.
#[test]
fn a_target_that_lost_requests_and_answers_others_has_come_back() {
    let collapse =
        Some(OverloadCollapse { threshold: 500, slowdown: 1000, duration: Nanos::from_millis(200) });
    let found = search(SimulatedTarget { collapse, ..SimulatedTarget::queue() }, |_, _| {});
    let lost = found.trials().iter().filter(|(trial, _)| trial.recovery.lost().is_some()).count();
    assert!(lost > 0 && found.ended != SearchEnd::NotRecovered, "{lost}, {:?}", found.ended);
    assert!((1_700.0..=2_000.0).contains(&lower(&found)), "{}", lower(&found));
}

#[test]
fn what_was_the_machines_own_doing_is_not_the_targets() {
    let lacking = |what: ExhaustedResource| Some((50, Failure::Lacking(what)));
    let ours = [
        SimulatedTarget { failures: lacking(ExhaustedResource::Port), ..SimulatedTarget::queue() },
        SimulatedTarget { failures: lacking(ExhaustedResource::Descriptor), ..SimulatedTarget::queue() },
    ];
    for target in ours {
        let found = search(target, |_, find| find.from = Rate(100.0));
        assert_eq!((&found.ended, found.code), (&SearchEnd::GeneratorLimit, exit::NOT_TRUSTWORTHY));
        assert_eq!(found.trials().iter().filter(|(_, judgement)| !judgement.invalid.is_empty()).count(), 3);
        assert_eq!((found.limits[0].lower, found.limits[0].upper), (None, None));
    }
    // Trials that were good nevertheless count; bad ones may be the generator's doing, and give no upper bound.
    for target in [
        SimulatedTarget { stolen: 0.3, ..SimulatedTarget::queue() },
        SimulatedTarget { busy: 0.97, ..SimulatedTarget::queue() },
    ] {
        let found = search(target, |_, _| {});
        assert_eq!((&found.ended, found.code), (&SearchEnd::GeneratorLimit, exit::NOT_TRUSTWORTHY));
        assert!((1_600.0..=2_000.0).contains(&lower(&found)), "at least {}", lower(&found));
        assert_eq!(found.limits[0].upper, None);
    }
    // Wrong answers are the target's own.
    let found = search(
        SimulatedTarget { failures: Some((1, Failure::Status(500))), ..SimulatedTarget::queue() },
        |_, _| {},
    );
    assert_eq!((&found.ended, found.code, found.made()), (&SearchEnd::TargetFails, exit::NOT_MET, 1));
}

/// Load after the warm-up, in seconds.
fn loaded_after_warm_up(found: &SimulatedSearch) -> f64 {
    let trials = found.trials();
    let warm =
        trials.iter().rposition(|(trial, _)| trial.purpose == Purpose::WarmUp).expect("it was warmed up");
    trials[warm + 1..].iter().map(|(trial, _)| trial.loaded.as_secs_f64()).sum()
}

#[test]
fn when_torment_is_the_limit_it_says_so_within_a_minute() {
    // The target takes 20,000/s; the generator manages this much.
    for generator_rates in [3_000.0, 7_000.0, 11_111.0] {
        let fast = SimulatedTarget { service: Nanos::from_micros(50), ..SimulatedTarget::queue() };
        let found = search(
            SimulatedTarget { generator_rates: vec![(Nanos::ZERO, generator_rates)], ..fast },
            |_, _| {},
        );
        assert_eq!((&found.ended, found.code), (&SearchEnd::GeneratorLimit, exit::NOT_TRUSTWORTHY));
        let held = lower(&found);
        assert!(
            held > 0.93 * generator_rates && held <= generator_rates,
            "{generator_rates}: at least {held}"
        );
        let making = found.generator.expect("it was its own doing");
        assert!((0.97..=1.03).contains(&(making.most / generator_rates)), "{generator_rates}: {making:?}");
        assert!(
            loaded_after_warm_up(&found) <= 60.0,
            "{generator_rates}: {} s",
            loaded_after_warm_up(&found)
        );
        assert!(found.limits.iter().all(|limit| limit.good_trials >= 3 && limit.lower_bad == 0));
        let void = found.trials().iter().filter(|(_, judgement)| !judgement.invalid.is_empty()).count();
        assert!(void <= 12, "{generator_rates}: {void} of {} void", found.made());
    }
}

#[test]
fn a_hiccup_of_the_generator_is_not_its_limit() {
    let whole = search(SimulatedTarget::queue(), |_, _| {});
    // The generator makes a tenth of the rate for this long, while climbing, warming up, or narrowing.
    for (from, lasts) in [(3.0, 2.0), (6.2, 6.0), (20.0, 4.0)] {
        let at = Nanos::from_secs_f64;
        let generator_rates = vec![(Nanos::ZERO, 1e9), (at(from), 200.0), (at(from + lasts), 1e9)];
        let found = search(SimulatedTarget { generator_rates, ..SimulatedTarget::queue() }, |_, _| {});
        assert_eq!((&found.ended, found.code), (&SearchEnd::Converged, exit::MET), "{from} s");
        assert!((1_960.0..=2_000.0).contains(&lower(&found)), "{from} s: at least {}", lower(&found));
        assert!(found.generator.is_none());
        assert!(found.took <= whole.took + lasts + 40.0, "{from} s: {} s, else {}", found.took, whole.took);
    }
}

#[test]
fn a_limit_just_below_the_generators_is_still_found() {
    for generator_rates in [2_060.0, 2_200.0, 2_500.0, 3_000.0] {
        let generator_rates = vec![(Nanos::ZERO, generator_rates)];
        let found = search(
            SimulatedTarget { generator_rates: generator_rates.clone(), ..SimulatedTarget::queue() },
            |_, _| {},
        );
        assert_eq!((&found.ended, found.code), (&SearchEnd::Converged, exit::MET), "{generator_rates:?}");
        assert!(
            (1_960.0..=2_000.0).contains(&lower(&found)),
            "{generator_rates:?}: at least {}",
            lower(&found)
        );
        assert!(found.limits.iter().all(|limit| limit.regular), "{generator_rates:?}: {:?}", found.limits);
    }
}

/// Each worker makes 600/s, and the target takes 2,000/s.
#[test]
fn a_fleet_that_grows_finds_what_a_large_one_does() {
    let by = |least: u32, most: u32, seed| {
        let mut generator_rates = (least..=most).map(|workers| 600.0 * f64::from(workers));
        let first = generator_rates.next().expect("one at the least");
        let target = SimulatedTarget {
            generator_rates: vec![(Nanos::ZERO, first)],
            grown_rates: generator_rates.collect(),
            ..SimulatedTarget::queue()
        };
        search(target, |plan, find| (plan.generator.seed, find.arrivals) = (seed, plan::Arrivals::Poisson))
    };
    for seed in 0..5 {
        let (grown, large) = (by(1, 4, seed), by(4, 4, seed));
        assert_eq!(
            (grown.code, large.code),
            (exit::MET, exit::MET),
            "{seed}: {:?}, {:?}",
            grown.ended,
            large.ended
        );
        let ratio = lower(&grown) / lower(&large);
        assert!((0.98..=1.02).contains(&ratio), "{seed}: {} grown, {} at once", lower(&grown), lower(&large));
    }
    let short = by(1, 3, 0);
    assert_eq!((&short.ended, short.code), (&SearchEnd::GeneratorLimit, exit::NOT_TRUSTWORTHY));
    // Random arrivals are late now and then well below the workers' total.
    assert!((1_500.0..=1_800.0).contains(&lower(&short)), "{}", lower(&short));
}

#[test]
fn careful_asks_for_more() {
    let found = search(SimulatedTarget::queue(), |_, find| {
        (find.trial, find.sum, find.width) = (Nanos::from_secs(60), Nanos::from_secs(60), Share(0.01));
    });
    assert_eq!(found.ended, SearchEnd::Converged);
    assert!((1_980.0..=2_000.0).contains(&lower(&found)), "at least {}", lower(&found));
}

/// A lost worker voids its trial and nothing else: the search repeats it, with the same result as without.
#[test]
fn a_lost_worker_costs_its_trial() {
    let whole = search(SimulatedTarget::queue(), |_, _| ());
    let lossy = search(SimulatedTarget { lossy_trials: vec![3, 9], ..SimulatedTarget::queue() }, |_, _| ());
    assert_eq!((&lossy.limits, &lossy.ended, lossy.code), (&whole.limits, &whole.ended, whole.code));
    assert_eq!(lossy.made(), whole.made() + 2);
    let trials = lossy.trials();
    for at in [3, 9] {
        let ((result, judgement), (again, _)) = (trials[at - 1], trials[at]);
        assert_eq!(judgement.invalid[0].doubt.name(), "worker-lost");
        assert_eq!((result.purpose, result.rate), (again.purpose, again.rate));
    }
    let losses = lossy.events.iter().filter(|event| matches!(event, Event::WorkerLost { .. }));
    assert_eq!(losses.count(), 2);
}

#[test]
fn a_fleet_that_loses_workers_again_and_again_is_given_up() {
    let found =
        search(SimulatedTarget { lossy_trials: (4..40).collect(), ..SimulatedTarget::queue() }, |_, _| ());
    assert_eq!((&found.ended, found.code), (&SearchEnd::FleetFailed, exit::NOT_TRUSTWORTHY));
    assert_eq!(found.made(), 3 + LOST_MOST as usize);
}
