//! Many that wait for one of a few, or for one lock.

use crate::builders::*;
use record::watch::{ApplicationFrame, CloserLook, Jvm, StackGroup, ThreadGroup, ThreadWait};
use record::{Cause, Event, StationUse};
use units::Rate;

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

fn at(group: &str, threads: u32, state: &str, frame: &str) -> StackGroup {
    StackGroup {
        group: group.to_owned(),
        state: state.to_owned(),
        frame: frame.to_owned(),
        asked_by: Some(ApplicationFrame { method: "shop::find".to_owned(), place: None }),
        threads,
    }
}

/// "All 4 workers sleep: 8 would do twice as much" was reported of a service that writes to SQLite: a thread that meets its lock sleeps
/// and retries.
#[test]
fn who_sleeps_in_sqlite_waits_for_its_lock() {
    let window = |asleep: f64| {
        second(vec![workers(
            0.3,
            0.1,
            &[(ThreadWait::Sleep, asleep), (ThreadWait::Running, 0.4), (ThreadWait::Accept, 3.6 - asleep)],
        )])
    };
    let group = workers(0.0, 0.0, &[]).name;
    for (frame, there, cause) in [
        ("[libsqlite3.so.0.8.6]", 3, Cause::Lock),
        ("unixSleep", 2, Cause::Lock),
        ("sqliteDefaultBusyCallback", 3, Cause::Lock),
        ("shop::pause", 3, Cause::Workers),
        // One of three does, and the others sleep elsewhere.
        ("unixSleep", 1, Cause::Workers),
    ] {
        let calm = load(265.0, 265.0, 1.2, 2, window(0.3));
        let mut recording =
            recorded(None, watched(), vec![calm, load(462.0, 411.0, 137.0, 440, window(3.2))]);
        let sleeps = |threads, frame| at(&group, threads, "clock_nanosleep", frame);
        let stands = vec![sleeps(3 - there, "shop::pause"), sleeps(there, frame)];
        let look = CloserLook::Stacks { pid: 1, took_ns: 1, at: stands };
        recording.fold(&Event::Looked { trial: 2, place: String::new(), look });
        let diagnosis = torment_diagnosis::diagnose(&recording);
        expect(&diagnosis, cause);
        assert_eq!(diagnosis.sentences[0].contains("SQLite"), cause == Cause::Lock, "{diagnosis:#?}");
    }
}

/// Of 32 threads nine had a request, eight of which waited for a Java lock just as those without one waited for work: "something inside".
#[test]
fn a_java_lock_before_threads_without_work() {
    let window = |held: f64| {
        second(vec![workers(0.03, 0.01, &[(futex(None), 32.0 - held), (ThreadWait::Sleep, held)])])
    };
    let group = workers(0.0, 0.0, &[]).name;
    for (state, cause) in [("BLOCKED", Cause::Lock), ("WAITING", Cause::Inside)] {
        let well = load(60.0, 60.0, 0.6, 10, window(0.6));
        let mut recording = recorded(None, watched(), vec![well, load(104.0, 98.0, 15.0, 150, window(1.0))]);
        let all = vec![
            at(&group, 23, "WAITING", "java.util.concurrent.ThreadPoolExecutor.getTask"),
            at(&group, 8, state, "shop.Main.sell on java.lang.Object"),
            at(&group, 1, "TIMED_WAITING", "java.lang.Thread.sleep"),
        ];
        recording.fold(&Event::Looked {
            trial: 2,
            place: String::new(),
            look: CloserLook::Threads { pid: 1, took_ns: 1, at: all },
        });
        let diagnosis = torment_diagnosis::diagnose(&recording);
        expect(&diagnosis, cause);
        assert_eq!(
            diagnosis.sentences[0].contains("8 of these waited for one lock"),
            cause == Cause::Lock,
            "{diagnosis:#?}"
        );
    }
}

/// The observed stacks of non-Java threads.
#[test]
fn stacks_tell_which_function_waits() {
    let group = workers(0.0, 0.0, &[]).name;
    let all = vec![
        at("timer", 300, "futex", "timer::wait"),
        at(&group, 200, "epoll_wait", "serve::idle"),
        at(&group, 190, "futex", "pool::take"),
    ];
    let bad = load(300.0, 190.0, 390.0, 1900, pool_of_ten());
    let mut recording = recorded(None, watched(), vec![calm(), bad]);
    let look = CloserLook::Stacks { pid: 1, took_ns: 1, at: all };
    recording.fold(&Event::Looked { trial: 2, place: String::new(), look });
    let diagnosis = torment_diagnosis::diagnose(&recording);
    expect(&diagnosis, Cause::Pool);
    let said: Vec<&str> = diagnosis.findings[0].evidence.iter().map(|fact| fact.text.as_str()).collect();
    let expected = "by their stacks, 190 wait in pool::take (futex), called by shop::find";
    assert!(said.contains(&expected), "{said:#?}");
}

/// "Twice the pool" promised twice the rate of a service whose processors would be full before that.
#[test]
fn a_larger_pool_brings_no_more_than_the_processors_do() {
    let mut busy = pool_of_ten();
    busy.subjects[0].cpu_ns = ns(1.1);
    let diagnosis = judge(watched(), vec![calm(), load(300.0, 190.0, 390.0, 1900, busy)]);
    expect(&diagnosis, Cause::Pool);
    let prediction = diagnosis.prediction.expect("there is one");
    let capacity = prediction.capacity.expect("it is reckoned").0;
    assert!((capacity - 190.0 * 2.0 / 1.1).abs() < 1.0, "{prediction:?}");
    assert!(
        prediction.then.starts_with("its processors would be full at about 345/s (1.1 of 2 used now); "),
        "{prediction:?}"
    );
}

/// From the figures in the sentences: how many are in use, how long each request stays by Little's law, how many wait.
#[test]
fn every_place_on_the_way_says_how_full_it_was() {
    let sleeping = |n| sessions("active", Some(("Timeout", "PgSleep")), n);
    let mut well = calm();
    well.window = with_sessions(well.window, vec![sleeping(2.0)]);
    let bad = load(300.0, 190.0, 390.0, 1900, with_sessions(pool_of_ten(), vec![sleeping(9.9)]));
    let diagnosis = judge(watched(), vec![well, bad]);
    let [torment, workers, pool, sessions] = diagnosis.stations.as_slice() else {
        panic!("{:#?}", diagnosis.stations)
    };
    assert_eq!((torment.name.as_str(), torment.size), ("torment: 1 loop", Some(1.0)));
    assert_eq!((workers.name.as_str(), workers.size), ("200 workers", Some(200.0)));
    assert_eq!((pool.name.as_str(), pool.size), (diagnosis.chain[1].as_str(), Some(10.0)));
    assert_eq!((sessions.name.as_str(), sessions.size), (diagnosis.chain[2].as_str(), None));
    let gave = [torment, workers, pool, sessions].map(|station| station.gave);
    assert_eq!(gave, [false, false, true, false]);

    let figures = |there: Option<StationUse>| {
        let StationUse { in_use, stay, waiting } = there.expect("it was seen");
        let stay_ms = stay.map(|stay| stay.as_millis_f64());
        [in_use, stay_ms, waiting].map(|figure| figure.map(f64::round))
    };
    assert_eq!(figures(workers.well), [Some(2.0), Some(50.0), Some(0.0)]);
    assert_eq!(figures(workers.degraded), [Some(200.0), Some(1053.0), Some(190.0)]);
    assert_eq!(figures(pool.well), [Some(2.0), Some(50.0), Some(0.0)]);
    assert_eq!(figures(pool.degraded), [Some(10.0), Some(53.0), Some(190.0)]);
    assert_eq!(figures(sessions.well), [Some(2.0), Some(50.0), None]);
    assert_eq!(figures(sessions.degraded), [Some(10.0), Some(52.0), None]);
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
    let window = second(vec![workers(0.08, 0.06, &[(futex(None), 198.9), (ThreadWait::Sleep, 1.0)])]);
    let well = second(vec![workers(0.02, 0.01, &[(futex(Some(60)), 199.8), (ThreadWait::Sleep, 0.2)])]);
    let diagnosis =
        judge(watched(), vec![load(40.0, 40.0, 0.2, 5, well), load(300.0, 188.0, 390.0, 2000, window)]);
    expect(&diagnosis, Cause::Lock);
    assert!(
        diagnosis.arithmetic.as_ref().is_some_and(record::CapacityCheck::agrees),
        "{:?}",
        diagnosis.arithmetic
    );
}

/// Flask's development server makes a thread for each request; the acceptor of the same name was taken for one of four holders.
#[test]
fn who_accepts_holds_nothing() {
    let flask = |held: f64, waiting: f64| {
        let states = [
            (ThreadWait::Accept, 1.3),
            (ThreadWait::Sleep, held),
            (ThreadWait::Running, 0.2),
            (futex(None), waiting),
        ];
        second(vec![workers(0.1, 0.05, &states)])
    };
    let before = load(54.0, 54.0, 0.64, 12, flask(0.5, 0.1));
    let mut full = load(96.0, 91.0, 11.0, 120, flask(0.9, 9.8));
    expect(&judge(watched(), vec![before.clone(), full.clone()]), Cause::Lock);
    // A second in which the observer was delayed, and took few looks.
    full.each = vec![full.window.clone(); 4];
    full.each.push(flask(6.8, 26.0));
    expect(&judge(watched(), vec![before, full]), Cause::Lock);
}

/// Node's helpers wait for work under any load, while its one event loop has little to do: the cause is a queue in the program itself.
#[test]
fn helpers_that_wait_for_work_wait_for_no_lock() {
    let node = |at_work: f64| {
        let states =
            [(futex(None), 9.0), (ThreadWait::Running, at_work / 2.0), (ThreadWait::Events, at_work / 2.0)];
        second(vec![workers(0.05, 0.03, &states)])
    };
    let before = load(273.0, 273.0, 37.7, 20, node(0.3));
    let diagnosis = judge(watched(), vec![before, load(506.0, 499.0, 559.0, 1000, node(0.34))]);
    assert!(diagnosis.findings.iter().all(|found| found.cause != Cause::Lock), "{:#?}", diagnosis.findings);
}

/// A JVM is never quite done compiling; a pool exhausted meanwhile is exhausted nevertheless.
#[test]
fn a_pool_in_a_jvm_that_still_compiles() {
    let mut window = pool_of_ten();
    window.subjects[0].groups.push(ThreadGroup {
        name: "C2 CompilerThre".to_owned(),
        threads: 1.0,
        on_cpu_ns: ns(0.3),
        run_delay_ns: ns(0.1),
        switches: 0,
        states: vec![],
        full: None,
    });
    window.subjects[0].jvm = Some(Jvm { compiles: 1_000, classes: 3, ..Jvm::default() });
    window.host.as_mut().expect("it is there").idle_ns = 0;
    expect(&judge(watched(), vec![calm(), load(300.0, 190.0, 390.0, 1900, window)]), Cause::Pool);
}
