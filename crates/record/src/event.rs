use crate::watch::{CloserLook, WatchCoverage, Window};
use crate::{
    ArmStart, Caveat, Conditions, Design, Diagnosis, ExperimentState, Figure, FleetMember, GeneratorCapacity,
    Label, Limit, LostMember, MachineCosts, Profile, Purpose, RunKind, Slice, SystemLimit, TrialResult,
    Verdict,
};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Rate};

/// A run's id: sortable by time, short enough to type, e.g. `20261120-161502-k3f`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

/// Where a run was made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Processor model.
    pub processor: String,
    /// Processors available to this process.
    pub cpus: u32,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
}

/// Everything that can happen in a run. Closed: every fold must handle each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// First of every run.
    RunStarted(Box<RunStart>),
    /// A load begins.
    TrialStarted {
        /// Counted from 1.
        trial: u32,
        /// Its purpose.
        purpose: Purpose,
        /// Offered rate; for a load with stages its largest; none for a closed loop.
        rate: Option<Rate>,
        /// Its duration; none if only a count ends it.
        duration: Option<Nanos>,
        /// Milliseconds since 1970.
        at_unix_ms: u64,
    },
    /// A second of the load, or of the drain after it, is over.
    SliceDone {
        /// Its trial.
        trial: u32,
        /// What happened in it.
        slice: Box<Slice>,
    },
    /// A trial is over.
    TrialDone {
        /// Which.
        trial: u32,
        /// What it measured.
        result: Box<TrialResult>,
        /// Its judgement: loss with divergence, and whether it counts.
        judgement: Judgement,
    },
    /// The bounds after a trial of a search.
    Bounds {
        /// One for each goal.
        limits: Vec<Limit>,
        /// The most torment can make, if it fell behind repeatedly: then it is the limit itself, unless that is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        making: Option<GeneratorCapacity>,
    },
    /// A caveat about the whole run.
    #[serde(rename = "doubt")]
    Caveat {
        /// Which.
        caveat: Caveat,
    },
    /// The fleet that makes the load from now on.
    FleetStands {
        /// All of them.
        members: Vec<FleetMember>,
    },
    /// A worker was lost during a trial: it is void, and repeated.
    WorkerLost {
        /// Which trial.
        trial: u32,
        /// Which worker, and what is unknown therefore.
        lost: LostMember,
    },
    /// Known costs of the machine, which may explain what is measured.
    Known {
        /// What it costs.
        costs: MachineCosts,
    },
    /// The target is observed from now on, or what is observed has changed.
    WatchStarted {
        /// The observing machine's name; empty: where torment is.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        place: String,
        /// What is observed.
        watched: Box<WatchCoverage>,
    },
    /// A window of observation, about a second.
    Observed {
        /// The trial; 0 without a load.
        trial: u32,
        /// Where, as in [`Event::WatchStarted`].
        #[serde(default, skip_serializing_if = "String::is_empty")]
        place: String,
        /// The window.
        window: Box<Window>,
    },
    /// A closer look, taken once because it may explain something.
    Looked {
        /// The trial.
        trial: u32,
        /// Where, as in [`Event::WatchStarted`].
        #[serde(default, skip_serializing_if = "String::is_empty")]
        place: String,
        /// The look.
        look: CloserLook,
    },
    /// Output of a program started by the plan, kept when it ended.
    Logged(ProgramLog),
    /// The design of an experiment.
    Designed {
        /// The design.
        design: Box<Design>,
    },
    /// An interrupted experiment continues.
    Resumed {
        /// Milliseconds since 1970.
        at_unix_ms: u64,
    },
    /// A start of an arm begins.
    VisitStarted(OngoingStart),
    /// A start of an arm is over.
    Visited {
        /// What was measured.
        visit: Box<ArmStart>,
    },
    /// The state of an experiment after a block, and at its end.
    Stands {
        /// The state.
        standing: Box<ExperimentState>,
    },
    /// The machine's conditions before measuring.
    Surveyed {
        /// What was found.
        conditions: Box<Conditions>,
    },
    /// A table's figures are about to be measured.
    Probing(TableStart),
    /// A figure of the machine was measured.
    Measured {
        /// The figure.
        figure: Box<Figure>,
    },
    /// What a table's figures mean together: a slope, where two curves cross.
    Noted {
        /// Which table.
        table: String,
        /// In one sentence.
        text: String,
    },
    /// Every limit on the number of tasks, before trying them.
    Forecast {
        /// The limits, the tightest first.
        rooms: Vec<SystemLimit>,
    },
    /// Progress of a ramp of tasks.
    Ramped(RampProgress),
    /// What ran on the processors.
    Profiled {
        /// The profile.
        profile: Box<Profile>,
    },
    /// What gave first.
    Diagnosed {
        /// The verdict, with its evidence.
        diagnosis: Box<Diagnosis>,
    },
    /// Last of every run that was not cut short.
    RunEnded(Box<RunEnd>),
}

/// The start of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// The run.
    pub id: RunId,
    /// Milliseconds since 1970.
    pub at_unix_ms: u64,
    /// torment's version.
    pub version: String,
    /// [`crate::METHOD`] of that version.
    pub method: u32,
    /// Its kind.
    pub command: RunKind,
    /// The target as shown to people.
    pub target: String,
    /// The objective in words.
    pub goal: String,
    /// The plan as parsed, as TOML.
    pub plan: String,
    /// Names of the steps of all flows, in the order of [`crate::Slice::parts`]; empty if there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Where it runs.
    pub machine: Machine,
    /// The experiment that this run is a measurement of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<RunId>,
    /// Its name and tags.
    #[serde(default, skip_serializing_if = "Label::is_empty")]
    pub label: Label,
}

/// A start of an arm in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OngoingStart {
    /// See [`crate::ArmStart`].
    pub number: u32,
    /// See [`crate::ArmStart`].
    pub block: u32,
    /// See [`crate::ArmStart`].
    pub arm: usize,
    /// See [`crate::ArmStart`].
    pub placebo: bool,
    /// Its expected duration.
    pub expected: Option<Nanos>,
}

/// The output of a program started by the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramLog {
    /// The program's name in the plan.
    pub program: String,
    /// Its output; if long, the beginning and the end.
    pub text: String,
    /// Bytes left out between them.
    pub left_out: u64,
}

/// A table whose figures are to be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableStart {
    /// Its name.
    pub table: String,
    /// Figures in it.
    pub figures: u32,
    /// Expected duration.
    pub expected: Nanos,
}

/// Progress of a ramp of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RampProgress {
    /// Tasks that exist.
    pub tasks: u64,
    /// Free memory (MemFree).
    pub free: Bytes,
    /// Since the start of the ramp.
    pub after: Nanos,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// Milliseconds since 1970.
    pub at_unix_ms: u64,
    /// Its verdict, if it came to one.
    pub verdict: Option<Verdict>,
    /// Exit code of the command.
    pub exit_code: u8,
    /// Why not, in one sentence.
    pub error: Option<String>,
}

/// The judgement of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Share of arrivals lost: counted, or implied by a growing queue, whichever is greater.
    pub loss: f64,
    /// Whether the loss is within the objective's. Meaningless if the trial is void.
    pub good: bool,
    /// Growth of outstanding arrivals per second, if the divergence rule found any.
    pub growth_per_second: Option<f64>,
    /// Why the trial is void; empty if it is valid.
    pub invalid: Vec<Caveat>,
}
