//! A control group for the duration of a case, below our own: version 1 or 2, whichever has the controller.

use crate::CaseError;
use crate::case::ServiceLimits;
use std::fs;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The kernel takes a moment to forget ended processes.
const REMOVE_PATIENCE: Duration = Duration::from_secs(3);
/// Name prefix; the creating process and a number follow.
const NAME_PREFIX: &str = "torment-faults-";
/// Quota period in µs: the kernel's default.
const PERIOD_US: u64 = 100_000;

/// The group; it is removed when dropped, after the processes in it have ended.
pub(crate) struct CaseGroup {
    folders: Vec<PathBuf>,
}

/// Files of a group, and what is written to each.
type FileValues<'a> = &'a [(&'a str, String)];

impl CaseGroup {
    pub(crate) fn make(limits: &ServiceLimits) -> Result<Self, CaseError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("{NAME_PREFIX}{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let mut this = Self { folders: Vec::new() };
        if let Some(cpus) = limits.cpus {
            let quota = (cpus * PERIOD_US as f64) as u64;
            let v1 = [("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota.to_string())];
            this.limit("cpu", &name, &v1, &[("cpu.max", format!("{quota} {PERIOD_US}"))])?;
        }
        if let Some(mib) = limits.memory_mib {
            let bytes = (mib << 20).to_string();
            let v1 = [("memory.limit_in_bytes", bytes.clone())];
            let folder = this.limit("memory", &name, &v1, &[("memory.max", bytes)])?;
            // The file is missing where nothing can be swapped, and in version 1.
            let _ = fs::write(folder.join("memory.swap.max"), "0");
        }
        if let Some(tasks) = limits.tasks {
            let files = [("pids.max", tasks.to_string())];
            this.limit("pids", &name, &files, &files)?;
        }
        let rates =
            [("read_iops_device", "riops", limits.reads), ("write_iops_device", "wiops", limits.writes)];
        for (file, word, rate) in rates {
            let Some(rate) = rate else { continue };
            let disk = disk_of(&std::env::temp_dir())?;
            let v1_file = format!("blkio.throttle.{file}");
            let v1 = [(v1_file.as_str(), format!("{disk} {rate}"))];
            this.limit("blkio", &name, &v1, &[("io.max", format!("{disk} {word}={rate}"))])?;
        }
        Ok(this)
    }

    /// Adds a process with all its threads and later children.
    pub(crate) fn add(&self, pid: u32) -> Result<(), CaseError> {
        self.folders.iter().try_for_each(|folder| set(folder, "cgroup.procs", pid))
    }

    /// Sets what a controller (version 1 name) limits, by its files of either version. Returns the group's folder
    /// for it, which is created on demand.
    fn limit(
        &mut self,
        controller: &str,
        name: &str,
        v1: FileValues<'_>,
        v2: FileValues<'_>,
    ) -> Result<PathBuf, CaseError> {
        let (version, parent) = parent(controller)
            .ok_or_else(|| CaseError::Skip(format!("no control group here limits '{controller}'")))?;
        let folder = parent.join(name);
        if !self.folders.contains(&folder) {
            remove_stale_groups(&parent);
            fs::create_dir(&folder).map_err(|e| {
                CaseError::Skip(format!(
                    "a control group cannot be made in {}: {e}; be root",
                    parent.display()
                ))
            })?;
            self.folders.push(folder.clone());
        }
        let values = if version == 1 { v1 } else { v2 };
        values.iter().try_for_each(|(file, value)| set(&folder, file, value))?;
        Ok(folder)
    }
}

impl Drop for CaseGroup {
    fn drop(&mut self) {
        let until = Instant::now() + REMOVE_PATIENCE;
        for folder in &self.folders {
            while folder.is_dir() && fs::remove_dir(folder).is_err() && Instant::now() < until {
                sleep(Duration::from_millis(10));
            }
        }
    }
}

/// Removes groups of killed processes: nobody else would.
fn remove_stale_groups(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(NAME_PREFIX)?.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Fails for groups with processes.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn set(folder: &Path, file: &str, value: impl ToString) -> Result<(), CaseError> {
    let value = value.to_string();
    fs::write(folder.join(file), &value)
        .map_err(|e| CaseError::Skip(format!("{} does not take '{value}': {e}", folder.join(file).display())))
}

/// Version and folder of the parent for a new group: our own, where it can have children.
fn parent(controller: &str) -> Option<(u32, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own_groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = procfs::cgroups::parse_mounts(&mounts, Path::new("/"));
    if let Some(mount) = mounts.iter().find(|mount| mount.is_of(Some(controller))) {
        return Some((1, mount.folder_of(&own_groups, Some(controller))));
    }
    let name = if controller == "blkio" { "io" } else { controller };
    let root = mounts.into_iter().find(|mount| mount.is_of(None))?.folder;
    let known = fs::read_to_string(root.join("cgroup.controllers")).ok()?;
    if !known.split_whitespace().any(|known| known == name) {
        return None;
    }
    // A group with processes cannot have children with controllers, except the root. If refused, the files
    // are missing, which is reported when they are written.
    let _ = fs::write(root.join("cgroup.subtree_control"), format!("+{name}"));
    Some((2, root))
}

/// `major:minor` of the whole disk that holds a folder: only whole disks can be throttled.
fn disk_of(folder: &Path) -> Result<String, CaseError> {
    let device = fs::metadata(folder).map_err(CaseError::fail(folder.display().to_string()))?.st_dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let block = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    if !block.is_dir() {
        return Err(CaseError::Skip(format!("{} is not on a disk", folder.display())));
    }
    // A partition's folder is inside that of its disk.
    let parent = fs::read_to_string(block.join("../dev")).ok().filter(|_| block.join("partition").is_file());
    Ok(parent.map_or_else(|| format!("{major}:{minor}"), |disk| disk.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_group_holds_and_is_removed() {
        let limits = ServiceLimits {
            cpus: Some(0.5),
            memory_mib: Some(64),
            tasks: Some(10),
            ..ServiceLimits::default()
        };
        let group = match CaseGroup::make(&limits) {
            Ok(group) => group,
            Err(why) => return eprintln!("SKIPPED: {why:?}"),
        };
        let mut child = Command::new("sleep").arg("60").spawn().expect("every system has it");
        group.add(child.id()).expect("it is ours");
        let folders = group.folders.clone();
        for folder in &folders {
            let inside = fs::read_to_string(folder.join("cgroup.procs")).expect("it is there");
            assert_eq!(inside.trim(), child.id().to_string(), "{}", folder.display());
        }
        child.kill().and_then(|()| child.wait()).expect("it is our child");
        drop(group);
        assert!(folders.iter().all(|folder| !folder.exists()), "{folders:?}");
    }

    #[test]
    fn what_a_dead_process_left_goes() {
        let place = tempfile::tempdir().expect("the temporary folder is writable");
        // Above every process number of Linux: proc_sys_kernel(5).
        let names = [
            format!("{NAME_PREFIX}4194305-0"),
            format!("{NAME_PREFIX}{}-0", std::process::id()),
            "torment-1-0".into(),
        ];
        let [dead, ours, other] = names.map(|name| place.path().join(name));
        [&dead, &ours, &other].iter().try_for_each(fs::create_dir).expect("ours");
        remove_stale_groups(place.path());
        assert!(!dead.exists() && ours.exists() && other.exists());
    }
}
