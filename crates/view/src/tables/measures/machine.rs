//! Of the machine, and of torment itself.

use super::{Source, bytes, count, limit, ms, ns, seconds, small, us, used, whole};
use record::watch::{Disk, Host, Neighbour, Network, Own};

pub(in crate::tables) static HOST: Source<Host> = Source {
    name: "host",
    measures: &[
        count("cpus", "processors", |h| small(h.cpus)),
        seconds("user", "processor time of programs", |h| ns(h.user_ns)),
        seconds("system", "of the kernel", |h| ns(h.system_ns)),
        seconds("idle", "idle", |h| ns(h.idle_ns)),
        seconds("iowait", "idle while something waited for a disk", |h| ns(h.iowait_ns)),
        seconds("steal", "taken by the hypervisor", |h| ns(h.steal_ns)),
        seconds("neighbours_cpu", "processor time of processes neither watched nor torment", |h| {
            ns(h.neighbours_cpu_ns)
        }),
        count("runnable", "threads ready or running", |h| small(h.runnable)),
        bytes("memory_available", "memory that could be had", |h| whole(h.memory_available_bytes)),
        count("tasks", "threads of the machine", |h| used(h.tasks)),
        count("tasks_limit", "how many there may be", |h| limit(h.tasks)),
        seconds("cpu_some", "time in which some waited for a processor", |h| {
            h.pressure.and_then(|pressure| us(pressure.cpu_some_us))
        }),
        seconds("memory_some", "some waited for memory", |h| h.pressure.and_then(|p| us(p.memory_some_us))),
        seconds("memory_full", "all waited for memory", |h| h.pressure.and_then(|p| us(p.memory_full_us))),
        seconds("io_some", "some waited for a disk", |h| h.pressure.and_then(|p| us(p.io_some_us))),
        seconds("io_full", "all waited for a disk", |h| h.pressure.and_then(|p| us(p.io_full_us))),
    ],
};

pub(in crate::tables) static DISKS: Source<Disk> = Source {
    name: "disks",
    measures: &[
        seconds("busy", "time with something under way on the disk `item`", |d| ms(d.busy_ms)),
        count("reads", "reads done", |d| whole(d.reads)),
        bytes("read", "bytes read", |d| whole(d.read_bytes)),
        seconds("read_time", "time that reads took, summed", |d| ms(d.read_ms)),
        count("writes", "writes done", |d| whole(d.writes)),
        bytes("written", "bytes written", |d| whole(d.written_bytes)),
        seconds("write_time", "time that writes took, summed", |d| ms(d.write_ms)),
        count("flushes", "flushes done", |d| whole(d.flushes)),
        seconds("flush_time", "time that flushes took, summed", |d| ms(d.flush_ms)),
    ],
};

pub(in crate::tables) static NEIGHBOURS: Source<Neighbour> = Source {
    name: "neighbours",
    measures: &[seconds("cpu", "processor time of the process `item`, of others", |n| ns(n.cpu_ns))],
};

pub(in crate::tables) static NETWORK: Source<Network> = Source {
    name: "network",
    measures: &[
        count("listen_overflows", "connections not queued: a listening socket was full", |n| {
            whole(n.listen_overflows)
        }),
        count("listen_drops", "connections dropped at a listening socket", |n| whole(n.listen_drops)),
        count("segments_sent", "segments sent", |n| whole(n.segments_sent)),
        count("segments_retransmitted", "of them sent again", |n| whole(n.segments_retransmitted)),
        count("backlog_drops", "segments dropped: a socket's backlog was full", |n| whole(n.backlog_drops)),
        count("softnet_drops", "packets that a processor dropped", |n| whole(n.softnet_drops)),
        bytes("received", "bytes received, of all interfaces", |n| whole(n.received_bytes)),
        bytes("sent", "bytes sent", |n| whole(n.sent_bytes)),
        count("time_wait", "sockets in TIME_WAIT", |n| whole(n.time_wait)),
    ],
};

pub(in crate::tables) static OWN: Source<Own> = Source {
    name: "torment",
    measures: &[
        seconds("cpu", "processor time of torment", |o| ns(o.cpu_ns)),
        seconds("loops_cpu", "of it that of the load's loops", |o| ns(o.loops_cpu_ns)),
        seconds("loops_ready", "time that those were ready and waited for a processor", |o| {
            ns(o.loops_run_delay_ns)
        }),
        seconds("watch_cpu", "processor time of the watch", |o| ns(o.watch_cpu_ns)),
        count("cpu_periods", "periods of its own processor quota", |o| whole(o.periods)),
        count("cpu_throttled", "of them those in which it was used up", |o| whole(o.throttled)),
        count("descriptors", "open descriptors", |o| whole(o.descriptors.used)),
        count("descriptors_limit", "how many it may have", |o| whole(o.descriptors.limit)),
        count("ports", "local ports of connections to the target", |o| whole(o.ports.used)),
        count("ports_limit", "how many there are for one address", |o| whole(o.ports.limit)),
    ],
};
