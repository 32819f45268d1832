//! The threads, or processes, that serve requests, and their states.

use record::watch::{FutexOp, ThreadWait, TreeWindow, WatchedProcesses};
use std::collections::BTreeMap;

/// Threads of the JVM itself, and of libraries, that never serve a request; as the kernel truncates their names, digits folded.
const NOT_WORKERS: [&str; 26] = units::texts![
    "C1 Compiler" "C2 Compiler" "VM Thread" "VM Periodic" "GC Thread" "G1 " "ZGC" "Shenandoah"
    "Signal Dispatch" "Service Thread" "Monitor Deflati" "Monitor Deflation" "Finalizer" "Reference Handl"
    "Common-Cleaner" "Notification T" "Attach Listener" "HikariPool" "Hikari" "DestroyJavaVM"
    "Catalina-util" "poller" "stop" "listener" "signal" "Sweeper thread"
];

/// At least this many threads run or are ready to, if others wait for the one that computes.
const MIN_COMPUTE_SHARE: f64 = 0.3;

/// Bystanders, by group name and wait: whole threads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bystanders(pub BTreeMap<String, BTreeMap<ThreadWait, f64>>);

impl Bystanders {
    /// Bystanders of a group with this wait.
    pub fn of(&self, group: &str, wait: &ThreadWait) -> f64 {
        self.0.get(group).and_then(|states| states.get(wait)).copied().unwrap_or(0.0)
    }

    /// All bystanders of a group.
    pub fn in_group(&self, group: &str) -> f64 {
        self.0.get(group).map_or(0.0, |states| states.values().sum())
    }
}

/// The threads that serve requests, by state: average numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workers {
    /// Name of their group.
    pub name: String,
    /// Their number.
    pub count: f64,
    /// Running, or ready to.
    pub running: f64,
    /// Waiting for another thread, with a deadline.
    pub timed: f64,
    /// Waiting for another thread, without one.
    pub untimed: f64,
    /// Both, by deadline.
    pub queues: BTreeMap<Option<u32>, f64>,
    /// Waiting for a connection they made: by remote address, the most first.
    pub peers: Vec<(String, f64)>,
    /// Asleep for a time.
    pub sleeping: f64,
    /// Waiting for a disk; the file or function most of them wait for.
    pub disk: f64,
    pub disk_wait: Option<String>,
    /// In an event loop: idle, or in one of its own, waiting for an answer.
    pub idle: f64,
    /// Waiting for an unidentified connection.
    unidentified: f64,
    /// The group has other threads of the service besides workers, of the same name.
    mixed: bool,
    /// Only one thread computes at a time, and one does: Python's and Ruby's interpreters have a lock, waited for by milliseconds at a
    /// time.
    pub interpreted: bool,
    /// Anything else.
    pub other: f64,
}

impl Workers {
    /// The group that serves requests: of all candidates that do some of the work, the one with the most threads not waiting for events.
    pub fn find(
        subject: &TreeWindow,
        processes: Option<&WatchedProcesses>,
        others: &Bystanders,
    ) -> Option<Self> {
        /// Threads that never run serve nobody.
        const WORK: f64 = 0.1;
        let java = processes.is_some_and(|subject| subject.java.is_some());
        let go = processes.is_some_and(|subject| subject.is_go);
        let may_work = |name: &str| !NOT_WORKERS.iter().any(|other| name.starts_with(other));
        let candidates = || subject.groups.iter().filter(|group| may_work(&group.name));
        let work: u64 = candidates().map(|group| group.on_cpu_ns).sum();
        let group = candidates()
            .filter(|group| group.on_cpu_ns as f64 >= WORK * work as f64)
            .max_by(|a, b| busy(a).total_cmp(&busy(b)).then(a.threads.total_cmp(&b.threads)))?;
        // If hardly any of them computes, none waits for the interpreter: Ruby's threads also sleep so.
        let interpreted =
            processes.is_some_and(is_interpreted) && group.waiting(&ThreadWait::Running) >= MIN_COMPUTE_SHARE;
        let (name, all) = (group.name.clone(), group.threads);
        let mut workers = Self { name, count: all, mixed: java, interpreted, ..Self::default() };
        for state in &group.states {
            let bystanders = others.of(&group.name, &state.wait).min(state.threads);
            workers.count -= bystanders;
            let has_none = go && matches!(state.wait, ThreadWait::Futex { .. });
            workers.add_threads(
                if has_none { &ThreadWait::Events } else { &state.wait },
                state.threads - bystanders,
                java,
            );
        }
        workers.peers.sort_by(|a, b| b.1.total_cmp(&a.1));
        // If connections are made for each request, some have closed before they are identified.
        if let Some((_, most)) = workers.peers.first_mut() {
            *most += std::mem::take(&mut workers.unidentified);
        }
        workers.other += workers.unidentified;
        Some(workers)
    }

    fn add_threads(&mut self, wait: &ThreadWait, threads: f64, java: bool) {
        if let ThreadWait::Futex { within_s, op, .. } = wait
            && (*within_s != Some(1) || self.interpreted)
            && !(java && *op == FutexOp::Wait && within_s.is_none())
        {
            *self.queues.entry(*within_s).or_default() += threads;
        }
        match wait {
            ThreadWait::Running => self.running += threads,
            // HotSpot's safepoint barrier; everywhere else that operation is a plain mutex.
            ThreadWait::Futex { op: FutexOp::Wait, within_s: None, .. } if java => {}
            // Java also sleeps so; and waits for a lock or a connection are longer than a second.
            ThreadWait::Futex { within_s: Some(1), .. } if !self.interpreted => self.sleeping += threads,
            ThreadWait::Futex { within_s: Some(_), .. } => self.timed += threads,
            ThreadWait::Futex { within_s: None, .. } => self.untimed += threads,
            ThreadWait::Peer { address } => match self.peers.iter_mut().find(|(peer, _)| peer == address) {
                Some((_, count)) => *count += threads,
                None => self.peers.push((address.clone(), threads)),
            },
            // Idle: the client has not sent a request, or there is none.
            ThreadWait::Client | ThreadWait::Accept => {}
            ThreadWait::Sleep => self.sleeping += threads,
            ThreadWait::Disk { what } => {
                self.disk += threads;
                self.disk_wait.get_or_insert_with(|| what.clone());
            }
            ThreadWait::Events => self.idle += threads,
            ThreadWait::PageFault => self.disk += threads,
            ThreadWait::Socket => self.unidentified += threads,
            ThreadWait::Pipe | ThreadWait::Child | ThreadWait::Other { .. } | ThreadWait::Unknown => {
                self.other += threads;
            }
        }
    }

    /// Waiting for another thread: for a lock, a permit, a connection, or for work.
    pub fn queueing(&self) -> f64 {
        self.timed + self.untimed
    }

    /// Waiting for something outside: a peer, a disk, time.
    pub fn outside(&self) -> f64 {
        self.reading() + self.sleeping + self.disk
    }

    /// Workers that do something while others wait for them. A worker in an event loop of its own waits for
    /// an answer, as clients of databases do.
    pub fn holding(&self) -> f64 {
        self.outside() + self.running + if self.mixed { 0.0 } else { self.idle }
    }

    /// Waiting for connections they made.
    pub fn reading(&self) -> f64 {
        self.peers.iter().map(|(_, count)| count).sum()
    }
}

/// Whether only one of its threads computes at a time.
pub(crate) fn is_interpreted(subject: &WatchedProcesses) -> bool {
    subject.name.starts_with("python") || subject.name.starts_with("ruby")
}

/// Threads of a group that could be busy with a request.
fn busy(group: &record::watch::ThreadGroup) -> f64 {
    let idle =
        |wait: &ThreadWait| matches!(wait, ThreadWait::Accept | ThreadWait::Events | ThreadWait::Client);
    group.threads - group.states.iter().filter(|s| idle(&s.wait)).map(|s| s.threads).sum::<f64>()
}
