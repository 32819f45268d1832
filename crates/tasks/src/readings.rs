//! Every limit on threads and its use, as the kernel reports it at one moment. What cannot be read is none.

use procfs::cgroups::{self, ControllerGroups};
use procfs::{ResourceLimit, field, kib_field, number_field, parse_limit, read_number};
use std::fs;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// `/proc/PID/ns/…` of the initial namespaces (include/linux/proc_ns.h).
const FIRST_PID: &str = "pid:[4026531836]";
const FIRST_USER: &str = "user:[4026531837]";
const FIRST_CGROUP: &str = "cgroup:[4026531835]";
/// Capabilities that lift RLIMIT_NPROC (capabilities(7)): CAP_SYS_ADMIN and CAP_SYS_RESOURCE.
const EXEMPTING_CAPABILITIES: u64 = 1 << 21 | 1 << 24;
/// Once process numbers have wrapped, those below are not used again (RESERVED_PIDS in kernel/pid.c).
pub const RESERVED_PIDS: u64 = 300;
/// Version 1 writes "no limit" as the largest number of pages, in bytes.
const UNLIMITED: u64 = 1 << 62;

/// A control group that limits the number of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskGroup {
    /// Its path within its hierarchy.
    pub name: String,
    pub folder: PathBuf,
    pub max: u64,
    pub used: u64,
    /// Tasks refused, as this group counts them.
    pub refusals: Option<u64>,
}

/// A control group that limits memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryGroup {
    pub name: String,
    pub folder: PathBuf,
    pub unified: bool,
    pub max: u64,
    /// Without what the kernel can reclaim at once: the page cache.
    pub used: u64,
    /// How often the limit was hit.
    pub failures: Option<u64>,
    /// OOM kills.
    pub kills: Option<u64>,
}

/// All readings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimitReadings {
    pub uid: u32,
    /// User name, or else user ID.
    pub user: String,
    /// RLIMIT_NPROC does not apply.
    pub exempt: bool,
    pub nproc: ResourceLimit,
    pub stack: ResourceLimit,
    pub address_space: ResourceLimit,
    pub data: ResourceLimit,
    /// Tasks of all kinds that are visible,
    pub visible_tasks: u64,
    /// of this user,
    pub user_tasks: u64,
    /// and with numbers that can be reused.
    pub pids_in_use: u64,
    /// Tasks of the whole machine, visible or not,
    pub tasks: Option<u64>,
    /// and the last number given in this namespace.
    pub last_pid: Option<u64>,
    pub threads_max: Option<u64>,
    pub pid_max: Option<u64>,
    /// Namespaces that hide what is outside.
    pub own_pid_namespace: bool,
    pub own_user_namespace: bool,
    pub own_cgroup_namespace: bool,
    /// From its own group upwards, those with a limit.
    pub task_groups: Vec<TaskGroup>,
    /// The first group on the way up, limit or not.
    pub group: Option<String>,
    /// Refusals counted by the process's own group, which on version 1 includes those of its ancestors.
    pub own_refusals: Option<u64>,
    pub memory_groups: Vec<MemoryGroup>,
    /// OOM kills counted by its own group, limit or not.
    pub own_group_kills: Option<u64>,
    /// That group's folder, and whether it is of version 2.
    pub own_memory_group: Option<(PathBuf, bool)>,
    pub max_maps: Option<u64>,
    pub maps: Option<u64>,
    /// Size of the user address space.
    pub address_top: Option<u64>,
    pub virtual_size: u64,
    pub data_size: u64,
    pub available: Option<u64>,
    pub total: u64,
    /// Limit and committed memory, where the kernel does not overcommit.
    pub commit: Option<(u64, u64)>,
    /// OOM kills by the kernel since boot.
    pub kills: Option<u64>,
}

impl LimitReadings {
    /// Reads the limits of the process and of all that bounds it. `root` replaces `/` in tests.
    pub fn take(root: &Path, pid: u32) -> Self {
        let file = |path: &str| read_to_string(root.join(path)).unwrap_or_default();
        let own = |name: &str| file(&format!("proc/{pid}/{name}"));
        let is_first = |name: &str, first: &str| {
            let is = fs::read_link(root.join(format!("proc/{pid}/ns/{name}")));
            is.map_or(true, |is| is == Path::new(first))
        };
        let (status, limits, memory) = (own("status"), own("limits"), file("proc/meminfo"));
        let uid = number_field(&status, "Uid").and_then(|uid| u32::try_from(uid).ok()).unwrap_or_default();
        let own_users = !is_first("user", FIRST_USER);
        let capable = hex_field(&status, "CapEff").is_some_and(|all| all & EXEMPTING_CAPABILITIES != 0);
        let (top, maps) = mappings(&own("maps"));
        let load = procfs::parse_loadavg(file("proc/loadavg").as_bytes());
        let (visible_tasks, user_tasks, pids_in_use) = count_tasks(root, uid);
        let membership = cgroups::find(root, pid, &own("cgroup")).unwrap_or_default();
        let own_memory =
            membership.memory.groups.first().map(|group| (group.folder.clone(), membership.memory.unified));
        let limit = |name: &str| parse_limit(&limits, name).unwrap_or_default();
        let sysctl = |name: &str| read_number(root.join("proc/sys").join(name));
        let strict = sysctl("vm/overcommit_memory") == Some(2);
        let commit = kib_field(&memory, "CommitLimit").zip(kib_field(&memory, "Committed_AS"));
        Self {
            uid,
            user: user_name(&file("etc/passwd"), uid),
            exempt: !own_users && (uid == 0 || capable),
            nproc: limit("Max processes"),
            stack: limit("Max stack size"),
            address_space: limit("Max address space"),
            data: limit("Max data size"),
            visible_tasks,
            user_tasks,
            pids_in_use,
            tasks: load.map(|load| load.tasks),
            last_pid: load.map(|load| load.last),
            threads_max: sysctl("kernel/threads-max"),
            pid_max: sysctl("kernel/pid_max"),
            own_pid_namespace: !is_first("pid", FIRST_PID),
            own_user_namespace: own_users,
            own_cgroup_namespace: !is_first("cgroup", FIRST_CGROUP),
            task_groups: read_task_groups(&membership.pids),
            group: membership.pids.groups.first().map(|group| group.name.clone()),
            own_refusals: membership.pids.groups.first().and_then(|group| read_refusal_count(&group.folder)),
            memory_groups: read_memory_groups(&membership.memory),
            own_group_kills: own_memory
                .as_ref()
                .and_then(|(folder, unified)| read_kill_count(folder, *unified)),
            own_memory_group: own_memory,
            max_maps: sysctl("vm/max_map_count"),
            maps,
            address_top: top,
            virtual_size: kib_field(&status, "VmSize").unwrap_or_default(),
            data_size: kib_field(&status, "VmData").unwrap_or_default(),
            available: kib_field(&memory, "MemAvailable"),
            total: kib_field(&memory, "MemTotal").unwrap_or_default(),
            commit: commit.filter(|_| strict),
            kills: number_field(&file("proc/vmstat"), "oom_kill"),
        }
    }
}

/// OOM kills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KillCounts {
    /// On the whole machine,
    pub machine: Option<u64>,
    /// and in the process's own control group.
    pub own_group: Option<u64>,
}

impl LimitReadings {
    /// Kills counted now; works after the process has ended.
    pub fn read_kills(&self) -> KillCounts {
        let here =
            self.own_memory_group.as_ref().and_then(|(folder, unified)| read_kill_count(folder, *unified));
        let machine = read_to_string("/proc/vmstat").ok().and_then(|text| number_field(&text, "oom_kill"));
        KillCounts { machine, own_group: here }
    }

    /// Kills counted when all was read.
    pub fn kills_before(&self) -> KillCounts {
        KillCounts { machine: self.kills, own_group: self.own_group_kills }
    }
}

/// The tasks visible in /proc: all, those of this user, and those with numbers that can be reused.
fn count_tasks(root: &Path, user: u32) -> (u64, u64, u64) {
    let (mut all, mut of_user, mut reusable) = (0, 0, 0);
    for pid in procfs::pids_in(&root.join("proc")) {
        // It may end meanwhile.
        let status = read_to_string(root.join(format!("proc/{pid}/status"))).unwrap_or_default();
        let Some(threads) = number_field(&status, "Threads") else { continue };
        all += threads;
        if number_field(&status, "Uid") == Some(user.into()) {
            of_user += threads;
        }
        // Its further threads have numbers of their own; those below are mostly single-threaded kernel threads.
        reusable += if u64::from(pid) < RESERVED_PIDS { threads.saturating_sub(1) } else { threads };
    }
    (all, of_user, reusable)
}

fn hex_field(text: &str, name: &str) -> Option<u64> {
    u64::from_str_radix(field(text, name)?, 16).ok()
}

/// Address space size and number of mappings (proc_pid_maps(5)). The stack is near the top of the address space.
fn mappings(maps: &str) -> (Option<u64>, Option<u64>) {
    let (mut top, mut count) = (0, 0);
    for line in maps.lines().filter(|line| !line.ends_with("[vsyscall]")) {
        count += 1;
        let end = line.split_once('-').and_then(|(_, rest)| rest.split_once(' '));
        let end = end.and_then(|(end, _)| u64::from_str_radix(end, 16).ok()).unwrap_or_default();
        top = top.max(end);
    }
    let known = count > 0;
    (top.checked_next_power_of_two().filter(|_| known), known.then_some(count))
}

/// The user's name in a passwd(5) file.
fn user_name(passwd: &str, uid: u32) -> String {
    let mut users = passwd.lines().filter_map(|line| {
        let mut parts = line.split(':');
        Some((parts.next()?, parts.nth(1)?.parse::<u32>().ok()?))
    });
    users.find(|(_, number)| *number == uid).map_or_else(|| uid.to_string(), |(name, _)| name.to_owned())
}

fn read_refusal_count(folder: &Path) -> Option<u64> {
    number_field(&read_to_string(folder.join("pids.events")).ok()?, "max")
}

fn read_task_groups(controller: &ControllerGroups) -> Vec<TaskGroup> {
    let limited = controller.groups.iter().filter_map(|group| {
        Some(TaskGroup {
            name: group.name.clone(),
            folder: group.folder.clone(),
            max: read_number(group.folder.join("pids.max"))?,
            used: read_number(group.folder.join("pids.current"))?,
            refusals: read_refusal_count(&group.folder),
        })
    });
    limited.collect()
}

/// OOM kills of the group: its own, on version 1, or those below it too.
fn read_kill_count(folder: &Path, unified: bool) -> Option<u64> {
    let events = folder.join(if unified { "memory.events" } else { "memory.oom_control" });
    number_field(&read_to_string(events).ok()?, "oom_kill")
}

impl MemoryGroup {
    fn read(name: &str, folder: &Path, unified: bool) -> Option<Self> {
        let at = |file: &str| folder.join(file);
        let text = |file: &str| read_to_string(at(file)).unwrap_or_default();
        let (max, used, prefix) = match unified {
            true => ("memory.max", "memory.current", ""),
            false => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
        };
        let stat = text("memory.stat");
        let cache = |kind: &str| number_field(&stat, &format!("{prefix}{kind}_file")).unwrap_or_default();
        let used = read_number(at(used))?.saturating_sub(cache("inactive") + cache("active"));
        Some(Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            unified,
            max: read_number(at(max)).filter(|max| *max < UNLIMITED)?,
            used,
            failures: if unified {
                number_field(&text("memory.events"), "max")
            } else {
                read_number(at("memory.failcnt"))
            },
            kills: read_kill_count(folder, unified),
        })
    }

    /// Reads it again; works after the process has ended.
    pub fn reread(&self) -> Option<Self> {
        Self::read(&self.name, &self.folder, self.unified)
    }
}

fn read_memory_groups(controller: &ControllerGroups) -> Vec<MemoryGroup> {
    controller
        .groups
        .iter()
        .filter_map(|group| MemoryGroup::read(&group.name, &group.folder, controller.unified))
        .collect()
}

#[cfg(test)]
mod tests;
