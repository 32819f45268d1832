//! What may give first: one row per cause.

use serde::{Deserialize, Serialize};

/// Causes, with their names for programs and their words.
macro_rules! causes {
    ($($(#[$about:meta])* $cause:ident = $name:literal, $words:literal;)*) => {
        /// What gave first.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Cause {
            $($(#[$about])* #[serde(rename = $name)] $cause,)*
        }

        impl Cause {
    /// Whether it is about the generator: then it holds everywhere.
    pub fn is_of_torment(self) -> bool {
        matches!(self, Self::Generator | Self::Ports | Self::OwnDescriptors)
    }

            /// Every cause.
            pub const ALL: &'static [Self] = &[$(Self::$cause),*];

            /// Stable name in stored runs, JSON and plans.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$cause => $name,)*
                }
            }

            /// Its name in sentences.
            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$cause => $words,)*
                }
            }
        }
    };
}

impl Cause {
    /// Whether it is an exhausted resource of the target: workers, processors, connections. What fills for another reason, such as a
    /// queue, or is only seen by its effect, is not.
    pub fn is_resource(self) -> bool {
        use Cause::*;
        match self {
            TaskLimit | MemoryLimit | Descriptors | CpuQuota | Cpu | Pool | Workers | Lock | PostgresCpu
            | PostgresConnections | Bandwidth => true,
            Generator
            | Ports
            | OwnDescriptors
            | Freeze
            | AcceptQueue
            | Neighbour
            | Downstream
            | Inside
            | PostgresWal
            | PostgresLock
            | PostgresReads
            | PostgresIdleInTransaction
            | Gc
            | Safepoint
            | ColdJit
            | Disk
            | Retransmissions
            | PacketDrops
            | DelayedAcks
            | Tracking
            | PostgresCheckpoints => false,
        }
    }
}

causes! {
    /// The load generator itself.
    Generator = "generator", "the load generator";
    /// Local ports of the load generator.
    Ports = "ports", "local ports";
    /// Descriptors of the load generator.
    OwnDescriptors = "own-descriptors", "descriptors of the load generator";
    /// The target freezes now and then.
    Freeze = "freeze", "a freeze";
    /// The queue of connections not yet accepted.
    AcceptQueue = "accept-queue", "the accept queue";
    /// A limit of threads or processes.
    TaskLimit = "task-limit", "the limit of threads";
    /// A limit of memory.
    MemoryLimit = "memory-limit", "the memory limit";
    /// A limit of descriptors.
    Descriptors = "descriptors", "the limit of descriptors";
    /// A processor quota.
    CpuQuota = "cpu-quota", "the processor quota";
    /// Processors.
    Cpu = "cpu", "processor";
    /// Processors, taken by others on the machine.
    Neighbour = "neighbour", "a neighbour on the machine";
    /// A pool of connections or permits.
    Pool = "pool", "a pool";
    /// The number of workers.
    Workers = "workers", "the number of workers";
    /// One lock.
    Lock = "lock", "one lock";
    /// Something else that the service waits for.
    Downstream = "downstream", "a downstream service";
    /// Requests wait inside the service, for something the kernel does not see.
    Inside = "inside", "something inside the service";
    /// PostgreSQL: flushing its log at each commit.
    PostgresWal = "postgres-wal", "PostgreSQL's write-ahead log";
    /// PostgreSQL: a row, or another lock that sessions take.
    PostgresLock = "postgres-lock", "a lock in PostgreSQL";
    /// PostgreSQL: processors.
    PostgresCpu = "postgres-cpu", "PostgreSQL's processor";
    /// PostgreSQL: reading pages that are not in memory.
    PostgresReads = "postgres-reads", "PostgreSQL's reads";
    /// PostgreSQL: its limit of connections.
    PostgresConnections = "postgres-connections", "PostgreSQL's limit of connections";
    /// PostgreSQL: transactions kept open by an application that does something else.
    PostgresIdleInTransaction = "postgres-idle-in-transaction", "transactions held open";
    /// Garbage collection.
    Gc = "gc", "garbage collection";
    /// Stopping for safepoints.
    Safepoint = "safepoint", "safepoints";
    /// Code not yet compiled.
    ColdJit = "cold-jit", "cold code";
    /// A disk.
    Disk = "disk", "a disk";
    /// Segments are lost, and retransmitted.
    Retransmissions = "retransmissions", "segments lost on the way";
    /// An interface, or the kernel behind it, drops packets.
    PacketDrops = "packet-drops", "packets dropped";
    /// Answers wait for a delayed acknowledgement between their pieces.
    DelayedAcks = "delayed-acks", "delayed acknowledgements";
    /// The firewall's table of connections.
    Tracking = "tracking", "the firewall's table of connections";
    /// The speed of a network link.
    Bandwidth = "bandwidth", "the network link";
    /// PostgreSQL: too frequent checkpoints.
    PostgresCheckpoints = "postgres-checkpoints", "PostgreSQL's checkpoints";
}
