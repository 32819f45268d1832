use crate::label::tag_prefix;
use crate::run_writer::signed;
use crate::summary::SummaryBuilder;
use crate::writer_process::WriterProcess;
use crate::{Error, LoadOutcome, RunStatus, Store};
use diagnosis::Freezes;
use record::{ArmAnswer, CostRange, Label, RunId, Verdict};
use rusqlite::types::FromSql;
use rusqlite::{Row, params};
use std::collections::HashMap;
use units::{Nanos, Rate};

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only those of this command, `find` or `run`.
    pub command: Option<String>,
    /// Only those whose target holds this text.
    pub target: Option<String>,
    /// Only those of this name.
    pub name: Option<String>,
    /// Only those with all of these tags, each whole or its key.
    pub tags: Vec<String>,
    /// Only those whose machine's host or processor holds this text.
    pub machine: Option<String>,
    /// Only those that came to this.
    pub came_to: Option<RunStatus>,
    /// Only those that began then or later, in milliseconds since 1970.
    pub since_unix_ms: Option<u64>,
    /// Only those that began before then.
    pub until_unix_ms: Option<u64>,
    /// At most this many, the newest.
    pub limit: Option<u32>,
    /// Also those that are measurements of an experiment: there are many of them, and the experiment says what
    /// they came to.
    pub parts: bool,
}

/// Whether a run has its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// It ended, well or badly.
    Ended,
    /// Its process still writes it.
    Running,
    /// Its process is gone and left no end: a crash, a kill, a power cut.
    CutShort,
}

/// How many hypotheses of an experiment have each answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnswerCounts {
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

/// That the target stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreezeSummary {
    /// How often.
    pub times: u32,
    /// For how long at most.
    pub longest: Nanos,
}

impl From<Freezes> for FreezeSummary {
    fn from(freezes: Freezes) -> Self {
        let times = u32::try_from(freezes.each.len()).unwrap_or(u32::MAX);
        Self { times, longest: freezes.longest() }
    }
}

/// The limit that the run before came to: the last one alike that knows both ends of its limit.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviousLimit {
    /// Its name.
    pub id: RunId,
    /// As in [`RunSummary`].
    pub held: Option<f64>,
    /// As in [`RunSummary`].
    pub lower: f64,
    /// As in [`RunSummary`].
    pub upper: f64,
}

/// One line of a list of runs, without reading its events.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its name.
    pub id: RunId,
    /// Whether it has its end.
    pub state: RunState,
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
    /// Of a search: the goal that `held`, `lower` and `upper` are of, the strict one.
    pub limit_goal: Option<String>,
    /// The rate that is held, if it was estimated: `lower` and `upper` are then its interval.
    pub held: Option<f64>,
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
    /// Whether its target stood still; none if it did not, before its end, and of runs from before this was kept.
    pub stood_still: Option<FreezeSummary>,
    /// Of a load: what it came to; none before its end, and of runs from before this was kept.
    pub carried: Option<LoadOutcome>,
    /// Of `torment probe`: what the building blocks cost; empty of runs from before this was kept.
    pub costs: Vec<CostRange>,
    /// The experiment that it is a measurement of.
    pub part_of: Option<RunId>,
    /// Of an experiment: what became of its hypotheses, at the end or so far.
    pub answers: Option<AnswerCounts>,
    /// The same by the arms that were asked about, at the end.
    pub arms: Vec<ArmAnswer>,
    /// Why the experiment is over, as [`record::Over`] in JSON.
    pub over: Option<String>,
    /// Of a run that asks the machine itself: what it came to.
    pub verdict: Option<Verdict>,
    /// What people call it.
    pub label: Label,
    /// The machine it was made on; none if that is not known.
    pub host: Option<String>,
    /// Its processors' model.
    pub processor: Option<String>,
    /// How many of them it had.
    pub cpus: Option<u32>,
    /// Runs of this store with the same number are alike: of one command, target, plan and method, made on one machine. None of
    /// measurements of an experiment, and where the plan is not known.
    pub alike: Option<i64>,
    /// Of a search that came to a limit: the one before it.
    pub before: Option<PreviousLimit>,
}

impl RunSummary {
    /// What it came to.
    pub fn status(&self) -> RunStatus {
        match (self.state, self.exit_code) {
            (RunState::Running, _) => RunStatus::Running,
            (RunState::Ended, Some(code)) => RunStatus::Code(code),
            (RunState::CutShort, _) | (RunState::Ended, None) => RunStatus::CutShort,
        }
    }
}

/// In the order in which [`summary`] takes them: to look for each by its name would be most of the work of a long list.
const COLUMNS: &str = "writer_boot, writer_pid, writer_start, ended_unix_ms, id, started_unix_ms, command, target, goal, version,
    method, exit_code, error, limit_goal, lower, upper, unit, search_ended, goal_met, loss, part_of,
    better, worse, no_difference, undecided, not_measured, over, verdict, name, tags, git_commit, host, processor, cpus,
    alike, held, before_id, before_held, before_lower, before_upper, freezes, longest_freeze_ns, offered, answered, response_p99_ns, costs, arms";

/// Where they stand: a run, and the one before it, which is found by its index however many are alike.
const RUNS: &str = "run LEFT JOIN
    (SELECT key AS before_key, id AS before_id, held AS before_held, lower AS before_lower, upper AS before_upper FROM run)
    ON before_key = (
        SELECT earlier.key FROM run AS earlier
        WHERE earlier.alike = run.alike AND run.search_ended IS NOT NULL AND run.lower IS NOT NULL
            AND (earlier.started_unix_ms, earlier.key) < (run.started_unix_ms, run.key)
            AND earlier.search_ended IS NOT NULL AND earlier.lower IS NOT NULL AND earlier.upper IS NOT NULL
        ORDER BY earlier.started_unix_ms DESC, earlier.key DESC LIMIT 1
    )";

/// The values of a row from left to right.
struct Cells<'a, 'b> {
    row: &'a Row<'b>,
    next: usize,
}

impl Cells<'_, '_> {
    fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }
}

/// SQLite's integers are signed, ours are counts.
fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let mut cells = Cells { row, next: 0 };
    let writer = WriterProcess { boot: cells.take()?, pid: cells.take()?, start: cells.take()? };
    let ended_unix_ms: Option<u64> = cells.take::<Option<i64>>()?.map(unsigned);
    let state = match ended_unix_ms {
        Some(_) => RunState::Ended,
        None if writer.is_alive() => RunState::Running,
        None => RunState::CutShort,
    };
    Ok(RunSummary {
        id: RunId(cells.take()?),
        state,
        started_unix_ms: unsigned(cells.take()?),
        ended_unix_ms,
        command: cells.take()?,
        target: cells.take()?,
        goal: cells.take()?,
        version: cells.take()?,
        method: cells.take()?,
        exit_code: cells.take()?,
        error: cells.take()?,
        limit_goal: cells.take()?,
        lower: cells.take()?,
        upper: cells.take()?,
        unit: cells.take()?,
        search_ended: cells.take()?,
        goal_met: cells.take()?,
        loss: cells.take()?,
        part_of: cells.take::<Option<String>>()?.map(RunId),
        answers: answers(&mut cells)?,
        over: cells.take()?,
        // What a newer version wrote and this one does not know is as good as none.
        verdict: cells.take::<Option<String>>()?.and_then(|json| serde_json::from_str(&json).ok()),
        label: Label { name: cells.take()?, tags: tags(&mut cells)?, commit: cells.take()? },
        host: cells.take()?,
        processor: cells.take()?,
        cpus: cells.take()?,
        alike: cells.take()?,
        held: cells.take()?,
        before: previous_limit(&mut cells)?,
        stood_still: freeze_summary(&mut cells)?,
        carried: load_outcome(&mut cells)?,
        // A list of another version is as good as none.
        costs: serde_json::from_str(&cells.take::<Option<String>>()?.unwrap_or_default()).unwrap_or_default(),
        arms: serde_json::from_str(&cells.take::<Option<String>>()?.unwrap_or_default()).unwrap_or_default(),
    })
}

fn load_outcome(cells: &mut Cells<'_, '_>) -> rusqlite::Result<Option<LoadOutcome>> {
    let rates = cells.take::<Option<f64>>()?.zip(cells.take::<Option<f64>>()?);
    let response_p99 = cells.take::<Option<i64>>()?.map(|ns| Nanos(unsigned(ns)));
    Ok(rates.map(|(offered, answered)| LoadOutcome {
        offered: Rate(offered),
        answered: Rate(answered),
        response_p99,
    }))
}

fn freeze_summary(cells: &mut Cells<'_, '_>) -> rusqlite::Result<Option<FreezeSummary>> {
    let known = cells.take::<Option<u32>>()?.zip(cells.take::<Option<i64>>()?);
    Ok(known.map(|(times, longest)| FreezeSummary { times, longest: Nanos(unsigned(longest)) }))
}

fn previous_limit(cells: &mut Cells<'_, '_>) -> rusqlite::Result<Option<PreviousLimit>> {
    let id = cells.take::<Option<String>>()?.map(RunId);
    let (held, lower, upper) = (cells.take()?, cells.take::<Option<f64>>()?, cells.take::<Option<f64>>()?);
    let known = id.zip(lower.zip(upper));
    Ok(known.map(|(id, (lower, upper))| PreviousLimit { id, held, lower, upper }))
}

fn tags(cells: &mut Cells<'_, '_>) -> rusqlite::Result<Vec<String>> {
    let json: Option<String> = cells.take()?;
    Ok(json.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default())
}

/// None of what is no experiment, or one that has not come to a first block.
fn answers(cells: &mut Cells<'_, '_>) -> rusqlite::Result<Option<AnswerCounts>> {
    let mut count = || cells.take::<Option<u32>>();
    let counts = [count()?, count()?, count()?, count()?, count()?];
    let [Some(better), worse, no_difference, undecided, not_measured] = counts else { return Ok(None) };
    let or_none = Option::unwrap_or_default;
    Ok(Some(AnswerCounts {
        better,
        worse: or_none(worse),
        no_difference: or_none(no_difference),
        undecided: or_none(undecided),
        not_measured: or_none(not_measured),
    }))
}

impl Store {
    /// The runs that the filter lets through, the newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunSummary>, Error> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {RUNS}
             WHERE (?1 IS NULL OR command = ?1) AND (?2 IS NULL OR instr(target, ?2) > 0)
                 AND (?3 OR part_of IS NULL) AND (?4 IS NULL OR name = ?4)
                 AND (?5 IS NULL OR started_unix_ms >= ?5)
                 AND (?6 IS NULL OR instr(coalesce(host, ''), ?6) > 0 OR instr(coalesce(processor, ''), ?6) > 0)
                 AND (?7 IS NULL OR started_unix_ms < ?7) AND (?10 IS NULL OR instr(tags, ?10) > 0)
                 AND (?8 IS NULL OR exit_code = ?8) AND (NOT ?9 OR ended_unix_ms IS NULL)
             ORDER BY started_unix_ms DESC, key DESC"
        );
        let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        let (since, until) = (filter.since_unix_ms.map(signed), filter.until_unix_ms.map(signed));
        // As its list of tags has the first of them, or the beginning of it: most others need not be read.
        let tag = filter.tags.first().map(|tag| tag_prefix(tag));
        // Whether one without an end goes on is known only from its process.
        let (code, endless) = match filter.came_to {
            Some(RunStatus::Code(code)) => (Some(code), false),
            Some(RunStatus::Running | RunStatus::CutShort) => (None, true),
            None => (None, false),
        };
        let fits = |run: &RunSummary| {
            filter.tags.iter().all(|tag| run.label.has(tag))
                && filter.came_to.is_none_or(|came_to| run.status() == came_to)
        };
        let read = || {
            let mut query = self.db.prepare(&sql)?;
            // Rows are made as they are taken: a limit ends the reading.
            query
                .query_map(
                    params![
                        filter.command,
                        filter.target,
                        filter.parts,
                        filter.name,
                        since,
                        filter.machine,
                        until,
                        code,
                        endless,
                        tag,
                    ],
                    summary,
                )?
                .filter(|run| run.as_ref().map_or(true, &fits))
                .take(limit)
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        let runs = read().map_err(|e| self.error(&e))?;
        runs.into_iter().map(|run| self.with_arms(run)).collect()
    }

    /// Of an experiment from before its row told of its arms, what its events tell: they are few, its measurements are runs of their own.
    fn with_arms(&self, mut run: RunSummary) -> Result<RunSummary, Error> {
        if run.arms.is_empty() && run.answers.is_some() && run.state == RunState::Ended {
            let mut drawn = SummaryBuilder::default();
            self.events(&run.id)?.try_for_each(|event| event.map(|event| drawn.fold(&event)))?;
            run.arms = drawn.fields().arms;
        }
        Ok(run)
    }

    /// The runs without an end, and those that ended then or later, in milliseconds since 1970; measurements of experiments
    /// among them. The one that began last first.
    pub fn recent(&self, since_unix_ms: u64) -> Result<Vec<RunSummary>, Error> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {RUNS} WHERE ended_unix_ms IS NULL OR ended_unix_ms >= ?1
             ORDER BY started_unix_ms DESC, key DESC"
        );
        let runs = self.rows(&sql, [signed(since_unix_ms)], summary)?;
        runs.into_iter().map(|run| self.with_arms(run)).collect()
    }

    /// The measurements of an experiment, in the order they were made; none of any other run.
    pub fn parts(&self, id: &RunId) -> Result<Vec<RunId>, Error> {
        let sql = "SELECT id FROM run WHERE part_of = ?1 ORDER BY started_unix_ms, key";
        self.rows(sql, [&id.0], |row| row.get(0).map(RunId))
    }

    /// One run's line. Fails if there is none of that id.
    pub fn summary(&self, id: &RunId) -> Result<RunSummary, Error> {
        match self.db.query_row(&format!("SELECT {COLUMNS} FROM {RUNS} WHERE id = ?1"), [&id.0], summary) {
            Err(rusqlite::Error::QueryReturnedNoRows) => Err(self.no_run_error(&id.0)?),
            result => self.with_arms(result.map_err(|e| self.error(&e))?),
        }
    }

    /// The plans as understood, by [`RunSummary::alike`]: many runs have the same.
    pub fn plans(&self) -> Result<HashMap<i64, String>, Error> {
        let read = || {
            let mut query = self.db.prepare("SELECT key, json_extract(what, '$[2]') FROM alike")?;
            query
                .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?
                .collect::<rusqlite::Result<_>>()
        };
        read().map_err(|e| self.error(&e))
    }

    /// How many runs are kept.
    pub fn count(&self) -> Result<u64, Error> {
        let count = self.db.query_row("SELECT count(*) FROM run", [], |row| row.get(0));
        count.map(unsigned).map_err(|e| self.error(&e))
    }
}
