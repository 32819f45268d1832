//! Users who make several requests in a row, as the target sees them and as the engine counts them.

mod ends;
mod idle;
mod mix;
mod pieces;
mod resent;
pub mod server;
mod users;

use plan::{Draft, Plan, PlanCommand};
use record::{Slice, StepSlice};
use schedule::Schedule;
use torment_engine::{Engine, EngineConfig, LoadCommand, LoadGenerator, OfferedLoad, ResolvedTarget};
use units::{Nanos, Rate};

const MS: Nanos = Nanos::from_millis(1);

/// A plan for a server on this port; every file that it names holds four users.
fn job(port: u16, plan: &str) -> EngineConfig {
    let text = format!("target.url = 'http://127.0.0.1:{port}/'\n{plan}");
    let checked = || {
        let mut plan =
            Draft::from_toml("plan.toml", &text)?.check(PlanCommand::Find, &mut |_| Ok(Vec::new()))?;
        plan.bind(
            |_| Ok("name,password\nu0,p0\nu1,p1\nu2,p2\nu3,p3\n".to_owned()),
            |name| Err(name.to_owned()),
        )?;
        Ok::<Plan, plan::Error>(plan)
    };
    let plan = checked().unwrap_or_else(|e| panic!("{plan}\n{e}"));
    EngineConfig {
        secrets: plan.redactor(),
        endpoint: ResolvedTarget::resolve(&plan.target).expect("an address"),
        arrivals_limit: plan.arrivals_limit(),
        flows: plan.flows,
        generator: plan.generator,
        loops: 1,
        deadline: None,
    }
}

/// Offers `count` arrivals at 400 a second and waits for their results.
fn offer(job: &EngineConfig, count: u64) -> Slice {
    let mut engine = Engine::start(job).expect("starts");
    run(&mut engine, count, Nanos::from_secs(10))
}

fn run(engine: &mut Engine, count: u64, drain: Nanos) -> Slice {
    run_until(engine, count, drain, || false)
}

/// The same; cut short once it is `enough`.
fn run_until(engine: &mut Engine, count: u64, drain: Nanos, enough: impl Fn() -> bool) -> Slice {
    let load = OfferedLoad::Open(Schedule::constant(Rate(400.0), MS * count * 5 / 2));
    let mut summed: Vec<StepSlice> = Vec::new();
    let mut each = |slice: &Slice| {
        summed.resize_with(slice.parts.len().max(summed.len()), StepSlice::default);
        summed.iter_mut().zip(&slice.parts).for_each(|(sum, part)| sum.merge(part));
    };
    let mut next_command = |_: &Slice, _| if enough() { LoadCommand::Stop } else { LoadCommand::Continue };
    let total = engine.run_trial(&load, drain, &mut |_| {}, &mut each, &mut next_command).total;
    engine.settle(Nanos::from_secs(10), &|| false).expect("everything is answered");
    assert_eq!((total.due, total.outcomes.total()), (count, count), "every arrival has one outcome");
    assert_eq!(total.parts, summed, "the seconds add up to the trial");
    for part in &total.parts {
        assert_eq!(part.sent, part.ok + part.bad, "whatever was sent came to something: {part:?}");
    }
    total
}

/// Of each step: sent, as expected, otherwise.
fn counts(total: &Slice) -> Vec<(u64, u64, u64)> {
    total.parts.iter().map(|part| (part.sent, part.ok, part.bad)).collect()
}

fn failures(total: &Slice) -> Vec<(String, u64)> {
    total.failures.iter().map(|(why, count)| (why.to_string(), *count)).collect()
}
