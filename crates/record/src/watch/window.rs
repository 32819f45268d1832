use super::{
    Cgroup, CpuQuota, Host, Jvm, LimitUsage, Metrics, Network, PostgresWindow, ThreadGroup, ThreadSampling,
    TormentUsage,
};
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Observations of about one second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Since the trial began.
    pub from: Nanos,
    /// Since the trial began.
    pub to: Nanos,
    /// Each process tree, in the order of [`super::WatchCoverage::subjects`].
    pub subjects: Vec<TreeWindow>,
    /// The machine.
    pub host: Option<Host>,
    /// The network namespace of the target's processes.
    pub network: Option<Network>,
    /// The database's own statistics.
    pub postgres: Option<PostgresWindow>,
    /// The scrape of the metrics endpoint.
    pub metrics: Option<Metrics>,
    /// torment itself.
    pub own: TormentUsage,
    /// Changes: `process 4711 ended`.
    pub changes: Vec<String>,
}

impl Window {
    /// Its duration.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }

    /// The service's tree.
    pub fn service(&self) -> Option<&TreeWindow> {
        self.subjects.first()
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
    /// Processes that started.
    pub started: u32,
    /// Processes that ended.
    pub ended: u32,
    /// Processor time by the processes' own account (user and system).
    pub cpu_ns: u64,
    /// Resident memory, at its end.
    pub rss_bytes: u64,
    /// Page faults that needed a disk.
    pub major_faults: u64,
    /// Bytes read from disks; none if not readable.
    pub read_bytes: Option<u64>,
    /// Bytes written to disks, or dirtied.
    pub written_bytes: Option<u64>,
    /// Descriptors of the process nearest to its limit.
    pub descriptors: Option<LimitUsage>,
    /// Threads and processes of its user, against `RLIMIT_NPROC`.
    pub user_tasks: Option<LimitUsage>,
    /// How completely the threads were sampled; none if not at all.
    pub sweep: Option<ThreadSampling>,
    /// The threads by name, those with the most threads first.
    pub groups: Vec<ThreadGroup>,
    /// Limits of its control groups; none if it is in none, or they are unreadable.
    pub cgroup: Option<Cgroup>,
    /// Its listening sockets.
    pub listeners: Vec<ListenSocket>,
    /// Its connections to others, by remote address, the most first.
    pub peers: Vec<PeerConnections>,
    /// Connections made to it.
    pub clients: u32,
    /// Its Java virtual machine's counters.
    pub jvm: Option<Jvm>,
    /// Process titles, digits and names folded, the most first: `postgres: idle`.
    pub titles: Vec<(String, u32)>,
}

impl TreeWindow {
    /// Whether there was anything to see: a service has an entry before it exists.
    pub fn is_there(&self) -> bool {
        self.processes > 0 || self.threads > 0 || !self.groups.is_empty()
    }

    /// Its threads of this name.
    pub fn group(&self, name: &str) -> Option<&ThreadGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Its processor quota.
    pub fn cpu_quota(&self) -> Option<&CpuQuota> {
        self.cgroup.as_ref()?.cpu.as_ref()
    }
}

/// A listening socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenSocket {
    /// Its address.
    pub address: String,
    /// Connections waiting to be accepted: the most seen.
    pub queued: u32,
    /// Maximum length of the queue.
    pub backlog: u32,
}

/// Connections to one address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerConnections {
    /// The address: `127.0.0.1:5432`.
    pub address: String,
    /// Established, on average.
    pub established: f64,
    /// Fewest seen.
    pub least: u32,
    /// Most seen.
    pub most: u32,
    /// In TIME_WAIT, at the end.
    pub time_wait: u32,
}
