//! Metrics of synthetic runs: what grows, what is reported, and that no unknown name is.

mod format;

use super::*;
use record::watch::{
    Cgroup, CpuQuota, Host, Jvm, ListenSocket, MemoryLimit, Network, PeerConnections, PostgresWindow,
    SessionCount, ThreadGroup, ThreadState, ThreadWait, TormentUsage, TreeWindow, WatchCoverage,
    WatchedProcesses, Window,
};
use record::{
    ArmStart, Caveat, CaveatKind, Design, DesignArm, Figure, Judgement, Limit, LimitUnit, Machine, Outcome,
    Purpose, Recovery, RunId, RunKind, TrialResult,
};
use units::{Bytes, Nanos, Rate, Share};

fn started(name: &str, target: &str) -> Event {
    Event::RunStarted(Box::new(record::RunStart {
        id: RunId("20261122-1-abc".to_owned()),
        at_unix_ms: 1_700_000_000_500,
        version: "0.1.0".to_owned(),
        method: record::METHOD,
        command: RunKind::Find,
        target: target.to_owned(),
        goal: "zero-drop".to_owned(),
        plan: String::new(),
        parts: Vec::new(),
        machine: Machine { host: "here".to_owned(), ..Machine::default() },
        part_of: None,
        label: Label { name: Some(name.to_owned()), ..Label::default() },
    }))
}

fn trial(number: u32, purpose: Purpose) -> Event {
    Event::TrialStarted {
        trial: number,
        purpose,
        rate: Some(Rate(200.0)),
        duration: Some(Nanos::from_secs(2)),
        at_unix_ms: 1_700_000_001_000,
    }
}

/// A second with `ok` answers, each after `ms` milliseconds.
fn slice(index: u32, ok: u64, ms: u64) -> Slice {
    let mut slice = Slice { index, due: ok, sent: ok, elapsed: record::SLICE, ..Slice::default() };
    slice.outcomes.add(Outcome::Ok, ok);
    slice.statuses.insert(200, ok);
    for times in [&mut slice.response, &mut slice.service, &mut slice.lateness, &mut slice.pacing] {
        times.record_many(Nanos::from_millis(ms), ok);
    }
    slice
}

fn second(number: u32, slice: &Slice) -> Event {
    Event::SliceDone { trial: number, slice: Box::new(slice.clone()) }
}

fn done(number: u32, purpose: Purpose, total: Slice, good: bool) -> Event {
    Event::TrialDone {
        trial: number,
        result: Box::new(TrialResult {
            purpose,
            rate: Rate(200.0),
            planned: Nanos::from_secs(2),
            loaded: Nanos::from_secs(2),
            drain: Nanos::ZERO,
            hopeless: false,
            total,
            recovery: Recovery::NotNeeded,
            caveats: vec![Caveat::new(CaveatKind::GeneratorLate, "it was late")],
            members: Vec::new(),
        }),
        judgement: Judgement { loss: 0.0, good, growth_per_second: None, invalid: Vec::new() },
    }
}

/// The only sample with that name and these own labels.
fn value(run: &Snapshot, name: &str, labels: &[&str]) -> SampleValue {
    let mut found = run.samples.iter().filter(|s| s.family.name == name && s.labels == labels);
    let one = found.next().unwrap_or_else(|| panic!("no {name} {labels:?} in {run:#?}"));
    assert!(found.next().is_none(), "{name} {labels:?} twice");
    one.value.clone()
}

fn times(run: &Snapshot, name: &str) -> (u64, f64) {
    match value(run, name, &[]) {
        SampleValue::Times(times) => (times.count(), times.sum()),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn counters_only_grow_and_sum_to_the_account_of_all_trials() {
    let seconds = [slice(0, 200, 3), slice(1, 190, 700)];
    let mut total = seconds[0].clone();
    total.merge_after(&seconds[1]);
    // Decided in the drain.
    total.outcomes.add(Outcome::Unfinished, 10);
    total.response.record_many(Nanos::from_secs(2), 10);
    let events = [
        started("", "http://h/"),
        trial(1, Purpose::Climb),
        second(1, &seconds[0]),
        second(1, &seconds[1]),
        done(1, Purpose::Climb, total, false),
        trial(2, Purpose::Measure),
        second(2, &slice(0, 100, 1)),
        // The second trial was cut short without a result.
        trial(3, Purpose::Measure),
        second(3, &slice(0, 7, 1)),
        Event::RunEnded(Box::new(record::RunEnd {
            at_unix_ms: 1,
            verdict: None,
            exit_code: 130,
            error: None,
        })),
    ];
    let mut measures = RunMetrics::default();
    assert_eq!(measures.snapshot(), None);
    let (mut ok, mut answered, mut sum) = (0, 0, 0.0);
    for event in &events {
        measures.fold(event);
        let run = measures.snapshot().expect("it has begun");
        let SampleValue::Count(now) = value(&run, "torment_requests_total", &["ok"]) else {
            panic!("no count")
        };
        let (count, seconds) = times(&run, "torment_response_time_seconds");
        assert!(now >= ok && count >= answered && seconds >= sum, "{event:?}");
        (ok, answered, sum) = (now, count, seconds);
    }
    let run = measures.snapshot().expect("it has begun");
    assert_eq!((ok, answered), (200 + 190 + 100 + 7, 200 + 190 + 10 + 100 + 7));
    assert!((sum - (0.6 + 133.0 + 20.0 + 0.107)).abs() < 0.2, "{sum}");
    assert_eq!(value(&run, "torment_requests_total", &["unfinished"]), SampleValue::Count(10));
    assert_eq!(value(&run, "torment_requests_due_total", &[]), SampleValue::Count(497));
    assert_eq!(value(&run, "torment_responses_total", &["200"]), SampleValue::Count(497));
    assert_eq!(value(&run, "torment_trials_total", &["climb", "bad"]), SampleValue::Count(1));
    assert_eq!(value(&run, "torment_trial_number", &["measure"]), SampleValue::Count(3));
    assert_eq!(value(&run, "torment_caveats", &["generator-late"]), SampleValue::Count(1));
    assert_eq!(value(&run, "torment_run_running", &[]), SampleValue::Count(0));
}

#[test]
fn the_rest_of_a_second_makes_no_rate() {
    let mut measures = RunMetrics::default();
    let rest = Slice { due: 5, resent: 3, in_flight: 2, elapsed: Nanos::from_millis(60), ..Slice::default() };
    for event in
        [started("", "null"), trial(1, Purpose::Load), second(1, &slice(0, 200, 1)), second(1, &rest)]
    {
        measures.fold(&event);
    }
    let run = measures.snapshot().expect("it has begun");
    assert_eq!(value(&run, "torment_offered_per_second", &[]), SampleValue::Number(200.0));
    assert_eq!(value(&run, "torment_requests_in_flight", &[]), SampleValue::Count(2));
    assert_eq!(value(&run, "torment_requests_resent_total", &[]), SampleValue::Count(3));
}

/// A window with everything observable.
fn window(group: &str) -> Window {
    let states =
        [ThreadWait::Running, ThreadWait::Client].map(|wait| ThreadState { wait, threads: 4.0 }).to_vec();
    let subject = TreeWindow {
        processes: 1,
        cpu_ns: 500_000_000,
        rss_bytes: 1 << 20,
        groups: vec![ThreadGroup {
            name: group.to_owned(),
            threads: 8.0,
            on_cpu_ns: 250_000_000,
            run_delay_ns: 125_000_000,
            states,
            ..ThreadGroup::default()
        }],
        cgroup: Some(Cgroup {
            cpu: Some(CpuQuota {
                cpus: 2.0,
                periods: 10,
                throttled: 3,
                throttled_ns: 1_500_000_000,
                ..CpuQuota::default()
            }),
            memory: Some(MemoryLimit {
                used_bytes: 30,
                cache_bytes: 10,
                limit_bytes: 100,
                ..MemoryLimit::default()
            }),
            ..Cgroup::default()
        }),
        listeners: vec![ListenSocket { address: "127.0.0.1:80".to_owned(), queued: 3, backlog: 128 }],
        peers: vec![PeerConnections {
            address: "127.0.0.1:5432".to_owned(),
            established: 10.0,
            least: 10,
            most: 10,
            time_wait: 0,
        }],
        jvm: Some(Jvm {
            pauses: 2,
            pause_ns: 20_000_000,
            heap_used_bytes: 5,
            heap_max_bytes: 9,
            ..Jvm::default()
        }),
        ..TreeWindow::default()
    };
    let sessions = |state: &str, wait: Option<&str>, count| SessionCount {
        state: state.to_owned(),
        wait_type: wait.map(str::to_owned),
        wait_event: wait.map(|_| "WALSync".to_owned()),
        count,
    };
    Window {
        from: Nanos::ZERO,
        to: Nanos::from_secs(1),
        subjects: vec![subject],
        host: Some(Host { user_ns: 1_000_000_000, neighbours_cpu_ns: 1, ..Host::default() }),
        network: Some(Network { listen_drops: 4, ..Network::default() }),
        postgres: Some(PostgresWindow {
            looks: 5,
            sessions: vec![sessions("active", Some("IO"), 7.0), sessions("idle", Some("Client"), 2.0)],
            commits: 50,
            wal_bytes: Some(1000),
            ..PostgresWindow::default()
        }),
        own: TormentUsage { cpu_ns: 300, loops_cpu_ns: 100, watch_cpu_ns: 50, ..TormentUsage::default() },
        ..Window::default()
    }
}

fn watched() -> Event {
    let subject =
        WatchedProcesses { pid: 7, name: "java".to_owned(), cpus: 2.0, ..WatchedProcesses::default() };
    Event::WatchStarted {
        place: String::new(),
        watched: Box::new(WatchCoverage { subjects: vec![subject], ..WatchCoverage::default() }),
    }
}

/// A run with every reportable event.
fn everything() -> Snapshot {
    let limit = Limit {
        held: None,
        goal: "strict".to_owned(),
        lower: Some(190.0),
        upper: Some(200.0),
        unit: LimitUnit::Requests,
        regular: false,
        good_trials: 1,
        bad_trials: 1,
        lower_due: 400,
        lower_bad: 0,
        throughput: None,
    };
    let design = Design {
        arms: vec![DesignArm { name: "as it stands".to_owned(), changes: Vec::new() }],
        probes: Vec::new(),
        hypotheses: Vec::new(),
        pilot: 1,
        least: 1,
        most: 1,
        budget: None,
        confidence: Share(0.95),
        seed: 1,
    };
    let start = ArmStart {
        number: 1,
        block: 0,
        arm: 0,
        placebo: false,
        at_unix_ms: 1,
        took: Nanos::from_secs(1),
        started_in: Nanos::from_secs(1),
        spent: record::StartTimes::default(),
        taken: Vec::new(),
        void: None,
    };
    let figure =
        Figure::from_blocks(("launch", "fork", "0"), record::FigureUnit::Nanos, vec![1.0, 2.0, 3.0], 3);
    let figure = figure.expect("it has blocks");
    let mut measures = RunMetrics::default();
    for event in [
        started("a \"name\"\\", "http://h/\n"),
        watched(),
        trial(1, Purpose::Measure),
        second(1, &slice(0, 200, 3)),
        Event::Observed { trial: 1, place: String::new(), window: Box::new(window("exec-N")) },
        Event::Observed { trial: 1, place: String::new(), window: Box::new(window("exec-N")) },
        done(1, Purpose::Measure, slice(0, 200, 3), true),
        Event::Bounds { limits: vec![limit], making: None },
        Event::Designed { design: Box::new(design) },
        Event::Visited { visit: Box::new(start) },
        Event::Measured { figure: Box::new(figure) },
        Event::Ramped(record::RampProgress { tasks: 1000, free: Bytes(1), after: Nanos::ZERO }),
    ] {
        measures.fold(&event);
    }
    measures.snapshot().expect("it has begun")
}

#[test]
fn what_is_seen_is_told_and_what_grows_is_summed() {
    let run = everything();
    let java = ["java", "service"];
    for (name, labels, expected) in [
        ("torment_target_cpu_seconds_total", &java[..], SampleValue::Number(1.0)),
        ("torment_target_group_cpu_seconds_total", &["java", "service", "exec-N"], SampleValue::Number(0.5)),
        (
            "torment_target_group_run_delay_seconds_total",
            &["java", "service", "exec-N"],
            SampleValue::Number(0.25),
        ),
        ("torment_target_throttled_seconds_total", &java, SampleValue::Number(3.0)),
        ("torment_target_throttled_periods_total", &java, SampleValue::Count(6)),
        ("torment_target_cpu_quota", &java, SampleValue::Number(2.0)),
        ("torment_target_cgroup_memory_bytes", &java, SampleValue::Count(20)),
        (
            "torment_target_threads",
            &["java", "service", "exec-N", "reads from a client"],
            SampleValue::Number(4.0),
        ),
        ("torment_target_jvm_gc_pause_seconds_total", &java, SampleValue::Number(0.04)),
        ("torment_target_jvm_heap_used_bytes", &java, SampleValue::Count(5)),
        ("torment_database_sessions", &["active", "IO", "WALSync"], SampleValue::Number(7.0)),
        ("torment_database_sessions", &["idle", "", ""], SampleValue::Number(2.0)),
        ("torment_database_transactions_total", &["commit"], SampleValue::Count(100)),
        ("torment_database_wal_bytes_total", &[], SampleValue::Count(2000)),
        ("torment_host_cpu_seconds_total", &["user"], SampleValue::Number(2.0)),
        ("torment_network_events_total", &["listen_drop"], SampleValue::Count(8)),
        ("torment_own_cpu_seconds_total", &["rest"], SampleValue::Number(0.0000003)),
        ("torment_limit", &["strict", "lower", "requests/s"], SampleValue::Number(190.0)),
        ("torment_trials_total", &["measure", "good"], SampleValue::Count(1)),
        ("torment_starts_total", &["as it stands"], SampleValue::Count(1)),
        ("torment_figures_total", &["launch"], SampleValue::Count(1)),
        ("torment_tasks", &[], SampleValue::Count(1000)),
    ] {
        assert_eq!(value(&run, name, labels), expected, "{name}");
    }
}

#[test]
fn too_many_names_are_summed() {
    let mut measures = RunMetrics::default();
    measures.fold(&started("", "null"));
    measures.fold(&watched());
    for number in 0..100 {
        measures.fold(&Event::Observed {
            trial: 0,
            place: String::new(),
            window: Box::new(window(&format!("thread {number}"))),
        });
    }
    let run = measures.snapshot().expect("it has begun");
    let groups = run.samples.iter().filter(|s| s.family.name == "torment_target_group_cpu_seconds_total");
    assert_eq!(groups.count(), 33);
    let others = ["java", "service", "others"];
    assert_eq!(value(&run, "torment_target_group_cpu_seconds_total", &others), SampleValue::Number(17.0));
    // A program no longer watched has no threads, but its usage stays.
    measures.fold(&Event::WatchStarted { place: String::new(), watched: Box::default() });
    let run = measures.snapshot().expect("it has begun");
    assert!(!run.samples.iter().any(|s| s.family.name == "torment_target_threads"));
    assert_eq!(
        value(&run, "torment_target_cpu_seconds_total", &["java", "service"]),
        SampleValue::Number(50.0)
    );
}
