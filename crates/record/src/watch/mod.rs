//! Observation of the target under load: windows of a second with raw counts, what is observed, and what could not be read.
//!
//! Counters are increases within a window, in the kernel's own units; averages are over the looks made in it. Conclusions are drawn
//! later, by `diagnosis`, so that an improved rule can judge an old run again. *None* always means "not observable", never "not
//! happening".

mod application;
mod machine;
mod threads;
mod window;

pub use application::{
    ApplicationFrame, BlockedSession, CloserLook, Jvm, MetricSeries, Metrics, PostgresServer, PostgresWindow,
    SessionCount, StackGroup, StatementCost, VirtualThreads,
};
pub use machine::{
    Cgroup, CpuQuota, DiskActivity, Host, InterfaceTraffic, LimitUsage, MemoryLimit, Neighbour, Network,
    Pressure, TaskLimit, TormentUsage,
};
pub use threads::{BusyThreads, FutexOp, ThreadGroup, ThreadSampling, ThreadState, ThreadWait};
pub use window::{ListenSocket, PeerConnections, TreeWindow, Window};

use serde::{Deserialize, Serialize};
use units::Nanos;

/// What is observed, from where, and what is not observable; repeated whenever that changes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchCoverage {
    /// How much is readable.
    pub level: AccessLevel,
    /// The process trees, the service first; [`Window::subjects`] has the same order.
    pub subjects: Vec<WatchedProcesses>,
    /// The database, if it answers.
    pub postgres: Option<PostgresServer>,
    /// Address of the metrics endpoint, without its query.
    pub metrics: Option<String>,
    /// What is not observable, each in one sentence.
    pub missing: Vec<MissingMeasure>,
    /// Looks at the threads per second.
    pub sweeps_per_second: f64,
    /// Whether the observer has real-time priority; if not, it is late when the machine is saturated.
    pub real_time: bool,
    /// How the observer was requested, as given to `--watch-on`: `ssh:HOST`, `join`, `inside:CONTEXT`; empty for torment itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub on: String,
    /// The observer was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<WatcherLost>,
}

impl WatchCoverage {
    /// Whether any process was found: the service has an entry before it exists.
    pub fn has_processes(&self) -> bool {
        self.subjects.iter().any(|subject| subject.pid > 0)
    }
}

/// Since when nothing is known of a place, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatcherLost {
    /// In this trial, or after it; 0: before the first.
    pub trial: u32,
    /// At this moment of it; none: after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Nanos>,
    /// The reason, as far as known.
    pub why: String,
}

/// Since when, as part of a sentence.
impl std::fmt::Display for WatcherLost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { trial, at, why } = self;
        match (trial, at) {
            (0, _) => write!(f, "since before the first trial: {why}"),
            (trial, Some(at)) => write!(f, "since {at} into trial {trial}: {why}"),
            (trial, None) => write!(f, "since the end of trial {trial}: {why}"),
        }
    }
}

/// An event reported by an observer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WatchEvent {
    /// What is observed has changed.
    Watched(Box<WatchCoverage>),
    /// A window of a trial is over.
    Window(u32, Box<Window>),
    /// A closer look requested in a trial.
    Look(u32, CloserLook),
}

/// How much of the target is readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessLevel {
    /// Everything.
    Full,
    /// Its processes, but not the waits of each thread.
    SameUser,
    /// Only its answers.
    #[default]
    Outside,
}

/// Something not observable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingMeasure {
    /// Its name: `waits of threads`, `JVM counters`.
    pub what: String,
    /// Why, and what to do about it, in one sentence.
    pub why: String,
}

impl MissingMeasure {
    /// From its name and reason.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// An observed process tree.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchedProcesses {
    /// Its role.
    pub role: TreeRole,
    /// Its first process.
    pub pid: u32,
    /// Its name for people: `java`, `postgres`, `nginx`.
    pub name: String,
    /// Its command line, shortened, without apparent secrets.
    pub command: String,
    /// Where it listens: `127.0.0.1:8080`.
    pub listens: Vec<String>,
    /// Processors available to it: the mask of its first thread, and the smallest quota above it.
    pub cpus: f64,
    /// The processors in its mask; empty if that is the whole machine.
    pub processors: Vec<u32>,
    /// The version of its Java virtual machine, if any: `17.0.15+6`.
    pub java: Option<String>,
    /// Whether it is a PostgreSQL server.
    pub is_postgres: bool,
    /// Whether it is a Go program, whose runtime schedules work on its threads: those that wait for another are idle.
    pub is_go: bool,
}

/// The role of an observed process tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeRole {
    /// It receives the load.
    #[default]
    Service,
    /// The service talks to it, and it is on this machine.
    Downstream,
}
