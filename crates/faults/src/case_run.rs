//! Runs one case: sets up its environment, offers the load, and records the events.

use crate::CaseError;
use crate::case::{CaseCapacity, FaultCase};
use crate::client;
use crate::environment::Environment;
use plan::{Plan, PlanCommand};
use record::Event;
use runner::{RunOptions, Sink, StopFlag, conduct};
use std::fmt::Write;

/// Users of the warm-up's closed loop.
const USERS: u32 = 64;
/// Duration of a rate change; a stage needs one.
const STEP: &str = "1ms";
/// At a lower rate the warm-up has found no capacity.
const RATE_LEAST: f64 = 2.0;

/// Records all events of the load, or says why there was none.
pub(crate) fn run_case(case: &FaultCase, stop: &StopFlag, events: &mut Vec<Event>) -> Result<(), CaseError> {
    let mut environment = Environment::start(case, stop)?;
    if case.load.probe_pages {
        for page in &case.pages {
            client::get(environment.address(), &environment.page(page)).map_err(CaseError::Fail)?;
        }
    }
    let mut reached = None;
    if !case.load.warm_up.is_zero() {
        let plan = plan(case, &environment, &closed_loop(case), false)?;
        let mut warm = EventLog { events: Vec::new(), on_load: None, after_slices: 0 };
        measure(&plan, &mut warm, stop)?;
        reached = answered_rate(&warm.events);
    }
    let capacity = match case.load.capacity {
        CaseCapacity::Known(rate) => rate,
        CaseCapacity::PerCpu(rate) => rate * f64::from(available_processors()?),
        CaseCapacity::Measured => reached
            .filter(|rate| *rate >= RATE_LEAST)
            .ok_or_else(|| CaseError::Fail("the closed loop got no answers".to_owned()))?,
    };
    let plan = plan(case, &environment, &stages(case, capacity), true)?;
    let mut neighbour = environment.neighbour.take();
    let mut begin = || {
        if let Some(neighbour) = &mut neighbour {
            neighbour.begin();
        }
    };
    let after_slices = case.load.base_time.as_secs() as usize;
    let mut kept = EventLog { events: Vec::new(), on_load: Some(&mut begin), after_slices };
    let measured = measure(&plan, &mut kept, stop);
    *events = kept.events;
    measured
}

fn closed_loop(case: &FaultCase) -> String {
    format!("connections = {USERS}\nduration = \"{}ms\"\n", case.load.warm_up.as_millis())
}

/// Below the capacity, then above it.
fn stages(case: &FaultCase, capacity: f64) -> String {
    let load = &case.load;
    let mut stages = Vec::new();
    for (share, time) in [(load.base_load, load.base_time), (load.overload, load.overload_time)] {
        if !time.is_zero() {
            let rate = share * capacity;
            stages.push(format!("\"{STEP}:{rate:.3}\", \"{}ms:{rate:.3}\"", time.as_millis()));
        }
    }
    let arrivals = if load.poisson { "arrivals = \"poisson\"\n" } else { "" };
    format!("stages = [{}]\n{arrivals}", stages.join(", "))
}

/// The plan, as it could stand in a file.
fn plan(case: &FaultCase, environment: &Environment, load: &str, watched: bool) -> Result<Plan, CaseError> {
    let mut text = format!("[target]\nurl = \"http://{}\"\n", environment.address());
    if case.load.close_connections {
        text += "headers = { Connection = \"close\" }\n";
    }
    for page in &case.pages {
        let (page, timeout) = (environment.page(page), case.load.timeout.as_millis());
        let _ = write!(text, "[[request]]\nurl = {page:?}\ntimeout = \"{timeout}ms\"\n");
    }
    let _ = write!(
        text,
        "[load]\n{load}[generator]\ncores = {:?}\n[watch]\non = {watched}\n",
        environment.generator_cores
    );
    if let Some(server) = environment.postgres.as_ref().filter(|_| watched) {
        let _ = writeln!(text, "postgres = {:?}", server.url);
    }
    let mut plan = Plan::from_toml(&text, PlanCommand::Run).map_err(CaseError::fail("the cell's plan"))?;
    let nothing = |what: &str| Err(format!("'{what}' is not wanted here"));
    plan.bind(nothing, nothing).map_err(CaseError::fail("the cell's plan"))?;
    Ok(plan)
}

fn measure(plan: &Plan, log: &mut EventLog<'_>, stop: &StopFlag) -> Result<(), CaseError> {
    let outcome = conduct(plan, RunOptions::default(), log, stop);
    outcome.error.map_or(Ok(()), |error| Err(CaseError::Fail(error.to_string())))
}

/// Processors available to our services.
fn available_processors() -> Result<u32, CaseError> {
    Ok(rustix::thread::sched_getaffinity(None).map_err(CaseError::fail("our processors"))?.count())
}

/// Answers per second.
fn answered_rate(events: &[Event]) -> Option<f64> {
    events.iter().rev().find_map(|event| match event {
        Event::TrialDone { result, .. } => {
            Some(result.total.outcomes.answered() as f64 / result.loaded.as_secs_f64().max(f64::MIN_POSITIVE))
        }
        _ => None,
    })
}

/// Records all events, and triggers an action after so many seconds of the load.
struct EventLog<'a> {
    events: Vec<Event>,
    on_load: Option<&'a mut dyn FnMut()>,
    after_slices: usize,
}

impl Sink for EventLog<'_> {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
        let seconds = self.events.iter().filter(|event| matches!(event, Event::SliceDone { .. })).count();
        if seconds >= self.after_slices
            && let Some(begin) = self.on_load.take()
        {
            begin();
        }
    }
}
