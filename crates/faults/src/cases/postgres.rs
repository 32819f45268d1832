//! Waits of the built-in service for a real PostgreSQL.

use crate::case::CaseCapacity::{Known, Measured};
use crate::case::{CaseLoad, FaultCase, PostgresSpec, ServiceLimits};
use record::Cause;

/// Commits do not wait for the disk, so that something else gives first.
const QUICK: &[&str] = &["max_connections=120", "synchronous_commit=off"];

pub(super) fn cases() -> Vec<FaultCase> {
    vec![
        FaultCase::new("pg-pool", "10 connections, each held for 50 ms by a query that needs nothing")
            .target_options(&["--connections", "10"])
            .load("/fault/db?do=sleep&us=50000", CaseLoad::around(Known(195.0)))
            .postgres(QUICK)
            .expect(Cause::Pool, &[])
            .because("10 / 50 ms = 200/s; the database is idle, so more connections would give more"),
        FaultCase::new("pg-row-lock", "50 connections change the same row and lock it for 5 ms")
            .target_options(&["--connections", "50"])
            .load("/fault/db?do=row&us=5000", CaseLoad::around(Known(180.0)))
            .postgres(QUICK)
            .expect(Cause::PostgresLock, &[])
            .because(
                "1 / 5 ms = 200/s, less the round trips; 49 of 50 sessions wait for the one that has \
                 the row",
            ),
        FaultCase::new("pg-advisory-lock", "50 connections take the same advisory lock and keep it for 5 ms")
            .target_options(&["--connections", "50"])
            .load("/fault/db?do=advisory&us=5000", CaseLoad::around(Known(180.0)))
            .postgres(QUICK)
            .expect(Cause::PostgresLock, &[]),
        FaultCase::new(
            "pg-wal",
            "4 connections commit a row with each request, on a disk that takes 200 writes a \
             second",
        )
        .target_options(&["--connections", "4"])
        .load("/fault/db?do=commit", CaseLoad::around(Measured))
        .expect(Cause::PostgresWal, &[Cause::Disk])
        .because(
            "inserting a row costs little; a commit is a flush of the log, and more connections \
             would wait for it too",
        )
        .database(PostgresSpec {
            settings: &["max_connections=120", "wal_sync_method=fdatasync"],
            limits: ServiceLimits { writes: Some(200), ..ServiceLimits::default() },
            warm_up_page: None,
        }),
        FaultCase::new("pg-cpu", "each request computes over 20,000 rows in the database")
            .target_options(&["--connections", "20"])
            .load("/fault/db?do=cpu&rows=20000", CaseLoad::around(Measured))
            .postgres(QUICK)
            .expect(Cause::PostgresCpu, &[Cause::Cpu]),
        FaultCase::new(
            "pg-reads",
            "pages read at random out of 256 MiB, with room for 64 MiB, on a disk that takes \
             2,000 reads a second",
        )
        .target_options(&["--connections", "8"])
        .load("/fault/db?do=read&n=8&mib=256", CaseLoad::around(Measured))
        .expect(Cause::PostgresReads, &[Cause::Disk])
        .because(
            "the group's memory holds less than a quarter of the table, so most pages come from \
             the disk: 2,000 / 8 = 250/s and little more",
        )
        .database(PostgresSpec {
            settings: &[
                "max_connections=120",
                "shared_buffers=8MB",
                "synchronous_commit=off",
                "max_wal_size=1GB",
            ],
            limits: ServiceLimits { memory_mib: Some(64), reads: Some(2_000), ..ServiceLimits::default() },
            warm_up_page: Some("/fault/db?do=read&n=1&mib=256"),
        }),
        FaultCase::new(
            "pg-connections",
            "each request opens its own session, of only 20 allowed, for 100 ms",
        )
        .target_options(&["--connections", "2"])
        .load(
            "/fault/db?do=connect&us=100000",
            CaseLoad { base_load: 0.2, overload: 2.2, ..CaseLoad::around(Known(100.0)) },
        )
        .postgres(&["max_connections=20", "superuser_reserved_connections=3", "synchronous_commit=off"])
        .expect(Cause::PostgresConnections, &[])
        .because(
            "17 to 20 sessions less the pool's 2 and the watch's own; a session takes 100 ms and \
                 its start, so more than 140/s · 0.1 s = 14 are open at once, and the next one is \
                 refused",
        ),
        FaultCase::new(
            "pg-idle-in-transaction",
            "10 connections, each kept in an open transaction while the service sleeps 20 ms",
        )
        .target_options(&["--connections", "10"])
        .load("/fault/db?do=idle&us=20000", CaseLoad::around(Known(480.0)))
        .postgres(QUICK)
        .expect(Cause::PostgresIdleInTransaction, &[Cause::Pool])
        .because("10 / 20 ms = 500/s; the sessions wait for the service, not the other way round"),
    ]
}
