//! The real binary as a user runs it, and the built-in service as its target.

pub mod odd_servers;
pub mod serving;
pub mod sshd;
pub mod target;

use serde_json::Value;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, LazyLock, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program under test: what cargo built with the tests, or what `TORMENT_BIN` names.
pub fn binary() -> &'static str {
    static NAMED: LazyLock<Option<String>> = LazyLock::new(|| {
        let path = PathBuf::from(std::env::var_os("TORMENT_BIN")?);
        let path = path.canonicalize().unwrap_or_else(|why| panic!("TORMENT_BIN={}: {why}", path.display()));
        Some(path.display().to_string())
    });
    NAMED.as_deref().unwrap_or(env!("CARGO_BIN_EXE_torment"))
}

/// No search here takes this long; a torment that does hangs.
const PATIENCE: Duration = Duration::from_secs(170);
/// Usage errors must be quick. The program's own longest timeout is 5 s, for a connection; the rest is for a busy
/// machine.
pub const SOON: Duration = Duration::from_secs(15);

/// Loads in parallel: they mostly wait. The harness has more threads than that, so that a waiting test holds up nobody
/// else.
const SIDE_BY_SIDE: u32 = 5;

/// Held by a test that makes a load.
pub struct LoadTurn {
    /// Slots that it takes.
    part: u32,
}

/// Slots taken, and a condition to wait for changes.
static TAKEN: (Mutex<u32>, Condvar) = (Mutex::new(0), Condvar::new());

impl LoadTurn {
    /// Beside others: counts must be right on a busy machine too.
    pub fn shared() -> Self {
        Self::take(1)
    }

    /// Exclusive, once no other is running or waiting: it measures the machine, or takes all of it.
    pub fn alone() -> Self {
        Self::take(SIDE_BY_SIDE)
    }

    fn take(part: u32) -> Self {
        let taken = TAKEN.0.lock().expect("nobody panics with it");
        let mut taken =
            TAKEN.1.wait_while(taken, |taken| *taken + part > SIDE_BY_SIDE).expect("nobody panics with it");
        *taken += part;
        Self { part }
    }
}

impl Drop for LoadTurn {
    fn drop(&mut self) {
        *TAKEN.0.lock().expect("nobody panics with it") -= self.part;
        TAKEN.1.notify_all();
    }
}

/// A folder with a store of its own, in which torment is run.
pub struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("torment-test-").tempdir();
        Self { folder: folder.expect("a temporary folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("the folder is ours");
        path
    }

    pub fn store(&self) -> PathBuf {
        self.path("store.db")
    }

    /// torment with these arguments and this sandbox's store; isolated from the user's own store and environment.
    pub fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments).arg("--store").arg(self.store());
        self.homed(command)
    }

    /// Any program, in this place.
    pub fn homed(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("HOME", self.folder.path()).env("RUST_BACKTRACE", "1");
        for name in ["XDG_DATA_HOME", "SSL_CERT_FILE", "NO_COLOR", "RUST_LOG"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs torment to its end.
    pub fn torment<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> ProcessOutput {
        RunningProcess::start(self.command(arguments)).end()
    }

    /// A load, and its result. One voided because the machine was busy is repeated, as torment itself advises.
    pub fn load<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> (ProcessOutput, Value) {
        const ATTEMPTS: u32 = 6;
        const PAUSE: Duration = Duration::from_secs(2);
        let arguments: Vec<&str> = arguments.into_iter().collect();
        for _ in 1..ATTEMPTS {
            let (ended, json) = self.json(arguments.iter().copied());
            if ended.code() != 92 {
                return (ended, json);
            }
            println!("once more, for the machine was busy: {}", ended.stderr);
            // The test does not expect the void run.
            self.torment(["rm", json["id"].as_str().expect("a run has an id")]).expect(0);
            sleep(PAUSE);
        }
        self.json(arguments)
    }

    /// Runs torment to its end and parses its result.
    pub fn json<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> (ProcessOutput, Value) {
        let ended = self.torment(arguments.into_iter().chain(["--format", "json"]));
        let json = ended.json();
        (ended, json)
    }
}

/// A running program; killed on drop.
pub struct RunningProcess {
    child: Child,
    began: Instant,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
    words: String,
}

impl RunningProcess {
    pub fn start(mut command: Command) -> Self {
        let words = format!("{command:?}");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{words}: {e}"));
        // Read at once: a full pipe would stop the program.
        let stdout = child.stdout.take().map(read_all);
        let stderr = child.stderr.take().map(read_all);
        Self { child, began: Instant::now(), stdout, stderr, words }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    /// As Ctrl-C or `kill` do it.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("a process has an id"), signal).expect("it is our child");
    }

    /// Waits for its end; panics if that takes too long.
    pub fn end(mut self) -> ProcessOutput {
        while self.is_running() {
            assert!(self.began.elapsed() < PATIENCE, "{} does not end", self.words);
            sleep(Duration::from_millis(2));
        }
        let status = self.child.wait().expect("it is our child");
        let took = self.began.elapsed();
        let text = |reader: Option<JoinHandle<String>>| {
            reader.expect("it is read once").join().expect("reading does not panic")
        };
        let (stdout, stderr) = (text(self.stdout.take()), text(self.stderr.take()));
        ProcessOutput { status, stdout, stderr, took, words: self.words.clone() }
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).expect("a pipe can be read");
        String::from_utf8(bytes).expect("torment prints UTF-8")
    })
}

#[derive(Debug)]
pub struct ProcessOutput {
    status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
    words: String,
}

impl ProcessOutput {
    /// Exit code; panics if a signal ended it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("{self}"))
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("no JSON ({e}): {self}"))
    }

    /// Panics unless it ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "{self}");
        self
    }

    /// Panics unless it ended with the goal met, or with the load made on a machine too busy to judge it, which not
    /// every test is about.
    #[track_caller]
    pub fn measured(self) -> Self {
        assert!([0, 92].contains(&self.code()), "{self}");
        self
    }

    /// Panics unless torment failed with this code, quickly, with nothing on standard output, no backtrace, and one
    /// message that contains these words. Returns the message.
    #[track_caller]
    pub fn expect_error(&self, code: i32, words: &[&str]) -> String {
        assert!(self.took < SOON, "that took too long: {self}");
        self.expect_last_error(code, words)
    }

    /// The same for an error that takes time.
    #[track_caller]
    pub fn expect_last_error(&self, code: i32, words: &[&str]) -> String {
        assert_eq!(self.code(), code, "{self}");
        assert_eq!(self.stdout, "", "{self}");
        for panicked in ["panicked", "backtrace", "RUST_"] {
            assert!(!self.stderr.contains(panicked), "{self}");
        }
        let starts: Vec<usize> = self.stderr.match_indices("torment: ").map(|(at, _)| at).collect();
        assert_eq!(starts.len(), 1, "not one message: {self}");
        let message = &self.stderr[starts[0]..];
        assert!(
            starts[0] == 0 || self.stderr[..starts[0]].ends_with('\n'),
            "not at the line's start: {self}"
        );
        for word in words {
            assert!(message.contains(word), "'{word}' is missing: {self}");
        }
        // Rust's debug output is not for people.
        for debug in ["{ ", "Some(", "Os {", "Error("] {
            assert!(!message.contains(debug), "not for people: {self}");
        }
        message.to_owned()
    }
}

impl std::fmt::Display for ProcessOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, stdout, stderr, took, words } = self;
        write!(f, "{words} ended after {took:.1?} with {status}\n{stderr}\n{stdout}")
    }
}

/// The rate held in nine of ten trials, in a search's result.
pub fn held(find: &Value) -> &Value {
    let limit = &find["limits"][0];
    assert_eq!((&limit["goal"], &limit["unit"]), (&"nine-of-ten".into(), &"requests/s".into()), "{limit}");
    limit
}

/// A number in a result.
#[track_caller]
pub fn number(json: &Value, path: &str) -> f64 {
    json.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number {path} in {json:#}"))
}

/// How many of a trial's arrivals had this outcome.
#[track_caller]
pub fn outcome(trial: &Value, name: &str) -> u64 {
    trial["outcomes"][name].as_u64().unwrap_or_else(|| panic!("no outcome {name} in {trial:#}"))
}

/// A trial's outcomes, summed.
#[track_caller]
pub fn outcomes(trial: &Value) -> u64 {
    let table = trial["outcomes"].as_object().unwrap_or_else(|| panic!("no outcomes in {trial:#}"));
    table.values().map(|count| count.as_u64().expect("a count")).sum()
}

/// Panics unless every arrival of the trial is accounted for.
#[track_caller]
pub fn adds_up(trial: &Value) {
    assert_eq!(trial["due"], outcomes(trial), "arrivals are lost or doubled: {trial:#}");
}

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
