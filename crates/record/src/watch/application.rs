use serde::{Deserialize, Serialize};

/// The increase of a Java virtual machine's counters (hsperfdata).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Jvm {
    /// Its process.
    pub pid: u32,
    /// Pauses for garbage collection.
    pub pauses: u64,
    /// Time in them.
    pub pause_ns: u64,
    /// Of them, collections of the whole heap.
    pub full_pauses: u64,
    /// Time in those.
    pub full_ns: u64,
    /// Safepoints, for any reason.
    pub safepoints: u64,
    /// Time in them.
    pub safepoint_ns: u64,
    /// Time until all threads had stopped for them.
    pub safepoint_sync_ns: u64,
    /// Processor time of the collector's threads; none in older JVMs.
    pub collector_cpu_ns: Option<u64>,
    /// Heap in use, at the end.
    pub heap_used_bytes: u64,
    /// Maximum heap size.
    pub heap_max_bytes: u64,
    /// Methods compiled.
    pub compiles: u64,
    /// Classes loaded.
    pub classes: u64,
    /// Threads, virtual ones excluded, at the end.
    pub threads: u64,
    /// Cause of the last collection.
    pub cause: String,
}

/// A PostgreSQL server, and its relevant settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PostgresServer {
    /// `server_version_num`: 150018.
    pub version: u32,
    /// Its address, without user and password.
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

/// PostgreSQL's own statistics within a window. Counters are increases, over the database queried.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PostgresWindow {
    /// Looks at `pg_stat_activity` that succeeded.
    pub looks: u32,
    /// Looks that failed.
    pub failed: u32,
    /// Why the last of them failed.
    pub error: Option<String>,
    /// Client sessions by state, averages over the looks, largest first.
    pub sessions: Vec<SessionCount>,
    /// Age of the oldest transaction seen, in seconds.
    pub oldest_transaction_s: f64,
    /// Sessions of all databases, at the end.
    pub connections: u32,
    /// Transactions committed.
    pub commits: u64,
    /// Transactions rolled back.
    pub rollbacks: u64,
    /// Pages read from outside shared buffers.
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
    /// WAL generated, in bytes.
    pub wal_bytes: Option<u64>,
    /// WAL flushes.
    pub wal_syncs: Option<u64>,
    /// Time of WAL flushes; only with `track_wal_io_timing`.
    pub wal_sync_ms: Option<f64>,
    /// Checkpoints triggered by time.
    pub checkpoints_timed: u64,
    /// Checkpoints requested, mostly for the amount of WAL.
    pub checkpoints_requested: u64,
    /// Time checkpoints spent writing, reported when one ends.
    pub checkpoint_write_ms: f64,
    /// Time they spent flushing, reported when one ends.
    pub checkpoint_sync_ms: f64,
    /// Files that client sessions had to flush themselves, because the checkpointer fell behind.
    pub backend_syncs: u64,
}

/// Sessions of a database in the same state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionCount {
    /// `active`, `idle`, `idle in transaction`, …; `not permitted`: another role's, whose state is not readable.
    pub state: String,
    /// `Lock`, `LWLock`, `IO`, `Client`, …; none: on a processor, or ready for one.
    pub wait_type: Option<String>,
    /// `transactionid`, `WALSync`, …
    pub wait_event: Option<String>,
    /// Average number.
    pub count: f64,
}

impl SessionCount {
    /// Whether they are idle: then waiting for the client means nothing.
    pub fn is_idle(&self) -> bool {
        self.state.starts_with("idle")
    }
}

/// One scrape of a metrics endpoint per window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// How long it took.
    pub took_ns: u64,
    /// Why there is no answer; a timeout is evidence too.
    pub error: Option<String>,
    /// The series used by rules.
    pub series: Vec<MetricSeries>,
}

/// One series of a metrics endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricSeries {
    /// Name with labels: `hikaricp_connections_active{pool="main"}`.
    pub name: String,
    /// Its value as given.
    pub value: f64,
}

/// A closer look, taken once because a verdict called for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum CloserLook {
    /// A JVM thread dump: how many threads are where.
    Threads {
        /// Its process.
        pid: u32,
        /// How long the JVM took.
        took_ns: u64,
        /// The places, the most threads first.
        at: Vec<StackGroup>,
    },
    /// Where the threads of a service, or of a downstream, wait, by their stacks, read from outside: how many are where.
    Stacks {
        /// Its first process; 0 in runs of earlier versions, which looked at the service alone.
        #[serde(default)]
        pid: u32,
        /// How long the look took.
        took_ns: u64,
        /// The places, the most threads first; the state is the system call they are in.
        at: Vec<StackGroup>,
    },
    /// A JVM's account of its virtual threads.
    VirtualThreads(VirtualThreads),
    /// Which session of the database blocks which.
    Blockers {
        /// Blocked sessions, with their blockers.
        blocked: Vec<BlockedSession>,
    },
    /// The statements that took most of the database's time during the load.
    Statements {
        /// The most expensive first.
        statements: Vec<StatementCost>,
    },
    /// Requested, but unavailable.
    Refused {
        /// From what: `JVM 4711`.
        of: String,
        /// Why.
        why: String,
    },
}

/// Threads with the same top of stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackGroup {
    /// Name of the threads, digits folded.
    pub group: String,
    /// `RUNNABLE`, `BLOCKED`, `WAITING`, `TIMED_WAITING`; seen from outside, `futex`, `read` and other system calls.
    pub state: String,
    /// The first frame that is not itself a wait primitive: `com.zaxxer.hikari.pool.HikariPool.getConnection`.
    pub frame: String,
    /// The first frame of the application, if the stack reaches it.
    pub asked_by: Option<ApplicationFrame>,
    /// How many.
    pub threads: u32,
}

/// A frame of the application.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// Maximum number of carriers.
    pub parallelism: u32,
    /// Carriers with a virtual thread on them.
    pub mounted: u32,
    /// Virtual threads ready for a carrier.
    pub queued: u64,
    /// Virtual threads waiting with a deadline.
    pub delayed: u64,
    /// Sockets that virtual threads wait to read.
    pub reading: u64,
}

/// A session blocked by others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedSession {
    /// The session's process.
    pub pid: u32,
    /// Its blockers.
    pub by: Vec<u32>,
    /// What it waits for: `transactionid`.
    pub event: String,
    /// Its statement, shortened.
    pub statement: String,
}

/// A statement and its cost during the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatementCost {
    /// Its text, shortened, with placeholders for values.
    pub text: String,
    /// How often it ran.
    pub calls: u64,
    /// Total time, in milliseconds.
    pub total_ms: f64,
}
