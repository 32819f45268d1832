//! Ways in which a database can be slow: each statement really makes PostgreSQL wait for one thing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use postgres::Client;
use units::random::Random;

/// A slow operation of a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DatabaseFault {
    /// Sleep, without resources.
    Sleep { time: Duration },
    /// Update the one hot row, and keep its lock for this long.
    Row { time: Duration },
    /// Take the one advisory lock, and keep it for this long.
    Advisory { time: Duration },
    /// Compute over this many rows.
    Cpu { rows: u32 },
    /// Read this many random pages of a table of `mib` MiB.
    Read { pages: u32, mib: u32 },
    /// Insert a row with a commit of its own.
    Commit,
    /// Keep a transaction open while the application sleeps.
    Idle { time: Duration },
    /// Sleep in a new session, made for this request.
    Connect { time: Duration },
}

/// Lock for creating the tables; another than the clinic's.
const TABLES_LOCK: &str = "SELECT pg_advisory_xact_lock(7261847)";
const TABLES: &str = "
SET LOCAL client_min_messages = warning;
CREATE TABLE IF NOT EXISTS fault_row (id INT PRIMARY KEY, n BIGINT NOT NULL);
INSERT INTO fault_row VALUES (1, 0) ON CONFLICT DO NOTHING;
CREATE TABLE IF NOT EXISTS fault_log (at TIMESTAMPTZ NOT NULL DEFAULT now(), note TEXT NOT NULL);
CREATE UNLOGGED TABLE IF NOT EXISTS fault_pages (id INT PRIMARY KEY, filler TEXT NOT NULL);
ALTER TABLE fault_pages ALTER COLUMN filler SET STORAGE PLAIN;
";
/// Row length: a page holds one row, and so a row read is a page read.
const FILLER: u32 = 7_000;
const PAGES_OF_MIB: u32 = 128;

/// Tables known to exist in a session.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PreparedTables {
    has_tables: bool,
    page_rows: u32,
}

/// Runs it; returns when the database has answered.
pub(super) fn run_fault(
    client: &mut Client,
    prepared: &mut PreparedTables,
    fault: &DatabaseFault,
) -> Result<(), postgres::Error> {
    if let DatabaseFault::Row { .. } | DatabaseFault::Commit | DatabaseFault::Read { .. } = fault
        && !prepared.has_tables
    {
        make_tables(client)?;
        prepared.has_tables = true;
    }
    match *fault {
        DatabaseFault::Sleep { time } | DatabaseFault::Connect { time } => {
            client.batch_execute(&sleep_sql(time))
        }
        // Statements sent together are one transaction: the lock is kept until the last has ended.
        DatabaseFault::Row { time } => {
            client.batch_execute(&format!("UPDATE fault_row SET n = n + 1 WHERE id = 1; {}", sleep_sql(time)))
        }
        DatabaseFault::Advisory { time } => {
            client.batch_execute(&format!("SELECT pg_advisory_xact_lock(7261848); {}", sleep_sql(time)))
        }
        DatabaseFault::Cpu { rows } => {
            client.batch_execute(&format!("SELECT sum(sqrt(i)) FROM generate_series(1, {rows}) i"))
        }
        DatabaseFault::Read { pages, mib } => {
            let rows = mib * PAGES_OF_MIB;
            if prepared.page_rows < rows {
                fill_table(client, rows)?;
                prepared.page_rows = rows;
            }
            let ids: Vec<String> = (0..pages).map(|_| (1 + random() % u64::from(rows)).to_string()).collect();
            client.batch_execute(&format!(
                "SELECT count(filler) FROM fault_pages WHERE id IN ({})",
                ids.join(",")
            ))
        }
        DatabaseFault::Commit => client.batch_execute("INSERT INTO fault_log (note) VALUES ('one commit')"),
        DatabaseFault::Idle { time } => {
            client.batch_execute("BEGIN; SELECT 1")?;
            sleep(time);
            client.batch_execute("COMMIT")
        }
    }
}

fn sleep_sql(time: Duration) -> String {
    format!("SELECT pg_sleep({:.6})", time.as_secs_f64())
}

fn make_tables(client: &mut Client) -> Result<(), postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute(TABLES_LOCK)?;
    transaction.batch_execute(TABLES)?;
    transaction.commit()
}

/// Ensures that the big table has this many rows. The first session fills it, which takes
/// some seconds; the others wait.
fn fill_table(client: &mut Client, rows: u32) -> Result<(), postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute(TABLES_LOCK)?;
    let rows_present: i32 =
        transaction.query_one("SELECT coalesce(max(id), 0) FROM fault_pages", &[])?.get(0);
    let more = i64::from(rows) > i64::from(rows_present);
    if more {
        transaction.batch_execute(&format!(
            "INSERT INTO fault_pages SELECT i, repeat('x', {FILLER}) FROM generate_series({}, {rows}) i",
            rows_present + 1
        ))?;
    }
    transaction.commit()?;
    if more {
        // Otherwise the first to read a page would have to write it, too.
        client.batch_execute("VACUUM (FREEZE, ANALYZE) fault_pages")?;
    }
    Ok(())
}

/// Any numbers will do, as long as they are spread out.
fn random() -> u64 {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    Random::nth(0, DRAWN.fetch_add(1, Ordering::Relaxed))
}
