//! A recording of the machine's own Flight Recorder, for some seconds: started, stopped, and read from the files in which the recorder
//! keeps it meanwhile. Those are opened before it is stopped; the recorder then completes and removes them.
//! So nothing of it is ever written for us, and nothing has to be removed by us. Where torment is killed, the recording ends by
//! itself after its time, is written to /dev/null, and the recorder removes its files.

use super::attach::{Attached, attach};
use super::folder::Folder;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// For each question and its answer. The first recording of a machine loads a few hundred classes, which has taken 18 s where the processors
/// were wanted ten times over.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much longer than asked for a recording lasts that nobody stops.
const SLACK: Duration = Duration::from_secs(60);
/// Of what a recording holds; the recorder keeps it below by removing the oldest of its files, each of which has 12 MB.
const MOST_BYTES: u64 = 64 << 20;
/// What is recorded, and nothing else. A request through the socket takes 1,024 bytes at most.
const SETTINGS: [&str; 18] = units::texts![
    "ActiveSetting#enabled=true" "ExecutionSample#enabled=true" "ExecutionSample#period=10ms"
    "NativeMethodSample#enabled=true" "NativeMethodSample#period=20ms"
    "ObjectAllocationSample#enabled=true" "ObjectAllocationSample#throttle=150/s"
    "JavaMonitorEnter#enabled=true" "JavaMonitorEnter#threshold=1ms"
    "JavaMonitorWait#enabled=true" "JavaMonitorWait#threshold=10ms"
    "ThreadPark#enabled=true" "ThreadPark#threshold=10ms"
    "GarbageCollection#enabled=true" "Compilation#enabled=true" "Compilation#threshold=1ms"
    "CPULoad#enabled=true" "CPULoad#period=1s"
];

/// A recording that is under way in a HotSpot machine (JDK 17 or later). Dropped unfinished it is stopped, and what it holds is lost.
pub struct JvmRecording {
    jvm: Attached,
    name: String,
    /// Where the recorder keeps its files; none until that is known.
    repository: Option<Repository>,
    stopped: bool,
}

/// The folder in which a recorder keeps what it has recorded, as its machine sees it.
struct Repository {
    parent: Folder,
    name: String,
    /// Files of recordings that others made; none if there was no such folder before ours.
    before: Option<BTreeSet<String>>,
}

impl JvmRecording {
    /// Starts one in this process, to be finished within `longest`; a minute later it ends by itself.
    ///
    /// # Errors
    /// If the machine cannot be asked, has no Flight Recorder, or starts no recording: why, as a sentence that goes on from its name.
    /// Blocks for a second or less where processors are free, and for thirty at most for each of four steps.
    pub fn start(pid: u32, longest: Duration) -> Result<Self, String> {
        Self::lasting(pid, longest + SLACK)
    }

    /// Starts one that ends by itself after this time.
    pub(super) fn lasting(pid: u32, duration: Duration) -> Result<Self, String> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let jvm = attach(pid, Instant::now() + PATIENCE)?;
        let before = match repository(&ask(&jvm, "JFR.configure")?) {
            Some(path) => Repository::open(pid, &path, None)?.present()?,
            None => None,
        };
        let name = format!("torment-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let answer = ask(&jvm, &command(&name, duration))?;
        if !answer.contains("Started recording") {
            return Err(format!("it started no recording: {}", answer.lines().next().unwrap_or_default()));
        }
        // From here on it is stopped, whatever happens.
        let mut started = Self { jvm, name, repository: None, stopped: false };
        let path = repository(&ask(&started.jvm, "JFR.configure")?);
        let path = path.ok_or("it does not say where it keeps its recordings")?;
        started.repository = Some(Repository::open(pid, &path, before)?);
        Ok(started)
    }

    /// Stops it. The bytes are those of a file of the Flight Recorder, which `flight::read` takes.
    ///
    /// # Errors
    /// If the machine has ended, has ended the recording, or its files cannot be read: why, as for [`start`](Self::start).
    pub fn finish(mut self) -> Result<Vec<u8>, String> {
        let repository = self.repository.take().expect("whatever was started has one");
        // Once it is stopped they are gone, but for who has them open.
        let files = repository.open_new()?;
        self.stop()?;
        let mut bytes = Vec::new();
        for file in files {
            let left = MOST_BYTES - (bytes.len() as u64).min(MOST_BYTES);
            file.take(left)
                .read_to_end(&mut bytes)
                .map_err(|error| format!("its recording cannot be read: {error}"))?;
        }
        if repository.before.is_none() {
            repository.remove_if_empty();
        }
        Ok(bytes)
    }

    fn stop(&mut self) -> Result<(), String> {
        self.stopped = true;
        let answer = ask(&self.jvm, &format!("JFR.stop name={}", self.name))?;
        if answer.contains("Stopped recording") {
            return Ok(());
        }
        Err(format!("it did not stop its recording: {}", answer.lines().next().unwrap_or_default()))
    }
}

impl Drop for JvmRecording {
    fn drop(&mut self) {
        if !self.stopped {
            // A machine that does not answer ends the recording after its time.
            let _ = self.stop();
        }
    }
}

/// What starts a recording of this name.
fn command(name: &str, duration: Duration) -> String {
    let seconds = duration.as_secs();
    let mut command = format!(
        "JFR.start name={name} settings=none duration={seconds}s maxsize={}m filename=/dev/null",
        MOST_BYTES >> 20
    );
    for setting in SETTINGS {
        command += " +jdk.";
        command += setting;
    }
    command
}

/// Has the machine carry out a command of its Flight Recorder.
fn ask(jvm: &Attached, command: &str) -> Result<String, String> {
    let answer = jvm.ask("jcmd", command, Instant::now() + PATIENCE);
    let (Ok(said) | Err(said)) = &answer;
    match unable(said) {
        Some(why) => Err(why.to_owned()),
        None => answer,
    }
}

/// What it means if a machine cannot record at all.
fn unable(said: &str) -> Option<&'static str> {
    const WHY: [(&str, &str); 4] = [
        ("Unknown diagnostic command", "it has no Flight Recorder"),
        ("Module jdk.jfr not found", "it has no Flight Recorder (module jdk.jfr)"),
        ("Flight Recorder is disabled", "it runs with -XX:-FlightRecorder, which forbids it"),
        ("Unknown argument", "its Flight Recorder cannot be set while it runs, which JDK 17 and later can"),
    ];
    WHY.iter().find(|(text, _)| said.contains(text)).map(|(_, why)| *why)
}

/// The recorder's folder, from what it says of how it is set; none if it has none yet.
fn repository(configured: &str) -> Option<String> {
    let path = configured.lines().find_map(|line| line.strip_prefix("Repository path: "))?.trim();
    path.starts_with('/').then(|| path.to_owned())
}

impl Repository {
    fn open(pid: u32, path: &str, before: Option<BTreeSet<String>>) -> Result<Self, String> {
        let (parent, name) =
            path.trim_end_matches('/').rsplit_once('/').ok_or("its recordings have no folder")?;
        let parent = Folder::of(pid, parent).map_err(|error| cannot(path, &error))?;
        Ok(Self { parent, name: name.to_owned(), before })
    }

    /// The names of its files; none if it is not there: the recorder names the last that it had, and makes another when it needs one.
    fn present(&self) -> Result<Option<BTreeSet<String>>, String> {
        match self.parent.stat(&self.name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            _ => self.files().map(Some),
        }
    }

    /// The names of its files.
    fn files(&self) -> Result<BTreeSet<String>, String> {
        let names = self.parent.names(&self.name).map_err(|error| cannot(&self.name, &error))?;
        Ok(names.into_iter().filter(|name| name.ends_with(".jfr")).collect())
    }

    /// Those that others do not have, the oldest first: they are named by the time.
    fn open_new(&self) -> Result<Vec<File>, String> {
        let before = self.before.clone().unwrap_or_default();
        let files = self.files()?;
        let new = files.difference(&before);
        new.map(|name| {
            self.parent.open(&format!("{}/{name}", self.name)).map_err(|error| cannot(name, &error))
        })
        .collect()
    }

    /// The recorder makes it anew when it needs it again.
    fn remove_if_empty(&self) {
        self.parent.remove_folder(&self.name);
    }
}

fn cannot(what: &str, error: &std::io::Error) -> String {
    format!("its recording cannot be read ({what}: {error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starts_a_recording_fits_into_a_request() {
        let command = command(&format!("torment-{}-{}", u32::MAX, u32::MAX), Duration::MAX);
        // HotSpot's `AttachOperation::arg_length_max`.
        assert!(command.len() <= 1024, "{}", command.len());
    }

    /// As Java without the module says it, which an image made by jlink may be.
    #[test]
    fn a_machine_without_a_recorder_says_so() {
        let said = "Module jdk.jfr not found.\nFlight Recorder can not be enabled.\n";
        assert_eq!(unable(said), Some("it has no Flight Recorder (module jdk.jfr)"));
        assert_eq!(unable("Started recording 1.\n"), None);
    }

    #[test]
    fn a_recorder_without_recordings_has_no_folder() {
        let says = |path| format!("Current configuration:\n\nRepository path: {path}\nStack depth: 64\n");
        assert_eq!(repository(&says("N/A")), None);
        assert_eq!(repository(&says("/tmp/a b")), Some("/tmp/a b".to_owned()));
        assert_eq!(repository(""), None);
    }
}
