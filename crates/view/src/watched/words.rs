use crate::wording::format_rate;
use record::watch::{SessionCount, WatchedProcesses};
use units::Share;

/// The activity of database sessions; an empty wait type: they do not wait.
pub fn session_words(state: &str, wait_type: &str, wait_event: &str) -> String {
    match (wait_type, wait_event) {
        // Idle sessions always wait for their client, which says nothing.
        _ if state.starts_with("idle") => state.to_owned(),
        ("", _) => format!("{state} on a processor, or ready for one"),
        (kind, "") => format!("{state}, waits: {kind}"),
        (kind, event) => format!("{state}, waits: {kind} {event}"),
    }
}

pub(crate) fn sessions_words(sessions: &SessionCount) -> String {
    let word = |word: &Option<String>| word.clone().unwrap_or_default();
    session_words(&sessions.state, &word(&sessions.wait_type), &word(&sessions.wait_event))
}

/// A process tree's name and number: `java 4711`.
pub(crate) fn subject_name(subject: &WatchedProcesses) -> String {
    match subject.name.as_str() {
        "" => format!("process {}", subject.pid),
        name => format!("{name} {}", subject.pid),
    }
}

/// An average number of threads: one decimal, two below 0.1.
pub(crate) fn average(count: f64) -> String {
    if count == 0.0 || count >= 0.095 { format!("{count:.1}") } else { format!("{count:.2}") }
}

pub(crate) fn amount(value: f64, unit: &str) -> String {
    // An empty sum is -0.
    let value = value + 0.0;
    match unit {
        "share" => Share(value).rounded(3).to_string(),
        "" => format_rate(value),
        units => match format_rate(value).as_str() {
            // A plural, and neither milliseconds nor several words.
            "1" if units.len() > 2 && !units.contains(' ') => {
                format!("1 {}", units.strip_suffix('s').unwrap_or(units))
            }
            text => format!("{text} {units}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_one_would_say_them() {
        let nothing: f64 = [].iter().sum();
        for (value, units, said) in [
            (nothing, "threads", "0 threads"),
            (1.0, "threads", "1 thread"),
            (2.0, "threads", "2 threads"),
            (1.0, "ms", "1 ms"),
            (1.0, "of the answers", "1 of the answers"),
            (1.0, "share", "100 %"),
        ] {
            assert_eq!(amount(value, units), said);
        }
    }
}
