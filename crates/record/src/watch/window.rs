use super::{
    Cgroup, Host, Jvm, LimitUsage, Metrics, Network, PostgresWindow, ThreadGroup, ThreadSampling,
    TormentUsage,
};
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What was seen within about a second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Since the trial began.
    pub from: Nanos,
    /// Since the trial began.
    pub to: Nanos,
    /// Each process tree, in the order of [`super::Watched::subjects`].
    pub subjects: Vec<TreeWindow>,
    /// The machine.
    pub host: Option<Host>,
    /// The network as the target's processes have it.
    pub network: Option<Network>,
    /// The database's own account.
    pub postgres: Option<PostgresWindow>,
    /// What a metrics endpoint said.
    pub metrics: Option<Metrics>,
    /// torment itself.
    pub own: TormentUsage,
    /// What changed: `process 4711 ended`.
    pub changes: Vec<String>,
}

impl Window {
    /// How long.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }
}

/// One process tree within a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeWindow {
    /// Processes, at its end.
    pub processes: u32,
    /// Threads, at its end.
    pub threads: u32,
    /// Processes that came, and that went.
    pub started: u32,
    /// See `started`.
    pub ended: u32,
    /// Processor time by the processes' own account (user and system).
    pub cpu_ns: u64,
    /// Resident memory, at its end.
    pub rss_bytes: u64,
    /// Page faults that needed a disk.
    pub major_faults: u64,
    /// Bytes read from disks; none if not readable.
    pub read_bytes: Option<u64>,
    /// Bytes written to disks, or to be.
    pub written_bytes: Option<u64>,
    /// Descriptors of the process that is nearest to its limit.
    pub descriptors: Option<LimitUsage>,
    /// Threads and processes of its user, against `RLIMIT_NPROC`.
    pub user_tasks: Option<LimitUsage>,
    /// How well the threads were seen; none if not at all.
    pub sweep: Option<ThreadSampling>,
    /// The threads by name, those with the most threads first.
    pub groups: Vec<ThreadGroup>,
    /// The limits of its control groups; none if it is in none, or they cannot be read.
    pub cgroup: Option<Cgroup>,
    /// Its listening sockets.
    pub listeners: Vec<ListenSocket>,
    /// Its connections to others, by the other end, the most first.
    pub peers: Vec<PeerConnections>,
    /// Connections made to it.
    pub clients: u32,
    /// Its Java virtual machine's counters.
    pub jvm: Option<Jvm>,
    /// What its processes call themselves, digits and names folded, the most first: `postgres: idle`.
    pub titles: Vec<(String, u32)>,
}

impl TreeWindow {
    /// Whether there was anything to see: a place is kept for a service that is not there yet.
    pub fn is_there(&self) -> bool {
        self.processes > 0 || self.threads > 0 || !self.groups.is_empty()
    }
}

/// A listening socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenSocket {
    /// Where.
    pub address: String,
    /// Connections made and not yet accepted: the most seen.
    pub queued: u32,
    /// How many may be.
    pub backlog: u32,
}

/// Connections to one address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerConnections {
    /// Which: `127.0.0.1:5432`.
    pub address: String,
    /// Established: average.
    pub established: f64,
    /// The fewest seen.
    pub least: u32,
    /// The most seen.
    pub most: u32,
    /// In TIME_WAIT, at the end.
    pub time_wait: u32,
}
