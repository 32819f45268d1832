use crate::{Caveat, MemberFigures, Slice};
use serde::{Deserialize, Serialize};
use units::{Nanos, Rate};

units::named! {
    /// The purpose of a trial.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Purpose {
        /// The load of `torment run`.
        Load = "load",
        /// Raises the rate step by step until the first bad one.
        Climb = "climb",
        /// Brings the target to its steady state; never judged.
        WarmUp = "warm-up",
        /// Narrows the bounds.
        Measure = "measure",
        /// Repeats a reference load to detect a changed target.
        Sentinel = "sentinel",
        /// Repeats a bound before publishing it.
        Confirm = "confirm",
        /// A few requests after an overload, until the target is as quick as before it.
        Recovery = "recovery",
        /// Response time at a fixed share of the capacity.
        Curve = "curve",
        /// Sampled once the limit is known, to see which code runs.
        Profile = "profile",
    }
}

impl Purpose {
    /// Whether it shows what the target holds: it is no warm-up, recovery or profile.
    pub fn is_judged(self) -> bool {
        !matches!(self, Self::WarmUp | Self::Recovery | Self::Profile)
    }
}

/// How the target recovered after a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Not checked: the trial was good.
    NotNeeded,
    /// In flight back to zero and response time back within its baseline after this long.
    After(Nanos),
    /// Not within this time: what was still unanswered was given up.
    Not(Nanos),
}

impl Recovery {
    /// After how long unanswered requests were given up; none if there were none.
    pub fn lost(self) -> Option<Nanos> {
        match self {
            Self::Not(limit) => Some(limit),
            Self::NotNeeded | Self::After(_) => None,
        }
    }
}

/// The raw measurements of one trial; `search` derives their meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// Its purpose.
    pub purpose: Purpose,
    /// Offered rate as planned; for a load with stages its mean; for a closed loop the rate reached.
    pub rate: Rate,
    /// Planned duration of the load.
    pub planned: Nanos,
    /// Its actual duration; shorter if it was hopeless or interrupted.
    pub loaded: Nanos,
    /// Maximum drain before open requests were called unfinished.
    pub drain: Nanos,
    /// Whether it was stopped early because no later second could have saved it.
    pub hopeless: bool,
    /// All slices of the load merged, and the drain's counts; `total.outstanding` covers the load only.
    pub total: Slice,
    /// How the target recovered.
    pub recovery: Recovery,
    /// Caveats found by the runner: descriptors, ports, processors.
    pub caveats: Vec<Caveat>,
    /// Figures of each member of a fleet. A single machine's are in `total`, not stored twice.
    #[serde(default, skip_serializing_if = "is_alone")]
    pub members: Vec<MemberFigures>,
}

impl TrialResult {
    /// Caveats about the fleet: they void the trial, good or bad.
    pub fn fleet_caveats(&self) -> impl Iterator<Item = &Caveat> {
        self.caveats.iter().filter(|caveat| caveat.doubt.is_fleet())
    }
}

fn is_alone(members: &[MemberFigures]) -> bool {
    members.len() < 2
}
