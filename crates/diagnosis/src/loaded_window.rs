//! A window of the watch while under load, and what a subject used in it on average.

use record::watch::{ThreadWait, TreeWindow, Window};
use std::ops::Deref;
use units::Nanos;

/// A window with the number outstanding in its second: in a growing queue it differs from the overall average.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadedWindow<'a> {
    pub window: &'a Window,
    /// Arrivals, on average.
    pub outstanding: f64,
}

impl Deref for LoadedWindow<'_> {
    type Target = Window;

    fn deref(&self) -> &Window {
        self.window
    }
}

/// Total nanoseconds of all threads, or processors, ÷ nanoseconds of the window.
pub(crate) fn average(ns: u64, window: Nanos) -> f64 {
    ns as f64 / (window.0 as f64).max(1.0)
}

/// Processors used by a subject: by its threads if observed, else by its processes.
pub(crate) fn cpu(subject: &TreeWindow, length: Nanos) -> f64 {
    let threads: u64 = subject.groups.iter().map(|group| group.on_cpu_ns).sum();
    average(threads.max(subject.cpu_ns), length)
}

/// Threads of a subject that were ready for a processor.
pub(crate) fn runnable(subject: &TreeWindow, length: Nanos) -> f64 {
    let delay: u64 = subject.groups.iter().map(|group| group.run_delay_ns).sum();
    // Run delay is accounted when a thread gets its processor: a starving one shows in the looks alone.
    let running: f64 = subject.groups.iter().map(|group| group.waiting(&ThreadWait::Running)).sum();
    average(delay, length).max(running - cpu(subject, length))
}
