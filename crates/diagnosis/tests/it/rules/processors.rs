//! Processors: too few of them, a quota, a neighbour.

use crate::builders::*;
use record::watch::{Cgroup, CpuQuota, Neighbour, ThreadWait, TreeWindow, WatchedProcesses};
use record::{Cause, Diagnosis, Failure, MachineCosts, RunId};
use units::{Bytes, Nanos};

#[test]
fn processors() {
    let burning = || {
        let mut window = second(vec![workers(
            1.85,
            95.0,
            &[(ThreadWait::Running, 97.0), (futex(None), 34.0), (futex(Some(60)), 69.0)],
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
            second(vec![workers(0.45, 0.2, &[(ThreadWait::Running, 0.6), (futex(Some(60)), 199.4)])]),
        )
    };
    let diagnosis = judge(watched(), vec![well(), load(600.0, 412.0, 400.0, 900, burning())]);
    expect(&diagnosis, Cause::Cpu);
    assert!(
        diagnosis.arithmetic.as_ref().is_some_and(record::CapacityCheck::agrees),
        "{:?}",
        diagnosis.arithmetic
    );

    let mut held = second(vec![workers(0.48, 36.9, &[(ThreadWait::Running, 37.4), (futex(Some(60)), 12.0)])]);
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
        &[(ThreadWait::Running, 96.0), (futex(None), 34.0), (futex(Some(60)), 70.0)],
    )]);
    let host = crowded.host.as_mut().expect("it is there");
    (host.idle_ns, host.neighbours_cpu_ns) = (0, ns(1.3));
    host.neighbours = vec![Neighbour { pid: 77, name: "ffmpeg".to_owned(), cpu_ns: ns(1.3) }];
    let diagnosis = judge(watched(), vec![well(), load(600.0, 130.0, 400.0, 900, crowded.clone())]);
    expect(&diagnosis, Cause::Neighbour);
    assert!(diagnosis.sentences[0].contains("ffmpeg"), "{:?}", diagnosis.sentences);

    // A service that refuses excess load as quickly as ever is not slowed down by anybody.
    let calm = well();
    let mut refusing = load(600.0, 130.0, calm.outstanding, calm.response_ms, crowded);
    refusing.failures = vec![(Failure::Status(503), 470)];
    let diagnosis = judge(watched(), vec![calm, refusing]);
    assert!(diagnosis.findings.iter().all(|found| found.cause != Cause::Neighbour), "{diagnosis:#?}");
}

/// Under little load each request pays for waking a thread: Caddy's seemed to allow 890/s where 1,039 were done, and cost confidence.
#[test]
fn a_request_costs_what_it_costs_close_to_the_limit() {
    let using = |rate: f64, cpus: f64, ready: f64| {
        let threads = [(ThreadWait::Running, cpus + ready), (futex(Some(60)), 50.0)];
        load(rate, rate.min(412.0), 1.0, 10, second(vec![workers(cpus, ready, &threads)]))
    };
    let judged = |loads: Vec<Load>| {
        let diagnosis = judge(watched(), loads);
        expect(&diagnosis, Cause::Cpu);
        (diagnosis.arithmetic.is_some(), diagnosis.findings[0].confidence.word())
    };
    let (calm, near) = (|| using(200.0, 1.3, 0.2), || using(390.0, 1.8, 0.4));
    let overload = || Load { outstanding: 400.0, ..using(600.0, 1.9, 95.0) };
    assert_eq!(judged(vec![calm(), overload()]), (false, "high"));
    assert_eq!(judged(vec![calm(), near(), overload()]), (true, "high"));
}

/// A Go server confined to one processor: one of its threads runs at a time, and the others sleep.
#[test]
fn a_runtime_that_queues_by_itself() {
    let threads = |on_cpu, ready| {
        workers(on_cpu, ready, &[(futex(None), 3.0), (ThreadWait::Running, on_cpu), (ThreadWait::Sleep, 1.0)])
    };
    let judged_as = |is_go, on_cpu, ready| {
        let mut watched = watched();
        watched.subjects[0].cpus = 1.0;
        watched.subjects[0].is_go = is_go;
        let well = load(10_000.0, 10_000.0, 1.2, 1, second(vec![threads(0.5, 0.3)]));
        let bad = load(42_000.0, 38_000.0, 7000.0, 400, second(vec![threads(on_cpu, ready)]));
        judge(watched, vec![well, Load { connections: 7000, ..bad }])
    };
    let judged = |on_cpu, ready| judged_as(false, on_cpu, ready);
    let diagnosis = judged(0.98, 0.06);
    expect(&diagnosis, Cause::Cpu);
    // Caddy on a full processor: "medium, because few independent sources say so (--postgres and --metrics add more)".
    let independence = |diagnosis: &record::Diagnosis| diagnosis.findings[0].confidence.independence;
    assert!(independence(&diagnosis) < 1.0);
    assert!(independence(&judged_as(true, 0.98, 0.06)) >= 1.0, "what waits inside it is not seen");
    assert!(
        diagnosis.sentences[0].contains("uses 0.98 of 1, and queues the rest by itself"),
        "{diagnosis:#?}"
    );
    let fewer = diagnosis.next.iter().any(|next| next.contains("--max-connections 64; this load used 7,000"));
    assert!(fewer, "thousands of connections are work of their own: {diagnosis:#?}");
    assert_ne!(judged(0.9, 0.06).cause(), Some(Cause::Cpu), "a tenth of it is left");
    // PocketBase: "what gave first is unknown".
    expect(&judged(0.94, 0.22), Cause::Cpu);
}

/// Caddy beside torment on two processors: at most two of Go's threads run or are ready to, and the idle ones were reported to wait for
/// one of three permits.
#[test]
fn a_runtime_that_torment_leaves_too_few_processors() {
    let caddy = |on_cpu: f64, ready: f64, idle: f64| {
        let states = [(futex(None), 16.0), (ThreadWait::Running, on_cpu + ready), (ThreadWait::Sleep, 0.9)];
        let mut window = second(vec![workers(on_cpu, ready, &states)]);
        window.own.cpu_ns = ns(2.0 - on_cpu - idle);
        window.host.as_mut().expect("it is there").idle_ns = ns(idle);
        window
    };
    let mut watched = watched();
    watched.subjects[0] =
        WatchedProcesses { name: "caddy".to_owned(), java: None, ..watched.subjects[0].clone() };
    let judged = |bad| {
        let well = load(14_000.0, 14_000.0, 11.3, 1, caddy(1.0, 0.7, 0.3));
        judge(watched.clone(), vec![well, load(32_000.0, 23_000.0, 16_000.0, 700, bad)])
    };
    let diagnosis = judged(caddy(1.3, 0.9, 0.0));
    expect(&diagnosis, Cause::Cpu);
    assert!(diagnosis.findings.iter().all(|found| found.cause != Cause::Pool), "{diagnosis:#?}");
    assert!(diagnosis.next.iter().any(|next| next.contains("a machine of its own")), "{:?}", diagnosis.next);
    assert!(diagnosis.sentences[0].contains("uses 1.3 of 2 while torment uses 0.7"), "{diagnosis:#?}");
    let unless = &diagnosis.unless[0];
    assert!(unless.starts_with("the machine has more than 0.14 of a processor to spare"), "{unless}");
    // docker-registry: its two threads run or are ready to all the time, and the cause was reported as unknown.
    let diagnosis = judged(caddy(1.69, 0.25, 0.07));
    expect(&diagnosis, Cause::Cpu);
    let sentence = &diagnosis.sentences[0];
    assert!(
        sentence.contains("uses 1.7 of 2 while torment uses 0.24, and hardly any thread is ready to run"),
        "{sentence}"
    );
    assert_ne!(judged(caddy(1.5, 0.25, 0.07)).cause(), Some(Cause::Cpu), "one of the two has nothing to do");
    // With idle processors they are not the cause.
    assert_ne!(judged(caddy(0.6, 0.1, 0.7)).cause(), Some(Cause::Cpu));
}

/// Gitea on one of two processors, while torment used half of the other: idle was only that one, and what gave first was unknown.
#[test]
fn a_service_whose_own_processors_are_full_lacks_them_whatever_the_others_do() {
    let judged = |idle: Option<f64>| {
        let mut watched = watched();
        watched.subjects.truncate(1);
        let gitea = &mut watched.subjects[0];
        (gitea.cpus, gitea.processors, gitea.java, gitea.is_go) = (1.0, vec![0], None, true);
        let using = |used: f64, ready: f64, idle: Option<f64>| {
            let states = [(futex(None), 9.0), (ThreadWait::Running, used)];
            let mut window = second(vec![workers(used, ready, &states)]);
            let host = window.host.as_mut().expect("it is there");
            (host.idle_ns, host.service_idle_ns) = (ns(0.5), idle.map(ns));
            window
        };
        let well = load(9.0, 9.0, 1.2, 60, using(0.4, 0.1, Some(0.5)));
        judge(watched, vec![well, load(30.0, 18.0, 60.0, 900, using(0.8, 1.4, idle))])
    };
    let diagnosis = judged(Some(0.01));
    expect(&diagnosis, Cause::Cpu);
    let says =
        "uses 0.8 of 1 while the kernel and other programs use the rest, and 1.4 more threads are ready";
    assert!(diagnosis.sentences[0].contains(says), "{:?}", diagnosis.sentences);
    let unless = &diagnosis.unless[0];
    assert!(unless.starts_with("its processors have more than 0.07 of a processor to spare"), "{unless}");
    for idle in [Some(0.2), None] {
        assert_ne!(judged(idle).cause(), Some(Cause::Cpu), "{idle:?}");
    }
}

/// influxd on one of two processors, of which others had a sixth: it "queues the rest by itself", needed "more processors", and was
/// "wrong if the service uses less than 85 % of its processors", as it did.
#[test]
fn a_runtime_that_others_leave_too_little_of_its_processor() {
    let influxd = |on_cpu: f64, ready: f64, [torment, others]: [f64; 2]| {
        let states = [(futex(None), 9.0), (ThreadWait::Running, on_cpu)];
        let mut window = second(vec![workers(on_cpu, ready, &states)]);
        window.own.cpu_ns = ns(torment);
        let host = window.host.as_mut().expect("it is there");
        (host.idle_ns, host.neighbours_cpu_ns) = (ns(2.0 - on_cpu - torment - others), ns(others));
        window
    };
    let judged = |bad| {
        let mut watched = watched();
        let one = WatchedProcesses {
            name: "influxd".to_owned(),
            cpus: 1.0,
            java: None,
            ..watched.subjects[0].clone()
        };
        watched.subjects = vec![WatchedProcesses { processors: vec![1], ..one }];
        let well = load(1000.0, 1000.0, 1.2, 1, influxd(0.4, 0.1, [0.1, 0.0]));
        judge(watched, vec![well, load(3000.0, 2000.0, 1600.0, 700, bad)])
    };
    let diagnosis = judged(influxd(0.84, 0.15, [0.31, 0.75]));
    expect(&diagnosis, Cause::Cpu);
    let says =
        "uses 0.84 of 1 while torment uses 0.31 and other programs 0.75, and hardly any thread is ready";
    assert!(diagnosis.sentences[0].contains(says), "{:?}", diagnosis.sentences);
    let finding = &diagnosis.findings[0];
    let used = "1.9 processors of 2 used: influxd 0.84, torment 0.31, others 0.75";
    assert_eq!(finding.evidence[0].text, used);
    assert!(diagnosis.unless[0].starts_with("the machine has more than 0.14"), "{:?}", diagnosis.unless);
    assert!(diagnosis.next.iter().any(|next| next.starts_with("stop the other programs")), "{diagnosis:#?}");
    let diagnosis = judged(influxd(0.84, 0.15, [0.02, 1.04]));
    let sentence = &diagnosis.sentences[0];
    assert!(sentence.contains("while other programs use 1, and"), "torment used too little: {sentence}");
    // What others use of the other processor does not fill its own.
    let diagnosis = judged(influxd(0.86, 0.6, [0.94, 0.1]));
    expect(&diagnosis, Cause::Cpu);
    assert!(diagnosis.findings[0].confidence.margin < 0.7, "{:#?}", diagnosis.findings[0]);
    let diagnosis = judged(influxd(1.0, 0.15, [0.0, 0.0]));
    assert_eq!(diagnosis.findings[0].evidence[0].text, "1 processor of 2 used: influxd 1, torment 0");
}

/// Only torment was named, though the database took as much.
#[test]
fn a_database_on_the_same_processors_is_named_among_those_that_have_part_of_them() {
    let told = |cpus: f64, processors: [Vec<u32>; 2], used: f64, torment: f64| {
        let mut window = second(vec![workers(used, 5.0, &[(ThreadWait::Running, used + 5.0)])]);
        window.subjects.push(TreeWindow { processes: 10, cpu_ns: ns(0.4), ..TreeWindow::default() });
        window.own.cpu_ns = ns(torment);
        window.host.as_mut().expect("it is there").idle_ns = 0;
        let mut watched = watched();
        for (subject, processors) in watched.subjects.iter_mut().zip(processors) {
            subject.processors = processors;
        }
        watched.subjects[0].cpus = cpus;
        let diagnosis = judge(watched, vec![calm(), load(3000.0, 2000.0, 20.0, 20, window)]);
        expect(&diagnosis, Cause::Cpu);
        diagnosis.sentences[0].clone()
    };
    let together = told(2.0, [vec![], vec![]], 1.2, 0.4);
    assert!(together.contains("1.2 of 2 while postgres uses 0.4 and torment 0.4, and 5 more"), "{together}");
    let apart = told(1.0, [vec![0], vec![1]], 0.6, 1.0);
    assert!(apart.contains("0.6 of 1 while torment uses 1, and 5 more"), "{apart}");
}

#[test]
fn what_switches_take_is_told_where_it_is_known_and_matters() {
    let judged = |costs: Option<MachineCosts>, switches: u64| {
        let mut threads = workers(1.85, 95.0, &[(ThreadWait::Running, 97.0), (futex(None), 103.0)]);
        threads.switches = switches;
        judge_with_costs(
            costs,
            watched(),
            vec![calm(), load(600.0, 412.0, 400.0, 900, second(vec![threads]))],
        )
    };
    let told = |diagnosis: &Diagnosis| {
        expect(diagnosis, Cause::Cpu);
        let evidence = diagnosis.findings.iter().flat_map(|finding| &finding.evidence);
        evidence.map(|one| one.text.clone()).find(|text| text.contains("context switches"))
    };
    let costs = MachineCosts {
        run: RunId("p1".to_owned()),
        switch: Some(Nanos::from_micros(2)),
        thread: Some(Bytes(36_300)),
    };
    let text = told(&judged(Some(costs.clone()), 100_000)).expect("they take 0.2 processors of 1.85");
    assert!(text.contains("at 2 µs each (torment probe, run p1): 0.2 of the 1.9 processors"), "{text}");
    assert_eq!(told(&judged(Some(costs), 1_000)), None, "0.002 processors explain nothing");
    assert_eq!(told(&judged(None, 100_000)), None, "nobody knows what one costs");
}

/// A Tomcat and its database confined to one processor: the pool's waiters and the open transactions are symptoms.
#[test]
fn one_processor_for_the_service_and_its_database() {
    let threads = workers(0.58, 17.0, &[(futex(Some(30)), 180.0), (ThreadWait::Running, 17.0)]);
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
