//! Two faults at once: which gives first follows from the numbers.

use super::java::tomcat;
use crate::case::CaseCapacity::Known;
use crate::case::{CaseLoad, FaultCase, ServiceLimits};
use record::Cause;
use std::time::Duration;

pub(super) fn cases() -> Vec<FaultCase> {
    vec![
        FaultCase::new("both-pool-and-cpu", "requests either hold one of few permits or compute")
            .target_options(&["--workers", "400"])
            .load("/fault/permit?size=10&us=50000", CaseLoad::around(Known(390.0)))
            .and_page("/fault/cpu?us=2000")
            .expect(Cause::Pool, &[Cause::Cpu])
            .because(
                "half of the requests need a permit: 2 · 10 / 50 ms = 400/s; at 1.4 times that, the \
                 other half take 273/s · 2 ms = 0.55 of a processor",
            ),
        FaultCase::new(
            "both-quota-and-lock",
            "half a processor, requests either compute for 4 ms or hold the lock for 3 ms",
        )
        .target_options(&["--workers", "100"])
        .load("/fault/cpu?us=4000", CaseLoad::around(Known(245.0)))
        .and_page("/fault/lock?us=3000")
        .limits(ServiceLimits { cpus: Some(0.5), ..ServiceLimits::default() })
        .expect(Cause::CpuQuota, &[Cause::Lock, Cause::Cpu])
        .because(
            "half of the requests compute: 2 · 0.5 / 4 ms = 250/s; the lock alone would give at \
             2 / 3 ms = 667/s",
        ),
        FaultCase::new(
            "both-gc-and-pool",
            "a Tomcat whose requests either allocate 128 KB or hold one of 10 connections for 50 \
             ms",
        )
        .load(
            "/dbsleep?ms=50",
            CaseLoad { warm_up: Duration::from_secs(3), ..CaseLoad::around(Known(380.0)) },
        )
        .and_page("/gc?kb=128")
        .postgres(&["max_connections=120", "synchronous_commit=off"])
        .expect(Cause::Pool, &[Cause::Gc])
        .because(
            "half of the requests need a connection: 2 · 10 / 50 ms = 400/s; at 1.4 times that, \
             the other half allocate 273/s · 128 KB = 35 MB/s, of which 512 MB of heap are \
             collected once in some seconds",
        )
        .service(tomcat(25, &["-Xmx512m", "-XX:+UseSerialGC"])),
        FaultCase::new(
            "both-row-lock-and-pool",
            "5 connections, all of which change the same row and keep it for 5 ms",
        )
        .target_options(&["--connections", "5"])
        .load("/fault/db?do=row&us=5000", CaseLoad::around(Known(180.0)))
        .postgres(&["max_connections=120", "synchronous_commit=off"])
        .expect(Cause::PostgresLock, &[Cause::Pool])
        .because(
            "workers wait for 5 connections, but 4 of those wait for the row: 1 / 5 ms = 200/s \
             with any number of connections; 5 / 5 ms = 1,000/s is what the pool alone would give",
        ),
    ]
}

#[cfg(test)]
#[test]
fn combinations_name_both_sides() {
    for case in cases() {
        assert!(case.why.contains('='), "{}: the numbers are missing", case.name);
    }
}
