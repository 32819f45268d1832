//! Faults of real JVMs: Tomcat, HikariCP and the JDBC driver of PostgreSQL.

use crate::case::CaseCapacity::{Known, Measured};
use crate::case::{CaseLoad, CaseService, FaultCase};
use record::Cause;
use std::time::Duration;

/// For all cases but those about memory and compiling.
const PLAIN: &[&str] = &["-Xmx512m"];
/// Only the optimising compiler, as servers once had it: a fast machine is warm within a second otherwise.
const SLOW: &[&str] = &["-Xmx512m", "-XX:-TieredCompilation"];
/// A small heap, collected by one thread while everything else stops.
const TIGHT: &[&str] = &["-Xmx96m", "-XX:+UseSerialGC"];

const QUICK: &[&str] = &["max_connections=120", "synchronous_commit=off"];

pub(super) fn tomcat(release: u32, options: &'static [&'static str]) -> CaseService {
    CaseService::Java { release, options, workers: 200, pool: 10, virtual_threads: false }
}

/// Adds a warm-up, since a JVM compiles first.
fn warm(load: CaseLoad) -> CaseLoad {
    CaseLoad { warm_up: Duration::from_secs(3), ..load }
}

/// Load from the first second on, at a rate that is easy for a warm service.
fn cold(rate: f64) -> CaseLoad {
    CaseLoad {
        base_time: Duration::ZERO,
        overload: 1.0,
        overload_time: Duration::from_secs(8),
        probe_pages: false,
        ..CaseLoad::around(Known(rate))
    }
}

pub(super) fn cases() -> Vec<FaultCase> {
    let pool = "HikariCP's 10 connections, each held for 50 ms by a query that needs nothing";
    let healthy = "nothing: a warm JVM well within its limits";
    let under_pool = |name, fault, service| {
        FaultCase::new(name, fault)
            .service(service)
            .load("/dbsleep?ms=50", warm(CaseLoad::around(Known(190.0))))
            .postgres(QUICK)
            .expect(Cause::Pool, &[])
            .because("10 / 50 ms = 200/s, and the database is idle")
    };
    let virtual_threads =
        CaseService::Java { release: 25, options: PLAIN, workers: 200, pool: 10, virtual_threads: true };
    let with_50_connections =
        CaseService::Java { release: 25, options: PLAIN, workers: 200, pool: 50, virtual_threads: false };
    let easy = CaseLoad {
        base_load: 0.2,
        overload: 0.4,
        warm_up: Duration::from_secs(4),
        ..CaseLoad::around(Known(1_000.0))
    };
    let gc = |name, release| {
        FaultCase::new(name, "much garbage in a small heap, collected by one thread")
            .service(tomcat(release, TIGHT))
            .load("/gc?kb=512", warm(CaseLoad::around(Measured)))
            .expect(Cause::Gc, &[Cause::Cpu, Cause::Safepoint])
    };
    let jit = |name, release, rate| {
        FaultCase::new(name, "a JVM just started, loaded from the first second")
            .service(tomcat(release, SLOW))
            .load("/ok", cold(rate))
            .expect(Cause::ColdJit, &[Cause::Cpu])
            .because("once warm, it handles the same rate with ease")
    };
    vec![
        under_pool("jvm17-pool", pool, tomcat(17, PLAIN)),
        under_pool("jvm25-pool", pool, tomcat(25, PLAIN)),
        under_pool("jvm25-virtual-pool", "the same with a virtual thread for each request", virtual_threads),
        FaultCase::new("jvm17-monitor", "one synchronized block, 5 ms each")
            .service(tomcat(17, PLAIN))
            .load("/sync?ms=5", warm(CaseLoad::around(Known(190.0))))
            .expect(Cause::Lock, &[]),
        FaultCase::new("jvm25-lock", "one ReentrantLock, held for 5 ms")
            .service(tomcat(25, PLAIN))
            .load("/lock?ms=5", warm(CaseLoad::around(Known(190.0))))
            .expect(Cause::Lock, &[]),
        FaultCase::new("jvm17-workers", "200 workers, each sleeps 200 ms")
            .service(tomcat(17, PLAIN))
            .load("/sleep?ms=200", warm(CaseLoad { overload: 1.25, ..CaseLoad::around(Known(990.0)) }))
            .expect(Cause::Workers, &[Cause::Downstream]),
        gc("jvm17-gc", 17),
        gc("jvm25-gc", 25),
        jit("jvm17-cold", 17, 8_000.0),
        jit("jvm25-cold", 25, 9_000.0),
        FaultCase::new("jvm25-row-lock", "50 connections change the same row and lock it for 5 ms")
            .service(with_50_connections)
            .load("/dbrow?ms=5", warm(CaseLoad::around(Known(190.0))))
            .postgres(QUICK)
            .expect(Cause::PostgresLock, &[Cause::PostgresCpu, Cause::Cpu]),
        FaultCase::new("healthy-jvm17", healthy).service(tomcat(17, PLAIN)).load("/sleep?ms=5", easy),
        FaultCase::new("healthy-jvm25", healthy).service(tomcat(25, PLAIN)).load("/sleep?ms=5", easy),
    ]
}
