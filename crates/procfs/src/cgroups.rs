//! Finds the control groups of a process: /proc/PID/cgroup says which, mountinfo where they can be read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A group and its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFolder {
    /// Its path within its hierarchy: `/system.slice/shop.service`.
    pub name: String,
    /// Where its files are.
    pub folder: PathBuf,
}

/// A process's groups for one controller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControllerGroups {
    /// The hierarchy is of version 2.
    pub unified: bool,
    /// Its own group first, then each visible group above it.
    pub groups: Vec<GroupFolder>,
}

/// A process's groups: a host may use version 1 for some controllers and 2 for others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupPaths {
    /// For processor time.
    pub cpu: ControllerGroups,
    /// For memory.
    pub memory: ControllerGroups,
    /// For the number of tasks.
    pub pids: ControllerGroups,
    /// The hierarchy of version 2, for pressure.
    pub unified: ControllerGroups,
}

/// A process's group in one hierarchy, a line of /proc/PID/cgroup.
pub struct CgroupEntry<'a> {
    /// `None`: version 2.
    controllers: Option<&'a str>,
    path: &'a str,
}

/// A mounted hierarchy.
#[derive(Debug)]
pub struct CgroupMount {
    /// The group at the top of the mount.
    top: String,
    /// The folder of `top`.
    pub folder: PathBuf,
    /// `None`: version 2.
    controllers: Option<String>,
}

impl CgroupMount {
    /// Whether this is the controller's version 1 hierarchy, or (`None`) that of version 2.
    pub fn is_of(&self, controller: Option<&str>) -> bool {
        has(self.controllers.as_deref(), controller)
    }

    /// The folder of the group that this /proc/PID/cgroup names for a controller, as in [`CgroupMount::is_of`].
    /// The top one if that is not visible from here, as in a container that sees only a part.
    pub fn folder_of(&self, cgroup: &str, controller: Option<&str>) -> PathBuf {
        let mut entries =
            cgroup.lines().filter_map(parse_entry).filter(|one| has(one.controllers, controller));
        let group = entries.next().and_then(|one| Some(self.folder.join(path_below(one.path, &self.top)?)));
        group.filter(|group| group.is_dir()).unwrap_or_else(|| self.folder.clone())
    }
}

/// Whether `controllers` has `wanted`; version 2 has no controllers, and matches only none.
fn has(controllers: Option<&str>, wanted: Option<&str>) -> bool {
    match (controllers, wanted) {
        (Some(list), Some(name)) => list.split(',').any(|one| one == name),
        (None, None) => true,
        _ => false,
    }
}

/// Finds a process's groups.
///
/// # Errors
/// If it has ended.
pub fn read(pid: u32) -> io::Result<GroupPaths> {
    find(Path::new("/"), pid, &fs::read_to_string(format!("/proc/{pid}/cgroup"))?)
}

/// Finds a process's groups, given its /proc/PID/cgroup. All paths are below `root`: `/`, except in tests.
///
/// # Errors
/// If it has ended.
pub fn find(root: &Path, pid: u32, cgroup: &str) -> io::Result<GroupPaths> {
    let own_mounts = parse_mounts(&fs::read_to_string(root.join("proc/self/mountinfo"))?, root);
    let entries: Vec<CgroupEntry<'_>> = cgroup.lines().filter_map(parse_entry).collect();
    let mut paths = group_paths(&own_mounts, &entries);
    let complete = |line: &ControllerGroups| !line.groups.is_empty();
    if [&paths.cpu, &paths.memory, &paths.pids].into_iter().all(complete) {
        return Ok(paths);
    }
    // In a container, what is not mounted here may be mounted where the process is.
    let its_root = root.join(format!("proc/{pid}/root"));
    if let Ok(text) = fs::read_to_string(root.join(format!("proc/{pid}/mountinfo"))) {
        let process_paths = group_paths(&parse_mounts(&text, &its_root), &entries);
        for (line, other) in [
            (&mut paths.cpu, process_paths.cpu),
            (&mut paths.memory, process_paths.memory),
            (&mut paths.pids, process_paths.pids),
            (&mut paths.unified, process_paths.unified),
        ] {
            if line.groups.is_empty() {
                *line = other;
            }
        }
    }
    Ok(paths)
}

fn group_paths(mounts: &[CgroupMount], entries: &[CgroupEntry<'_>]) -> GroupPaths {
    GroupPaths {
        cpu: controller_groups(mounts, entries, Some("cpu")),
        memory: controller_groups(mounts, entries, Some("memory")),
        pids: controller_groups(mounts, entries, Some("pids")),
        unified: controller_groups(mounts, entries, None),
    }
}

/// A controller's groups: by version 1 if it is there, else by 2.
fn controller_groups(
    mounts: &[CgroupMount],
    entries: &[CgroupEntry<'_>],
    controller: Option<&str>,
) -> ControllerGroups {
    let Some(entry) = entries.iter().find(|member| has(member.controllers, controller)) else {
        return if controller.is_some() {
            controller_groups(mounts, entries, None)
        } else {
            ControllerGroups::default()
        };
    };
    // Of several mounts, the one that shows most of what is above the process.
    let best = mounts
        .iter()
        .filter(|mount| mount.is_of(controller))
        .filter_map(|mount| Some((mount, path_below(entry.path, &mount.top)?)))
        .max_by_key(|(_, below)| below.len());
    let Some((mount, below)) = best else {
        return ControllerGroups { unified: entry.controllers.is_none(), groups: Vec::new() };
    };
    let mut groups = Vec::new();
    let mut path = Path::new(below);
    loop {
        let folder = mount.folder.join(path);
        if folder.is_dir() {
            let name = Path::new(&mount.top).join(path);
            let name = name.to_string_lossy();
            let name = if name == "/" { "/" } else { name.trim_end_matches('/') };
            groups.push(GroupFolder { name: name.to_owned(), folder });
        }
        match path.parent() {
            Some(parent) => path = parent,
            None => break,
        }
    }
    ControllerGroups { unified: entry.controllers.is_none(), groups }
}

/// The part of a group's path below the top of a mount; `None` if it is elsewhere.
fn path_below<'a>(path: &'a str, top: &str) -> Option<&'a str> {
    let rest = if top == "/" { path } else { path.strip_prefix(top)? };
    // `/../other`: outside of what this namespace shows.
    let inside = rest.is_empty() || rest.starts_with('/');
    (inside && !rest.contains("/..")).then(|| rest.trim_matches('/'))
}

/// Parses a line of /proc/PID/cgroup.
pub fn parse_entry(line: &str) -> Option<CgroupEntry<'_>> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    // A group may have been removed while a process is still in it.
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    Some(CgroupEntry { controllers: (!controllers.is_empty()).then_some(controllers), path })
}

/// The hierarchies in a mountinfo(5), with their folders below `root`.
pub fn parse_mounts(text: &str, root: &Path) -> Vec<CgroupMount> {
    let mount = |line: &str| {
        let (mount_fields, fs_fields) = line.split_once(" - ")?;
        let mut mount_fields = mount_fields.split(' ').skip(3);
        let (top, point) = (unescape(mount_fields.next()?), unescape(mount_fields.next()?));
        let mut fs_fields = fs_fields.split(' ');
        let controllers = match fs_fields.next()? {
            "cgroup2" => None,
            "cgroup" => Some(fs_fields.nth(1)?.to_owned()),
            _ => return None,
        };
        Some(CgroupMount { top, folder: root.join(point.trim_start_matches('/')), controllers })
    };
    text.lines().filter_map(mount).collect()
}

/// Blanks and the like are escaped in octal: `\040`.
fn unescape(text: &str) -> String {
    let (tab, newline) = ("\t", "\n");
    text.replace("\\040", " ").replace("\\011", tab).replace("\\012", newline).replace("\\134", "\\")
}
