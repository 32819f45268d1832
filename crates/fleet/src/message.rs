//! Messages from members, and both envelopes.

use crate::{Instruction, OwnerRequest};
use record::watch::WatchEvent;
use record::{Caveat, Failure, MemberFigures, Slice};
use serde::{Deserialize, Serialize};
use std::fmt;
use units::Nanos;

/// Protocol version. Raise it whenever something here or in [`Instruction`] changes: no other version is understood.
pub const PROTOCOL: u32 = 8;

units::named! {
    /// A process's role in a fleet.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FleetRole {
        /// Conducts the run.
        Coordinator = "coordinator",
        /// Makes a part of the load.
        Worker = "worker",
        /// Watches the target.
        Watcher = "watcher",
        /// Follows the run, and may end it.
        Owner = "owner",
    }
}

/// Distinguishes builds of the same version, which may be of different sources.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BuildStamp {
    /// The architecture it is built for.
    pub arch: String,
    /// Build ID that its linker wrote, a digest of the whole program; empty if it wrote none.
    pub digest: String,
}

impl BuildStamp {
    /// Whether it is a different build for the same architecture. Other architectures cannot be compared.
    pub fn differs_from(&self, other: &Self) -> bool {
        self.arch == other.arch && self.digest != other.digest
    }
}

/// For people: `x86_64, build 1a339e85`.
impl fmt::Display for BuildStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest =
            if self.digest.is_empty() { "unknown" } else { self.digest.get(..8).unwrap_or(&self.digest) };
        write!(f, "{}, build {digest}", self.arch)
    }
}

/// Request to join. The first message, and the only one that every version must understand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its protocol version, [`PROTOCOL`].
    pub protocol: u32,
    /// Its version, the same for all of a fleet.
    pub build: String,
    /// Its build within that version.
    #[serde(default)]
    pub stamp: BuildStamp,
    /// The role it wants.
    pub role: FleetRole,
    /// Its number, if it joined before or was given one when started.
    pub member: Option<u32>,
    /// The machine, pod or process it is, for people.
    pub place: String,
    /// `boot_id` of the machine's kernel (random(4)): the same ID means the same machine.
    pub machine: String,
    /// Its process ID.
    pub pid: u32,
}

/// From member to coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum MemberReport {
    /// It is prepared, and begins when told.
    Ready {
        /// Share version it is ready for.
        share: u64,
        /// Number of its loops.
        loops: u32,
        /// The most connections it can make.
        connections: u64,
        /// Its caveats.
        caveats: Vec<Caveat>,
        /// The target's address is one of its own machine.
        beside: bool,
    },
    /// It cannot do what it was told.
    Refused {
        /// Version of the shares; 0 from a watcher, which is told once.
        share: u64,
        /// Why.
        why: String,
        /// It does not reach the target.
        unreached: bool,
    },
    /// It will start the trial on time.
    Armed {
        /// Number of the trial.
        trial: u64,
    },
    /// One second of all its loops.
    Slice {
        /// Number of the trial.
        trial: u64,
        /// What they counted.
        slice: Box<Slice>,
    },
    /// The trial is over for it: outstanding requests are no longer counted.
    Over {
        /// Number of the trial.
        trial: u64,
        /// When its load ended, from the start.
        at: Nanos,
        /// Number of its slices in all.
        slices: u32,
        /// What the generator did.
        worked: Box<MemberFigures>,
    },
    /// Nothing of the trial is outstanding any more.
    Settled {
        /// Number of the trial.
        trial: u64,
    },
    /// The connections asked for are open, or as many as possible.
    Held {
        /// Connections open.
        open: u64,
        /// Why it could open no more.
        refused: Option<Failure>,
    },
    /// From a watcher, beginning with what it watches.
    Seen(Box<WatchEvent>),
    /// A watcher has reported all of the trial that is over.
    SeenAll,
    /// From an owner.
    Owner(OwnerRequest),
    /// It leaves because others asked it to. Its report is complete.
    Leaving {
        /// Who asked, or why.
        why: String,
    },
}

/// Message to a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToMember {
    /// Admitted.
    Welcome,
    /// Rejected: why, and what would help.
    Refused(String),
    /// Clock query.
    Time {
        /// When it was sent, by the coordinator's clock; returned in the answer.
        asked: Nanos,
    },
    /// Heartbeat: somebody is there who could stop the load.
    Alive,
    /// An instruction.
    Told(Instruction),
}

/// Message from a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromMember {
    /// Request to join.
    Hello(Hello),
    /// Answer to a clock query.
    Time {
        /// Copied from the query.
        asked: Nanos,
        /// When the query arrived, by its own clock.
        heard: Nanos,
        /// When the answer was sent, likewise.
        told: Nanos,
    },
    /// A report.
    Told(MemberReport),
}
