//! What members are told to do.

use crate::OwnerUpdate;
use plan::PortablePlan;
use schedule::OfferedLoad;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use units::Nanos;

/// Who has which loops: they are numbered across the fleet, every member's first, then every member's second. Arrival *k* belongs
/// to loop *k* mod all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopAssignment {
    of: BTreeMap<u32, Vec<u32>>,
    all: u32,
}

impl LoopAssignment {
    /// To members, of whom each has so many.
    pub fn dealt(each: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let each: BTreeMap<u32, u32> = each.into_iter().collect();
        let mut of: BTreeMap<u32, Vec<u32>> = each.keys().map(|member| (*member, Vec::new())).collect();
        let mut all = 0;
        for round in 0..each.values().max().copied().unwrap_or(0) {
            for (member, loops) in &mut of {
                if round < each[member] {
                    loops.push(all);
                    all += 1;
                }
            }
        }
        Self { of, all }
    }

    /// A member's, in their order; none of a stranger.
    pub fn of(&self, member: u32) -> &[u32] {
        self.of.get(&member).map_or(&[], Vec::as_slice)
    }

    /// How many there are in all.
    pub fn total(&self) -> u32 {
        self.all
    }

    /// Who has some, in order.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.of.keys().copied()
    }
}

/// What one member does in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialAssignment {
    /// Which trial. It counts what was begun, and is never the same twice.
    pub trial: u64,
    /// The whole load, of all loops.
    pub offer: OfferedLoad,
    /// Which loops are this member's,
    pub loops: Vec<u32>,
    /// of so many.
    pub of: u32,
    /// The number that the first arrival of all has in the run.
    pub first_number: u64,
    /// When it begins, by this member's own clock.
    pub start: Nanos,
    /// How long what is open at the end is waited for.
    pub drain: Nanos,
}

/// What a watcher looks at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchAssignment {
    /// Who is watched, and how. It holds no secret.
    pub asked: plan::WatchPlan,
    /// The addresses at which others reach the target, as far as they are known.
    pub at: Vec<SocketAddr>,
    /// The port at which it listens; none of a socket.
    pub port: Option<u16>,
    /// Its socket.
    pub path: Option<PathBuf>,
    /// The identities of its pods, if it is in a cluster.
    pub pods: Vec<String>,
    /// The watcher was put into the target's own process namespace: whoever is there is watched.
    pub inside: bool,
}

/// What a member tries before any load, so that what is wrong is known by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetCheck {
    /// Nothing: another has done it on the same machine.
    Nothing,
    /// Whether it reaches the target.
    Connection,
    /// Also whether that answers as the plan expects.
    Request,
}

/// What a coordinator tells a member. Every moment is by the member's clock, or counted from a trial's start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Instruction {
    /// First of all: who it is, what is to be sent, and on which processors. Whenever that is something else it is told again.
    Welcome {
        /// Its number in the fleet.
        member: u32,
        /// What is told to all at once has the same number, which comes back with the answer.
        share: u64,
        /// The plan, with what belongs to it.
        parcel: Box<PortablePlan>,
        /// Its processors; of none it takes what it finds.
        cores: Vec<u32>,
        /// What it tries before it is ready.
        tries: TargetCheck,
    },
    /// Makes ready for a trial, and begins it in time by itself.
    Arm(Box<TrialAssignment>),
    /// The trial does not begin.
    Cancel {
        /// Which.
        trial: u64,
    },
    /// The load ends early.
    Stop {
        /// Of which trial.
        trial: u64,
        /// When, from its start.
        at: Nanos,
    },
    /// Waits until everything is answered.
    Settle {
        /// At most so long.
        limit: Nanos,
    },
    /// Cuts off what is open.
    Abandon,
    /// Seconds that have arrived: they need not be kept any longer.
    Heard {
        /// Of which trial.
        trial: u64,
        /// Up to and with this one.
        second: u32,
    },
    /// To a watcher, once: what it looks at.
    Watch(Box<WatchAssignment>),
    /// A trial begins: it is watched from then on.
    WatchFrom {
        /// Which.
        trial: u32,
        /// When.
        at: Nanos,
    },
    /// Its load is over.
    WatchUntil {
        /// When.
        at: Nanos,
    },
    /// Looks more closely, once.
    LookCloser,
    /// Opens connections until so many stand, or closes some, and keeps them.
    Hold {
        /// How many.
        connections: u32,
    },
    /// Those that stand are enough.
    HoldNoMore,
    /// Closes them all.
    Release,
    /// Closes its connections: nothing is to be sent any more, until it is told what.
    Rest,
    /// To an owner.
    Owner(OwnerUpdate),
    /// Goes home.
    Leave,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_s_first_loop_comes_before_any_second() {
        let loops = LoopAssignment::dealt([(7, 3), (0, 1), (4, 2)]);
        assert_eq!((loops.of(0), loops.of(4), loops.of(7)), (&[0][..], &[1, 3][..], &[2, 4, 5][..]));
        assert_eq!((loops.total(), loops.of(1)), (6, &[][..]));
        assert_eq!(LoopAssignment::dealt((0..4).map(|member| (member, 1))).of(3), [3]);
        assert_eq!(LoopAssignment::dealt([]).total(), 0);
    }
}
