//! The data model: outcomes, slices, trial results, limits, verdicts, caveats, events.
//!
//! Values only, with no behaviour beyond merging, counting and naming. A run *is* its sequence of [`Event`]s: storing appends it, showing
//! folds it, so live, replayed and reported runs take one path.

pub mod catalogue;
mod cause;
mod caveat;
mod diagnosis;
mod event;
pub mod exit;
mod experiment;
mod fleet;
mod label;
mod named;
mod outcome;
mod prerequisite;
mod probe;
mod profile;
mod run_kind;
mod silence;
mod slice;
mod slice_merger;
mod steady;
mod texts;
mod trial;
mod verdict;
pub mod watch;

pub use cause::Cause;
pub use caveat::{Caveat, CaveatDetails, CaveatKind};
pub use diagnosis::{
    CapacityCheck, Confidence, Diagnosis, Evidence, Finding, NoFinding, Prediction, Station, StationKind,
    StationUse,
};
pub use event::{
    Event, Judgement, Machine, OngoingStart, ProgramLog, RampProgress, RunEnd, RunId, RunStart, TableStart,
};
pub use experiment::{
    ArmAnswer, ArmStart, Design, DesignArm, DesignMeasurement, ExpectedAnswer, ExperimentEnd,
    ExperimentState, HypothesisAnswer, HypothesisResult, Interval, MeasurementResult, Noise, StartTimes,
};
pub use fleet::{FleetMember, LostMember, MemberFigures};
pub use label::Label;
pub use outcome::{ExhaustedResource, Failure, Outcome, Outcomes};
pub use prerequisite::{Area, Prerequisite, Remedy, Severity};
pub use probe::{
    CacheModel, Conditions, CostRange, Figure, FigureUnit, MachineCosts, OperationTimes, RampEnd, Summand,
    SystemLimit,
};
pub use profile::{
    CallNode, CodeFunction, CodeModule, LoadSide, Profile, ProfiledLoad, ProfiledProcess, StackCount,
    UnnamedReason,
};
pub use run_kind::{LimitUnit, RunKind, SystemLimitUnit};
pub use silence::{CatchUp, MAX_CATCH_UP, MIN_SILENCE, Silence, freed_within};
pub use slice::{BLOCK, BLOCKS_PER_SLICE, SLICE, Slice, StepSlice};
pub use slice_merger::{SliceMerger, TrialCounts};
pub use steady::SteadyResponse;
pub use trial::{Purpose, Recovery, TrialResult};
pub use verdict::{BackgroundLoss, CurvePoint, GeneratorCapacity, Limit, SearchEnd, Verdict, WarmUpResult};

/// Raised whenever a change makes measured figures incomparable with earlier ones; stored with each run.
/// 2: an answer is done when the kernel received its last byte, not when the loop read it.
/// 3: a search reports what nine in ten trials hold; before, what all of the last three held.
pub const METHOD: u32 = 3;

/// The version of the events' JSON form, and of everything printed as JSON.
/// 2: limits have `held`, searches `background`.
pub const SCHEMA: u32 = 2;
