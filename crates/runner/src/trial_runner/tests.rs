//! How a trial runner handles a load, in virtual time.

use super::*;
use crate::simulated::{EventCollector, OverloadCollapse, SimulatedTarget};
use record::{ExhaustedResource, Failure};
use schedule::Schedule;
use std::cell::Cell;

fn open(rate: f64, seconds: u64, drain: Nanos) -> PlannedTrial {
    let duration = Nanos::from_secs(seconds);
    PlannedTrial {
        purpose: Purpose::Measure,
        offer: OfferedLoad::Open(Schedule::constant(Rate(rate), duration)),
        rate: Some(Rate(rate)),
        duration: Some(duration),
        drain,
    }
}

const SHORT: Nanos = Nanos::from_millis(100);

/// One load on a target; its result and events.
fn trial(
    target: SimulatedTarget,
    load: &PlannedTrial,
    hopeless: &dyn Fn(&Slice) -> bool,
) -> (FinishedTrial, Vec<Event>) {
    let (mut collector, stop) = (EventCollector::default(), target.stop());
    let done = TrialRunner::unwatched(target, &mut collector, &stop).trial(load, hopeless);
    (done, collector.0)
}

fn codes(result: &TrialResult) -> Vec<&str> {
    result.caveats.iter().map(|caveat| caveat.doubt.name()).collect()
}

#[test]
fn a_trial_is_told_second_by_second_and_nothing_is_lost() {
    let (done, collector) = trial(SimulatedTarget::queue(), &open(1000.0, 3, SHORT), &|_| false);
    assert!(matches!(
        collector[0],
        Event::TrialStarted { trial: 1, rate: Some(Rate(1000.0)), at_unix_ms: 1_700_000_000_000, .. }
    ));
    let mut sum = Slice::default();
    for event in &collector[1..] {
        let Event::SliceDone { trial: 1, slice } = event else { panic!("{event:?}") };
        sum.merge_after(slice);
    }
    let FinishedTrial { number, result, answered, interrupted } = done;
    assert_eq!((number, answered, interrupted), (1, 3000, false));
    assert_eq!(sum, Slice { index: sum.index, ..result.total.clone() });
    assert_eq!((sum.due, sum.sent, sum.outcomes.ok, sum.outstanding.len()), (3000, 3000, 3000, 30));
    assert_eq!((result.recovery, result.hopeless, codes(&result)), (Recovery::NotNeeded, false, vec![]));
    assert_eq!((result.loaded, result.planned), (Nanos::from_secs(3), Nanos::from_secs(3)));
}

#[test]
fn a_load_of_which_much_is_left_is_waited_for() {
    // Two seconds of twice its capacity leave two seconds of work, of which the drain sees a tenth.
    let (done, _) = trial(SimulatedTarget::queue(), &open(4000.0, 2, SHORT), &|_| false);
    let Recovery::After(after) = done.result.recovery else { panic!("{:?}", done.result.recovery) };
    assert!((1.85..=1.95).contains(&after.as_secs_f64()), "{after}");
    assert!(done.result.total.outcomes.unfinished > 3000);
    // Fully drained, all is answered, and there is nothing to recover from.
    let (done, _) = trial(SimulatedTarget::queue(), &open(4000.0, 2, Nanos::from_secs(5)), &|_| false);
    assert_eq!((done.result.recovery, done.result.total.outcomes.ok), (Recovery::NotNeeded, 8000));
    assert!(done.answered < 4001, "only while the load lasted: {}", done.answered);
    let stuck = SimulatedTarget { service: Nanos::from_secs(60), ..SimulatedTarget::queue() };
    let (done, _) = trial(stuck, &open(10.0, 1, SHORT), &|_| false);
    assert_eq!(done.result.recovery, Recovery::Not(RECOVERY_LIMIT));
}

#[test]
fn what_is_hopeless_ends_at_once() {
    let long = |so_far: &Slice| so_far.elapsed >= Nanos::from_secs(3);
    let (done, collector) = trial(SimulatedTarget::queue(), &open(4000.0, 10, SHORT), &long);
    let result = &done.result;
    assert!(result.hopeless && !done.interrupted);
    assert_eq!((result.loaded, result.planned), (Nanos::from_secs(3), Nanos::from_secs(10)));
    assert_eq!(result.total.due, 12_000, "no arrival after it");
    assert_eq!(result.total.outstanding.len(), 30);
    assert!(collector.len() <= 6, "{} events", collector.len());
}

#[test]
fn what_finds_no_connection_is_told() {
    let few = |rate| {
        let mut collector = EventCollector::default();
        let target = SimulatedTarget { connections: 8, ..SimulatedTarget::queue() };
        let stop = target.stop();
        let mut runner = TrialRunner::unwatched(target, &mut collector, &stop);
        runner.trial(&open(rate, 2, SHORT), &|_| false).result
    };
    assert_eq!(codes(&few(1000.0)), Vec::<&str>::new());
    let crowded = few(3000.0);
    assert_eq!(codes(&crowded), ["connections-limit"]);
    assert_eq!(crowded.caveats[0].grounds, Some(CaveatDetails::Crowded { connections: 8 }));
}

#[test]
fn what_was_the_machines_own_doing_is_told() {
    let of = |target: SimulatedTarget| {
        let (done, _) = trial(target, &open(1000.0, 2, SHORT), &|_| false);
        codes(&done.result).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let queue = SimulatedTarget::queue;
    assert_eq!(of(SimulatedTarget { stolen: 0.08, ..queue() }), Vec::<String>::new());
    assert_eq!(of(SimulatedTarget { stolen: 0.3, ..queue() }), ["steal"]);
    assert_eq!(of(SimulatedTarget { busy: 0.7, ..queue() }), Vec::<String>::new());
    assert_eq!(of(SimulatedTarget { busy: 0.97, ..queue() }), ["generator-busy"]);
    let fails = |why: Failure| SimulatedTarget { failures: Some((100, why)), ..queue() };
    assert_eq!(of(fails(Failure::Lacking(ExhaustedResource::Descriptor))), ["descriptors-exhausted"]);
    assert_eq!(of(fails(Failure::Lacking(ExhaustedResource::Port))), ["ports-exhausted"]);
    assert_eq!(of(fails(Failure::Lacking(ExhaustedResource::Watch))), ["watches-exhausted"]);
    assert_eq!(of(fails(Failure::Lacking(ExhaustedResource::Memory))), ["memory-exhausted"]);
    assert_eq!(of(fails(Failure::Connect("connection refused".to_owned()))), Vec::<String>::new());
}

#[test]
fn who_asks_for_the_end_gets_it_and_keeps_what_was_measured() {
    let at = |seconds: f64, load: &PlannedTrial| {
        let asks = Some(Nanos::from_secs_f64(seconds));
        trial(SimulatedTarget { interrupt_at: asks, ..SimulatedTarget::queue() }, load, &|_| false).0
    };
    let calm = open(1000.0, 4, SHORT);
    let mid = at(1.5, &calm);
    assert!(mid.interrupted && !mid.result.hopeless);
    assert_eq!((mid.result.loaded, mid.result.total.due), (Nanos::from_millis(1500), 1500));
    assert_eq!(mid.result.total.outcomes.total(), 1500, "each has an outcome");
    // The load is over and only answers are pending: the trial is complete.
    let much = open(4000.0, 2, Nanos::from_secs(5));
    let draining = at(3.0, &much);
    assert!(!draining.interrupted);
    assert_eq!(draining.result.loaded, Nanos::from_secs(2));
    // While the target recovers, nobody says that it does not.
    let recovering = at(3.0, &open(4000.0, 2, SHORT));
    assert!(!recovering.interrupted);
    assert_eq!(recovering.result.recovery, Recovery::NotNeeded);
}

#[test]
fn the_state_is_put_back_before_each_trial_or_that_is_told() {
    let (mut collector, target) = (EventCollector::default(), SimulatedTarget::queue());
    let (stop, asked) = (target.stop(), Cell::new(0));
    let mut runner = TrialRunner::unwatched(target, &mut collector, &stop);
    runner.reset = Some(Box::new(|_: &mut dyn Sink| {
        asked.set(asked.get() + 1);
        if asked.get() == 2 { Err(Error::Setup("it is locked".to_owned())) } else { Ok(()) }
    }));
    let load = open(100.0, 1, SHORT);
    runner.trial(&load, &|_| false);
    assert_eq!(asked.get(), 1);
    runner.trial(&PlannedTrial { purpose: Purpose::Recovery, ..open(100.0, 1, SHORT) }, &|_| false);
    assert_eq!(asked.get(), 1, "a look after an overload sees the target as it is");
    let done = runner.trial(&load, &|_| false);
    assert_eq!((done.number, done.result.total.outcomes.ok), (3, 100), "the trial is made all the same");
    drop(runner);
    let doubts: Vec<_> = collector.0.iter().filter(|event| matches!(event, Event::Caveat { .. })).collect();
    let [Event::Caveat { caveat }] = &doubts[..] else { panic!("{doubts:?}") };
    assert_eq!(caveat.doubt, CaveatKind::NotReset);
    assert_eq!(caveat.to_string(), "the state was not restored before trial 3: it is locked");
}

/// After a calm trial and an overload that broke the target for `lasts`: whether it recovers, the number of probes, and
/// the time that took.
fn recovers(lasts: Nanos, asks: Option<Nanos>) -> (bool, usize, f64) {
    let breaks = Some(OverloadCollapse { threshold: 400, slowdown: 10, duration: lasts });
    let target = SimulatedTarget { collapse: breaks, interrupt_at: asks, ..SimulatedTarget::queue() };
    let (mut collector, stop) = (EventCollector::default(), target.stop());
    let mut runner = TrialRunner::unwatched(target, &mut collector, &stop);
    let good = Judgement { loss: 0.0, good: true, growth_per_second: None, invalid: Vec::new() };
    assert!(runner.await_recovery(), "what was never calm cannot be compared");
    let calm = runner.trial(&open(1000.0, 2, SHORT), &|_| false);
    runner.emit_judgement(calm, &good);
    let over = runner.trial(&open(4000.0, 1, SHORT), &|_| false);
    runner.emit_judgement(over, &Judgement { good: false, ..good });
    let began = runner.now();
    let back = runner.await_recovery();
    let took = (runner.now() - began).as_secs_f64();
    drop(runner);
    let checks = collector.0.iter().filter(
        |event| matches!(event, Event::TrialDone { result, .. } if result.purpose == Purpose::Recovery),
    );
    (back, checks.count(), took)
}

#[test]
fn a_target_is_not_blamed_for_looks_that_were_late() {
    // After the first load the generator makes half of a probe's rate.
    let makes = vec![(Nanos::from_secs(2), 10.0)];
    let target = SimulatedTarget { generator_rates: makes, ..SimulatedTarget::queue() };
    let (mut collector, stop) = (EventCollector::default(), target.stop());
    let mut runner = TrialRunner::unwatched(target, &mut collector, &stop);
    let good = Judgement { loss: 0.0, good: true, growth_per_second: None, invalid: Vec::new() };
    let calm = runner.trial(&open(1000.0, 2, SHORT), &|_| false);
    runner.emit_judgement(calm, &good);
    assert!(runner.await_recovery(), "it answers as quickly as ever");
    drop(runner);
    let checks = collector.0.iter().filter_map(|event| match event {
        Event::TrialDone { result, judgement, .. } if result.purpose == Purpose::Recovery => Some(judgement),
        _ => None,
    });
    assert!(checks.clone().count() > 1);
    assert!(checks.into_iter().all(|look| !look.good && look.invalid[0].doubt == CaveatKind::GeneratorLate));
}

/// Once its connections were used often, Django's server took 43 ms instead of 2 (Nagle's algorithm, and an
/// acknowledgement delayed by 40 ms): from 80/s on, and after an overload. It was said not to recover.
#[test]
fn a_target_is_back_once_it_is_as_quick_as_it_was_at_other_rates() {
    let recovers = |slow_before: bool| {
        let (mut collector, target) =
            (EventCollector::default(), SimulatedTarget::delay(Nanos::from_millis(2)));
        let stop = target.stop();
        let mut runner = TrialRunner::unwatched(target, &mut collector, &stop);
        let judged = |runner: &mut TrialRunner<'_, SimulatedTarget>, rate: f64, good: bool| {
            let done = runner.trial(&open(rate, 1, SHORT), &|_| false);
            let invalid = Vec::new();
            runner.emit_judgement(done, &Judgement { loss: 0.0, good, growth_per_second: None, invalid });
        };
        judged(&mut runner, 20.0, true);
        if slow_before {
            runner.engine.service = Nanos::from_millis(43);
        }
        judged(&mut runner, 100.0, true);
        judged(&mut runner, 300.0, true);
        judged(&mut runner, 1000.0, false);
        runner.engine.service = Nanos::from_millis(43);
        let back = runner.await_recovery();
        (back, runner.trials - 4)
    };
    assert_eq!(recovers(true), (true, 4), "it is level, and no slower than at 100/s");
    assert_eq!(recovers(false), (false, 60), "it was never as slow before");
}

#[test]
fn a_target_is_back_once_it_is_as_quick_as_before() {
    let (back, checks, _) = recovers(Nanos::ZERO, None);
    assert_eq!((back, checks), (true, 1));
    let (back, checks, took) = recovers(Nanos::from_secs(20), None);
    assert!(back && checks > 2, "{checks} looks");
    assert!(took < 20.0, "{took} s");
    let (back, checks, took) = recovers(Nanos::from_secs(1000), None);
    assert_eq!((back, checks), (false, 60));
    assert!(took >= RECOVERY_LIMIT.as_secs_f64(), "{took} s");
    // Without waiting, nobody says that it does not recover.
    let (back, checks, _) = recovers(Nanos::from_secs(1000), Some(Nanos::from_secs(25)));
    assert!(back && (2..60).contains(&checks), "{checks} looks");
}

/// Its capacity is two a second: a probe of twenty a second was an overload itself, and it never recovered.
#[test]
fn a_look_is_no_overload() {
    let (mut collector, service) = (EventCollector::default(), Nanos::from_millis(400));
    let target = SimulatedTarget { service, ..SimulatedTarget::queue() };
    let stop = target.stop();
    let mut runner = TrialRunner::unwatched(target, &mut collector, &stop);
    for (rate, good) in [(1.0, true), (2.0, true), (5.0, false)] {
        let done = runner.trial(&open(rate, 4, Nanos::from_secs(5)), &|_| false);
        runner.emit_judgement(
            done,
            &Judgement { loss: 0.0, good, growth_per_second: None, invalid: Vec::new() },
        );
    }
    assert_eq!((runner.await_recovery(), runner.trials - 3), (true, 1));
}
