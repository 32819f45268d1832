//! Raises a thread's priority, as far as permitted: a thread that takes turns with all others on a full
//! machine sees little of it, and late.

use record::watch::MissingMeasure;

/// Gives the calling thread the highest priority available: before all normal threads, or else with 88 times
/// the weight of one. Fails, with the reason, if neither is permitted.
///
/// The thread must bound its own work: a real-time thread that does not sleep blocks its processor.
/// (`RLIMIT_RTTIME` is no help: it kills the whole process.)
pub(crate) fn raise_priority() -> Result<(), String> {
    sys::set_real_time()
        .or_else(|refused| rustix::process::setpriority_process(None, -20).map_err(|_| refused.to_string()))
}

/// Raises the calling thread's weight, if permitted: for one with too much work for real-time priority that
/// must not wait for its turn among many.
pub(crate) fn raise_weight() {
    // Where it is refused, windows are longer, and say so.
    let _ = rustix::process::setpriority_process(None, -15);
}

/// What cannot be seen without it.
pub(crate) fn missing_without_priority(why: &str) -> MissingMeasure {
    let why = format!(
        "looks at threads may be late on a busy machine, because they have no real-time priority \
         ({why}); run torment as root, or give it the capability SYS_NICE"
    );
    MissingMeasure::new("threads at full load", why)
}
