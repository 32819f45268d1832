use serde::{Deserialize, Serialize};

/// So much of so much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LimitUsage {
    /// In use.
    pub used: u64,
    /// Allowed.
    pub limit: u64,
}

impl LimitUsage {
    /// In use ÷ allowed.
    pub fn share(self) -> f64 {
        if self.limit == 0 { 0.0 } else { self.used as f64 / self.limit as f64 }
    }
}

/// The control groups of a process: of each limit the one that leaves least, up to the root.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cgroup {
    /// The processor quota.
    pub cpu: Option<CpuQuota>,
    /// The memory limit.
    pub memory: Option<MemoryLimit>,
    /// The limit of threads and processes.
    pub tasks: Option<TaskLimit>,
    /// How much of the time something in the group stood still; cgroup v2 only.
    pub pressure: Option<Pressure>,
}

/// `cpu.max` or `cpu.cfs_quota_us`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuQuota {
    /// The group that sets it.
    pub group: String,
    /// Processors.
    pub cpus: f64,
    /// Periods that passed.
    pub periods: u64,
    /// Of them those in which it was used up.
    pub throttled: u64,
    /// Time stood still, summed over processors: no share of anything.
    pub throttled_ns: u64,
}

/// `memory.max` or `memory.limit_in_bytes`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryLimit {
    /// The group that sets it.
    pub group: String,
    /// In use, at the end.
    pub used_bytes: u64,
    /// Of that, what can be given back at once: the page cache.
    pub cache_bytes: u64,
    /// Allowed.
    pub limit_bytes: u64,
    /// Times that the limit was run into: `max` of `memory.events`, `failcnt`.
    pub failures: u64,
    /// Times that it was slowed down above `memory.high`.
    pub high: u64,
    /// Processes killed for it.
    pub kills: u64,
    /// Pages of files read again because they had to go.
    pub refaults: u64,
}

/// `pids.max`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskLimit {
    /// The group that sets it.
    pub group: String,
    /// In use, at the end.
    pub used: u64,
    /// Allowed.
    pub limit: u64,
    /// Threads or processes that were refused; none where the kernel does not count them.
    pub refused: Option<u64>,
}

/// Pressure stall information: time in which some, or all, waited; in microseconds, as it grew.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressure {
    /// For a processor, some.
    pub cpu_some_us: u64,
    /// For memory, some.
    pub memory_some_us: u64,
    /// For memory, all.
    pub memory_full_us: u64,
    /// For a disk, some.
    pub io_some_us: u64,
    /// For a disk, all.
    pub io_full_us: u64,
}

/// The machine within a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Processors.
    pub cpus: u32,
    /// Processor time of programs, nice ones included.
    pub user_ns: u64,
    /// Of the kernel, interrupts included.
    pub system_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// Idle while something waited for a disk.
    pub iowait_ns: u64,
    /// Taken by the hypervisor.
    pub steal_ns: u64,
    /// What a piece of arithmetic, always the same, took on the target's processors, on average; none in runs of earlier versions.
    pub pace_ns: Option<f64>,
    /// Threads ready or running, at the end.
    pub runnable: u32,
    /// Context switches of all processors (`ctxt` of /proc/stat); none in runs of earlier versions.
    pub switches: Option<u64>,
    /// Memory that could be had, at the end.
    pub memory_available_bytes: u64,
    /// Pressure stall information; none where the kernel keeps none.
    pub pressure: Option<Pressure>,
    /// Threads of the whole machine, against `threads-max` or `pid_max`.
    pub tasks: Option<LimitUsage>,
    /// Disks that did something.
    pub disks: Vec<DiskActivity>,
    /// Processes that are neither watched nor torment, those with the most processor time first.
    pub neighbours: Vec<Neighbour>,
    /// Processor time of all of them together.
    pub neighbours_cpu_ns: u64,
}

/// A disk within a window (/proc/diskstats).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskActivity {
    /// Its name: `vda`.
    pub name: String,
    /// Reads done.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time that reads took, summed.
    pub read_ms: u64,
    /// Writes done.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time that writes took, summed.
    pub write_ms: u64,
    /// Flushes done.
    pub flushes: u64,
    /// Time that flushes took, summed.
    pub flush_ms: u64,
    /// Time with something under way.
    pub busy_ms: u64,
}

/// A process of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Which.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its processor time.
    pub cpu_ns: u64,
}

/// Counters of a network namespace (/proc/net/netstat, snmp, softnet_stat), as they grew.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Network {
    /// Connections not queued because the queue of a listening socket was full.
    pub listen_overflows: u64,
    /// Connections dropped at a listening socket, for any reason.
    pub listen_drops: u64,
    /// Segments sent.
    pub segments_sent: u64,
    /// Of them sent again.
    pub segments_retransmitted: u64,
    /// Segments dropped because a socket's backlog was full.
    pub backlog_drops: u64,
    /// Packets that a processor dropped.
    pub softnet_drops: u64,
    /// Bytes received and sent, of all interfaces.
    pub received_bytes: u64,
    /// See `received_bytes`.
    pub sent_bytes: u64,
    /// Sockets in TIME_WAIT, at the end.
    pub time_wait: u64,
    /// Packets that interfaces dropped, both ways; the loopback's are none of them.
    pub interface_drops: u64,
    /// Connections tracked by the firewall, at the end; none where it tracks none, or that may not be read.
    pub tracked: Option<LimitUsage>,
    /// Packets dropped because one more could not be tracked.
    pub tracking_drops: u64,
    /// The interface that used most of its speed; none where no speed is known.
    pub link: Option<InterfaceTraffic>,
}

/// What passed through an interface whose speed is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct InterfaceTraffic {
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// What it carries each way, by its driver's account.
    pub bits_per_second: u64,
}

/// torment itself within a window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TormentUsage {
    /// Processor time of the whole process.
    pub cpu_ns: u64,
    /// Of the load's loops.
    pub loops_cpu_ns: u64,
    /// Time that those were ready and waited for a processor.
    pub loops_run_delay_ns: u64,
    /// Of the watch.
    pub watch_cpu_ns: u64,
    /// Periods of its own processor quota, if there is one.
    pub periods: u64,
    /// Of them those in which it was used up.
    pub throttled: u64,
    /// Open descriptors.
    pub descriptors: LimitUsage,
    /// Local ports of connections to the target, TIME_WAIT included, against the range for one address.
    pub ports: LimitUsage,
}
