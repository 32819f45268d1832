//! PostgreSQL, by what its sessions wait for.

use crate::builders::*;
use record::watch::{PostgresServer, ThreadGroup, TreeWindow};
use record::{Cause, Failure};

#[test]
fn postgresql_says_what_its_sessions_wait_for() {
    let reading = || second(vec![workers(0.1, 0.1, &[(peer(), 20.0)])]);
    let well = || {
        load(
            100.0,
            100.0,
            2.0,
            20,
            with_sessions(
                second(vec![workers(0.05, 0.05, &[(futex(Some(60)), 18.0), (peer(), 2.0)])]),
                vec![sessions("active", None, 0.5)],
            ),
        )
    };
    for (cause, gave, states) in [
        (
            Cause::PostgresWal,
            "write-ahead log",
            vec![
                sessions("active", Some(("LWLock", "WALWrite")), 12.0),
                sessions("active", Some(("IO", "WalSync")), 2.0),
                sessions("active", None, 3.0),
            ],
        ),
        (
            Cause::PostgresLock,
            "an advisory lock",
            vec![
                sessions("active", Some(("Lock", "advisory")), 19.0),
                sessions("active", Some(("Timeout", "PgSleep")), 1.0),
            ],
        ),
        (
            Cause::PostgresReads,
            "pages not in memory",
            vec![sessions("active", Some(("IO", "DataFileRead")), 17.0), sessions("active", None, 3.0)],
        ),
        (
            Cause::PostgresIdleInTransaction,
            "19 sessions idle in transaction",
            vec![sessions("idle in transaction", Some(("Client", "ClientRead")), 19.0)],
        ),
    ] {
        let bad = load(400.0, 200.0, 300.0, 900, with_sessions(reading(), states));
        let diagnosis = judge(watched(), vec![well(), bad]);
        expect(&diagnosis, cause);
        let named: Vec<&str> =
            diagnosis.stations.iter().filter(|s| s.gave).map(|s| s.name.as_str()).collect();
        assert_eq!(named, [gave], "{:#?}", diagnosis.stations);
    }
    let mut busy = with_sessions(reading(), vec![sessions("active", None, 18.0)]);
    busy.subjects[1] = TreeWindow {
        groups: vec![ThreadGroup {
            name: "postgres".to_owned(),
            threads: 20.0,
            on_cpu_ns: ns(1.4),
            run_delay_ns: ns(5.0),
            switches: 0,
            states: vec![],
            full: None,
        }],
        ..TreeWindow::default()
    };
    busy.host.as_mut().expect("it is there").idle_ns = 0;
    expect(&judge(watched(), vec![well(), load(400.0, 200.0, 300.0, 900, busy)]), Cause::PostgresCpu);

    let mut refused = load(400.0, 200.0, 30.0, 900, reading());
    refused.failures = vec![(Failure::Database("53300 sorry, too many clients already".to_owned()), 100)];
    let mut about = watched();
    about.postgres = Some(PostgresServer {
        settings: vec![("max_connections".to_owned(), "20".to_owned())],
        ..PostgresServer::default()
    });
    expect(&judge(about, vec![well(), refused]), Cause::PostgresConnections);
}
