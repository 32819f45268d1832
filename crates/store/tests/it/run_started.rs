//! The first event of a run.

use record::{Event, Machine, RunId, RunKind};

/// The start of `torment COMMAND`.
pub fn run_started(command: &str, id: &str, at_unix_ms: u64) -> Event {
    Event::RunStarted(Box::new(record::RunStart {
        id: RunId(id.to_owned()),
        at_unix_ms,
        version: "0.1.0".to_owned(),
        method: record::METHOD,
        command: RunKind::from(command.to_owned()),
        target: "http://127.0.0.1:8080/".to_owned(),
        goal: "zero-drop".to_owned(),
        plan: String::new(),
        parts: Vec::new(),
        machine: Machine::default(),
        part_of: None,
        label: record::Label::default(),
    }))
}
