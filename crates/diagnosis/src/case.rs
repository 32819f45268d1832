//! What every rule is given: the degraded part of a run beside the part where the target was well.

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

/// Of less use of the processors than this share what is always at work is a good part.
const TELLING: f64 = 0.02;
/// Who has no name that is known.
const NAMELESS: &str = "the service";

/// A run, divided and merged.
pub(crate) struct Case<'a> {
    /// Where somebody looked; empty: where torment is.
    pub place: &'a str,
    pub watched: &'a WatchCoverage,
    /// The service before it, if this is about whom that talks to.
    pub front: Option<&'a str>,
    /// What people call it.
    called: String,
    /// What the machine was measured to cost.
    pub costs: Option<&'a MachineCosts>,
    /// Where the target was degraded.
    pub bad: PartSummary<'a>,
    /// Where it was well; none if it never was, or was not looked at then.
    pub well: Option<PartSummary<'a>>,
    /// Whether the target stood still now and then; none also at all places but one.
    pub frozen: Option<&'a FreezeImpact>,
    /// What a search came to; none of other runs, and before that.
    pub held: Option<Rate>,
    /// Threads of the service that serve nobody.
    pub bystanders: Bystanders,
    /// What was looked at once.
    pub looks: Vec<&'a CloserLook>,
    /// Why trials were void, if that was for the generator.
    pub void: Vec<&'a Caveat>,
    /// Arrivals that failed because torment lacked something, in these trials and the degraded ones.
    pub lacking: BTreeMap<ExhaustedResource, u64>,
    /// One load whose rate was asked for, and not the search for the highest.
    pub is_load: bool,
    /// Later seconds of the same load, at the same rate, were well.
    pub recovered: bool,
    /// The trial in which it first was degraded.
    pub since: Option<u32>,
}

impl<'a> Case<'a> {
    /// Of what was seen at one place, divided.
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
        // A cause is looked for once, and that may have been in another trial, at a moment when it looked degraded.
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

    /// The same of one that is behind the service.
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

    /// Whether the target stands still now and then, and what holds is no less for it: then freezes cost response time, and something else sets
    /// the limit.
    pub fn freezes_leave_limit(&self) -> bool {
        self.frozen.zip(self.held).is_some_and(|(frozen, held)| frozen.freezes.leave_limit(held))
    }

    /// Whether it is another machine than torment's: what one of them lacks, the other does not.
    pub fn is_remote(&self) -> bool {
        !self.place.is_empty()
    }

    /// The service as it was looked for.
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

    /// What people call it.
    pub fn name(&self) -> &str {
        &self.called
    }

    /// Processors the service may use.
    pub fn cpus(&self) -> f64 {
        let host = self.bad.all.host.as_ref().map_or(1.0, |host| f64::from(host.cpus));
        self.subject().map(|subject| subject.cpus).filter(|cpus| *cpus > 0.0).unwrap_or(host)
    }

    /// Processors the service used while degraded.
    pub fn cpu(&self) -> f64 {
        cpu(self.bad.service(), self.bad.all.length())
    }

    /// The rate at which its processors would be full, at what a request costs it now; none if it uses too little of them to tell.
    pub fn saturation_rate(&self) -> Option<Rate> {
        let (used, all) = (self.cpu(), self.cpus());
        (used >= TELLING * all).then(|| Rate(self.bad.load.answered * all / used))
    }

    /// Its threads that were ready and waited for one.
    pub fn runnable(&self) -> f64 {
        runnable(self.bad.service(), self.bad.all.length())
    }

    /// The process trees behind the service that are watched.
    pub fn downstreams(&self) -> impl Iterator<Item = (&'a WatchedProcesses, &TreeWindow)> {
        let pairs = self.watched.subjects.iter().zip(&self.bad.all.subjects);
        pairs.filter(|(subject, _)| subject.role == TreeRole::Downstream)
    }

    /// Looks at threads that were made, of those that were due.
    pub fn coverage(&self) -> f64 {
        let Some(sweep) = &self.bad.service().sweep else { return 1.0 };
        let done = f64::from(sweep.done) / f64::from(sweep.due.max(1));
        let seen = if sweep.looked_at > 0.0 { sweep.readable / sweep.looked_at } else { 1.0 };
        (done * seen).min(1.0)
    }

    /// The service's figure while it was well, from the same function.
    pub fn when_well<T>(&self, of: impl Fn(&PartSummary<'a>) -> T) -> Option<T> {
        self.well.as_ref().filter(|well| !well.each.is_empty()).map(of)
    }

    /// A station, and what was in use there: while it was well, and where it was not.
    pub fn station(&self, named: Station, there: impl Fn(&PartSummary<'a>) -> Option<StationUse>) -> Station {
        Station { well: self.when_well(&there).flatten(), degraded: there(&self.bad), ..named }
    }
}

impl Case<'_> {
    /// Processors the service used, or none if the service is the database itself.
    pub fn cpu_beside_postgres(&self) -> f64 {
        if self.subject().is_some_and(|subject| subject.is_postgres) { 0.0 } else { self.cpu() }
    }
}

/// What people call it. A target that is torment itself is the built-in service, and not to be taken for the generator.
fn display_name(subject: &WatchedProcesses) -> &str {
    match subject.name.split(['-', '.']).next() {
        Some("torment") => "the built-in service",
        Some("") | None => NAMELESS,
        Some(_) => &subject.name,
    }
}
