//! Judges recordings of every case again: needs neither root nor Java nor a database, and shows at once
//! where a changed rule changes a verdict.
//!
//! `torment selftest --keep DIR` records; `gzip -n` turns that into the files of `tests/recorded/`.

use diagnosis::{ObservedRun, diagnose};
use flate2::read::GzDecoder;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use torment_faults::{ExpectedCause, all_cases};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");

fn recorded(case: &str) -> Option<PathBuf> {
    let path = Path::new(FOLDER).join(format!("{case}.ndjson.gz"));
    path.exists().then_some(path)
}

fn read(path: &Path) -> ObservedRun {
    let mut recording = ObservedRun::default();
    let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let line = line.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        recording.fold(&serde_json::from_str(&line).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
    }
    recording
}

#[test]
fn every_recorded_cell_is_still_judged_right() {
    let mut wrong = Vec::new();
    let mut judged = 0;
    for cell in all_cases() {
        let Some(path) = recorded(cell.name) else { continue };
        judged += 1;
        let diagnosis = diagnose(&read(&path));
        let right = match cell.expected {
            ExpectedCause::Nothing => diagnosis.findings.is_empty(),
            ExpectedCause::First { cause, .. } => diagnosis.cause() == Some(cause),
        };
        if !right {
            let named: Vec<_> =
                diagnosis.findings.iter().map(|f| (f.cause, f.confidence.value(), f.follows_from)).collect();
            wrong.push(format!("{}: {named:?} {:?}", cell.name, diagnosis.none));
        }
    }
    assert!(judged >= 30, "only {judged} recordings");
    assert!(wrong.is_empty(), "{} of {judged} are judged otherwise:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn recordings_are_of_cells_that_there_are() {
    let known: BTreeSet<String> = all_cases().iter().map(|cell| format!("{}.ndjson.gz", cell.name)).collect();
    for entry in std::fs::read_dir(FOLDER).expect("there are recordings") {
        let name = entry.expect("a folder can be read").file_name().to_string_lossy().into_owned();
        assert!(known.contains(&name), "{name} is of no cell");
    }
}
