//! Reads single rows of a PostgreSQL table by key: behind the server's cache, and behind that the kernel's.

use crate::xorshift::Xorshift;
use crate::{BLOCKS, Error, ReadMeasurement};
use postgres::{Client, NoTls, Statement};
use std::time::Duration;
use units::{Bytes, Nanos};

/// Filler per row, so that a row with its key is some 1 KiB, eight to a page.
const FILLER: u32 = 30;
/// Rows per insert: some 64 MiB.
const BATCH: u64 = 1 << 16;
/// Connection timeout.
const PATIENCE: Duration = Duration::from_secs(10);
const TABLE_NAME: &str = "torment_working_set";

/// Our own table, in our own session.
pub struct PostgresTable {
    client: Client,
    by_key: Statement,
    rows: u64,
    /// Bytes per row, with its share of the page.
    row_bytes: f64,
    rng: Xorshift,
}

impl PostgresTable {
    /// Creates a table of this size. In a server of our own it is unlogged; in another's it is temporary
    /// and so gone with the session, however that ends.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses something, or `stop` returns true.
    pub fn create(
        url: &str,
        size: Bytes,
        own: bool,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let mut config: postgres::Config =
            url.parse().map_err(|why| Error::Database(format!("'{url}' is not an address of one: {why}")))?;
        config.connect_timeout(PATIENCE).application_name("torment");
        let mut client = config.connect(NoTls).map_err(failed)?;
        let kind = if own { "unlogged" } else { "temporary" };
        // A plan without the index, or with several processes, would be another experiment.
        let create = format!(
            "set enable_seqscan = off; set enable_bitmapscan = off; set jit = off; set max_parallel_workers_per_gather = 0; \
             create {kind} table {TABLE_NAME} (id bigint not null, filler text not null)"
        );
        client.batch_execute(&create).map_err(failed)?;
        // Rows are at least this long; their real size is measured afterwards.
        let rows = (size.0 / 1024).max(1);
        let insert = format!(
            "insert into {TABLE_NAME} select i, repeat(md5(i::text), {FILLER}) from generate_series($1::bigint, $2::bigint) i"
        );
        for first in (1..=rows).step_by(BATCH as usize) {
            if stop() {
                return Err(Error::Interrupted);
            }
            let last = (first + BATCH - 1).min(rows);
            client.execute(&insert, &[&(first as i64), &(last as i64)]).map_err(failed)?;
        }
        // Freezes the rows now, or the first read of each would write.
        let words =
            format!("create unique index on {TABLE_NAME} (id); vacuum (freeze, analyze) {TABLE_NAME}");
        words.split(';').try_for_each(|word| client.batch_execute(word)).map_err(failed)?;
        // Needs a privilege; the pages are written sooner or later anyway.
        let _ = client.batch_execute("checkpoint");
        let by_key =
            client.prepare(&format!("select filler from {TABLE_NAME} where id = $1")).map_err(failed)?;
        let size_query = format!("select pg_table_size('{TABLE_NAME}')");
        let bytes: i64 = client.query_one(&size_query, &[]).map_err(failed)?.get(0);
        let row_bytes = bytes as f64 / rows as f64;
        Ok(Self { client, by_key, rows, row_bytes, rng: Xorshift::new(seed) })
    }

    /// Size of all rows.
    pub fn size(&self) -> Bytes {
        Bytes((self.rows as f64 * self.row_bytes) as u64)
    }

    /// Reads single rows of the first `set` bytes for this time, after one pass over all of them in key order.
    ///
    /// # Errors
    /// If the server refuses.
    pub fn read(&mut self, set: Bytes, time: Nanos) -> Result<ReadMeasurement, Error> {
        let rows = ((set.0 as f64 / self.row_bytes) as u64).clamp(1, self.rows);
        let pass = format!("select sum(length(filler)) from {TABLE_NAME} where id <= $1");
        self.client.query(&pass, &[&(rows as i64)]).map_err(failed)?;
        let part = time.to_duration() / BLOCKS;
        self.measure_part(rows, part, &mut ReadMeasurement::default())?;
        let mut reading = ReadMeasurement::default();
        (0..BLOCKS).try_for_each(|_| self.measure_part(rows, part, &mut reading))?;
        Ok(reading)
    }

    fn measure_part(&mut self, rows: u64, time: Duration, into: &mut ReadMeasurement) -> Result<(), Error> {
        let began = sys::monotonic_ns();
        let until = began + Nanos::from(time).0;
        let (mut reads, mut last) = (0, began);
        while last < until {
            let id = self.rng.below(rows) as i64 + 1;
            let found = self.client.query(&self.by_key, &[&id]).map_err(failed)?;
            if found.len() != 1 {
                return Err(Error::Database(format!(
                    "it has {} rows with the key {id}, and one is expected",
                    found.len()
                )));
            }
            let now = sys::monotonic_ns();
            into.times.record(Nanos(now - last));
            (reads, last) = (reads + 1, now);
        }
        into.blocks.push((reads, Nanos(last - began)));
        Ok(())
    }
}

/// The server's message, or why it could not be asked.
fn failed(error: postgres::Error) -> Error {
    let cause = std::error::Error::source(&error).map(|cause| format!(" ({cause})")).unwrap_or_default();
    Error::Database(format!("{error}{cause}"))
}
