//! The cause is behind a service that shows nothing: proxies.

use crate::builders::*;
use record::watch::{
    BusyThreads, CloserLook, PeerConnections, StackGroup, ThreadGroup, ThreadSampling, ThreadState,
    ThreadWait, TreeRole, TreeWindow, WatchCoverage, WatchedProcesses, Window,
};
use record::{Cause, Diagnosis, Event};

fn group(name: &str, used: f64, states: &[(ThreadWait, f64)]) -> ThreadGroup {
    let states: Vec<ThreadState> =
        states.iter().map(|(wait, threads)| ThreadState { wait: wait.clone(), threads: *threads }).collect();
    let threads = states.iter().map(|state| state.threads).sum();
    ThreadGroup { name: name.to_owned(), threads, on_cpu_ns: ns(used), states, ..ThreadGroup::default() }
}

/// nginx, and a downstream with these threads and connections.
fn nginx_before(behind: ThreadGroup, connections: u32) -> Window {
    let signal = ThreadWait::Other { what: "rt_sigsuspend".to_owned() };
    let mut window = second(vec![group("nginx", 0.02, &[(signal, 1.0), (ThreadWait::Events, 1.0)])]);
    let sweep = ThreadSampling {
        due: 20,
        done: 20,
        threads: 100.0,
        looked_at: 100.0,
        readable: 100.0,
        ..ThreadSampling::default()
    };
    window.subjects.push(TreeWindow {
        cpu_ns: behind.on_cpu_ns,
        groups: vec![behind],
        sweep: Some(sweep),
        processes: 5,
        clients: connections,
        ..TreeWindow::default()
    });
    window
}

fn watched_behind_nginx(name: &str) -> WatchCoverage {
    let subject = |role, name: &str| WatchedProcesses {
        pid: 1,
        role,
        name: name.to_owned(),
        cpus: CPUS,
        ..WatchedProcesses::default()
    };
    WatchCoverage {
        level: record::watch::AccessLevel::Full,
        subjects: vec![subject(TreeRole::Service, "nginx"), subject(TreeRole::Downstream, name)],
        ..WatchCoverage::default()
    }
}

/// PHP-FPM with four children of 50 ms each, as observed behind nginx: nothing was named, or what nginx serves "at a time".
fn php(asleep: f64, connections: u32) -> Window {
    nginx_before(
        group(
            "php-fpm8.2",
            0.02,
            &[(ThreadWait::Events, 1.0), (ThreadWait::Accept, 4.0 - asleep), (ThreadWait::Sleep, asleep)],
        ),
        connections,
    )
}

fn judge_php(connections: u32) -> Diagnosis {
    let loads =
        vec![load(48.0, 48.0, 2.4, 51, php(2.4, 3)), load(123.5, 78.0, 30.0, 380, php(3.97, connections))];
    judge(watched_behind_nginx("php-fpm8.2"), loads)
}

#[test]
fn all_workers_behind_a_proxy_are_taken() {
    let diagnosis = judge_php(30);
    expect(&diagnosis, Cause::Workers);
    let said = &diagnosis.sentences[0];
    assert!(said.starts_with("All 4 workers of php-fpm8.2 behind nginx are taken, and 4 sleep"), "{said}");
    assert!(diagnosis.arithmetic.as_ref().is_some_and(record::CapacityCheck::is_near), "{diagnosis:#?}");
    let way: Vec<&str> = diagnosis.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(way[way.len() - 3..], ["nginx", "4 workers", "time"], "{way:?}");
    assert!(
        diagnosis.stations.iter().find(|station| station.gave).is_some_and(|gave| gave.name == "4 workers")
    );
    assert_eq!(diagnosis.chain, ["nginx", "4 workers", "time"]);
    assert!(diagnosis.next.iter().any(|advice| advice.contains("pm.max_children")), "{:?}", diagnosis.next);
    let inside = diagnosis.findings.iter().find(|finding| finding.cause == Cause::Inside);
    assert!(inside.is_none_or(|finding| finding.follows_from == Some(Cause::Workers)), "{diagnosis:#?}");
}

/// As many are busy there as the service has connections to it: it could take more, and something before it holds requests back.
#[test]
fn who_has_a_worker_for_each_connection_is_not_what_gave() {
    let diagnosis = judge_php(4);
    assert_ne!(diagnosis.cause(), Some(Cause::Workers), "{diagnosis:#?}");
}

/// Their stacks show that they sleep in SQLite; those of the service, in threads of the same name, do not.
#[test]
fn who_sleeps_in_sqlite_behind_a_proxy() {
    let mut watched = watched_behind_nginx("python3.11");
    watched.subjects[1].pid = 2;
    let python = |asleep: f64, connections: u32| {
        let states = [(ThreadWait::Accept, 4.0 - asleep), (ThreadWait::Sleep, asleep)];
        nginx_before(group("gunicorn", 0.2, &states), connections)
    };
    for (pid, cause) in [(2, Cause::Lock), (1, Cause::Workers)] {
        let loads =
            vec![load(30.0, 30.0, 0.7, 21, python(0.7, 1)), load(60.0, 45.0, 30.0, 640, python(3.4, 30))];
        let mut recording = recorded(None, watched.clone(), loads);
        let at = StackGroup {
            group: "gunicorn".to_owned(),
            state: "clock_nanosleep".to_owned(),
            frame: "[libsqlite3.so.0.8.6]".to_owned(),
            asked_by: None,
            threads: 3,
        };
        let look = CloserLook::Stacks { pid, took_ns: 1, at: vec![at] };
        // At a moment of a trial that turned out good.
        recording.fold(&Event::Looked { trial: 1, place: String::new(), look });
        let diagnosis = torment_diagnosis::diagnose(&recording);
        expect(&diagnosis, cause);
        let said = &diagnosis.sentences[0];
        assert_eq!(
            said.contains("of 4 workers of python3.11 behind nginx sleep until SQLite"),
            pid == 2,
            "{said}"
        );
    }
}

#[test]
fn one_event_loop_behind_a_proxy_has_no_rest() {
    let node = |used: f64, events: f64| {
        let states = [(ThreadWait::Events, events), (ThreadWait::Running, 1.0 - events), (futex(None), 4.0)];
        let full = (used > 0.9).then(|| BusyThreads { threads: 1.0, on_cpu_ns: ns(used) });
        ThreadGroup { full, ..group("node", used, &states) }
    };
    let loads = vec![
        load(1_000.0, 1_000.0, 0.5, 1, nginx_before(node(0.5, 0.5), 2)),
        load(3_000.0, 2_000.0, 900.0, 400, nginx_before(node(0.99, 0.01), 512)),
    ];
    let diagnosis = judge(watched_behind_nginx("node"), loads);
    expect(&diagnosis, Cause::Cpu);
    let said = &diagnosis.sentences[0];
    assert!(said.contains("one event loop of node behind nginx, which keeps one processor busy"), "{said}");
}

/// Caddy before eight threads of gunicorn, as observed: "6.6 of caddy's 7.1 workers wait for one lock". Go's threads wait so for work.
#[test]
fn threads_of_go_that_have_no_work_wait_for_no_lock() {
    let caddy = |waiting: f64, behind: f64, connections: u32| {
        let python =
            group("gunicorn", 0.05, &[(ThreadWait::Events, 11.0 - behind), (ThreadWait::Sleep, behind)]);
        let mut window = nginx_before(python, connections);
        window.subjects[0].groups = vec![group(
            "caddy",
            0.06,
            &[
                (futex(None), waiting),
                (ThreadWait::Events, 0.9),
                (futex(Some(10)), 0.1),
                (ThreadWait::Running, 0.1),
            ],
        )];
        window
    };
    let mut watched = watched_behind_nginx("python3.11");
    watched.subjects[0] =
        WatchedProcesses { name: "caddy".to_owned(), is_go: true, ..watched.subjects[0].clone() };
    let loads = vec![
        load(45.7, 45.7, 5.1, 102, caddy(5.9, 4.6, 6)),
        load(98.0, 78.0, 19.2, 250, caddy(6.6, 7.92, 20)),
    ];
    let diagnosis = judge(watched, loads);
    expect(&diagnosis, Cause::Workers);
    let said = &diagnosis.sentences[0];
    assert!(said.starts_with("All 8 workers of python3.11 behind caddy are taken"), "{said}");
    assert!(diagnosis.findings.iter().all(|finding| finding.cause != Cause::Lock), "{diagnosis:#?}");
}

/// PgBouncer with ten connections to PostgreSQL, behind a service with fifty to it: requests were reported to wait in the service, which
/// "serves 10 at a time".
#[test]
fn a_pool_behind_the_service_is_full() {
    let pooler = || {
        let mut window = nginx_before(group("pgbouncer", 0.02, &[(ThreadWait::Events, 1.0)]), 50);
        let to = |address: &str, connections: u32| PeerConnections {
            address: address.to_owned(),
            established: f64::from(connections),
            least: connections,
            most: connections,
            time_wait: 0,
        };
        window.subjects[0].peers.push(to("127.0.0.1:6432", 50));
        window.subjects[1].peers.push(to("127.0.0.1:5432", 10));
        window
    };
    let loads = vec![load(118.0, 118.0, 5.95, 51, pooler()), load(220.0, 193.0, 36.0, 180, pooler())];
    let diagnosis = judge(watched_behind_nginx("pgbouncer"), loads);
    expect(&diagnosis, Cause::Pool);
    let said = &diagnosis.sentences[0];
    assert!(said.contains("in pgbouncer behind nginx, which has 10 connections to 127.0.0.1:5432"), "{said}");
}
