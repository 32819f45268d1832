//! The job log: a line of JSON for each process, written beside the storm.

use crate::Error;
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use units::Nanos;

/// Lines that a launcher gathers before it hands them on: so many that handing on costs nothing, so few that what is
/// not handed on yet is no loss when torment is killed.
const GATHERED: usize = 256;
/// Gatherings that may wait for the disk; then the launchers wait.
const WAITING: usize = 64;

/// What is known of one process when it has ended. Times count from the beginning of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct JobRecord {
    /// The load it belongs to, counted from 1.
    pub trial: u32,
    /// Counted over the whole run, from 0.
    pub number: u64,
    pub pid: i32,
    /// When it was to be started.
    pub due: Nanos,
    /// Just before the call that starts it.
    pub started: Nanos,
    /// When that call returned: the program is executed.
    pub executed: Nanos,
    /// When its end was seen.
    pub ended: Nanos,
    pub user: Duration,
    pub system: Duration,
    pub status: ExitStatus,
    /// Whether it was killed because its time was up.
    pub timed_out: bool,
    /// The thread that started it, and the processor that ran on then.
    pub launcher: u32,
    pub launcher_cpu: u32,
    /// Where it ran last; none if that could not be read.
    pub last_cpu: Option<u32>,
}

impl JobRecord {
    /// One line. All in it are numbers, so that nothing wants escaping.
    fn write(&self, to: &mut impl Write) -> std::io::Result<()> {
        let Self { trial, number, pid, launcher, launcher_cpu, timed_out, .. } = self;
        let or_null =
            |number: Option<i64>| number.map_or_else(|| "null".to_owned(), |number| number.to_string());
        writeln!(
            to,
            "{{\"trial\":{trial},\"number\":{number},\"pid\":{pid},\"due_ns\":{},\"started_ns\":{},\"executed_ns\":{},\
             \"ended_ns\":{},\"wall_ns\":{},\"user_us\":{},\"system_us\":{},\"exit\":{},\"signal\":{},\
             \"timed_out\":{timed_out},\"launcher\":{launcher},\"launcher_cpu\":{launcher_cpu},\"last_cpu\":{}}}",
            self.due.0,
            self.started.0,
            self.executed.0,
            self.ended.0,
            (self.ended - self.started).0,
            self.user.as_micros(),
            self.system.as_micros(),
            or_null(self.status.code().map(i64::from)),
            or_null(self.status.signal().map(i64::from)),
            or_null(self.last_cpu.map(i64::from))
        )
    }
}

/// The file, and the thread that writes it.
pub(crate) struct JobLog {
    lines: Option<SyncSender<Vec<JobRecord>>>,
    writer: Option<JoinHandle<std::io::Result<()>>>,
    path: PathBuf,
}

impl JobLog {
    /// Begins a new file.
    pub fn begin(path: &Path) -> Result<Self, Error> {
        let refused = |why: std::io::Error| Error::File { path: path.to_owned(), why };
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(path).map_err(refused)?;
        let (lines, gathered) = sync_channel::<Vec<JobRecord>>(WAITING);
        let writer = std::thread::Builder::new().name("job-log".to_owned()).spawn(move || {
            let mut file = BufWriter::with_capacity(1 << 16, file);
            for jobs in gathered {
                jobs.iter().try_for_each(|job| job.write(&mut file))?;
            }
            file.flush()
        });
        let writer = writer.map_err(Error::Start)?;
        Ok(Self { lines: Some(lines), writer: Some(writer), path: path.to_owned() })
    }

    /// For a launcher.
    pub fn buffer(&self) -> JobBuffer {
        JobBuffer { jobs: Vec::with_capacity(GATHERED), lines: self.lines.clone() }
    }

    /// Once all launchers are gone: waits until everything is in the file.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.lines = None;
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let written = writer.join().expect("writing lines does not panic");
        written.map_err(|why| Error::File { path: self.path.clone(), why })
    }
}

/// One launcher's lines on their way to the file.
pub(crate) struct JobBuffer {
    jobs: Vec<JobRecord>,
    lines: Option<SyncSender<Vec<JobRecord>>>,
}

impl JobBuffer {
    pub fn push(&mut self, job: JobRecord) {
        self.jobs.push(job);
        if self.jobs.len() >= GATHERED {
            self.flush();
        }
    }

    pub fn flush(&mut self) {
        if let Some(lines) = &self.lines
            && !self.jobs.is_empty()
        {
            // A disk that is full ends the writer; that is said at the end.
            let _ = lines.send(std::mem::replace(&mut self.jobs, Vec::with_capacity(GATHERED)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(number: u64, status: i32) -> JobRecord {
        JobRecord {
            trial: 1,
            number,
            pid: 4711,
            due: Nanos(5),
            started: Nanos(7),
            executed: Nanos(100),
            ended: Nanos(207),
            user: Duration::from_micros(3),
            system: Duration::from_micros(4),
            status: ExitStatus::from_raw(status),
            timed_out: false,
            launcher: 1,
            launcher_cpu: 0,
            last_cpu: None,
        }
    }

    #[test]
    fn a_line_is_json() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("jobs.ndjson");
        let mut log = JobLog::begin(&path).expect("the folder is ours");
        let mut gather = log.buffer();
        for number in 0..1000 {
            gather.push(job(number, if number == 3 { 9 } else { 0x100 }));
        }
        gather.flush();
        drop(gather);
        log.finish().expect("there is room");
        let text = std::fs::read_to_string(&path).expect("it was written");
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), 1000);
        assert_eq!((&lines[0]["exit"], &lines[0]["signal"]), (&1.into(), &serde_json::Value::Null));
        assert_eq!((&lines[3]["exit"], &lines[3]["signal"]), (&serde_json::Value::Null, &9.into()));
        assert_eq!(
            (&lines[7]["number"], &lines[7]["wall_ns"], &lines[7]["user_us"]),
            (&7.into(), &200.into(), &3.into())
        );
        assert!(lines[0]["last_cpu"].is_null());
    }

    #[test]
    fn a_file_that_cannot_be_is_said() {
        let error = JobLog::begin(Path::new("/proc/nowhere/jobs"))
            .err()
            .expect("there is no such folder")
            .to_string();
        assert!(error.contains("/proc/nowhere/jobs"), "{error}");
    }
}
