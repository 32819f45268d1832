//! Samples processes on the processors from outside: their stacks, a given number of times per second of
//! processor time, with function names.
//!
//! [`start`] opens the perf events; a thread then reads, unwinds and counts samples until
//! [`Sampling::end`]; [`RawProfile::symbolize`] adds the names. [`sample_waiting()`] looks once at threads
//! that are off-CPU. Nothing is attached to the processes or changed in them, and nothing outlives this
//! process: the kernel closes its events with it.
//!
//! Foreign input (programs, libraries, perf maps) is never trusted: whatever the bytes, the result is a
//! name or none.

mod address_space;
mod code_files;
mod collector;
mod demangle;
mod elf;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod go;
mod hotspot;
mod memory;
mod perf_record;
mod perf_rings;
mod python;
mod runtime;
mod runtime_names;
mod runtimes;
mod symbol_lists;
mod symbolize;
mod symbols;
mod unwind;
mod v8;
mod waiting;

pub use collector::HOLDER;
pub use elf::is_go;
pub use error::Error;
pub use waiting::sample_waiting;

use collector::{StackCollector, with_descendants};
use perf_rings::{PerfRings, unused_processors};
use procfs::{TaskStat, tick_ns};
use record::Profile;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;
use units::Nanos;

/// A running sampler, until ended or dropped.
pub struct Sampling {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<(StackCollector, bool)>>,
    hz: u32,
    at_unix_ms: u64,
    began: Instant,
    pids: Vec<u32>,
    ticks_before: Option<u64>,
}

/// Samples these processes and all their descendants, present and future, `hz` times per second on each
/// processor.
///
/// # Errors
/// If none of them exists, or it is not permitted.
pub fn start(pids: &[u32], hz: u32) -> Result<Sampling, Error> {
    let first_pid = pids.first().copied().unwrap_or(0);
    let pids = with_descendants(pids);
    if pids.is_empty() {
        return Err(Error::Gone(first_pid));
    }
    let mut collector = StackCollector::of(&pids);
    let mut perf = PerfRings::open(&pids, hz, collector.needs_immediate_reads())?;
    let stop = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&stop);
    let (ticks_before, beside) = (ticks(&pids), unused_processors(&pids));
    let (at_unix_ms, began) = (sys::now().unix_ms(), Instant::now());
    perf.begin()?;
    let work = move || {
        // On processors that the target may not use, this takes nothing from it.
        if !beside.is_empty() {
            let _ = sys::bind_to(&beside);
        }
        // Without the permission, stacks that change at once are read later.
        if perf.config.wake_on_sample && sys::set_real_time().is_err() {
            let _ = rustix::process::setpriority_process(None, -20);
        }
        collector.run(&mut perf, &ends);
        (collector, perf.config.kernel)
    };
    let thread = Builder::new().name("profile".to_owned()).spawn(work);
    let thread = thread.map_err(|why| Error::Lacking { what: "there can be no thread", why })?;
    Ok(Sampling { stop, thread: Some(thread), hz, at_unix_ms, began, pids, ticks_before })
}

/// A profile without names.
pub struct RawProfile {
    collector: StackCollector,
    /// All other fields of the profile.
    profile: Profile,
}

impl RawProfile {
    /// Adds names. Takes longer than sampling may: files are read for it.
    pub fn symbolize(self) -> Profile {
        symbolize::symbolize(self.collector, self.profile)
    }
}

impl Sampling {
    /// Stops sampling. None if the thread panicked.
    pub fn end(mut self) -> Option<RawProfile> {
        let length = Nanos::from(self.began.elapsed());
        let after = ticks(&self.pids);
        let (collector, kernel) = self.stop()?;
        let ticks = after.zip(self.ticks_before).map(|(after, before)| after.saturating_sub(before));
        let profile = Profile {
            at_unix_ms: self.at_unix_ms,
            length,
            hz: self.hz,
            processor_time: ticks.map(|ticks| Nanos(ticks * tick_ns())),
            without_kernel: !kernel,
            ..Profile::default()
        };
        Some(RawProfile { collector, profile })
    }

    fn stop(&mut self) -> Option<(StackCollector, bool)> {
        let thread = self.thread.take()?;
        self.stop.store(true, Ordering::SeqCst);
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Processor time of processes and their reaped children, in ticks; none if one of them has ended.
fn ticks(pids: &[u32]) -> Option<u64> {
    pids.iter().map(|pid| TaskStat::read(*pid).map(|stat| stat.cpu + stat.children_cpu)).sum()
}
