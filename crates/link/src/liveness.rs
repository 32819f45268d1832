//! When something was last heard, and whether anything more will be.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use units::Nanos;

/// Of the other side, or of whoever asks for news.
#[derive(Debug)]
pub(crate) struct Liveness {
    /// By the monotonic clock.
    last: AtomicU64,
    over: AtomicBool,
}

impl Liveness {
    /// Just now.
    pub fn new() -> Self {
        Self { last: AtomicU64::new(sys::monotonic_ns()), over: AtomicBool::new(false) }
    }

    /// Something is heard.
    pub fn touch(&self) {
        self.last.store(sys::monotonic_ns(), Ordering::Relaxed);
    }

    /// So long ago.
    pub fn silent_for(&self) -> Nanos {
        Nanos(sys::monotonic_ns().saturating_sub(self.last.load(Ordering::Relaxed)))
    }

    /// Nothing more is heard.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Whether that is so.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}
