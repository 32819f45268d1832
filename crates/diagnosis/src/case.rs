//! The input of every rule: the degraded part of a run beside the part where the target was well.

use crate::bystanders;
use crate::downstream::DownstreamView;
use crate::freeze_impact::FreezeImpact;
use crate::loaded_window::cpu;
use crate::observed_run::{ObservedRun, Trial};
use crate::part_summary::PartSummary;
use crate::programs::is_erlang;
use crate::run_split::RunSplit;
use crate::workers::{Bystanders, Workers};
use record::watch::{CloserLook, TreeRole, TreeWindow, WatchCoverage, WatchedProcesses, Window};
use record::{Caveat, CaveatDetails, ExhaustedResource, Failure, MachineCosts, Purpose, Station, StationUse};
use std::collections::BTreeMap;
use units::Rate;

/// Below this utilisation of the processors, much of it is the idle baseline.
const MIN_CPU_SHARE: f64 = 0.02;
/// A service of unknown name.
const UNNAMED_SERVICE: &str = "the service";

/// A run, split and merged.
pub(crate) struct Case<'a> {
    /// The observed place; empty: where torment is.
    pub place: &'a str,
    pub watched: &'a WatchCoverage,
    /// The service in front of it, if this is about a downstream.
    pub front: Option<&'a str>,
    /// Its display name.
    display_name: String,
    /// The machine's measured costs.
    pub costs: Option<&'a MachineCosts>,
    /// The degraded part.
    pub degraded: PartSummary<'a>,
    /// The well part; none if it never was, or was not observed then.
    pub well: Option<PartSummary<'a>>,
    /// Good trials close to the limit; none if there are none, or they were not observed.
    pub near: Option<PartSummary<'a>>,
    /// The target's freezes, if any; none also at all places but one.
    pub freeze_impact: Option<&'a FreezeImpact>,
    /// A search's result; none for other runs, and before the end.
    pub held_rate: Option<Rate>,
    pub bystanders: Bystanders,
    /// Closer looks.
    pub looks: Vec<&'a CloserLook>,
    /// Why trials were void, if the generator was the reason.
    pub void_reasons: Vec<&'a Caveat>,
    /// Answers held back by delayed acknowledgements, in the last degraded trial.
    pub held_back: Option<&'a CaveatDetails>,
    /// Arrivals that failed because torment ran out of something, in the void and degraded trials.
    pub exhausted: BTreeMap<ExhaustedResource, u64>,
    /// A single load at a given rate, not a search.
    pub is_load: bool,
    /// Later seconds of the same load, at the same rate, were well.
    pub recovered: bool,
    /// The trial in which it was first degraded.
    pub first_trial: Option<u32>,
}

impl<'a> Case<'a> {
    /// From the observations of one place.
    pub fn of(
        recording: &'a ObservedRun,
        place: &'a str,
        watched: &'a WatchCoverage,
        freeze_impact: Option<&'a FreezeImpact>,
        split: &RunSplit<'a>,
    ) -> Self {
        let mut degraded = PartSummary::of(&split.degraded);
        let mut well =
            Some(PartSummary::of(&split.well)).filter(|w| !w.windows.is_empty() || w.load.seconds > 0.0);
        let bystanders = well
            .as_ref()
            .map_or_else(Bystanders::default, |well| bystanders::find_bystanders(well, &degraded));
        let subject = watched.subjects.first();
        for part in std::iter::once(&mut degraded).chain(&mut well) {
            part.workers = Workers::find(part.service(), subject, &bystanders);
        }
        let in_degraded = |number: &u32| split.degraded.trials.contains(number);
        // A closer look is taken once, possibly in another trial, at a moment when it looked degraded.
        let (these, others): (Vec<_>, Vec<_>) =
            recording.trials.iter().partition(|trial| in_degraded(&trial.number));
        let trials = these.into_iter().chain(others);
        let looks = trials.filter_map(|trial| trial.at(place)).flat_map(|seen| &seen.looks).collect();
        let void = |trial: &&&Trial| split.void_trials.iter().any(|void| void.number == trial.number);
        let mut exhausted = BTreeMap::new();
        for trial in recording.trials.iter().filter(|trial| in_degraded(&trial.number) || void(&trial)) {
            for (failure, count) in trial.seconds.iter().flat_map(|second| &second.failures) {
                if let Failure::Lacking(resource) = failure {
                    *exhausted.entry(*resource).or_default() += count;
                }
            }
        }
        let last = recording.trials.iter().rfind(|trial| in_degraded(&trial.number));
        let held_back = last.and_then(|trial| trial.end.as_ref()?.held_back.as_ref());
        let invalid = |trial: &&'a Trial| trial.end.iter().flat_map(|end| &end.invalid);
        Self {
            place,
            watched,
            front: None,
            display_name: subject.map_or(UNNAMED_SERVICE, display_name).to_owned(),
            costs: recording.costs.as_ref(),
            freeze_impact,
            held_rate: recording.held_rate,
            first_trial: split.degraded.trials.iter().min().copied(),
            well,
            near: Some(PartSummary::of(&split.near)).filter(|near| !near.windows.is_empty()),
            degraded,
            bystanders,
            looks,
            is_load: recording.trials.iter().all(|trial| trial.purpose == Purpose::Load),
            recovered: split.recovered,
            held_back,
            exhausted,
            void_reasons: split.void_trials.iter().flat_map(invalid).collect(),
        }
    }

    /// The same for a downstream.
    pub fn for_downstream(
        &self,
        recording: &'a ObservedRun,
        view: &'a DownstreamView,
        split: &RunSplit<'a>,
    ) -> Self {
        let mut case = Self::of(recording, self.place, &view.watched, None, &view.apply_to(split));
        // It may have been found only when the service was degraded.
        case.well = case.well.filter(|well| !well.windows.is_empty());
        case.degraded.limit_outstanding();
        case.well.iter_mut().for_each(PartSummary::limit_outstanding);
        let front = self.subject().map_or(UNNAMED_SERVICE, display_name);
        let name = format!("{} behind {front}", case.display_name);
        Self { display_name: name, front: Some(front), ..case }
    }

    /// Whether the target freezes now and then without lowering its limit: then freezes cost response time, and something else sets the
    /// limit.
    pub fn freezes_leave_limit(&self) -> bool {
        self.freeze_impact.zip(self.held_rate).is_some_and(|(frozen, held)| frozen.freezes.leave_limit(held))
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

    /// Whether its runtime schedules its work by itself, on a thread for each processor, none of which is an event loop.
    pub fn schedules_itself(&self) -> bool {
        self.is_go() || self.subject().is_some_and(|subject| is_erlang(subject, self.degraded.service()))
    }

    /// Whether it is the database itself.
    pub fn is_postgres(&self) -> bool {
        self.subject().is_some_and(|subject| subject.is_postgres)
    }

    /// Its workers in a window, if it has any.
    pub fn workers(&self, window: &Window) -> Option<Workers> {
        Workers::find(window.service()?, self.subject(), &self.bystanders)
    }

    /// Its workers while it was well.
    pub fn well_workers(&self) -> Option<&Workers> {
        self.well.as_ref()?.workers.as_ref()
    }

    /// The median response time while it was well, in seconds.
    pub fn well_median(&self) -> Option<f64> {
        self.well.as_ref()?.load.response_p50
    }

    pub fn name(&self) -> &str {
        &self.display_name
    }

    /// Processors available to the service.
    pub fn cpus(&self) -> f64 {
        let host = self.degraded.merged.host.as_ref().map_or(1.0, |host| f64::from(host.cpus));
        self.subject().map(|subject| subject.cpus).filter(|cpus| *cpus > 0.0).unwrap_or(host)
    }

    /// Processors the service used while degraded.
    pub fn cpu(&self) -> f64 {
        self.degraded.cpu()
    }

    /// The rate at which its processors would be fully used, at the present cost of a request; none if it uses too little of them to
    /// tell.
    pub fn saturation_rate(&self) -> Option<Rate> {
        let (used, all) = (self.cpu(), self.cpus());
        (used >= MIN_CPU_SHARE * all).then(|| Rate(self.degraded.load.answered * all / used))
    }

    /// Its threads that were ready for a processor.
    pub fn runnable(&self) -> f64 {
        self.degraded.runnable()
    }

    /// The observed downstream process trees.
    pub fn downstreams(&self) -> impl Iterator<Item = (&'a WatchedProcesses, &TreeWindow)> {
        let pairs = self.watched.subjects.iter().zip(&self.degraded.merged.subjects);
        pairs.filter(|(subject, _)| subject.role == TreeRole::Downstream)
    }

    /// Processors they used while it was degraded.
    pub fn downstream_cpu(&self) -> f64 {
        self.downstreams().map(|(_, seen)| cpu(seen, self.degraded.merged.length())).sum()
    }

    /// The share of due looks at threads that were made.
    pub fn coverage(&self) -> f64 {
        let Some(sweep) = &self.degraded.service().sweep else { return 1.0 };
        let done = f64::from(sweep.done) / f64::from(sweep.due.max(1));
        let readable = if sweep.looked_at > 0.0 { sweep.readable / sweep.looked_at } else { 1.0 };
        (done * readable).min(1.0)
    }

    /// The same figure while the service was well.
    pub fn when_well<T>(&self, of: impl Fn(&PartSummary<'a>) -> T) -> Option<T> {
        self.well.as_ref().filter(|well| !well.windows.is_empty()).map(of)
    }

    /// A station with its use: while well, and while degraded.
    pub fn station(
        &self,
        template: Station,
        station_use: impl Fn(&PartSummary<'a>) -> Option<StationUse>,
    ) -> Station {
        Station {
            well: self.when_well(&station_use).flatten(),
            degraded: station_use(&self.degraded),
            ..template
        }
    }
}

/// The display name. torment as a target is the built-in service, not the generator.
fn display_name(subject: &WatchedProcesses) -> &str {
    match subject.name.split(['-', '.']).next() {
        Some("torment") => "the built-in service",
        Some("") | None => UNNAMED_SERVICE,
        Some(_) => &subject.name,
    }
}
