//! What a plan starts, for the length of a run.

use crate::{Error, Reset, Sink, Stop};
use plan::{Plan, Postgres, Setup};
use record::Event;
use service::Guard;

/// The process that will own everything that is started.
pub(crate) fn guard() -> Result<Guard, Error> {
    let program = std::env::current_exe().map_err(|e| {
        Error::Setup(format!("torment cannot find its own executable to guard what it starts: {e}"))
    })?;
    Ok(Guard::start(&program)?)
}

/// Builds and starts what the plan names, lets `work` measure, and stops all of it again. What its programs have
/// written is told last; one that ended meanwhile is the error, whatever was measured without it.
pub(crate) fn around<T>(
    setup: &Setup,
    sink: &mut dyn Sink,
    stop: &Stop,
    work: impl FnOnce(&mut Guard, &mut dyn Sink) -> Result<T, Error>,
) -> Result<T, Error> {
    Guard::check(setup)?;
    let mut guard = guard()?;
    let asked = || stop.asked();
    guard.prepare(setup, &asked)?;
    let result = match guard.up(setup, &asked) {
        Ok(_) => work(&mut guard, sink),
        Err(error) => Err(error.into()),
    };
    let ended = guard.ended();
    tell_logs(&mut guard, sink);
    match ended {
        Some(error) => Err(error.into()),
        None => result,
    }
}

/// Lets `work` measure the plan, while what it names is started if it names anything. `work` is given the plan as it is
/// then, and what puts the state back before a trial.
pub(crate) fn started<T>(
    plan: &Plan,
    sink: &mut dyn Sink,
    stop: &Stop,
    work: impl FnOnce(&Plan, &mut dyn Sink, Option<Reset<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    let Some(setup) = &plan.setup else { return work(plan, sink, None) };
    around(setup, sink, stop, |guard, sink| {
        let plan = Plan { watch: watching(plan, setup), ..plan.clone() };
        let reset = |sink: &mut dyn Sink| reset_trial(guard, setup, sink, stop);
        work(&plan, sink, Some(Box::new(reset)))
    })
}

/// Stops everything and tells what it has written.
pub(crate) fn tell_logs(guard: &mut Guard, sink: &mut dyn Sink) {
    for log in guard.down() {
        sink.event(&Event::Logged(log));
    }
}

/// Puts the state back before the next measurement, as the plan says.
pub(crate) fn reset(guard: &mut Guard, setup: &Setup, sink: &mut dyn Sink, stop: &Stop) -> Result<(), Error> {
    match setup.reset {
        plan::Reset::None => Ok(()),
        plan::Reset::Sql => Ok(guard.reset(setup)?),
        plan::Reset::Restart => {
            tell_logs(guard, sink);
            guard.up(setup, &|| stop.asked())?;
            Ok(())
        }
    }
}

/// As [`reset`], before a trial of a search: everything but a restart, for a cold start would spoil it.
pub(crate) fn reset_trial(
    guard: &mut Guard,
    setup: &Setup,
    sink: &mut dyn Sink,
    stop: &Stop,
) -> Result<(), Error> {
    match setup.reset {
        plan::Reset::Restart => Ok(()),
        plan::Reset::Sql | plan::Reset::None => reset(guard, setup, sink, stop),
    }
}

/// A database that the plan starts is asked what its sessions do, if the plan names no other.
pub(crate) fn watching(plan: &Plan, setup: &Setup) -> plan::Watch {
    let mut watch = plan.watch.clone();
    watch.postgres = watch.postgres.or_else(|| setup.postgres().map(Postgres::address));
    watch
}
