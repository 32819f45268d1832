//! What this machine allows the engine: descriptors and processors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// How many files and sockets this process may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// The limit in force.
    pub soft: u64,
    /// As far as an ordinary user may raise it.
    pub hard: u64,
}

/// Raises the soft limit of open files to the hard one (getrlimit(2)) and says what it is then.
pub fn raise_descriptors() -> Descriptors {
    let limit = getrlimit(Resource::Nofile);
    // Raising to the hard limit needs no privilege; if it fails all the same, the old limit stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let now = getrlimit(Resource::Nofile);
    let number = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    Descriptors { soft: number(now.current), hard: number(now.maximum) }
}

/// Whether this process may run on processor `core`.
pub(crate) fn check_processor(core: u32) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    if (core as usize) < CpuSet::MAX_CPU && allowed.is_set(core as usize) {
        return Ok(());
    }
    let list: Vec<String> =
        (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).map(|cpu| cpu.to_string()).collect();
    Err(io::Error::other(format!("processor {core} is not available here; choose of {}", list.join(", "))))
}

/// Binds the calling thread to processor `core`, which [`check_processor`] has allowed.
pub(crate) fn pin(core: u32) {
    let mut set = CpuSet::new();
    set.set(core as usize);
    // May only fail if the processor went away since the check: then the thread runs anywhere.
    let _ = sched_setaffinity(None, &set);
}
