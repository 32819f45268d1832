mod fold;

use crate::wording::place_suffix;
use crate::{ArrivalKind, LoadFigures, LoadSecond, StepFigures, Trial, TrialState, freezes};
use diagnosis::{FreezeDetector, Freezes};
use record::watch::{CloserLook, WatchCoverage, Window};
use record::{
    ArmStart, Cause, Caveat, CaveatKind, Conditions, CurvePoint, Design, Diagnosis, ExperimentState, Figure,
    FleetMember, GeneratorCapacity, Limit, LostMember, OngoingStart, Profile, ProgramLog, Purpose,
    RampProgress, Recovery, RunEnd, RunKind, RunStart, SearchEnd, Slice, SystemLimit, TableStart, Verdict,
};
use std::collections::{BTreeMap, VecDeque};
use units::{Nanos, Rate};

/// The current load.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentLoad {
    /// The kind of its arrivals.
    pub arrival_kind: ArrivalKind,
    /// Counted from 1.
    pub number: u32,
    /// Its purpose.
    pub purpose: Purpose,
    /// Offered rate; `None` for a closed loop.
    pub rate: Option<Rate>,
    /// Planned length.
    pub planned: Option<Nanos>,
    /// Start, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// All seconds so far, merged.
    pub total: Slice,
}

impl CurrentLoad {
    /// The trial as it would be if it ended now.
    pub fn cut_short(&self) -> Trial {
        Trial {
            number: self.number,
            arrival_kind: self.arrival_kind,
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

/// A time span within a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TimeSpan {
    /// Start, in seconds since the run began.
    pub from: f64,
    /// Length.
    pub length: Nanos,
}

impl TimeSpan {
    /// `time` after its start, in seconds since the run began.
    pub fn after(self, time: Nanos) -> f64 {
        self.from + time.as_secs_f64()
    }

    /// End, in seconds since the run began.
    pub fn to(self) -> f64 {
        self.after(self.length)
    }
}

/// Kinds of runs, which are reported differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    /// `torment run`.
    Load,
    /// `torment find`.
    Search,
    /// `torment try`.
    Experiment,
    /// `torment probe`.
    Probe,
    /// `torment profile`.
    Profile,
    /// `torment find threads`.
    Tasks,
    /// `torment find working-set`.
    WorkingSet,
}

/// What one place observed, of those that watched.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WatchedPlace {
    /// The machine's name; empty: torment's own.
    pub name: String,
    /// What is watched there.
    pub coverage: WatchCoverage,
    /// Each trial's observations, as one window; 0 is outside trials.
    pub trials: BTreeMap<u32, Window>,
    /// One-off inspections.
    pub closer_looks: Vec<CloserLook>,
}

impl WatchedPlace {
    /// ` on NAME`, or empty where torment runs.
    pub fn place_suffix(&self) -> String {
        place_suffix(&self.name)
    }
}

/// A run's state: fold its events in order with [`RunView::fold`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunView {
    /// Its first event; `None` before.
    pub started: Option<RunStart>,
    /// The current load, or the one cut short.
    pub current: Option<CurrentLoad>,
    /// Each trial's time span, including its drain.
    pub trial_spans: BTreeMap<u32, TimeSpan>,
    /// Finished trials.
    pub trials: Vec<Trial>,
    /// A search's current bounds, strict goal first.
    pub limits: Vec<Limit>,
    /// The generator's capacity, if known to be a search's limit.
    pub generator_capacity: Option<GeneratorCapacity>,
    /// Caveats about the whole run.
    pub caveats: Vec<Caveat>,
    /// The last seconds of load, oldest first.
    pub seconds: VecDeque<LoadSecond>,
    /// Places that watch the target, in the order in which they began; empty if none.
    pub places: Vec<WatchedPlace>,
    /// What gave first.
    pub diagnosis: Option<Diagnosis>,
    /// Detects freezes of the target.
    pub freeze_detector: FreezeDetector,
    /// The processes that make the load together; empty if only one.
    pub fleet: Vec<FleetMember>,
    /// Lost members, each with its trial.
    pub lost_members: Vec<(u32, LostMember)>,
    /// An experiment's design.
    pub design: Option<Design>,
    /// An experiment's completed starts.
    pub starts: Vec<ArmStart>,
    /// The current start.
    pub ongoing_start: Option<OngoingStart>,
    /// An experiment's state.
    pub experiment_state: Option<ExperimentState>,
    /// Output of programs that the plan started.
    pub logs: Vec<ProgramLog>,
    /// The machine's conditions.
    pub conditions: Option<Conditions>,
    /// Tables of figures begun so far.
    pub table_starts: Vec<TableStart>,
    /// The machine's figures.
    pub figures: Vec<Figure>,
    /// What they mean together: table and sentence.
    pub notes: Vec<(String, String)>,
    /// Limits on the number of tasks.
    pub system_limits: Vec<SystemLimit>,
    /// How tasks were created and released.
    pub ramp: Vec<RampProgress>,
    /// On-CPU profiles.
    pub profiles: Vec<Profile>,
    /// How it ended; `None` if running or cut short.
    pub end: Option<RunEnd>,
    /// Its process still writes it, so a missing end is no problem. Events cannot tell: set by whoever reads them from a store.
    pub running: bool,
    /// Unreadable events of newer versions; set by the reader.
    pub skipped: u64,
}

impl RunView {
    /// Whether a load's goal is met; `None` while unknown.
    pub fn goal_met(&self) -> Option<bool> {
        match self.verdict()? {
            Verdict::Goal { met, .. } => *met,
            _ => None,
        }
    }

    /// The kind of run.
    pub fn kind(&self) -> ReportKind {
        match self.verdict() {
            Some(Verdict::Limits { .. }) => return ReportKind::Search,
            Some(Verdict::Answers { .. }) => return ReportKind::Experiment,
            Some(Verdict::Goal { .. }) => return ReportKind::Load,
            Some(Verdict::Sheet { .. }) => return ReportKind::Probe,
            Some(Verdict::Profiled { .. }) => return ReportKind::Profile,
            Some(Verdict::Tasks { .. }) => return ReportKind::Tasks,
            Some(Verdict::WorkingSet { .. }) => return ReportKind::WorkingSet,
            None => {}
        }
        match self.started.as_ref().map(|started| &started.command) {
            Some(RunKind::Try) => ReportKind::Experiment,
            Some(RunKind::Probe) => ReportKind::Probe,
            Some(RunKind::Profile) => ReportKind::Profile,
            Some(RunKind::FindThreads) => ReportKind::Tasks,
            Some(RunKind::FindWorkingSet) => ReportKind::WorkingSet,
            Some(RunKind::Find | RunKind::FindProcesses | RunKind::FindConnections) => ReportKind::Search,
            _ if self.design.is_some() => ReportKind::Experiment,
            _ => ReportKind::Load,
        }
    }

    /// What arrives, and what is raised.
    pub fn arrival_kind(&self) -> ArrivalKind {
        self.started
            .as_ref()
            .map_or_else(ArrivalKind::default, |started| ArrivalKind::from_run_kind(&started.command))
    }

    /// The verdict of a finished run.
    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        self.end.as_ref()?.verdict.as_ref()
    }

    /// A search's response times at shares of its limit; empty if not measured.
    pub(crate) fn curve(&self) -> &[CurvePoint] {
        match self.verdict() {
            Some(Verdict::Limits { curve, .. }) => curve,
            _ => &[],
        }
    }

    /// What gave first, if known.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.diagnosis.as_ref()?.cause()
    }

    /// What holds by the strict goal, as far as known: as estimated, else the highest load shown to hold.
    pub(crate) fn held(&self) -> Option<f64> {
        self.limits.first().and_then(|limit| limit.held.or(limit.lower))
    }

    pub(crate) fn search_ended(&self) -> Option<&SearchEnd> {
        match self.verdict()? {
            Verdict::Limits { ended, .. } => Some(ended),
            _ => None,
        }
    }

    /// The rate a search has shown to fail the strict goal; `None` if that says nothing of the target.
    pub(crate) fn fails_at(&self) -> Option<f64> {
        let upper = self.limits.first()?.upper;
        upper.filter(|_| !self.search_ended().is_some_and(SearchEnd::is_at_least))
    }

    /// The rate that failed in a trial that counts, though no limit was found below it.
    pub(crate) fn failed_rate(&self) -> Option<f64> {
        let upper = self.limits.first()?.upper?;
        let is_it = |trial: &Trial| trial.state() == TrialState::Bad && trial.is_at(upper);
        self.trials.iter().any(is_it).then_some(upper)
    }

    /// Whether torment was the limit: the figures are then its own.
    pub(crate) fn is_generator_limited(&self) -> bool {
        self.search_ended() == Some(&SearchEnd::GeneratorLimit) && !freezes::is_lateness_by_freezes(self)
    }

    /// Whether the run has this caveat.
    pub(crate) fn has_caveat(&self, kind: &CaveatKind) -> bool {
        self.caveats.iter().any(|caveat| caveat.doubt == *kind)
    }

    /// Whether the target slowed down steadily: then no limit lasts.
    pub(crate) fn is_slowing_down(&self) -> bool {
        self.has_caveat(&CaveatKind::SlowsDown)
    }

    /// The load of `torment run`, finished or so far.
    pub fn load(&self) -> Option<Trial> {
        let done = self.trials.iter().rev().find(|t| t.purpose == Purpose::Load);
        done.cloned().or_else(|| self.current.as_ref().map(CurrentLoad::cut_short))
    }

    /// The steps of all flows by name, with their figures in this load.
    pub fn steps<'a>(&'a self, load: &'a Trial) -> impl Iterator<Item = (&'a str, &'a StepFigures)> {
        let names = self.started.iter().flat_map(|started| &started.parts).map(String::as_str);
        names.zip(&load.figures.parts)
    }

    /// A place's observations, if any.
    pub fn place(&self, name: &str) -> Option<&WatchedPlace> {
        self.places.iter().find(|place| place.name == name)
    }

    /// The first place at which a process of the target was found.
    pub fn main_place(&self) -> Option<&WatchedPlace> {
        self.places.iter().find(|place| place.coverage.has_processes()).or(self.places.first())
    }

    /// Whether it is the only place.
    pub(crate) fn is_only_place(&self, place: &WatchedPlace) -> bool {
        self.places.iter().all(|other| other.name == place.name)
    }

    /// The target's freezes: number, lengths, and what it did meanwhile; `None` if it did not freeze.
    pub fn freezes(&self) -> Option<Freezes> {
        self.freeze_detector.freezes()
    }

    /// Time of its warm-ups, which no budget counts.
    pub(crate) fn time_warming_up(&self) -> Nanos {
        let warm_ups = self.trials.iter().filter(|trial| trial.purpose == Purpose::WarmUp);
        warm_ups.fold(Nanos::ZERO, |sum, trial| sum + trial.loaded)
    }

    /// Total time under load, of all trials.
    pub fn time_under_load(&self) -> Nanos {
        let current = self.current.as_ref().map_or(Nanos::ZERO, |c| c.total.elapsed);
        self.trials.iter().fold(current, |sum, trial| sum + trial.loaded)
    }
}
