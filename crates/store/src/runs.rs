use crate::writer::Writer;
use crate::{Error, Store};
use record::RunId;
use rusqlite::{Row, params};

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only those of this command, `find` or `run`.
    pub command: Option<String>,
    /// Only those whose target holds this text.
    pub target: Option<String>,
    /// At most this many, the newest.
    pub limit: Option<u32>,
    /// Also those that are measurements of an experiment: there are many of them, and the experiment says what
    /// they came to.
    pub parts: bool,
}

/// Whether a run has its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It ended, well or badly.
    Ended,
    /// Its process still writes it.
    Running,
    /// Its process is gone and left no end: a crash, a kill, a power cut.
    CutShort,
}

/// How many hypotheses of an experiment have each answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answers {
    /// The change helps.
    pub better: u32,
    /// It harms.
    pub worse: u32,
    /// It does nothing that matters.
    pub no_difference: u32,
    /// Nobody knows.
    pub undecided: u32,
    /// There was nothing to compare.
    pub not_measured: u32,
}

/// One line of a list of runs, without reading its events.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its name.
    pub id: RunId,
    /// Whether it has its end.
    pub state: State,
    /// Milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Milliseconds since 1970; none without an end.
    pub ended_unix_ms: Option<u64>,
    /// `find` or `run`.
    pub command: String,
    /// The target as shown to people.
    pub target: String,
    /// The objective in words.
    pub goal: String,
    /// torment's version.
    pub version: String,
    /// [`record::METHOD`] of that version.
    pub method: u32,
    /// Exit code of the command; none without an end.
    pub exit_code: Option<u8>,
    /// Why it came to no verdict.
    pub error: Option<String>,
    /// Of a search: the goal that `lower` and `upper` are of, the strict one.
    pub limit_goal: Option<String>,
    /// The highest rate shown to meet it, at the end or so far.
    pub lower: Option<f64>,
    /// The lowest rate shown to fail it, at the end or so far.
    pub upper: Option<f64>,
    /// Unit of both.
    pub unit: Option<String>,
    /// Why the search ended, as [`record::Ended`] in JSON.
    pub search_ended: Option<String>,
    /// Of a load: whether its goal was met; none also if it was not trustworthy.
    pub goal_met: Option<bool>,
    /// Of a load: the share of arrivals lost.
    pub loss: Option<f64>,
    /// The experiment that it is a measurement of.
    pub part_of: Option<RunId>,
    /// Of an experiment: what became of its hypotheses, at the end or so far.
    pub answers: Option<Answers>,
    /// Why the experiment is over, as [`record::Over`] in JSON.
    pub over: Option<String>,
}

const COLUMNS: &str =
    "id, started_unix_ms, ended_unix_ms, command, target, goal, version, method, exit_code, error,
    limit_goal, lower, upper, unit, search_ended, goal_met, loss, part_of, better, worse, no_difference, undecided, not_measured, over,
    writer_boot, writer_pid, writer_start";

/// SQLite's integers are signed, ours are counts.
fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let ended_unix_ms: Option<u64> = row.get::<_, Option<i64>>("ended_unix_ms")?.map(unsigned);
    let writer = Writer {
        boot: row.get("writer_boot")?,
        pid: row.get("writer_pid")?,
        start: row.get("writer_start")?,
    };
    let state = match ended_unix_ms {
        Some(_) => State::Ended,
        None if writer.lives() => State::Running,
        None => State::CutShort,
    };
    Ok(RunSummary {
        id: RunId(row.get("id")?),
        state,
        started_unix_ms: unsigned(row.get("started_unix_ms")?),
        ended_unix_ms,
        command: row.get("command")?,
        target: row.get("target")?,
        goal: row.get("goal")?,
        version: row.get("version")?,
        method: row.get("method")?,
        exit_code: row.get("exit_code")?,
        error: row.get("error")?,
        limit_goal: row.get("limit_goal")?,
        lower: row.get("lower")?,
        upper: row.get("upper")?,
        unit: row.get("unit")?,
        search_ended: row.get("search_ended")?,
        goal_met: row.get("goal_met")?,
        loss: row.get("loss")?,
        part_of: row.get::<_, Option<String>>("part_of")?.map(RunId),
        answers: answers(row)?,
        over: row.get("over")?,
    })
}

/// None of what is no experiment, or one that has not come to a first block.
fn answers(row: &Row<'_>) -> rusqlite::Result<Option<Answers>> {
    let Some(better) = row.get("better")? else { return Ok(None) };
    Ok(Some(Answers {
        better,
        worse: row.get("worse")?,
        no_difference: row.get("no_difference")?,
        undecided: row.get("undecided")?,
        not_measured: row.get("not_measured")?,
    }))
}

impl Store {
    /// The runs that the filter lets through, the newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunSummary>, Error> {
        let sql = format!(
            "SELECT {COLUMNS} FROM run
             WHERE (?1 IS NULL OR command = ?1) AND (?2 IS NULL OR instr(target, ?2) > 0)
                 AND (?4 OR part_of IS NULL)
             ORDER BY started_unix_ms DESC, key DESC LIMIT ?3"
        );
        let limit = filter.limit.map_or(-1, i64::from);
        let read = || {
            let mut query = self.db.prepare(&sql)?;
            query
                .query_map(params![filter.command, filter.target, limit, filter.parts], summary)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|e| self.error(&e))
    }

    /// The measurements of an experiment, in the order they were made; none of any other run.
    pub fn parts(&self, id: &RunId) -> Result<Vec<RunId>, Error> {
        let read = || {
            let sql = "SELECT id FROM run WHERE part_of = ?1 ORDER BY started_unix_ms, key";
            let mut query = self.db.prepare(sql)?;
            query.query_map([&id.0], |row| row.get(0).map(RunId))?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|e| self.error(&e))
    }

    /// One run's line. Fails if there is none of that id.
    pub fn summary(&self, id: &RunId) -> Result<RunSummary, Error> {
        match self.db.query_row(&format!("SELECT {COLUMNS} FROM run WHERE id = ?1"), [&id.0], summary) {
            Err(rusqlite::Error::QueryReturnedNoRows) => {
                Err(Error::NoRun { asked: id.0.clone(), kept: self.count()? })
            }
            result => result.map_err(|e| self.error(&e)),
        }
    }

    /// The run meant by an id, the beginning of one, `last`, or `last~N` (N before the last); the
    /// measurements of an experiment do not count as last. Fails if none or more than one fits.
    pub fn find(&self, asked: &str) -> Result<RunId, Error> {
        let none = || Ok(Error::NoRun { asked: asked.to_owned(), kept: self.count()? });
        if let Some(rest) = asked.strip_prefix("last") {
            let back: Option<u32> =
                if rest.is_empty() { Some(0) } else { rest.strip_prefix('~').and_then(|n| n.parse().ok()) };
            let Some(back) = back else { return Err(none()?) };
            let sql = "SELECT id FROM run WHERE part_of IS NULL ORDER BY started_unix_ms DESC, key DESC LIMIT 1 OFFSET ?1";
            return match self.db.query_row(sql, [back], |row| row.get(0)) {
                Ok(id) => Ok(RunId(id)),
                Err(rusqlite::Error::QueryReturnedNoRows) => Err(none()?),
                Err(e) => Err(self.error(&e)),
            };
        }
        if asked.is_empty() {
            return Err(none()?);
        }
        const SHOWN: usize = 5;
        let read = || {
            let sql = "SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id = ?1 DESC, started_unix_ms DESC LIMIT ?2";
            let mut query = self.db.prepare(sql)?;
            query
                .query_map(params![asked, SHOWN as i64], |row| row.get(0))?
                .collect::<rusqlite::Result<Vec<String>>>()
        };
        let fits = read().map_err(|e| self.error(&e))?;
        match fits.as_slice() {
            [] => Err(none()?),
            [one] => Ok(RunId(one.clone())),
            [exact, ..] if exact == asked => Ok(RunId(exact.clone())),
            _ => Err(Error::Ambiguous { asked: asked.to_owned(), fits }),
        }
    }

    /// How many runs are kept.
    pub fn count(&self) -> Result<u64, Error> {
        let count = self.db.query_row("SELECT count(*) FROM run", [], |row| row.get(0));
        count.map(unsigned).map_err(|e| self.error(&e))
    }
}
