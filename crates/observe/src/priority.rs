//! Runs a thread before others, as far as that is allowed: one that looks at a full machine in turn with
//! everybody else sees little of it, and that late.

use record::watch::MissingMeasure;

/// How a thread is scheduled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Before all usual threads.
    RealTime,
    /// With 88 times the weight of a usual thread.
    Nice,
    /// As all others, and why.
    Usual(String),
}

/// Gives the calling thread the best there is. It has to bound its work itself: a real-time thread that does
/// not sleep keeps others from its processor. (`RLIMIT_RTTIME` is no help: it ends the whole process.)
pub(crate) fn raise_priority() -> Priority {
    let Err(refused) = sys::set_real_time() else { return Priority::RealTime };
    match rustix::process::setpriority_process(None, -20) {
        Ok(()) => Priority::Nice,
        Err(_) => Priority::Usual(refused.to_string()),
    }
}

/// Gives the calling thread more weight than usual ones have, where that is allowed: for one that has more to
/// do than may be done before all others, and is not to wait for its turn among many.
pub(crate) fn raise_weight() {
    // Where it is refused its windows are longer, and say so.
    let _ = rustix::process::setpriority_process(None, -15);
}

impl Priority {
    /// Whether it is on time on a full machine.
    pub fn is_raised(&self) -> bool {
        !matches!(self, Self::Usual(_))
    }

    /// What is not seen for want of it.
    pub fn missing(&self) -> Option<MissingMeasure> {
        let Self::Usual(why) = self else { return None };
        let why = format!(
            "looks at threads may be late on a busy machine, because they have no real-time priority \
             ({why}); run torment as root, or give it the capability SYS_NICE"
        );
        Some(MissingMeasure::new("threads at full load", why))
    }
}
