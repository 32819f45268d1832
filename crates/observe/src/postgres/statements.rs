//! Statement costs from the extension `pg_stat_statements`: read only before and after a load, as it locks
//! all of its entries.

use super::queries::MARK;
use postgres::{Client, Error, error::SqlState};
use record::watch::StatementCost;
use std::collections::HashMap;

/// Maximum statements reported.
const MOST: usize = 20;

/// Calls and milliseconds so far, by statement id.
pub(super) type StatementSnapshot = HashMap<i64, (i64, f64)>;

pub(super) struct StatementStats {
    /// Its schema, quoted.
    schema: String,
}

impl StatementStats {
    /// Finds it; the inner error says in one sentence why it is unavailable.
    pub fn find(client: &mut Client) -> Result<Result<Self, String>, Error> {
        let query = "/* torment */
            SELECT quote_ident(n.nspname), EXISTS (SELECT FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                WHERE c.relname = 'pg_stat_statements' AND c.relnamespace = n.oid AND a.attname = 'total_exec_time')
            FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
            WHERE e.extname = 'pg_stat_statements'";
        let Some(row) = client.query_opt(query, &[])? else {
            let why = "the extension pg_stat_statements is not installed in this database: CREATE EXTENSION \
                       pg_stat_statements, and name it in shared_preload_libraries";
            return Ok(Err(why.to_owned()));
        };
        if !row.try_get::<_, bool>(1)? {
            let why = "pg_stat_statements is of an old version: ALTER EXTENSION pg_stat_statements UPDATE";
            return Ok(Err(why.to_owned()));
        }
        let costs = Self { schema: row.try_get(0)? };
        match costs.snapshot(client) {
            Ok(_) => Ok(Ok(costs)),
            Err(e) if e.code() == Some(&SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE) => {
                let why = "pg_stat_statements is installed and not loaded: name it in shared_preload_libraries \
                           and restart the server";
                Ok(Err(why.to_owned()))
            }
            // Not worth losing the other queries for.
            Err(e) if !super::is_lost(&e) => {
                Ok(Err(format!("pg_stat_statements cannot be read: {}", super::format_error(&e))))
            }
            Err(e) => Err(e),
        }
    }

    /// The costs of each statement of this database so far, without the texts, which may be large.
    pub fn snapshot(&self, client: &mut Client) -> Result<StatementSnapshot, Error> {
        let query = format!(
            "{MARK} SELECT queryid, sum(calls)::int8, sum(total_exec_time)::float8 \
             FROM {}.pg_stat_statements(false) WHERE queryid IS NOT NULL \
             AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY queryid",
            self.schema
        );
        let rows = client.query(&query, &[])?;
        rows.iter().map(|row| Ok((row.try_get(0)?, (row.try_get(1)?, row.try_get(2)?)))).collect()
    }

    /// The statements that took most of the time since.
    pub fn since(
        &self,
        client: &mut Client,
        before: &StatementSnapshot,
    ) -> Result<Vec<StatementCost>, Error> {
        let grown = grown(before, self.snapshot(client)?);
        let numbers: Vec<i64> = grown.iter().map(|(number, _, _)| *number).collect();
        let query = format!(
            "{MARK} SELECT queryid, min(left(query, 400)) FROM {}.pg_stat_statements(true) \
             WHERE queryid = ANY($1) GROUP BY queryid",
            self.schema
        );
        let mut texts = HashMap::new();
        for row in client.query(&query, &[&numbers])? {
            texts.insert(row.try_get::<_, i64>(0)?, row.try_get::<_, Option<String>>(1)?.unwrap_or_default());
        }
        let costs = grown.into_iter().filter_map(|(number, calls, total_ms)| {
            let text = texts.get(&number)?;
            (!text.starts_with(MARK)).then(|| StatementCost {
                text: super::redaction::redact(text),
                calls,
                total_ms,
            })
        });
        Ok(costs.take(MOST).collect())
    }
}

/// Id, calls and milliseconds of what ran since, the longest first; a few more than reported, as some are
/// our own.
fn grown(before: &StatementSnapshot, now: StatementSnapshot) -> Vec<(i64, u64, f64)> {
    let mut grown: Vec<(i64, u64, f64)> = now
        .into_iter()
        .filter_map(|(number, (calls, ms))| {
            let (calls_before, ms_before) = before.get(&number).copied().unwrap_or_default();
            // Fewer than before: it was evicted or reset, and restarted.
            let (calls, ms) =
                if calls < calls_before { (calls, ms) } else { (calls - calls_before, ms - ms_before) };
            (calls > 0).then(|| (number, u64::try_from(calls).unwrap_or_default(), ms.max(0.0)))
        })
        .collect();
    grown.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    grown.truncate(MOST + 10);
    grown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_since_is_told_the_longest_first() {
        let before =
            StatementSnapshot::from([(1, (10, 100.0)), (2, (5, 50.0)), (3, (7, 70.0)), (4, (9, 900.0))]);
        let now = StatementSnapshot::from([
            (1, (11, 101.0)),
            (2, (6, 80.0)),
            (3, (7, 70.0)),
            (4, (2, 2.0)),
            (5, (1, 9.0)),
        ]);
        assert_eq!(grown(&before, now), [(2, 1, 30.0), (5, 1, 9.0), (4, 2, 2.0), (1, 1, 1.0)]);
    }
}
