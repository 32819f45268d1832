//! PostgreSQL's checkpoints, and harmless ones.

use crate::builders::*;
use record::watch::{PostgresServer, PostgresWindow, WatchCoverage, Window};
use record::{Cause, Diagnosis};

/// Five seconds of a database that writes, with the increase of its counters in each.
fn seconds(writes: f64, grown: [PostgresWindow; 5]) -> Vec<Window> {
    let busy = |grown: PostgresWindow| {
        let waiting = sessions("active", Some(("IO", "DataFileSync")), writes);
        let window = second(vec![workers(0.1, 0.1, &[(peer(), 10.0)])]);
        let mut window = with_sessions(window, vec![waiting, sessions("active", None, 10.0 - writes)]);
        let seen = window.postgres.as_mut().expect("it was asked");
        *seen = PostgresWindow { looks: seen.looks, sessions: seen.sessions.clone(), commits: 100, ..grown };
        window
    };
    grown.map(busy).to_vec()
}

fn asked() -> PostgresWindow {
    PostgresWindow { checkpoints_requested: 1, ..PostgresWindow::default() }
}

fn ended(ms: f64) -> PostgresWindow {
    PostgresWindow {
        checkpoint_write_ms: 0.8 * ms,
        checkpoint_sync_ms: 0.2 * ms,
        ..PostgresWindow::default()
    }
}

fn none() -> PostgresWindow {
    PostgresWindow::default()
}

fn judged(well: Vec<Window>, bad: Vec<Window>) -> Diagnosis {
    let info = PostgresServer {
        settings: vec![("max_wal_size".to_owned(), "64MB".to_owned())],
        ..PostgresServer::default()
    };
    let about = WatchCoverage { postgres: Some(info), ..watched() };
    let calm = second(vec![workers(0.1, 0.1, &[(peer(), 2.0)])]);
    let mut loads = [load(100.0, 100.0, 2.0, 20, calm.clone()), load(400.0, 250.0, 300.0, 900, calm)];
    (loads[0].each, loads[1].each) = (well, bad);
    judge(about, loads.into())
}

fn quiet() -> Vec<Window> {
    seconds(0.5, [none(), none(), none(), none(), none()])
}

fn named(diagnosis: &Diagnosis) -> bool {
    diagnosis.findings.iter().any(|finding| finding.cause == Cause::PostgresCheckpoints)
}

#[test]
fn checkpoints_for_the_amount_written_while_sessions_wait_for_the_disk() {
    // One requested in the first second ends in the fourth, after 3.2 s; another is requested in the last.
    let pressed = || [asked(), none(), none(), ended(3_200.0), asked()];
    let diagnosis = judged(quiet(), seconds(6.0, pressed()));
    expect(&diagnosis, Cause::PostgresCheckpoints);
    let said = &diagnosis.sentences[0];
    assert!(said.contains("100 % of the slow seconds") && said.contains("6 of 10 busy sessions"), "{said}");
    assert!(diagnosis.next[0].contains("max_wal_size, now 64MB"), "{:?}", diagnosis.next);

    let rare = [none(), none(), none(), ended(900.0), none()];
    let timed = || PostgresWindow { checkpoints_timed: 1, checkpoints_requested: 0, ..none() };
    for (well, bad, why) in [
        (quiet(), seconds(1.0, pressed()), "one of ten sessions waits for the disk"),
        (quiet(), seconds(6.0, rare), "one of five seconds, and nobody pressed"),
        (quiet(), seconds(6.0, [timed(), none(), none(), ended(3_200.0), none()]), "the time brought it"),
        (seconds(0.5, pressed()), seconds(6.0, pressed()), "as many when well"),
    ] {
        let diagnosis = judged(well, bad);
        assert!(!named(&diagnosis), "{why}: {diagnosis:#?}");
    }
}

/// Commits wait for the log because a checkpoint occupies the disk.
#[test]
fn what_waits_for_the_log_meanwhile_follows() {
    let mut bad = seconds(5.0, [asked(), none(), none(), ended(3_900.0), asked()]);
    for window in &mut bad {
        let seen = window.postgres.as_mut().expect("it was asked");
        seen.sessions.push(sessions("active", Some(("LWLock", "WALWrite")), 8.0));
    }
    let diagnosis = judged(quiet(), bad);
    expect(&diagnosis, Cause::PostgresCheckpoints);
    let wal = diagnosis.findings.iter().find(|f| f.cause == Cause::PostgresWal).expect("8 of 18 wait for it");
    assert_eq!(wal.follows_from, Some(Cause::PostgresCheckpoints));
}
