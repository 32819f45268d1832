//! `torment find connections`: how many a service holds open while it meets the goal.

use crate::find::{LOST_MOST, exit_code};
use crate::fleet::{Fleet, Watchers};
use crate::trial_runner::{FinishedTrial, PlannedTrial, ReadyGenerator, TrialRunner};
use crate::{
    Error, MeasureOptions, RunExit, RunHeader, RunOptions, Sink, StopFlag, WatchersConfig, demo, record_run,
    setup,
};
use engine::{ConnectionHolder, HeldConnections, OfferedLoad};
use plan::{Arrivals, Plan, Stage};
use record::{
    Caveat, CaveatDetails, CaveatKind, Event, Failure, Judgement, LimitUnit, Purpose, Recovery, RunKind,
    SearchEnd, Slice, Verdict,
};
use schedule::Schedule;
use search::{LevelResult, ThresholdRange, ThresholdSearch, ThresholdStep};
use std::time::Duration;
use units::{Nanos, Rate, Share};

/// Cap on the requests of idle connections, each of which carries one in a trial: so that it is not a rate that is
/// found.
const IDLE_RATE_MOST: Rate = Rate(500.0);
/// Fewest requests in a trial: fewer tell nothing.
const REQUESTS_LEAST: u32 = 10;
/// A trial may not lose one connection: the goal's strict meaning.
const GOAL: &str = "strict";
/// Pause after closing connections, so that the target notices before new ones are opened.
const PAUSE: Duration = Duration::from_millis(500);

/// What to search, besides the plan's target, requests and generator.
#[derive(Debug, Clone)]
pub struct ConnectionsRequest {
    /// The plan; of its search options, trial and width are used.
    pub plan: Plan,
    /// Requests a second over all connections; `None`: idle ones.
    pub rate: Option<Rate>,
    /// First number tried.
    pub from: u32,
    /// The most that is tried.
    pub most: u32,
    /// Least length of a trial.
    pub trial: Nanos,
    /// Desired precision of the result.
    pub width: Share,
}

/// Runs the search.
pub fn connections(
    request: &ConnectionsRequest,
    run_options: RunOptions<'_>,
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> RunExit {
    let held = match request.rate {
        Some(rate) => format!("held at {rate}"),
        None => "held idle".to_owned(),
    };
    let title = RunHeader::from_plan(&request.plan);
    let title =
        RunHeader { command: RunKind::FindConnections, goal: format!("{}, {held}", title.goal), ..title };
    record_run(title, sink, |sink| {
        setup::with_started_plan(&request.plan, sink, stop, |plan, sink, reset| {
            let RunOptions { costs, fleet, watchers, .. } = run_options;
            let mut fleet = fleet.map(|request| Fleet::new(request, plan, stop)).transpose()?;
            let fleet = fleet.as_mut();
            let options = MeasureOptions { reset, costs, fleet, ..MeasureOptions::default() };
            search(request, plan, watchers, sink, stop, options)
        })
    })
}

fn search(
    request: &ConnectionsRequest,
    plan: &Plan,
    watchers: Option<&WatchersConfig>,
    sink: &mut dyn Sink,
    stop: &StopFlag,
    options: MeasureOptions<'_>,
) -> Result<(Verdict, u8), Error> {
    let (_demo, target) = demo::start_if_asked(plan)?;
    let watchers = watchers.map(|request| Watchers::start(plan, &target, request, stop)).transpose()?;
    let mut options = MeasureOptions { watchers, ..options };
    let mut plan = plan.clone();
    plan.generator.connections = request.most;
    let verdict = match options.fleet.take() {
        None => search_with(ReadyGenerator::here(&plan, &target)?, request, &plan, sink, stop, options),
        Some(fleet) => search_with(fleet.assign(&plan, &target)?, request, &plan, sink, stop, options),
    };
    let code = exit_code(&verdict);
    Ok((verdict, code))
}

fn search_with<C: ConnectionHolder>(
    ready: ReadyGenerator<C>,
    request: &ConnectionsRequest,
    plan: &Plan,
    sink: &mut dyn Sink,
    stop: &StopFlag,
    options: MeasureOptions<'_>,
) -> Verdict {
    let mut runner = TrialRunner::prepare(plan, ready, sink, stop, options);
    // Fewer if the generator cannot open as many; that was reported already.
    let most = request.most.min(u32::try_from(runner.connections_limit).unwrap_or(u32::MAX));
    let verdict = climb(&mut runner, request, plan, most);
    runner.observer.conclude(&verdict);
    verdict
}

fn climb<C: ConnectionHolder>(
    runner: &mut TrialRunner<'_, C>,
    request: &ConnectionsRequest,
    plan: &Plan,
    most: u32,
) -> Verdict {
    let least = runner.engine.min_connections();
    let most = most.max(least);
    let mut search = ThresholdSearch::new(ThresholdRange {
        unit: LimitUnit::Connections,
        from: f64::from(request.from),
        factor: 2.0,
        least: f64::from(least),
        most: f64::from(most),
        grain: 1.0,
        width: request.width.0,
    });
    let (mut trials, mut loaded, mut lost) = (0, Nanos::ZERO, 0);
    let ended = loop {
        let level = match search.next() {
            ThresholdStep::Try(level) => level as u32,
            ThresholdStep::Done(ended) => break ended,
        };
        if runner.is_interrupted() {
            search.interrupt(SearchEnd::Interrupted);
            continue;
        }
        let purpose = if search.limit(GOAL).upper.is_none() { Purpose::Climb } else { Purpose::Measure };
        let held = runner.hold(level);
        if runner.is_interrupted() {
            search.interrupt(SearchEnd::Interrupted);
            continue;
        }
        let (finished, judgement, response) = trial(runner, request, plan, &held, level, purpose);
        trials += 1;
        loaded += finished.result.loaded;
        let has_recovered = !matches!(finished.result.recovery, Recovery::Not(_));
        let is_of_fleet = finished.result.fleet_caveats().next().is_some();
        if finished.interrupted {
            search.interrupt(SearchEnd::Interrupted);
        } else if is_of_fleet {
            // Not reported to the search, so that it asks for the same trial again.
            lost += 1;
            if lost == LOST_MOST {
                search.interrupt(SearchEnd::FleetFailed);
            }
        } else {
            search.add_result(response);
        }
        runner.emit_judgement(finished, &judgement);
        runner.emit(&Event::Bounds { limits: vec![search.limit(GOAL)], making: None });
        if !is_of_fleet && !matches!(response, LevelResult::Good { .. }) && !runner.is_interrupted() {
            // Connections not yet accepted may still be in the target's queue: the next trial starts with none.
            runner.engine.release();
            std::thread::sleep(PAUSE);
            if has_recovered && !runner.await_recovery() {
                search.interrupt(SearchEnd::NotRecovered);
            }
            runner.engine.release();
        }
    };
    // This machine's limit is not the target's.
    let ended =
        if ended == SearchEnd::MaxReached && most < request.most { SearchEnd::GeneratorLimit } else { ended };
    let limits = vec![search.limit(GOAL)];
    Verdict::Limits {
        limits,
        ended,
        curve: Vec::new(),
        detection_limit: 0.0,
        trials,
        loaded,
        background: None,
        warmed_up: None,
        overloaded: None,
        generator: None,
    }
}

/// A trial, its judgement, and what the search is told of it.
fn trial<C: ConnectionHolder>(
    runner: &mut TrialRunner<'_, C>,
    request: &ConnectionsRequest,
    plan: &Plan,
    held: &HeldConnections,
    level: u32,
    purpose: Purpose,
) -> (FinishedTrial, Judgement, LevelResult) {
    let (rate, duration) = offer(request, level);
    let stage = Stage { duration, from: rate, to: rate };
    let load = PlannedTrial {
        purpose,
        offer: OfferedLoad::Open(Schedule::new(&[stage], Arrivals::Even, plan.generator.seed)),
        rate: Some(rate),
        duration: Some(duration),
        drain: plan.longest_timeout(),
    };
    // Once one is gone, no later second brings it back.
    let gone = |so_far: &Slice| so_far.elapsed > Nanos::ZERO && so_far.connections < u64::from(level);
    let mut finished = runner.trial(&load, &gone);
    let mut judgement = search::judge(&finished.result, &plan.objective, request.width, None);
    let open = finished.result.total.connections;
    let holds = held.open >= u64::from(level) && open >= u64::from(level);
    judgement.good &= holds;
    if !holds {
        let HeldConnections { open: made, refused, refused_by: by } = held.clone();
        if let Some(Failure::Lacking(lack)) = refused {
            let grounds = CaveatDetails::NoMore { lack, open: made };
            let grounds = match by {
                None => grounds,
                Some((member, place)) => {
                    CaveatDetails::OfMember { member, place, grounds: Box::new(grounds) }
                }
            };
            judgement.invalid.push(Caveat::with_details(CaveatKind::ConnectionsOurs, grounds));
        }
        let grounds = CaveatDetails::Held { asked: u64::from(level), made, stood: open, refused };
        finished.result.caveats.push(Caveat::with_details(CaveatKind::ConnectionsLost, grounds));
    }
    let response = match (judgement.invalid.is_empty(), judgement.good) {
        (false, _) => LevelResult::Void,
        (true, true) => {
            LevelResult::Good { due: finished.result.total.due, bad: finished.result.total.outcomes.bad() }
        }
        (true, false) => LevelResult::Bad,
    };
    (finished, judgement, response)
}

/// Rate and length of a trial in which each connection carries at least one request.
fn offer(request: &ConnectionsRequest, level: u32) -> (Rate, Nanos) {
    let each = |rate: Rate| Nanos::from_secs_f64(f64::from(level) / rate.0.max(f64::MIN_POSITIVE));
    match request.rate {
        Some(rate) => (rate, request.trial.max(each(rate))),
        None => {
            let duration = request.trial.max(each(IDLE_RATE_MOST));
            (Rate(f64::from(level.max(REQUESTS_LEAST)) / duration.as_secs_f64()), duration)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    fn asked(rate: Option<f64>) -> ConnectionsRequest {
        let mut draft = plan::Draft::default();
        draft.set(plan::Key::Url, "TARGET", "null");
        let plan = draft
            .check(plan::PlanCommand::Find, &mut |_| Err("no file".to_owned()))
            .expect("the null target needs nothing");
        ConnectionsRequest {
            plan,
            rate: rate.map(Rate),
            from: 16,
            most: 1000,
            trial: Nanos::from_secs(10),
            width: Share(0.02),
        }
    }

    #[test]
    fn each_connection_is_asked_at_least_once() {
        assert_eq!(offer(&asked(Some(100.0)), 50), (Rate(100.0), Nanos::from_secs(10)));
        assert_eq!(offer(&asked(Some(100.0)), 40_000), (Rate(100.0), Nanos::from_secs(400)));
        assert_eq!(offer(&asked(None), 1000), (Rate(100.0), Nanos::from_secs(10)));
        assert_eq!(offer(&asked(None), 40_000), (Rate(500.0), Nanos::from_secs(80)));
        assert_eq!(offer(&asked(None), 1).0, Rate(1.0));
    }

    /// The only limit inside the engine is the one given.
    #[test]
    fn nowhere_holds_as_many_as_are_asked() {
        struct NullSink;
        impl Sink for NullSink {
            fn event(&mut self, _: &Event) {}
        }
        let request = ConnectionsRequest {
            most: 64,
            trial: Nanos::from_millis(300),
            rate: Some(Rate(500.0)),
            ..asked(None)
        };
        let (verdict, code) = search(
            &request,
            &request.plan,
            None,
            &mut NullSink,
            &StopFlag::default(),
            MeasureOptions::default(),
        )
        .expect("it needs nothing");
        let Verdict::Limits { limits, ended, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!(
            (limits[0].lower, limits[0].upper, ended, code),
            (Some(64.0), None, SearchEnd::MaxReached, exit::MET)
        );
    }
}
