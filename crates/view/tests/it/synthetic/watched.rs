//! A service with a pool of ten connections, as observed and diagnosed.

use super::RunBuilder;
use record::watch::{
    AccessLevel, ApplicationFrame, Cgroup, CloserLook, CpuQuota, FutexOp, Host, Jvm, LimitUsage,
    ListenSocket, MissingMeasure, Neighbour, Network, PeerConnections, PostgresServer, PostgresWindow,
    SessionCount, StackGroup, ThreadGroup, ThreadSampling, ThreadState, ThreadWait, TreeRole, TreeWindow,
    WatchCoverage, WatchedProcesses, Window,
};
use record::{
    CapacityCheck, Cause, Confidence, Diagnosis, Event, Evidence, Finding, Prediction, Station, StationKind,
    StationUse,
};
use units::{Nanos, Rate};

pub fn watched() -> WatchCoverage {
    WatchCoverage {
        level: AccessLevel::Full,
        subjects: vec![
            WatchedProcesses {
                role: TreeRole::Service,
                pid: 4711,
                name: "java".to_owned(),
                command: "java -Xmx1g -jar clinic.jar".to_owned(),
                listens: vec!["127.0.0.1:8080".to_owned()],
                processors: Vec::new(),
                cpus: 2.0,
                java: Some("25.0.3+9".to_owned()),
                is_postgres: false,
                is_go: false,
            },
            WatchedProcesses {
                role: TreeRole::Downstream,
                pid: 812,
                name: "postgres".to_owned(),
                command: "postgres -D /var/lib/postgresql/15".to_owned(),
                listens: vec!["127.0.0.1:5432".to_owned()],
                processors: Vec::new(),
                cpus: 1.5,
                java: None,
                is_postgres: true,
                is_go: false,
            },
        ],
        postgres: Some(PostgresServer {
            version: 150_018,
            address: "127.0.0.1:5432".to_owned(),
            settings: vec![("max_connections".to_owned(), "100".to_owned())],
        }),
        metrics: None,
        missing: vec![MissingMeasure::new(
            "bytes read and written",
            "/proc/4711/io is only for its owner and root: run torment as root, or with CAP_SYS_PTRACE",
        )],
        sweeps_per_second: 20.0,
        real_time: true,
        on: String::new(),
        lost: None,
    }
}

fn futex(within_s: Option<u32>) -> ThreadWait {
    ThreadWait::Futex { op: FutexOp::WaitBitset, within_s, shared: false }
}

fn group(name: &str, cpu_ms: u64, delay_ms: u64, states: &[(ThreadWait, f64)]) -> ThreadGroup {
    ThreadGroup {
        name: name.to_owned(),
        threads: states.iter().map(|(_, threads)| threads).sum(),
        on_cpu_ns: cpu_ms * 1_000_000,
        run_delay_ns: delay_ms * 1_000_000,
        switches: 0,
        full: None,
        states: states
            .iter()
            .map(|(wait, threads)| ThreadState { wait: wait.clone(), threads: *threads })
            .collect(),
    }
}

/// Second number `index`, with `waiting` workers waiting for a connection.
pub fn window(index: u64, waiting: f64) -> Window {
    let peer = || ThreadWait::Peer { address: "127.0.0.1:5432".to_owned() };
    let workers = [
        (futex(Some(30)), waiting),
        (peer(), 9.9),
        (futex(Some(35)), 1.0),
        (ThreadWait::Running, 0.3),
        (ThreadWait::Events, 1.0),
        (ThreadWait::Accept, 1.0),
        (futex(Some(60)), 188.8 - waiting),
    ];
    let mut groups = vec![
        group("http-nio-N-exec-N", 90, 210, &workers),
        group("C2 CompilerThre", 40, 20, &[(futex(Some(5)), 2.0)]),
    ];
    groups.extend((0..10).map(|n| group(&format!("helper-{n}"), n / 9 * 700, 0, &[(futex(None), 1.0)])));
    let service = TreeWindow {
        processes: 1,
        threads: 226,
        cpu_ns: 140_000_000,
        rss_bytes: 612 << 20,
        descriptors: Some(LimitUsage { used: 980, limit: 1024 }),
        sweep: Some(ThreadSampling {
            due: 20,
            done: 20,
            threads: 226.0,
            looked_at: 226.0,
            readable: 226.0,
            ..ThreadSampling::default()
        }),
        groups,
        cgroup: Some(Cgroup {
            cpu: Some(CpuQuota {
                group: "/app".to_owned(),
                cpus: 2.0,
                periods: 10,
                throttled: 0,
                throttled_ns: 0,
            }),
            ..Cgroup::default()
        }),
        listeners: vec![ListenSocket { address: "127.0.0.1:8080".to_owned(), queued: 7, backlog: 100 }],
        peers: vec![PeerConnections {
            address: "127.0.0.1:5432".to_owned(),
            established: 10.0,
            least: 10,
            most: 10,
            time_wait: 0,
        }],
        clients: 400,
        jvm: Some(Jvm {
            pid: 4711,
            pauses: 3,
            pause_ns: 20_000_000,
            heap_used_bytes: 300 << 20,
            heap_max_bytes: 1 << 30,
            ..Jvm::default()
        }),
        ..TreeWindow::default()
    };
    let database = TreeWindow {
        processes: 16,
        threads: 16,
        cpu_ns: 30_000_000,
        rss_bytes: 90 << 20,
        ..TreeWindow::default()
    };
    let sessions = |state: &str, wait: Option<(&str, &str)>, count| SessionCount {
        state: state.to_owned(),
        wait_type: wait.map(|(kind, _)| kind.to_owned()),
        wait_event: wait.map(|(_, event)| event.to_owned()),
        count,
    };
    Window {
        from: Nanos::from_secs(index),
        to: Nanos::from_secs(index + 1),
        subjects: vec![service, database],
        host: Some(Host {
            cpus: 2,
            user_ns: 400_000_000,
            system_ns: 100_000_000,
            idle_ns: 1_500_000_000,
            memory_available_bytes: 4 << 30,
            neighbours: vec![Neighbour { pid: 99, name: "backup".to_owned(), cpu_ns: 120_000_000 }],
            ..Host::default()
        }),
        network: Some(Network { listen_overflows: index, ..Network::default() }),
        postgres: Some(PostgresWindow {
            looks: 5,
            sessions: vec![
                sessions("active", Some(("Timeout", "PgSleep")), 9.7),
                sessions("idle", Some(("Client", "ClientRead")), 2.3),
                sessions("active", None, 0.2),
            ],
            connections: 12,
            commits: 190,
            ..PostgresWindow::default()
        }),
        ..Window::default()
    }
}

fn fact(text: &str, (value, threshold, well): (f64, f64, Option<f64>), unit: &str, source: &str) -> Evidence {
    let (text, unit, source) = (text.to_owned(), unit.to_owned(), source.to_owned());
    Evidence { text, value, threshold, unit, well, source, windows: 10 }
}

/// The request path: the pool is full.
fn stations() -> Vec<Station> {
    let used = |in_use, stay_us, waiting| {
        Some(StationUse { in_use: Some(in_use), stay: Some(Nanos::from_micros(stay_us)), waiting })
    };
    vec![
        Station {
            size: Some(1.0),
            well: used(0.012, 300, None),
            degraded: used(0.057, 300, None),
            ..StationKind::Generator.station("torment: 1 loop")
        },
        Station {
            well: used(2.1, 52_500, Some(0.0)),
            degraded: used(390.0, 2_052_600, Some(0.004)),
            ..StationKind::Connections.station("400 connections")
        },
        Station {
            size: Some(200.0),
            well: used(2.0, 50_000, Some(0.1)),
            degraded: used(200.0, 1_052_600, Some(190.0)),
            ..StationKind::Threads.station("200 workers")
        },
        Station {
            size: Some(10.0),
            well: used(2.0, 50_000, Some(0.0)),
            degraded: used(9.9, 52_100, Some(189.9)),
            gave: true,
            ..StationKind::Peers.station("10 connections")
        },
        Station { degraded: used(9.7, 51_000, None), ..StationKind::Database.station("10 sessions") },
        "Timeout PgSleep".to_owned().into(),
    ]
}

pub fn diagnosis() -> Diagnosis {
    let certain = Confidence { margin: 1.0, persistence: 1.0, independence: 0.9, coverage: 1.0 };
    Diagnosis {
        sentences: vec![
            "The service's 200 workers wait for one of 10 connections to 127.0.0.1:5432.".to_owned(),
            "Each request holds one for 51 ms, and that bounds the rate; processors are idle.".to_owned(),
        ],
        findings: vec![
            Finding {
                cause: Cause::Pool,
                place: String::new(),
                also_at: Vec::new(),
                sentence: "190 of 200 workers wait for one of 10 connections to 127.0.0.1:5432.".to_owned(),
                confidence: certain,
                since_trial: Some(6),
                follows_from: None,
                evidence: vec![
                    fact(
                        "190 of 200 workers wait for another thread, at most 30 s",
                        (190.0, 50.0, Some(0.4)),
                        "threads",
                        "/proc/PID/task/*/syscall",
                    ),
                    fact(
                        "10 connections to 127.0.0.1:5432, never more and never fewer",
                        (10.0, 10.0, None),
                        "connections",
                        "sock_diag",
                    ),
                    fact(
                        "the 10 sessions of PostgreSQL are active 97 % of the time",
                        (0.97, 0.8, Some(0.52)),
                        "share",
                        "pg_stat_activity",
                    ),
                    fact(
                        "the service uses 7 % of its processors",
                        (0.07, 0.5, Some(0.06)),
                        "share",
                        "/proc/PID/task/*/schedstat",
                    ),
                ],
            },
            Finding {
                cause: Cause::Downstream,
                place: String::new(),
                also_at: Vec::new(),
                sentence: "PostgreSQL takes 50 ms for a statement.".to_owned(),
                confidence: Confidence { margin: 0.8, ..certain },
                since_trial: None,
                follows_from: Some(Cause::Pool),
                evidence: Vec::new(),
            },
        ],
        none: None,
        tie: false,
        chain: ["200 workers", "10 connections", "10 sessions", "Timeout PgSleep"]
            .map(str::to_owned)
            .to_vec(),
        stations: stations(),
        degraded_at: Some(Rate(2016.0)),
        well_at: Some(Rate(1984.0)),
        arithmetic: Some(CapacityCheck {
            formula: "10 connections / 51 ms held per request".to_owned(),
            ceiling: Rate(196.0),
            measured: Rate(190.0),
        }),
        next: vec![
            "make the query shorter before you raise the pool".to_owned(),
            "then raise the pool to 20 connections".to_owned(),
        ],
        prediction: Some(Prediction {
            change: "with 20 connections".to_owned(),
            capacity: Some(Rate(390.0)),
            from: None,
            then: "PostgreSQL's processors".to_owned(),
        }),
        unless: vec!["fewer than 10 connections are established, or workers are on a processor".to_owned()],
        unseen: vec![
            "bytes read and written".to_owned(),
            "the statements: pg_stat_statements is not loaded".to_owned(),
        ],
    }
}

impl RunBuilder {
    pub fn watched(mut self, watched: WatchCoverage) -> Self {
        self.events.push(Event::WatchStarted { place: String::new(), watched: Box::new(watched) });
        self
    }

    pub fn seen(mut self, trial: u32, windows: impl IntoIterator<Item = Window>) -> Self {
        let events = windows.into_iter().map(|window| Event::Observed {
            trial,
            place: String::new(),
            window: Box::new(window),
        });
        self.events.extend(events);
        self
    }

    pub fn looked(mut self) -> Self {
        let at = |threads, frame: &str, asked: bool| StackGroup {
            group: "http-nio-N-exec-N".to_owned(),
            state: "TIMED_WAITING".to_owned(),
            frame: frame.to_owned(),
            asked_by: asked.then(|| ApplicationFrame {
                method: "clinic.Owners.find".to_owned(),
                place: Some("Owners.java:71".to_owned()),
            }),
            threads,
        };
        let at = vec![
            at(190, "com.zaxxer.hikari.pool.HikariPool.getConnection", true),
            at(10, "sun.nio.ch.NioSocketImpl.park", false),
        ];
        let looks = [
            CloserLook::Threads { pid: 4711, took_ns: 31_000_000, at },
            CloserLook::Refused {
                of: "PostgreSQL".to_owned(),
                why: "pg_stat_statements is not loaded".to_owned(),
            },
        ];
        self.events.extend(looks.map(|look| Event::Looked { trial: 6, place: String::new(), look }));
        self
    }

    pub fn diagnosed(mut self, diagnosis: Diagnosis) -> Self {
        self.events.push(Event::Diagnosed { diagnosis: Box::new(diagnosis) });
        self
    }
}
