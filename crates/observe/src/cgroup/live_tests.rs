//! Tests with real version 1 cgroups; print a message where these cannot be created.

use super::*;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A cgroup with a process in it; both are removed on drop.
struct LimitedGroup {
    folder: PathBuf,
    child: Child,
}

impl LimitedGroup {
    /// Runs a shell line in a new cgroup with these settings; none where that is impossible.
    fn run(controller: &str, settings: &[(&str, &str)], line: &str) -> Option<Self> {
        let name = format!("torment-test-{}-{controller}", std::process::id());
        let folder = Path::new("/sys/fs/cgroup").join(controller).join(name);
        if let Err(error) = fs::create_dir(&folder) {
            eprintln!("skipped: {} cannot be made here: {error}", folder.display());
            return None;
        }
        let child = Command::new("sh")
            .args(["-c", &format!("read go; {line}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let limited = Self { folder, child };
        for (file, value) in settings {
            if let Err(error) = fs::write(limited.folder.join(file), value) {
                eprintln!("skipped: {file} cannot be written in {}: {error}", limited.folder.display());
                return None;
            }
        }
        fs::write(limited.folder.join("cgroup.procs"), limited.child.id().to_string()).expect("root may");
        Some(limited)
    }

    fn go(&mut self) {
        let mut stdin = self.child.stdin.take().expect("it is piped");
        stdin.write_all(b"\n").expect("it waits for it");
    }

    fn groups(&self) -> CgroupReader {
        CgroupReader::of(Path::new("/"), self.child.id())
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let until = Instant::now() + Duration::from_secs(5);
        while fs::remove_dir(&self.folder).is_err() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Reads until the condition is met, for some seconds; a busy machine may take its time.
fn until(groups: &mut CgroupReader, mut met: impl FnMut(&Cgroup) -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let cgroup = groups.read().expect("it was there").expect("it is in a group");
        if met(&cgroup) {
            return;
        }
        assert!(Instant::now() < end, "not met: {cgroup:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_busy_child_is_throttled() {
    // A quota of a twentieth of a processor, and the largest share: it gets more than its quota beside any
    // number of neighbours.
    let settings = [("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "1000"), ("cpu.shares", "262144")];
    let Some(mut limited) = LimitedGroup::run("cpu", &settings, "while :; do :; done") else { return };
    assert_eq!(cpus(limited.child.id()), Some(0.05));
    let mut groups = limited.groups();
    groups.read().expect("it waits");
    limited.go();
    let (mut periods, mut throttled) = (0, 0);
    until(&mut groups, |cgroup| {
        let cpu = cgroup.cpu.as_ref().expect("it has a quota");
        periods += cpu.periods;
        throttled += cpu.throttled;
        throttled >= 10
    });
    assert!(throttled <= periods, "{throttled} of {periods} periods");
}

#[test]
fn a_refused_process_is_counted() {
    let Some(mut limited) = LimitedGroup::run("pids", &[("pids.max", "1")], "/bin/true; :") else { return };
    let mut groups = limited.groups();
    let before = groups.read().expect("it waits").expect("it is in a group").tasks.expect("it has a limit");
    assert_eq!((before.used, before.limit, before.refused), (1, 1, Some(0)));
    limited.go();
    let _ = limited.child.wait();
    until(&mut groups, |cgroup| cgroup.tasks.as_ref().is_some_and(|tasks| tasks.refused == Some(1)));
}

#[test]
fn memory_runs_into_its_limit() {
    let settings = [("memory.limit_in_bytes", "16777216")];
    let Some(mut limited) = LimitedGroup::run("memory", &settings, "head -c 60M /dev/zero | tail -c 60M")
    else {
        return;
    };
    let mut groups = limited.groups();
    let before = groups.read().expect("it waits").expect("it is in a group").memory.expect("it has a limit");
    assert_eq!((before.limit_bytes, before.failures, before.kills), (1 << 24, 0, 0));
    limited.go();
    let (mut failures, mut kills) = (0, 0);
    until(&mut groups, |cgroup| {
        let memory = cgroup.memory.as_ref().expect("it has a limit");
        failures += memory.failures;
        kills += memory.kills;
        failures > 0 && kills > 0
    });
}
