//! Caveats: reasons to doubt a figure, by name, with their details.

mod details;

pub use details::CaveatDetails;

use crate::ExhaustedResource;
use crate::named::named;
use serde::{Deserialize, Serialize};
use std::fmt;

named! {
    /// Why a figure is doubtful.
    CaveatKind {
        /// The generator took up arrivals late, or not at all.
        GeneratorLate = "generator-late",
        /// The generator's own processors were busy.
        GeneratorBusy = "generator-busy",
        /// The generator could open no more files.
        DescriptorsExhausted = "descriptors-exhausted",
        /// The generator had no more local ports.
        PortsExhausted = "ports-exhausted",
        /// epoll could watch no more of the generator's descriptors.
        WatchesExhausted = "watches-exhausted",
        /// The kernel had no more memory for the generator's sockets.
        MemoryExhausted = "memory-exhausted",
        /// The hypervisor gave processor time to others during a load.
        Steal = "steal",
        /// The target's processors varied in speed, independently of the target.
        UnevenMachine = "uneven-machine",
        /// The target did less from trial to trial.
        SlowsDown = "slows-down",
        /// The target was busy long after a load: it defers work, which a longer load has to wait for.
        WorksOn = "works-on",
        /// The schedule was not kept.
        OffPlan = "off-plan",
        /// Outstanding arrivals ≠ rate × mean response time.
        LittlesLaw = "littles-law",
        /// A worker of the fleet was lost during a load.
        WorkerLost = "worker-lost",
        /// One worker's answers are far slower than the others'.
        Uneven = "uneven",
        /// A worker is on the target's own machine.
        BesideTarget = "beside-target",
        /// A worker's program is built for another kind of machine than the coordinator's; its version is the same.
        OtherBuild = "other-build",
        /// The load needed more workers than there were.
        NoMoreWorkers = "no-more-workers",
        /// All connections were busy, and arrivals waited for one.
        ConnectionsLimit = "connections-limit",
        /// The target serves few connections at a time; others waited until one of these ended.
        FewPlaces = "few-places",
        /// The target closes each connection after so many answers, unannounced.
        ClosesUnannounced = "closes-unannounced",
        /// The target's kernel holds back the rest of answers until their beginning is acknowledged.
        DelayedAcks = "delayed-acks",
        /// Connections failed for a reason on this side.
        ConnectionsOurs = "connections-ours",
        /// Established connections were lost.
        ConnectionsLost = "connections-lost",
        /// The load was interrupted before its end.
        Interrupted = "interrupted",
        /// The descriptor limit is below the number of connections wanted.
        FewDescriptors = "few-descriptors",
        /// An address has fewer ports than connections wanted.
        FewPorts = "few-ports",
        /// The target could not be reset.
        NotReset = "not-reset",
        /// The store was slower than the run.
        StoreBehind = "store-behind",
        /// A start's search found no limit.
        NoLimit = "no-limit",
        /// A start's search had no time left to narrow the limit.
        NotNarrow = "not-narrow",
        /// The target kept changing.
        NonStationary = "non-stationary",
        /// A start generated no load.
        NoLoad = "no-load",
        /// The target could not be profiled.
        NotProfiled = "not-profiled",
        /// Requests of a load were not answered.
        NotAnswered = "not-answered",
        /// Two starts of the same arm differ.
        PlaceboDiffers = "placebo-differs",
        /// An arm could not be measured.
        ArmDropped = "arm-dropped",
        /// A hypothesis cannot be decided before the first look.
        BeforeFirstLook = "before-first-look",
        /// The noise between starts is not known.
        NoNoise = "no-noise",
        /// The interval rests on few starts.
        FewFreedom = "few-freedom",
        /// Two looks came to different answers.
        LooksDisagree = "looks-disagree",
        /// A figure is a lower bound.
        AtLeast = "at-least",
        /// The machine became faster or slower during the experiment.
        Drift = "drift",
        /// The arms differ in noise.
        UnequalNoise = "unequal-noise",
        /// Others use the machine.
        OthersAtWork = "others-at-work",
        /// The hypervisor gives processor time to others.
        StolenTime = "stolen-time",
        /// Something takes the processor that no counter shows.
        Gaps = "gaps",
        /// Others were at work while a figure was measured.
        Disturbed = "disturbed",
        /// What was measured is no thread switch.
        NotASwitch = "not-a-switch",
        /// A share of processor time is below its clock's resolution.
        TooShort = "too-short",
        /// Compared runs were made on different machines,
        OtherMachine = "other-machine",
        /// by different methods,
        OtherMethod = "other-method",
        /// by different versions,
        OtherVersion = "other-version",
        /// of different targets,
        OtherTarget = "other-target",
        /// under different loads,
        OtherLoad = "other-load",
        /// from different plans,
        OtherPlan = "other-plan",
        /// go on,
        StillRunning = "still-running",
        /// were cut short,
        CutShort = "cut-short",
        /// failed,
        Failed = "failed",
        /// have events that this version cannot read,
        SkippedEvents = "skipped-events",
        /// were made once each.
        SingleRuns = "single-runs",
    }
}

impl CaveatKind {
    /// Whether the generator was the limit: the figures are its own, not the target's.
    pub fn is_generator(&self) -> bool {
        matches!(self, Self::GeneratorLate | Self::GeneratorBusy)
    }

    /// Whether part of the load was missing: the trial says nothing of the target or the generator.
    pub fn is_fleet(&self) -> bool {
        matches!(self, Self::WorkerLost)
    }

    /// Whether the generator lacked something that connections need.
    pub fn is_exhaustion(&self) -> bool {
        matches!(
            self,
            Self::DescriptorsExhausted
                | Self::PortsExhausted
                | Self::WatchesExhausted
                | Self::MemoryExhausted
        )
    }
}

impl From<ExhaustedResource> for CaveatKind {
    fn from(lack: ExhaustedResource) -> Self {
        match lack {
            ExhaustedResource::Descriptor => Self::DescriptorsExhausted,
            ExhaustedResource::Port => Self::PortsExhausted,
            ExhaustedResource::Watch => Self::WatchesExhausted,
            ExhaustedResource::Memory => Self::MemoryExhausted,
        }
    }
}

/// A reason to doubt a figure, shown wherever the figure is: in one sentence what was found, and what can be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Caveat {
    /// Its kind.
    #[serde(rename = "code")]
    pub doubt: CaveatKind,
    /// Its details; none if the kind says it all, or another version of torment wrote them.
    #[serde(flatten)]
    pub grounds: Option<CaveatDetails>,
}

impl Caveat {
    /// A caveat with this text.
    pub fn new(doubt: CaveatKind, text: impl Into<String>) -> Self {
        Self::with_details(doubt, CaveatDetails::Text(text.into()))
    }

    /// A caveat whose sentence is made from figures.
    pub fn with_details(doubt: CaveatKind, grounds: CaveatDetails) -> Self {
        Self { doubt, grounds: Some(grounds) }
    }
}

impl From<CaveatKind> for Caveat {
    fn from(doubt: CaveatKind) -> Self {
        Self { doubt, grounds: None }
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(grounds) = &self.grounds {
            return f.write_str(&grounds.sentence());
        }
        f.write_str(match &self.doubt {
            CaveatKind::Interrupted => "the load was interrupted before its end",
            CaveatKind::NonStationary => "the target kept changing during the search",
            CaveatKind::NotNarrow => {
                "the search ran out of time before its limit was known as precisely as asked for"
            }
            CaveatKind::NoLoad => "no load was made",
            doubt => doubt.name(),
        })
    }
}

#[cfg(test)]
mod tests;
