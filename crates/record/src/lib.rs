//! Every noun that comes out: outcomes, slices, trial results, limits, verdicts, caveats, events.
//!
//! Values only, no behaviour beyond merging, counting and saying what they are. A run *is* its sequence of [`Event`]s:
//! storing appends it, showing folds it, so a live, a replayed and a reported run take one path.

mod allowance;
pub mod catalogue;
mod cause;
mod diagnosis;
mod doubt;
mod event;
pub mod exit;
mod experiment;
mod fleet;
mod gather;
mod kind;
mod label;
mod named;
mod outcome;
mod probe;
mod profile;
mod silence;
mod slice;
mod steady;
mod texts;
mod trial;
mod verdict;
pub mod watch;

pub use allowance::{Allowance, Area, Bearing, Remedy};
pub use cause::Cause;
pub use diagnosis::{
    Arithmetic, Confidence, Diagnosis, Evidence, Finding, NoFinding, Place, Prediction, Station, Use,
};
pub use doubt::{Caveat, Doubt, Grounds};
pub use event::{End, Event, Judgement, Log, Machine, Probing, Ramped, RunId, Started, Visiting};
pub use experiment::{
    Answer, ArmAnswer, ArmOf, Design, Expected, ExperimentEnd, Interval, Judged, Noise, ProbeOf, Spent,
    Standing, Taken, Visit,
};
pub use fleet::{FleetMember, LostMember, Worked};
pub use gather::{Counted, Gather};
pub use kind::{LimitUnit, RoomUnit, RunKind};
pub use label::Label;
pub use outcome::{Failure, Lack, Outcome, Outcomes};
pub use probe::{CacheModel, Conditions, CostRange, Costs, Figure, Gave, Room, Single, Summand, Unit};
pub use profile::{
    CallNode, CodeFunction, CodeModule, LoadSide, Nameless, Profile, ProfiledLoad, ProfiledProcess,
    StackCount,
};
pub use silence::{CatchUp, SILENCE, Silence, WAITED_FOR, freed_within};
pub use slice::{BLOCK, BLOCKS_PER_SLICE, Part, SLICE, Slice};
pub use steady::SteadyResponse;
pub use trial::{Purpose, Recovery, TrialResult};
pub use verdict::{Background, CurvePoint, Ended, Limit, Making, Verdict, WarmedUp};

/// Raised whenever a change makes measured figures incomparable with earlier ones; stored with each run.
/// 2: an answer is done when the kernel received its last byte, not when the loop came to read it.
/// 3: a search says what nine of ten trials hold; before, what all of the last three held.
pub const METHOD: u32 = 3;

/// The version of the events' JSON form, and of everything printed as JSON.
/// 2: limits have `held`, searches `background`.
pub const SCHEMA: u32 = 2;
