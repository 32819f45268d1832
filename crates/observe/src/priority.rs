//! Raises a thread's priority, as far as permitted: a thread that takes turns with all others on a full
//! machine sees little of it, and late.

use record::watch::MissingMeasure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Before all normal threads.
    RealTime,
    /// With 88 times the weight of a normal thread.
    Nice,
    /// As all others, and why.
    Normal(String),
}

/// Gives the calling thread the highest priority available. It must bound its own work: a real-time thread
/// that does not sleep blocks its processor. (`RLIMIT_RTTIME` is no help: it kills the whole process.)
pub(crate) fn raise_priority() -> Priority {
    let Err(refused) = sys::set_real_time() else { return Priority::RealTime };
    match rustix::process::setpriority_process(None, -20) {
        Ok(()) => Priority::Nice,
        Err(_) => Priority::Normal(refused.to_string()),
    }
}

/// Raises the calling thread's weight, if permitted: for one with too much work for real-time priority that
/// must not wait for its turn among many.
pub(crate) fn raise_weight() {
    // Where it is refused, windows are longer, and say so.
    let _ = rustix::process::setpriority_process(None, -15);
}

impl Priority {
    /// Whether it is on time on a full machine.
    pub fn is_raised(&self) -> bool {
        !matches!(self, Self::Normal(_))
    }

    /// What cannot be seen without it.
    pub fn missing(&self) -> Option<MissingMeasure> {
        let Self::Normal(why) = self else { return None };
        let why = format!(
            "looks at threads may be late on a busy machine, because they have no real-time priority \
             ({why}); run torment as root, or give it the capability SYS_NICE"
        );
        Some(MissingMeasure::new("threads at full load", why))
    }
}
