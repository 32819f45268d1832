//! The store from outside: storing, finding, refusing, and concurrent access.

use crate::run_started::run_started;
use record::{
    Caveat, CaveatDetails, Event, Failure, Limit, LimitUnit, Outcome, Purpose, RunId, SearchEnd, Slice,
    Verdict,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use torment_store::{Error, Filter, RunState, Store};
use units::{Nanos, Rate};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

fn started(id: &str, at_unix_ms: u64) -> Event {
    run_started("find", id, at_unix_ms)
}

fn slice(index: u32) -> Event {
    let mut slice = Slice { index, due: 1000, ..Slice::default() };
    slice.statuses.insert(200, 990);
    slice.statuses.insert(503, 10);
    slice.failures.insert(Failure::Status(503), 10);
    slice.outcomes.add(Outcome::Ok, 990);
    slice.outcomes.add(Outcome::Failed, 10);
    slice.response.record_many(Nanos::from_micros(500 + u64::from(index)), 1000);
    Event::SliceDone { trial: 1, slice: Box::new(slice) }
}

fn limit(lower: f64, upper: f64) -> Limit {
    Limit {
        held: None,
        goal: "strict".to_owned(),
        lower: Some(lower),
        upper: Some(upper),
        unit: LimitUnit::Requests,
        regular: true,
        good_trials: 3,
        bad_trials: 1,
        lower_due: 59_520,
        lower_bad: 0,
        throughput: None,
    }
}

fn ended(verdict: Option<Verdict>) -> Event {
    Event::RunEnded(Box::new(record::RunEnd { at_unix_ms: 2_000_000, verdict, exit_code: 0, error: None }))
}

fn limits_verdict() -> Verdict {
    Verdict::Limits {
        limits: vec![limit(1984.0, 2016.0)],
        ended: SearchEnd::Converged,
        curve: Vec::new(),
        detection_limit: 0.006,
        trials: 14,
        loaded: Nanos::from_secs(71),
        background: None,
        warmed_up: None,
        overloaded: None,
        generator: None,
    }
}

fn read(store: &Store, id: &RunId) -> Vec<Event> {
    store.events(id).expect("the run is there").collect::<Result<_, _>>().expect("every event reads back")
}

#[test]
fn what_goes_in_comes_out() {
    let folder = folder();
    let store = Store::open(&folder.path().join("deep/down/t.db")).expect("makes its folders");
    let trial = Event::TrialStarted {
        trial: 1,
        purpose: Purpose::Measure,
        rate: Some(Rate(1000.0)),
        duration: Some(Nanos::from_secs(10)),
        at_unix_ms: 1_000_001,
    };
    // More than one page of the reader.
    let mut events = vec![started("a", 1_000_000), trial];
    events.extend((0..100).map(slice));
    events.push(ended(Some(limits_verdict())));
    let mut recording = store.begin(&events[0]).expect("begins");
    for event in &events[1..] {
        recording.append(event).expect("is taken");
    }
    recording.finish().expect("is kept");

    assert_eq!(read(&store, &RunId("a".to_owned())), events);
    let runs = store.list(&Filter::default()).expect("lists");
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].state, RunState::Ended);
    assert_eq!((runs[0].lower, runs[0].upper, runs[0].exit_code), (Some(1984.0), Some(2016.0), Some(0)));
    assert_eq!(runs[0].search_ended.as_deref(), Some("converged"));
    assert_eq!(runs[0].unit.as_deref(), Some("requests/s"));
}

#[test]
fn a_recording_must_begin_at_the_beginning() {
    let folder = folder();
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    assert_eq!(store.begin(&slice(0)).expect_err("no start"), Error::NotStarted);
}

#[test]
fn finds_by_beginning_and_by_age() {
    let folder = folder();
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    let empty = store.find("last").expect_err("nothing there").to_string();
    assert!(empty.contains("empty"), "{empty}");
    for (id, at) in [("20261120-1-aaa", 1), ("20261120-2-bbb", 3), ("20261121-1", 2), ("20261121-1-x", 2)] {
        store.begin(&started(id, at)).expect("begins").finish().expect("is kept");
    }
    for (asked, expected) in [
        ("last", "20261120-2-bbb"),
        ("last~0", "20261120-2-bbb"),
        ("last~1", "20261121-1-x"),
        ("last~3", "20261120-1-aaa"),
        ("20261120-1", "20261120-1-aaa"),
        ("20261121-1", "20261121-1"),
    ] {
        assert_eq!(store.find(asked).expect(asked).0, expected, "{asked}");
    }
    for asked in ["last~4", "last~x", "lasting", "2027", "", "%"] {
        assert!(matches!(store.find(asked), Err(Error::NoRun { kept: 4, .. })), "{asked}");
    }
    let Err(Error::Ambiguous { fits, .. }) = store.find("20261120") else { panic!("two begin so") };
    assert_eq!(fits, ["20261120-2-bbb", "20261120-1-aaa"]);
}

#[test]
fn lists_what_is_asked_for() {
    let folder = folder();
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    for (id, at) in [("a", 1), ("b", 2), ("c", 3)] {
        store.begin(&started(id, at)).expect("begins").finish().expect("is kept");
    }
    let ids = |filter: Filter| -> Vec<String> {
        store.list(&filter).expect("lists").into_iter().map(|r| r.id.0).collect()
    };
    assert_eq!(ids(Filter::default()), ["c", "b", "a"]);
    assert_eq!(ids(Filter { limit: Some(2), ..Filter::default() }), ["c", "b"]);
    assert_eq!(ids(Filter { command: Some("run".to_owned()), ..Filter::default() }), [""; 0]);
    assert_eq!(ids(Filter { target: Some(":8080".to_owned()), ..Filter::default() }), ["c", "b", "a"]);
    assert_eq!(ids(Filter { target: Some("%".to_owned()), ..Filter::default() }), [""; 0]);
}

#[test]
fn removes_a_run_with_its_events_but_not_while_it_goes_on() {
    let folder = folder();
    let path = folder.path().join("t.db");
    let store = Store::open(&path).expect("opens");
    let mut recording = store.begin(&started("a", 1)).expect("begins");
    let id = RunId("a".to_owned());
    assert!(matches!(store.remove(&id), Err(Error::Running { .. })));
    for i in 0..200 {
        recording.append(&slice(i)).expect("is taken");
    }
    recording.append(&ended(None)).expect("is taken");
    recording.finish().expect("is kept");
    let pages = |store: &Store| -> i64 {
        rusqlite::Connection::open(store.path())
            .and_then(|db| db.query_row("PRAGMA page_count", [], |row| row.get(0)))
            .expect("counts")
    };
    let before = pages(&store);
    store.remove(&id).expect("is removed");
    assert!(pages(&store) < before, "the room is given back");
    assert!(matches!(store.remove(&id), Err(Error::NoRun { .. })));
    assert!(matches!(store.events(&id), Err(Error::NoRun { .. })));
}

#[test]
fn skips_what_a_newer_version_wrote_and_says_how_much() {
    let folder = folder();
    let path = folder.path().join("t.db");
    let store = Store::open(&path).expect("opens");
    let mut recording = store.begin(&started("a", 1)).expect("begins");
    recording.append(&slice(0)).expect("is taken");
    recording.finish().expect("is kept");
    let db = rusqlite::Connection::open(&path).expect("opens");
    db.execute("INSERT INTO event VALUES (1, 2, '{\"event\":\"moon_rose\"}')", []).expect("adds");
    let mut events = store.events(&RunId("a".to_owned())).expect("is there");
    assert_eq!(events.by_ref().filter(Result::is_ok).count(), 2);
    assert_eq!(events.skipped(), 1);
}

#[test]
fn refuses_files_that_are_no_store() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let message = |path: &Path| Store::open(path).expect_err("must be refused").to_string();

    std::fs::write(path("text.db"), "these are not the bytes you are looking for".repeat(100))
        .expect("writes");
    std::fs::write(path("file"), "").expect("writes");
    let other = rusqlite::Connection::open(path("other.db")).expect("opens");
    other.execute_batch("CREATE TABLE mine (x)").expect("creates");
    let newer = path("newer.db");
    drop(Store::open(&newer).expect("opens"));
    rusqlite::Connection::open(&newer)
        .and_then(|db| db.pragma_update(None, "user_version", 99))
        .expect("ages");

    for (path, words) in [
        (path("text.db"), "not a valid SQLite database"),
        (path("file/t.db"), "cannot open the store"),
        (PathBuf::from("/proc/torment/t.db"), "cannot open the store"),
        (folder.path().to_owned(), "cannot open the store"),
        (path("other.db"), "another program"),
        (newer, "has schema 99, this torment knows up to 8"),
    ] {
        let message = message(&path);
        assert!(message.contains(words), "{message}");
        assert!(message.contains(&path.display().to_string()), "{message}");
        assert!(message.contains("--store PATH"), "{message}");
    }
}

#[test]
fn a_store_that_fails_later_is_said_once_and_again_at_the_end() {
    let folder = folder();
    let path = folder.path().join("t.db");
    let store = Store::open(&path).expect("opens");
    let mut recording = store.begin(&started("a", 1)).expect("begins");
    // Another process breaks the table, as a stand-in for any lasting disk failure.
    let db = rusqlite::Connection::open(&path).expect("opens");
    db.execute_batch("ALTER TABLE event RENAME TO elsewhere").expect("renames");
    let begin = Instant::now();
    let error = loop {
        if let Err(error) = recording.append(&slice(0)) {
            break error;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "the failure never came back");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    assert_eq!(recording.append(&slice(1)), Ok(()), "said once is enough while the run goes on");
    assert_eq!(recording.finish(), Err(error), "but at the end it counts");
}

/// A load once waited for its disk: its counts piled up in memory, and Ctrl-C was ignored.
#[test]
fn a_disk_that_stands_still_holds_no_load_up() {
    const SECONDS: u32 = 3_000;
    let folder = folder();
    let path = folder.path().join("t.db");
    let store = Store::open(&path).expect("opens");
    let first = started("a", 1);
    let mut recording = store.begin(&first).expect("begins");
    // Nobody can write now, as if the disk did not respond.
    let db = rusqlite::Connection::open(&path).expect("opens");
    db.execute_batch("BEGIN IMMEDIATE").expect("locks");
    (0..SECONDS).for_each(|index| recording.append(&slice(index)).expect("is taken, or missed"));
    db.execute_batch("ROLLBACK").expect("unlocks");
    let end = ended(Some(limits_verdict()));
    recording.append(&end).expect("waits for its place");
    let doubt = recording.caveat().expect("it has missed some");
    recording.finish().expect("commits");
    let events = read(&store, &RunId("a".to_owned()));
    let kept = events.iter().filter(|event| matches!(event, Event::SliceDone { .. })).count();
    // Once for each time the queue was full; several if the writer made some progress meanwhile.
    let missed = |caveat: &Caveat| match caveat.grounds {
        Some(CaveatDetails::Missed { seconds }) => seconds,
        _ => panic!("{caveat}"),
    };
    let said = events.iter().filter_map(|event| match event {
        Event::Caveat { caveat } => Some(missed(caveat)),
        _ => None,
    });
    assert_eq!(said.sum::<u64>(), u64::from(SECONDS) - kept as u64, "{kept} are kept");
    assert_eq!(missed(&doubt), u64::from(SECONDS) - kept as u64);
    assert!((256..SECONDS as usize).contains(&kept), "{kept}");
    assert!(matches!(events.last(), Some(Event::RunEnded { .. })), "what a run comes to is never missed");
}

/// Waits until the store holds `count` events of the run; the commit needs no further event.
fn wait_for(store: &Store, id: &str, count: usize) {
    let begin = Instant::now();
    while store.events(&RunId(id.to_owned())).map_or(0, Iterator::count) < count {
        assert!(begin.elapsed() < Duration::from_secs(60), "events were not committed on their own");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn commits_on_its_own_without_another_event() {
    let folder = folder();
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    let mut recording = store.begin(&started("a", 1)).expect("begins");
    recording.append(&slice(0)).expect("is taken");
    wait_for(&store, "a", 2);
    assert_eq!(store.summary(&RunId("a".to_owned())).expect("is there").state, RunState::Running);
    drop(recording);
}

#[test]
fn what_came_since_is_read_alone() {
    let folder = folder();
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    let id = RunId("a".to_owned());
    let mut recording = store.begin(&started("a", 1)).expect("begins");
    recording.append(&slice(0)).expect("is taken");
    wait_for(&store, "a", 2);
    let mut events = store.events(&id).expect("is there");
    assert_eq!(events.by_ref().count(), 2);
    let position = events.position();
    assert_eq!(store.events_from(&id, position).expect("is there").count(), 0, "nothing came");
    (1..40).for_each(|i| recording.append(&slice(i)).expect("is taken"));
    recording.finish().expect("is kept");
    let since: Vec<Event> =
        store.events_from(&id, position).expect("is there").collect::<Result<_, _>>().expect("reads");
    assert_eq!(since, (1..40).map(slice).collect::<Vec<_>>());
}

/// Not a test: the body of the child processes below.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn child() {
    let path = std::env::var("TORMENT_TEST_STORE").expect("only run as a child");
    let id = std::env::var("TORMENT_TEST_RUN").expect("only run as a child");
    let store = Store::open(Path::new(&path)).expect("opens");
    let mut recording = store.begin(&started(&id, 1)).expect("begins");
    // Fewer than fit in its queue: what a writer cannot keep up with is left out.
    for i in 0..200 {
        recording.append(&slice(i)).expect("is taken");
    }
    recording.append(&Event::Bounds { limits: vec![limit(1500.0, 2300.0)], making: None }).expect("is taken");
    if std::env::var_os("TORMENT_TEST_HANG").is_some() {
        std::thread::sleep(Duration::from_secs(600));
    }
    recording.append(&ended(None)).expect("is taken");
    recording.finish().expect("is kept");
}

fn spawn(path: &Path, id: &str, hang: bool) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().expect("this test's file"));
    command.args(["--exact", "store::child", "--ignored"]).stdout(Stdio::null());
    command.env("TORMENT_TEST_STORE", path).env("TORMENT_TEST_RUN", id);
    if hang {
        command.env("TORMENT_TEST_HANG", "1");
    }
    command.spawn().expect("starts")
}

#[test]
fn many_processes_make_and_write_one_store_at_once() {
    let folder = folder();
    let path = folder.path().join("t.db");
    let children: Vec<_> = (0..6).map(|i| spawn(&path, &format!("run-{i}"), false)).collect();
    for mut child in children {
        assert!(child.wait().expect("ends").success());
    }
    let store = Store::open(&path).expect("opens");
    for i in 0..6 {
        assert_eq!(read(&store, &RunId(format!("run-{i}"))).len(), 203);
    }
    let db = rusqlite::Connection::open(&path).expect("opens");
    let sound: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checks");
    assert_eq!(sound, "ok");
}

#[test]
fn a_killed_run_is_cut_short_and_keeps_what_it_had() {
    let folder = folder();
    let path = folder.path().join("t.db");
    let store = Store::open(&path).expect("opens");
    let mut child = spawn(&path, "a", true);
    wait_for(&store, "a", 202);
    let id = RunId("a".to_owned());
    assert_eq!(store.summary(&id).expect("is there").state, RunState::Running);
    child.kill().expect("is killed");
    child.wait().expect("is gone");
    let summary = store.summary(&id).expect("is there");
    assert_eq!(summary.state, RunState::CutShort);
    assert_eq!((summary.lower, summary.upper), (Some(1500.0), Some(2300.0)));
    assert_eq!(read(&store, &id).len(), 202);
    store.remove(&id).expect("nobody writes it");
}

/// The second process once read "no version", then, after the first had created its tables, "some tables", and took the file for another
/// program's.
#[test]
fn many_at_once_make_one_fresh_store() {
    for _ in 0..40 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("torment.db");
        let opening: Vec<_> = (0..6)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || Store::open(&path).map(|_| ()))
            })
            .collect();
        for thread in opening {
            thread.join().expect("no panic").expect("a store");
        }
    }
}
