mod fold;

use crate::wording::place_suffix;
use crate::{ArrivalKind, LoadFigures, LoadSecond, StepFigures, Trial, TrialState, freezes};
use diagnosis::{FreezeDetector, Freezes};
use record::watch::{CloserLook, WatchCoverage, Window};
use record::{
    ArmStart, Caveat, CaveatKind, Conditions, Design, Diagnosis, ExperimentState, Figure, FleetMember,
    GeneratorCapacity, Limit, LostMember, OngoingStart, Profile, ProgramLog, Purpose, RampProgress, Recovery,
    RunEnd, RunKind, RunStart, SearchEnd, Slice, SystemLimit, TableStart, Verdict,
};
use std::collections::{BTreeMap, VecDeque};
use units::{Nanos, Rate};

/// The load that goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentLoad {
    /// What its arrivals are called.
    pub words: ArrivalKind,
    /// Counted from 1.
    pub number: u32,
    /// Why it is made.
    pub purpose: Purpose,
    /// Offered rate; none of a closed loop.
    pub rate: Option<Rate>,
    /// How long it is to last.
    pub planned: Option<Nanos>,
    /// Milliseconds since 1970.
    pub at_unix_ms: u64,
    /// All its seconds so far, merged.
    pub total: Slice,
}

impl CurrentLoad {
    /// What can be said of it if it ends here.
    pub fn cut_short(&self) -> Trial {
        Trial {
            number: self.number,
            words: self.words,
            purpose: self.purpose,
            rate: self.rate,
            planned: self.planned,
            loaded: self.total.elapsed,
            drain: Nanos::ZERO,
            hopeless: false,
            recovery: Recovery::NotNeeded,
            caveats: Vec::new(),
            members: Vec::new(),
            judgement: None,
            figures: LoadFigures::from_slice(&self.total),
        }
    }
}

/// When something went on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TimeSpan {
    /// In seconds since the run began.
    pub from: f64,
    /// How long.
    pub passed: Nanos,
}

impl TimeSpan {
    /// So long after it began, in seconds since the run did.
    pub fn after(self, time: Nanos) -> f64 {
        self.from + time.as_secs_f64()
    }

    /// When it ended, in seconds since the run began.
    pub fn to(self) -> f64 {
        self.after(self.passed)
    }
}

/// Kinds of runs: what can be said of each is another thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    /// `torment run`.
    Load,
    /// `torment find`.
    Search,
    /// `torment try`.
    Experiment,
    /// `torment probe`.
    Sheet,
    /// `torment profile`.
    Profile,
    /// `torment find threads`.
    Tasks,
    /// `torment find working-set`.
    WorkingSet,
}

/// What was seen at one place, of those where somebody watched.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WatchedPlace {
    /// The machine's name; empty: where torment is.
    pub name: String,
    /// What is watched there.
    pub watched: WatchCoverage,
    /// All that was seen in each trial, as one window; 0 is no trial.
    pub trials: BTreeMap<u32, Window>,
    /// What was looked at once.
    pub looks: Vec<CloserLook>,
}

impl WatchedPlace {
    /// As [`on`], of this place.
    pub fn place_suffix(&self) -> String {
        place_suffix(&self.name)
    }
}

/// A run as far as its events tell: fold them in their order with [`RunView::fold`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunView {
    /// How it began; none before the first event.
    pub started: Option<RunStart>,
    /// The load that goes on, or was cut short.
    pub current: Option<CurrentLoad>,
    /// When each trial went on, its drain included.
    pub stretches: BTreeMap<u32, TimeSpan>,
    /// The trials that are done.
    pub trials: Vec<Trial>,
    /// The bounds of a search so far, the strict goal first.
    pub limits: Vec<Limit>,
    /// What torment makes at most, as far as is known of a search that it is the limit of itself.
    pub making: Option<GeneratorCapacity>,
    /// Doubts about the whole run.
    pub caveats: Vec<Caveat>,
    /// The last seconds of load, the oldest first.
    pub seconds: VecDeque<LoadSecond>,
    /// Where the target is watched, in the order in which that began; nowhere if nothing is.
    pub places: Vec<WatchedPlace>,
    /// What gave first.
    pub diagnosis: Option<Diagnosis>,
    /// What tells whether the target stood still.
    pub stillness: FreezeDetector,
    /// Who makes the load together; none if one process does.
    pub fleet: Vec<FleetMember>,
    /// Those of them that were lost, each with its trial.
    pub lost: Vec<(u32, LostMember)>,
    /// What an experiment is to find out.
    pub design: Option<Design>,
    /// The starts of an experiment's arms that are done.
    pub visits: Vec<ArmStart>,
    /// The start that goes on.
    pub visiting: Option<OngoingStart>,
    /// Where an experiment stands.
    pub standing: Option<ExperimentState>,
    /// What the programs that the plan started have written.
    pub logs: Vec<ProgramLog>,
    /// What the machine was like.
    pub conditions: Option<Conditions>,
    /// Tables of figures that were begun, the last one last.
    pub probing: Vec<TableStart>,
    /// Figures of the machine.
    pub measured: Vec<Figure>,
    /// What they mean together: table and sentence.
    pub notes: Vec<(String, String)>,
    /// The limits on the number of tasks.
    pub rooms: Vec<SystemLimit>,
    /// How tasks were made and released again.
    pub ramp: Vec<RampProgress>,
    /// What ran on the processors.
    pub profiles: Vec<Profile>,
    /// How it ended; none if it goes on or was cut short.
    pub end: Option<RunEnd>,
    /// Its process still writes it, so that a missing end is none to worry about. Events cannot
    /// tell: whoever reads them from a store sets it.
    pub running: bool,
    /// Events that this version could not read; set by whoever reads them.
    pub skipped: u64,
}

impl RunView {
    /// Whether the goal of a load is met; none as long as that is not known.
    pub fn goal_met(&self) -> Option<bool> {
        match self.end.as_ref()?.verdict.as_ref()? {
            Verdict::Goal { met, .. } => *met,
            _ => None,
        }
    }

    /// What kind of run it is.
    pub fn kind(&self) -> ReportKind {
        match self.end.as_ref().and_then(|end| end.verdict.as_ref()) {
            Some(Verdict::Limits { .. }) => return ReportKind::Search,
            Some(Verdict::Answers { .. }) => return ReportKind::Experiment,
            Some(Verdict::Goal { .. }) => return ReportKind::Load,
            Some(Verdict::Sheet { .. }) => return ReportKind::Sheet,
            Some(Verdict::Profiled { .. }) => return ReportKind::Profile,
            Some(Verdict::Tasks { .. }) => return ReportKind::Tasks,
            Some(Verdict::WorkingSet { .. }) => return ReportKind::WorkingSet,
            None => {}
        }
        match self.started.as_ref().map(|started| &started.command) {
            Some(RunKind::Try) => ReportKind::Experiment,
            Some(RunKind::Probe) => ReportKind::Sheet,
            Some(RunKind::Profile) => ReportKind::Profile,
            Some(RunKind::FindThreads) => ReportKind::Tasks,
            Some(RunKind::FindWorkingSet) => ReportKind::WorkingSet,
            Some(RunKind::Find | RunKind::FindProcesses | RunKind::FindConnections) => ReportKind::Search,
            _ if self.design.is_some() => ReportKind::Experiment,
            _ => ReportKind::Load,
        }
    }

    /// What its arrivals are called, and what is raised.
    pub fn words(&self) -> ArrivalKind {
        self.started
            .as_ref()
            .map_or_else(ArrivalKind::default, |started| ArrivalKind::from_run_kind(&started.command))
    }

    /// Why its search ended.
    pub(crate) fn search_ended(&self) -> Option<&SearchEnd> {
        match self.end.as_ref()?.verdict.as_ref()? {
            Verdict::Limits { ended, .. } => Some(ended),
            _ => None,
        }
    }

    /// What a search has shown to fail the strict goal; none also where that says nothing of the target.
    pub(crate) fn fails_at(&self) -> Option<f64> {
        let upper = self.limits.first()?.upper;
        upper.filter(|_| !self.search_ended().is_some_and(SearchEnd::is_at_least))
    }

    /// What the target failed at in a trial that counts, though no limit was found below it.
    pub(crate) fn failed_rate(&self) -> Option<f64> {
        let upper = self.limits.first()?.upper?;
        let is_it = |trial: &Trial| TrialState::from_trial(trial) == TrialState::Bad && trial.is_at(upper);
        self.trials.iter().any(is_it).then_some(upper)
    }

    /// Whether torment itself was the limit: then the figures are its own.
    pub(crate) fn is_generator_limited(&self) -> bool {
        self.search_ended() == Some(&SearchEnd::GeneratorLimit) && !freezes::explain_lateness(self)
    }

    /// Whether there is this reason for doubt.
    pub(crate) fn has_caveat(&self, doubt: &CaveatKind) -> bool {
        self.caveats.iter().any(|caveat| caveat.doubt == *doubt)
    }

    /// Whether the target did less and less: then no limit lasts.
    pub(crate) fn is_slowing_down(&self) -> bool {
        self.has_caveat(&CaveatKind::SlowsDown)
    }

    /// The load of `torment run`, done or as far as it came.
    pub fn load(&self) -> Option<Trial> {
        let done = self.trials.iter().rev().find(|t| t.purpose == Purpose::Load);
        done.cloned().or_else(|| self.current.as_ref().map(CurrentLoad::cut_short))
    }

    /// The steps of all flows by name, with what happened to each in this load.
    pub fn steps<'a>(&'a self, load: &'a Trial) -> impl Iterator<Item = (&'a str, &'a StepFigures)> {
        let names = self.started.iter().flat_map(|started| &started.parts).map(String::as_str);
        names.zip(&load.figures.parts)
    }

    /// What was seen at a place, if anything was.
    pub fn place(&self, name: &str) -> Option<&WatchedPlace> {
        self.places.iter().find(|place| place.name == name)
    }

    /// The place at which a process of the target was found: the first of several.
    pub fn main_place(&self) -> Option<&WatchedPlace> {
        self.places.iter().find(|place| place.watched.has_processes()).or(self.places.first())
    }

    /// Whether nobody watched anywhere else.
    pub(crate) fn is_only_place(&self, place: &WatchedPlace) -> bool {
        self.places.iter().all(|other| other.name == place.name)
    }

    /// Whether the target stood still, how often, how long, and what it did then; none if it did not.
    pub fn freezes(&self) -> Option<Freezes> {
        self.stillness.freezes()
    }

    /// Time under load, of all trials.
    pub fn time_under_load(&self) -> Nanos {
        let current = self.current.as_ref().map_or(Nanos::ZERO, |c| c.total.elapsed);
        self.trials.iter().fold(current, |sum, trial| sum + trial.loaded)
    }
}
