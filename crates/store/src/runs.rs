use crate::label::tag_prefix;
use crate::run_writer::signed;
use crate::summary::SummaryBuilder;
use crate::writer_process::WriterProcess;
use crate::{Error, LoadOutcome, RunStatus, Store};
use diagnosis::Freezes;
use record::{ArmAnswer, CostRange, Label, RunId, Verdict};
use rusqlite::types::FromSql;
use rusqlite::{Row, params};
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use units::{Nanos, Rate};

/// A filter for lists of runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// By command, `find` or `run`.
    pub command: Option<String>,
    /// By text in the target.
    pub target: Option<String>,
    /// By name.
    pub name: Option<String>,
    /// By tags, all of them, each in full or by key.
    pub tags: Vec<String>,
    /// By text in the machine's host or processor.
    pub machine: Option<String>,
    /// By status.
    pub status: Option<RunStatus>,
    /// Begun at or after this, in milliseconds since 1970.
    pub since_unix_ms: Option<u64>,
    /// Begun before this.
    pub until_unix_ms: Option<u64>,
    /// At most this many, the newest.
    pub limit: Option<u32>,
    /// Include measurements of experiments: there are many, and the experiment summarises them.
    pub parts: bool,
}

/// Whether a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// It ended, well or badly.
    Ended,
    /// Its process is still writing it.
    Running,
    /// Its process is gone without an end: a crash, a kill, a power cut.
    CutShort,
}

/// The number of an experiment's hypotheses by answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnswerCounts {
    /// The change helps.
    pub better: u32,
    /// It harms.
    pub worse: u32,
    /// No relevant difference.
    pub no_difference: u32,
    /// Not decided.
    pub undecided: u32,
    /// There was nothing to compare.
    pub not_measured: u32,
}

/// A summary of the target's freezes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreezeSummary {
    /// Their number.
    pub count: u32,
    /// The longest.
    pub longest: Nanos,
}

impl From<Freezes> for FreezeSummary {
    fn from(freezes: Freezes) -> Self {
        let times = u32::try_from(freezes.each.len()).unwrap_or(u32::MAX);
        Self { count: times, longest: freezes.longest() }
    }
}

/// The previous run's limit: of the last one alike with both bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviousLimit {
    /// Its id.
    pub id: RunId,
    /// As in [`RunSummary`].
    pub held: Option<f64>,
    /// As in [`RunSummary`].
    pub lower: f64,
    /// As in [`RunSummary`].
    pub upper: f64,
}

/// A run's entry in a list, without reading its events.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its id.
    pub id: RunId,
    /// Whether it has ended.
    pub state: RunState,
    /// Milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Milliseconds since 1970; none while unfinished.
    pub ended_unix_ms: Option<u64>,
    /// `find` or `run`.
    pub command: String,
    /// The target as shown to people.
    pub target: String,
    /// The objective, in words.
    pub goal: String,
    /// torment's version.
    pub version: String,
    /// [`record::METHOD`] of that version.
    pub method: u32,
    /// Exit code of the command; none while unfinished.
    pub exit_code: Option<u8>,
    /// Why it has no verdict.
    pub error: Option<String>,
    /// For a search: the goal that `held`, `lower` and `upper` refer to, the strict one.
    pub limit_goal: Option<String>,
    /// The held rate, if estimated: `lower` and `upper` are then its interval.
    pub held: Option<f64>,
    /// The highest rate shown to meet it, finally or so far.
    pub lower: Option<f64>,
    /// The lowest rate shown to fail it, finally or so far.
    pub upper: Option<f64>,
    /// Unit of both.
    pub unit: Option<String>,
    /// Why the search ended, as [`record::SearchEnd`] in JSON.
    pub search_ended: Option<String>,
    /// For a load: whether its goal was met; none also if it was not trustworthy.
    pub goal_met: Option<bool>,
    /// For a load: the share of arrivals lost.
    pub loss: Option<f64>,
    /// The target's freezes; none if there were none, before its end, and for runs of earlier versions.
    pub freezes: Option<FreezeSummary>,
    /// For a load: its outcome; none before its end, and for runs of earlier versions.
    pub load_outcome: Option<LoadOutcome>,
    /// For `torment probe`: costs of the building blocks; empty for runs of earlier versions.
    pub costs: Vec<CostRange>,
    /// The experiment it is a measurement of.
    pub part_of: Option<RunId>,
    /// For an experiment: the answers to its hypotheses, finally or so far.
    pub answers: Option<AnswerCounts>,
    /// The same by arm, at the end.
    pub arms: Vec<ArmAnswer>,
    /// Why the experiment ended, as [`record::ExperimentEnd`] in JSON.
    pub experiment_end: Option<String>,
    /// For a run about the machine itself: its verdict.
    pub verdict: Option<Verdict>,
    /// Its name and tags.
    pub label: Label,
    /// The machine it ran on; none if unknown.
    pub host: Option<String>,
    /// Its processor model.
    pub processor: Option<String>,
    /// Its number of processors.
    pub cpus: Option<u32>,
    /// Runs of this store with the same number are alike: of one command, target, plan, method and machine. None for measurements of an
    /// experiment, and if the plan is unknown.
    pub comparable_key: Option<i64>,
    /// For a search with a limit: the previous one.
    pub previous_limit: Option<PreviousLimit>,
}

impl RunSummary {
    /// How the run ended, or that it is unfinished.
    pub fn status(&self) -> RunStatus {
        match (self.state, self.exit_code) {
            (RunState::Running, _) => RunStatus::Running,
            (RunState::Ended, Some(code)) => RunStatus::Code(code),
            (RunState::CutShort, _) | (RunState::Ended, None) => RunStatus::CutShort,
        }
    }
}

/// In the order read by [`summary`]: lookup by name would dominate the cost of a long list.
const COLUMNS: &str = "writer_boot, writer_pid, writer_start, ended_unix_ms, id, started_unix_ms, command, target, goal, version,
    method, exit_code, error, limit_goal, lower, upper, unit, search_ended, goal_met, loss, part_of,
    better, worse, no_difference, undecided, not_measured, over, verdict, name, tags, git_commit, host, processor, cpus,
    alike, held, before_id, before_held, before_lower, before_upper, freezes, longest_freeze_ns, offered, answered, response_p99_ns, costs, arms";

/// A run, joined with the previous one, which is found by index however many are alike.
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
    next_column: usize,
}

impl Cells<'_, '_> {
    fn next_value<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.next_column += 1;
        self.row.get(self.next_column - 1)
    }

    /// A value stored as JSON. What another version wrote, and this one does not know, is treated as missing.
    fn next_json<T: DeserializeOwned + Default>(&mut self) -> rusqlite::Result<T> {
        let json: Option<String> = self.next_value()?;
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default())
    }
}

/// SQLite's integers are signed, ours are counts.
fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let mut cells = Cells { row, next_column: 0 };
    let writer =
        WriterProcess { boot: cells.next_value()?, pid: cells.next_value()?, start: cells.next_value()? };
    let ended_unix_ms: Option<u64> = cells.next_value::<Option<i64>>()?.map(unsigned);
    let state = match ended_unix_ms {
        Some(_) => RunState::Ended,
        None if writer.is_alive() => RunState::Running,
        None => RunState::CutShort,
    };
    Ok(RunSummary {
        id: RunId(cells.next_value()?),
        state,
        started_unix_ms: unsigned(cells.next_value()?),
        ended_unix_ms,
        command: cells.next_value()?,
        target: cells.next_value()?,
        goal: cells.next_value()?,
        version: cells.next_value()?,
        method: cells.next_value()?,
        exit_code: cells.next_value()?,
        error: cells.next_value()?,
        limit_goal: cells.next_value()?,
        lower: cells.next_value()?,
        upper: cells.next_value()?,
        unit: cells.next_value()?,
        search_ended: cells.next_value()?,
        goal_met: cells.next_value()?,
        loss: cells.next_value()?,
        part_of: cells.next_value::<Option<String>>()?.map(RunId),
        answers: answers(&mut cells)?,
        experiment_end: cells.next_value()?,
        verdict: cells.next_json()?,
        label: Label { name: cells.next_value()?, tags: cells.next_json()?, commit: cells.next_value()? },
        host: cells.next_value()?,
        processor: cells.next_value()?,
        cpus: cells.next_value()?,
        comparable_key: cells.next_value()?,
        held: cells.next_value()?,
        previous_limit: previous_limit(&mut cells)?,
        freezes: freeze_summary(&mut cells)?,
        load_outcome: load_outcome(&mut cells)?,
        costs: cells.next_json()?,
        arms: cells.next_json()?,
    })
}

fn load_outcome(cells: &mut Cells<'_, '_>) -> rusqlite::Result<Option<LoadOutcome>> {
    let rates = cells.next_value::<Option<f64>>()?.zip(cells.next_value::<Option<f64>>()?);
    let response_p99 = cells.next_value::<Option<i64>>()?.map(|ns| Nanos(unsigned(ns)));
    Ok(rates.map(|(offered, answered)| LoadOutcome {
        offered: Rate(offered),
        answered: Rate(answered),
        response_p99,
    }))
}

fn freeze_summary(cells: &mut Cells<'_, '_>) -> rusqlite::Result<Option<FreezeSummary>> {
    let known = cells.next_value::<Option<u32>>()?.zip(cells.next_value::<Option<i64>>()?);
    Ok(known.map(|(times, longest)| FreezeSummary { count: times, longest: Nanos(unsigned(longest)) }))
}

fn previous_limit(cells: &mut Cells<'_, '_>) -> rusqlite::Result<Option<PreviousLimit>> {
    let id = cells.next_value::<Option<String>>()?.map(RunId);
    let (held, lower, upper) =
        (cells.next_value()?, cells.next_value::<Option<f64>>()?, cells.next_value::<Option<f64>>()?);
    let known = id.zip(lower.zip(upper));
    Ok(known.map(|(id, (lower, upper))| PreviousLimit { id, held, lower, upper }))
}

/// None unless it is an experiment with a first block.
fn answers(cells: &mut Cells<'_, '_>) -> rusqlite::Result<Option<AnswerCounts>> {
    let mut count = || cells.next_value::<Option<u32>>();
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
    /// The matching runs, newest first.
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
        // A prefix of the JSON list of tags: most others need not be read.
        let tag = filter.tags.first().map(|tag| tag_prefix(tag));
        // Whether an unfinished run is still running only its process shows.
        let (code, unended) = match filter.status {
            Some(RunStatus::Code(code)) => (Some(code), false),
            Some(RunStatus::Running | RunStatus::CutShort) => (None, true),
            None => (None, false),
        };
        let fits = |run: &RunSummary| {
            filter.tags.iter().all(|tag| run.label.has(tag))
                && filter.status.is_none_or(|came_to| run.status() == came_to)
        };
        let read = || {
            let mut query = self.db.prepare(&sql)?;
            // Rows are read lazily: a limit ends the reading.
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
                        unended,
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

    /// For an experiment of an earlier version, whose row lacks its arms, reads them from its few events; its measurements are runs of
    /// their own.
    fn with_arms(&self, mut run: RunSummary) -> Result<RunSummary, Error> {
        if run.arms.is_empty() && run.answers.is_some() && run.state == RunState::Ended {
            let mut builder = SummaryBuilder::default();
            self.events(&run.id)?.try_for_each(|event| event.map(|event| builder.fold(&event)))?;
            run.arms = builder.fields().arms;
        }
        Ok(run)
    }

    /// Unfinished runs, and those that ended at or after this, in milliseconds since 1970; measurements of experiments included. The
    /// latest begun first.
    pub fn recent(&self, since_unix_ms: u64) -> Result<Vec<RunSummary>, Error> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {RUNS} WHERE ended_unix_ms IS NULL OR ended_unix_ms >= ?1
             ORDER BY started_unix_ms DESC, key DESC"
        );
        let runs = self.rows(&sql, [signed(since_unix_ms)], summary)?;
        runs.into_iter().map(|run| self.with_arms(run)).collect()
    }

    /// The measurements of an experiment, in order; empty for any other run.
    pub fn parts(&self, id: &RunId) -> Result<Vec<RunId>, Error> {
        let sql = "SELECT id FROM run WHERE part_of = ?1 ORDER BY started_unix_ms, key";
        self.rows(sql, [&id.0], |row| row.get(0).map(RunId))
    }

    /// One run's entry. Fails if there is no such run.
    pub fn summary(&self, id: &RunId) -> Result<RunSummary, Error> {
        match self.db.query_row(&format!("SELECT {COLUMNS} FROM {RUNS} WHERE id = ?1"), [&id.0], summary) {
            Err(rusqlite::Error::QueryReturnedNoRows) => Err(self.no_run_error(&id.0)?),
            result => self.with_arms(result.map_err(|e| self.error(&e))?),
        }
    }

    /// Plans as parsed, by [`RunSummary::comparable_key`]: many runs share one.
    pub fn plans(&self) -> Result<HashMap<i64, String>, Error> {
        let sql = "SELECT key, json_extract(what, '$[2]') FROM alike";
        let plans = self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(plans.into_iter().collect())
    }

    /// Number of runs.
    pub fn count(&self) -> Result<u64, Error> {
        let count = self.db.query_row("SELECT count(*) FROM run", [], |row| row.get(0));
        count.map(unsigned).map_err(|e| self.error(&e))
    }
}
