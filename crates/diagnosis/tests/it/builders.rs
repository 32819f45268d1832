//! Hand-made windows modelled on measurements of real services, and the searches they were observed in.

use record::watch::{
    FutexOp, Host, PeerConnections, PostgresWindow, SessionCount, ThreadGroup, ThreadSampling, ThreadState,
    ThreadWait, TreeRole, TreeWindow, WatchCoverage, WatchedProcesses, Window,
};
use record::{
    Cause, Caveat, Diagnosis, Event, Failure, Judgement, Limit, MachineCosts, Outcome, Purpose, Recovery,
    SearchEnd, Silence, Slice, TrialResult, Verdict,
};
use torment_diagnosis::{ObservedRun, diagnose};
use units::{Nanos, Rate};

pub const CPUS: f64 = 2.0;

pub fn ns(processors: f64) -> u64 {
    (processors * 1e9) as u64
}

pub fn futex(within_s: Option<u32>) -> ThreadWait {
    ThreadWait::Futex { op: FutexOp::WaitBitset, within_s, shared: false }
}

pub fn peer() -> ThreadWait {
    ThreadWait::Peer { address: "127.0.0.1:5432".to_owned() }
}

pub fn workers(on_cpu: f64, runnable: f64, states: &[(ThreadWait, f64)]) -> ThreadGroup {
    let states: Vec<ThreadState> =
        states.iter().map(|(wait, threads)| ThreadState { wait: wait.clone(), threads: *threads }).collect();
    ThreadGroup {
        name: "http-nio-N-exec-N".to_owned(),
        threads: states.iter().map(|s| s.threads).sum(),
        on_cpu_ns: ns(on_cpu),
        run_delay_ns: ns(runnable),
        switches: 0,
        states,
        full: None,
    }
}

/// A second in which the service is fully observed.
pub fn second(groups: Vec<ThreadGroup>) -> Window {
    let used: f64 = groups.iter().map(|g| g.on_cpu_ns as f64 / 1e9).sum();
    let sweep = ThreadSampling {
        due: 20,
        done: 20,
        threads: 200.0,
        looked_at: 200.0,
        readable: 200.0,
        ..ThreadSampling::default()
    };
    Window {
        subjects: vec![TreeWindow {
            groups,
            sweep: Some(sweep),
            processes: 1,
            cpu_ns: ns(used),
            ..TreeWindow::default()
        }],
        host: Some(Host { cpus: 2, user_ns: ns(used), idle_ns: ns(CPUS - used), ..Host::default() }),
        ..Window::default()
    }
}

/// A load of some seconds: offered, answered, outstanding, and observations.
#[derive(Clone)]
pub struct Load {
    pub purpose: Purpose,
    pub rate: f64,
    pub answered: f64,
    pub outstanding: f64,
    pub connections: u64,
    pub response_ms: u64,
    pub window: Window,
    pub good: bool,
    pub invalid: Vec<Caveat>,
    pub caveats: Vec<Caveat>,
    pub failures: Vec<(Failure, u64)>,
    /// Observations of each of its five seconds, if they differ.
    pub each: Vec<Window>,
    /// A freeze, from and to in milliseconds.
    pub still: Option<(u64, u64)>,
}

pub fn load(rate: f64, answered: f64, outstanding: f64, response_ms: u64, window: Window) -> Load {
    let good = answered >= 0.99 * rate;
    Load {
        purpose: Purpose::Measure,
        rate,
        answered,
        outstanding,
        connections: 0,
        response_ms,
        window,
        good,
        invalid: Vec::new(),
        caveats: Vec::new(),
        failures: Vec::new(),
        each: Vec::new(),
        still: None,
    }
}

pub fn watched() -> WatchCoverage {
    WatchCoverage {
        level: record::watch::AccessLevel::Full,
        subjects: vec![
            WatchedProcesses {
                pid: 1,
                name: "java".to_owned(),
                cpus: CPUS,
                java: Some("25".to_owned()),
                ..WatchedProcesses::default()
            },
            WatchedProcesses {
                pid: 2,
                role: TreeRole::Downstream,
                name: "postgres".to_owned(),
                cpus: CPUS,
                listens: vec!["127.0.0.1:5432".to_owned()],
                is_postgres: true,
                ..WatchedProcesses::default()
            },
        ],
        ..WatchCoverage::default()
    }
}

/// A search's trials of five seconds each.
pub fn judge(watched: WatchCoverage, loads: Vec<Load>) -> Diagnosis {
    judge_with_costs(None, watched, loads)
}

/// The same with known costs of the machine.
pub fn judge_with_costs(costs: Option<MachineCosts>, watched: WatchCoverage, loads: Vec<Load>) -> Diagnosis {
    diagnose(&recorded(costs, watched, loads))
}

pub fn recorded(costs: Option<MachineCosts>, watched: WatchCoverage, loads: Vec<Load>) -> ObservedRun {
    recorded_at(costs, vec![PlaceWindows { place: "", watched, windows: Vec::new() }], loads)
}

/// The verdict of a search that ended so.
pub fn came_to(ended: SearchEnd, limits: Vec<Limit>) -> Verdict {
    Verdict::Limits {
        limits,
        ended,
        curve: Vec::new(),
        detection_limit: 0.01,
        trials: 3,
        loaded: Nanos::from_secs(15),
        background: None,
        warmed_up: None,
        overloaded: None,
        generator: None,
    }
}

/// Observations at a place: a window for each load, unless it is the load's own.
pub struct PlaceWindows {
    pub place: &'static str,
    pub watched: WatchCoverage,
    pub windows: Vec<Window>,
}

pub fn recorded_at(costs: Option<MachineCosts>, places: Vec<PlaceWindows>, loads: Vec<Load>) -> ObservedRun {
    let mut recording = ObservedRun::default();
    if let Some(costs) = costs {
        recording.fold(&Event::Known { costs });
    }
    for PlaceWindows { place, watched, .. } in &places {
        let (place, watched) = ((*place).to_owned(), Box::new(watched.clone()));
        recording.fold(&Event::WatchStarted { place, watched });
    }
    for (number, load) in (1..).zip(loads) {
        let rate = Rate(load.rate);
        recording.fold(&Event::TrialStarted {
            trial: number,
            purpose: load.purpose,
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
            slice.outstanding = vec![load.outstanding; 10];
            slice.in_flight = load.outstanding as u64;
            slice.connections = load.connections;
            if let Some((from, to)) = load.still.filter(|(_, to)| to / 1_000 == u64::from(index)) {
                let waiting = (load.rate * (to - from) as f64 / 1e3) as u64;
                let (from, to) = (Nanos::from_millis(from), Nanos::from_millis(to));
                slice.silences.push(Silence { from, to, waiting, freed: Some(waiting) });
            }
            recording.fold(&Event::SliceDone { trial: number, slice: Box::new(slice.clone()) });
            total.merge_after(&slice);
            let (from, to) = (Nanos::from_secs(index.into()), Nanos::from_secs(u64::from(index) + 1));
            for PlaceWindows { place, windows, .. } in &places {
                let own = windows.get(number as usize - 1).or(load.each.get(index as usize));
                let window = Box::new(Window { from, to, ..own.unwrap_or(&load.window).clone() });
                recording.fold(&Event::Observed { trial: number, place: (*place).to_owned(), window });
            }
        }
        let mut loaded = Nanos::from_secs(5);
        if !load.good {
            // It was stopped, and the last ten milliseconds hold a late loop's remaining report.
            let elapsed = Nanos::from_millis(10);
            let rest = Slice { index: 5, elapsed, outstanding_ns: ns(load.outstanding), ..Slice::default() };
            recording.fold(&Event::SliceDone { trial: number, slice: Box::new(rest) });
            loaded += elapsed;
        }
        recording.fold(&Event::TrialDone {
            trial: number,
            result: Box::new(TrialResult {
                purpose: load.purpose,
                rate,
                planned: Nanos::from_secs(5),
                loaded,
                drain: Nanos::ZERO,
                hopeless: false,
                total,
                recovery: Recovery::NotNeeded,
                caveats: load.caveats,
                members: Vec::new(),
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

pub fn sessions(state: &str, wait: Option<(&str, &str)>, count: f64) -> SessionCount {
    SessionCount {
        state: state.to_owned(),
        wait_type: wait.map(|w| w.0.to_owned()),
        wait_event: wait.map(|w| w.1.to_owned()),
        count,
    }
}

pub fn with_sessions(mut window: Window, sessions: Vec<SessionCount>) -> Window {
    window.postgres = Some(PostgresWindow {
        looks: 5,
        sessions,
        commits: 100,
        wal_syncs: Some(100),
        ..PostgresWindow::default()
    });
    window.subjects.push(TreeWindow { processes: 10, cpu_ns: ns(0.1), ..TreeWindow::default() });
    window
}

#[track_caller]
pub fn expect(diagnosis: &Diagnosis, cause: Cause) {
    assert_eq!(diagnosis.cause(), Some(cause), "{diagnosis:#?}");
    assert!(!diagnosis.sentences.is_empty() && !diagnosis.chain.is_empty(), "{diagnosis:#?}");
    let finding = &diagnosis.findings[0];
    assert!(!finding.evidence.is_empty() && finding.confidence.value() > 0.3, "{finding:#?}");
}

/// Most of 200 workers idle; two in the database.
pub fn calm() -> Load {
    let window = second(vec![workers(0.02, 0.01, &[(futex(Some(60)), 198.0), (peer(), 2.0)])]);
    load(40.0, 40.0, 2.1, 51, window)
}

pub fn pool_of_ten() -> Window {
    let mut window = second(vec![workers(
        0.09,
        0.21,
        &[(futex(Some(30)), 189.9), (peer(), 9.9), (ThreadWait::Running, 0.2)],
    )]);
    window.subjects[0].peers = vec![PeerConnections {
        address: "127.0.0.1:5432".to_owned(),
        established: 10.0,
        least: 10,
        most: 10,
        time_wait: 0,
    }];
    window
}
