use crate::label::tags_json;
use crate::summary::{SummaryBuilder, SummaryFields};
use crate::writer_process::WriterProcess;
use crate::{Error, Store};
use record::{
    Caveat, CaveatDetails, CaveatKind, Event, ExperimentState, HypothesisAnswer, Limit, RunEnd, RunId,
    RunStart, Verdict,
};
use rusqlite::{Connection, TransactionBehavior, named_params, params};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest time an event waits for its commit: what a crash may lose.
const COMMIT_AFTER: Duration = Duration::from_secs(1);
/// Most bytes that wait.
const COMMIT_BYTES: usize = 1 << 20;
/// Capacity of the queue to the writing thread. A run makes a few events a second, some 20 KiB each, so this survives a disk that stalls
/// for a minute. Then events that a trial's result summarises are dropped: the load cannot wait for the disk. For any other,
/// [`RunWriter::append`] waits.
const QUEUE_LENGTH: usize = 256;

/// A run being written. Dropped without [`RunWriter::finish`], it still stores what it was given.
#[derive(Debug)]
pub struct RunWriter {
    id: RunId,
    queue: Option<SyncSender<QueuedEvent>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    error: Option<Error>,
    /// Dropped events not yet reported.
    missed: u64,
    /// All dropped events.
    missed_total: u64,
    /// Columns of its row, written at its end.
    summary: SummaryBuilder,
}

/// A queued event.
#[derive(Debug)]
struct QueuedEvent {
    json: String,
    columns: Option<ColumnUpdate>,
}

/// An event's update of its run's row.
#[derive(Debug)]
enum ColumnUpdate {
    Limit(Limit),
    State(Box<ExperimentState>),
    Ended(Box<RunEnd>, Box<SummaryFields>),
}

impl Store {
    /// Begins a run with its first event, which must be [`Event::RunStarted`], and commits it. Fails if the store is not writable, or
    /// already has a run of that id.
    pub fn begin(&self, first: &Event) -> Result<RunWriter, Error> {
        let Event::RunStarted(started) = first else { return Err(Error::NotStarted) };
        let RunStart {
            id, at_unix_ms, version, method, command, target, goal, part_of, label, machine, ..
        } = &**started;
        let mut db = Store::open(&self.path)?.db;
        let writer = WriterProcess::current();
        let mut insert = || {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute(
                "INSERT INTO run (id, started_unix_ms, command, target, goal, version, method, writer_boot, writer_pid, writer_start, part_of,
                 name, tags, git_commit, host, processor, cpus, alike)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
                params![
                    id.0, signed(*at_unix_ms), command.name(), target, goal, version, method, writer.boot, writer.pid, writer.start,
                    part_of.as_ref().map(|experiment| &experiment.0),
                    label.name, tags_json(label), label.commit, machine.host, machine.processor, machine.cpus,
                    comparable_key(&transaction, started)?,
                ],
            )?;
            let key = transaction.last_insert_rowid();
            transaction.execute(
                "INSERT INTO event (run, seq, json) VALUES (?1, 0, ?2)",
                params![key, json(first)],
            )?;
            transaction.commit()?;
            Ok(key)
        };
        let key = insert().map_err(|e| self.error(&e))?;
        self.start_writer(id, db, key, 1)
    }

    /// Resumes a run that was cut short or ended: new events are appended, and its row is that of a running one. Fails if there is no
    /// such run, or another process still writes it.
    pub fn resume(&self, id: &RunId) -> Result<RunWriter, Error> {
        self.check_not_running(id)?;
        let mut db = Store::open(&self.path)?.db;
        let writer = WriterProcess::current();
        let mut take_over = || {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let key: i64 =
                transaction.query_row("SELECT key FROM run WHERE id = ?1", [&id.0], |row| row.get(0))?;
            let next = "SELECT coalesce(max(seq) + 1, 0) FROM event WHERE run = ?1";
            let seq: i64 = transaction.query_row(next, [key], |row| row.get(0))?;
            transaction.execute(
                "UPDATE run SET ended_unix_ms = NULL, exit_code = NULL, error = NULL,
                 writer_boot = ?2, writer_pid = ?3, writer_start = ?4 WHERE key = ?1",
                params![key, writer.boot, writer.pid, writer.start],
            )?;
            transaction.commit()?;
            Ok((key, seq))
        };
        let (key, seq) = take_over().map_err(|e| self.error(&e))?;
        self.start_writer(id, db, key, seq)
    }

    /// Starts the thread that writes a run's events from this one on.
    fn start_writer(&self, id: &RunId, db: Connection, key: i64, seq: i64) -> Result<RunWriter, Error> {
        let (queue, receiver) = sync_channel(QUEUE_LENGTH);
        let mut worker = WriterThread { db, path: self.path.clone(), key, seq, waiting: Vec::new() };
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || worker.work(&receiver))
            .map_err(|e| Error::Open {
                path: self.path.clone(),
                found: format!("no thread to write it: {e}"),
            })?;
        Ok(RunWriter {
            id: id.clone(),
            queue: Some(queue),
            thread: Some(thread),
            error: None,
            missed: 0,
            missed_total: 0,
            summary: SummaryBuilder::default(),
        })
    }
}

impl RunWriter {
    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Appends an event; it is committed within a second. Fails once, at the first event after a failed write; later events are dropped,
    /// and [`RunWriter::finish`] repeats the error. The run itself need not stop for that.
    ///
    /// Never waits for a stalled disk during a load: single seconds and their observations are then dropped, and a caveat in their place
    /// counts them. Their totals are in the trial's result.
    pub fn append(&mut self, event: &Event) -> Result<(), Error> {
        let may_be_missed = matches!(event, Event::SliceDone { .. } | Event::Observed { .. });
        self.summary.fold(event);
        if self.missed > 0 {
            let caveat = missed_caveat(self.missed);
            if self.queue_up(&Event::Caveat { caveat }, may_be_missed)? {
                self.missed = 0;
            }
        }
        if self.missed > 0 || !self.queue_up(event, may_be_missed)? {
            self.missed += 1;
            self.missed_total += 1;
        }
        Ok(())
    }

    /// A caveat about everything it could not store, if any.
    pub fn caveat(&self) -> Option<Caveat> {
        (self.missed_total > 0).then(|| missed_caveat(self.missed_total))
    }

    /// Queues the event for the writing thread. False if the queue is full and the event may be missed.
    fn queue_up(&mut self, event: &Event, may_be_missed: bool) -> Result<bool, Error> {
        let Some(queue) = &self.queue else { return Ok(true) };
        let columns = match event {
            Event::Bounds { limits, .. } => limits.first().cloned().map(ColumnUpdate::Limit),
            Event::Stands { standing } => Some(ColumnUpdate::State(standing.clone())),
            Event::RunEnded(end) => Some(ColumnUpdate::Ended(end.clone(), Box::new(self.summary.fields()))),
            _ => None,
        };
        let entry = QueuedEvent { json: json(event), columns };
        let sent = match may_be_missed {
            true => queue.try_send(entry),
            false => queue.send(entry).map_err(|gone| TrySendError::Disconnected(gone.0)),
        };
        match sent {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(_)) => Ok(false),
            Err(TrySendError::Disconnected(_)) => self.close().map(|()| true),
        }
    }

    /// Commits everything. Fails if any event could not be stored.
    pub fn finish(mut self) -> Result<(), Error> {
        self.close()
    }

    fn close(&mut self) -> Result<(), Error> {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            self.error = thread.join().expect("the writing thread does not panic").err();
        }
        self.error.clone().map_or(Ok(()), Err)
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        // Nobody is left to report to; whoever wants the error calls `finish`.
        let _ = self.close();
    }
}

fn missed_caveat(missed: u64) -> Caveat {
    Caveat::with_details(CaveatKind::StoreBehind, CaveatDetails::Missed { seconds: missed })
}

/// The writing thread's state.
struct WriterThread {
    db: Connection,
    path: PathBuf,
    key: i64,
    seq: i64,
    waiting: Vec<QueuedEvent>,
}

impl WriterThread {
    fn work(&mut self, entries: &Receiver<QueuedEvent>) -> Result<(), Error> {
        while let Ok(first) = entries.recv() {
            let begin = Instant::now();
            let mut bytes = 0;
            let mut next = Some(first);
            while let Some(entry) = next {
                bytes += entry.json.len();
                let may_wait =
                    bytes < COMMIT_BYTES && !matches!(entry.columns, Some(ColumnUpdate::Ended(..)));
                self.waiting.push(entry);
                let wait = || entries.recv_timeout(COMMIT_AFTER.saturating_sub(begin.elapsed())).ok();
                next = may_wait.then(wait).flatten();
            }
            self.commit().map_err(|e| Error::of(&self.path, &e))?;
        }
        Ok(())
    }

    fn commit(&mut self) -> rusqlite::Result<()> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert =
                transaction.prepare_cached("INSERT INTO event (run, seq, json) VALUES (?1, ?2, ?3)")?;
            for (entry, seq) in self.waiting.iter().zip(self.seq..) {
                insert.execute(params![self.key, seq, entry.json])?;
                if let Some(columns) = &entry.columns {
                    columns.update(&transaction, self.key)?;
                }
            }
        }
        transaction.commit()?;
        self.seq += self.waiting.len() as i64;
        self.waiting.clear();
        Ok(())
    }
}

impl ColumnUpdate {
    /// Returns the number of rows changed, as do the functions below.
    fn update(&self, db: &Connection, run: i64) -> rusqlite::Result<usize> {
        match self {
            Self::Limit(limit) => limit_columns(db, run, limit),
            Self::State(standing) => standing_columns(db, run, standing),
            Self::Ended(end, fields) => {
                let RunEnd { at_unix_ms, exit_code, error, verdict } = &**end;
                db.execute(
                    "UPDATE run SET ended_unix_ms = ?2, exit_code = ?3, error = ?4 WHERE key = ?1",
                    params![run, signed(*at_unix_ms), exit_code, error],
                )?;
                summary_columns(db, run, fields)?;
                match verdict {
                    Some(Verdict::Limits { limits, ended, .. }) => {
                        if let Some(strict) = limits.first() {
                            limit_columns(db, run, strict)?;
                        }
                        let word = serde_json::to_value(ended).expect("a plain enum is a JSON string");
                        db.execute(
                            "UPDATE run SET search_ended = ?2 WHERE key = ?1",
                            params![run, word.as_str()],
                        )
                    }
                    Some(Verdict::Goal { met, loss, .. }) => db.execute(
                        "UPDATE run SET goal_met = ?2, loss = ?3 WHERE key = ?1",
                        params![run, met, loss],
                    ),
                    Some(Verdict::Answers { standing }) => standing_columns(db, run, standing),
                    Some(
                        machine @ (Verdict::Sheet { .. }
                        | Verdict::Profiled { .. }
                        | Verdict::Tasks { .. }
                        | Verdict::WorkingSet { .. }),
                    ) => {
                        let json = serde_json::to_string(machine).expect("numbers and names can be written");
                        db.execute("UPDATE run SET verdict = ?2 WHERE key = ?1", params![run, json])
                    }
                    None => Ok(0),
                }
            }
        }
    }
}

fn summary_columns(db: &Connection, run: i64, fields: &SummaryFields) -> rusqlite::Result<usize> {
    let SummaryFields { freezes: still, load_outcome: carried, costs, arms } = fields;
    let [costs, arms] = [serde_json::to_string(costs), serde_json::to_string(arms)]
        .map(|list| list.expect("numbers and names can be written"))
        .map(|list| (list != "[]").then_some(list));
    db.execute(
        "UPDATE run SET freezes = :freezes, longest_freeze_ns = :longest, offered = :offered, answered = :answered, response_p99_ns = :p99,
         costs = :costs, arms = :arms WHERE key = :run",
        named_params! {
            ":run": run,
            ":freezes": still.map(|still| still.count),
            ":longest": still.map(|still| signed(still.longest.0)),
            ":offered": carried.map(|carried| carried.offered.0),
            ":answered": carried.map(|carried| carried.answered.0),
            ":p99": carried.and_then(|carried| carried.response_p99).map(|p99| signed(p99.0)),
            ":costs": costs,
            ":arms": arms,
        },
    )
}

/// The group of runs like this one, as in [`crate::RunSummary`]. [`Store::plans`] reads the plan from it.
fn comparable_key(db: &Connection, started: &RunStart) -> rusqlite::Result<Option<i64>> {
    let RunStart { command, target, plan, method, machine, part_of, .. } = started;
    if part_of.is_some() {
        return Ok(None);
    }
    // The update changes nothing: without it, an existing row would not return its key.
    db.query_row(
        "INSERT INTO alike (what) VALUES (json_array(?1, ?2, ?3, ?4, ?5, ?6, ?7))
         ON CONFLICT (what) DO UPDATE SET what = what RETURNING key",
        params![command.name(), target, plan, method, machine.host, machine.processor, machine.cpus],
        |row| row.get(0),
    )
    .map(Some)
}

fn limit_columns(db: &Connection, run: i64, limit: &Limit) -> rusqlite::Result<usize> {
    db.execute(
        "UPDATE run SET limit_goal = :goal, held = :held, lower = :lower, upper = :upper, unit = :unit WHERE key = :run",
        named_params! {
            ":run": run, ":goal": limit.goal, ":held": limit.held, ":lower": limit.lower, ":upper": limit.upper, ":unit": limit.unit.name(),
        },
    )
}

/// Skips the placebo, which is no hypothesis.
fn standing_columns(db: &Connection, run: i64, state: &ExperimentState) -> rusqlite::Result<usize> {
    let results = || state.judged.iter().filter(|judged| judged.hypothesis.is_some());
    let count = |answer| results().filter(|judged| judged.answer == answer).count() as i64;
    let over = state.over.map(|over| serde_json::to_value(over).expect("a plain enum is a JSON string"));
    db.execute(
        "UPDATE run SET better = :better, worse = :worse, no_difference = :no_difference, undecided = :undecided,
         not_measured = :not_measured, over = :over WHERE key = :run",
        named_params! {
            ":run": run,
            ":better": count(HypothesisAnswer::Better),
            ":worse": count(HypothesisAnswer::Worse),
            ":no_difference": count(HypothesisAnswer::NoDifference),
            ":undecided": count(HypothesisAnswer::Undecided),
            ":not_measured": count(HypothesisAnswer::NotMeasured),
            ":over": over.as_ref().and_then(|over| over.as_str()),
        },
    )
}

fn json(event: &Event) -> String {
    serde_json::to_string(event).expect("an event has only string keys and no foreign types")
}

/// SQLite's integers are signed; milliseconds since 1970 fit for 292 million years, durations in nanoseconds for 292.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Store {
    /// Removes a run and reclaims its space; an experiment's measurements are removed with it. Fails if there is no such run, or if it or
    /// one of its measurements is still being written.
    pub fn remove(&self, id: &RunId) -> Result<(), Error> {
        self.check_not_running(id)?;
        let to_error = |e: rusqlite::Error| self.error(&e);
        let sql = "DELETE FROM run WHERE id = ?1 OR part_of = (SELECT id FROM run WHERE id = ?1)";
        if self.db.execute(sql, [&id.0]).map_err(to_error)? == 0 {
            return Err(self.no_run_error(&id.0)?);
        }
        // A plan is removed with the last run that has it.
        let sql = "DELETE FROM alike WHERE key NOT IN (SELECT alike FROM run WHERE alike IS NOT NULL)";
        self.db.execute(sql, []).map_err(to_error)?;
        // Returns a row for each page freed; execute_batch steps through them all.
        self.db.execute_batch("PRAGMA incremental_vacuum").map_err(to_error)
    }

    /// Fails if a living process writes the run, or one of its measurements.
    fn check_not_running(&self, id: &RunId) -> Result<(), Error> {
        let sql = "SELECT writer_boot, writer_pid, writer_start FROM run
                   WHERE (id = ?1 OR part_of = ?1) AND ended_unix_ms IS NULL";
        let writers = self.rows(sql, [&id.0], |row| {
            Ok(WriterProcess { boot: row.get(0)?, pid: row.get(1)?, start: row.get(2)? })
        })?;
        match writers.into_iter().find(WriterProcess::is_alive) {
            Some(writer) => Err(Error::Running { id: id.0.clone(), pid: writer.pid }),
            None => Ok(()),
        }
    }
}
