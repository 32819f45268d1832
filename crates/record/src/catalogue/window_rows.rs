//! The rows: every number of a window.

use super::Quantity::*;
use super::aggregation::{self, Aggregation};
use super::entity::{ValueVisitor, entity, metric, visit_value, with_labels};
use super::merge::{ListEntity, keep_latest};
use super::{CatalogueRow, Component, Entity, Measure, ValueLabels, Weights};
use crate::watch::{
    BusyThreads, Cgroup, CpuQuota, DiskActivity, Host, InterfaceTraffic, Jvm, ListenSocket, MemoryLimit,
    MetricSeries, Metrics, Neighbour, Network, PeerConnections, PostgresWindow, Pressure, SessionCount,
    TaskLimit, ThreadGroup, ThreadSampling, ThreadState, TormentUsage, TreeWindow,
};
use std::borrow::Cow;
use std::cmp::Ordering;

// ── A process tree ──────────────────────────────────────────────────────────────────────────────────

entity! { TreeWindow, of "process", by ["program", "role"] {
        cpu_ns: Sum Ns, "cpu", "processor time of its processes, children included" => "torment_target_cpu_seconds_total";
        rss_bytes: Level Bytes, "resident", "resident memory" => "torment_target_memory_bytes";
        processes: Level Count("process"), "processes", "processes there were";
        threads: Level Count("thread"), "threads", "threads there were";
        started: Sum Count("process"), "started", "processes that came";
        ended: Sum Count("process"), "ended", "processes that went";
        clients: Most Count("connection"), "clients", "connections made to it" => "torment_target_client_connections";
        major_faults: Sum Count("fault"), "major_faults", "page faults that needed a disk";
        read_bytes: Sum Bytes, "read", "bytes read from disks";
        written_bytes: Sum Bytes, "written", "bytes written to disks, or to be";
        descriptors: Share Count("descriptor"), "descriptors", "descriptors of the process nearest to its limit";
        descriptors: Limit Count("descriptor"), "descriptors_limit", "how many it may have";
        user_tasks: Share Count("task"), "user_tasks", "threads and processes of its user";
        user_tasks: Limit Count("task"), "user_tasks_limit", "how many there may be";
    }
    parts {
        sweep: Option<ThreadSampling>,
        groups: Vec<ThreadGroup>,
        cgroup: Option<Cgroup>,
        listeners: Vec<ListenSocket>,
        peers: Vec<PeerConnections>,
        jvm: Option<Jvm>,
    }
    latest { titles: Vec<(String, u32)> }
    there if Self::is_there;
}

entity! { (String, u32), of "titles", by ["title"] {
        1: Level Count("process"), "processes", "processes that call themselves `item`";
    }
    label |title, of| of.names.push(("title", Cow::Borrowed(&title.0)));
}

impl ListEntity for (String, u32) {
    fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

entity! { ThreadSampling, of "sweep" {
        due: Sum Count("look"), "due", "looks at the threads that were due";
        done: Sum Count("look"), "done", "looks that were made";
        threads: Mean Count("thread"), "threads", "threads there were, on average";
        looked_at: Mean Count("thread"), "looked_at", "threads looked at, on average";
        readable: Mean Count("thread"), "readable", "threads whose wait could be read, on average";
        took_ns: Sum Ns, "took", "time that the looks took";
        unseen_cpu_ns: Sum Ns, "unseen_cpu", "processor time of threads that came and went between looks";
    }
}

entity! { ThreadGroup, of "threads", by ["group"] {
        threads: Mean Count("thread"), "threads", "threads by group: those of one name, digits folded; on average";
        on_cpu_ns: Sum Ns, "cpu", "processor time by group of threads" => "torment_target_group_cpu_seconds_total";
        run_delay_ns: Sum Ns, "ready", "time that a group's threads were ready and waited for a processor"
            => "torment_target_group_run_delay_seconds_total";
        switches: Sum Count("switch"), "switches", "times that one of them was given a processor";
    }
    parts { full: Option<BusyThreads>, states: Vec<ThreadState> }
    label |group, of| of.names.push(("group", Cow::Borrowed(&group.name)));
}

impl ListEntity for ThreadGroup {
    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
    }

    fn order(&self, other: &Self) -> Ordering {
        other.threads.total_cmp(&self.threads)
    }
}

entity! { BusyThreads {
        threads: Mean Count("thread"), "full_threads", "of them those that had no rest, on average";
        on_cpu_ns: Sum Ns, "full_cpu", "processor time of those";
    }
}

entity! { ThreadState, of "states", by ["state"] {
        threads: Mean Count("thread"), "threads", "threads by group and by what they do or wait for, on average"
            => "torment_target_threads";
    }
    label |state, of| of.names.push(("state", Cow::Owned(state.wait.to_string())));
}

impl ListEntity for ThreadState {
    fn is_same(&self, other: &Self) -> bool {
        self.wait == other.wait
    }

    fn order(&self, other: &Self) -> Ordering {
        other.threads.total_cmp(&self.threads).then_with(|| self.wait.cmp(&other.wait))
    }
}

entity! { Cgroup, of "cgroup" {}
    parts { cpu: Option<CpuQuota>, memory: Option<MemoryLimit>, tasks: Option<TaskLimit>, pressure: Option<Pressure> }
}

entity! { CpuQuota {
        cpus: Limit Processors, "cpu_quota", "processors that the smallest quota of its control groups allows" => "torment_target_cpu_quota";
        periods: Sum Count("period"), "cpu_periods", "periods of that quota" => "torment_target_quota_periods_total";
        throttled: Sum Count("period"), "cpu_throttled", "periods in which the quota was used up"
            => "torment_target_throttled_periods_total";
        throttled_ns: Sum Ns, "cpu_stood_still", "time stood still by the quota, summed over processors"
            => "torment_target_throttled_seconds_total";
    }
    derived {
        "cpu_throttled_share" Level Share, "share of the periods in which the quota was used up",
            |quota| (quota.periods > 0).then(|| quota.throttled as f64 / quota.periods as f64);
    }
    words { group }
}

entity! { MemoryLimit {
        used_bytes: Level Bytes, "memory", "memory in use by its control group";
        cache_bytes: Level Bytes, "memory_cache", "of it the page cache";
        limit_bytes: Limit Bytes, "memory_limit", "memory that its control group may use" => "torment_target_cgroup_memory_limit_bytes";
        failures: Sum Count("time"), "memory_failures", "times that the limit was run into";
        high: Sum Count("time"), "memory_high", "times that it was slowed down above memory.high";
        kills: Sum Count("process"), "memory_kills", "processes killed for it";
        refaults: Sum Count("page"), "memory_refaults", "pages of files read again";
    }
    derived {
        "memory_without_cache" Level Bytes, "memory in use by its control group, without the page cache",
            |m| (m.limit_bytes > 0).then(|| m.used_bytes.saturating_sub(m.cache_bytes) as f64)
            => "torment_target_cgroup_memory_bytes";
    }
    words { group }
}

entity! { TaskLimit {
        used: Most Count("task"), "tasks", "threads and processes";
        limit: Limit Count("task"), "tasks_limit", "how many are allowed";
        refused: Sum Count("task"), "tasks_refused", "how many were refused";
    }
    words { group }
}

entity! { Pressure {
        cpu_some_us: Sum Us, "cpu_some", "time in which some waited for a processor";
        memory_some_us: Sum Us, "memory_some", "some waited for memory";
        memory_full_us: Sum Us, "memory_full", "all waited for memory";
        io_some_us: Sum Us, "io_some", "some waited for a disk";
        io_full_us: Sum Us, "io_full", "all waited for a disk";
    }
}

entity! { ListenSocket, of "listeners", by ["listener"] {
        queued: Most Count("connection"), "queued", "connections made and not yet accepted, by listening socket: the most seen"
            => "torment_target_accept_queue";
        backlog: Limit Count("connection"), "backlog", "how many may be";
    }
    label |listener, of| of.names.push(("listener", Cow::Borrowed(&listener.address)));
}

impl ListEntity for ListenSocket {
    fn is_same(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

entity! { PeerConnections, of "peers", by ["peer"] {
        established: Mean Count("connection"), "established", "connections that it has made, by the other end, on average"
            => "torment_target_peer_connections";
        least: Least Count("connection"), "least", "the fewest seen";
        most: Most Count("connection"), "most", "the most seen";
        time_wait: Level Count("connection"), "time_wait", "those in TIME_WAIT";
    }
    label |peer, of| of.names.push(("peer", Cow::Borrowed(&peer.address)));
}

impl ListEntity for PeerConnections {
    fn is_same(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

entity! { Jvm, of "jvm" {
        pauses: Sum Count("pause"), "pauses", "pauses for garbage collection" => "torment_target_jvm_gc_pauses_total";
        pause_ns: Sum Ns, "pause", "time stood still for garbage collection" => "torment_target_jvm_gc_pause_seconds_total";
        full_pauses: Sum Count("pause"), "full_pauses", "of them collections of the whole heap";
        full_ns: Sum Ns, "full_pause", "time in those";
        safepoints: Sum Count("safepoint"), "safepoints", "safepoints, whatever for";
        safepoint_ns: Sum Ns, "safepoint", "time stood still at safepoints, whatever for" => "torment_target_jvm_safepoint_seconds_total";
        safepoint_sync_ns: Sum Ns, "safepoint_sync", "time until all threads had stopped";
        collector_cpu_ns: Sum Ns, "collector_cpu", "processor time of the collector";
        heap_used_bytes: Level Bytes, "heap", "heap in use by its Java virtual machine" => "torment_target_jvm_heap_used_bytes";
        heap_max_bytes: Limit Bytes, "heap_max", "how large that heap may become" => "torment_target_jvm_heap_max_bytes";
        compiles: Sum Count("method"), "compiles", "methods compiled" => "torment_target_jvm_compiled_methods_total";
        classes: Sum Count("class"), "classes", "classes loaded";
        threads: Level Count("thread"), "threads", "threads, without virtual ones";
    }
    words { pid, cause }
    label |jvm, of| of.pid = Some(jvm.pid);
}

// ── The machine ─────────────────────────────────────────────────────────────────────────────────────

entity! { Host, of "host" {
        cpus: Level Count("cpu"), "cpus", "processors";
        user_ns: Sum Ns, "user", "processor time of programs" => "torment_host_cpu_seconds_total" mode "user",
            "Processor time of the machine: user, system, idle, iowait, steal.";
        system_ns: Sum Ns, "system", "of the kernel" => "torment_host_cpu_seconds_total" mode "system";
        idle_ns: Sum Ns, "idle", "idle" => "torment_host_cpu_seconds_total" mode "idle";
        iowait_ns: Sum Ns, "iowait", "idle while something waited for a disk"
            => "torment_host_cpu_seconds_total" mode "iowait";
        service_idle_ns: Sum Ns, "service_idle", "idle, of the processors the service is confined to";
        steal_ns: Sum Ns, "steal", "taken by the hypervisor" => "torment_host_cpu_seconds_total" mode "steal";
        pace_ns: Mean Ns, "pace", "processor time that a piece of arithmetic, always the same, took on the target's processors, on average";
        neighbours_cpu_ns: Sum Ns, "neighbours_cpu", "processor time of processes neither watched nor torment"
            => "torment_host_neighbours_cpu_seconds_total";
        runnable: Level Count("thread"), "runnable", "threads ready or running";
        switches: Sum Count("switch"), "switches", "context switches of all processors";
        memory_available_bytes: Level Bytes, "memory_available", "memory of the machine that could be had"
            => "torment_host_memory_available_bytes";
        tasks: Share Count("task"), "tasks", "threads of the machine";
        tasks: Limit Count("task"), "tasks_limit", "how many there may be";
    }
    parts { pressure: Option<Pressure>, disks: Vec<DiskActivity>, neighbours: Vec<Neighbour> }
}

entity! { DiskActivity, of "disks", by ["disk"] {
        busy_ms: Sum Ms, "busy", "time with something under way on the disk `item`";
        reads: Sum Count("read"), "reads", "reads done";
        read_bytes: Sum Bytes, "read", "bytes read";
        read_ms: Sum Ms, "read_time", "time that reads took, summed";
        writes: Sum Count("write"), "writes", "writes done";
        written_bytes: Sum Bytes, "written", "bytes written";
        write_ms: Sum Ms, "write_time", "time that writes took, summed";
        flushes: Sum Count("flush"), "flushes", "flushes done";
        flush_ms: Sum Ms, "flush_time", "time that flushes took, summed";
    }
    label |disk, of| of.names.push(("disk", Cow::Borrowed(&disk.name)));
}

impl ListEntity for DiskActivity {
    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

entity! { Neighbour, of "neighbours", by ["neighbour"] {
        cpu_ns: Sum Ns, "cpu", "processor time of the process `item`, of others";
    }
    label |neighbour, of| {
        of.pid = Some(neighbour.pid);
        of.names.push(("neighbour", Cow::Borrowed(&neighbour.name)));
    };
}

impl ListEntity for Neighbour {
    fn is_same(&self, other: &Self) -> bool {
        self.pid == other.pid
    }

    fn order(&self, other: &Self) -> Ordering {
        other.cpu_ns.cmp(&self.cpu_ns)
    }
}

entity! { Network, of "network" {
        listen_overflows: Sum Count("event"), "listen_overflows",
            "connections not queued: a listening socket was full"
            => "torment_network_events_total" event "listen_overflow",
            "What went wrong below the target's connections: listen_overflow, listen_drop, retransmitted.";
        listen_drops: Sum Count("event"), "listen_drops", "connections dropped at a listening socket"
            => "torment_network_events_total" event "listen_drop";
        segments_sent: Sum Count("segment"), "segments_sent", "segments sent";
        segments_retransmitted: Sum Count("event"), "segments_retransmitted", "of them sent again"
            => "torment_network_events_total" event "retransmitted";
        backlog_drops: Sum Count("segment"), "backlog_drops", "segments dropped: a socket's backlog was full";
        softnet_drops: Sum Count("packet"), "softnet_drops", "packets that a processor dropped";
        received_bytes: Sum Bytes, "received", "bytes received, of all interfaces";
        sent_bytes: Sum Bytes, "sent", "bytes sent";
        time_wait: Level Count("socket"), "time_wait", "sockets in TIME_WAIT";
        interface_drops: Sum Count("packet"), "interface_drops", "packets that interfaces dropped, but for the loopback's";
        tracked: Share Count("connection"), "tracked", "connections that the firewall tracks";
        tracked: Limit Count("connection"), "tracked_limit", "how many it can";
        tracking_drops: Sum Count("packet"), "tracking_drops", "packets dropped because one more could not be tracked";
    }
    parts { link: Option<InterfaceTraffic> }
}

entity! { InterfaceTraffic {
        received_bytes: Sum Bytes, "link_received", "bytes received by the interface that used most of its speed";
        sent_bytes: Sum Bytes, "link_sent", "bytes that it sent";
        bits_per_second: Limit BitsPerSecond, "link_speed", "what it carries each way";
    }
}

// ── What the target says of itself ──────────────────────────────────────────────────────────────────

entity! { PostgresWindow, of "postgres" {
        looks: Sum Count("look"), "looks", "looks at pg_stat_activity that succeeded";
        failed: Sum Count("look"), "failed_looks", "looks that did not";
        connections: Most Count("connection"), "connections", "sessions of all databases", if |p| p.looks > 0
            => "torment_database_connections";
        oldest_transaction_s: Most Seconds, "oldest_transaction", "age of the oldest transaction seen",
            if |p| p.looks > 0;
        commits: Sum Count("transaction"), "commits", "transactions committed"
            => "torment_database_transactions_total" end "commit",
            "Transactions by how they ended: commit, rollback.";
        rollbacks: Sum Count("transaction"), "rollbacks", "transactions rolled back"
            => "torment_database_transactions_total" end "rollback";
        blocks_read: Sum Count("block"), "blocks_read", "pages read from outside of shared buffers"
            => "torment_database_blocks_read_total";
        blocks_hit: Sum Count("block"), "blocks_hit", "pages found in them";
        temporary_bytes: Sum Bytes, "temporary", "bytes of temporary files";
        deadlocks: Sum Count("deadlock"), "deadlocks", "deadlocks";
        active_ms: Sum Ms, "active", "time that sessions were active, summed";
        idle_in_transaction_ms: Sum Ms, "idle_in_transaction", "time that they were idle in a transaction";
        wal_bytes: Sum Bytes, "wal", "bytes of write-ahead log" => "torment_database_wal_bytes_total";
        wal_syncs: Sum Count("flush"), "wal_syncs", "times that WAL was flushed";
        wal_sync_ms: Sum Ms, "wal_sync", "time of that";
        checkpoints_timed: Sum Count("checkpoint"), "checkpoints_timed", "checkpoints because of the time";
        checkpoints_requested: Sum Count("checkpoint"), "checkpoints_requested", "checkpoints because of the amount";
        checkpoint_write_ms: Sum Ms, "checkpoint_write", "time that checkpoints took to write, told when one ends";
        checkpoint_sync_ms: Sum Ms, "checkpoint_sync", "time that they took to flush, told when one ends";
        backend_syncs: Sum Count("flush"), "backend_syncs", "files that clients' sessions had to flush themselves";
    }
    parts { sessions: Vec<SessionCount> }
    words { error }
    weighed by looks
}

entity! { SessionCount, of "sessions", by ["state", "wait_type", "wait_event"] {
        count: Mean Count("session"), "sessions", "sessions of the database by state and by what they wait for, on average"
            => "torment_database_sessions";
    }
    label |sessions, of| {
        let wait = |word: &'_ Option<String>| Cow::Owned(word.clone().filter(|_| !sessions.is_idle()).unwrap_or_default());
        of.names.push(("state", Cow::Borrowed(&sessions.state)));
        of.names.push(("wait_type", wait(&sessions.wait_type)));
        of.names.push(("wait_event", wait(&sessions.wait_event)));
    };
}

impl ListEntity for SessionCount {
    fn is_same(&self, other: &Self) -> bool {
        (&self.state, &self.wait_type, &self.wait_event)
            == (&other.state, &other.wait_type, &other.wait_event)
    }

    fn order(&self, other: &Self) -> Ordering {
        other.count.total_cmp(&self.count)
    }
}

entity! { Metrics, of "metrics" {
        took_ns: Sum Ns, "took", "how long the metrics took to answer", if |m| m.error.is_none();
    }
    latest { series: Vec<MetricSeries> }
    words { error }
}

entity! { MetricSeries, of "series", by ["series"] {
        value: Level AsGiven, "value", "what the metrics said of `item`";
    }
    label |series, of| of.names.push(("series", Cow::Borrowed(&series.name)));
}

impl ListEntity for MetricSeries {
    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

// ── torment itself ──────────────────────────────────────────────────────────────────────────────────

entity! { TormentUsage, of "torment" {
        cpu_ns: Sum Ns, "cpu", "processor time of torment";
        loops_cpu_ns: Sum Ns, "loops_cpu", "of it that of the load's loops" => "torment_own_cpu_seconds_total" part "loops",
            "Processor time of torment: loops generate the load, watch looks at the target, rest is all else.";
        loops_run_delay_ns: Sum Ns, "loops_ready", "time that torment's loops were ready and waited for a processor"
            => "torment_own_run_delay_seconds_total";
        watch_cpu_ns: Sum Ns, "watch_cpu", "processor time of the watch" => "torment_own_cpu_seconds_total" part "watch";
        periods: Sum Count("period"), "cpu_periods", "periods of its own processor quota";
        throttled: Sum Count("period"), "cpu_throttled", "of them those in which it was used up";
        descriptors: Share Count("descriptor"), "descriptors", "open descriptors";
        descriptors: Limit Count("descriptor"), "descriptors_limit", "how many it may have";
        ports: Share Count("port"), "ports", "local ports of connections to the target";
        ports: Limit Count("port"), "ports_limit", "how many there are for one address";
    }
    derived {
        "rest_cpu" Sum Ns, "processor time of torment's other threads",
            |own| Some(own.cpu_ns.saturating_sub(own.loops_cpu_ns + own.watch_cpu_ns) as f64)
            => "torment_own_cpu_seconds_total" part "rest";
    }
    // Otherwise nothing at all was read.
    there if |own| own.cpu_ns > 0;
}
