use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A stop requested by Ctrl-C or a key: the load ends at once, what was measured is kept.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Wraps a flag that others set.
    pub fn new(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// Whether a stop was requested.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
