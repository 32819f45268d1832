use serde::{Deserialize, Serialize};
use units::Share;

/// Usage against a limit.
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
        Share::of(self.used, self.limit).0
    }
}

/// The control groups of a process, up to the root: for each limit, the one that leaves least.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cgroup {
    /// The processor quota.
    pub cpu: Option<CpuQuota>,
    /// The memory limit.
    pub memory: Option<MemoryLimit>,
    /// The limit of threads and processes.
    pub tasks: Option<TaskLimit>,
    /// How much of the time something in the group stalled; cgroup v2 only.
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
    /// Elapsed periods.
    pub periods: u64,
    /// Of them, those in which it was throttled.
    pub throttled: u64,
    /// Throttled time, summed over processors: no share of anything.
    pub throttled_ns: u64,
}

impl CpuQuota {
    /// The share of the periods in which it was throttled.
    pub fn throttled_share(&self) -> f64 {
        self.throttled as f64 / self.periods.max(1) as f64
    }
}

/// `memory.max` or `memory.limit_in_bytes`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryLimit {
    /// The group that sets it.
    pub group: String,
    /// In use, at the end.
    pub used_bytes: u64,
    /// Of that, what can be reclaimed at once: the page cache.
    pub cache_bytes: u64,
    /// Allowed.
    pub limit_bytes: u64,
    /// Times the limit was hit: `max` of `memory.events`, `failcnt`.
    pub failures: u64,
    /// Times it was throttled above `memory.high`.
    pub high: u64,
    /// Processes killed by the OOM killer.
    pub kills: u64,
    /// Evicted file pages that were read again.
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
    /// Refused threads or processes; none if the kernel does not count them.
    pub refused: Option<u64>,
}

/// Pressure stall information: time in which some, or all, tasks stalled; in microseconds, as an increase.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressure {
    /// Some, for a processor.
    pub cpu_some_us: u64,
    /// Some, for memory.
    pub memory_some_us: u64,
    /// All, for memory.
    pub memory_full_us: u64,
    /// Some, for I/O.
    pub io_some_us: u64,
    /// All, for I/O.
    pub io_full_us: u64,
}

/// The machine within a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Processors.
    pub cpus: u32,
    /// Processor time in user mode, nice included.
    pub user_ns: u64,
    /// In the kernel, interrupts included.
    pub system_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// Idle with I/O outstanding.
    pub iowait_ns: u64,
    /// Idle, with I/O outstanding or not, of the processors that the service may run on, if those are not all.
    pub service_idle_ns: Option<u64>,
    /// Stolen by the hypervisor.
    pub steal_ns: u64,
    /// Mean time of a fixed piece of arithmetic on the target's processors; none in runs of earlier versions.
    pub pace_ns: Option<f64>,
    /// Threads ready or running, at the end.
    pub runnable: u32,
    /// Context switches of all processors (`ctxt` of /proc/stat); none in runs of earlier versions.
    pub switches: Option<u64>,
    /// Available memory, at the end.
    pub memory_available_bytes: u64,
    /// Pressure stall information; none if the kernel provides none.
    pub pressure: Option<Pressure>,
    /// Threads of the whole machine, against `threads-max` or `pid_max`.
    pub tasks: Option<LimitUsage>,
    /// Disks with activity.
    pub disks: Vec<DiskActivity>,
    /// Processes that are neither observed nor torment, those with the most processor time first.
    pub neighbours: Vec<Neighbour>,
    /// Processor time of all neighbours.
    pub neighbours_cpu_ns: u64,
}

/// A disk within a window (/proc/diskstats).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskActivity {
    /// Its name: `vda`.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Total time of reads.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Total time of writes.
    pub write_ms: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Total time of flushes.
    pub flush_ms: u64,
    /// Time with I/O in flight.
    pub busy_ms: u64,
}

/// A process that is neither target nor torment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Its pid.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its processor time.
    pub cpu_ns: u64,
}

/// Counters of a network namespace (/proc/net/netstat, snmp, softnet_stat), as increases.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Network {
    /// Connections not queued because a listening socket's queue was full.
    pub listen_overflows: u64,
    /// Connections dropped at a listening socket, for any reason.
    pub listen_drops: u64,
    /// Segments sent.
    pub segments_sent: u64,
    /// Of them, retransmissions.
    pub segments_retransmitted: u64,
    /// Segments dropped because a socket's backlog was full.
    pub backlog_drops: u64,
    /// Packets dropped by a processor.
    pub softnet_drops: u64,
    /// Bytes received, over all interfaces.
    pub received_bytes: u64,
    /// Bytes sent, over all interfaces.
    pub sent_bytes: u64,
    /// Sockets in TIME_WAIT, at the end.
    pub time_wait: u64,
    /// Packets dropped by interfaces, both ways, without the loopback.
    pub interface_drops: u64,
    /// Connections tracked by the firewall, at the end; none if it tracks none, or is unreadable.
    pub tracked: Option<LimitUsage>,
    /// Packets dropped because the table was full.
    pub tracking_drops: u64,
    /// The most utilised interface; none if no speed is known.
    pub link: Option<InterfaceTraffic>,
}

/// Traffic of an interface of known speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct InterfaceTraffic {
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Its speed each way, as reported by its driver.
    pub bits_per_second: u64,
}

/// torment itself within a window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TormentUsage {
    /// Processor time of the whole process.
    pub cpu_ns: u64,
    /// Processor time of the load's loops.
    pub loops_cpu_ns: u64,
    /// Time that the loops were ready and waited for a processor.
    pub loops_run_delay_ns: u64,
    /// Processor time of the observer.
    pub watch_cpu_ns: u64,
    /// Periods of its own processor quota, if any.
    pub periods: u64,
    /// Of them, those in which it was throttled.
    pub throttled: u64,
    /// Open descriptors.
    pub descriptors: LimitUsage,
    /// Local ports of connections to the target, TIME_WAIT included, against the range for one address.
    pub ports: LimitUsage,
}
