use crate::watch::{CloserLook, WatchCoverage, Window};
use crate::{
    ArmStart, Caveat, Conditions, Design, Diagnosis, ExperimentState, Figure, FleetMember, GeneratorCapacity,
    Label, Limit, LostMember, MachineCosts, Profile, Purpose, RunKind, Slice, SystemLimit, TrialResult,
    Verdict,
};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Rate};

/// Names a run: sortable by time, short enough to type, e.g. `20261120-161502-k3f`.
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
    /// Processors this process may use.
    pub cpus: u32,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
}

/// Everything that can happen in a run. Closed: whoever folds events must know each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// First of every run.
    RunStarted(Box<RunStart>),
    /// A load begins.
    TrialStarted {
        /// Counted from 1.
        trial: u32,
        /// Why it is made.
        purpose: Purpose,
        /// Offered rate; of a load with stages its largest; none of a closed loop.
        rate: Option<Rate>,
        /// How long; none if only a count ends it.
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
        /// What it means: loss with divergence, and whether it counts.
        judgement: Judgement,
    },
    /// The bounds after a trial of a search.
    Bounds {
        /// One for each goal.
        limits: Vec<Limit>,
        /// What torment makes at most where it fell behind again and again: it is the limit itself, unless that is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        making: Option<GeneratorCapacity>,
    },
    /// A reason for doubt about the whole run.
    #[serde(rename = "doubt")]
    Caveat {
        /// Which.
        caveat: Caveat,
    },
    /// Who makes the load together, from now on.
    FleetStands {
        /// All of them.
        members: Vec<FleetMember>,
    },
    /// One of them was lost while a trial lasted: it counts for nothing, and is made again.
    WorkerLost {
        /// Which trial.
        trial: u32,
        /// Who, and what is not known therefore.
        lost: LostMember,
    },
    /// What is known of the machine from earlier, and may explain what is measured.
    Known {
        /// What it costs.
        costs: MachineCosts,
    },
    /// The target is watched from now on, or what is watched has changed.
    WatchStarted {
        /// Where: the machine's name among those that watch; empty: where torment is.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        place: String,
        /// What is watched.
        watched: Box<WatchCoverage>,
    },
    /// What was seen of the target within a second of load.
    Observed {
        /// The trial; 0 without a load.
        trial: u32,
        /// Where, as in [`Event::WatchStarted`].
        #[serde(default, skip_serializing_if = "String::is_empty")]
        place: String,
        /// What.
        window: Box<Window>,
    },
    /// What was looked at once, because it looked as if it would explain something.
    Looked {
        /// The trial.
        trial: u32,
        /// Where, as in [`Event::WatchStarted`].
        #[serde(default, skip_serializing_if = "String::is_empty")]
        place: String,
        /// What.
        look: CloserLook,
    },
    /// What a program that the plan started has written, kept when it ended.
    Logged(ProgramLog),
    /// What an experiment is to find out.
    Designed {
        /// All of it.
        design: Box<Design>,
    },
    /// An experiment that was cut short goes on.
    Resumed {
        /// Milliseconds since 1970.
        at_unix_ms: u64,
    },
    /// A start of an arm begins.
    VisitStarted(OngoingStart),
    /// One start of an arm is over.
    Visited {
        /// What was measured.
        visit: Box<ArmStart>,
    },
    /// Where an experiment stands after a block, and at its end.
    Stands {
        /// Where.
        standing: Box<ExperimentState>,
    },
    /// What the machine is like before it is measured.
    Surveyed {
        /// What was found.
        conditions: Box<Conditions>,
    },
    /// Figures of a table are about to be measured.
    Probing(TableStart),
    /// A figure of the machine, measured.
    Measured {
        /// All of it.
        figure: Box<Figure>,
    },
    /// What the figures of a table mean together: a slope, where two curves cross.
    Noted {
        /// Which table.
        table: String,
        /// In one sentence.
        text: String,
    },
    /// Every limit on the number of tasks, before they are tried.
    Forecast {
        /// Each of them, the one that binds first leading.
        rooms: Vec<SystemLimit>,
    },
    /// How far a ramp of tasks has come.
    Ramped(RampProgress),
    /// What ran on the processors.
    Profiled {
        /// All of it.
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

/// How a run began.
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
    /// What kind of run it is.
    pub command: RunKind,
    /// The target as shown to people.
    pub target: String,
    /// The objective in words.
    pub goal: String,
    /// The plan as understood, as TOML.
    pub plan: String,
    /// Names of the steps of all flows, in the order of [`crate::Slice::parts`]; none if there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Where it runs.
    pub machine: Machine,
    /// The experiment that it is a measurement of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<RunId>,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Label::is_empty")]
    pub label: Label,
}

/// A start of an arm that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OngoingStart {
    /// As in [`Visit`].
    pub number: u32,
    /// As in [`Visit`].
    pub block: u32,
    /// As in [`Visit`].
    pub arm: usize,
    /// As in [`Visit`].
    pub placebo: bool,
    /// What it is expected to take.
    pub expected: Option<Nanos>,
}

/// What a program that the plan started has written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramLog {
    /// The program's name in the plan.
    pub program: String,
    /// Its output, of a long one the beginning and the end.
    pub text: String,
    /// Bytes left out between them.
    pub left_out: u64,
}

/// Figures of a table that are to be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableStart {
    /// Which.
    pub table: String,
    /// Figures in it.
    pub figures: u32,
    /// What it is expected to take.
    pub expected: Nanos,
}

/// How far a ramp of tasks has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RampProgress {
    /// Tasks that exist.
    pub tasks: u64,
    /// Memory that is free (MemFree).
    pub free: Bytes,
    /// Since the beginning.
    pub after: Nanos,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// Milliseconds since 1970.
    pub at_unix_ms: u64,
    /// What it came to; none if it could not be brought to one.
    pub verdict: Option<Verdict>,
    /// Exit code of the command.
    pub exit_code: u8,
    /// Why it could not, in one sentence.
    pub error: Option<String>,
}

/// What a trial means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Share of arrivals lost: counted, or implied by a queue that grows, whichever is larger.
    pub loss: f64,
    /// Whether the loss is above the objective's. Meaningless if the trial is not valid.
    pub good: bool,
    /// Growth of the outstanding arrivals a second, if the divergence rule found any.
    pub growth_per_second: Option<f64>,
    /// Reasons why the trial must not be classified; none if it is valid.
    pub invalid: Vec<Caveat>,
}
