//! A database and its metrics, watched through a trial as in a run.

use plan::DatabaseAddress;
use record::watch::{CloserLook, WatchCoverage, WatchEvent, Window};
use std::net::TcpListener;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use torment_observe::{TargetLocation, TargetWatch, start};

/// Timeout for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn database(url: &str) -> DatabaseAddress {
    let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
    DatabaseAddress {
        host: "127.0.0.1".to_owned(),
        port: port.expect("the testbed's URL has a port"),
        user: "postgres".to_owned(),
        password: None,
        name: "postgres".to_owned(),
        tls: false,
        insecure: false,
    }
}

#[derive(Default)]
struct Sightings {
    watched: WatchCoverage,
    windows: Vec<(u32, Window)>,
    looks: Vec<(u32, CloserLook)>,
}

impl Sightings {
    fn receive_until(&mut self, watch: &TargetWatch, what: &str, enough: impl Fn(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !enough(self) {
            assert!(Instant::now() < until, "{what} was not told; windows: {:?}", self.windows);
            sleep(Duration::from_millis(50));
            for seen in watch.drain() {
                match seen {
                    WatchEvent::Watched(watched) => self.watched = *watched,
                    WatchEvent::Window(trial, window) => self.windows.push((trial, *window)),
                    WatchEvent::Look(trial, look) => self.looks.push((trial, look)),
                }
            }
        }
    }
}

#[test]
fn a_trial_has_windows_of_the_database_and_looks_at_it() {
    let settings = ["shared_preload_libraries=pg_stat_statements"];
    let Ok(server) = testbed::TestPostgres::start_with(&settings) else {
        eprintln!("SKIPPED: PostgreSQL, or its contrib modules, are not installed");
        return;
    };
    let connect = || postgres::Client::connect(&server.url(), postgres::NoTls).expect("it takes connections");
    let mut client = connect();
    client.batch_execute("CREATE EXTENSION pg_stat_statements; CREATE TABLE t (n int)").expect("SQL");
    client.batch_execute("INSERT INTO t VALUES (1)").expect("SQL");

    let asked = plan::WatchPlan { postgres: Some(database(&server.url())), ..plan::WatchPlan::default() };
    let watch = start(&asked, &TargetLocation::Unknown).expect("a thread can be started");
    let mut told = Sightings::default();
    told.receive_until(&watch, "what is watched", |told| told.watched.postgres.is_some());
    let info = told.watched.postgres.clone().expect("just seen");
    assert_eq!(info.setting("max_connections"), Some("100"));
    assert!(told.watched.missing.iter().all(|missing| !missing.what.contains("PostgreSQL")));

    watch.begin(7);
    client.batch_execute("BEGIN; UPDATE t SET n = 2").expect("SQL");
    let blocked: Vec<_> = (0..3)
        .map(|_| {
            let mut client = connect();
            // Ends when the first one does.
            spawn(move || client.batch_execute("UPDATE t SET n = n + 1").expect("SQL"))
        })
        .collect();
    let locked = |window: &Window| {
        let sessions = window.postgres.iter().flat_map(|postgres| &postgres.sessions);
        let locked = sessions.filter(|s| s.state == "active" && s.wait_type.as_deref() == Some("Lock"));
        locked.map(|s| s.count).sum::<f64>()
    };
    told.receive_until(&watch, "three that wait for a lock", |told| {
        told.windows.iter().any(|(trial, window)| *trial == 7 && locked(window) > 2.9)
    });
    told.receive_until(&watch, "who blocks whom", |told| {
        told.looks
            .iter()
            .any(|(_, look)| matches!(look, CloserLook::Blockers { blocked } if blocked.len() == 3))
    });
    client.batch_execute("COMMIT").expect("SQL");
    blocked.into_iter().for_each(|thread| thread.join().expect("it got its lock"));
    watch.end();
    told.receive_until(&watch, "what the statements cost", |told| {
        told.looks.iter().any(|(_, look)| match look {
            CloserLook::Statements { statements } => {
                statements.iter().any(|s| s.text == "UPDATE t SET n = n + $1" && s.calls == 3)
            }
            _ => false,
        })
    });
    assert!(told.looks.iter().all(|(trial, _)| *trial == 7));
}

#[test]
fn what_cannot_be_asked_is_missing_and_everything_else_goes_on() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let nobody = format!("postgres://u@{}/db", listener.local_addr().expect("it is bound"));
    drop(listener);
    let asked = plan::WatchPlan { postgres: Some(database(&nobody)), ..plan::WatchPlan::default() };
    let watch = start(&asked, &TargetLocation::Unknown).expect("a thread can be started");
    let mut told = Sightings::default();
    told.receive_until(&watch, "what is missing", |told| {
        let missing = told.watched.missing.iter().find(|missing| missing.what == "PostgreSQL");
        missing.is_some_and(|missing| missing.why.contains("refused"))
    });
    assert_eq!(told.watched.postgres, None);
    watch.begin(1);
    told.receive_until(&watch, "a window", |told| !told.windows.is_empty());
    assert_eq!(told.windows[0].1.postgres, None);
}
