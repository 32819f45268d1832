use serde::{Deserialize, Serialize};

/// The counters of a Java virtual machine (hsperfdata), as they grew.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Jvm {
    /// Its process.
    pub pid: u32,
    /// Pauses for garbage collection.
    pub pauses: u64,
    /// Time in them.
    pub pause_ns: u64,
    /// Of them collections of the whole heap.
    pub full_pauses: u64,
    /// Time in those.
    pub full_ns: u64,
    /// Safepoints, whatever for.
    pub safepoints: u64,
    /// Time in them.
    pub safepoint_ns: u64,
    /// Time until all threads had stopped for them.
    pub safepoint_sync_ns: u64,
    /// Processor time of the collector's threads; none in older machines.
    pub collector_cpu_ns: Option<u64>,
    /// Heap in use, at the end.
    pub heap_used_bytes: u64,
    /// How large it may become.
    pub heap_max_bytes: u64,
    /// Methods compiled.
    pub compiles: u64,
    /// Classes loaded.
    pub classes: u64,
    /// Threads, virtual ones excluded, at the end.
    pub threads: u64,
    /// What the last collection was for.
    pub cause: String,
}

/// What PostgreSQL is, and its settings that matter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PostgresServer {
    /// `server_version_num`: 150018.
    pub version: u32,
    /// Where, without user and password.
    pub address: String,
    /// Settings by name: `max_connections`, `shared_buffers`, …
    pub settings: Vec<(String, String)>,
}

impl PostgresServer {
    /// A setting's value.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// PostgreSQL's own account within a window. Counters as they grew, over the database asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PostgresWindow {
    /// Looks at `pg_stat_activity` that succeeded.
    pub looks: u32,
    /// Looks that did not, and why the last did not.
    pub failed: u32,
    /// See `failed`.
    pub error: Option<String>,
    /// Sessions of clients by what they do, averages over the looks, the most first.
    pub sessions: Vec<SessionCount>,
    /// Age of the oldest transaction seen, in seconds.
    pub oldest_transaction_s: f64,
    /// Sessions of all databases, at the end.
    pub connections: u32,
    /// Transactions committed.
    pub commits: u64,
    /// Transactions rolled back.
    pub rollbacks: u64,
    /// Pages read from outside of shared buffers.
    pub blocks_read: u64,
    /// Pages found in them.
    pub blocks_hit: u64,
    /// Bytes of temporary files.
    pub temporary_bytes: u64,
    /// Deadlocks.
    pub deadlocks: u64,
    /// Time that sessions were active, summed; 14 and later.
    pub active_ms: Option<f64>,
    /// Time that they were idle in a transaction, summed; 14 and later.
    pub idle_in_transaction_ms: Option<f64>,
    /// Bytes of WAL.
    pub wal_bytes: Option<u64>,
    /// Times that WAL was flushed.
    pub wal_syncs: Option<u64>,
    /// Time of that; only with `track_wal_io_timing`.
    pub wal_sync_ms: Option<f64>,
    /// Checkpoints because of the time, and because of the amount.
    pub checkpoints_timed: u64,
    /// See `checkpoints_timed`.
    pub checkpoints_requested: u64,
    /// Time that checkpoints took to write, told when one ends.
    pub checkpoint_write_ms: f64,
    /// Time that they took to flush, told when one ends.
    pub checkpoint_sync_ms: f64,
    /// Files that clients' sessions had to flush themselves, for the checkpointer did not come to it.
    pub backend_syncs: u64,
}

/// Sessions of a database that do the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionCount {
    /// `active`, `idle`, `idle in transaction`, …; `not permitted`: another role's, whose state may not be read.
    pub state: String,
    /// `Lock`, `LWLock`, `IO`, `Client`, …; none: on a processor, or waiting for one.
    pub wait_type: Option<String>,
    /// `transactionid`, `WALSync`, …
    pub wait_event: Option<String>,
    /// Average number.
    pub count: f64,
}

impl SessionCount {
    /// Whether they do nothing: what one waits for then, its client, says nothing.
    pub fn is_idle(&self) -> bool {
        self.state.starts_with("idle")
    }
}

/// What a metrics endpoint said, once in a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// How long it took to answer.
    pub took_ns: u64,
    /// Why there is no answer; a time-out is evidence too.
    pub error: Option<String>,
    /// The series that a rule may use.
    pub series: Vec<MetricSeries>,
}

/// One series of a metrics endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricSeries {
    /// Name with labels: `hikaricp_connections_active{pool="main"}`.
    pub name: String,
    /// Its value, as given.
    pub value: f64,
}

/// Something looked at once, because a verdict asked for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum CloserLook {
    /// A JVM's own account of its threads: how many stand where.
    Threads {
        /// Its process.
        pid: u32,
        /// How long the JVM took.
        took_ns: u64,
        /// The places, the most first.
        at: Vec<StackGroup>,
    },
    /// Where the threads of a service wait, or of one that it talks to, by their stacks, read from outside: how many stand where.
    Stacks {
        /// Its first process; 0 in runs of earlier versions, which looked at the service alone.
        #[serde(default)]
        pid: u32,
        /// How long it took to look.
        took_ns: u64,
        /// The places, the most first; the state is the kernel's call that they are in.
        at: Vec<StackGroup>,
    },
    /// A JVM's account of its virtual threads.
    VirtualThreads(VirtualThreads),
    /// Which session of the database blocks which.
    Blockers {
        /// The blocked ones, and who blocks each.
        blocked: Vec<BlockedSession>,
    },
    /// The statements that took most of the database's time during the load.
    Statements {
        /// The most first.
        statements: Vec<StatementCost>,
    },
    /// It was asked for, and could not be had.
    Refused {
        /// Of whom: `JVM 4711`.
        of: String,
        /// Why.
        why: String,
    },
}

/// Threads with the same top of the stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackGroup {
    /// Name of the threads, digits folded.
    pub group: String,
    /// `RUNNABLE`, `BLOCKED`, `WAITING`, `TIMED_WAITING`; seen from outside `futex`, `read` and other calls of the kernel.
    pub state: String,
    /// The first frame that does not wait as such: `com.zaxxer.hikari.pool.HikariPool.getConnection`.
    pub frame: String,
    /// The first frame of the application, if the stack reaches it.
    pub asked_by: Option<ApplicationFrame>,
    /// How many.
    pub threads: u32,
}

/// A frame of the application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationFrame {
    /// Class and method.
    pub method: String,
    /// File and line, if known: `Faults.java:71`.
    pub place: Option<String>,
}

/// Virtual threads of a JVM.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct VirtualThreads {
    /// Its process.
    pub pid: u32,
    /// Carriers there may be.
    pub parallelism: u32,
    /// Carriers with a virtual thread on them.
    pub mounted: u32,
    /// Virtual threads ready for a carrier.
    pub queued: u64,
    /// Virtual threads that wait with a deadline.
    pub delayed: u64,
    /// Sockets that virtual threads wait to read from.
    pub reading: u64,
}

/// A session that waits for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedSession {
    /// The session's process.
    pub pid: u32,
    /// Those it waits for.
    pub by: Vec<u32>,
    /// What it waits for: `transactionid`.
    pub event: String,
    /// Its statement, shortened.
    pub statement: String,
}

/// A statement and what it cost within the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatementCost {
    /// Its text, shortened; values are placeholders.
    pub text: String,
    /// How often it ran.
    pub calls: u64,
    /// How long that took, in milliseconds, summed.
    pub total_ms: f64,
}
