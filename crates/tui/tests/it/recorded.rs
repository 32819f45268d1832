//! The live view of services broken in known ways, from recordings.

use crate::terminal::{check, of, screen, started};
use flate2::read::GzDecoder;
use record::Event;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// A load as the fault matrix recorded it, up to its last second.
fn recorded(cell: &str) -> Vec<Event> {
    let path = format!("{}/../faults/tests/recorded/{cell}.ndjson.gz", env!("CARGO_MANIFEST_DIR"));
    let file = File::open(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    let event =
        |line: std::io::Result<String>| serde_json::from_str(&line.expect("is text")).expect("is an event");
    let events: Vec<Event> = lines.map(event).collect();
    let goes_on = events.into_iter().filter(|event| !matches!(event, Event::TrialDone { .. }));
    std::iter::once(started("run", "http://127.0.0.1:8080/")).chain(goes_on).collect()
}

#[test]
fn where_the_threads_are_is_seen_at_every_size() {
    let view = of(&recorded("permits"));
    let large = screen(&view, (120, 40));
    check(
        &large,
        &["torment", "of 2 CPUs", "worker-N", "CPU", "█", "waits for another thread", "offered", "waiting"],
    );
    check(&large, &["so far", "permits"]);
    check(
        &screen(&view, (80, 24)),
        &["of 2 CPUs", "waits for another thread", "offered", "p99", "q or Ctrl-C stops"],
    );
    check(&screen(&view, (40, 12)), &["of 2 CPUs", "offered", "bad", "q or Ctrl-C stops"]);
}

#[test]
fn sessions_of_a_database_stand_beside_the_threads() {
    let view = of(&recorded("pg-row-lock"));
    check(&screen(&view, (120, 40)), &["PostgreSQL", "busy", "waits: Lock"]);
    check(&screen(&view, (80, 24)), &["waits: Lock"]);
}

#[test]
fn a_quota_that_is_used_up_is_said() {
    let view = of(&recorded("cpu-quota"));
    check(&screen(&view, (120, 40)), &["quota used up in", "of periods"]);
    check(&screen(&view, (160, 40)), &["CPUs of the target"]);
}

#[test]
fn any_recording_fits_any_window() {
    for cell in ["permits", "pg-pool", "jvm25-pool", "both-pool-and-cpu"] {
        let view = of(&recorded(cell));
        for size in [(0, 0), (1, 1), (7, 30), (30, 7), (40, 12), (59, 19), (80, 24), (120, 40), (300, 100)] {
            let _ = screen(&view, size);
        }
    }
}
