//! Writes: every acknowledged one is a row afterwards, exactly once. On SQLite, and on PostgreSQL where installed.

use crate::program::target::TargetProcess;
use crate::program::{LoadTurn, ProcessOutput, Sandbox, adds_up, outcome};
use serde_json::{Value, json};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use testbed::TestPostgres;

/// Owners that the clinic has from the start.
const SEEDED: u64 = 1_000;

/// What was written, according to the database itself.
struct WrittenRows {
    rows: u64,
    /// Distinct last names; every request has its own.
    names: u64,
}

const WRITTEN: &str =
    "SELECT count(*), count(DISTINCT last_name) FROM owners WHERE last_name LIKE 'N%-torment'";

fn in_sqlite(path: &std::path::Path) -> WrittenRows {
    let db = rusqlite::Connection::open(path).expect("the clinic's database");
    let read =
        |row: &rusqlite::Row<'_>| Ok(WrittenRows { rows: count(row.get(0)?), names: count(row.get(1)?) });
    db.query_row(WRITTEN, [], read).expect("the clinic's table")
}

fn in_postgres(server: &TestPostgres) -> WrittenRows {
    let mut db = postgres::Client::connect(&server.url(), postgres::NoTls).expect("the server answers");
    let row = db.query_one(WRITTEN, &[]).expect("the clinic's table");
    WrittenRows { rows: count(row.get(0)), names: count(row.get(1)) }
}

fn count(n: i64) -> u64 {
    u64::try_from(n).expect("a count")
}

/// A form that the clinic accepts, different in every request.
const FORM: [&str; 5] = [
    "--form=first_name=Ada",
    "--form=last_name=N{counter}-torment",
    "--form=address=1 Fair Way & Co.",
    "--form=city=Łódź",
    "--form=telephone={counter}",
];

/// `command` on the form that creates owners, with further arguments.
fn post(
    sandbox: &Sandbox,
    command: &str,
    target: &TargetProcess,
    arguments: &[&str],
) -> (ProcessOutput, Value) {
    let url = target.url("/owners/new");
    let (ended, json) =
        sandbox.json([&[command, &*url, "--expect-status", "302"], &FORM[..], arguments].concat());
    println!("{}", ended.stderr);
    (ended, json)
}

/// The clinic's counts, once it has written everything: requests whose client gave up are completed all the same.
fn settled(target: &TargetProcess) -> Value {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let truth = target.truth("/owners/new");
        if truth["in_flight"] == 0 {
            return truth;
        }
        assert!(Instant::now() < until, "it never ends: {truth:#}");
        sleep(Duration::from_millis(20));
    }
}

/// Panics unless rows and acknowledgements agree.
fn assert_agree(trials: &[Value], target: &TargetProcess, written: impl Fn() -> WrittenRows) {
    settled(target);
    let mut acknowledged = 0;
    // These may have been written or not: nobody was told.
    let mut unknown = 0;
    for trial in trials {
        adds_up(trial);
        acknowledged += outcome(trial, "ok") + outcome(trial, "late");
        unknown += ["failed", "timeout", "unfinished"].iter().map(|name| outcome(trial, name)).sum::<u64>();
    }
    let WrittenRows { rows, names } = written();
    println!("{acknowledged} acknowledged, {unknown} without an answer, {rows} rows of {names} names");
    assert!(rows >= acknowledged, "{} acknowledged writes are lost", acknowledged - rows);
    assert!(rows <= acknowledged + unknown, "{} rows too many", rows - acknowledged - unknown);
    assert_eq!(names, rows, "a request was sent twice");
    assert_eq!(target.owners(), SEEDED + rows, "the clinic sees what the database holds");
    let truth = settled(target);
    let said = truth["statuses"]["302"].as_u64().unwrap_or(0);
    // A client that left before the answer got none.
    let away = truth["abandoned"].as_u64().unwrap_or(0);
    assert!(said <= rows && rows <= said + away, "a redirect for each row: {truth:#}");
    assert!(said >= acknowledged && away <= unknown, "torment and the clinic disagree: {truth:#}");
}

#[track_caller]
fn find(sandbox: &Sandbox, target: &TargetProcess, written: impl Fn() -> WrittenRows) {
    // Disk times vary on a busy machine, and a search with them: some of it will do.
    let short = ["--from", "50", "--max", "100", "--trial", "1s", "--budget", "40s"];
    let (ended, found) = post(sandbox, "find", target, &short);
    assert!([0, 91].contains(&ended.code()), "{ended}");
    let trials = found["trials"].as_array().expect("trials");
    assert!(
        trials.iter().map(|t| outcome(t, "ok")).sum::<u64>() > 100,
        "hardly anything was written: {ended}"
    );
    assert!(found["limits"][0]["lower"].as_f64().is_some_and(|lower| lower >= 10.0), "{ended}");
    assert_agree(trials, target, written);
}

#[track_caller]
fn run(sandbox: &Sandbox, target: &TargetProcess, written: impl Fn() -> WrittenRows) {
    // Random arrivals come in bursts: several writes are in flight at once. Disk times vary on a busy machine: half of
    // them would do.
    let load = ["-r", "100", "-d", "3s", "--arrivals", "poisson", "--goal", "loss<50%"];
    let (ended, run) = post(sandbox, "run", target, &load);
    let ended = ended.measured();
    assert!(outcome(&run["trial"], "ok") > 200, "{ended}");
    assert_agree(std::slice::from_ref(&run["trial"]), target, written);
}

#[test]
fn a_search_loses_no_write_on_sqlite() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let database = sandbox.path("clinic.db");
    let target = TargetProcess::start(&sandbox, &["--database", database.to_str().expect("UTF-8")]);
    find(&sandbox, &target, || in_sqlite(&database));
}

#[test]
fn a_load_loses_no_write_on_sqlite_in_any_model() {
    let _turn = LoadTurn::shared();
    for model in ["pool", "threads", "async"] {
        let sandbox = Sandbox::new();
        let database = sandbox.path("clinic.db");
        let target = TargetProcess::start(
            &sandbox,
            &["--database", database.to_str().expect("UTF-8"), "--model", model],
        );
        run(&sandbox, &target, || in_sqlite(&database));
    }
}

#[test]
fn a_search_loses_no_write_on_postgresql() {
    let _turn = LoadTurn::shared();
    let Some(server) = TestPostgres::start() else { return };
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--database", &server.url()]);
    find(&sandbox, &target, || in_postgres(&server));
}

#[test]
fn a_load_loses_no_write_on_postgresql_in_any_model() {
    let _turn = LoadTurn::shared();
    for model in ["pool", "threads", "async"] {
        let Some(server) = TestPostgres::start() else { return };
        let sandbox = Sandbox::new();
        let target = TargetProcess::start(&sandbox, &["--database", &server.url(), "--model", model]);
        run(&sandbox, &target, || in_postgres(&server));
    }
}

/// For a second another client locks the database, beyond everybody's timeout: the clinic writes what its clients have
/// long given up.
#[test]
fn what_was_given_up_may_be_written_but_nothing_else() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let database = sandbox.path("clinic.db");
    let file = database.to_str().expect("UTF-8");
    let target = TargetProcess::start(&sandbox, &["--database", file, "--model", "threads"]);
    let other = thread::spawn({
        let database = database.clone();
        move || {
            let latest = Instant::now() + Duration::from_secs(30);
            while in_sqlite(&database).rows < 50 && Instant::now() < latest {
                sleep(Duration::from_millis(20));
            }
            let mut db = rusqlite::Connection::open(database).expect("the clinic's database");
            db.busy_timeout(Duration::from_secs(5)).expect("a sound time");
            let writes = rusqlite::TransactionBehavior::Immediate;
            let _held = db.transaction_with_behavior(writes).expect("the clinic's writes are short");
            sleep(Duration::from_secs(1));
        }
    });
    let (ended, run) = post(&sandbox, "run", &target, &["-r", "200", "-d", "3s", "--timeout", "100ms"]);
    other.join().expect("the lock was to be had");
    let trial = &run["trial"];
    assert!([92, 99].contains(&ended.code()), "{ended}");
    assert!(outcome(trial, "timeout") > 100 && outcome(trial, "ok") > 100, "{ended}");
    assert_agree(std::slice::from_ref(trial), &target, || in_sqlite(&database));
}

#[test]
fn a_rejected_form_is_a_failure_with_its_status() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &[]);
    let mut form = FORM.to_vec();
    form[4] = "--form=telephone=";
    let url = target.url("/owners/new");
    let once = sandbox.torment([&["run", "--once", &*url], &form[..]].concat()).expect(99);
    assert!(once.stdout.contains("telephone: must not be blank"), "{once}");

    let (ended, run) = sandbox.load([&["run", &*url, "-r", "50", "-d", "1s"], &form[..]].concat());
    let ended = ended.expect(99);
    let trial = &run["trial"];
    assert_eq!(outcome(trial, "failed"), 50, "{ended}");
    assert_eq!(trial["failures"], json!([{ "reason": "status 400", "count": 50 }]), "{ended}");
    let text = sandbox.torment(["show"]).expect(0).stdout;
    assert!(text.contains("goal not met") && text.contains("status 400"), "{text}");
    assert_eq!(target.owners(), SEEDED);
}
