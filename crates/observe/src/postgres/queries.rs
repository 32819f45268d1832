//! Queries adapted to the server.
//!
//! Columns moved between views in 14, 16, 17 and 18, so the server is asked which it has: a version number
//! does not say what a fork, or a future version, has.

use std::collections::HashSet;

/// Number of columns of [`counters`].
pub(super) const COUNTERS: usize = 16;

/// Identifies our queries in the database's log and in `pg_stat_statements`.
pub(super) const MARK: &str = "/* torment */";

/// Settings that explain waits.
pub(super) const SETTINGS: [&str; 13] = units::texts![
    "max_connections" "superuser_reserved_connections" "reserved_connections" "shared_buffers"
    "synchronous_commit" "fsync" "commit_delay" "wal_sync_method" "track_io_timing" "track_wal_io_timing"
    "track_activities" "max_wal_size" "checkpoint_timeout"
];

/// Activity of client sessions in all databases: the connection limit counts them all. A session of a role
/// that we may not read has neither state nor backend type.
pub(super) const ACTIVITY: &str = "/* torment */
SELECT datname = current_database(), state, wait_event_type, wait_event, backend_type IS NULL, count(*),
       coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND datname IS NOT NULL
  AND (backend_type = 'client backend' OR backend_type IS NULL)
GROUP BY 1, 2, 3, 4, 5";

/// Blocked sessions. Run rarely: it takes all locks of the lock table.
pub(super) const BLOCKERS: &str = "/* torment */
SELECT pid, pg_blocking_pids(pid), coalesce(wait_event, ''), left(query, 400)
FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND datname = current_database()
ORDER BY query_start LIMIT 100";

/// The columns of the views.
pub(super) const COLUMNS: &str = "/* torment */
SELECT c.relname::text, a.attname::text
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'pg_catalog'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
  AND c.relname IN ('pg_stat_database', 'pg_stat_wal', 'pg_stat_bgwriter', 'pg_stat_checkpointer', 'pg_stat_io')";

/// Views and their columns.
#[derive(Debug, Default)]
pub(super) struct Columns(pub HashSet<(String, String)>);

impl Columns {
    fn has(&self, view: &str, column: &str) -> bool {
        self.0.contains(&(view.to_owned(), column.to_owned()))
    }

    /// The first expression whose column exists.
    fn first(&self, choices: &[(&str, &str, &str)]) -> String {
        let found = choices.iter().find(|(view, column, _)| self.has(view, column));
        found.map_or("NULL", |(_, _, expression)| expression).to_owned()
    }
}

/// Counters of the database and server; null for those that the server lacks, or does not collect.
pub(super) fn counters(columns: &Columns) -> String {
    let of_database = |column: &str| columns.first(&[("pg_stat_database", column, column)]);
    let wal_bytes = match columns.has("pg_stat_wal", "wal_bytes") {
        true => "(SELECT wal_bytes FROM pg_stat_wal)",
        // Before 14 there is only the WAL position.
        false => {
            "pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() \
             ELSE pg_current_wal_lsn() END, '0/0')"
        }
    };
    let of = |column: &str, view: &str| format!("(SELECT {column} FROM {view})");
    let wal = |own: &str, summed: &str| {
        let own_view = of(own, "pg_stat_wal");
        let io = of(&format!("sum({summed})"), "pg_stat_io WHERE object = 'wal'");
        columns.first(&[("pg_stat_wal", own, own_view.as_str()), ("pg_stat_io", "object", io.as_str())])
    };
    let (wal_syncs, wal_sync_ms) = (wal("wal_sync", "fsyncs"), wal("wal_sync_time", "fsync_time"));
    let checkpoints = |new: &str, old: &str| {
        let (now, before) = (of(new, "pg_stat_checkpointer"), of(old, "pg_stat_bgwriter"));
        columns
            .first(&[("pg_stat_checkpointer", new, now.as_str()), ("pg_stat_bgwriter", old, before.as_str())])
    };
    let backend_syncs = columns.first(&[
        ("pg_stat_bgwriter", "buffers_backend_fsync", "(SELECT buffers_backend_fsync FROM pg_stat_bgwriter)"),
        (
            "pg_stat_io",
            "backend_type",
            "(SELECT sum(fsyncs) FROM pg_stat_io WHERE backend_type = 'client backend' AND object = 'relation')",
        ),
    ]);
    let expressions: [String; COUNTERS] = [
        of_database("xact_commit"),
        of_database("xact_rollback"),
        of_database("blks_read"),
        of_database("blks_hit"),
        of_database("temp_bytes"),
        of_database("deadlocks"),
        of_database("active_time"),
        of_database("idle_in_transaction_time"),
        wal_bytes.to_owned(),
        // O_SYNC writes flush without a countable call.
        format!("CASE WHEN current_setting('wal_sync_method') NOT LIKE 'open%' THEN {wal_syncs} END"),
        format!("CASE WHEN current_setting('track_wal_io_timing', true) = 'on' THEN {wal_sync_ms} END"),
        checkpoints("num_timed", "checkpoints_timed"),
        checkpoints("num_requested", "checkpoints_req"),
        checkpoints("write_time", "checkpoint_write_time"),
        checkpoints("sync_time", "checkpoint_sync_time"),
        backend_syncs,
    ];
    let each: Vec<String> = expressions.iter().map(|expression| format!("({expression})::float8")).collect();
    format!("{MARK}\nSELECT {}\nFROM pg_stat_database WHERE datname = current_database()", each.join(",\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATABASE: &str = "xact_commit xact_rollback blks_read blks_hit temp_bytes deadlocks";
    const WAL: &str = "wal_records wal_fpi wal_bytes wal_buffers_full";
    const WAL_UNTIL_17: &str = "wal_write wal_sync wal_write_time wal_sync_time";

    /// The relevant columns, by the manual of each version.
    fn columns(version: u32) -> Columns {
        let mut views = vec![("pg_stat_database", DATABASE)];
        if version >= 14 {
            views.push(("pg_stat_database", "active_time idle_in_transaction_time"));
            views.push(("pg_stat_wal", WAL));
        }
        if (14..=17).contains(&version) {
            views.push(("pg_stat_wal", WAL_UNTIL_17));
        }
        if version >= 16 {
            views.push(("pg_stat_io", "backend_type object context fsyncs fsync_time"));
        }
        views.push(match version {
            17.. => ("pg_stat_checkpointer", "num_timed num_requested write_time sync_time"),
            _ => (
                "pg_stat_bgwriter",
                "checkpoints_timed checkpoints_req checkpoint_write_time checkpoint_sync_time buffers_backend_fsync",
            ),
        });
        let names = |(view, names): (&str, &str)| {
            let view = view.to_owned();
            names.split(' ').map(|name| (view.clone(), name.to_owned())).collect::<Vec<_>>()
        };
        Columns(views.into_iter().flat_map(names).collect())
    }

    /// Every view queried exists in that version.
    #[test]
    fn each_version_is_asked_what_it_has() {
        for (version, has, has_not) in [
            (
                13,
                "pg_current_wal_lsn checkpoints_timed",
                "pg_stat_wal active_time pg_stat_io pg_stat_checkpointer",
            ),
            (
                14,
                "wal_sync_time active_time wal_bytes checkpoints_req",
                "pg_current_wal_lsn pg_stat_checkpointer",
            ),
            (
                15,
                "wal_sync_time active_time wal_bytes checkpoints_req",
                "pg_current_wal_lsn pg_stat_checkpointer",
            ),
            (
                16,
                "wal_sync_time wal_bytes checkpoints_timed buffers_backend_fsync checkpoint_sync_time",
                "pg_stat_io pg_stat_checkpointer",
            ),
            (
                17,
                "wal_sync_time wal_bytes num_timed num_requested sum(fsyncs)",
                "sum(fsync_time) pg_stat_bgwriter",
            ),
            (
                18,
                "sum(fsyncs) sum(fsync_time) wal_bytes num_timed write_time sync_time",
                "wal_sync_time pg_stat_bgwriter",
            ),
        ] {
            let sql = counters(&columns(version));
            for part in has.split(' ') {
                assert!(sql.contains(part), "{version} lacks {part}: {sql}");
            }
            for part in has_not.split(' ') {
                assert!(!sql.contains(part), "{version} has {part}: {sql}");
            }
            assert_eq!(sql.matches("::float8").count(), COUNTERS, "{sql}");
        }
    }
}
