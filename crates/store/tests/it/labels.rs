//! Runs are found by name and tags, in stores of any age and size.

use crate::run_started::run_started;
use record::{Event, Label, Machine, RunId};
use std::time::Instant;
use torment_store::{Error, Filter, RunStatus, Store};

fn started(id: &str, at_unix_ms: u64, name: Option<&str>, tags: &[&str]) -> Event {
    let mut event = run_started("run", id, at_unix_ms);
    let Event::RunStarted(begun) = &mut event else { panic!("it is a start") };
    begun.label = Label {
        name: name.map(str::to_owned),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        commit: Some("0123456789ab".to_owned()),
    };
    begun.machine = Machine {
        host: "hill".to_owned(),
        processor: "Abacus 3000".to_owned(),
        cpus: 2,
        ..Machine::default()
    };
    event
}

fn keep(store: &Store, event: &Event) {
    store.begin(event).expect("begins").finish().expect("is kept");
}

fn ids(store: &Store, filter: &Filter) -> Vec<String> {
    store.list(filter).expect("lists").into_iter().map(|run| run.id.0).collect()
}

#[test]
fn a_name_means_its_latest_run() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    for (id, at, name) in [
        ("20261120-1", 1, Some("before")),
        ("20261120-2", 3, Some("before")),
        ("20261121-1", 2, Some("after <b>&")),
        // Its name is the id of another, and the prefix of several: the id precedes the name, the name precedes prefixes.
        ("20261121-2", 4, Some("20261120-1")),
        ("20261121-3", 5, Some("20261120")),
    ] {
        keep(&store, &started(id, at, name, &[]));
    }
    for (asked, expected) in [
        ("before", "20261120-2"),
        ("after <b>&", "20261121-1"),
        ("20261120-1", "20261120-1"),
        ("20261120", "20261121-3"),
        ("last~4", "20261120-1"),
    ] {
        assert_eq!(store.find(asked).expect(asked).0, expected, "{asked}");
    }
    let Err(Error::Ambiguous { fits, .. }) = store.find("20261121") else { panic!("three begin so") };
    assert_eq!(fits, ["20261121-3", "20261121-2", "20261121-1"]);
    let message = store.find("befor").expect_err("no such run").to_string();
    assert!(message.contains("no run 'befor' among the 5 kept; did you mean before? expected"), "{message}");
    let message = store.find("nothing like it").expect_err("no such run").to_string();
    assert!(!message.contains("did you mean"), "{message}");
}

#[test]
fn a_list_takes_what_was_asked_for() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    for (id, at, name, tags) in [
        ("a", 10, Some("before"), &["pool=10", "nightly"][..]),
        ("b", 20, Some("after"), &["pool=20", "nightly"]),
        ("c", 30, None, &[]),
    ] {
        keep(&store, &started(id, at, name, tags));
    }
    let mut over = store.begin(&started("d", 40, Some("after"), &["pool=20"])).expect("begins");
    let end = Event::RunEnded(Box::new(record::RunEnd {
        at_unix_ms: 41,
        verdict: None,
        exit_code: 99,
        error: None,
    }));
    over.append(&end).expect("is taken");
    over.finish().expect("is kept");
    let text = |text: &str| Some(text.to_owned());
    let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    for (filter, expected) in [
        (Filter { name: text("after"), ..Filter::default() }, &["d", "b"][..]),
        (Filter { tags: tags(&["nightly"]), ..Filter::default() }, &["b", "a"]),
        (Filter { tags: tags(&["nightly"]), limit: Some(1), ..Filter::default() }, &["b"]),
        (Filter { tags: tags(&["pool"]), ..Filter::default() }, &["d", "b", "a"]),
        (Filter { tags: tags(&["pool=20", "nightly"]), ..Filter::default() }, &["b"]),
        (Filter { machine: text("hill"), ..Filter::default() }, &["d", "c", "b", "a"]),
        (Filter { machine: text("Abacus"), limit: Some(2), ..Filter::default() }, &["d", "c"]),
        (Filter { machine: text("%"), ..Filter::default() }, &[]),
        (Filter { since_unix_ms: Some(20), ..Filter::default() }, &["d", "c", "b"]),
        (Filter { since_unix_ms: Some(u64::MAX), ..Filter::default() }, &[]),
        (Filter { until_unix_ms: Some(20), ..Filter::default() }, &["a"]),
        (Filter { since_unix_ms: Some(20), until_unix_ms: Some(30), ..Filter::default() }, &["b"]),
        (Filter { until_unix_ms: Some(u64::MAX), ..Filter::default() }, &["d", "c", "b", "a"]),
        (Filter { status: Some(RunStatus::Code(99)), ..Filter::default() }, &["d"]),
        (Filter { status: Some(RunStatus::Running), ..Filter::default() }, &["c", "b", "a"]),
        (Filter { status: Some(RunStatus::CutShort), ..Filter::default() }, &[]),
    ] {
        assert_eq!(ids(&store, &filter), expected, "{filter:?}");
    }
    let run = store.summary(&RunId("b".to_owned())).expect("is there");
    assert_eq!(run.label.tags, ["pool=20", "nightly"]);
    assert_eq!(run.label.commit.as_deref(), Some("0123456789ab"));
    assert_eq!((run.host.as_deref(), run.cpus), (Some("hill"), Some(2)));
}

#[test]
fn a_run_can_be_named_afterwards() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let mut store = Store::open(&folder.path().join("t.db")).expect("opens");
    keep(&store, &started("a", 1, None, &["nightly"]));
    let id = RunId("a".to_owned());
    let mut label = store.summary(&id).expect("is there").label;
    label.name = Some("before".to_owned());
    store.label(&id, &label).expect("is named");
    assert_eq!(store.summary(&id).expect("is there").label, label);
    let first = store.events(&id).expect("is there").next().expect("has a beginning").expect("reads back");
    let Event::RunStarted(kept) = first else { panic!("it is a start") };
    assert_eq!((kept.label, kept.target.as_str()), (label, "http://127.0.0.1:8080/"));
    assert_eq!(store.find("before"), Ok(id.clone()));
    store.label(&id, &Label::default()).expect("is made nameless");
    assert!(store.summary(&id).expect("is there").label.is_empty());
    let nobody = RunId("b".to_owned());
    assert!(matches!(store.label(&nobody, &Label::default()), Err(Error::NoRun { .. })));
}

/// The third schema had no names, and the machine only in the events.
#[test]
fn a_store_of_the_third_schema_is_brought_up_to_date() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("t.db");
    let db = rusqlite::Connection::open(&path).expect("opens");
    for sql in [
        include_str!("../../migrations/1.sql"),
        include_str!("../../migrations/2.sql"),
        include_str!("../../migrations/3.sql"),
        "PRAGMA user_version = 3; PRAGMA application_id = 0x746f726d",
    ] {
        db.execute_batch(sql).expect("is of the third schema");
    }
    // Events from before labels have no such field.
    let mut old = started("old", 1, None, &[]);
    let Event::RunStarted(begun) = &mut old else { panic!("it is a start") };
    begun.label = Label::default();
    let old = serde_json::to_string(&old).expect("can be written");
    assert!(!old.contains("label"), "{old}");
    for (key, id, json) in [
        (1, "old", Some(old.as_str())),
        (2, "torn", Some("{\"event\":")),
        (3, "other", Some("{}")),
        (4, "empty", None),
    ] {
        db.execute(
            "INSERT INTO run (key, id, started_unix_ms, command, target, goal, version, method, writer_boot, writer_pid, writer_start)
             VALUES (?1, ?2, ?1, 'run', 't', 'g', '0.1.0', 2, '', 1, 1)",
            rusqlite::params![key, id],
        )
        .expect("adds a run");
        if let Some(json) = json {
            db.execute("INSERT INTO event VALUES (?1, 0, ?2)", rusqlite::params![key, json])
                .expect("adds its beginning");
        }
    }
    drop(db);
    let mut store = Store::open(&path).expect("is brought up to date");
    let hosts: Vec<(String, Option<String>, Option<u32>)> = store
        .list(&Filter::default())
        .expect("lists")
        .into_iter()
        .map(|r| (r.id.0, r.host, r.cpus))
        .collect();
    let none = |id: &str| (id.to_owned(), None, None);
    let hill = ("old".to_owned(), Some("hill".to_owned()), Some(2));
    assert_eq!(hosts, [none("empty"), none("other"), none("torn"), hill]);
    let id = RunId("old".to_owned());
    let first = store.events(&id).expect("is there").next().expect("has a beginning").expect("reads back");
    assert!(matches!(&first, Event::RunStarted(begun) if begun.label.is_empty()), "{first:?}");
    let label = Label { name: Some("first".to_owned()), ..Label::default() };
    for id in ["old", "torn", "empty"] {
        store.label(&RunId(id.to_owned()), &label).expect("is named");
    }
    assert_eq!(store.find("first").expect("finds").0, "empty", "the latest of that name");
}

/// Prints how long a list of many runs takes, and shows that no event is read for it; a busy machine must not fail it.
#[test]
fn ten_thousand_runs_are_listed_from_their_rows_alone() {
    const RUNS: u32 = 10_000;
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("t.db");
    let store = Store::open(&path).expect("opens");
    keep(&store, &started("0", 0, Some("first"), &["nightly"]));
    let db = rusqlite::Connection::open(&path).expect("opens");
    db.execute(
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < ?1 - 1)
         INSERT INTO run (id, started_unix_ms, ended_unix_ms, command, target, goal, version, method, exit_code,
             writer_boot, writer_pid, writer_start, name, tags, git_commit, host, processor, cpus, alike, search_ended, lower, upper)
         SELECT 'run-' || k, k, k, command, target || (k % 7), goal, version, method, 0, writer_boot, writer_pid, writer_start,
             'name-' || (k % 100), tags, git_commit, host, processor, cpus, alike, 'converged', 1000, 1020 FROM run, n",
        [RUNS],
    )
    .expect("adds runs");
    // A query of the events would find no table.
    db.execute_batch("ALTER TABLE event RENAME TO elsewhere").expect("renames");
    let timed = |what: &str, filter: &Filter| {
        let begin = Instant::now();
        let count = store.list(filter).expect("lists").len();
        println!("{what}: {count} of {RUNS} runs in {:?}", begin.elapsed());
        count
    };
    assert_eq!(timed("all", &Filter::default()), RUNS as usize);
    let named = Filter { name: Some("name-7".to_owned()), ..Filter::default() };
    assert_eq!(timed("by name", &named), 100);
    let tagged = Filter { tags: vec!["nightly".to_owned()], limit: Some(20), ..Filter::default() };
    assert_eq!(timed("by tag, 20", &tagged), 20);
    let begin = Instant::now();
    assert_eq!(store.find("name-7").expect("finds").0, "run-9907");
    println!("found by name in {:?}", begin.elapsed());
    let plan = |sql: &str| -> String {
        db.query_row(&format!("EXPLAIN QUERY PLAN {sql}"), [], |row| row.get(3)).expect("has a plan")
    };
    let list = plan("SELECT id FROM run ORDER BY started_unix_ms DESC, key DESC");
    assert!(list.contains("run_by_time"), "{list}");
    let name = plan("SELECT id FROM run WHERE name = 'x' ORDER BY started_unix_ms DESC, key DESC LIMIT 1");
    assert!(name.contains("run_by_name"), "{name}");
    let latest = store.list(&Filter { limit: Some(1), ..Filter::default() }).expect("lists").remove(0);
    assert_eq!(latest.previous_limit.expect("all are alike").id.0, "run-9998");
    let before = plan(
        "SELECT key FROM run WHERE alike = 1 AND (started_unix_ms, key) < (5, 5) AND search_ended IS NOT NULL
         AND lower IS NOT NULL AND upper IS NOT NULL ORDER BY started_unix_ms DESC, key DESC LIMIT 1",
    );
    assert!(before.contains("run_by_limit"), "{before}");
}
