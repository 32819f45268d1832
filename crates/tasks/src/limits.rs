//! How many more threads each limit allows, from the readings. Pure.

use crate::ThreadsWanted;
use crate::advice;
use crate::readings::{LimitReadings, MemoryGroup, RESERVED_PIDS, TaskGroup};
use record::{SystemLimit, SystemLimitUnit};

/// Memory of a waiting thread, as measured on Linux 6.18: two pages of stack, one of page tables, 16 KiB of
/// kernel stack, and some 7 KiB of kernel structures. `torment probe memory` measures it.
const THREAD_MEMORY: u64 = 35 << 10;
/// The same without a stack: the kernel's part.
const RAW_THREAD_MEMORY: u64 = 23 << 10;
/// Mappings of a thread: its stack, and the guard page below it.
const MAPS: u64 = 2;
/// glibc's stack without RLIMIT_STACK (ARCH_STACK_DEFAULT_SIZE).
const STACK: u64 = 2 << 20;
/// The guard page; with larger pages it is larger, and as negligible.
const GUARD_SIZE: u64 = 4 << 10;
/// Limits this close behind the first bind with it: raising one alone gains nothing. So close to the one that was hit,
/// they would have been next.
pub const CLOSE_SHARE: f64 = 0.05;

/// What one more thread takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadCost {
    /// Stack; none for raw threads.
    pub stack: u64,
    pub memory: u64,
}

impl ThreadCost {
    pub fn of(readings: &LimitReadings, threads_wanted: &ThreadsWanted) -> Self {
        if threads_wanted.raw {
            return Self { stack: 0, memory: RAW_THREAD_MEMORY };
        }
        let usual = readings.stack.soft.unwrap_or(STACK);
        let stack = threads_wanted.stack.map_or(usual, |stack| stack.0);
        Self { stack, memory: THREAD_MEMORY + threads_wanted.touch.0 }
    }
}

/// What kind of limit it is, which tells how to distinguish it from others; ordered by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// EAGAIN from clone(2).
    Task,
    /// ENOMEM from mmap(2) or mprotect(2).
    Space,
    /// The kernel kills.
    Memory,
}

/// A limit with its room, and its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassifiedLimit {
    pub kind: LimitKind,
    pub limit: SystemLimit,
}

/// All limits, the binding one first, marked as binding with others where it does.
pub fn limits(readings: &LimitReadings, threads_wanted: &ThreadsWanted) -> Vec<SystemLimit> {
    let mut limits: Vec<SystemLimit> =
        classified_limits(readings, threads_wanted).into_iter().map(|known| known.limit).collect();
    let close = close_to_first(&limits);
    if let (Some(first), false) = (limits.first_mut(), close.is_empty()) {
        let text = format!(
            "binds together with {} (within 5 %): raising one alone gains nothing",
            close.join(" and ")
        );
        first.note = Some(first.note.take().map_or(text.clone(), |note| format!("{note}; {text}")));
    }
    limits
}

/// Names of those within 5 % of the first.
pub fn close_to_first(limits: &[SystemLimit]) -> Vec<String> {
    let Some(first) = limits.first().and_then(|room| room.threads) else { return Vec::new() };
    let near = |threads: u64| threads as f64 <= first as f64 * (1.0 + CLOSE_SHARE);
    let others = limits.iter().skip(1).filter(|room| room.threads.is_some_and(near));
    others.map(|room| room.name.clone()).collect()
}

/// Ordered by the threads they allow; those that allow any number last.
pub fn classified_limits(readings: &LimitReadings, threads_wanted: &ThreadsWanted) -> Vec<ClassifiedLimit> {
    let cost = ThreadCost::of(readings, threads_wanted);
    let mut all = Vec::new();
    let mut add = |kind, limit| all.push(ClassifiedLimit { kind, limit });
    add(LimitKind::Task, nproc(readings, threads_wanted));
    add(LimitKind::Task, threads_max(readings, threads_wanted));
    add(LimitKind::Task, pid_max(readings, threads_wanted));
    add(LimitKind::Memory, available(readings, &cost));
    for (at, group) in readings.task_groups.iter().enumerate() {
        add(LimitKind::Task, pids(readings, at, group, threads_wanted));
    }
    if readings.task_groups.is_empty() {
        add(LimitKind::Task, no_pids(readings));
    }
    for group in &readings.memory_groups {
        add(LimitKind::Memory, group_memory(group, &cost));
    }
    if !threads_wanted.raw {
        let LimitReadings { address_space: whole, virtual_size, data, data_size, .. } = readings;
        let each = cost.stack + GUARD_SIZE;
        add(LimitKind::Space, maps(readings, threads_wanted));
        add(LimitKind::Space, address_space(readings, &cost));
        add(LimitKind::Space, rlimit_space("RLIMIT_AS", 'v', whole.soft, *virtual_size, each));
        add(LimitKind::Space, rlimit_space("RLIMIT_DATA", 'd', data.soft, *data_size, cost.stack));
    }
    if let Some(commit) = commit(readings, &cost) {
        add(LimitKind::Space, commit);
    }
    all.sort_by_key(|known| known.limit.threads.unwrap_or(u64::MAX));
    all
}

/// The limit needed for the threads wanted, or for twice as many as now.
fn raised_limit(used: u64, threads: u64, threads_wanted: &ThreadsWanted) -> u64 {
    used.saturating_add(
        threads_wanted.max.unwrap_or(threads.saturating_mul(2)).max(threads.saturating_add(1)),
    )
}

fn system_limit(name: &str, place: impl Into<String>, unit: SystemLimitUnit) -> SystemLimit {
    SystemLimit {
        name: name.to_owned(),
        place: place.into(),
        limit: None,
        used: None,
        unit,
        threads: None,
        now: String::new(),
        for_good: String::new(),
        note: None,
    }
}

fn nproc(readings: &LimitReadings, threads_wanted: &ThreadsWanted) -> SystemLimit {
    let LimitReadings { user, uid, nproc, user_tasks: of_user, .. } = readings;
    let (limit, used) = (nproc.soft, *of_user);
    let left = limit.map(|limit| limit.saturating_sub(used));
    let wanted = raised_limit(used, left.unwrap_or_default(), threads_wanted);
    let by_hand = match nproc.hard {
        Some(hard) if hard < wanted => format!("as root: prlimit --pid $$ --nproc={wanted}"),
        _ => format!("ulimit -u {wanted}"),
    };
    let mut notes = Vec::new();
    if readings.exempt && limit.is_some() {
        notes.push(format!("does not bind {user}: not enforced with CAP_SYS_RESOURCE or CAP_SYS_ADMIN"));
    }
    if readings.own_user_namespace && limit.is_some() {
        notes.push("counted in this user namespace and in each around it".to_owned());
    }
    SystemLimit {
        limit,
        used: Some(used),
        threads: left.filter(|_| !readings.exempt),
        now: by_hand,
        for_good: format!(
            "/etc/security/limits.d/90-tasks.conf: {user} - nproc {wanted}; of a service: LimitNPROC={wanted}"
        ),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        ..system_limit(
            "RLIMIT_NPROC",
            format!("ulimit -u: all tasks of user {user} ({uid})"),
            SystemLimitUnit::Tasks,
        )
    }
}

fn threads_max(readings: &LimitReadings, threads_wanted: &ThreadsWanted) -> SystemLimit {
    let LimitReadings { threads_max: limit, tasks, visible_tasks: seen, .. } = *readings;
    let used = tasks.unwrap_or(seen);
    let threads = limit.map(|limit| limit.saturating_sub(used));
    let wanted = raised_limit(used, threads.unwrap_or_default(), threads_wanted);
    SystemLimit {
        limit,
        used: Some(used),
        threads,
        now: format!("sysctl -w kernel.threads-max={wanted}"),
        for_good: format!("/etc/sysctl.d/90-tasks.conf: kernel.threads-max = {wanted}"),
        note: readings
            .own_pid_namespace
            .then(|| "of the whole machine: other containers count too".to_owned()),
        ..system_limit("kernel.threads-max", "/proc/sys/kernel/threads-max", SystemLimitUnit::Tasks)
    }
}

fn pid_max(readings: &LimitReadings, threads_wanted: &ThreadsWanted) -> SystemLimit {
    let LimitReadings { pid_max: limit, last_pid, pids_in_use, visible_tasks, .. } = *readings;
    // Numbers below are given once, before the first wrap.
    let fresh = last_pid.map_or(0, |last| (RESERVED_PIDS - 1).saturating_sub(last));
    let threads = limit.map(|limit| limit.saturating_sub(RESERVED_PIDS + pids_in_use).saturating_add(fresh));
    let wanted = raised_limit(visible_tasks + RESERVED_PIDS, threads.unwrap_or_default(), threads_wanted)
        .clamp(32_768, 4_194_304);
    let mut note = format!("the lowest {RESERVED_PIDS} are given once only");
    if readings.own_pid_namespace {
        note.push_str("; of this process namespace alone: that of each around it binds too, and cannot be seen from here");
    }
    SystemLimit {
        limit,
        used: Some(visible_tasks),
        threads,
        now: format!("sysctl -w kernel.pid_max={wanted}"),
        for_good: format!("/etc/sysctl.d/90-tasks.conf: kernel.pid_max = {wanted}"),
        note: Some(note),
        ..system_limit("kernel.pid_max", "/proc/sys/kernel/pid_max", SystemLimitUnit::Tasks)
    }
}

const HIDDEN: &str =
    "groups above are outside this cgroup namespace: they bind too, and cannot be seen from here";

fn pids(
    readings: &LimitReadings,
    at: usize,
    group: &TaskGroup,
    threads_wanted: &ThreadsWanted,
) -> SystemLimit {
    let left = group.max.saturating_sub(group.used);
    let file = group.folder.join("pids.max").display().to_string();
    let (now, for_good) =
        advice::pids_advice(&group.name, &file, raised_limit(group.used, left, threads_wanted));
    let last = at + 1 == readings.task_groups.len();
    SystemLimit {
        limit: Some(group.max),
        used: Some(group.used),
        threads: Some(left),
        now,
        for_good,
        note: (last && readings.own_cgroup_namespace).then(|| HIDDEN.to_owned()),
        ..system_limit("pids.max", file, SystemLimitUnit::Tasks)
    }
}

fn no_pids(readings: &LimitReadings) -> SystemLimit {
    let place = match &readings.group {
        Some(group) => format!("group {group} and those above it"),
        None => "no control group with 'pids' is visible".to_owned(),
    };
    SystemLimit {
        note: readings.own_cgroup_namespace.then(|| HIDDEN.to_owned()),
        ..system_limit("pids.max", place, SystemLimitUnit::Tasks)
    }
}

fn maps(readings: &LimitReadings, threads_wanted: &ThreadsWanted) -> SystemLimit {
    let LimitReadings { max_maps: limit, maps, .. } = *readings;
    let used = maps.map_or(threads_wanted.maps, |maps| maps.max(threads_wanted.maps));
    let threads = limit.map(|limit| limit.saturating_sub(used) / MAPS);
    let wanted = used + MAPS * raised_limit(0, threads.unwrap_or_default(), threads_wanted);
    SystemLimit {
        limit,
        used: Some(used),
        threads,
        now: format!("sysctl -w vm.max_map_count={wanted}"),
        for_good: format!("/etc/sysctl.d/90-tasks.conf: vm.max_map_count = {wanted}"),
        note: Some("of each process; a thread takes two, its stack and the guard page below".to_owned()),
        ..system_limit("vm.max_map_count", "/proc/sys/vm/max_map_count", SystemLimitUnit::Maps)
    }
}

fn address_space(readings: &LimitReadings, cost: &ThreadCost) -> SystemLimit {
    let used = readings.virtual_size;
    SystemLimit {
        limit: readings.address_top,
        used: Some(used),
        threads: readings.address_top.map(|top| top.saturating_sub(used) / (cost.stack + GUARD_SIZE)),
        now: "smaller stacks: --stack 256KiB here, -Xss of Java, ulimit -s of others".to_owned(),
        for_good: "it is the processor's".to_owned(),
        ..system_limit(
            "address space",
            "what the processor can address, for programs",
            SystemLimitUnit::Bytes,
        )
    }
}

fn rlimit_space(name: &str, option: char, limit: Option<u64>, used: u64, each: u64) -> SystemLimit {
    let item = if option == 'v' { "as" } else { "data" };
    SystemLimit {
        limit,
        used: Some(used),
        threads: limit.map(|limit| limit.saturating_sub(used) / each.max(1)),
        now: format!("ulimit -{option} unlimited, or smaller stacks"),
        for_good: format!("/etc/security/limits.d/90-tasks.conf: * - {item} unlimited"),
        ..system_limit(name, format!("ulimit -{option} of the process"), SystemLimitUnit::Bytes)
    }
}

fn available(readings: &LimitReadings, cost: &ThreadCost) -> SystemLimit {
    let LimitReadings { available, total, .. } = *readings;
    SystemLimit {
        limit: Some(total),
        used: available.map(|available| total.saturating_sub(available)),
        threads: available.map(|available| available / cost.memory),
        now: "end what uses it".to_owned(),
        for_good: "more memory, or threads that touch less of it".to_owned(),
        note: Some(format!("some {} KiB a thread; the kernel kills rather than refuses", cost.memory >> 10)),
        ..system_limit("memory", "MemAvailable in /proc/meminfo", SystemLimitUnit::Bytes)
    }
}

fn group_memory(group: &MemoryGroup, cost: &ThreadCost) -> SystemLimit {
    let left = group.max.saturating_sub(group.used);
    let name = if group.unified { "memory.max" } else { "memory.limit_in_bytes" };
    let file = group.folder.join(name).display().to_string();
    let (now, for_good) = advice::memory_advice(&group.name, &file, group.max.saturating_mul(2));
    SystemLimit {
        limit: Some(group.max),
        used: Some(group.used),
        threads: Some(left / cost.memory),
        now,
        for_good,
        note: Some(format!("some {} KiB a thread; the kernel kills rather than refuses", cost.memory >> 10)),
        ..system_limit(name, file, SystemLimitUnit::Bytes)
    }
}

/// Only where the kernel does not overcommit: there a stack counts in full, touched or not.
fn commit(readings: &LimitReadings, cost: &ThreadCost) -> Option<SystemLimit> {
    let (limit, promised) = readings.commit?;
    Some(SystemLimit {
        limit: Some(limit),
        used: Some(promised),
        threads: Some(limit.saturating_sub(promised) / cost.stack.max(cost.memory)),
        now: "sysctl -w vm.overcommit_memory=0, or a higher vm.overcommit_ratio, or smaller stacks"
            .to_owned(),
        for_good: "/etc/sysctl.d/90-tasks.conf: vm.overcommit_memory = 0".to_owned(),
        note: Some("vm.overcommit_memory is 2: stacks count in full, touched or not".to_owned()),
        ..system_limit("CommitLimit", "/proc/meminfo, vm.overcommit_ratio", SystemLimitUnit::Bytes)
    })
}

#[cfg(test)]
mod tests;
