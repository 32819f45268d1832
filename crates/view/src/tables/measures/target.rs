//! Of the target's processes: what the kernel says.

use super::{Measure, Source, bytes, count, limit, ns, seconds, small, us, used, whole};
use record::watch::{Cgroup, Group, Listener, Peer, State, SubjectWindow, Sweep};

pub(in crate::tables) static PROCESS: Source<SubjectWindow> = Source {
    name: "process",
    measures: &[
        seconds("cpu", "processor time of its processes", |s| ns(s.cpu_ns)),
        bytes("resident", "resident memory", |s| whole(s.rss_bytes)),
        count("processes", "processes there were", |s| small(s.processes)),
        count("threads", "threads there were", |s| small(s.threads)),
        count("started", "processes that came", |s| small(s.started)),
        count("ended", "processes that went", |s| small(s.ended)),
        count("clients", "connections made to it", |s| small(s.clients)),
        count("major_faults", "page faults that needed a disk", |s| whole(s.major_faults)),
        bytes("read", "bytes read from disks", |s| s.read_bytes.and_then(whole)),
        bytes("written", "bytes written to disks, or to be", |s| s.written_bytes.and_then(whole)),
        count("descriptors", "descriptors of the process nearest to its limit", |s| used(s.descriptors)),
        count("descriptors_limit", "how many it may have", |s| limit(s.descriptors)),
        count("user_tasks", "threads and processes of its user", |s| used(s.user_tasks)),
        count("user_tasks_limit", "how many there may be", |s| limit(s.user_tasks)),
    ],
};

pub(in crate::tables) static TITLES: Source<(String, u32)> = Source {
    name: "titles",
    measures: &[count("processes", "processes that call themselves `item`", |(_, n)| small(*n))],
};

pub(in crate::tables) static SWEEP: Source<Sweep> = Source {
    name: "sweep",
    measures: &[
        count("due", "looks at the threads that were due", |s| small(s.due)),
        count("done", "looks that were made", |s| small(s.done)),
        count("threads", "threads there were, on average", |s| Some(s.threads)),
        count("looked_at", "threads looked at, on average", |s| Some(s.looked_at)),
        count("readable", "threads whose wait could be read, on average", |s| Some(s.readable)),
        seconds("took", "time that the looks took", |s| ns(s.took_ns)),
        seconds("unseen_cpu", "processor time of threads that came and went between looks", |s| {
            ns(s.unseen_cpu_ns)
        }),
    ],
};

pub(in crate::tables) static THREADS: Source<Group> = Source {
    name: "threads",
    measures: &[
        count("threads", "threads of the name `item`, on average", |g| Some(g.threads)),
        seconds("cpu", "their processor time", |g| ns(g.on_cpu_ns)),
        seconds("ready", "time that they were ready and waited for a processor", |g| ns(g.run_delay_ns)),
        count("switches", "times that one of them was given a processor", |g| whole(g.switches)),
    ],
};

pub(in crate::tables) static STATES: Source<State> = Source {
    name: "states",
    measures: &[count("threads", "threads of the name `item` that did `state`, on average", |s| {
        Some(s.threads)
    })],
};

pub(in crate::tables) static CGROUP: Source<Cgroup> = Source {
    name: "cgroup",
    measures: &[
        Measure {
            name: "cpu_quota",
            unit: "processors",
            about: "processors that the smallest quota allows",
            value: |c| c.cpu.as_ref().map(|quota| quota.cpus).filter(|cpus| *cpus > 0.0),
        },
        count("cpu_periods", "periods of the quota", |c| c.cpu.as_ref().and_then(|q| whole(q.periods))),
        count("cpu_throttled", "periods in which it was used up", |c| {
            c.cpu.as_ref().and_then(|quota| whole(quota.throttled))
        }),
        seconds("cpu_stood_still", "time stood still for it, summed over processors", |c| {
            c.cpu.as_ref().and_then(|quota| ns(quota.throttled_ns))
        }),
        bytes("memory", "memory in use", |c| c.memory.as_ref().and_then(|m| whole(m.used_bytes))),
        bytes("memory_cache", "of it the page cache", |c| {
            c.memory.as_ref().and_then(|m| whole(m.cache_bytes))
        }),
        bytes("memory_limit", "memory allowed", |c| {
            c.memory.as_ref().filter(|m| m.limit_bytes > 0).and_then(|m| whole(m.limit_bytes))
        }),
        count("memory_failures", "times that the limit was run into", |c| {
            c.memory.as_ref().and_then(|m| whole(m.failures))
        }),
        count("memory_high", "times that it was slowed down above memory.high", |c| {
            c.memory.as_ref().and_then(|m| whole(m.high))
        }),
        count("memory_kills", "processes killed for it", |c| c.memory.as_ref().and_then(|m| whole(m.kills))),
        count("memory_refaults", "pages of files read again", |c| {
            c.memory.as_ref().and_then(|m| whole(m.refaults))
        }),
        count("tasks", "threads and processes", |c| c.tasks.as_ref().and_then(|t| whole(t.used))),
        count("tasks_limit", "how many are allowed", |c| c.tasks.as_ref().and_then(|t| whole(t.limit))),
        count("tasks_refused", "how many were refused", |c| {
            c.tasks.as_ref().and_then(|tasks| tasks.refused).and_then(whole)
        }),
        seconds("cpu_some", "time in which some waited for a processor", |c| {
            c.pressure.and_then(|pressure| us(pressure.cpu_some_us))
        }),
        seconds("memory_some", "some waited for memory", |c| c.pressure.and_then(|p| us(p.memory_some_us))),
        seconds("memory_full", "all waited for memory", |c| c.pressure.and_then(|p| us(p.memory_full_us))),
        seconds("io_some", "some waited for a disk", |c| c.pressure.and_then(|p| us(p.io_some_us))),
        seconds("io_full", "all waited for a disk", |c| c.pressure.and_then(|p| us(p.io_full_us))),
    ],
};

pub(in crate::tables) static LISTENERS: Source<Listener> = Source {
    name: "listeners",
    measures: &[
        count("queued", "connections to `item` not yet accepted: the most seen", |l| small(l.queued)),
        count("backlog", "how many may be", |l| small(l.backlog)),
    ],
};

pub(in crate::tables) static PEERS: Source<Peer> = Source {
    name: "peers",
    measures: &[
        count("established", "connections to `item`, on average", |p| Some(p.established)),
        count("least", "the fewest seen", |p| small(p.least)),
        count("most", "the most seen", |p| small(p.most)),
        count("time_wait", "those in TIME_WAIT", |p| small(p.time_wait)),
    ],
};
