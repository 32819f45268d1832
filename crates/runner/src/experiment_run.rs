//! `torment try`: starts one arm after another as the experiment asks, measures each, and reports the results.

mod arm_runner;
mod design;
mod measurement;
mod testbed;

pub use design::design;

use crate::fleet::Fleet;
use crate::{
    Error, FleetConfig, RunExit, RunHeader, Sink, StopFlag, exit, finish_run, id, record_run, setup,
};
use arm_runner::ArmRunner;
use experiment::{Experiment, ExperimentStep};
use plan::{ExperimentPlan, Plan, Task};
use record::{ArmStart, Design, Event, ExperimentEnd, ExperimentState, HypothesisAnswer, Verdict};
use service::Guard;
use testbed::{LocalTestbed, Testbed};
use units::Nanos;

/// Runs an experiment as [`crate::conduct`] does a run. With `before`, all events of an interrupted experiment, it
/// resumes where that ended; `plan` is then the one stored in them. Loads are made by a fleet, if one is asked for: by
/// the same workers from the first start to the last.
pub fn run_experiment(
    plan: &Plan,
    fleet: Option<&FleetConfig>,
    before: &[Event],
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> RunExit {
    let Task::Try(experiment) = &plan.task else {
        return failed(Error::Experiment("this plan is read for one load, not for an experiment".to_owned()));
    };
    let (mut begun, mut begun_as, mut done_starts) = (None, None, Vec::new());
    for event in before {
        match event {
            Event::RunStarted(started) => begun = Some(&started.id),
            Event::Designed { design } => begun_as = Some(&**design),
            Event::Visited { visit } => done_starts.push(&**visit),
            _ => {}
        }
    }
    let id = begun.cloned().unwrap_or_else(id::new_id);
    let progress = match begin(plan, experiment, begun_as, &done_starts) {
        Ok(progress) => progress,
        Err(error) => return failed(error.without_secrets(&plan.redactor())),
    };
    let work = |sink: &mut dyn Sink| {
        let fleet = fleet.map(|config| assemble_fleet(config, plan, experiment, sink, stop)).transpose()?;
        let mut guard = setup::start_guard()?;
        for arm in &experiment.arms {
            guard.prepare(&arm.setup, &|| stop.is_requested())?;
        }
        let arm_runner =
            ArmRunner { id: id.clone(), plan, experiment, stop, testbed: LocalTestbed { guard, fleet } };
        Ok(carry_out(arm_runner, progress, &done_starts, sink))
    };
    if begun.is_some() {
        sink.event(&Event::Resumed { at_unix_ms: sys::now().unix_ms() });
        return finish_run(id.clone(), &plan.redactor(), sink, work);
    }
    record_run(RunHeader { id: id.clone(), ..RunHeader::from_plan(plan) }, sink, work)
}

/// The workers, present and idle.
fn assemble_fleet(
    config: &FleetConfig,
    plan: &Plan,
    experiment: &ExperimentPlan,
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> Result<Fleet, Error> {
    let mut fleet = Fleet::new(config, plan, stop)?;
    let part = plan.for_workload(&experiment.workloads[0], Task::Find(experiment.find.clone()));
    let members = fleet.assemble(&part)?;
    sink.event(&Event::FleetStands { members });
    Ok(fleet)
}

fn failed(error: Error) -> RunExit {
    RunExit { id: id::new_id(), exit_code: exit::USAGE, error: Some(error) }
}

/// Checks everything that can be checked before the first start.
fn begin(
    plan: &Plan,
    experiment: &ExperimentPlan,
    begun_as: Option<&Design>,
    done_starts: &[&ArmStart],
) -> Result<Experiment, Error> {
    let design = design(plan, experiment);
    if begun_as.is_some_and(|begun| *begun != design) {
        let text = "this version of torment reads the stored plan as a different experiment, so the starts \
                    made so far do not fit; try the plan again from the start";
        return Err(Error::Experiment(text.to_owned()));
    }
    let mut progress = Experiment::new(&design).map_err(|e| Error::Experiment(e.to_string()))?;
    done_starts.iter().for_each(|arm_start| progress.add_start(arm_start));
    let needed = experiment::least_time(&design, design::start_duration(experiment));
    if let Some(budget) = experiment.budget.filter(|budget| done_starts.is_empty() && needed > *budget) {
        return Err(Error::Experiment(format!(
            "a budget of {budget} is too little for any verdict: {} starts before the first look take about {needed}; \
             raise [try] budget, or lower pilot, least, hold, or what is measured",
            design.starts_to_first_look(),
        )));
    }
    for arm in &experiment.arms {
        Guard::check(&arm.setup)
            .map_err(|error| Error::Experiment(format!("the arm '{}': {error}", arm.name)))?;
    }
    Ok(progress)
}

fn carry_out<B: Testbed>(
    mut arm_runner: ArmRunner<'_, B>,
    mut progress: Experiment,
    done_starts: &[&ArmStart],
    sink: &mut dyn Sink,
) -> (Verdict, u8) {
    if done_starts.is_empty() {
        sink.event(&Event::Designed { design: Box::new(design(arm_runner.plan, arm_runner.experiment)) });
    }
    let before: Nanos = done_starts.iter().fold(Nanos::ZERO, |sum, arm_start| sum + arm_start.took);
    let began = arm_runner.testbed.now();
    let mut block = done_starts.last().map_or(0, |arm_start| arm_start.block);
    let state = loop {
        let spent = before + (arm_runner.testbed.now() - began);
        if arm_runner.stop.is_requested() {
            break progress.interrupt(ExperimentEnd::Interrupted);
        }
        let (start, probes) = match progress.next(spent) {
            ExperimentStep::Start { start, probes } => (start, probes),
            ExperimentStep::Done(over) => break progress.interrupt(over),
        };
        if start.block != block {
            block = start.block;
            sink.event(&Event::Stands { standing: Box::new(progress.state()) });
        }
        sink.event(&Event::VisitStarted(start));
        let Some(arm_start) = arm_runner.run_start(start, &probes, &progress, sink) else {
            break progress.interrupt(ExperimentEnd::Interrupted);
        };
        progress.add_start(&arm_start);
        sink.event(&Event::Visited { visit: Box::new(arm_start) });
    };
    sink.event(&Event::Stands { standing: Box::new(state.clone()) });
    let code = exit_code(&state);
    (Verdict::Answers { standing: state }, code)
}

fn exit_code(state: &ExperimentState) -> u8 {
    let is_open = |answer| matches!(answer, HypothesisAnswer::Undecided | HypothesisAnswer::NotMeasured);
    match state.over {
        Some(ExperimentEnd::Interrupted) | None => exit::INTERRUPTED,
        Some(ExperimentEnd::NothingToCompare) => exit::NOT_MET,
        _ if state.judged.iter().any(|judged| judged.hypothesis.is_some() && is_open(judged.answer)) => {
            exit::UNDECIDED
        }
        _ => exit::MET,
    }
}

#[cfg(test)]
mod tests;
