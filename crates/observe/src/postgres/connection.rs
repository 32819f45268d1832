//! The connection for queries, opened before the load: if all connections are taken, ours is one of them.

use super::address::Address;
use super::queries::{self, Columns};
use super::statements::StatementStats;
use postgres::{Client, Error, NoTls, Row, Statement};
use record::watch::{BlockedSession, MissingMeasure, PostgresServer};

/// During preparation: a loaded server may take its time.
const PREPARE_TIMEOUT: &str = "SET statement_timeout = '4s'";
/// A slower sample tells nothing more, and must not add to the load.
const QUERY_TIMEOUT: &str = "SET statement_timeout = '500ms'";

/// Sessions with the same activity, in one sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SessionGroup {
    pub state: String,
    pub wait_type: Option<String>,
    pub wait_event: Option<String>,
    pub count: u64,
}

/// One sample.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Activity {
    /// In the queried database.
    pub sessions: Vec<SessionGroup>,
    pub oldest_transaction_s: f64,
    /// In all databases, ours included.
    pub connections: u32,
}

impl Activity {
    /// Active sessions, and those of them that wait for a lock.
    pub fn active_and_locked(&self) -> (u64, u64) {
        let active = || self.sessions.iter().filter(|d| d.state == "active");
        let locked = active().filter(|d| d.wait_type.as_deref() == Some("Lock"));
        (active().map(|d| d.count).sum(), locked.map(|d| d.count).sum())
    }
}

/// State of a session that may not be read.
const NOT_PERMITTED: &str = "not permitted";

/// A connection with everything prepared.
pub(super) struct PostgresConnection {
    pub client: Client,
    activity: Statement,
    counters: Statement,
    pub stats: Option<StatementStats>,
    pub info: PostgresServer,
    pub missing: Vec<MissingMeasure>,
}

impl PostgresConnection {
    /// Connects and runs the one-time queries.
    pub fn open(address: &Address) -> Result<Self, Error> {
        let mut client = address.config.connect(NoTls)?;
        client.batch_execute(PREPARE_TIMEOUT)?;
        let version: String = client.query_one("SHOW server_version_num", &[])?.try_get(0)?;
        let version = version.parse().unwrap_or_default();
        if version >= 140_000 {
            client.batch_execute("SET idle_session_timeout = 0")?;
        }
        let info =
            PostgresServer { version, address: address.location.clone(), settings: settings(&mut client)? };
        let columns = client.query(queries::COLUMNS, &[])?;
        let columns = columns.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        let columns = Columns(columns.collect::<Result<_, Error>>()?);
        let activity = client.prepare(queries::ACTIVITY)?;
        let counters = client.prepare(&queries::counters(&columns))?;
        let mut missing = not_permitted(&mut client, &info)?;
        let stats = match StatementStats::find(&mut client)? {
            Ok(stats) => Some(stats),
            Err(why) => {
                missing.push(MissingMeasure::new("statements of PostgreSQL and what they cost", why));
                None
            }
        };
        client.batch_execute(QUERY_TIMEOUT)?;
        Ok(Self { client, activity, counters, stats, info, missing })
    }

    /// The current activity of the sessions.
    pub fn activity(&mut self) -> Result<Activity, Error> {
        let mut activity = Activity { connections: 1, ..Activity::default() };
        for row in self.client.query(&self.activity, &[])? {
            let count: i64 = row.try_get(5)?;
            activity.connections += u32::try_from(count).unwrap_or(u32::MAX);
            if !row.try_get::<_, bool>(0)? {
                continue;
            }
            activity.oldest_transaction_s = activity.oldest_transaction_s.max(row.try_get(6)?);
            let state: Option<String> = row.try_get(1)?;
            let hidden: bool = row.try_get(4)?;
            let otherwise = if hidden { NOT_PERMITTED } else { "starting" };
            activity.sessions.push(SessionGroup {
                state: state.unwrap_or_else(|| otherwise.to_owned()),
                wait_type: row.try_get(2)?,
                wait_event: row.try_get(3)?,
                count: u64::try_from(count).unwrap_or_default(),
            });
        }
        Ok(activity)
    }

    /// The current counters; none for those that the server lacks.
    pub fn counters(&mut self) -> Result<[Option<f64>; queries::COUNTERS], Error> {
        let mut counters = [None; queries::COUNTERS];
        if let Some(row) = self.client.query_opt(&self.counters, &[])? {
            for (i, counter) in counters.iter_mut().enumerate() {
                *counter = row.try_get(i)?;
            }
        }
        Ok(counters)
    }

    /// Blocked sessions and their blockers.
    pub fn blocked(&mut self) -> Result<Vec<BlockedSession>, Error> {
        let read = |row: &Row| {
            let by: Vec<i32> = row.try_get(1)?;
            // A blocking prepared transaction has no process, and is 0 here.
            let mut by: Vec<u32> = by.into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect();
            by.sort_unstable();
            by.dedup();
            Ok(BlockedSession {
                pid: u32::try_from(row.try_get::<_, i32>(0)?).unwrap_or_default(),
                by,
                event: row.try_get(2)?,
                statement: super::redaction::redact(row.try_get::<_, Option<&str>>(3)?.unwrap_or_default()),
            })
        };
        self.client.query(queries::BLOCKERS, &[])?.iter().map(read).collect()
    }
}

fn settings(client: &mut Client) -> Result<Vec<(String, String)>, Error> {
    let wanted = queries::SETTINGS.map(str::to_owned).to_vec();
    let query = "/* torment */ SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY($1)";
    let rows = client.query(query, &[&wanted])?;
    let mut found: Vec<(String, String)> =
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_, Error>>()?;
    found.sort_by_key(|(name, _)| wanted.iter().position(|w| w == name));
    Ok(found)
}

/// What the role may not see, and what the server does not collect.
fn not_permitted(client: &mut Client, info: &PostgresServer) -> Result<Vec<MissingMeasure>, Error> {
    let mut missing = Vec::new();
    let query = "/* torment */ SELECT quote_ident(current_user), pg_has_role('pg_read_all_stats', 'USAGE')";
    let row = client.query_one(query, &[])?;
    let (role, may): (String, bool) = (row.try_get(0)?, row.try_get(1)?);
    if !may {
        missing.push(MissingMeasure::new(
            "PostgreSQL sessions of other roles",
            format!(
                "the role {role} is not a member of pg_monitor, and sees neither state nor wait of sessions \
                 that are not its own: GRANT pg_monitor TO {role}"
            ),
        ));
    }
    if info.setting("track_activities") == Some("off") {
        missing.push(MissingMeasure::new(
            "states and waits of PostgreSQL sessions",
            "track_activities is off in the server: set it to on",
        ));
    }
    Ok(missing)
}
