//! Control groups for limits: version 1 (a hierarchy for each controller) and version 2 (one for all), see cgroups(7)
//! and the kernel's cgroup-v2.rst. Where both are mounted, each controller is used where it is.

use crate::process_tree;
use plan::ResourceLimits;
use procfs::cgroups::{CgroupMount, parse_mounts};
use rustix::process::Signal;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use units::Bytes;

/// Period of the processor quota, in µs: the kernel's default.
const PERIOD_US: f64 = 100_000.0;
/// The kernel's minimum quota per period, in µs.
const MIN_QUOTA_US: f64 = 1000.0;
/// Maximum wait until a group whose processes are killed is empty.
const EMPTY_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two attempts to remove a group.
const PAUSE: Duration = Duration::from_millis(5);

/// Where groups can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupParent {
    /// The group that contains them.
    folder: PathBuf,
    /// Whether it is version 2.
    unified: bool,
    controllers: Vec<&'static str>,
}

fn needed(limits: &ResourceLimits) -> Vec<&'static str> {
    let controllers = [
        (limits.cpus.is_some(), "cpu"),
        (limits.memory.is_some(), "memory"),
        (limits.pids.is_some(), "pids"),
    ];
    controllers.into_iter().filter(|(limited, _)| *limited).map(|(_, controller)| controller).collect()
}

/// Where this process may make groups for these limits.
///
/// Fails with what is missing, and what would help.
pub fn group_parents(limits: &ResourceLimits) -> Result<Vec<GroupParent>, String> {
    group_parents_in(Path::new("/"), "self", limits)
}

/// Checks that a process may make groups for all limits that a plan can set. All paths are below `root`, which is `/`
/// except in tests.
///
/// # Errors
/// What is missing, and what would help.
pub fn check_may_limit(root: &Path, pid: u32) -> Result<(), String> {
    let all = ResourceLimits {
        cpus: Some(1.0),
        memory: Some(Bytes(1 << 30)),
        pids: Some(100),
        ..ResourceLimits::default()
    };
    group_parents_in(root, &pid.to_string(), &all).map(|_| ())
}

fn group_parents_in(root: &Path, process: &str, limits: &ResourceLimits) -> Result<Vec<GroupParent>, String> {
    let read = |name: &str| {
        let file = root.join(format!("proc/{process}/{name}"));
        fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))
    };
    parse_parents(root, &read("mountinfo")?, &read("cgroup")?, limits)
}

/// From what proc_pid_mountinfo(5) and cgroups(7) describe.
fn parse_parents(
    root: &Path,
    mountinfo: &str,
    own: &str,
    limits: &ResourceLimits,
) -> Result<Vec<GroupParent>, String> {
    let mut parents: Vec<GroupParent> = Vec::new();
    let mounts = parse_mounts(mountinfo, root);
    let mut unified = Vec::new();
    for controller in needed(limits) {
        let Some(mount) = mounts.iter().find(|mount| mount.is_of(Some(controller))) else {
            unified.push(controller);
            continue;
        };
        let parent = parent_v1(mount.folder_of(own, Some(controller)), controller)?;
        match parents.iter_mut().find(|other| other.folder == parent.folder) {
            Some(other) => other.controllers.push(controller),
            None => parents.push(parent),
        }
    }
    if !unified.is_empty() {
        let mount = mounts.iter().find(|mount| mount.is_of(None)).ok_or_else(|| {
            format!(
                "no control groups with '{}' are mounted: see `mount -t cgroup,cgroup2`",
                unified.join(", ")
            )
        })?;
        parents.push(parent_v2(mount, own, unified)?);
    }
    Ok(parents)
}

/// Version 1: below the group that this process is in, so that its own limits apply as well.
fn parent_v1(group: PathBuf, controller: &'static str) -> Result<GroupParent, String> {
    check_writable(&group).map_err(|why| {
        format!("a control group with '{controller}' cannot be made in {}: {why}; run torment as root, or leave the limit out", group.display())
    })?;
    Ok(GroupParent { folder: group, unified: false, controllers: vec![controller] })
}

/// Version 2: in the nearest group, from its own upwards, that delegates all these controllers, since a process is in
/// one group only. A group with processes of its own, such as torment's, cannot delegate (the no internal processes
/// rule).
fn parent_v2(mount: &CgroupMount, own: &str, controllers: Vec<&'static str>) -> Result<GroupParent, String> {
    let own = mount.folder_of(own, None);
    let mut refused = None;
    for group in own.ancestors().take_while(|group| group.starts_with(&mount.folder)) {
        let delegated = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
        if !controllers.iter().all(|asked| delegated.split_ascii_whitespace().any(|one| one == *asked)) {
            continue;
        }
        // Moving a process requires write permission there too.
        let movable = || rustix::fs::access(group.join("cgroup.procs"), rustix::fs::Access::WRITE_OK);
        match check_writable(group).and_then(|()| Ok(movable()?)) {
            Ok(()) => return Ok(GroupParent { folder: group.to_owned(), unified: true, controllers }),
            Err(why) => refused = refused.or(Some((group.to_owned(), why))),
        }
    }
    let names = controllers.join(", ");
    let help =
        "run torment as root, or in a group of yours: systemd-run --user --scope -p Delegate=yes torment …";
    Err(match refused {
        Some((group, why)) => {
            format!("a control group with '{names}' cannot be made in {}: {why}; {help}", group.display())
        }
        None => format!(
            "no group from {} upwards gives '{names}' on in its cgroup.subtree_control; {help}",
            own.display()
        ),
    })
}

fn check_writable(folder: &Path) -> io::Result<()> {
    use rustix::fs::Access;
    Ok(rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

impl GroupParent {
    /// The folder of a new group.
    pub fn group(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes that group, and sets the limits that its controllers enforce. Returns its open `cgroup.procs`.
    pub fn make(&self, name: &str, limits: &ResourceLimits) -> Result<OwnedFd, String> {
        let group = self.group(name);
        fs::create_dir(&group).map_err(|e| format!("{}: {e}", group.display()))?;
        for controller in &self.controllers {
            for (file, value, must) in self.values(controller, limits) {
                let path = group.join(file);
                // Without swap accounting there is nothing to limit.
                if !must && !path.exists() {
                    continue;
                }
                fs::write(&path, &value)
                    .map_err(|e| format!("{}: {value} is refused: {e}", path.display()))?;
            }
        }
        let procs = group.join("cgroup.procs");
        let open = fs::OpenOptions::new().write(true).open(&procs);
        open.map(OwnedFd::from).map_err(|e| format!("{}: {e}", procs.display()))
    }

    /// Files, the values to write to them, and whether each file must exist.
    fn values(&self, controller: &str, limits: &ResourceLimits) -> Vec<(&'static str, String, bool)> {
        let quota = |cpus: f64| (cpus * PERIOD_US).max(MIN_QUOTA_US).round();
        let memory = limits.memory.map(|bytes| bytes.0.to_string()).unwrap_or_default();
        match (controller, limits.cpus, limits.pids) {
            ("cpu", Some(cpus), _) if self.unified => {
                vec![("cpu.max", format!("{} {PERIOD_US}", quota(cpus)), true)]
            }
            ("cpu", Some(cpus), _) => vec![
                ("cpu.cfs_period_us", PERIOD_US.to_string(), true),
                ("cpu.cfs_quota_us", quota(cpus).to_string(), true),
            ],
            ("memory", ..) if self.unified => {
                vec![("memory.max", memory, true), ("memory.swap.max", "0".to_owned(), false)]
            }
            // In version 1, the second is memory plus swap, and may not be below the first.
            ("memory", ..) => vec![
                ("memory.limit_in_bytes", memory.clone(), true),
                ("memory.memsw.limit_in_bytes", memory, false),
            ],
            ("pids", _, Some(pids)) => vec![("pids.max", pids.to_string(), true)],
            _ => Vec::new(),
        }
    }
}

/// Kills everything in the group and its nested groups.
pub fn kill(group: &Path) {
    for folder in nested_groups(group) {
        if folder.join("cgroup.kill").exists() && fs::write(folder.join("cgroup.kill"), "1").is_ok() {
            continue;
        }
        let processes = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        processes.lines().filter_map(|pid| pid.parse().ok()).for_each(|pid: u32| {
            // 0 stands for a process that is invisible from here.
            if pid != 0 {
                process_tree::send(pid, Signal::KILL);
            }
        });
    }
}

/// Kills everything in the group, and removes it.
pub fn remove(group: &Path) -> io::Result<()> {
    let until = Instant::now() + EMPTY_TIMEOUT;
    loop {
        kill(group);
        let removed = nested_groups(group).iter().rev().try_for_each(fs::remove_dir);
        match removed {
            Err(e) if e.kind() == io::ErrorKind::NotFound && !group.exists() => return Ok(()),
            // The killed processes have not all ended yet.
            Err(_) if Instant::now() < until => sleep(PAUSE),
            other => return other,
        }
    }
}

/// The group and all nested ones, the inner before the outer.
fn nested_groups(group: &Path) -> Vec<PathBuf> {
    let mut all = vec![group.to_owned()];
    let mut next = 0;
    while let Some(folder) = all.get(next) {
        let inner = fs::read_dir(folder).into_iter().flatten().flatten();
        let inner: Vec<PathBuf> =
            inner.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()).collect();
        all.extend(inner);
        next += 1;
    }
    all
}

#[cfg(test)]
mod tests;
