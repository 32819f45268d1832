//! The input of every rule: the degraded part of a run beside the part where the target was well.

use crate::bystanders;
use crate::downstream::DownstreamView;
use crate::freeze_impact::FreezeImpact;
use crate::observed_run::{ObservedRun, Trial};
use crate::part_summary::{PartSummary, cpu, runnable};
use crate::run_split::RunSplit;
use crate::workers::{Bystanders, Workers};
use record::watch::{CloserLook, TreeRole, TreeWindow, WatchCoverage, WatchedProcesses};
use record::{Caveat, ExhaustedResource, Failure, MachineCosts, Purpose, Station, StationUse};
use std::collections::BTreeMap;
use units::Rate;

/// Below this utilisation of the processors, much of it is the idle baseline.
const TELLING: f64 = 0.02;
/// A service of unknown name.
const NAMELESS: &str = "the service";

/// A run, split and merged.
pub(crate) struct Case<'a> {
    /// The observed place; empty: where torment is.
    pub place: &'a str,
    pub watched: &'a WatchCoverage,
    /// The service in front of it, if this is about a downstream.
    pub front: Option<&'a str>,
    /// Its display name.
    called: String,
    /// The machine's measured costs.
    pub costs: Option<&'a MachineCosts>,
    /// The degraded part.
    pub bad: PartSummary<'a>,
    /// The well part; none if it never was, or was not observed then.
    pub well: Option<PartSummary<'a>>,
    /// The target's freezes, if any; none also at all places but one.
    pub frozen: Option<&'a FreezeImpact>,
    /// A search's result; none for other runs, and before the end.
    pub held: Option<Rate>,
    pub bystanders: Bystanders,
    /// Closer looks.
    pub looks: Vec<&'a CloserLook>,
    /// Why trials were void, if the generator was the reason.
    pub void: Vec<&'a Caveat>,
    /// Arrivals that failed because torment ran out of something, in the void and degraded trials.
    pub lacking: BTreeMap<ExhaustedResource, u64>,
    /// A single load at a given rate, not a search.
    pub is_load: bool,
    /// Later seconds of the same load, at the same rate, were well.
    pub recovered: bool,
    /// The trial in which it was first degraded.
    pub since: Option<u32>,
}

impl<'a> Case<'a> {
    /// From the observations of one place.
    pub fn of(
        recording: &'a ObservedRun,
        place: &'a str,
        watched: &'a WatchCoverage,
        frozen: Option<&'a FreezeImpact>,
        steps: &RunSplit<'a>,
    ) -> Self {
        let mut bad = PartSummary::of(&steps.bad);
        let mut well =
            Some(PartSummary::of(&steps.well)).filter(|w| !w.each.is_empty() || w.load.seconds > 0.0);
        let bystanders =
            well.as_ref().map_or_else(Bystanders::default, |well| bystanders::find_bystanders(well, &bad));
        let about = watched.subjects.first();
        for side in std::iter::once(&mut bad).chain(&mut well) {
            side.workers = Workers::find(side.service(), about, &bystanders);
        }
        let used = |number: &u32| steps.bad.trials.contains(number);
        // A closer look is taken once, possibly in another trial, at a moment when it looked degraded.
        let (these, others): (Vec<_>, Vec<_>) =
            recording.trials.iter().partition(|trial| used(&trial.number));
        let trials = these.into_iter().chain(others);
        let looks = trials.filter_map(|trial| trial.at(place)).flat_map(|seen| &seen.looks).collect();
        let void = |trial: &&&Trial| steps.void.iter().any(|void| void.number == trial.number);
        let mut lacking = BTreeMap::new();
        for trial in recording.trials.iter().filter(|trial| used(&trial.number) || void(&trial)) {
            for (failure, count) in trial.seconds.iter().flat_map(|second| &second.failures) {
                if let Failure::Lacking(lack) = failure {
                    *lacking.entry(*lack).or_default() += count;
                }
            }
        }
        let invalid = |trial: &&'a Trial| trial.end.iter().flat_map(|end| &end.invalid);
        Self {
            place,
            watched,
            front: None,
            called: about.map_or(NAMELESS, display_name).to_owned(),
            costs: recording.costs.as_ref(),
            frozen,
            held: recording.held,
            since: steps.bad.trials.iter().min().copied(),
            well,
            bad,
            bystanders,
            looks,
            is_load: recording.trials.iter().all(|trial| trial.purpose == Purpose::Load),
            recovered: steps.recovered,
            lacking,
            void: steps.void.iter().flat_map(invalid).collect(),
        }
    }

    /// The same for a downstream.
    pub fn for_downstream(
        &self,
        recording: &'a ObservedRun,
        one: &'a DownstreamView,
        steps: &RunSplit<'a>,
    ) -> Self {
        let mut case = Self::of(recording, self.place, &one.watched, None, &one.steps(steps));
        // It may have been found only when the service was degraded.
        case.well = case.well.filter(|well| !well.each.is_empty());
        case.bad.limit_outstanding();
        case.well.iter_mut().for_each(PartSummary::limit_outstanding);
        let front = self.subject().map_or(NAMELESS, display_name);
        let called = format!("{} behind {front}", case.called);
        Self { called, front: Some(front), ..case }
    }

    /// Whether the target freezes now and then without lowering its limit: then freezes cost response time, and something else sets the
    /// limit.
    pub fn freezes_leave_limit(&self) -> bool {
        self.frozen.zip(self.held).is_some_and(|(frozen, held)| frozen.freezes.leave_limit(held))
    }

    /// Whether it is another machine than torment's: a shortage on one does not concern the other.
    pub fn is_remote(&self) -> bool {
        !self.place.is_empty()
    }

    /// The observed service.
    pub fn subject(&self) -> Option<&'a WatchedProcesses> {
        self.watched.subjects.first()
    }

    /// Whether it is a Go program, whose runtime has a scheduler of its own.
    pub fn is_go(&self) -> bool {
        self.subject().is_some_and(|subject| subject.is_go)
    }

    /// Its workers in a window, if it has any.
    pub fn workers(&self, subject: &TreeWindow) -> Option<Workers> {
        Workers::find(subject, self.subject(), &self.bystanders)
    }

    pub fn name(&self) -> &str {
        &self.called
    }

    /// Processors available to the service.
    pub fn cpus(&self) -> f64 {
        let host = self.bad.all.host.as_ref().map_or(1.0, |host| f64::from(host.cpus));
        self.subject().map(|subject| subject.cpus).filter(|cpus| *cpus > 0.0).unwrap_or(host)
    }

    /// Processors the service used while degraded.
    pub fn cpu(&self) -> f64 {
        cpu(self.bad.service(), self.bad.all.length())
    }

    /// The rate at which its processors would be fully used, at the present cost of a request; none if it uses too little of them to
    /// tell.
    pub fn saturation_rate(&self) -> Option<Rate> {
        let (used, all) = (self.cpu(), self.cpus());
        (used >= TELLING * all).then(|| Rate(self.bad.load.answered * all / used))
    }

    /// Its threads that were ready for a processor.
    pub fn runnable(&self) -> f64 {
        runnable(self.bad.service(), self.bad.all.length())
    }

    /// The observed downstream process trees.
    pub fn downstreams(&self) -> impl Iterator<Item = (&'a WatchedProcesses, &TreeWindow)> {
        let pairs = self.watched.subjects.iter().zip(&self.bad.all.subjects);
        pairs.filter(|(subject, _)| subject.role == TreeRole::Downstream)
    }

    /// The share of due looks at threads that were made.
    pub fn coverage(&self) -> f64 {
        let Some(sweep) = &self.bad.service().sweep else { return 1.0 };
        let done = f64::from(sweep.done) / f64::from(sweep.due.max(1));
        let seen = if sweep.looked_at > 0.0 { sweep.readable / sweep.looked_at } else { 1.0 };
        (done * seen).min(1.0)
    }

    /// The same figure while the service was well.
    pub fn when_well<T>(&self, of: impl Fn(&PartSummary<'a>) -> T) -> Option<T> {
        self.well.as_ref().filter(|well| !well.each.is_empty()).map(of)
    }

    /// A station with its use: while well, and while degraded.
    pub fn station(&self, named: Station, there: impl Fn(&PartSummary<'a>) -> Option<StationUse>) -> Station {
        Station { well: self.when_well(&there).flatten(), degraded: there(&self.bad), ..named }
    }
}

impl Case<'_> {
    /// Processors the service used; 0 if the service is the database itself.
    pub fn cpu_beside_postgres(&self) -> f64 {
        if self.subject().is_some_and(|subject| subject.is_postgres) { 0.0 } else { self.cpu() }
    }
}

/// The display name. torment as a target is the built-in service, not the generator.
fn display_name(subject: &WatchedProcesses) -> &str {
    match subject.name.split(['-', '.']).next() {
        Some("torment") => "the built-in service",
        Some("") | None => NAMELESS,
        Some(_) => &subject.name,
    }
}
