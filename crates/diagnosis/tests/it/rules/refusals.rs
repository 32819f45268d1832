//! Refusals.

use crate::builders::*;
use record::Cause;
use record::watch::{Cgroup, ListenSocket, MemoryLimit, TaskLimit, ThreadWait, WatchedProcesses};

#[test]
fn refusals() {
    let quiet = || second(vec![workers(0.1, 0.1, &[(futex(Some(60)), 196.0), (ThreadWait::Sleep, 4.0)])]);
    let mut full = quiet();
    full.subjects[0].listeners =
        vec![ListenSocket { address: "127.0.0.1:80".to_owned(), queued: 6, backlog: 5 }];
    full.network = Some(record::watch::Network { listen_overflows: 56, ..Default::default() });
    let well = || load(40.0, 40.0, 2.0, 50, quiet());
    expect(&judge(watched(), vec![well(), load(100.0, 50.0, 90.0, 900, full)]), Cause::AcceptQueue);

    let mut limited = quiet();
    limited.subjects[0].cgroup = Some(Cgroup {
        tasks: Some(TaskLimit { group: "/app".to_owned(), used: 64, limit: 64, refused: Some(30) }),
        ..Cgroup::default()
    });
    expect(&judge(watched(), vec![well(), load(100.0, 50.0, 60.0, 900, limited)]), Cause::TaskLimit);

    let mut killed = quiet();
    killed.subjects[0].cgroup = Some(Cgroup {
        memory: Some(MemoryLimit {
            group: "/app".to_owned(),
            used_bytes: 100,
            limit_bytes: 100,
            failures: 5,
            kills: 1,
            ..MemoryLimit::default()
        }),
        ..Cgroup::default()
    });
    expect(&judge(watched(), vec![well(), load(100.0, 10.0, 60.0, 900, killed)]), Cause::MemoryLimit);

    let mut open = quiet();
    open.subjects[0].descriptors = Some(record::watch::LimitUsage { used: 1024, limit: 1024 });
    expect(&judge(watched(), vec![well(), load(100.0, 10.0, 60.0, 900, open)]), Cause::Descriptors);

    // RabbitMQ had none left at the end of an overload, and was down from then on: once is enough.
    let busy = |used: u64| {
        let mut window = second(vec![workers(1.95, 6.0, &[(ThreadWait::Running, 20.0)])]);
        window.subjects[0].descriptors = Some(record::watch::LimitUsage { used, limit: 1024 });
        load(1_600.0, 1_400.0, 900.0, 600, window)
    };
    let found =
        judge(watched(), [well()].into_iter().chain([300, 400, 500, 700, 900, 1024].map(busy)).collect());
    expect(&found, Cause::Cpu);
    assert!(found.findings.iter().any(|finding| finding.cause == Cause::Descriptors), "{found:#?}");
}

/// Flask's development server makes a thread for each connection, and closes it after the answer: more acceptors would wait for the
/// interpreter, too.
#[test]
fn who_accepts_waits_for_the_interpreter() {
    let flask = |run: f64, accept: f64| {
        let states =
            [(ThreadWait::Accept, accept), (ThreadWait::Running, 1.0 - accept), (futex(Some(1)), 1.0)];
        second(vec![workers(run, 0.2, &states)])
    };
    let mut full = flask(0.9, 0.0);
    full.subjects[0].listeners =
        vec![ListenSocket { address: "127.0.0.1:9106".to_owned(), queued: 129, backlog: 128 }];
    full.network = Some(record::watch::Network { listen_overflows: 1089, ..Default::default() });
    let judged = |name: &str| {
        let mut watched = watched();
        watched.subjects[0] =
            WatchedProcesses { name: name.to_owned(), java: None, ..watched.subjects[0].clone() };
        let well = load(1_000.0, 1_000.0, 1.8, 1, flask(0.5, 0.5));
        judge(watched, vec![well, load(1_860.0, 1_700.0, 1_200.0, 200, full.clone())])
    };
    let python = judged("python3.11");
    expect(&python, Cause::Lock);
    assert!(python.sentences[0].ends_with("the others wait for the interpreter's lock."), "{python:#?}");
    assert!(python.next[0].starts_with("more processes instead of threads"), "{:?}", python.next);
    let queue = python.findings.iter().find(|found| found.cause == Cause::AcceptQueue);
    assert_eq!(queue.and_then(|found| found.follows_from), Some(Cause::Lock), "{python:#?}");
    assert_ne!(judged("served").cause(), Some(Cause::Lock));
}
