//! Programs that a plan starts for the length of a run.

use crate::{Error, ResetFn, Sink, StopFlag};
use plan::{Plan, PostgresSetup, Setup};
use record::Event;
use service::Guard;

/// The process that will own everything that is started.
pub(crate) fn start_guard() -> Result<Guard, Error> {
    let program = std::env::current_exe().map_err(|e| {
        Error::Setup(format!("torment cannot find its own executable to guard what it starts: {e}"))
    })?;
    Ok(Guard::start(&program)?)
}

/// Builds and starts the plan's programs, lets `work` measure, and stops them again. Their logs are reported last; a
/// program that ended meanwhile is an error, whatever was measured without it.
pub(crate) fn with_setup<T>(
    setup: &Setup,
    sink: &mut dyn Sink,
    stop: &StopFlag,
    work: impl FnOnce(&mut Guard, &mut dyn Sink) -> Result<T, Error>,
) -> Result<T, Error> {
    Guard::check(setup)?;
    let mut guard = start_guard()?;
    let is_stopped = || stop.is_requested();
    guard.prepare(setup, &is_stopped)?;
    let result = match guard.up(setup, &is_stopped) {
        Ok(_) => work(&mut guard, sink),
        Err(error) => Err(error.into()),
    };
    let ended = guard.take_end_error();
    emit_logs(&mut guard, sink);
    match ended {
        Some(error) => Err(error.into()),
        None => result,
    }
}

/// Lets `work` measure the plan, with its programs started if it has any. `work` gets the plan as it is then, and a
/// function that restores the state before a trial.
pub(crate) fn with_started_plan<T>(
    plan: &Plan,
    sink: &mut dyn Sink,
    stop: &StopFlag,
    work: impl FnOnce(&Plan, &mut dyn Sink, Option<ResetFn<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    let Some(setup) = &plan.setup else { return work(plan, sink, None) };
    with_setup(setup, sink, stop, |guard, sink| {
        let plan = Plan { watch: watch_settings(plan, setup), ..plan.clone() };
        let reset = |sink: &mut dyn Sink| reset_trial(guard, setup, sink, stop);
        work(&plan, sink, Some(Box::new(reset)))
    })
}

/// Stops everything and reports the logs.
pub(crate) fn emit_logs(guard: &mut Guard, sink: &mut dyn Sink) {
    for log in guard.down() {
        sink.event(&Event::Logged(log));
    }
}

/// Restores the state before the next measurement, as the plan says.
pub(crate) fn reset(
    guard: &mut Guard,
    setup: &Setup,
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> Result<(), Error> {
    match setup.reset {
        plan::ResetMethod::None => Ok(()),
        plan::ResetMethod::Sql => Ok(guard.reset(setup)?),
        plan::ResetMethod::Restart => {
            emit_logs(guard, sink);
            guard.up(setup, &|| stop.is_requested())?;
            Ok(())
        }
    }
}

/// As [`reset`], before a trial of a search: everything but a restart, since a cold start would spoil it.
pub(crate) fn reset_trial(
    guard: &mut Guard,
    setup: &Setup,
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> Result<(), Error> {
    match setup.reset {
        plan::ResetMethod::Restart => Ok(()),
        plan::ResetMethod::Sql | plan::ResetMethod::None => reset(guard, setup, sink, stop),
    }
}

/// Watches the sessions of a database that the plan starts, if the plan names no other.
pub(crate) fn watch_settings(plan: &Plan, setup: &Setup) -> plan::WatchPlan {
    let mut watch = plan.watch.clone();
    watch.postgres = watch.postgres.or_else(|| setup.postgres().map(PostgresSetup::address));
    watch
}
