//! One start of one arm: start, all measurements, stop.

use super::measurement::MeasurementSink;
use super::testbed::Testbed;
use crate::{DrainPolicy, Error, RunHeader, Sink, StopFlag, record_run, setup};
use experiment::Experiment;
use plan::{Arm, ExperimentPlan, Load, LoadLevel, Measurement, Plan, SearchPlan, Stage, Task};
use record::{ArmStart, CaveatKind, MeasurementResult, OngoingStart, RunId, StartTimes};
use units::{Nanos, Rate};

/// Where later searches begin, as a share of the capacity found in the pilot: three doublings below it.
const SEARCH_START: f64 = 0.125;
/// Repetitions of a load while the hypervisor steals more than a tenth of the machine, or part of the load is missing;
/// after that it is kept, with that caveat.
const REPEATS_MOST: usize = 2;
/// Longest drain as a fraction of the load (1/n), or the deadline if longer: a load tells nothing about what takes
/// longer.
const DRAIN_DIVISOR: u64 = 2;

/// What all starts share.
pub(super) struct ArmRunner<'a, B> {
    pub id: RunId,
    pub plan: &'a Plan,
    pub experiment: &'a ExperimentPlan,
    pub stop: &'a StopFlag,
    pub testbed: B,
}

/// Why a start has no result.
enum VoidReason {
    /// Interrupted by the user: nothing of it is kept.
    Interrupted,
    Failed(String),
}

impl From<Error> for VoidReason {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Whether stolen time or a lost worker makes this useless for the arm; a search repeats its own trials.
fn was_disturbed(probe: &Measurement, result: &MeasurementResult) -> bool {
    probe.at != LoadLevel::Limit
        && result.caveats.iter().any(|caveat| caveat.doubt == CaveatKind::Steal || caveat.doubt.is_fleet())
}

impl<B: Testbed> ArmRunner<'_, B> {
    /// `None` if the user interrupted it.
    pub fn run_start(
        &mut self,
        start: OngoingStart,
        probes: &[usize],
        progress: &Experiment,
        sink: &mut dyn Sink,
    ) -> Option<ArmStart> {
        let began = self.testbed.now();
        let OngoingStart { number, block, arm, placebo, expected: _ } = start;
        let mut arm_start = ArmStart {
            number,
            block,
            arm,
            placebo,
            at_unix_ms: sys::now().unix_ms(),
            took: Nanos::ZERO,
            started_in: Nanos::ZERO,
            spent: StartTimes::default(),
            taken: Vec::new(),
            void: None,
        };
        let result = self.measure_start(probes, progress, &mut arm_start, sink);
        let before = self.testbed.now();
        let ended = self.testbed.down(sink);
        arm_start.took = self.testbed.now() - began;
        arm_start.spent.stop = self.testbed.now() - before;
        arm_start.void = match (result, ended) {
            (Err(VoidReason::Interrupted), _) => return None,
            // What was measured without the program says nothing about it.
            (_, Some(error)) => Some(error.to_string()),
            (Err(VoidReason::Failed(why)), None) => Some(why),
            (Ok(()), None) => None,
        };
        Some(arm_start)
    }

    fn measure_start(
        &mut self,
        probes: &[usize],
        progress: &Experiment,
        arm_start: &mut ArmStart,
        sink: &mut dyn Sink,
    ) -> Result<(), VoidReason> {
        let (experiment, stop) = (self.experiment, self.stop);
        let arm = &experiment.arms[arm_start.arm];
        let began = self.testbed.now();
        let up = self.testbed.up(&arm.setup, stop);
        if stop.is_requested() {
            return Err(VoidReason::Interrupted);
        }
        arm_start.started_in = up?;
        arm_start.spent.needs = self.testbed.now() - began - arm_start.started_in;
        for (turn, &place) in probes.iter().enumerate() {
            let probe = &experiment.probes[place];
            if turn > 0 {
                let began = self.testbed.now();
                self.testbed.reset(&arm.setup, sink, stop)?;
                arm_start.spent.reset += self.testbed.now() - began;
            }
            let is_last = turn + 1 == probes.len();
            let mut result = self.probe(place, is_last, arm, arm_start, progress, sink)?;
            for _ in 0..REPEATS_MOST {
                if !was_disturbed(probe, &result) {
                    break;
                }
                let began = self.testbed.now();
                let spent = arm_start.spent;
                result = self.probe(place, is_last, arm, arm_start, progress, sink)?;
                arm_start.spent = StartTimes { again: spent.again + (self.testbed.now() - began), ..spent };
            }
            let doubt = result.caveats.iter().find(|_| result.figures.is_empty()).map(ToString::to_string);
            arm_start.taken.push(result);
            if let Some(doubt) = doubt {
                let name = &experiment.workloads[probe.workload].name;
                return Err(VoidReason::Failed(format!("{name}: {doubt}")));
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
        arm_start: &mut ArmStart,
        progress: &Experiment,
        sink: &mut dyn Sink,
    ) -> Result<MeasurementResult, VoidReason> {
        let (experiment, stop) = (self.experiment, self.stop);
        let probe = &experiment.probes[place];
        let workload = &experiment.workloads[probe.workload];
        let rate = self.rate(probe, arm_start, progress)?;
        let capacity = progress.capacity(&workload.name);
        let task = self.task(probe, rate, capacity);
        let mut part = self.plan.for_workload(workload, task);
        part.watch = setup::watch_settings(self.plan, &arm.setup);
        if self.is_cold(probe, arm_start) {
            let began = self.testbed.now();
            self.warm_up(&part);
            arm_start.spent.warm += self.testbed.now() - began;
        }
        let limit = (experiment.hold / DRAIN_DIVISOR).max(part.objective.deadline.unwrap_or_default());
        let drain = Some(limit).filter(|_| probe.at != LoadLevel::Limit);
        let drain_policy = DrainPolicy { drain, skips_recovery: is_last && probe.at != LoadLevel::Limit };
        let began = self.testbed.now();
        let (mut measurement, mut reset) = (MeasurementSink::new(sink), Nanos::ZERO);
        let header = RunHeader { part_of: Some(self.id.clone()), ..RunHeader::from_plan(&part) };
        let run_exit = record_run(header, &mut measurement, |sink| {
            let (result, spent) = self.testbed.measure(&part, &arm.setup, drain_policy, sink, stop);
            reset = spent;
            result
        });
        measurement.add_spent(&mut arm_start.spent, self.testbed.now() - began, reset);
        if stop.is_requested() {
            return Err(VoidReason::Interrupted);
        }
        if let Some(error) = run_exit.error {
            return Err(error.into());
        }
        Ok(measurement.into_figures(place, probe.at, run_exit.id, rate))
    }

    /// The rate of a measurement that has one. During the pilot, shares are of the capacity found at this very start.
    fn rate(
        &self,
        probe: &Measurement,
        arm_start: &ArmStart,
        progress: &Experiment,
    ) -> Result<Option<Rate>, VoidReason> {
        let share = match probe.at {
            LoadLevel::Limit | LoadLevel::Connections(_) => return Ok(None),
            LoadLevel::Rate(rate) => return Ok(Some(rate)),
            LoadLevel::Share(share) => share,
        };
        let workload = &self.experiment.workloads[probe.workload].name;
        let own = || {
            let is_it = |result: &&MeasurementResult| {
                let other = &self.experiment.probes[result.probe];
                other.workload == probe.workload && other.at == LoadLevel::Limit
            };
            let result = arm_start.taken.iter().find(is_it)?;
            result.figures.iter().find(|(measure, _)| *measure == plan::ArmMeasure::Capacity).map(|(_, n)| *n)
        };
        match progress.capacity(workload).or_else(own) {
            Some(capacity) => Ok(Some(Rate(capacity * share.0))),
            None => Err(VoidReason::Failed(format!(
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
                let near = capacity.map_or(find.from, |capacity| Rate(capacity * SEARCH_START));
                Task::Find(SearchPlan { from: Rate(near.0.max(find.from.0)), ..find.clone() })
            }
        }
    }

    /// Whether nothing of this workload has been measured at this start; a search warms up by itself.
    fn is_cold(&self, probe: &Measurement, arm_start: &ArmStart) -> bool {
        let is_of_it =
            |result: &MeasurementResult| self.experiment.probes[result.probe].workload == probe.workload;
        probe.at != LoadLevel::Limit && !arm_start.taken.iter().any(is_of_it)
    }

    /// The same load, not counted. Errors will show when it counts.
    fn warm_up(&mut self, part: &Plan) {
        if let Task::Run(load) = &part.task {
            let watch = plan::WatchPlan { on: false, ..part.watch.clone() };
            let part = Plan { watch, ..part.clone() };
            let _ = self.testbed.warm(&part, load, self.experiment.warm, self.stop);
        }
    }
}
