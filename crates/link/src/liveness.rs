//! When something was last heard, and whether anything more will be.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use units::Nanos;

/// Of the other side, or of the conductor.
#[derive(Debug)]
pub(crate) struct Liveness {
    /// Monotonic time.
    last_touch: AtomicU64,
    has_ended: AtomicBool,
}

impl Liveness {
    pub fn new() -> Self {
        Self { last_touch: AtomicU64::new(sys::monotonic_ns()), has_ended: AtomicBool::new(false) }
    }

    pub fn touch(&self) {
        self.last_touch.store(sys::monotonic_ns(), Ordering::Relaxed);
    }

    /// Time since the last touch.
    pub fn silent_for(&self) -> Nanos {
        Nanos(sys::monotonic_ns().saturating_sub(self.last_touch.load(Ordering::Relaxed)))
    }

    /// Nothing more will be heard.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    pub fn is_over(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }
}
