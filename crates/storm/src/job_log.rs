//! The job log: a line of JSON for each process, written alongside the storm.

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

/// Lines that a launcher buffers before handing them on: enough that handing on costs nothing, few enough to
/// lose if torment is killed.
const BUFFER_JOBS: usize = 256;
/// Batches that may wait for the disk; beyond that the launchers wait.
const QUEUED_BUFFERS: usize = 64;

/// What is known of a process that has ended. Times count from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct JobRecord {
    /// Its load, counted from 1.
    pub trial: u32,
    /// Counted over the whole run, from 0.
    pub number: u64,
    pub pid: i32,
    pub due: Nanos,
    /// Just before the call that starts it.
    pub started: Nanos,
    /// When that call returned: the program is executed.
    pub executed: Nanos,
    /// When its end was noticed.
    pub ended: Nanos,
    pub user: Duration,
    pub system: Duration,
    pub status: ExitStatus,
    /// Whether it was killed at its timeout.
    pub timed_out: bool,
    /// The launcher thread that started it, and the processor this ran on then.
    pub launcher: u32,
    pub launcher_cpu: u32,
    /// Where it ran last; `None` if that could not be read.
    pub last_cpu: Option<u32>,
}

impl JobRecord {
    /// Writes one line. All values are numbers, so nothing needs escaping.
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

pub(crate) struct JobLog {
    sender: Option<SyncSender<Vec<JobRecord>>>,
    writer: Option<JoinHandle<std::io::Result<()>>>,
    path: PathBuf,
}

impl JobLog {
    pub fn begin(path: &Path) -> Result<Self, Error> {
        let file_error = |why: std::io::Error| Error::File { path: path.to_owned(), why };
        let file =
            OpenOptions::new().create(true).write(true).truncate(true).open(path).map_err(file_error)?;
        let (sender, receiver) = sync_channel::<Vec<JobRecord>>(QUEUED_BUFFERS);
        let writer = std::thread::Builder::new().name("job-log".to_owned()).spawn(move || {
            let mut file = BufWriter::with_capacity(1 << 16, file);
            for jobs in receiver {
                jobs.iter().try_for_each(|job| job.write(&mut file))?;
            }
            file.flush()
        });
        let writer = writer.map_err(Error::Start)?;
        Ok(Self { sender: Some(sender), writer: Some(writer), path: path.to_owned() })
    }

    pub fn buffer(&self) -> JobBuffer {
        JobBuffer { jobs: Vec::with_capacity(BUFFER_JOBS), sender: self.sender.clone() }
    }

    /// Waits until everything is in the file. Call it once all launchers are gone.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.sender = None;
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let written = writer.join().expect("writing lines does not panic");
        written.map_err(|why| Error::File { path: self.path.clone(), why })
    }
}

/// One launcher's lines on their way to the file.
pub(crate) struct JobBuffer {
    jobs: Vec<JobRecord>,
    sender: Option<SyncSender<Vec<JobRecord>>>,
}

impl JobBuffer {
    pub fn push(&mut self, job: JobRecord) {
        self.jobs.push(job);
        if self.jobs.len() >= BUFFER_JOBS {
            self.flush();
        }
    }

    pub fn flush(&mut self) {
        if let Some(sender) = &self.sender
            && !self.jobs.is_empty()
        {
            // A full disk ends the writer; `finish` reports that.
            let _ = sender.send(std::mem::replace(&mut self.jobs, Vec::with_capacity(BUFFER_JOBS)));
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
        let mut buffer = log.buffer();
        for number in 0..1000 {
            buffer.push(job(number, if number == 3 { 9 } else { 0x100 }));
        }
        buffer.flush();
        drop(buffer);
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
