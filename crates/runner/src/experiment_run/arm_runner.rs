//! One start of one arm: start, all measurements, stop.

use super::measurement::MeasurementSink;
use super::testbed::Testbed;
use crate::{DrainPolicy, Error, RunHeader, Sink, StopFlag, record_run, setup, unix_ms};
use experiment::Experiment;
use plan::{Arm, ExperimentPlan, Load, LoadLevel, Measurement, Plan, SearchPlan, Stage, Task};
use record::{ArmStart, CaveatKind, MeasurementResult, OngoingStart, RunId, StartTimes};
use units::{Nanos, Rate};

/// Where later searches begin, as a share of the capacity found in the pilot: three doublings below it.
const FROM: f64 = 0.125;
/// Repetitions of a load while the hypervisor steals more than a tenth of the machine, or part of the load is missing;
/// after that it is kept, with that caveat.
const DISTURBED: usize = 2;
/// Longest drain as a fraction of the load (1/n), or the deadline if longer: a load tells nothing about what takes
/// longer.
const DRAIN: u64 = 2;

/// What all starts share.
pub(super) struct ArmRunner<'a, B> {
    pub id: RunId,
    pub plan: &'a Plan,
    pub experiment: &'a ExperimentPlan,
    pub version: &'a str,
    pub stop: &'a StopFlag,
    pub bench: B,
}

/// Why a start has no result.
enum VoidReason {
    /// Interrupted by the user: nothing of it is kept.
    Interrupted,
    Because(String),
}

impl From<Error> for VoidReason {
    fn from(error: Error) -> Self {
        Self::Because(error.to_string())
    }
}

/// Whether stolen time or a lost worker makes this useless for the arm; a search repeats its own trials.
fn was_disturbed(probe: &Measurement, taken: &MeasurementResult) -> bool {
    probe.at != LoadLevel::Limit
        && taken.caveats.iter().any(|caveat| caveat.doubt == CaveatKind::Steal || caveat.doubt.is_fleet())
}

impl<B: Testbed> ArmRunner<'_, B> {
    /// `None` if the user interrupted it.
    pub fn run_start(
        &mut self,
        start: OngoingStart,
        probes: &[usize],
        course: &Experiment,
        sink: &mut dyn Sink,
    ) -> Option<ArmStart> {
        let began = self.bench.now();
        let OngoingStart { number, block, arm, placebo, expected: _ } = start;
        let mut visit = ArmStart {
            number,
            block,
            arm,
            placebo,
            at_unix_ms: unix_ms(),
            took: Nanos::ZERO,
            started_in: Nanos::ZERO,
            spent: StartTimes::default(),
            taken: Vec::new(),
            void: None,
        };
        let result = self.measured(probes, course, &mut visit, sink);
        let before = self.bench.now();
        let ended = self.bench.down(sink);
        visit.took = self.bench.now() - began;
        visit.spent.stop = self.bench.now() - before;
        visit.void = match (result, ended) {
            (Err(VoidReason::Interrupted), _) => return None,
            // What was measured without the program says nothing about it.
            (_, Some(error)) => Some(error.to_string()),
            (Err(VoidReason::Because(why)), None) => Some(why),
            (Ok(()), None) => None,
        };
        Some(visit)
    }

    fn measured(
        &mut self,
        probes: &[usize],
        course: &Experiment,
        visit: &mut ArmStart,
        sink: &mut dyn Sink,
    ) -> Result<(), VoidReason> {
        let (experiment, stop) = (self.experiment, self.stop);
        let arm = &experiment.arms[visit.arm];
        let began = self.bench.now();
        let up = self.bench.up(&arm.setup, stop);
        if stop.is_requested() {
            return Err(VoidReason::Interrupted);
        }
        visit.started_in = up?;
        visit.spent.needs = self.bench.now() - began - visit.started_in;
        for (turn, &place) in probes.iter().enumerate() {
            let probe = &experiment.probes[place];
            if turn > 0 {
                let began = self.bench.now();
                self.bench.reset(&arm.setup, sink, stop)?;
                visit.spent.reset += self.bench.now() - began;
            }
            let is_last = turn + 1 == probes.len();
            let mut taken = self.probe(place, is_last, arm, visit, course, sink)?;
            for _ in 0..DISTURBED {
                if !was_disturbed(probe, &taken) {
                    break;
                }
                let began = self.bench.now();
                let spent = visit.spent;
                taken = self.probe(place, is_last, arm, visit, course, sink)?;
                visit.spent = StartTimes { again: spent.again + (self.bench.now() - began), ..spent };
            }
            let doubt = taken.caveats.iter().find(|_| taken.figures.is_empty()).map(ToString::to_string);
            visit.taken.push(taken);
            if let Some(doubt) = doubt {
                let name = &experiment.workloads[probe.workload].name;
                return Err(VoidReason::Because(format!("{name}: {doubt}")));
            }
        }
        Ok(())
    }

    /// One measurement, stored as a run of its own; returns whether it is the last of this start.
    fn probe(
        &mut self,
        place: usize,
        is_last: bool,
        arm: &Arm,
        visit: &mut ArmStart,
        course: &Experiment,
        sink: &mut dyn Sink,
    ) -> Result<MeasurementResult, VoidReason> {
        let (experiment, stop) = (self.experiment, self.stop);
        let probe = &experiment.probes[place];
        let workload = &experiment.workloads[probe.workload];
        let rate = self.rate(probe, visit, course)?;
        let capacity = course.capacity(&workload.name);
        let task = self.task(probe, rate, capacity);
        let mut part = self.plan.for_workload(workload, task);
        part.watch = setup::watch_settings(self.plan, &arm.setup);
        if self.is_cold(probe, visit) {
            let began = self.bench.now();
            self.warm_up(&part);
            visit.spent.warm += self.bench.now() - began;
        }
        let limit = (experiment.hold / DRAIN).max(part.objective.deadline.unwrap_or_default());
        let drain = Some(limit).filter(|_| probe.at != LoadLevel::Limit);
        let after = DrainPolicy { drain, leaves: is_last && probe.at != LoadLevel::Limit };
        let began = self.bench.now();
        let (mut account, mut reset) = (MeasurementSink::new(sink), Nanos::ZERO);
        let outcome = record_run(
            crate::id::new_id(),
            RunHeader::from_plan(&part),
            self.version,
            Some(&self.id),
            &mut account,
            |sink| {
                let (result, spent) = self.bench.measure(&part, &arm.setup, after, sink, stop);
                reset = spent;
                result
            },
        );
        account.add_spent(&mut visit.spent, self.bench.now() - began, reset);
        if stop.is_requested() {
            return Err(VoidReason::Interrupted);
        }
        if let Some(error) = outcome.error {
            return Err(error.into());
        }
        Ok(account.into_figures(place, probe.at, outcome.id, rate))
    }

    /// The rate of a measurement that has one. During the pilot, shares are of the capacity found at this very start.
    fn rate(
        &self,
        probe: &Measurement,
        visit: &ArmStart,
        course: &Experiment,
    ) -> Result<Option<Rate>, VoidReason> {
        let share = match probe.at {
            LoadLevel::Limit | LoadLevel::Connections(_) => return Ok(None),
            LoadLevel::Rate(rate) => return Ok(Some(rate)),
            LoadLevel::Share(share) => share,
        };
        let workload = &self.experiment.workloads[probe.workload].name;
        let own = || {
            let is_it = |taken: &&MeasurementResult| {
                let other = &self.experiment.probes[taken.probe];
                other.workload == probe.workload && other.at == LoadLevel::Limit
            };
            let taken = visit.taken.iter().find(is_it)?;
            taken.figures.iter().find(|(measure, _)| *measure == plan::ArmMeasure::Capacity).map(|(_, n)| *n)
        };
        match course.capacity(workload).or_else(own) {
            Some(capacity) => Ok(Some(Rate(capacity * share.0))),
            None => Err(VoidReason::Because(format!(
                "{share} of the capacity of '{workload}' is not a rate until the pilot has found the capacity"
            ))),
        }
    }

    fn task(&self, probe: &Measurement, rate: Option<Rate>, capacity: Option<f64>) -> Task {
        let find = &self.experiment.find;
        match (probe.at, rate) {
            (LoadLevel::Connections(connections), _) => {
                Task::Run(Load::Closed { connections, requests: None, duration: Some(self.experiment.hold) })
            }
            (_, Some(rate)) => Task::Run(Load::Open {
                stages: vec![Stage { duration: self.experiment.hold, from: rate, to: rate }],
                arrivals: find.arrivals,
            }),
            (_, None) => {
                let near = capacity.map_or(find.from, |capacity| Rate(capacity * FROM));
                Task::Find(SearchPlan { from: Rate(near.0.max(find.from.0)), ..find.clone() })
            }
        }
    }

    /// Whether nothing of this workload has been measured at this start; a search warms up by itself.
    fn is_cold(&self, probe: &Measurement, visit: &ArmStart) -> bool {
        let is_of_it =
            |taken: &MeasurementResult| self.experiment.probes[taken.probe].workload == probe.workload;
        probe.at != LoadLevel::Limit && !visit.taken.iter().any(is_of_it)
    }

    /// The same load, not counted. Errors will show when it counts.
    fn warm_up(&mut self, part: &Plan) {
        if let Task::Run(load) = &part.task {
            let watch = plan::WatchPlan { on: false, ..part.watch.clone() };
            let part = Plan { watch, ..part.clone() };
            let _ = self.bench.warm(&part, load, self.experiment.warm, self.stop);
        }
    }
}
