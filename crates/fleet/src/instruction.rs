//! Instructions from the coordinator to members.

use crate::OwnerUpdate;
use plan::PortablePlan;
use schedule::OfferedLoad;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use units::Nanos;

/// Which member has which loops. They are numbered across the fleet, every member's first, then every member's second.
/// Arrival *k* belongs to loop *k* mod total.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopAssignment {
    loops: BTreeMap<u32, Vec<u32>>,
    count: u32,
}

impl LoopAssignment {
    /// Deals loops to members, given as `(member, count)`.
    pub fn deal(each: impl IntoIterator<Item = (u32, u32)>) -> Self {
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
        Self { loops: of, count: all }
    }

    /// A member's loops in order; empty for an unknown member.
    pub fn of(&self, member: u32) -> &[u32] {
        self.loops.get(&member).map_or(&[], Vec::as_slice)
    }

    /// Loops in all.
    pub fn total(&self) -> u32 {
        self.count
    }

    /// Members with loops, in order.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.loops.keys().copied()
    }
}

/// One member's part of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialAssignment {
    /// Number of the trial. It counts starts and is never reused.
    pub trial: u64,
    /// The whole load, of all loops.
    pub offer: OfferedLoad,
    /// This member's loops.
    pub loops: Vec<u32>,
    /// Loops in all.
    pub of: u32,
    /// Number of the trial's first arrival, counted over the run.
    pub first_number: u64,
    /// When it begins, by this member's clock.
    pub start: Nanos,
    /// How long to wait for outstanding requests at the end.
    pub drain: Nanos,
}

/// What a watcher watches.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WatchAssignment {
    /// Whom to watch, and how; without secrets.
    pub asked: plan::WatchPlan,
    /// Known addresses at which others reach the target.
    pub at: Vec<SocketAddr>,
    /// Port it listens on; `None` for a Unix socket.
    pub port: Option<u16>,
    /// Its Unix socket.
    pub path: Option<PathBuf>,
    /// UIDs of its pods, if it is in a cluster.
    pub pods: Vec<String>,
    /// The watcher runs in the target's own process namespace: everything there is watched.
    pub inside: bool,
}

/// What a member checks before any load, so that errors surface early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetCheck {
    /// Nothing: another member on the same machine checks.
    Nothing,
    /// Whether it reaches the target.
    Connection,
    /// Also whether the target answers as the plan expects.
    Request,
}

/// From coordinator to member. Times are by the member's clock, or relative to the trial's start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Instruction {
    /// First of all: its number, what to send, and on which processors. Sent again whenever that changes.
    Welcome {
        /// Its number in the fleet.
        member: u32,
        /// Version of the shares, the same for all members; returned in the answer.
        share: u64,
        /// The plan, with its secrets, rows and trusted authorities.
        parcel: Box<PortablePlan>,
        /// Its processors; if empty, whatever it finds.
        cores: Vec<u32>,
        /// What to check before it is ready.
        tries: TargetCheck,
    },
    /// Prepare a trial and start it on time, unprompted.
    Arm(Box<TrialAssignment>),
    /// Do not start the trial.
    Cancel {
        /// Number of the trial.
        trial: u64,
    },
    /// End the load early.
    Stop {
        /// Number of the trial.
        trial: u64,
        /// When, from its start.
        at: Nanos,
    },
    /// Wait until everything is answered.
    Settle {
        /// For at most this long.
        limit: Nanos,
    },
    /// Abort outstanding requests.
    Abandon,
    /// Acknowledges slices, which the member may drop.
    Heard {
        /// Number of the trial.
        trial: u64,
        /// Up to and including this second.
        second: u32,
    },
    /// To a watcher, once: what to watch.
    Watch(Box<WatchAssignment>),
    /// A trial begins: watch from then on.
    WatchFrom {
        /// Number of the trial.
        trial: u32,
        /// When.
        at: Nanos,
    },
    /// The trial's load is over.
    WatchUntil {
        /// When.
        at: Nanos,
    },
    /// Take a closer look, once.
    LookCloser,
    /// Open or close connections until this many are open, and hold them.
    Hold {
        /// Connections in all.
        connections: u32,
    },
    /// Stop opening more.
    HoldNoMore,
    /// Close them all.
    Release,
    /// Close all connections and send nothing until told what.
    Rest,
    /// To an owner.
    Owner(OwnerUpdate),
    /// Exit.
    Leave,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_s_first_loop_comes_before_any_second() {
        let loops = LoopAssignment::deal([(7, 3), (0, 1), (4, 2)]);
        assert_eq!((loops.of(0), loops.of(4), loops.of(7)), (&[0][..], &[1, 3][..], &[2, 4, 5][..]));
        assert_eq!((loops.total(), loops.of(1)), (6, &[][..]));
        assert_eq!(LoopAssignment::deal((0..4).map(|member| (member, 1))).of(3), [3]);
        assert_eq!(LoopAssignment::deal([]).total(), 0);
    }
}
