//! Limits, as the kernel reports them.

use crate::scene::{Fixture, alone, guard, left_groups, never_stop, read, wait_until};
use plan::ResourceLimits;
use service::{Error, Guard};
use std::fs;
use std::path::PathBuf;
use testbed::NamedTest;
use units::Bytes;

pub const CHECKS: &[NamedTest] = &[
    ("limits::by_control_group", by_control_group),
    ("limits::by_affinity", by_affinity),
    ("limits::more_processes_than_allowed", more_processes_than_allowed),
    ("limits::groups_and_folders_for_torment_itself", groups_and_folders_for_torment_itself),
];

/// Whether groups can be made here; prints a message if not.
fn permitted(setup: &plan::Setup) -> bool {
    match Guard::check(setup) {
        Err(why @ Error::Limits { .. }) => {
            eprintln!("SKIPPED: {why}");
            false
        }
        other => {
            other.expect("only limits may be refused");
            true
        }
    }
}

/// The process's group that has this file.
fn group_with(pid: u32, file: &str) -> Option<PathBuf> {
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        let inside = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        if folder.join(file).exists() && inside.lines().any(|line| line == pid.to_string()) {
            return Some(folder);
        }
        let inner = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(inner.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()));
    }
    None
}

/// The content of this file of the process's group.
fn group_value(pid: u32, file: &str) -> Option<String> {
    Some(read(group_with(pid, file)?.join(file)).trim().to_owned())
}

fn by_control_group() {
    let fixture = Fixture::new();
    let mut service = fixture.script("service", "sleep 600 & echo ready; wait");
    service.limits =
        ResourceLimits { cpus: Some(0.5), memory: Some(Bytes(64 << 20)), pids: Some(50), cores: Vec::new() };
    let setup = alone(service);
    if !permitted(&setup) {
        return;
    }
    let mut guard = guard();
    guard.up(&setup, &never_stop).expect("it starts");
    // A process in the middle of exec has no environment to be recognised by.
    wait_until("both can be seen", || fixture.marked_processes().len() >= 2);
    let all = fixture.marked_processes();
    for pid in all {
        let quota = group_value(pid, "cpu.max").or_else(|| {
            Some(format!(
                "{} {}",
                group_value(pid, "cpu.cfs_quota_us")?,
                group_value(pid, "cpu.cfs_period_us")?
            ))
        });
        assert_eq!(quota.as_deref(), Some("50000 100000"));
        let memory = group_value(pid, "memory.max").or_else(|| group_value(pid, "memory.limit_in_bytes"));
        assert_eq!(memory, Some((64 << 20).to_string()));
        assert_eq!(group_value(pid, "pids.max").as_deref(), Some("50"));
    }
    let group = group_with(guard.pids()[0].1, "pids.max").expect("it is in one");
    guard.down();
    assert!(!group.exists(), "{}", group.display());
    fixture.assert_empty();
    drop(guard);
    assert_eq!(left_groups(), Vec::<PathBuf>::new());
}

fn by_affinity() {
    let fixture = Fixture::new();
    let allowed = read("/proc/self/status");
    let allowed =
        allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("it is said");
    let last: u32 = allowed.trim().rsplit([',', '-']).next().and_then(|n| n.parse().ok()).expect("a number");
    let mut service = fixture.script("service", "sleep 600 & echo ready; wait");
    service.limits.cores = vec![last];
    let mut guard = guard();
    guard.up(&alone(service.clone()), &never_stop).expect("it starts");
    for pid in fixture.marked_processes() {
        let status = read(format!("/proc/{pid}/status"));
        assert!(status.contains(&format!("Cpus_allowed_list:\t{last}\n")), "{status}");
    }
    guard.down();
    service.limits.cores = vec![1000];
    let error = Guard::check(&alone(service.clone())).expect_err("there are fewer");
    assert!(matches!(error, Error::Limits { .. }) && error.to_string().contains("processor 1000"), "{error}");
    let error = guard.up(&alone(service), &never_stop).expect_err("there are fewer");
    assert!(matches!(error, Error::Limits { .. }), "{error:?}");
}

fn more_processes_than_allowed() {
    let fixture = Fixture::new();
    let script = "for i in 1 2 3 4 5 6 7 8; do sleep 600 & done; echo ready; wait";
    let mut service = fixture.script("service", script);
    service.limits.pids = Some(4);
    let setup = alone(service);
    if !permitted(&setup) {
        return;
    }
    let error =
        guard().up(&setup, &never_stop).expect_err("a shell gives up when it cannot fork").to_string();
    assert!(error.to_lowercase().contains("fork"), "{error}");
    fixture.assert_empty();
}

fn groups_and_folders_for_torment_itself() {
    let limits =
        ResourceLimits { memory: Some(Bytes(64 << 20)), pids: Some(50), ..ResourceLimits::default() };
    let mut guard = guard();
    let folder = guard.temporary_folder(None).expect("the temporary folder is writable");
    fs::write(folder.join("file"), "x").expect("it is ours");
    let within = tempfile::tempdir().expect("the temporary folder is writable");
    let inner = guard.temporary_folder(Some(within.path().to_owned())).expect("it is ours");
    assert!(inner.starts_with(within.path()));
    let error = guard.temporary_folder(Some("/nonsense".into())).expect_err("nothing is there").to_string();
    assert!(error.contains("'/nonsense'"), "{error}");
    assert!(guard.make_group(&ResourceLimits::default()).expect("nothing is asked").is_empty());
    let groups = match guard.make_group(&limits) {
        Err(why @ Error::Limits { .. }) => {
            eprintln!("SKIPPED: {why}");
            Vec::new()
        }
        other => other.expect("only limits may be refused"),
    };
    // Processes in them end with them.
    let mut sleeper = std::process::Command::new("sleep").arg("600").spawn().expect("every Linux has it");
    for group in &groups {
        fs::write(group, sleeper.id().to_string()).expect("it is ours");
        let file = |name: &str| group.with_file_name(name);
        let set = [("pids.max", "50"), ("memory.limit_in_bytes", "67108864"), ("memory.max", "67108864")];
        let set: Vec<_> = set.iter().filter(|(name, _)| file(name).exists()).collect();
        assert!(!set.is_empty());
        set.iter().for_each(|(name, value)| assert_eq!(read(file(name)).trim(), *value));
    }
    guard.down();
    if groups.is_empty() {
        sleeper.kill().expect("ours");
    }
    assert!(!sleeper.wait().expect("ours").success());
    assert!(groups.iter().all(|group| !group.exists()));
    assert_eq!(left_groups(), Vec::<PathBuf>::new());
    assert!(!folder.exists() && !inner.exists());
    assert!(guard.temporary_folder(None).expect("it goes on").exists());
}
