//! `torment try`: starts one arm after another as the experiment asks, measures each, and reports the results.

mod arm_runner;
mod design;
mod measurement;
mod testbed;

pub use design::design;

use crate::fleet::Fleet;
use crate::{
    Error, FleetConfig, RunExit, RunHeader, Sink, StopFlag, ended, exit, id, record_run, setup, unix_ms,
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
    version: &str,
    before: &[Event],
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> RunExit {
    let Task::Try(experiment) = &plan.task else {
        return failed(Error::Experiment("this plan is read for one load, not for an experiment".to_owned()));
    };
    let begun = before.iter().find_map(|event| match event {
        Event::RunStarted(started) => Some(started.id.clone()),
        _ => None,
    });
    let made: Vec<&ArmStart> = before.iter().filter_map(visited).collect();
    let id = begun.clone().unwrap_or_else(id::new_id);
    let begun_as = before.iter().find_map(|event| match event {
        Event::Designed { design } => Some(&**design),
        _ => None,
    });
    let course = match begin(plan, experiment, begun_as, &made) {
        Ok(course) => course,
        Err(error) => return failed(error.without_secrets(&plan.redactor())),
    };
    let work = |sink: &mut dyn Sink| {
        let fleet = fleet.map(|asked| gathered(asked, plan, experiment, sink, stop)).transpose()?;
        let mut guard = setup::start_guard()?;
        for arm in &experiment.arms {
            guard.prepare(&arm.setup, &|| stop.is_requested())?;
        }
        let lab = ArmRunner {
            id: id.clone(),
            plan,
            experiment,
            version,
            stop,
            bench: LocalTestbed { guard, fleet },
        };
        Ok(carry_out(lab, course, &made, sink))
    };
    if begun.is_some() {
        sink.event(&Event::Resumed { at_unix_ms: unix_ms() });
        return ended(id.clone(), &plan.redactor(), sink, work);
    }
    record_run(id.clone(), RunHeader::from_plan(plan), version, None, sink, work)
}

/// The workers, present and idle.
fn gathered(
    asked: &FleetConfig,
    plan: &Plan,
    experiment: &ExperimentPlan,
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> Result<Fleet, Error> {
    let mut fleet = Fleet::new(asked, plan, stop)?;
    let part = plan.for_workload(&experiment.workloads[0], Task::Find(experiment.find.clone()));
    let members = fleet.assemble(&part)?;
    sink.event(&Event::FleetStands { members });
    Ok(fleet)
}

fn visited(event: &Event) -> Option<&ArmStart> {
    match event {
        Event::Visited { visit } => Some(visit),
        _ => None,
    }
}

fn failed(error: Error) -> RunExit {
    RunExit { id: id::new_id(), exit_code: exit::USAGE, error: Some(error) }
}

/// Checks everything that can be checked before the first start.
fn begin(
    plan: &Plan,
    experiment: &ExperimentPlan,
    begun_as: Option<&Design>,
    made: &[&ArmStart],
) -> Result<Experiment, Error> {
    let design = design(plan, experiment);
    if begun_as.is_some_and(|begun| *begun != design) {
        let text = "this version of torment reads the stored plan as a different experiment, so the starts \
                    made so far do not fit; try the plan again from the start";
        return Err(Error::Experiment(text.to_owned()));
    }
    let mut course = Experiment::new(&design).map_err(|e| Error::Experiment(e.to_string()))?;
    made.iter().for_each(|visit| course.take(visit));
    let needed = experiment::least_time(&design, design::one_visit(experiment));
    if let Some(budget) = experiment.budget.filter(|budget| made.is_empty() && needed > *budget) {
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
    Ok(course)
}

fn carry_out<B: Testbed>(
    mut lab: ArmRunner<'_, B>,
    mut course: Experiment,
    made: &[&ArmStart],
    sink: &mut dyn Sink,
) -> (Verdict, u8) {
    if made.is_empty() {
        sink.event(&Event::Designed { design: Box::new(design(lab.plan, lab.experiment)) });
    }
    let before: Nanos = made.iter().fold(Nanos::ZERO, |sum, visit| sum + visit.took);
    let began = lab.bench.now();
    let mut block = made.last().map_or(0, |visit| visit.block);
    let standing = loop {
        let spent = before + (lab.bench.now() - began);
        if lab.stop.is_requested() {
            break course.interrupt(ExperimentEnd::Interrupted);
        }
        let (start, probes) = match course.next(spent) {
            ExperimentStep::Visit { start, probes } => (start, probes),
            ExperimentStep::Done(over) => break course.interrupt(over),
        };
        if start.block != block {
            block = start.block;
            sink.event(&Event::Stands { standing: Box::new(course.state()) });
        }
        sink.event(&Event::VisitStarted(start));
        let Some(visit) = lab.run_start(start, &probes, &course, sink) else {
            break course.interrupt(ExperimentEnd::Interrupted);
        };
        course.take(&visit);
        sink.event(&Event::Visited { visit: Box::new(visit) });
    };
    sink.event(&Event::Stands { standing: Box::new(standing.clone()) });
    let code = exit_code(&standing);
    (Verdict::Answers { standing }, code)
}

fn exit_code(standing: &ExperimentState) -> u8 {
    let asked = || standing.judged.iter().filter(|judged| judged.hypothesis.is_some());
    match standing.over {
        Some(ExperimentEnd::Interrupted) | None => exit::INTERRUPTED,
        Some(ExperimentEnd::NothingToCompare) => exit::NOT_MET,
        _ if asked().any(|judged| {
            matches!(judged.answer, HypothesisAnswer::Undecided | HypothesisAnswer::NotMeasured)
        }) =>
        {
            exit::UNDECIDED
        }
        _ => exit::MET,
    }
}

#[cfg(test)]
mod tests;
