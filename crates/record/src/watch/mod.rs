//! What was seen of the target while it was loaded: windows of a second with raw counts, what is
//! watched, and what could not be read.
//!
//! Counters are given as they grew within a window, in the kernel's own units; averages are over the
//! looks made in it. What follows from them is derived later, by `diagnosis`, so that an improved
//! rule can judge an old run anew. *None* always means "not observable", never "not happening".

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

/// What is watched, from where, and what cannot be seen; again whenever that changes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchCoverage {
    /// How much may be read.
    pub level: AccessLevel,
    /// The process trees, the service first; [`Window::subjects`] has the same order.
    pub subjects: Vec<WatchedProcesses>,
    /// The database asked, if it answers.
    pub postgres: Option<PostgresServer>,
    /// Address of the metrics read, without what follows a `?`.
    pub metrics: Option<String>,
    /// What is not seen, each in one sentence.
    pub missing: Vec<MissingMeasure>,
    /// Looks at the threads a second.
    pub sweeps_per_second: f64,
    /// Whether the one who looks runs before all others; if not, it is late when the machine is full.
    pub real_time: bool,
    /// How whoever watches was asked for, as `--watch-on` takes it: `ssh:HOST`, `join`, `inside:CONTEXT`; of torment itself nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub on: String,
    /// Nobody looks there any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<WatcherLost>,
}

impl WatchCoverage {
    /// Whether any process was found: the service has a place before it is.
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
    /// What is known of the reason.
    pub why: String,
}

/// Since when, as a part of a sentence.
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

/// What whoever watches has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WatchEvent {
    /// What is watched has changed.
    Watched(Box<WatchCoverage>),
    /// A window of a trial is over.
    Window(u32, Box<Window>),
    /// A closer look, asked for in a trial.
    Look(u32, CloserLook),
}

/// How much of the target may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessLevel {
    /// Everything.
    Full,
    /// Its processes, but not what each thread waits for.
    SameUser,
    /// Only how it answers.
    #[default]
    Outside,
}

/// Something that is not observable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingMeasure {
    /// What: `waits of threads`, `JVM counters`.
    pub what: String,
    /// Why, and what to do about it, in one sentence.
    pub why: String,
}

impl MissingMeasure {
    /// From both its sentences.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// A process tree that is watched.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchedProcesses {
    /// What it is to the load.
    pub role: TreeRole,
    /// Its first process.
    pub pid: u32,
    /// Name for people: `java`, `postgres`, `nginx`.
    pub name: String,
    /// Its command line, shortened, without what looks like a secret.
    pub command: String,
    /// Where it listens: `127.0.0.1:8080`.
    pub listens: Vec<String>,
    /// Processors it may use: the mask of its first thread, and the smallest quota above it.
    pub cpus: f64,
    /// Which ones its mask names; none if it names all of the machine.
    pub processors: Vec<u32>,
    /// The version of the Java virtual machine, if it is one: `17.0.15+6`.
    pub java: Option<String>,
    /// Its processes are a PostgreSQL server's.
    pub is_postgres: bool,
    /// It is a Go program, whose runtime hands out work to its threads by itself: those that wait for another have none.
    pub is_go: bool,
}

/// What a watched process is to the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeRole {
    /// It is loaded.
    #[default]
    Service,
    /// The service talks to it, and it is on this machine.
    Downstream,
}
