//! The previous run: which it is, and what its row alone tells.

use crate::run_started::run_started;
use record::{Event, Limit, LimitUnit, RunId, RunStart, SearchEnd, Verdict};
use torment_store::{Filter, PreviousLimit, Store};
use units::Nanos;

const PLAN: &str = "[target]\nurl = \"demo\"\n";

/// The start of a search, modified by `other`.
fn started(id: &str, at_unix_ms: u64, other: impl FnOnce(&mut RunStart)) -> Event {
    let mut event = run_started("find", id, at_unix_ms);
    let Event::RunStarted(started) = &mut event else { panic!("it is a start") };
    started.plan = PLAN.to_owned();
    other(started);
    event
}

fn ended(lower: Option<f64>, held: Option<f64>, upper: Option<f64>) -> Event {
    let limit = Limit {
        goal: "nine-of-ten".to_owned(),
        held,
        lower,
        upper,
        unit: LimitUnit::Requests,
        regular: true,
        good_trials: 3,
        bad_trials: 1,
        lower_due: 1000,
        lower_bad: 0,
        throughput: None,
    };
    let verdict = Verdict::Limits {
        limits: vec![limit],
        ended: SearchEnd::Converged,
        curve: Vec::new(),
        detection_limit: 0.006,
        trials: 14,
        loaded: Nanos::from_secs(71),
        background: None,
        warmed_up: None,
        overloaded: None,
        generator: None,
    };
    Event::RunEnded(Box::new(record::RunEnd {
        at_unix_ms: 2_000_000,
        verdict: Some(verdict),
        exit_code: 0,
        error: None,
    }))
}

fn keep(store: &Store, begin: &Event, end: Option<&Event>) {
    let mut recording = store.begin(begin).expect("begins");
    end.into_iter().for_each(|event| recording.append(event).expect("is taken"));
    recording.finish().expect("is kept");
}

fn before(store: &Store, id: &str) -> Option<String> {
    store.summary(&RunId(id.to_owned())).expect("is there").previous_limit.map(|before| before.id.0)
}

#[test]
fn the_run_before_is_the_last_one_alike() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    let found = |rate: f64| ended(Some(rate), Some(rate + 5.0), Some(rate + 10.0));
    let same = |_: &mut RunStart| {};
    keep(&store, &started("a", 1, same), Some(&found(1000.0)));
    keep(&store, &started("b", 2, same), Some(&found(900.0)));
    keep(&store, &started("other plan", 3, |run| run.plan = "other".to_owned()), Some(&found(1.0)));
    keep(&store, &started("other target", 3, |run| run.target = "other".to_owned()), Some(&found(1.0)));
    keep(&store, &started("other machine", 3, |run| run.machine.cpus = 64), Some(&found(1.0)));
    keep(&store, &started("other method", 3, |run| run.method = 1), Some(&found(1.0)));
    let part = |run: &mut RunStart| run.part_of = Some(RunId("a".to_owned()));
    keep(&store, &started("part", 3, part), Some(&found(1.0)));
    // None of these came to a limit with both bounds.
    keep(&store, &started("no end", 4, same), None);
    keep(&store, &started("no bound below", 5, same), Some(&ended(None, None, Some(10.0))));
    keep(&store, &started("no bound above", 6, same), Some(&ended(Some(800.0), None, None)));
    keep(&store, &started("c", 7, same), Some(&found(950.0)));
    // Of two begun at the same time, the one stored later is the later one.
    keep(&store, &started("d", 7, same), Some(&found(960.0)));

    for (id, expected) in [
        ("a", None),
        ("b", Some("a")),
        ("other plan", None),
        ("other target", None),
        ("other machine", None),
        ("other method", None),
        ("part", None),
        ("no end", None),
        ("no bound below", None),
        ("no bound above", Some("b")),
        ("c", Some("b")),
        ("d", Some("c")),
    ] {
        assert_eq!(before(&store, id).as_deref(), expected, "{id}");
    }
    let latest = Filter { limit: Some(1), ..Filter::default() };
    let run = store.list(&latest).expect("lists").remove(0);
    assert_eq!((run.id.0.as_str(), run.held), ("d", Some(965.0)));
    let c = PreviousLimit { id: RunId("c".to_owned()), held: Some(955.0), lower: 950.0, upper: 960.0 };
    assert_eq!(run.previous_limit, Some(c), "it need not be in the list itself");

    store.remove(&RunId("c".to_owned())).expect("is removed");
    assert_eq!(before(&store, "d").as_deref(), Some("b"));
    store.remove(&RunId("other plan".to_owned())).expect("is removed");
    let db = rusqlite::Connection::open(store.path()).expect("opens");
    let left: u32 =
        db.query_row("SELECT count(*) FROM alike", [], |row| row.get(0)).expect("they are counted");
    assert_eq!(left, 4, "the plan of a removed run is kept nowhere");
    let plans = store.plans().expect("are read");
    assert_eq!(plans.len(), 4);
    assert!(plans.values().all(|plan| plan == PLAN), "{plans:?}");
    let latest = store.list(&latest).expect("lists").remove(0);
    assert!(plans.contains_key(&latest.comparable_key.expect("its plan is known")));
}

/// The fourth schema had plans only in the events, and no held rate.
#[test]
fn a_store_of_the_fourth_schema_is_brought_up_to_date() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("t.db");
    let db = rusqlite::Connection::open(&path).expect("opens");
    for sql in [
        include_str!("../../migrations/1.sql"),
        include_str!("../../migrations/2.sql"),
        include_str!("../../migrations/3.sql"),
        include_str!("../../migrations/4.sql"),
        "PRAGMA user_version = 4; PRAGMA application_id = 0x746f726d",
    ] {
        db.execute_batch(sql).expect("is of the fourth schema");
    }
    let text = |event: &Event| serde_json::to_string(event).expect("can be written");
    let begin = text(&started("", 1, |_| {}));
    let end = text(&ended(Some(990.0), Some(1000.0), Some(1010.0)));
    for (key, id, first, last) in [
        (1, "old", Some(begin.as_str()), Some(end.as_str())),
        (2, "older torment", Some("{}"), None),
        (3, "torn", Some("{\"event\":"), Some("{\"event\":\"run_ended\",")),
        (4, "empty", None, None),
    ] {
        db.execute(
            "INSERT INTO run (key, id, started_unix_ms, ended_unix_ms, command, target, goal, version, method, writer_boot, writer_pid,
                 writer_start, search_ended, lower, upper, host, processor, cpus)
             VALUES (?1, ?2, ?1, ?1, 'find', 'http://127.0.0.1:8080/', 'g', '0.1.0', ?3, '', 1, 1, 'converged', 990, 1010, '', '', 0)",
            rusqlite::params![key, id, record::METHOD],
        )
        .expect("adds a run");
        for (seq, json) in [(0, first), (1, last)] {
            let Some(json) = json else { continue };
            db.execute("INSERT INTO event VALUES (?1, ?2, ?3)", rusqlite::params![key, seq, json])
                .expect("adds an event");
        }
    }
    drop(db);
    let store = Store::open(&path).expect("is brought up to date");
    let runs = store.list(&Filter::default()).expect("lists");
    let known: Vec<(&str, bool, Option<f64>)> =
        runs.iter().map(|run| (run.id.0.as_str(), run.comparable_key.is_some(), run.held)).collect();
    assert_eq!(
        known,
        [
            ("empty", false, None),
            ("torn", false, None),
            ("older torment", false, None),
            ("old", true, Some(1000.0))
        ]
    );
    keep(&store, &started("new", 9, |_| {}), Some(&ended(Some(1.0), None, Some(2.0))));
    assert_eq!(before(&store, "new").as_deref(), Some("old"));
}
