//! torment and its guard, killed at any moment.

use crate::ends::DAEMONS;
use crate::scene::{
    Fixture, MARK, alone, guard, left_groups, marked_processes, never_stop, read, wait_until,
};
use plan::Template;
use rustix::process::{Pid, Signal, kill_process};
use service::Guard;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime};
use testbed::NamedTest;

pub const CHECKS: &[NamedTest] = &[
    ("killed::torment_at_any_moment", torment_at_any_moment),
    ("killed::torment_and_either_process_of_the_guard", torment_and_either_process_of_the_guard),
    ("killed::all_of_them", all_of_them),
    ("killed::the_guard_is_asked_to_end", the_guard_is_asked_to_end),
];

/// A torment that starts and stops in a loop, until it is killed.
pub fn victim(words: &[String]) -> ExitCode {
    let [mark, folder] = words else { return ExitCode::FAILURE };
    let fixture = Fixture { folder: tempfile::tempdir_in(folder).expect("ours"), mark: mark.clone() };
    let mut service =
        fixture.script("service", &format!("trap '' TERM; {DAEMONS} sleep 600 & echo ready; wait"));
    // Until its grace ends, torment does not stop it, but its guard does.
    service.grace = units::Nanos::from_millis(100);
    service.folder = folder.clone();
    service.files = ["there", "new/one"].map(|name| (name.to_owned(), Template::literal("during"))).to_vec();
    service.limits.pids = Some(100);
    if Guard::check(&alone(service.clone())).is_err() {
        service.limits.pids = None;
    }
    let setup = alone(service);
    let mut guard = guard();
    fs::write(PathBuf::from(folder).join("started"), "").expect("ours");
    loop {
        guard.up(&setup, &never_stop).expect("it starts");
        std::thread::sleep(Duration::from_millis(50));
        guard.down();
    }
}

/// A killed torment, and what it leaves.
struct KilledTorment {
    fixture: Fixture,
    victim: Child,
}

impl KilledTorment {
    fn new() -> Self {
        let fixture = Fixture::new();
        fs::write(fixture.path("there"), "before").expect("ours");
        fs::create_dir(fixture.path("temporary")).expect("ours");
        let victim = Command::new(std::env::current_exe().expect("this is a program"))
            .args(["victim", &fixture.mark])
            .arg(fixture.folder.path())
            .env(MARK, &fixture.mark)
            .env("TMPDIR", fixture.path("temporary"))
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        Self { fixture, victim }
    }

    fn wait_for(&self, name: &str) {
        wait_until(name, || self.fixture.path(name).exists());
    }

    /// Its guard's process ids: the outer, then the inner.
    fn guards(&self) -> [u32; 2] {
        let mut guards = None;
        wait_until("no child is about to become a program", || {
            guards = self.guards_now().try_into().ok();
            guards.is_some()
        });
        guards.expect("it was waited for")
    }

    fn guards_now(&self) -> Vec<u32> {
        let is_guard = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).nth(1) == Some(b"guard")
        };
        let mut guards: Vec<u32> = self.fixture.marked_processes().into_iter().filter(is_guard).collect();
        // The inner one gets its folder in its environment.
        let has_folder = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/environ"))
                .unwrap_or_default()
                .contains("TORMENT_GUARD_FOLDER=")
        };
        guards.sort_by_key(has_folder);
        guards
    }

    fn kill(&mut self) {
        self.victim.kill().expect("it is ours");
        self.victim.wait().expect("it is ours");
    }

    fn assert_nothing_left(&self) {
        let fixture = &self.fixture;
        wait_until("all processes end", || fixture.marked_processes().is_empty());
        self.nothing_is_left_but_processes();
    }

    fn nothing_is_left_but_processes(&self) {
        let fixture = &self.fixture;
        assert_eq!(read(fixture.path("there")), "before");
        assert!(!fixture.path("new").exists());
        let temporary: Vec<_> = fs::read_dir(fixture.path("temporary")).expect("ours").flatten().collect();
        assert!(temporary.is_empty(), "{temporary:?}");
        assert_eq!(left_groups(), Vec::<PathBuf>::new());
    }
}

impl Drop for KilledTorment {
    fn drop(&mut self) {
        // For a failed test.
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        marked_processes(&self.fixture.mark).into_iter().for_each(kill);
    }
}

fn kill(pid: u32) {
    send(pid, Signal::KILL);
}

fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process");
    // It may have ended meanwhile.
    let _ = kill_process(pid, signal);
}

/// From a printed seed, so that a failure can be repeated.
fn moments(count: u32) -> impl Iterator<Item = Duration> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let seed: u64 =
        std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(u64::from(now.subsec_nanos()));
    println!("SEED={seed}");
    let mut random = units::random::Random(seed);
    (0..count).map(move |_| Duration::from_micros(random.draw() % 600_000))
}

fn torment_at_any_moment() {
    for moment in moments(20) {
        let mut killed = KilledTorment::new();
        std::thread::sleep(moment);
        killed.kill();
        killed.assert_nothing_left();
    }
}

fn torment_and_either_process_of_the_guard() {
    for (number, moment) in moments(8).enumerate() {
        let mut killed = KilledTorment::new();
        killed.wait_for("started");
        std::thread::sleep(moment);
        let guards = killed.guards();
        kill(guards[number % 2]);
        killed.kill();
        killed.assert_nothing_left();
    }
}

/// Then nobody is left to act: directly started processes end all the same, and the next guard does the rest, except
/// for orphans in no control group.
fn all_of_them() {
    for moment in moments(6) {
        let mut killed = KilledTorment::new();
        killed.wait_for("started");
        std::thread::sleep(moment);
        // The last one killed could undo what it should not live to undo.
        let all: Vec<u32> = killed.guards().into_iter().chain([killed.victim.id()]).collect();
        all.iter().for_each(|pid| send(*pid, Signal::STOP));
        all.iter().for_each(|pid| kill(*pid));
        killed.kill();
        let fixture = &killed.fixture;
        wait_until("what was started directly ends", || {
            let line = |pid: u32| crate::scene::command_line(pid);
            // Also a child that was about to exec, and so still holds the guard's lock.
            killed.guards_now().is_empty()
                && !fixture.marked_processes().into_iter().any(|pid| line(pid).contains("trap"))
        });
        // A guard whose only work is what others left.
        let (theirs, ours) = UnixStream::pair().expect("descriptors are free");
        drop(ours);
        let next = Command::new(std::env::current_exe().expect("this is a program"))
            .arg("guard")
            .env("TMPDIR", fixture.path("temporary"))
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .status();
        assert!(next.expect("it starts").success());
        killed.nothing_is_left_but_processes();
    }
}

fn the_guard_is_asked_to_end() {
    let killed = KilledTorment::new();
    killed.wait_for("started");
    let guards = killed.guards();
    send(guards[1], Signal::TERM);
    // torment survives, and is told; here it gives up.
    killed.assert_nothing_left();
}
