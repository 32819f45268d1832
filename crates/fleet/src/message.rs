//! What members tell.

use crate::{Instruction, OwnerRequest};
use record::watch::WatchEvent;
use record::{Caveat, Failure, MemberFigures, Slice};
use serde::{Deserialize, Serialize};
use std::fmt;
use units::Nanos;

/// How they speak. Raised whenever something here or in [`Instruction`] changes: nobody understands another version.
pub const PROTOCOL: u32 = 8;

units::named! {
    /// What a process is in a fleet.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FleetRole {
        /// Conducts the run.
        Coordinator = "coordinator",
        /// Makes a part of the load.
        Worker = "worker",
        /// Looks at the target.
        Watcher = "watcher",
        /// Follows the run, and may end it.
        Owner = "owner",
    }
}

/// What tells a program from others of its version, which may be made from other sources.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BuildStamp {
    /// The machines that it is for.
    pub arch: String,
    /// What its linker has written into it, a digest of all of it; empty where that writes none.
    pub digest: String,
}

impl BuildStamp {
    /// Whether it is made for the same machines, and is another. Those for other machines cannot be compared.
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

/// Who wants to be a member. It is the first that is said, and the only thing that every version must understand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// How it speaks: [`PROTOCOL`].
    pub protocol: u32,
    /// Its version: all of a fleet are of the same.
    pub build: String,
    /// What tells the program from others of that version.
    #[serde(default)]
    pub stamp: BuildStamp,
    /// What it wants to be.
    pub role: FleetRole,
    /// Its number, if it was here before, or was given one by whatever started it.
    pub member: Option<u32>,
    /// The machine, pod or process that it is, for people.
    pub place: String,
    /// The start of the machine's kernel (`boot_id` of random(4)): who says the same runs on the same machine.
    pub machine: String,
    /// Its process.
    pub pid: u32,
}

/// What a member tells its coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum MemberReport {
    /// It has what it needs, and begins when it is told.
    Ready {
        /// What it was told.
        share: u64,
        /// So many loops.
        loops: u32,
        /// The most connections that it can make.
        connections: u64,
        /// What is doubtful about it.
        caveats: Vec<Caveat>,
        /// The target's address is one of its own machine.
        beside: bool,
    },
    /// It cannot do what it was told.
    Refused {
        /// What that is; 0 of a watcher, who is told once.
        share: u64,
        /// Why.
        why: String,
        /// It does not reach the target.
        unreached: bool,
    },
    /// It begins the trial in time.
    Armed {
        /// Which.
        trial: u64,
    },
    /// A second of all its loops.
    Slice {
        /// Of which trial.
        trial: u64,
        /// What they counted.
        slice: Box<Slice>,
    },
    /// The trial is over for it: what is open is no longer counted.
    Over {
        /// Which.
        trial: u64,
        /// When its load ended, from the start.
        at: Nanos,
        /// How many slices it tells of it in all.
        slices: u32,
        /// What it did.
        worked: Box<MemberFigures>,
    },
    /// Nothing of the trial is open any more.
    Settled {
        /// Which.
        trial: u64,
    },
    /// The connections that were to stand do, or as many of them as can.
    Held {
        /// So many.
        open: u64,
        /// Why it could make no more.
        refused: Option<Failure>,
    },
    /// A watcher has seen something: first of all what it watches.
    Seen(Box<WatchEvent>),
    /// It has told all that it saw of the trial that is over.
    SeenAll,
    /// An owner's word.
    Owner(OwnerRequest),
    /// It goes: it was asked to by others. Its account is whole.
    Leaving {
        /// By whom, or why.
        why: String,
    },
}

/// What goes over the link to a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToMember {
    /// It is taken for what it said it is.
    Welcome,
    /// It is not: why, and what would help.
    Refused(String),
    /// What time is it?
    Time {
        /// When that was asked, by whoever asks: it comes back.
        asked: Nanos,
    },
    /// Nothing but that somebody is there who could stop it.
    Alive,
    /// What it has to do.
    Told(Instruction),
}

/// What goes over the link from a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromMember {
    /// Who it is.
    Hello(Hello),
    /// This time it is.
    Time {
        /// As it was asked.
        asked: Nanos,
        /// When it was heard, by its own clock,
        heard: Nanos,
        /// and answered.
        told: Nanos,
    },
    /// What it has to tell.
    Told(MemberReport),
}
