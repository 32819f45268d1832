//! Each rule against windows made by hand, after what was measured of real services: what it says, and
//! that its neighbours keep quiet.

use record::watch::{
    Cgroup, CpuQuota, FutexOp, Group, Host, Jvm, Listener, MemoryLimit, Neighbour, Peer, Postgres,
    PostgresInfo, Role, Sessions, State, Subject, SubjectWindow, Sweep, TaskLimit, Wait, Watched, Window,
};
use record::{
    Cause, Caveat, Costs, Diagnosis, Ended, Event, Failure, Judgement, Lack, NoFinding, Outcome, Purpose,
    Recovery, RunId, Slice, TrialResult, Verdict,
};
use torment_diagnosis::{Recording, diagnose};
use units::{Bytes, Nanos, Rate};

const CPUS: f64 = 2.0;

fn ns(processors: f64) -> u64 {
    (processors * 1e9) as u64
}

fn futex(within_s: Option<u32>) -> Wait {
    Wait::Futex { op: FutexOp::WaitBitset, within_s, shared: false }
}

fn peer() -> Wait {
    Wait::Peer { address: "127.0.0.1:5432".to_owned() }
}

fn workers(on_cpu: f64, runnable: f64, states: &[(Wait, f64)]) -> Group {
    let states: Vec<State> =
        states.iter().map(|(wait, threads)| State { wait: wait.clone(), threads: *threads }).collect();
    Group {
        name: "http-nio-N-exec-N".to_owned(),
        threads: states.iter().map(|s| s.threads).sum(),
        on_cpu_ns: ns(on_cpu),
        run_delay_ns: ns(runnable),
        switches: 0,
        states,
    }
}

/// A second in which the service is seen in full.
fn second(groups: Vec<Group>) -> Window {
    let used: f64 = groups.iter().map(|g| g.on_cpu_ns as f64 / 1e9).sum();
    let sweep =
        Sweep { due: 20, done: 20, threads: 200.0, looked_at: 200.0, readable: 200.0, ..Sweep::default() };
    Window {
        subjects: vec![SubjectWindow {
            groups,
            sweep: Some(sweep),
            processes: 1,
            cpu_ns: ns(used),
            ..SubjectWindow::default()
        }],
        host: Some(Host { cpus: 2, user_ns: ns(used), idle_ns: ns(CPUS - used), ..Host::default() }),
        ..Window::default()
    }
}

/// A load of some seconds: what was offered, answered, outstanding, and what was seen.
struct Load {
    rate: f64,
    answered: f64,
    outstanding: f64,
    response_ms: u64,
    window: Window,
    good: bool,
    invalid: Vec<Caveat>,
    failures: Vec<(Failure, u64)>,
}

fn load(rate: f64, answered: f64, outstanding: f64, response_ms: u64, window: Window) -> Load {
    let good = answered >= 0.99 * rate;
    Load { rate, answered, outstanding, response_ms, window, good, invalid: Vec::new(), failures: Vec::new() }
}

fn watched() -> Watched {
    Watched {
        level: record::watch::Level::Full,
        subjects: vec![
            Subject {
                pid: 1,
                name: "java".to_owned(),
                cpus: CPUS,
                java: Some("25".to_owned()),
                ..Subject::default()
            },
            Subject {
                pid: 2,
                role: Role::Downstream,
                name: "postgres".to_owned(),
                cpus: CPUS,
                listens: vec!["127.0.0.1:5432".to_owned()],
                is_postgres: true,
                ..Subject::default()
            },
        ],
        ..Watched::default()
    }
}

/// A search's trials of five seconds each.
fn judge(watched: Watched, loads: Vec<Load>) -> Diagnosis {
    judge_knowing(None, watched, loads)
}

/// The same, where it is known what the machine costs.
fn judge_knowing(costs: Option<Costs>, watched: Watched, loads: Vec<Load>) -> Diagnosis {
    diagnose(&recorded(costs, watched, loads))
}

fn recorded(costs: Option<Costs>, watched: Watched, loads: Vec<Load>) -> Recording {
    let mut recording = Recording::default();
    if let Some(costs) = costs {
        recording.fold(&Event::Known { costs });
    }
    recording.fold(&Event::WatchStarted { watched: Box::new(watched) });
    for (number, load) in (1..).zip(loads) {
        let rate = Rate(load.rate);
        recording.fold(&Event::TrialStarted {
            trial: number,
            purpose: Purpose::Measure,
            rate: Some(rate),
            duration: Some(Nanos::from_secs(5)),
            at_unix_ms: 0,
        });
        let mut total = Slice::default();
        for index in 0..5u32 {
            let mut slice = Slice {
                index,
                due: load.rate as u64,
                elapsed: Nanos::from_secs(1),
                loops: 1,
                ..Slice::default()
            };
            slice.outcomes.add(Outcome::Ok, load.answered as u64);
            for (failure, count) in &load.failures {
                slice.failures.insert(failure.clone(), *count);
                slice.outcomes.add(Outcome::Failed, *count);
            }
            slice.response.record_many(Nanos::from_millis(load.response_ms), load.answered.max(1.0) as u64);
            slice.outstanding_ns = ns(load.outstanding);
            recording.fold(&Event::SliceDone { trial: number, slice: Box::new(slice.clone()) });
            total.merge_after(&slice);
            let (from, to) = (Nanos::from_secs(index.into()), Nanos::from_secs(u64::from(index) + 1));
            let window = Window { from, to, ..load.window.clone() };
            recording.fold(&Event::Observed { trial: number, window: Box::new(window) });
        }
        recording.fold(&Event::TrialDone {
            trial: number,
            result: Box::new(TrialResult {
                purpose: Purpose::Measure,
                rate,
                planned: Nanos::from_secs(5),
                loaded: Nanos::from_secs(5),
                drain: Nanos::ZERO,
                hopeless: false,
                total,
                recovery: Recovery::NotNeeded,
                caveats: Vec::new(),
            }),
            judgement: Judgement {
                loss: 0.0,
                good: load.good,
                growth_per_second: None,
                invalid: load.invalid,
            },
        });
    }
    recording
}

fn sessions(state: &str, wait: Option<(&str, &str)>, count: f64) -> Sessions {
    Sessions {
        state: state.to_owned(),
        wait_type: wait.map(|w| w.0.to_owned()),
        wait_event: wait.map(|w| w.1.to_owned()),
        count,
    }
}

fn with_sessions(mut window: Window, sessions: Vec<Sessions>) -> Window {
    window.postgres =
        Some(Postgres { looks: 5, sessions, commits: 100, wal_syncs: Some(100), ..Postgres::default() });
    window.subjects.push(SubjectWindow { processes: 10, cpu_ns: ns(0.1), ..SubjectWindow::default() });
    window
}

#[track_caller]
fn expect(diagnosis: &Diagnosis, cause: Cause) {
    assert_eq!(diagnosis.cause(), Some(cause), "{diagnosis:#?}");
    assert!(!diagnosis.sentences.is_empty() && !diagnosis.chain.is_empty(), "{diagnosis:#?}");
    let finding = &diagnosis.findings[0];
    assert!(!finding.evidence.is_empty() && finding.confidence.value() > 0.3, "{finding:#?}");
}

/// Most of 200 workers idle; two in the database.
fn calm() -> Load {
    let window = second(vec![workers(0.02, 0.01, &[(futex(Some(60)), 198.0), (peer(), 2.0)])]);
    load(40.0, 40.0, 2.1, 51, window)
}

fn pool_of_ten() -> Window {
    let mut window =
        second(vec![workers(0.09, 0.21, &[(futex(Some(30)), 189.9), (peer(), 9.9), (Wait::Running, 0.2)])]);
    window.subjects[0].peers = vec![Peer {
        address: "127.0.0.1:5432".to_owned(),
        established: 10.0,
        least: 10,
        most: 10,
        time_wait: 0,
    }];
    window
}

#[test]
fn a_pool_of_ten() {
    let sleeping = |n| sessions("active", Some(("Timeout", "PgSleep")), n);
    let mut well = calm();
    well.window = with_sessions(well.window, vec![sleeping(2.0)]);
    let bad = load(300.0, 190.0, 390.0, 1900, with_sessions(pool_of_ten(), vec![sleeping(9.9)]));
    let diagnosis = judge(watched(), vec![well, bad]);
    expect(&diagnosis, Cause::Pool);
    let arithmetic = diagnosis.arithmetic.as_ref().expect("ten connections over the time held");
    assert!(arithmetic.agrees() && (arithmetic.ceiling.0 - 200.0).abs() < 5.0, "{arithmetic:?}");
    assert_eq!(diagnosis.findings[0].confidence.word(), "high", "{:#?}", diagnosis.findings[0]);
    assert_eq!(
        diagnosis.chain,
        ["200 workers", "10 connections to 127.0.0.1:5432 (postgres)", "10 sessions in Timeout:PgSleep"]
    );
    for word in ["10 connections", "5432", "190", "50 ms"] {
        assert!(diagnosis.sentences.join(" ").contains(word), "{word}: {:?}", diagnosis.sentences);
    }
    assert!(diagnosis.prediction.is_some_and(|p| p.capacity == Some(Rate(380.0))));
}

#[test]
fn a_pool_before_sessions_that_wait_for_a_row() {
    let lock =
        |n| vec![sessions("active", Some(("Lock", "transactionid")), n), sessions("active", None, 1.0)];
    let bad = load(300.0, 190.0, 390.0, 1900, with_sessions(pool_of_ten(), lock(9.0)));
    let diagnosis = judge(watched(), vec![calm(), bad]);
    expect(&diagnosis, Cause::PostgresLock);
    let pool = diagnosis.findings.iter().find(|f| f.cause == Cause::Pool).expect("it is seen as well");
    assert_eq!(pool.follows_from, Some(Cause::PostgresLock));
}

#[test]
fn one_lock() {
    let window = second(vec![workers(0.08, 0.06, &[(futex(None), 198.9), (Wait::Sleep, 1.0)])]);
    let well = second(vec![workers(0.02, 0.01, &[(futex(Some(60)), 199.8), (Wait::Sleep, 0.2)])]);
    let diagnosis =
        judge(watched(), vec![load(40.0, 40.0, 0.2, 5, well), load(300.0, 188.0, 390.0, 2000, window)]);
    expect(&diagnosis, Cause::Lock);
    assert!(
        diagnosis.arithmetic.as_ref().is_some_and(record::Arithmetic::agrees),
        "{:?}",
        diagnosis.arithmetic
    );
}

#[test]
fn workers_that_sleep_or_wait_for_another_service() {
    let well = || {
        load(
            400.0,
            400.0,
            40.0,
            100,
            second(vec![workers(0.1, 0.1, &[(futex(Some(60)), 160.0), (Wait::Sleep, 40.0)])]),
        )
    };
    let asleep = second(vec![workers(0.18, 0.2, &[(Wait::Sleep, 197.8), (Wait::Running, 2.2)])]);
    let diagnosis = judge(watched(), vec![well(), load(3000.0, 1949.0, 900.0, 400, asleep)]);
    expect(&diagnosis, Cause::Workers);
    assert!(
        diagnosis.arithmetic.as_ref().is_some_and(record::Arithmetic::agrees),
        "{:?}",
        diagnosis.arithmetic
    );
    let elsewhere = Wait::Peer { address: "10.0.0.7:80".to_owned() };
    let calling = second(vec![workers(0.18, 0.2, &[(elsewhere, 199.0), (Wait::Running, 1.0)])]);
    let diagnosis = judge(watched(), vec![well(), load(3000.0, 1949.0, 900.0, 400, calling)]);
    expect(&diagnosis, Cause::Workers);
    assert!(diagnosis.findings.iter().any(|f| f.cause == Cause::Downstream), "{diagnosis:#?}");
    assert!(diagnosis.chain.contains(&"10.0.0.7:80".to_owned()));
}

#[test]
fn processors() {
    let burning = || {
        let mut window = second(vec![workers(
            1.85,
            95.0,
            &[(Wait::Running, 97.0), (futex(None), 34.0), (futex(Some(60)), 69.0)],
        )]);
        window.own.cpu_ns = ns(0.1);
        window
    };
    let well = || {
        load(
            100.0,
            100.0,
            1.0,
            10,
            second(vec![workers(0.45, 0.2, &[(Wait::Running, 0.6), (futex(Some(60)), 199.4)])]),
        )
    };
    let diagnosis = judge(watched(), vec![well(), load(600.0, 412.0, 400.0, 900, burning())]);
    expect(&diagnosis, Cause::Cpu);
    assert!(
        diagnosis.arithmetic.as_ref().is_some_and(record::Arithmetic::agrees),
        "{:?}",
        diagnosis.arithmetic
    );

    let mut held = second(vec![workers(0.48, 36.9, &[(Wait::Running, 37.4), (futex(Some(60)), 12.0)])]);
    held.subjects[0].cgroup = Some(Cgroup {
        cpu: Some(CpuQuota {
            group: "/app".to_owned(),
            cpus: 0.5,
            periods: 10,
            throttled: 10,
            throttled_ns: ns(1.5),
        }),
        ..Cgroup::default()
    });
    let diagnosis = judge(watched(), vec![well(), load(600.0, 93.0, 400.0, 900, held)]);
    expect(&diagnosis, Cause::CpuQuota);

    let mut crowded = second(vec![workers(
        0.6,
        95.0,
        &[(Wait::Running, 96.0), (futex(None), 34.0), (futex(Some(60)), 70.0)],
    )]);
    let host = crowded.host.as_mut().expect("it is there");
    (host.idle_ns, host.neighbours_cpu_ns) = (0, ns(1.3));
    host.neighbours = vec![Neighbour { pid: 77, name: "ffmpeg".to_owned(), cpu_ns: ns(1.3) }];
    let diagnosis = judge(watched(), vec![well(), load(600.0, 130.0, 400.0, 900, crowded)]);
    expect(&diagnosis, Cause::Neighbour);
    assert!(diagnosis.sentences[0].contains("ffmpeg"), "{:?}", diagnosis.sentences);
}

/// A Tomcat and its database held to one processor: the pool's waiters and the transactions that stay open are symptoms.
#[test]
fn what_switches_take_is_told_where_it_is_known_and_matters() {
    let judged = |costs: Option<Costs>, switches: u64| {
        let mut threads = workers(1.85, 95.0, &[(Wait::Running, 97.0), (futex(None), 103.0)]);
        threads.switches = switches;
        judge_knowing(costs, watched(), vec![calm(), load(600.0, 412.0, 400.0, 900, second(vec![threads]))])
    };
    let told = |diagnosis: &Diagnosis| {
        expect(diagnosis, Cause::Cpu);
        let evidence = diagnosis.findings.iter().flat_map(|finding| &finding.evidence);
        evidence.map(|one| one.text.clone()).find(|text| text.contains("context switches"))
    };
    let costs = Costs {
        run: RunId("p1".to_owned()),
        switch: Some(Nanos::from_micros(2)),
        thread: Some(Bytes(36_300)),
    };
    let text = told(&judged(Some(costs.clone()), 100_000)).expect("they take 0.2 processors of 1.85");
    assert!(text.contains("at 2 µs each (torment probe, run p1): 0.2 of the 1.9 processors"), "{text}");
    assert_eq!(told(&judged(Some(costs), 1_000)), None, "0.002 processors explain nothing");
    assert_eq!(told(&judged(None, 100_000)), None, "nobody knows what one costs");
}

#[test]
fn one_processor_for_the_service_and_its_database() {
    let threads = workers(0.58, 17.0, &[(futex(Some(30)), 180.0), (Wait::Running, 17.0)]);
    let idle = sessions("idle in transaction", None, 6.5);
    let mut window = with_sessions(second(vec![threads]), vec![idle, sessions("active", None, 0.2)]);
    window.subjects[1].cpu_ns = ns(0.37);
    let together = |processors: [Vec<u32>; 2]| {
        let mut watched = watched();
        for (subject, processors) in watched.subjects.iter_mut().zip(processors) {
            subject.cpus = 1.0;
            subject.processors = processors;
        }
        judge(watched, vec![calm(), load(3000.0, 2000.0, 900.0, 800, window.clone())])
    };
    let diagnosis = together([vec![0], vec![0]]);
    expect(&diagnosis, Cause::Cpu);
    assert!(diagnosis.sentences[0].contains("shares 1 processor with postgres"), "{:?}", diagnosis.sentences);
    let apart = together([vec![0], vec![1]]);
    assert_ne!(apart.cause(), Some(Cause::Cpu), "each has room on its own");
}

#[test]
fn refusals() {
    let quiet = || second(vec![workers(0.1, 0.1, &[(futex(Some(60)), 196.0), (Wait::Sleep, 4.0)])]);
    let mut full = quiet();
    full.subjects[0].listeners = vec![Listener { address: "127.0.0.1:80".to_owned(), queued: 6, backlog: 5 }];
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
    open.subjects[0].descriptors = Some(record::watch::Usage { used: 1024, limit: 1024 });
    expect(&judge(watched(), vec![well(), load(100.0, 10.0, 60.0, 900, open)]), Cause::Descriptors);
}

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
    for (cause, states) in [
        (
            Cause::PostgresWal,
            vec![
                sessions("active", Some(("LWLock", "WALWrite")), 12.0),
                sessions("active", Some(("IO", "WalSync")), 2.0),
                sessions("active", None, 3.0),
            ],
        ),
        (
            Cause::PostgresLock,
            vec![
                sessions("active", Some(("Lock", "advisory")), 19.0),
                sessions("active", Some(("Timeout", "PgSleep")), 1.0),
            ],
        ),
        (
            Cause::PostgresReads,
            vec![sessions("active", Some(("IO", "DataFileRead")), 17.0), sessions("active", None, 3.0)],
        ),
        (
            Cause::PostgresIdleInTransaction,
            vec![sessions("idle in transaction", Some(("Client", "ClientRead")), 19.0)],
        ),
    ] {
        let bad = load(400.0, 200.0, 300.0, 900, with_sessions(reading(), states));
        expect(&judge(watched(), vec![well(), bad]), cause);
    }
    let mut busy = with_sessions(reading(), vec![sessions("active", None, 18.0)]);
    busy.subjects[1] = SubjectWindow {
        groups: vec![Group {
            name: "postgres".to_owned(),
            threads: 20.0,
            on_cpu_ns: ns(1.4),
            run_delay_ns: ns(5.0),
            switches: 0,
            states: vec![],
        }],
        ..SubjectWindow::default()
    };
    busy.host.as_mut().expect("it is there").idle_ns = 0;
    expect(&judge(watched(), vec![well(), load(400.0, 200.0, 300.0, 900, busy)]), Cause::PostgresCpu);

    let mut refused = load(400.0, 200.0, 30.0, 900, reading());
    refused.failures = vec![(Failure::Database("53300 sorry, too many clients already".to_owned()), 100)];
    let mut about = watched();
    about.postgres = Some(PostgresInfo {
        settings: vec![("max_connections".to_owned(), "20".to_owned())],
        ..PostgresInfo::default()
    });
    expect(&judge(about, vec![well(), refused]), Cause::PostgresConnections);
}

#[test]
fn the_virtual_machine() {
    let compilers = |on: f64| Group {
        name: "C2 CompilerThre".to_owned(),
        threads: 1.0,
        on_cpu_ns: ns(on),
        run_delay_ns: ns(0.1),
        switches: 0,
        states: vec![],
    };
    let well = || {
        load(
            100.0,
            100.0,
            1.0,
            10,
            second(vec![workers(0.2, 0.1, &[(futex(Some(60)), 199.0), (Wait::Running, 1.0)])]),
        )
    };
    let mut collecting = second(vec![workers(
        0.62,
        2.9,
        &[(futex(None), 33.0), (futex(Some(60)), 11.0), (Wait::Running, 6.0)],
    )]);
    collecting.subjects[0].jvm =
        Some(Jvm { pauses: 50, pause_ns: ns(0.3), heap_max_bytes: 1 << 28, ..Jvm::default() });
    expect(&judge(watched(), vec![well(), load(900.0, 500.0, 200.0, 300, collecting)]), Cause::Gc);

    let mut cold =
        second(vec![workers(0.8, 10.0, &[(Wait::Running, 12.0), (futex(Some(60)), 180.0)]), compilers(0.9)]);
    cold.subjects[0].jvm = Some(Jvm { compiles: 900, classes: 200, ..Jvm::default() });
    expect(&judge(watched(), vec![load(300.0, 150.0, 200.0, 300, cold)]), Cause::ColdJit);
}

/// A JVM is never quite done compiling; a pool that is exhausted meanwhile is exhausted all the same.
#[test]
fn a_pool_in_a_jvm_that_still_compiles() {
    let mut window = pool_of_ten();
    window.subjects[0].groups.push(Group {
        name: "C2 CompilerThre".to_owned(),
        threads: 1.0,
        on_cpu_ns: ns(0.3),
        run_delay_ns: ns(0.1),
        switches: 0,
        states: vec![],
    });
    window.subjects[0].jvm = Some(Jvm { compiles: 1_000, classes: 3, ..Jvm::default() });
    window.host.as_mut().expect("it is there").idle_ns = 0;
    expect(&judge(watched(), vec![calm(), load(300.0, 190.0, 390.0, 1900, window)]), Cause::Pool);
}

#[test]
fn the_generator_is_suspected_first() {
    let quiet = second(vec![workers(0.1, 0.1, &[(futex(Some(60)), 200.0)])]);
    let mut bad = load(9000.0, 8000.0, 400.0, 30, quiet.clone());
    bad.invalid = vec![Caveat::new("generator-late", "the generator itself was 30 ms late at p99")];
    let diagnosis = judge(watched(), vec![load(100.0, 100.0, 1.0, 1, quiet), bad]);
    expect(&diagnosis, Cause::Generator);
}

/// A hiccup of the generator far above a limit that was found is no verdict.
#[test]
fn a_generator_that_is_late_beyond_the_limit_is_not_the_limit() {
    let mut late = load(500.0, 190.0, 390.0, 1900, pool_of_ten());
    late.invalid = vec![Caveat::new("generator-late", "the generator itself was 30 ms late at p99")];
    let bad = load(300.0, 190.0, 390.0, 1900, pool_of_ten());
    expect(&judge(watched(), vec![calm(), late, bad]), Cause::Pool);
}

/// "1 connections could not be made" was said of thousands of arrivals, for void trials were counted; and "too many open
/// files" of our own was taken for the words of a full PostgreSQL.
#[test]
fn what_torment_lacks_is_its_own_and_counted_in_arrivals() {
    let about = || Watched {
        postgres: Some(PostgresInfo {
            settings: vec![("max_connections".to_owned(), "20".to_owned())],
            ..PostgresInfo::default()
        }),
        ..watched()
    };
    for (lack, code, cause, count, words) in [
        (Lack::Port, "ports-exhausted", Cause::Ports, 700, "3,500 arrivals failed for want of a local port"),
        (
            Lack::Descriptor,
            "descriptors-exhausted",
            Cause::OwnDescriptors,
            20,
            "100 arrivals failed for want of a",
        ),
        (
            Lack::Watch,
            "watches-exhausted",
            Cause::OwnDescriptors,
            20,
            "100 arrivals failed for want of a watch of",
        ),
        (
            Lack::Memory,
            "memory-exhausted",
            Cause::OwnDescriptors,
            20,
            "want of a piece of the kernel's memory",
        ),
    ] {
        let mut void = load(900.0, 150.0, 30.0, 10, calm().window);
        void.failures = vec![(Failure::Lacking(lack), count)];
        void.invalid = vec![Caveat::new(code, "as the runner says it")];
        let diagnosis = judge(about(), vec![calm(), void]);
        expect(&diagnosis, cause);
        assert!(diagnosis.sentences[0].contains(words), "{:?}", diagnosis.sentences);
        assert!(diagnosis.findings.iter().all(|finding| finding.cause != Cause::PostgresConnections));
    }
}

/// After "the limit was not reached" stood "I do not know what gave first": one trial on the way had failed by chance.
#[test]
fn a_limit_that_was_not_reached_has_no_cause() {
    let odd = second(vec![workers(0.1, 0.1, &[(Wait::Other { what: "io_uring_enter".to_owned() }, 20.0)])]);
    let trials = || {
        vec![
            load(50.0, 50.0, 1.0, 10, odd.clone()),
            load(100.0, 50.0, 90.0, 900, odd.clone()),
            load(100.0, 100.0, 1.0, 10, odd.clone()),
        ]
    };
    let before = judge(watched(), trials());
    assert_eq!(before.none, Some(NoFinding::Unexplained), "{before:#?}");
    let ended = Event::RunEnded {
        at_unix_ms: 0,
        verdict: Some(Verdict::Limits {
            limits: Vec::new(),
            ended: Ended::MaxReached,
            curve: Vec::new(),
            detection_limit: 0.01,
            trials: 3,
            loaded: Nanos::from_secs(15),
            background: None,
            generator: None,
        }),
        exit_code: 0,
        error: None,
    };
    let mut recording = recorded(None, watched(), trials());
    recording.fold(&ended);
    let diagnosis = diagnose(&recording);
    assert_eq!((diagnosis.cause(), diagnosis.none), (None, Some(NoFinding::NotSaturated)), "{diagnosis:#?}");
    let said = "Nothing gave: the target held the most that was allowed, 100/s; that it was not well at 100/s on the way was chance.";
    assert_eq!(diagnosis.sentences, [said]);
}

#[test]
fn nothing_gave() {
    let diagnosis = judge(watched(), vec![calm()]);
    assert_eq!((diagnosis.cause(), diagnosis.none), (None, Some(NoFinding::NotSaturated)));
}

#[test]
fn what_is_not_known_is_said() {
    // Outside only.
    let diagnosis = judge(Watched::default(), vec![load(100.0, 50.0, 90.0, 900, Window::default())]);
    assert_eq!((diagnosis.cause(), diagnosis.none), (None, Some(NoFinding::NotObservable)));
    // Seen, and nothing fits: half of the workers in some unknown call.
    let odd = second(vec![workers(0.1, 0.1, &[(Wait::Other { what: "io_uring_enter".to_owned() }, 20.0)])]);
    let diagnosis = judge(watched(), vec![load(100.0, 50.0, 10.0, 900, odd)]);
    assert_eq!((diagnosis.cause(), diagnosis.none), (None, Some(NoFinding::Unexplained)), "{diagnosis:#?}");
    assert!(diagnosis.sentences[0].contains("io_uring_enter"), "{:?}", diagnosis.sentences);
}
