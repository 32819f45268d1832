//! One start of one arm: up, every measurement, down.

use super::account::Account;
use super::bench::Bench;
use crate::{After, Error, Sink, Stop, Title, recorded, setup, unix_ms};
use experiment::Experiment as Course;
use plan::{Arm, At, Experiment, Find, Load, Plan, Probe, Stage, Task};
use record::{Doubt, RunId, Spent, Taken, Visit, Visiting};
use units::{Nanos, Rate};

/// A later search begins at this share of the capacity that the pilot found: three doublings below it.
const FROM: f64 = 0.125;
/// A load is made again so often while the hypervisor takes more than a tenth of the machine, or a part of it is missing; then it is
/// taken as it is, with that caveat.
const DISTURBED: usize = 2;
/// What is open at the end of a load is waited for no longer than this part of it, or the objective's deadline: a load says nothing of what takes longer.
const DRAIN: u64 = 2;

/// What all starts have in common.
pub(super) struct Lab<'a, B> {
    pub id: RunId,
    pub plan: &'a Plan,
    pub experiment: &'a Experiment,
    pub version: &'a str,
    pub stop: &'a Stop,
    pub bench: B,
}

/// Why a start gave nothing.
enum Void {
    /// It was asked for: nothing is kept of it.
    Interrupted,
    Because(String),
}

impl From<Error> for Void {
    fn from(error: Error) -> Self {
        Self::Because(error.to_string())
    }
}

/// Whether the hypervisor took so much of the machine meanwhile, or a worker was lost, that it says nothing of the arm; a search repeats its own trials.
fn was_disturbed(probe: &Probe, taken: &Taken) -> bool {
    probe.at != At::Limit
        && taken.caveats.iter().any(|caveat| caveat.doubt == Doubt::Steal || caveat.doubt.is_of_fleet())
}

impl<B: Bench> Lab<'_, B> {
    /// None if the user ended it.
    pub fn visit(
        &mut self,
        start: Visiting,
        probes: &[usize],
        course: &Course,
        sink: &mut dyn Sink,
    ) -> Option<Visit> {
        let began = self.bench.now();
        let Visiting { number, block, arm, placebo, expected: _ } = start;
        let mut visit = Visit {
            number,
            block,
            arm,
            placebo,
            at_unix_ms: unix_ms(),
            took: Nanos::ZERO,
            started_in: Nanos::ZERO,
            spent: Spent::default(),
            taken: Vec::new(),
            void: None,
        };
        let result = self.measured(probes, course, &mut visit, sink);
        let before = self.bench.now();
        let ended = self.bench.down(sink);
        visit.took = self.bench.now() - began;
        visit.spent.stop = self.bench.now() - before;
        visit.void = match (result, ended) {
            (Err(Void::Interrupted), _) => return None,
            // What was measured without the program says nothing about it.
            (_, Some(error)) => Some(error.to_string()),
            (Err(Void::Because(why)), None) => Some(why),
            (Ok(()), None) => None,
        };
        Some(visit)
    }

    fn measured(
        &mut self,
        probes: &[usize],
        course: &Course,
        visit: &mut Visit,
        sink: &mut dyn Sink,
    ) -> Result<(), Void> {
        let (experiment, stop) = (self.experiment, self.stop);
        let arm = &experiment.arms[visit.arm];
        let began = self.bench.now();
        let up = self.bench.up(&arm.setup, stop);
        if stop.asked() {
            return Err(Void::Interrupted);
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
                visit.spent = Spent { again: spent.again + (self.bench.now() - began), ..spent };
            }
            let doubt = taken.caveats.iter().find(|_| taken.figures.is_empty()).map(ToString::to_string);
            visit.taken.push(taken);
            if let Some(doubt) = doubt {
                let name = &experiment.workloads[probe.workload].name;
                return Err(Void::Because(format!("{name}: {doubt}")));
            }
        }
        Ok(())
    }

    /// One measurement, kept as a run of its own; whether it is the last of this start.
    fn probe(
        &mut self,
        place: usize,
        is_last: bool,
        arm: &Arm,
        visit: &mut Visit,
        course: &Course,
        sink: &mut dyn Sink,
    ) -> Result<Taken, Void> {
        let (experiment, stop) = (self.experiment, self.stop);
        let probe = &experiment.probes[place];
        let workload = &experiment.workloads[probe.workload];
        let rate = self.rate(probe, visit, course)?;
        let capacity = course.capacity(&workload.name);
        let task = self.task(probe, rate, capacity);
        let mut part = self.plan.part(workload, task);
        part.watch = setup::watching(self.plan, &arm.setup);
        if self.is_cold(probe, visit) {
            let began = self.bench.now();
            self.warm(&part);
            visit.spent.warm += self.bench.now() - began;
        }
        let limit = (experiment.hold / DRAIN).max(part.objective.deadline.unwrap_or_default());
        let drain = Some(limit).filter(|_| probe.at != At::Limit);
        let after = After { drain, leaves: is_last && probe.at != At::Limit };
        let began = self.bench.now();
        let (mut account, mut reset) = (Account::new(sink), Nanos::ZERO);
        let outcome = recorded(
            crate::id::new_id(),
            Title::of(&part),
            self.version,
            Some(&self.id),
            &mut account,
            |sink| {
                let (result, spent) = self.bench.measure(&part, &arm.setup, after, sink, stop);
                reset = spent;
                result
            },
        );
        account.spent(&mut visit.spent, self.bench.now() - began, reset);
        if stop.asked() {
            return Err(Void::Interrupted);
        }
        if let Some(error) = outcome.error {
            return Err(error.into());
        }
        Ok(account.taken(place, probe.at, outcome.id, rate))
    }

    /// The rate of a probe that has one. During the pilot a share is of what this very start can take.
    fn rate(&self, probe: &Probe, visit: &Visit, course: &Course) -> Result<Option<Rate>, Void> {
        let share = match probe.at {
            At::Limit | At::Connections(_) => return Ok(None),
            At::Rate(rate) => return Ok(Some(rate)),
            At::Share(share) => share,
        };
        let workload = &self.experiment.workloads[probe.workload].name;
        let own = || {
            let is_it = |taken: &&Taken| {
                let other = &self.experiment.probes[taken.probe];
                other.workload == probe.workload && other.at == At::Limit
            };
            let taken = visit.taken.iter().find(is_it)?;
            taken.figures.iter().find(|(measure, _)| *measure == plan::Measure::Capacity).map(|(_, n)| *n)
        };
        match course.capacity(workload).or_else(own) {
            Some(capacity) => Ok(Some(Rate(capacity * share.0))),
            None => Err(Void::Because(format!(
                "{share} of the capacity of '{workload}' is not a rate until the pilot has found the capacity"
            ))),
        }
    }

    fn task(&self, probe: &Probe, rate: Option<Rate>, capacity: Option<f64>) -> Task {
        let find = &self.experiment.find;
        match (probe.at, rate) {
            (At::Connections(connections), _) => {
                Task::Run(Load::Closed { connections, requests: None, duration: Some(self.experiment.hold) })
            }
            (_, Some(rate)) => Task::Run(Load::Open {
                stages: vec![Stage { duration: self.experiment.hold, from: rate, to: rate }],
                arrivals: find.arrivals,
            }),
            (_, None) => {
                let near = capacity.map_or(find.from, |capacity| Rate(capacity * FROM));
                Task::Find(Find { from: Rate(near.0.max(find.from.0)), ..find.clone() })
            }
        }
    }

    /// Whether nothing of this workload has been measured at this start: a search warms up by itself.
    fn is_cold(&self, probe: &Probe, visit: &Visit) -> bool {
        let is_of_it = |taken: &Taken| self.experiment.probes[taken.probe].workload == probe.workload;
        probe.at != At::Limit && !visit.taken.iter().any(is_of_it)
    }

    /// The same load, before it counts. What is wrong with it will be seen when it does.
    fn warm(&mut self, part: &Plan) {
        if let Task::Run(load) = &part.task {
            let watch = plan::Watch { on: false, ..part.watch.clone() };
            let part = Plan { watch, ..part.clone() };
            let _ = self.bench.warm(&part, load, self.experiment.warm, self.stop);
        }
    }
}
