use serde::{Deserialize, Serialize};

/// Threads of one name, within one window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadGroup {
    /// The kernel's name of the threads, digits folded: `http-nio-N-exec-N`.
    pub name: String,
    /// Average number of threads.
    pub threads: f64,
    /// Their total processor time, exact: the increase of schedstat's first number.
    pub on_cpu_ns: u64,
    /// Time ready and waiting for a processor: its second.
    pub run_delay_ns: u64,
    /// Times one of them was scheduled, so switches to them: its third.
    #[serde(default)]
    pub switches: u64,
    /// Those that were always busy; none if not looked for.
    pub full: Option<BusyThreads>,
    /// Average numbers of threads by state, largest first; they sum to `threads`.
    pub states: Vec<ThreadState>,
}

impl ThreadGroup {
    /// Average number of its threads that wait so.
    pub fn waiting(&self, wait: &ThreadWait) -> f64 {
        self.states.iter().filter(|state| state.wait == *wait).map(|state| state.threads).sum()
    }
}

/// Threads that were on a processor, ready for one, or had theirs stolen by the hypervisor, for at least nine tenths of the window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BusyThreads {
    /// Their number; averaged over merged windows.
    pub threads: f64,
    /// Their processor time.
    pub on_cpu_ns: u64,
}

/// Number of threads in one state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadState {
    /// The state.
    pub wait: ThreadWait,
    /// Average number of threads.
    pub threads: f64,
}

/// What a thread does, or waits for, as known to the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "wait", rename_all = "snake_case")]
pub enum ThreadWait {
    /// On a processor, or ready for one.
    Running,
    /// Another thread has to wake it (futex(2)).
    Futex {
        /// The futex operation.
        op: FutexOp,
        /// It wakes by itself within this many seconds: 1, 2, 5, 10, 20, 30, 35, 60, 120, 600 or more; none: no deadline.
        within_s: Option<u32>,
        /// At least two other threads of the process wait at the same address.
        shared: bool,
    },
    /// For data of, or room in, a connection that the process made.
    Peer {
        /// The other end: `127.0.0.1:5432`; `unix` and a path, or `unix`, for a local socket.
        address: String,
    },
    /// For data of a connection that closed before its other end was known, such as one made for a single request.
    Socket,
    /// For data of a connection made to the process.
    Client,
    /// For a new connection (accept(2)).
    Accept,
    /// For any of several descriptors: an event loop.
    Events,
    /// Asleep for a time.
    Sleep,
    /// For a disk, uninterruptible.
    Disk {
        /// The file's path, or the kernel function if unknown.
        what: String,
    },
    /// For a page of memory.
    PageFault,
    /// For a pipe.
    Pipe,
    /// For a child process.
    Child,
    /// For something else.
    Other {
        /// The system call or kernel function.
        what: String,
    },
    /// Asleep, on what is not readable.
    Unknown,
}

/// From here on, a deadline is only known to be this far away or further.
const MAX_WAIT_S: u32 = 600;

/// In words that need no knowledge of the kernel; the same everywhere.
impl std::fmt::Display for ThreadWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::Running => "runs, or is ready to".to_owned(),
            Self::Futex { op, within_s, shared } => {
                let what = match op {
                    FutexOp::Wait => "waits for a lock or for work",
                    FutexOp::WaitBitset | FutexOp::Other => "waits for another thread",
                };
                let together = if *shared { ", several at the same place" } else { "" };
                let until = match within_s {
                    None => String::new(),
                    Some(MAX_WAIT_S..) => ", 10 min or longer".to_owned(),
                    Some(seconds) => format!(", at most {seconds} s"),
                };
                format!("{what}{together}{until}")
            }
            Self::Peer { address } => match address.strip_prefix("unix") {
                Some("") => "reads from a local socket".to_owned(),
                Some(path) => format!("reads from the local socket {}", path.trim_start_matches([':', ' '])),
                None => format!("reads from {address}"),
            },
            Self::Client => "reads from a client".to_owned(),
            Self::Accept => "waits for a connection".to_owned(),
            Self::Events => "waits for events".to_owned(),
            Self::Sleep => "sleeps".to_owned(),
            Self::Disk { what } => format!("waits for a disk ({what})"),
            Self::PageFault => "waits for a page of memory".to_owned(),
            Self::Socket => "waits on a connection that closed before it was identified".to_owned(),
            Self::Pipe => "waits for a pipe".to_owned(),
            Self::Child => "waits for a child process".to_owned(),
            Self::Other { what } => format!("waits in {what}"),
            Self::Unknown => "asleep, on what may not be read".to_owned(),
        };
        f.pad(&text)
    }
}

/// The operation of a futex wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FutexOp {
    /// `FUTEX_WAIT`: glibc's mutexes, the JVM's safepoint barrier, and Go's parked threads.
    Wait,
    /// `FUTEX_WAIT_BITSET`: condition variables, parking, Rust's locks.
    WaitBitset,
    /// Any other.
    Other,
}

/// How completely a subject's threads were sampled.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadSampling {
    /// Looks due.
    pub due: u32,
    /// Looks made.
    pub done: u32,
    /// Average number of threads.
    pub threads: f64,
    /// Average number of them looked at: a random sample if all would cost too much.
    pub looked_at: f64,
    /// Average number of them whose wait could be read.
    pub readable: f64,
    /// Time spent on the looks.
    pub took_ns: u64,
    /// Processor time of threads that came and went between looks, as far as the process accounts for it: what is missing from the
    /// groups.
    pub unseen_cpu_ns: u64,
}
