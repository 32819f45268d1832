use crate::words::number;
use record::watch::{Sessions, Subject};
use units::Share;

/// What sessions of a database do.
pub fn session_words(sessions: &Sessions) -> String {
    let Sessions { state, wait_type, wait_event, .. } = sessions;
    // An idle session always waits for its client: that says nothing.
    if state.starts_with("idle") {
        return state.clone();
    }
    match (wait_type.as_deref(), wait_event.as_deref()) {
        (None, _) => format!("{state} on a processor, or ready for one"),
        (Some(kind), None) => format!("{state}, waits: {kind}"),
        (Some(kind), Some(event)) => format!("{state}, waits: {kind} {event}"),
    }
}

/// Name and number of a process tree: `java 4711`.
pub(crate) fn subject_name(subject: &Subject) -> String {
    match subject.name.as_str() {
        "" => format!("process {}", subject.pid),
        name => format!("{name} {}", subject.pid),
    }
}

/// An average number of threads: one decimal, two below a tenth.
pub(crate) fn average(count: f64) -> String {
    if count == 0.0 || count >= 0.095 { format!("{count:.1}") } else { format!("{count:.2}") }
}

/// A value of evidence with its unit.
pub(crate) fn amount(value: f64, unit: &str) -> String {
    match unit {
        "share" => Share((value * 1000.0).round() / 1000.0).to_string(),
        "" => number(value),
        unit => format!("{} {unit}", number(value)),
    }
}
