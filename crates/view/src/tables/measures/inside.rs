//! Of the target's inside: what its machine, its database and its metrics say.

use super::{Measure, Source, bytes, count, ns, seconds, small, whole};
use record::watch::{Jvm, Metrics, Postgres, Series, Sessions};

pub(in crate::tables) static JVM: Source<Jvm> = Source {
    name: "jvm",
    measures: &[
        count("pauses", "pauses for garbage collection", |j| whole(j.pauses)),
        seconds("pause", "time in them", |j| ns(j.pause_ns)),
        count("full_pauses", "of them collections of the whole heap", |j| whole(j.full_pauses)),
        seconds("full_pause", "time in those", |j| ns(j.full_ns)),
        count("safepoints", "safepoints, whatever for", |j| whole(j.safepoints)),
        seconds("safepoint", "time in them", |j| ns(j.safepoint_ns)),
        seconds("safepoint_sync", "time until all threads had stopped", |j| ns(j.safepoint_sync_ns)),
        seconds("collector_cpu", "processor time of the collector", |j| j.collector_cpu_ns.and_then(ns)),
        bytes("heap", "heap in use", |j| whole(j.heap_used_bytes)),
        bytes("heap_max", "how large it may become", |j| whole(j.heap_max_bytes).filter(|max| *max > 0.0)),
        count("compiles", "methods compiled", |j| whole(j.compiles)),
        count("classes", "classes loaded", |j| whole(j.classes)),
        count("threads", "threads, without virtual ones", |j| whole(j.threads)),
    ],
};

/// What is known only if somebody looked at the sessions.
fn looked(postgres: &Postgres, value: f64) -> Option<f64> {
    (postgres.looks > 0).then_some(value)
}

pub(in crate::tables) static POSTGRES: Source<Postgres> = Source {
    name: "postgres",
    measures: &[
        count("looks", "looks at pg_stat_activity that succeeded", |p| small(p.looks)),
        count("failed_looks", "looks that did not", |p| small(p.failed)),
        count("connections", "sessions of all databases", |p| looked(p, f64::from(p.connections))),
        seconds("oldest_transaction", "age of the oldest transaction seen", |p| {
            looked(p, p.oldest_transaction_s)
        }),
        count("commits", "transactions committed", |p| whole(p.commits)),
        count("rollbacks", "transactions rolled back", |p| whole(p.rollbacks)),
        count("blocks_read", "pages read from outside of shared buffers", |p| whole(p.blocks_read)),
        count("blocks_hit", "pages found in them", |p| whole(p.blocks_hit)),
        bytes("temporary", "bytes of temporary files", |p| whole(p.temporary_bytes)),
        count("deadlocks", "deadlocks", |p| whole(p.deadlocks)),
        seconds("active", "time that sessions were active, summed", |p| p.active_ms.map(|ms| ms / 1e3)),
        seconds("idle_in_transaction", "time that they were idle in a transaction", |p| {
            p.idle_in_transaction_ms.map(|ms| ms / 1e3)
        }),
        bytes("wal", "bytes of WAL", |p| p.wal_bytes.and_then(whole)),
        count("wal_syncs", "times that WAL was flushed", |p| p.wal_syncs.and_then(whole)),
        seconds("wal_sync", "time of that", |p| p.wal_sync_ms.map(|ms| ms / 1e3)),
        count("checkpoints_timed", "checkpoints because of the time", |p| whole(p.checkpoints_timed)),
        count("checkpoints_requested", "checkpoints because of the amount", |p| {
            whole(p.checkpoints_requested)
        }),
    ],
};

pub(in crate::tables) static SESSIONS: Source<Sessions> = Source {
    name: "sessions",
    measures: &[count("sessions", "sessions of the database that do `state`, on average", |s| Some(s.count))],
};

pub(in crate::tables) static METRICS: Source<Metrics> = Source {
    name: "metrics",
    measures: &[seconds("took", "how long the metrics took to answer", |m| {
        ns(m.took_ns).filter(|_| m.error.is_none())
    })],
};

pub(in crate::tables) static SERIES: Source<Series> = Source {
    name: "series",
    measures: &[Measure {
        name: "value",
        unit: "as given",
        about: "what the metrics said of `item`",
        value: |series| Some(series.value).filter(|value| value.is_finite()),
    }],
};
