//! Shared helpers: plans of shell scripts, and checks of what is left.

use plan::{Program, ReadyCondition, ResourceLimits, Setup, Template};
use service::{Error, Guard};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use units::Nanos;

/// The environment variable by which a test recognises its own processes.
pub const MARK: &str = "TORMENT_TEST_MARK";
/// What others left behind before this program began; evaluated before anything else.
pub static BEFORE: LazyLock<Vec<PathBuf>> = LazyLock::new(all_left_groups);
/// How long to wait for something that must happen; a busy machine takes its time.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A folder and mark of one test's own.
pub struct Fixture {
    pub folder: tempfile::TempDir,
    pub mark: String,
}

impl Fixture {
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        Self { folder, mark: format!("{}-{number}", std::process::id()) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A shell script that is ready once it prints `ready`.
    pub fn script(&self, name: &str, script: &str) -> Program {
        Program {
            name: name.to_owned(),
            prepare: Vec::new(),
            command: ["sh", "-c", script].map(Template::literal).to_vec(),
            folder: self.folder.path().to_str().expect("a path of ours").to_owned(),
            env: vec![(MARK.to_owned(), Template::literal(self.mark.as_str()))],
            files: Vec::new(),
            ready: ReadyCondition::Log("ready".to_owned()),
            within: Nanos::from_secs(30),
            stop: "TERM".to_owned(),
            grace: Nanos::from_secs(10),
            limits: ResourceLimits::default(),
        }
    }

    pub fn marked_processes(&self) -> Vec<u32> {
        marked_processes(&self.mark)
    }

    /// Asserts that no process is left; without waiting, since stopping everything already waited.
    pub fn assert_empty(&self) {
        let left: Vec<_> = self.marked_processes().into_iter().map(|pid| (pid, command_line(pid))).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

/// Processes with this mark in their environment, except zombies.
pub fn marked_processes(mark: &str) -> Vec<u32> {
    let entry = format!("{MARK}={mark}");
    let processes = fs::read_dir("/proc").expect("every Linux has it").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_marked = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
    };
    numbers.filter(is_marked).collect()
}

pub fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

pub fn setup(needs: Vec<Program>, service: Program) -> Setup {
    let needs = needs.into_iter().map(plan::Dependency::Program).collect();
    Setup { needs, service: Some(service), reset: plan::ResetMethod::None }
}

pub fn alone(service: Program) -> Setup {
    setup(Vec::new(), service)
}

pub fn guard() -> Guard {
    Guard::start(&std::env::current_exe().expect("this is a program")).expect("it starts")
}

pub fn never_stop() -> bool {
    false
}

/// The error at the start.
pub fn refused(setup: &Setup) -> Error {
    guard().up(setup, &never_stop).expect_err("it cannot start")
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port is free").port()
}

/// Waits for something that must come true.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Control groups left by tests of this program whose guards no longer run.
pub fn left_groups() -> Vec<PathBuf> {
    all_left_groups().into_iter().filter(|group| !BEFORE.contains(group)).collect()
}

fn all_left_groups() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut left = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let guard =
                name.strip_prefix("torment-").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            if guard.is_some_and(|guard| !Path::new(&format!("/proc/{guard}")).exists()) {
                left.push(entry.path());
            }
            folders.push(entry.path());
        }
    }
    left
}
