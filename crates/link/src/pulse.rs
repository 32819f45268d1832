//! When something was last heard.

use std::sync::atomic::{AtomicU64, Ordering};
use units::Nanos;

/// By the monotonic clock.
#[derive(Debug)]
pub(crate) struct Pulse(AtomicU64);

impl Pulse {
    /// Just now.
    pub fn new() -> Self {
        Self(AtomicU64::new(sys::monotonic_ns()))
    }

    /// Something is heard.
    pub fn beat(&self) {
        self.0.store(sys::monotonic_ns(), Ordering::Relaxed);
    }

    /// So long ago.
    pub fn silent_for(&self) -> Nanos {
        Nanos(sys::monotonic_ns().saturating_sub(self.0.load(Ordering::Relaxed)))
    }
}
