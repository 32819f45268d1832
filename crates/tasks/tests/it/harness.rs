//! Shared by the tests: a limited torment, and control groups.

use record::{Event, RampEnd, SystemLimit, Verdict};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tasks::ThreadsWanted;
use units::Bytes;

/// Until something that must happen has happened; a busy machine is slow.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The variable by which a test recognises its own processes.
pub const MARK: &str = "TORMENT_TEST_MARK";

/// A limit that a torment sets itself before its ramp.
#[derive(Debug, Serialize, Deserialize)]
pub enum LimitSetting {
    Tasks(u64),
    AddressSpace(u64),
    Data(u64),
}

/// Arguments of a limited torment.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RampArgs {
    pub limits: Vec<LimitSetting>,
    pub stack: Option<u64>,
    pub touch: u64,
    pub raw: bool,
    pub most: Option<u64>,
    pub until_failure: bool,
    pub maps: u64,
}

impl RampArgs {
    pub fn threads_wanted(&self) -> ThreadsWanted {
        ThreadsWanted {
            stack: self.stack.map(Bytes),
            touch: Bytes(self.touch),
            raw: self.raw,
            max: self.most,
            until_failure: self.until_failure,
            maps: self.maps,
        }
    }

    /// The command that runs it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(own());
        command.arg("ramp").arg(self.to_json());
        command
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("it can be written")
    }
}

pub fn own() -> PathBuf {
    std::env::current_exe().expect("this is a program")
}

/// Result of a ramp.
#[derive(Debug)]
pub struct RampResult {
    pub limits: Vec<SystemLimit>,
    /// Task counts reported, in order.
    pub reported_tasks: Vec<u64>,
    pub reached: u64,
    pub forecast: Option<u64>,
    pub end: RampEnd,
}

impl RampResult {
    pub fn run(command: &mut Command) -> Self {
        Self::try_run(command).unwrap_or_else(|why| panic!("{why}"))
    }

    /// Its standard error if it gave no result.
    pub fn try_run(command: &mut Command) -> Result<Self, String> {
        let output = command.output().expect("it can be started");
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let text = String::from_utf8(output.stdout).expect("it is text");
        let (mut limits, mut reported_tasks, mut verdict) = (Vec::new(), Vec::new(), None);
        for line in text.lines() {
            match serde_json::from_str(line) {
                Ok(Event::Forecast { rooms: all }) => limits = all,
                Ok(Event::Ramped(record::RampProgress { tasks, free, .. })) => {
                    assert!(free.0 > 0);
                    reported_tasks.push(tasks);
                }
                Ok(other) => panic!("{other:?}"),
                Err(_) => verdict = Some(serde_json::from_str(line).expect("a verdict")),
            }
        }
        let Some(Verdict::Tasks { reached, forecast, gave: end }) = verdict else {
            panic!("no verdict: {text}")
        };
        println!("    reached {reached} of {forecast:?}: {end:?}");
        assert!(!limits.is_empty());
        assert_eq!(forecast, limits[0].threads);
        Ok(Self { limits, reported_tasks, reached, forecast, end })
    }

    /// Checks that this limit was named, and at least 99 % of what it allowed was reached.
    #[track_caller]
    pub fn is_limit(&self, name: &str, call: &str, allows: u64) -> &SystemLimit {
        let RampEnd::Limit { room, call: failed_call, .. } = &self.end else { panic!("{:?}", self.end) };
        assert_eq!(room.name, name);
        assert!(failed_call.starts_with(call), "{failed_call}");
        assert!(self.reached as f64 >= allows as f64 * 0.99, "{} of {allows}", self.reached);
        // It was forecast: by the same name, and within the few that others start and end meanwhile.
        assert_eq!(self.limits[0].name, name);
        let forecast = self.forecast.expect("it is a limit");
        assert!(self.reached as f64 >= forecast as f64 * 0.99, "{} of {forecast}", self.reached);
        // Up, and down to nothing.
        assert_eq!(
            (self.reported_tasks.first(), self.reported_tasks.last()),
            (Some(&0), Some(&0)),
            "{:?}",
            self.reported_tasks
        );
        assert!(self.reported_tasks.contains(&self.reached), "{:?}", self.reported_tasks);
        room
    }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Prints why a test is skipped.
pub fn skipped(why: impl std::fmt::Display) {
    eprintln!("SKIPPED: {why}");
}

/// A test's own control group, in version 1 or 2, with all that is made in it; it is removed at the end, with its processes.
pub struct TestGroup(PathBuf);

impl TestGroup {
    /// In the top group, if permitted; otherwise says so.
    pub fn with(controller: &str) -> Option<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let place = [format!("/sys/fs/cgroup/{controller}"), "/sys/fs/cgroup".to_owned()];
        let has = |place: &&String| {
            let controllers = fs::read_to_string(Path::new(place).join("cgroup.subtree_control"));
            controllers.map_or(place.ends_with(controller), |all| {
                all.split_whitespace().any(|one| one == controller)
            })
        };
        let Some(place) =
            place.iter().find(|place| Path::new(place).join("cgroup.procs").exists() && has(place))
        else {
            skipped(format!("no control groups with '{controller}' are mounted here"));
            return None;
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(place).join(format!("tasks-test-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => Some(Self(folder)),
            Err(why) => {
                skipped(format!("{}: {why}", folder.display()));
                None
            }
        }
    }

    /// A group within it.
    pub fn inner(&self, controller: &str) -> Self {
        // Version 2 needs this; version 1 does not have the file.
        let _ = fs::write(self.0.join("cgroup.subtree_control"), format!("+{controller}"));
        let folder = self.0.join("inner");
        fs::create_dir(&folder).expect("it is in ours");
        Self(folder)
    }

    pub fn set(&self, file: &str, value: impl ToString) {
        fs::write(self.0.join(file), value.to_string()).expect("it is ours");
    }

    pub fn has(&self, file: &str) -> bool {
        self.0.join(file).exists()
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Starts the command in the group.
    pub fn add_command(&self, command: &mut Command) {
        let procs = fs::OpenOptions::new().write(true).open(self.0.join("cgroup.procs")).expect("it is ours");
        sys::configure_child(command, rustix::process::Signal::KILL, &[], vec![procs.into()])
            .expect("nothing else is asked");
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        let until = Instant::now() + TIMEOUT;
        while fs::remove_dir(&self.0).is_err() && self.0.exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Processes with this mark in their environment.
pub fn marked(mark: &str) -> Vec<u32> {
    let entry = format!("{MARK}={mark}");
    let processes = fs::read_dir("/proc").expect("every Linux has it").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_marked = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
    };
    numbers.filter(is_marked).collect()
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < until, "not within {} s: {what}", TIMEOUT.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}
