//! The fault pages do what they claim: a real load on each, observed through the kernel.

use crate::client;
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::client::{Client, service};
use torment_reference::{BuiltinService, ClinicDatabase, ConcurrencyModel, ListenAddress, ServiceConfig};

/// A busy machine shows a state late, but it shows it.
const PATIENCE: Duration = Duration::from_secs(20);

const POOL: ConcurrencyModel = ConcurrencyModel::Pool { workers: 8, queue: 1_000 };

/// Runs `clients` clients on a page until `seen` returns true; panics if it never does.
fn under_load(service: &BuiltinService, clients: usize, page: &str, condition: impl Fn() -> bool) {
    let enough = AtomicBool::new(false);
    let found = scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = Client::of(service);
                while !enough.load(Ordering::Relaxed) {
                    let answer = client.get(page);
                    assert_eq!(answer.status, 200, "{page}: {}", answer.text());
                }
            });
        }
        let until = Instant::now() + PATIENCE;
        let mut found = false;
        while !found && Instant::now() < until {
            sleep(Duration::from_millis(5));
            found = condition();
        }
        enough.store(true, Ordering::Relaxed);
        found
    });
    assert!(found, "{page}: the kernel never showed it");
}

/// The service's workers by system call number.
fn calls() -> BTreeMap<String, Vec<String>> {
    let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").expect("our own").flatten() {
        let read = |file| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        if read("comm").starts_with("worker-") {
            let line = read("syscall");
            let mut words = line.split_whitespace().map(str::to_owned);
            calls.entry(words.next().unwrap_or_default()).or_default().push(line.clone());
        }
    }
    calls
}

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const READ: [&str; 2] = ["0", "45"];
    pub const FUTEX: &str = "202";
    pub const SLEEP: [&str; 2] = ["35", "230"];
}

#[cfg(target_arch = "x86_64")]
fn in_calls(calls: &BTreeMap<String, Vec<String>>, numbers: &[&str]) -> usize {
    numbers.iter().filter_map(|number| calls.get(*number)).map(Vec::len).sum()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn one_holds_the_lock_and_the_others_wait_for_it() {
    if !testbed::is_own_process("faults::one_holds_the_lock_and_the_others_wait_for_it") {
        return;
    }
    let service = service(POOL);
    under_load(&service, 8, "/fault/lock?us=20000", || {
        let calls = calls();
        in_calls(&calls, &numbers::SLEEP) == 1 && in_calls(&calls, &[numbers::FUTEX]) == 7
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
fn those_without_a_permit_wait_with_a_deadline() {
    if !testbed::is_own_process("faults::those_without_a_permit_wait_with_a_deadline") {
        return;
    }
    let service = service(POOL);
    under_load(&service, 8, "/fault/permit?size=3&us=20000", || {
        let calls = calls();
        // The fourth argument of a futex wait points to its deadline.
        let timed = |line: &&String| line.split_whitespace().nth(4).is_some_and(|arg| arg != "0x0");
        let waiting = calls.get(numbers::FUTEX).map_or(0, |lines| lines.iter().filter(timed).count());
        in_calls(&calls, &numbers::SLEEP) == 3 && waiting == 5
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
fn workers_read_from_the_service_they_call() {
    if !testbed::is_own_process("faults::workers_read_from_the_service_they_call") {
        return;
    }
    let downstream = client::service(ConcurrencyModel::ASYNC);
    let service = service(POOL);
    let ListenAddress::Tcp(to) = downstream.address() else { panic!("it listens on a port") };
    let page = format!("/fault/call?to={to}&path=/delay?ms=100");
    under_load(&service, 8, &page, || in_calls(&calls(), &numbers::READ) == 8);
    let truth = client::settled(&downstream);
    assert_eq!(truth["connections"]["accepted"], 8, "each worker keeps one connection");
}

#[test]
fn burning_and_pacing_go_by_the_threads_own_clock() {
    if !testbed::is_own_process("faults::burning_and_pacing_go_by_the_threads_own_clock") {
        return;
    }
    let service = service(POOL);
    let cpu = || -> u64 {
        let tasks = fs::read_dir("/proc/self/task").expect("our own").flatten();
        let workers = tasks.filter(|task| {
            fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("worker-"))
        });
        workers
            .filter_map(|task| {
                let line = fs::read_to_string(task.path().join("schedstat")).ok()?;
                line.split_whitespace().next()?.parse::<u64>().ok()
            })
            .sum()
    };
    let before = cpu();
    let mut client = Client::of(&service);
    for _ in 0..10 {
        assert_eq!(client.get("/fault/cpu?us=10000").status, 200);
    }
    // A running thread's CPU accounting may be a tick old.
    let used = cpu() - before;
    assert!(used >= 90_000_000, "{used} ns for ten times 10 ms");
}

#[test]
fn memory_threads_and_descriptors_are_kept() {
    if !testbed::is_own_process("faults::memory_threads_and_descriptors_are_kept") {
        return;
    }
    let service = service(POOL);
    let mut client = Client::of(&service);
    let resident = || -> u64 {
        let text = fs::read_to_string("/proc/self/statm").expect("our own");
        text.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).expect("a number")
    };
    let count = |folder: &str, like: &dyn Fn(&std::path::Path) -> bool| {
        fs::read_dir(folder).expect("our own").flatten().filter(|entry| like(&entry.path())).count()
    };
    let null = |path: &std::path::Path| fs::read_link(path).is_ok_and(|to| to.as_os_str() == "/dev/null");
    let short = |path: &std::path::Path| {
        fs::read_to_string(path.join("comm")).is_ok_and(|n| n.starts_with("short-lived"))
    };
    let (pages, nulls) = (resident(), count("/proc/self/fd", &null));
    for _ in 0..4 {
        assert_eq!(client.get("/fault/memory?kib=16384").status, 200);
        assert_eq!(client.get("/fault/open").status, 200);
        assert_eq!(client.get("/fault/thread?ms=10000").status, 200);
    }
    assert!(resident() >= pages + 12_000, "{pages} pages before, {} after 64 MiB more", resident());
    assert_eq!(count("/proc/self/fd", &null), nulls + 4);
    let until = Instant::now() + PATIENCE;
    // A thread takes its name when it first runs.
    while count("/proc/self/task", &short) < 4 {
        assert!(Instant::now() < until, "four threads were started");
        sleep(Duration::from_millis(5));
    }
    assert_eq!(client.get("/fault/memory?reset=1").status, 200);
    assert_eq!(client.get("/fault/open?reset=1").status, 200);
    assert_eq!(count("/proc/self/fd", &null), nulls);
    service.stop();
    while count("/proc/self/task", &short) > 0 {
        assert!(Instant::now() < until, "threads outlive the service");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_event_loop_refuses_what_would_block_it() {
    if !testbed::is_own_process("faults::an_event_loop_refuses_what_would_block_it") {
        return;
    }
    let service = service(ConcurrencyModel::ASYNC);
    let mut client = Client::of(&service);
    for page in ["/fault/lock", "/fault/permit", "/fault/db", "/fault/open", "/fault/file"] {
        let answer = client.get(page);
        assert_eq!(answer.status, 400, "{page}");
        assert!(answer.text().contains("blocks the thread"), "{page}: {}", answer.text());
    }
    for page in ["/fault/cpu?us=10", "/fault/thread?ms=1", "/fault/memory?kib=1"] {
        assert_eq!(client.get(page).status, 200, "{page}");
    }
    assert_eq!(client.get("/fault/nothing").status, 400);
}

#[test]
fn serial_workers_close_and_their_backlog_is_as_asked() {
    if !testbed::is_own_process("faults::serial_workers_close_and_their_backlog_is_as_asked") {
        return;
    }
    let model = ConcurrencyModel::Serial { workers: 2 };
    let service = BuiltinService::start(ServiceConfig { model, backlog: 3, ..ServiceConfig::default() })
        .expect("starts");
    for _ in 0..5 {
        let answer = Client::of(&service).get("/fault/file?kib=1");
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    }
    let ListenAddress::Tcp(address) = service.address() else { panic!("it listens on a port") };
    let shown =
        std::process::Command::new("ss").args(["-Hltn", &format!("sport = :{}", address.port())]).output();
    match shown {
        Ok(shown) => {
            let line = String::from_utf8_lossy(&shown.stdout).into_owned();
            assert_eq!(line.split_whitespace().nth(2), Some("3"), "{line}");
        }
        Err(_) => eprintln!("SKIPPED: the length of the queue (no ss; apt-get install iproute2)"),
    }
    service.stop();
}

#[test]
fn sessions_wait_for_what_they_are_told_to() {
    if !testbed::is_own_process("faults::sessions_wait_for_what_they_are_told_to") {
        return;
    }
    let Some(server) = testbed::TestPostgres::start() else { return };
    let database = ClinicDatabase::Postgres(server.url());
    let service = BuiltinService::start(ServiceConfig {
        model: POOL,
        database,
        connections: 4,
        ..ServiceConfig::default()
    });
    let service = service.expect("PostgreSQL runs");
    let states = |question: &str| {
        let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).expect("it runs");
        client.query_one(question, &[]).expect("a number").get::<_, i64>(0)
    };
    let waiting = |event: &str| {
        states(&format!(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type || ':' || wait_event LIKE '{event}'"
        ))
    };
    under_load(&service, 8, "/fault/db?do=sleep&us=50000", || waiting("Timeout:PgSleep") == 4);
    under_load(&service, 8, "/fault/db?do=row&us=20000", || {
        waiting("Timeout:PgSleep") == 1 && waiting("Lock:t%") == 3
    });
    under_load(&service, 8, "/fault/db?do=advisory&us=20000", || waiting("Lock:advisory") == 3);
    under_load(&service, 8, "/fault/db?do=idle&us=50000", || {
        states("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'") == 4
    });
    under_load(&service, 8, "/fault/db?do=cpu&rows=500000", || {
        states(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%generate_series(1, 500000)%'
                AND state = 'active' AND wait_event IS NULL AND pid <> pg_backend_pid()",
        ) >= 2
    });
    under_load(&service, 8, "/fault/db?do=connect&us=100000", || waiting("Timeout:PgSleep") > 4);
    let rows = || states("SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'fault_log'");
    under_load(&service, 2, "/fault/db?do=commit", || rows() > 10);
    let mut client = Client::of(&service);
    assert_eq!(client.get("/fault/db?do=read&mib=16").status, 200);
    assert_eq!(states("SELECT pg_relation_size('fault_pages') / 8192"), 2_048, "16 MiB, a page for each row");
}
