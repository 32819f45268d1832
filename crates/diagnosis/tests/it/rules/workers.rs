//! All workers are busy; and which threads are workers.

use crate::builders::*;
use record::watch::{
    ListenSocket, ThreadGroup, ThreadState, ThreadWait, TreeRole, WatchCoverage, WatchedProcesses, Window,
};
use record::{Cause, Diagnosis};

/// Puma's five threads, each asleep for 50 ms: Ruby sleeps the way it waits for its interpreter, and "only one of 5 computes at a time"
/// was reported with high confidence for one that used 0.03 of a processor.
#[test]
fn threads_of_ruby_that_sleep_do_not_wait_for_its_interpreter() {
    let puma = |asleep: f64| {
        let states = [(futex(Some(1)), asleep), (futex(None), 5.0 - asleep)];
        let group = ThreadGroup { name: "puma srv tp N".to_owned(), ..workers(0.03, 0.01, &states) };
        second(vec![group])
    };
    let subject = WatchedProcesses {
        pid: 1,
        role: TreeRole::Service,
        name: "ruby3.1".to_owned(),
        cpus: CPUS,
        ..WatchedProcesses::default()
    };
    let about = WatchCoverage {
        level: record::watch::AccessLevel::Full,
        subjects: vec![subject],
        ..WatchCoverage::default()
    };
    let loads = vec![load(62.0, 62.0, 3.0, 51, puma(3.1)), load(107.0, 98.0, 14.0, 150, puma(4.95))];
    let diagnosis = judge(about, loads);
    expect(&diagnosis, Cause::Workers);
    assert!(diagnosis.sentences[0].starts_with("All 5 workers of ruby3.1 are taken"), "{diagnosis:#?}");
}

/// The JDK's own HTTP server has one thread, and its clients wait in a queue of fifty: a longer queue was advised with high confidence,
/// "the service is idle". A helper that sleeps all the time is no worker.
#[test]
fn the_only_worker_may_be_taken() {
    let dispatcher = |asleep: f64| {
        let states =
            [(futex(Some(1)), asleep), (ThreadWait::Running, 0.05), (ThreadWait::Events, 0.95 - asleep)];
        let mut window =
            second(vec![ThreadGroup { name: "HTTP-Dispatcher".to_owned(), ..workers(0.05, 0.0, &states) }]);
        window.subjects[0].listeners =
            vec![ListenSocket { address: "127.0.0.1:80".to_owned(), queued: 51, backlog: 50 }];
        window
    };
    // What the first waits for in its clients is no part of that.
    let well = |asleep: f64| load(60.0, 60.0, 3.0, 51, dispatcher(asleep));
    let full = || load(105.0, 93.8, 61.0, 610, dispatcher(0.946));
    let diagnosis = judge(watched(), vec![well(0.6), full()]);
    expect(&diagnosis, Cause::Workers);
    assert!(
        diagnosis.sentences[0].starts_with("The only worker of java is taken, and it sleeps;"),
        "{:?}",
        diagnosis.sentences
    );
    assert!(diagnosis.arithmetic.as_ref().is_some_and(record::CapacityCheck::agrees), "{diagnosis:#?}");
    let helper = judge(watched(), vec![well(0.94), full()]);
    assert!(helper.findings.iter().all(|f| f.cause != Cause::Workers), "{helper:#?}");
}

#[test]
fn workers_that_sleep_or_wait_for_another_service() {
    let well = || {
        load(
            400.0,
            400.0,
            40.0,
            100,
            second(vec![workers(0.1, 0.1, &[(futex(Some(60)), 160.0), (ThreadWait::Sleep, 40.0)])]),
        )
    };
    let asleep = second(vec![workers(0.18, 0.2, &[(ThreadWait::Sleep, 197.8), (ThreadWait::Running, 2.2)])]);
    let diagnosis = judge(watched(), vec![well(), load(3000.0, 1949.0, 900.0, 400, asleep)]);
    expect(&diagnosis, Cause::Workers);
    assert!(
        diagnosis.arithmetic.as_ref().is_some_and(record::CapacityCheck::agrees),
        "{:?}",
        diagnosis.arithmetic
    );
    let elsewhere = ThreadWait::Peer { address: "10.0.0.7:80".to_owned() };
    let calling = second(vec![workers(0.18, 0.2, &[(elsewhere, 199.0), (ThreadWait::Running, 1.0)])]);
    let diagnosis = judge(watched(), vec![well(), load(3000.0, 1949.0, 900.0, 400, calling)]);
    expect(&diagnosis, Cause::Workers);
    assert!(diagnosis.findings.iter().any(|f| f.cause == Cause::Downstream), "{diagnosis:#?}");
    assert!(diagnosis.chain.contains(&"10.0.0.7:80".to_owned()));
}

/// Requests of 100 ms each in a Python server: a group of threads with its name.
fn python(states: &[(ThreadWait, f64)], processes: u32) -> Window {
    let states: Vec<ThreadState> =
        states.iter().map(|(wait, threads)| ThreadState { wait: wait.clone(), threads: *threads }).collect();
    let threads = states.iter().map(|state| state.threads).sum();
    let group = ThreadGroup {
        name: "gunicorn".to_owned(),
        threads,
        on_cpu_ns: ns(0.03),
        states,
        ..ThreadGroup::default()
    };
    let mut window = second(vec![group]);
    window.subjects[0].processes = processes;
    window
}

fn python_watched() -> WatchCoverage {
    let subject = WatchedProcesses {
        pid: 1,
        role: TreeRole::Service,
        name: "python3.11".to_owned(),
        cpus: CPUS,
        ..WatchedProcesses::default()
    };
    WatchCoverage {
        level: record::watch::AccessLevel::Full,
        subjects: vec![subject],
        ..WatchCoverage::default()
    }
}

fn gunicorn(well: (f64, Window), bad: (f64, f64, Window)) -> Diagnosis {
    let (rate, calm) = well;
    let (offered, answered, full) = bad;
    judge(
        python_watched(),
        vec![load(rate, rate, rate / 10.0, 101, calm), load(offered, answered, 96.0, 1_700, full)],
    )
}

/// "All 6 workers are taken" was reported of four, and "19" of sixteen: a supervisor, its helper and the acceptor of a thread pool have
/// the same name. As observed.
#[test]
fn who_does_the_same_at_any_load_is_no_worker() {
    let diagnosis = gunicorn(
        (20.0, python(&[(ThreadWait::Events, 3.0), (ThreadWait::Sleep, 2.0), (futex(Some(1)), 1.0)], 5)),
        (
            60.0,
            39.4,
            python(
                &[
                    (ThreadWait::Sleep, 3.93),
                    (futex(Some(1)), 1.0),
                    (ThreadWait::Events, 1.0),
                    (ThreadWait::Running, 0.07),
                ],
                5,
            ),
        ),
    );
    expect(&diagnosis, Cause::Workers);
    assert!(diagnosis.sentences[0].starts_with("All 4 workers of python3.11"), "{:?}", diagnosis.sentences);
    let arithmetic = diagnosis.arithmetic.as_ref().expect("4 / 101 ms");
    assert!(arithmetic.is_near(), "{arithmetic:?}");
    assert_eq!(diagnosis.findings[0].confidence.word(), "high");
    let others = |d: &Diagnosis| {
        d.findings[0].evidence.iter().find(|e| e.text.contains("not workers")).map(|e| e.value)
    };
    assert_eq!(others(&diagnosis), Some(2.0));

    let diagnosis = gunicorn(
        (
            60.0,
            python(
                &[
                    (ThreadWait::Sleep, 6.0),
                    (ThreadWait::Events, 2.0),
                    (futex(None), 1.0),
                    (futex(Some(1)), 1.0),
                ],
                2,
            ),
        ),
        (
            240.0,
            158.0,
            python(
                &[
                    (ThreadWait::Sleep, 15.8),
                    (ThreadWait::Events, 1.92),
                    (futex(Some(1)), 1.02),
                    (ThreadWait::Running, 0.26),
                ],
                2,
            ),
        ),
    );
    expect(&diagnosis, Cause::Workers);
    assert!(diagnosis.sentences[0].starts_with("All 16 workers of"), "{:?}", diagnosis.sentences);
    assert_eq!((diagnosis.findings[0].confidence.word(), others(&diagnosis)), ("high", Some(3.0)));
}

/// CherryPy has ten threads; two more of their name sleep at any time, one accepts and one waits: twelve were counted, because no more
/// than three were looked for.
#[test]
fn who_looks_busy_with_more_requests_than_there_are_is_no_worker() {
    let window = |asleep: f64| {
        python(&[(ThreadWait::Sleep, asleep), (ThreadWait::Events, 1.0), (futex(None), 13.0 - asleep)], 1)
    };
    let well = load(112.0, 112.0, 5.65, 51, window(7.6));
    let diagnosis = judge(python_watched(), vec![well, load(197.0, 194.0, 27.0, 140, window(11.95))]);
    expect(&diagnosis, Cause::Workers);
    assert!(diagnosis.sentences[0].starts_with("All 10 workers of"), "{:?}", diagnosis.sentences);
}

/// Of Tomcat's 200 threads one is usually between two requests, beside one that accepts and one that waits for events, of the same name:
/// it was counted as a third of these.
#[test]
fn who_is_on_its_way_to_the_next_request_is_a_worker() {
    let window = |asleep: f64| {
        let others = [(ThreadWait::Accept, 1.0), (ThreadWait::Events, 1.0)];
        let mine = [(ThreadWait::Sleep, asleep), (futex(None), 200.0 - asleep)];
        second(vec![workers(0.1, 0.02, &[others, mine].concat())])
    };
    let well = load(559.0, 559.0, 106.5, 200, window(110.3));
    let diagnosis = judge(watched(), vec![well, load(1_010.0, 990.0, 295.0, 300, window(199.15))]);
    expect(&diagnosis, Cause::Workers);
    assert!(diagnosis.sentences[0].starts_with("All 200 workers of"), "{:?}", diagnosis.sentences);
}

/// Hypercorn's worker serves ten at a time, and a helper of its name waits for a pipe at any load: it was counted, because averages of
/// states came to a thread less than two by a last digit, and nothing was reported.
#[test]
fn who_stands_by_is_so_to_the_last_digit() {
    let states = [(ThreadWait::Events, 0.59), (ThreadWait::Running, 0.4), (ThreadWait::Pipe, 0.999)];
    let well = load(92.0, 92.0, 5.0, 52, python(&states, 2));
    let full = load(204.0, 196.0, 94.0, 480, python(&states, 2));
    let diagnosis = judge(python_watched(), vec![well, full]);
    expect(&diagnosis, Cause::Inside);
    assert!(diagnosis.sentences[0].contains("serves 10 requests at a time"), "{:?}", diagnosis.sentences);
}

/// pypi-server's four threads on one processor: twice the processors would be of no use to its one interpreter.
#[test]
fn an_interpreter_that_fills_its_processor_wants_more_processes_too() {
    let window = |cpu: f64, ready: f64| {
        let mut window = python(&[(ThreadWait::Running, cpu + ready), (futex(None), 4.0)], 1);
        let service = &mut window.subjects[0];
        (service.groups[0].on_cpu_ns, service.groups[0].run_delay_ns) = (ns(cpu), ns(ready));
        window
    };
    let mut watched = python_watched();
    watched.subjects[0].cpus = 1.0;
    let well = load(3_524.0, 3_524.0, 1.0, 1, window(0.79, 0.85));
    let diagnosis = judge(watched, vec![well, load(6_460.0, 6_030.0, 400.0, 90, window(1.0, 3.1))]);
    expect(&diagnosis, Cause::Cpu);
    let prediction = format!("{:?}", diagnosis.prediction);
    assert!(prediction.contains("twice the processors and the processes"), "{prediction}");
}

/// Six workers, all of them asleep with a request when degraded and three of them when well, are six; and what is known of one side alone
/// is not sure.
#[test]
fn who_is_busy_with_a_request_is_a_worker() {
    let full = || python(&[(ThreadWait::Sleep, 5.9), (ThreadWait::Running, 0.1)], 7);
    let diagnosis = gunicorn(
        (30.0, python(&[(ThreadWait::Events, 3.0), (ThreadWait::Sleep, 3.0)], 7)),
        (90.0, 59.0, full()),
    );
    expect(&diagnosis, Cause::Workers);
    assert!(diagnosis.sentences[0].starts_with("All 6 workers"), "{:?}", diagnosis.sentences);
    // Near the limit nothing can be extrapolated from the two: those asleep count.
    let near = python(&[(ThreadWait::Events, 1.0), (ThreadWait::Sleep, 5.0)], 7);
    let diagnosis = gunicorn((50.0, near), (90.0, 59.0, full()));
    assert!(diagnosis.sentences[0].starts_with("All 6 workers"), "{:?}", diagnosis.sentences);
    let alone = judge(watched(), vec![load(90.0, 59.0, 96.0, 1_700, full())]);
    expect(&alone, Cause::Workers);
    assert_ne!(alone.findings[0].confidence.word(), "high", "{:#?}", alone.findings[0]);
}

/// 199 of 200 wait for a lock the way they waited for work: they look the same at any load, and are still workers.
#[test]
fn a_crowd_that_looks_idle_is_no_crowd_of_bystanders() {
    let well = second(vec![workers(0.02, 0.01, &[(futex(None), 199.8), (ThreadWait::Sleep, 0.2)])]);
    let full = second(vec![workers(0.08, 0.06, &[(futex(None), 198.9), (ThreadWait::Sleep, 1.1)])]);
    let diagnosis =
        judge(watched(), vec![load(40.0, 40.0, 0.2, 5, well), load(300.0, 188.0, 390.0, 2000, full)]);
    expect(&diagnosis, Cause::Lock);
    assert!(diagnosis.sentences[0].contains("200 workers"), "{:?}", diagnosis.sentences);
}

/// Three Python helpers always wait for a lock at any load, beside FastAPI's forty threads: 43 were counted, because there were more than
/// the one helper assumed per process.
#[test]
fn who_waits_alike_in_every_second_is_no_worker() {
    let window = |asleep: f64| {
        let mine = [(ThreadWait::Sleep, asleep), (futex(Some(9)), 40.0 - asleep)];
        python(&[vec![(futex(None), 3.0), (ThreadWait::Events, 1.0)], mine.to_vec()].concat(), 1)
    };
    let well = load(112.0, 112.0, 22.4, 201, window(22.4));
    let diagnosis = judge(python_watched(), vec![well, load(240.0, 198.0, 120.0, 600, window(39.8))]);
    expect(&diagnosis, Cause::Workers);
    assert!(diagnosis.sentences[0].starts_with("All 40 workers of"), "{:?}", diagnosis.sentences);
}

/// Django connects to its database for each request: of eight threads that waited for it three were seen at a connection that had closed
/// before it could be identified, and the cause was unknown.
#[test]
fn who_waits_at_a_connection_that_has_closed_waits_where_the_others_do() {
    let window = |reads: f64, closed: f64| {
        let others = [(ThreadWait::Events, 3.0), (futex(Some(1)), 1.0)];
        let idle = (futex(None), 8.0 - reads - closed);
        python(&[&others[..], &[(peer(), reads), (ThreadWait::Socket, closed), idle]].concat(), 3)
    };
    let well = load(60.0, 60.0, 3.4, 56, window(2.2, 1.1));
    let diagnosis = judge(python_watched(), vec![well, load(160.0, 141.0, 60.0, 450, window(4.9, 3.0))]);
    expect(&diagnosis, Cause::Workers);
    let said = &diagnosis.sentences[0];
    assert!(said.starts_with("All 8 workers of") && said.contains("127.0.0.1:5432"), "{said}");
}

/// Threads created on demand are not thread-per-request once their number stops growing; those that grow to the end are.
#[test]
fn a_pool_that_fills_is_a_number_of_workers() {
    let window = |n: f64| second(vec![workers(0.1, 0.1, &[(ThreadWait::Sleep, n)])]);
    let well = || load(40.0, 40.0, 4.0, 100, window(4.0));
    for (counts, is_limit) in [([8.0, 14.0, 16.0, 16.0, 16.0], true), ([8.0, 16.0, 24.0, 32.0, 40.0], false)]
    {
        let mut bad = load(200.0, 158.0, 380.0, 900, window(16.0));
        bad.each = counts.map(window).to_vec();
        let named = judge(watched(), vec![well(), bad]).findings.iter().any(|f| f.cause == Cause::Workers);
        assert_eq!(named, is_limit, "{counts:?}");
    }
}

/// One thread that writes for each request was advised to become more, because "they only wait".
#[test]
fn the_only_worker_may_wait_for_a_disk() {
    let disk = || ThreadWait::Disk { what: "/srv/log".to_owned() };
    let window =
        |waits: f64| second(vec![workers(0.05, 0.0, &[(disk(), waits), (ThreadWait::Events, 1.0 - waits)])]);
    let well = load(60.0, 60.0, 0.6, 10, window(0.6));
    let diagnosis = judge(watched(), vec![well, load(105.0, 97.0, 61.0, 610, window(0.97))]);
    expect(&diagnosis, Cause::Disk);
    assert!(
        diagnosis.sentences[0].starts_with("0.97 of 1 worker of java waits for a disk (/srv/log)."),
        "{diagnosis:#?}"
    );
}

/// Apache's prefork on one processor, which it used up: those that seemed to wait for its log waited for whoever held the file, and had no
/// processor.
#[test]
fn who_has_no_processor_does_not_wait_for_a_disk() {
    let disk = || ThreadWait::Disk { what: "/var/log/access.log".to_owned() };
    let window = |on_cpu: f64, waits: f64| {
        let ready = if waits > 10.0 { 40.0 } else { 0.2 };
        second(vec![workers(on_cpu, ready, &[(disk(), waits), (ThreadWait::Running, on_cpu + ready)])])
    };
    let judged = |on_cpu: f64| {
        let well = load(160.0, 160.0, 1.0, 6, window(0.6, 0.1));
        judge(watched(), vec![well, load(270.0, 200.0, 150.0, 600, window(on_cpu, 59.0))])
    };
    let named = |diagnosis: &Diagnosis| diagnosis.findings.iter().any(|found| found.cause == Cause::Disk);
    assert!(!named(&judged(1.95)));
    assert!(named(&judged(0.3)));
}
