//! Runs that take too long, or need too much, for a test: made once, kept as their events, and put into a store, so
//! that the manual shows real results as torment shows them today.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use record::{Event, RunId};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use store::{RunWriter, Store};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");
/// Runs since replaced by others. The manual does not show their results, but its picture of the list needs several of
/// one target.
const EARLIER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/earlier");
const ENDING: &str = ".ndjson.gz";

pub fn file(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}{ENDING}"))
}

pub fn names() -> Vec<String> {
    names_in(FOLDER)
}

fn names_in(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{folder}: {e}"));
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.expect("a folder can be read").file_name().to_string_lossy().into_owned();
        name.strip_suffix(ENDING).unwrap_or_else(|| panic!("{name} is no recorded run")).to_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

/// Puts all of them into a new store.
pub fn put(store: &Path) {
    put_from(&[FOLDER], store);
}

/// And their predecessors.
pub fn put_with_earlier(store: &Path) {
    put_from(&[FOLDER, EARLIER], store);
}

fn put_from(folders: &[&str], store: &Path) {
    let store = Store::open(store).expect("the folder is ours");
    let all = folders.iter().flat_map(|folder| names_in(folder).into_iter().map(move |name| (folder, name)));
    for (folder, name) in all {
        let events = read(&Path::new(folder).join(format!("{name}{ENDING}")));
        let mut recording: Option<RunWriter> = None;
        for event in &events {
            match &mut recording {
                None => recording = Some(store.begin(event).unwrap_or_else(|e| panic!("{name}: {e}"))),
                Some(recording) => recording.append(event).unwrap_or_else(|e| panic!("{name}: {e}")),
            }
        }
        recording.unwrap_or_else(|| panic!("{name} is empty")).finish().expect("the folder is ours");
    }
}

fn read(file: &Path) -> Vec<Event> {
    let packed = File::open(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let event = |line: std::io::Result<String>| {
        let line = line.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    };
    BufReader::new(GzDecoder::new(packed)).lines().map(event).collect()
}

/// Keeps a run of this store under a name.
pub fn keep(store: &Path, id: &RunId, name: &str) {
    let store = Store::open(store).expect("it was just written");
    let events = store.events(id).expect("it is there");
    std::fs::create_dir_all(FOLDER).expect("the repository can be written");
    let to = File::create(file(name)).expect("the repository can be written");
    let mut packed = GzEncoder::new(to, Compression::best());
    for event in events {
        let mut event = event.expect("it can be read");
        if let Event::RunStarted(started) = &mut event {
            started.label.name = Some(name.to_owned());
            started.machine.host = "example".to_owned();
        }
        let line = serde_json::to_string(&event).expect("an event can be written");
        // Without the path of the build.
        let line = line.replace(crate::program::binary(), "torment");
        writeln!(packed, "{line}").expect("the repository can be written");
    }
    packed.finish().expect("the repository can be written");
}

/// Every run ever kept for a test, of whatever kind and version, can still be read completely: each event round-trips.
#[test]
fn runs_of_earlier_versions_are_still_read() {
    let faults = Path::new(FOLDER).join("../../../faults/tests/recorded");
    let (mut runs, mut events, mut kinds) = (0, 0, BTreeSet::new());
    for folder in [Path::new(FOLDER), Path::new(EARLIER), &faults] {
        for entry in std::fs::read_dir(folder).expect("the repository has it") {
            let path = entry.expect("it can be listed").path();
            let file = File::open(&path).expect("it was just listed");
            for line in BufReader::new(GzDecoder::new(file)).lines() {
                let line = line.expect("it is packed text");
                let read = |text: &str| -> Event {
                    serde_json::from_str(text).unwrap_or_else(|e| panic!("{}: {e}: {text}", path.display()))
                };
                let event = read(&line);
                let again = serde_json::to_string(&event).expect("an event is JSON");
                assert_eq!(read(&again), event, "{}", path.display());
                let tag = serde_json::to_value(&event).expect("an event is JSON")["event"].clone();
                kinds.insert(tag.as_str().expect("events have a type").to_owned());
                events += 1;
            }
            runs += 1;
        }
    }
    assert!(runs >= 50 && events > 1_000, "{runs} runs of {events} events");
    assert!(kinds.len() >= 15, "{kinds:?}");
}
