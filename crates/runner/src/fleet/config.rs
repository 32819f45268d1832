//! Which processes make a load, and each one's share of a machine.

use super::join_listener::JoinListener;
use cluster::{PodSite, TargetPod};
use plan::FleetPlan;
use record::watch::MissingMeasure;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use units::Nanos;

/// Which processes make a run's load, if not this one alone.
#[derive(Debug, Clone)]
pub enum FleetConfig {
    /// Workers on this machine.
    Local {
        /// Initial number, at least 1.
        workers: u32,
        /// Upper limit, when fewer would be the limit.
        most: u32,
    },
    /// One on each of these hosts, by ssh.
    Ssh {
        /// As ssh takes them; one that is named twice has two.
        hosts: Vec<String>,
        /// Path of torment there, if given.
        binary: Option<String>,
    },
    /// Workers started by others.
    Join {
        /// Number needed to begin, at least 1.
        workers: u32,
        /// Most that may take part, whenever they join.
        most: u32,
        /// Where they join.
        listener: Arc<JoinListener>,
    },
    /// Pods of a cluster.
    Pods {
        /// Initial number, at least 1.
        workers: u32,
        /// Upper limit, when fewer would be the limit.
        most: u32,
        /// Where they join.
        listener: Arc<JoinListener>,
        /// Where they run.
        site: Arc<PodSite>,
        /// Time limit of the pods, whatever happens.
        deadline: Nanos,
    },
}

/// Who watches the target, if not this process.
#[derive(Debug, Clone)]
pub enum WatchersConfig {
    /// One on each of these machines, by ssh.
    Ssh {
        /// As ssh takes them, each once.
        hosts: Vec<String>,
        /// Path of torment there, if given.
        binary: Option<String>,
    },
    /// Watchers started by others.
    Join {
        /// At least 1.
        watchers: u32,
        /// Where they join.
        listener: Arc<JoinListener>,
    },
    /// A pod on each node of the target's pods, or a watcher in each pod, up to [`FleetPlan::MAX_WATCHERS`].
    Pods {
        /// The target's pods.
        pods: Vec<TargetPod>,
        /// Watched from inside.
        inside: bool,
        /// Where they join.
        listener: Arc<JoinListener>,
        /// Where they run.
        site: Arc<PodSite>,
        /// Time limit of the pods, whatever happens.
        deadline: Nanos,
    },
}

impl WatchersConfig {
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Ssh { hosts, .. } => hosts.len() as u32,
            Self::Join { watchers, .. } => *watchers,
            Self::Pods { pods, inside: true, .. } => watched_pods(pods).len() as u32,
            Self::Pods { pods, .. } => watched_nodes(pods).len() as u32,
        }
    }

    /// How this watcher was asked for, as `--watch-on` takes it.
    pub(super) fn on_option(&self, number: u32) -> String {
        match self {
            Self::Ssh { hosts, .. } => format!("ssh:{}", hosts[number as usize]),
            Self::Join { .. } => "join".to_owned(),
            Self::Pods { site, inside: true, .. } => site.watch_on_option(),
            Self::Pods { site, .. } => site.on_option(),
        }
    }

    /// Where they join, if they start by themselves: those of others, and pods.
    pub(super) fn entrance(&self) -> Option<&JoinListener> {
        match self {
            Self::Join { listener, .. } | Self::Pods { listener, .. } => Some(listener),
            Self::Ssh { .. } => None,
        }
    }

    /// What no watcher sees, if the target is on more nodes or pods than are watched.
    pub(super) fn unwatched(&self) -> Option<MissingMeasure> {
        let Self::Pods { pods, inside, .. } = self else { return None };
        if *inside {
            let (all, watched) = (pods.len(), watched_pods(pods).len());
            let why = || format!("the target has {all} pods, of which {watched} are watched");
            return (watched < all).then(|| MissingMeasure::new("the other pods", why()));
        }
        let nodes: BTreeSet<&str> = pods.iter().map(|pod| pod.node.as_str()).collect();
        let (all, watched) = (nodes.len(), watched_nodes(pods).len());
        let why =
            || format!("the target's pods are on {all} nodes, of which the {watched} with most are watched");
        (watched < all).then(|| MissingMeasure::new("the other nodes", why()))
    }
}

/// The target's pods, up to the limit on watchers.
pub(super) fn watched_pods(pods: &[TargetPod]) -> &[TargetPod] {
    &pods[..pods.len().min(FleetPlan::MAX_WATCHERS as usize)]
}

/// The nodes of the target's pods, those with most pods first, up to the limit on watchers.
pub(super) fn watched_nodes(pods: &[TargetPod]) -> Vec<String> {
    let mut nodes: BTreeMap<&str, usize> = BTreeMap::new();
    pods.iter().for_each(|pod| *nodes.entry(&pod.node).or_default() += 1);
    let mut nodes: Vec<(&str, usize)> = nodes.into_iter().collect();
    nodes.sort_by_key(|(_, count)| Reverse(*count));
    nodes.into_iter().take(FleetPlan::MAX_WATCHERS as usize).map(|(node, _)| node.to_owned()).collect()
}

impl FleetConfig {
    pub(super) fn workers(&self) -> u32 {
        match self {
            Self::Local { workers, .. } | Self::Join { workers, .. } | Self::Pods { workers, .. } => *workers,
            Self::Ssh { hosts, .. } => hosts.len() as u32,
        }
    }

    /// The most workers there may be.
    pub(super) fn most(&self) -> u32 {
        match self {
            Self::Local { most, .. } | Self::Join { most, .. } | Self::Pods { most, .. } => *most,
            Self::Ssh { hosts, .. } => hosts.len() as u32,
        }
    }

    pub(super) fn is_here(&self) -> bool {
        matches!(self, Self::Local { .. })
    }

    pub(super) fn is_joined(&self) -> bool {
        self.entrance().is_some()
    }

    pub(super) fn entrance(&self) -> Option<&JoinListener> {
        match self {
            Self::Join { listener, .. } | Self::Pods { listener, .. } => Some(listener),
            Self::Local { .. } | Self::Ssh { .. } => None,
        }
    }

    /// Index of this worker among those on the same machine, and their number, of `all` workers.
    pub(super) fn among(&self, number: u32, all: u32) -> (u32, u32) {
        match self {
            Self::Local { .. } => (number, all),
            Self::Ssh { hosts, .. } => {
                let same =
                    |hosts: &[String], host| hosts.iter().filter(|other| *other == host).count() as u32;
                let host = &hosts[number as usize];
                (same(&hosts[..number as usize], host), same(hosts, host))
            }
            // Whoever starts two on one machine divides it.
            Self::Join { .. } | Self::Pods { .. } => (0, 1),
        }
    }

    /// How this worker was asked for, as `--on` takes it; empty for one on this machine.
    pub(super) fn on_option(&self, number: u32) -> String {
        match self {
            Self::Local { .. } => String::new(),
            Self::Ssh { hosts, .. } => format!("ssh:{}", hosts[number as usize]),
            Self::Join { .. } => "join".to_owned(),
            Self::Pods { site, .. } => site.on_option(),
        }
    }
}

/// The processors of one of `count` workers: the named ones are dealt out; if they are fewer than workers, some share
/// one.
pub(super) fn assign_cores(cores: &[u32], number: u32, count: u32) -> Vec<u32> {
    let own: Vec<u32> = cores.iter().copied().skip(number as usize).step_by(count as usize).collect();
    if own.is_empty() {
        cores.get(number as usize % cores.len().max(1)).copied().into_iter().collect()
    } else {
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_dealt_out() {
        let all =
            |cores: &[u32], count| (0..count).map(|n| assign_cores(cores, n, count)).collect::<Vec<_>>();
        assert_eq!(all(&[], 2), vec![Vec::<u32>::new(); 2]);
        assert_eq!(all(&[0, 1, 4, 5, 7], 2), [vec![0, 4, 7], vec![1, 5]]);
        assert_eq!(all(&[2, 3], 3), [vec![2], vec![3], vec![2]]);
    }

    #[test]
    fn the_nodes_with_most_of_the_target_are_watched() {
        let pod = |node: u32, uid: u32| TargetPod {
            node: format!("n{node}"),
            uid: uid.to_string(),
            namespace: "shop".to_owned(),
            name: format!("clinic-{uid}"),
        };
        let pods: Vec<TargetPod> =
            (0..10).map(|n| pod(n, n)).chain([pod(9, 10), pod(8, 11), pod(9, 12)]).collect();
        let nodes = watched_nodes(&pods);
        assert_eq!(nodes, ["n9", "n8", "n0", "n1", "n2", "n3", "n4", "n5"]);
        assert_eq!(watched_nodes(&pods[..1]), ["n0"]);
    }

    #[test]
    fn those_on_one_machine_are_told_apart() {
        let ssh = FleetConfig::Ssh { hosts: ["b", "c", "b", "b"].map(str::to_owned).to_vec(), binary: None };
        assert_eq!((0..4).map(|n| ssh.among(n, 4)).collect::<Vec<_>>(), [(0, 3), (0, 1), (1, 3), (2, 3)]);
        assert_eq!((FleetConfig::Local { workers: 1, most: 8 }.among(3, 4), ssh.workers()), ((3, 4), 4));
    }
}
