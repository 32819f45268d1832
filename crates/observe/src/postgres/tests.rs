//! Tests with a real server: its sessions' activity is known, and the windows must show it.

use super::*;
use crate::source::Source as _;
use ::postgres::{Client, NoTls};
use record::watch::{PostgresWindow, SessionCount};
use std::thread::{JoinHandle, sleep, spawn};
use testbed::TestPostgres as Server;

/// Timeout for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn connect(server: &Server) -> Client {
    Client::connect(&server.url(), NoTls).expect("the server takes connections")
}

/// A session that runs what may not end before the server does.
fn session(server: &Server, sql: &str) -> JoinHandle<()> {
    let (mut client, sql) = (connect(server), sql.to_owned());
    spawn(move || {
        // Fails when the server ends.
        let _ = client.batch_execute(&sql);
    })
}

fn cut(source: &mut PostgresSource) -> PostgresWindow {
    let mut window = Window::default();
    source.cut(&WatchScope::default(), &mut window);
    window.postgres.expect("it is always there")
}

/// Cuts until a window matches.
fn cut_until(
    source: &mut PostgresSource,
    what: &str,
    found: impl Fn(&PostgresWindow) -> bool,
) -> PostgresWindow {
    let until = Instant::now() + PATIENCE;
    let mut window = cut(source);
    while !found(&window) {
        assert!(Instant::now() < until, "{what} was not seen; the last window: {window:?}");
        sleep(Duration::from_millis(500));
        window = cut(source);
    }
    window
}

fn look_until<T>(source: &mut PostgresSource, what: &str, found: impl Fn(CloserLook) -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        source.read(&WatchScope::default());
        if let Some(it) = source.closer_looks().into_iter().find_map(&found) {
            return it;
        }
        assert!(Instant::now() < until, "{what} was not taken");
        sleep(Duration::from_millis(100));
    }
}

fn sessions(window: &PostgresWindow, state: &str, wait: Option<(&str, &str)>) -> f64 {
    let is =
        |s: &&SessionCount| s.state == state && s.wait_type.as_deref().zip(s.wait_event.as_deref()) == wait;
    window.sessions.iter().filter(is).map(|s| s.count).sum()
}

#[test]
fn windows_say_what_the_sessions_do() {
    let Some(server) = Server::start() else { return };
    let mut source = PostgresSource::open(&server.url()).expect("it answers");
    assert!(source.info.version >= 130_000, "{:?}", source.info);
    assert_eq!(source.info.setting("max_connections"), Some("200"));
    assert_eq!(source.info.setting("fsync"), Some("on"));
    assert_eq!(
        source.info.address,
        server.url().replace("postgres://postgres@", "").replace("/postgres", "")
    );
    // A superuser may read everything; the extension is not installed.
    let missing = source.missing();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].why.contains("CREATE EXTENSION"), "{missing:?}");

    let mut holder = connect(&server);
    holder
        .batch_execute("CREATE TABLE hot (id int PRIMARY KEY, n int); INSERT INTO hot VALUES (1, 0)")
        .expect("SQL");
    source.begin();
    let busy = "DO $$BEGIN LOOP PERFORM 1; END LOOP; END$$";
    let mut running = vec![session(&server, busy), session(&server, "SELECT pg_sleep(600)")];
    holder.batch_execute("BEGIN; UPDATE hot SET n = 1; SELECT pg_advisory_xact_lock(7)").expect("SQL");
    let holder_pid: i32 = holder.query_one("SELECT pg_backend_pid()", &[]).expect("SQL").get(0);
    running.extend((0..4).map(|_| session(&server, "UPDATE hot SET n = n + 4711 WHERE id = 1")));
    running.extend((0..3).map(|_| session(&server, "SELECT pg_advisory_lock(7)")));

    let rows = |w: &PostgresWindow| {
        sessions(w, "active", Some(("Lock", "transactionid")))
            + sessions(w, "active", Some(("Lock", "tuple")))
    };
    let window = cut_until(&mut source, "every session at its place", |w| {
        w.looks > 0
            && rows(w) == 4.0
            && sessions(w, "active", Some(("Lock", "advisory"))) == 3.0
            && sessions(w, "active", Some(("Timeout", "PgSleep"))) == 1.0
            && sessions(w, "active", None) == 1.0
            && sessions(w, "idle in transaction", Some(("Client", "ClientRead"))) == 1.0
    });
    assert_eq!((window.failed, window.error), (0, None));
    // Ten of the test's and ours, which is in no row.
    assert_eq!(window.connections, 11);
    assert_eq!(window.sessions.iter().map(|s| s.count).sum::<f64>(), 10.0);
    assert!(window.oldest_transaction_s > 0.0);

    // Not requested.
    let blocked = look_until(&mut source, "a look at who blocks whom", |look| match look {
        CloserLook::Blockers { blocked } => Some(blocked),
        _ => None,
    });
    assert_eq!(blocked.len(), 7, "{blocked:?}");
    assert!(blocked.iter().any(|b| b.by == [holder_pid as u32] && b.event == "transactionid"), "{blocked:?}");
    assert!(blocked.iter().any(|b| b.statement == "UPDATE hot SET n = n + ? WHERE id = ?"), "{blocked:?}");
    drop(holder);
    drop(server);
    running.into_iter().for_each(|thread| thread.join().expect("it ended with the server"));
}

#[test]
fn counters_are_what_the_load_did() {
    let Some(server) = Server::start() else { return };
    let mut client = connect(&server);
    client.batch_execute("CREATE TABLE t (n int)").expect("SQL");
    let mut source = PostgresSource::open(&server.url()).expect("it answers");
    source.begin();
    let (mut commits, mut rollbacks, mut wal) = (0, 0, 0);
    let until = Instant::now() + PATIENCE;
    while commits < 20 || rollbacks < 2 || wal < 2000 {
        assert!(Instant::now() < until, "{commits} commits, {rollbacks} rollbacks, {wal} bytes of WAL");
        client.batch_execute("INSERT INTO t SELECT generate_series(1, 100)").expect("SQL");
        client.batch_execute("BEGIN; SELECT 1; ROLLBACK").expect("SQL");
        sleep(Duration::from_millis(100));
        let window = cut(&mut source);
        commits += window.commits;
        rollbacks += window.rollbacks;
        wal += window.wal_bytes.unwrap_or_default();
        assert_eq!((window.wal_sync_ms, window.error), (None, None));
    }
    // Nothing is left after a cut.
    source.cut(&WatchScope::default(), &mut Window::default());
    assert!(cut(&mut source).commits < commits);
}

#[test]
fn a_server_that_was_away_is_watched_again() {
    let Some(mut server) = Server::start() else { return };
    let mut source = PostgresSource::open(&server.url()).expect("it answers");
    source.begin();
    cut_until(&mut source, "the first look", |w| w.looks > 0);
    server.stop();
    let lost = cut_until(&mut source, "the loss", |w| w.failed > 0 && w.looks == 0);
    let why = lost.error.expect("a reason");
    // Depends on when the server goes: announced, mid-message, slow to stop, or already gone.
    let reasons = ["refused", "57P0", "closed", "reset", "has not answered"];
    assert!(reasons.iter().any(|reason| why.contains(reason)), "{why}");
    server.start_again().expect("it started before");
    let again = cut_until(&mut source, "it again", |w| w.looks > 0 && w.failed == 0);
    assert_eq!((again.error, again.connections), (None, 1));
    // The new server's counters are not compared with the old one's.
    assert!(again.commits < 1000, "{}", again.commits);
}

#[test]
fn a_server_that_hangs_holds_nobody_up() {
    let Some(server) = Server::start() else { return };
    let mut source = PostgresSource::open(&server.url()).expect("it answers");
    cut_until(&mut source, "the first look", |w| w.looks > 0);
    let backend: i32 = connect(&server)
        .query_one("SELECT pid FROM pg_stat_activity WHERE application_name = 'torment'", &[])
        .expect("SQL")
        .get(0);
    let backend = rustix::process::Pid::from_raw(backend).expect("it is a process");
    rustix::process::kill_process(backend, rustix::process::Signal::STOP).expect("it is ours");
    let silent = cut_until(&mut source, "the silence", |w| w.looks == 0 && w.failed > 0);
    assert!(silent.error.is_some_and(|why| why.contains("has not answered for")), "no reason");
    rustix::process::kill_process(backend, rustix::process::Signal::CONT).expect("it is ours");
    cut_until(&mut source, "it again", |w| w.looks > 0 && w.failed == 0);
}

#[test]
fn full_is_evidence_and_the_reserved_connection_goes_on_looking() {
    let Ok(mut server) = Server::start_with(&["max_connections=12", "superuser_reserved_connections=3"])
    else {
        eprintln!("SKIPPED: PostgreSQL is not installed (apt-get install postgresql)");
        return;
    };
    connect(&server).batch_execute("CREATE ROLE app LOGIN; GRANT pg_monitor TO app").expect("SQL");
    let url = server.url().replace("postgres@", "app@");
    let mut source = PostgresSource::open(&url).expect("it answers");
    let fill =
        || -> Vec<Client> { std::iter::from_fn(|| Client::connect(&url, NoTls).ok()).take(20).collect() };
    let all = fill();
    assert!(!all.is_empty() && all.len() < 12);
    let full = cut_until(&mut source, "all connections", |w| w.connections == 9);
    assert_eq!(full.failed, 0);
    // One that comes too late is told why.
    let late = PostgresSource::open(&url).err().expect("there is no connection left");
    assert!(late.why.contains("53300"), "{late:?}");
    // The connection is lost and cannot be reopened: that is evidence.
    drop(all);
    server.stop();
    server.start_again().expect("it started before");
    let until = Instant::now() + PATIENCE;
    let mut held = Vec::new();
    while held.len() < 9 {
        assert!(Instant::now() < until, "never all of them: {}", held.len());
        held.extend(fill());
        // Ours may have been quicker and taken one: then it must go.
        let mut root = connect(&server);
        root.batch_execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'torment'",
        )
        .expect("SQL");
        drop(root);
        sleep(Duration::from_millis(50));
    }
    let refused =
        cut_until(&mut source, "the refusal", |w| w.error.as_deref().is_some_and(|e| e.starts_with("53300")));
    assert!(refused.failed > 0);
    drop(held);
    cut_until(&mut source, "it again", |w| w.looks > 0 && w.failed == 0);
}

#[test]
fn what_a_role_may_not_see_is_said_and_is_no_idleness() {
    let Some(server) = Server::start() else { return };
    connect(&server).batch_execute("CREATE ROLE app LOGIN; CREATE ROLE \"Other\" LOGIN").expect("SQL");
    let own = server.url().replace("postgres@", "app@");
    let mut source = PostgresSource::open(&own).expect("it answers");
    let missing = source.missing();
    assert!(missing.iter().any(|m| m.why.contains("GRANT pg_monitor TO app")), "{missing:?}");
    let mut same = Client::connect(&own, NoTls).expect("it takes connections");
    same.batch_execute("BEGIN").expect("SQL");
    let sleeper = session(&server, "SELECT pg_sleep(600)");
    let window = cut_until(&mut source, "both", |w| {
        sessions(w, "not permitted", None) == 1.0
            && sessions(w, "idle in transaction", Some(("Client", "ClientRead"))) == 1.0
    });
    assert_eq!(sessions(&window, "active", None), 0.0);
    drop(server);
    sleeper.join().expect("it ended with the server");
}

#[test]
fn who_is_not_let_in_is_told_why_without_the_password() {
    let Some(server) = Server::start() else { return };
    let mut root = connect(&server);
    root.batch_execute("CREATE ROLE app LOGIN PASSWORD 'right'").expect("SQL");
    let rules: String = root.query_one("SHOW hba_file", &[]).expect("SQL").get(0);
    let text = std::fs::read_to_string(&rules).expect("the folder is ours");
    std::fs::write(&rules, format!("host all app 127.0.0.1/32 scram-sha-256\n{text}"))
        .expect("the folder is ours");
    root.batch_execute("SELECT pg_reload_conf()").expect("SQL");
    let with = |password: &str| server.url().replace("postgres@", &format!("app:{password}@"));
    let until = Instant::now() + PATIENCE;
    let refused = loop {
        // Until the new rules are loaded.
        if let Err(missing) = PostgresSource::open(&with("geheim")) {
            break missing;
        }
        assert!(Instant::now() < until, "it was let in");
        sleep(Duration::from_millis(100));
    };
    assert!(refused.why.contains("28P01") && !refused.why.contains("geheim"), "{refused:?}");
    assert!(PostgresSource::open(&with("right")).is_ok());
    let nowhere =
        PostgresSource::open(&server.url().replace("/postgres", "/nowhere").replace("nowhere@", "postgres@"))
            .err()
            .expect("there is none");
    assert!(nowhere.why.contains("3D000"), "{nowhere:?}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    drop(listener);
    let refused =
        PostgresSource::open(&format!("postgres://u@127.0.0.1:{port}/db")).err().expect("nothing listens");
    assert!(
        refused.why.contains(&format!("127.0.0.1:{port}")) && refused.why.contains("refused"),
        "{refused:?}"
    );
}

#[test]
fn statements_are_told_with_what_they_cost() {
    let Ok(server) = Server::start_with(&["shared_preload_libraries=pg_stat_statements"]) else {
        eprintln!("SKIPPED: PostgreSQL, or its contrib modules, are not installed");
        return;
    };
    let mut client = connect(&server);
    client
        .batch_execute("CREATE SCHEMA \"My Own\"; CREATE EXTENSION pg_stat_statements SCHEMA \"My Own\"")
        .expect("SQL");
    let sleep_for = |client: &mut Client, n| {
        (0..n).for_each(|_| client.batch_execute("SELECT pg_sleep(0.01)").expect("SQL"))
    };
    sleep_for(&mut client, 50);
    let mut source = PostgresSource::open(&server.url()).expect("it answers");
    assert_eq!(source.missing(), []);
    source.begin();
    // The counters at the trial's start, and what follows them, have then been read.
    cut_until(&mut source, "a look in the trial", |w| w.commits > 0);
    sleep_for(&mut client, 5);
    client.batch_execute("SELECT 42").expect("SQL");
    source.end();
    let statements = look_until(&mut source, "what statements cost", |look| match look {
        CloserLook::Statements { statements } => Some(statements),
        CloserLook::Refused { why, .. } => panic!("{why}"),
        _ => None,
    });
    assert_eq!(
        (statements[0].text.as_str(), statements[0].calls),
        ("SELECT pg_sleep($1)", 5),
        "{statements:?}"
    );
    assert!(statements[0].total_ms >= 50.0, "{statements:?}");
    assert!(statements.iter().all(|s| !s.text.contains("torment")), "{statements:?}");
}
