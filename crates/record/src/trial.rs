use crate::{Caveat, MemberFigures, Slice};
use serde::{Deserialize, Serialize};
use units::{Nanos, Rate};

units::named! {
    /// Why a trial is made.
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
        /// Repeats a reference load to notice a target that has changed.
        Sentinel = "sentinel",
        /// Repeats a bound before it is published.
        Confirm = "confirm",
        /// A handful of requests after an overload, until the target is as quick as before it.
        Recovery = "recovery",
        /// Response time at a fixed share of the capacity.
        Curve = "curve",
        /// Sampled once the limit is known, to see which code runs.
        Profile = "profile",
    }
}

impl Purpose {
    /// Whether it tells what the target holds: it does not warm it up, wait for it, or only look at its code.
    pub fn is_judged(self) -> bool {
        !matches!(self, Self::WarmUp | Self::Recovery | Self::Profile)
    }
}

/// How the target came back after a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Not looked at: the trial was good.
    NotNeeded,
    /// In flight back to zero and response time back within its baseline after this long.
    After(Nanos),
    /// Not within this limit: what it had not answered by then was given up.
    Not(Nanos),
}

impl Recovery {
    /// After how long requests were left that it had not answered; none if there were none.
    pub fn lost(self) -> Option<Nanos> {
        match self {
            Self::Not(limit) => Some(limit),
            Self::NotNeeded | Self::After(_) => None,
        }
    }
}

/// What one trial measured. Raw: what it means is derived by `search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// Why it was made.
    pub purpose: Purpose,
    /// Offered rate as planned; of a load with stages its mean; of a closed loop the rate reached.
    pub rate: Rate,
    /// How long the load was to last.
    pub planned: Nanos,
    /// How long it lasted; shorter if it was hopeless or interrupted.
    pub loaded: Nanos,
    /// How long the drain after it lasted at most before open requests were called unfinished.
    pub drain: Nanos,
    /// Whether it was stopped early because no later second could have saved it.
    pub hopeless: bool,
    /// All slices of the load merged, and the drain's counts; `total.outstanding` covers the load only.
    pub total: Slice,
    /// How the target came back.
    pub recovery: Recovery,
    /// What the runner noticed: descriptors, ports, processors.
    pub caveats: Vec<Caveat>,
    /// What each of a fleet did. What one by itself did is in `total`, and not stored once more.
    #[serde(default, skip_serializing_if = "is_alone")]
    pub members: Vec<MemberFigures>,
}

impl TrialResult {
    /// What happened to the fleet that made it: what was measured is no measurement then, good or bad.
    pub fn fleet_caveats(&self) -> impl Iterator<Item = &Caveat> {
        self.caveats.iter().filter(|caveat| caveat.doubt.is_fleet())
    }
}

fn is_alone(members: &[MemberFigures]) -> bool {
    members.len() < 2
}
