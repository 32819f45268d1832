use crate::reason::number;
use record::watch::{FutexOp, Sessions, Subject, Wait};
use units::Share;

/// From this on, the kernel's deadline is only known to be so far away or further.
const LONGEST_S: u32 = 600;

/// What a thread does or waits for, in words that need no knowledge of the kernel; the same everywhere.
pub fn wait_words(wait: &Wait) -> String {
    match wait {
        Wait::Running => "runs, or is ready to".to_owned(),
        Wait::Futex { op, within_s, shared } => {
            let what = match op {
                FutexOp::Wait => "waits for a native lock",
                FutexOp::WaitBitset | FutexOp::Other => "waits for another thread",
            };
            let together = if *shared { ", several at the same place" } else { "" };
            let until = match within_s {
                None => String::new(),
                Some(LONGEST_S..) => ", 10 min or longer".to_owned(),
                Some(seconds) => format!(", at most {seconds} s"),
            };
            format!("{what}{together}{until}")
        }
        Wait::Peer { address } => match address.strip_prefix("unix") {
            Some("") => "reads from a local socket".to_owned(),
            Some(path) => format!("reads from the local socket {}", path.trim_start_matches([':', ' '])),
            None => format!("reads from {address}"),
        },
        Wait::Client => "reads from a client".to_owned(),
        Wait::Accept => "waits for a connection".to_owned(),
        Wait::Events => "waits for events".to_owned(),
        Wait::Sleep => "sleeps".to_owned(),
        Wait::Disk { what } => format!("waits for a disk ({what})"),
        Wait::PageFault => "waits for a page of memory".to_owned(),
        Wait::Pipe => "waits for a pipe".to_owned(),
        Wait::Child => "waits for a child process".to_owned(),
        Wait::Other { what } => format!("waits in {what}"),
        Wait::Unknown => "asleep, on what may not be read".to_owned(),
    }
}

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
