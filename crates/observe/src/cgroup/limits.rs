//! Cgroup limits: for each kind, the one that leaves least along the hierarchy.

use procfs::cgroups::{ControllerGroups, GroupFolder, GroupPaths};
use procfs::{number_field, read_number};
use record::watch::{Cgroup, CpuQuota, MemoryLimit, Pressure, TaskLimit};
use std::fs;

/// Version 1 writes "no limit" as the largest number of whole pages, in bytes.
const UNLIMITED: u64 = 1 << 62;

/// All limits of a process, with counters since the cgroups were created.
pub(super) fn limits(place: &GroupPaths) -> Cgroup {
    Cgroup {
        cpu: quota(&place.cpu),
        memory: memory(&place.memory),
        tasks: tasks(&place.pids),
        pressure: pressure(&place.unified),
    }
}

pub(super) fn quota(line: &ControllerGroups) -> Option<CpuQuota> {
    let cpus = |group: &GroupFolder| if line.unified { quota_2(group) } else { quota_1(group) };
    let all = line.groups.iter().filter_map(|group| Some((cpus(group)?, group)));
    let (cpus, group) = all.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let stat = read(group, "cpu.stat").unwrap_or_default();
    let throttled_ns = number_field(&stat, "throttled_time")
        .or_else(|| number_field(&stat, "throttled_usec").map(|us| us * 1000));
    Some(CpuQuota {
        group: group.name.clone(),
        cpus,
        periods: number_field(&stat, "nr_periods").unwrap_or(0),
        throttled: number_field(&stat, "nr_throttled").unwrap_or(0),
        throttled_ns: throttled_ns.unwrap_or(0),
    })
}

fn quota_1(group: &GroupFolder) -> Option<f64> {
    let quota: i64 = read(group, "cpu.cfs_quota_us")?.trim().parse().ok()?;
    let period = number(group, "cpu.cfs_period_us")?;
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

fn quota_2(group: &GroupFolder) -> Option<f64> {
    let text = read(group, "cpu.max")?;
    let (quota, period) = text.trim().split_once(' ')?;
    // `max` does not parse.
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0).then(|| quota as f64 / period as f64)
}

/// The memory limit that leaves least.
fn memory(line: &ControllerGroups) -> Option<MemoryLimit> {
    let read = |group| if line.unified { memory_2(group) } else { memory_1(group) };
    let all = line.groups.iter().enumerate().filter_map(|(level, group)| Some((level, read(group)?)));
    let (level, mut least) = all.min_by_key(|(_, m)| m.limit_bytes.saturating_sub(m.used_bytes))?;
    if !line.unified {
        // Version 1 counts a kill in the victim's cgroup, not the limit's.
        least.kills = line.groups[..=level].iter().map(kills_1).sum();
    }
    Some(least)
}

fn memory_1(group: &GroupFolder) -> Option<MemoryLimit> {
    let limit_bytes = number(group, "memory.limit_in_bytes").filter(|limit| *limit < UNLIMITED)?;
    let stat = read(group, "memory.stat").unwrap_or_default();
    let total = |name: &str| number_field(&stat, &format!("total_{name}"));
    Some(MemoryLimit {
        group: group.name.clone(),
        used_bytes: number(group, "memory.usage_in_bytes")?,
        cache_bytes: total("inactive_file").unwrap_or(0) + total("active_file").unwrap_or(0),
        limit_bytes,
        failures: number(group, "memory.failcnt").unwrap_or(0),
        high: 0,
        kills: 0,
        refaults: total("workingset_refault_file").or_else(|| total("workingset_refault")).unwrap_or(0),
    })
}

fn kills_1(group: &GroupFolder) -> u64 {
    read(group, "memory.oom_control").and_then(|text| number_field(&text, "oom_kill")).unwrap_or(0)
}

fn memory_2(group: &GroupFolder) -> Option<MemoryLimit> {
    // Above `memory.high` everything in the cgroup is throttled: a limit too.
    let limit = [number(group, "memory.max"), number(group, "memory.high")];
    let limit_bytes = limit.into_iter().flatten().min()?;
    let stat = read(group, "memory.stat").unwrap_or_default();
    let events = read(group, "memory.events").unwrap_or_default();
    let of = |name: &str| number_field(&stat, name);
    let event = |name: &str| number_field(&events, name).unwrap_or(0);
    Some(MemoryLimit {
        group: group.name.clone(),
        used_bytes: number(group, "memory.current")?,
        cache_bytes: of("inactive_file").unwrap_or(0) + of("active_file").unwrap_or(0),
        limit_bytes,
        failures: event("max"),
        high: event("high"),
        kills: event("oom_kill"),
        refaults: of("workingset_refault_file").or_else(|| of("workingset_refault")).unwrap_or(0),
    })
}

/// The limit on threads and processes that leaves least; versions 1 and 2 have the same files.
fn tasks(line: &ControllerGroups) -> Option<TaskLimit> {
    let limit = |group: &GroupFolder| Some((number(group, "pids.current")?, number(group, "pids.max")?));
    let all = line.groups.iter().enumerate().filter_map(|(level, group)| Some((level, limit(group)?)));
    let (level, (used, limit)) = all.min_by_key(|(_, (used, limit))| limit.saturating_sub(*used))?;
    // Older kernels count a refusal in the forking process's cgroup, newer ones in the limit's.
    let groups = &line.groups[..=level];
    let refused = groups.iter().filter_map(|group| number_field(&read(group, "pids.events")?, "max"));
    let refused = refused.fold(None, |sum, one| Some(sum.unwrap_or(0) + one));
    Some(TaskLimit { group: line.groups[level].name.clone(), used, limit, refused })
}

/// Pressure of the process's own cgroup; the root's would be the whole machine's.
fn pressure(line: &ControllerGroups) -> Option<Pressure> {
    let group = line.groups.first().filter(|group| group.folder.join("cgroup.events").exists())?;
    let of = |name: &str| read(group, name);
    parse_pressure(&of("cpu.pressure")?, &of("memory.pressure")?, &of("io.pressure")?)
}

/// The totals of three pressure stall information files.
pub(crate) fn parse_pressure(cpu: &str, memory: &str, io: &str) -> Option<Pressure> {
    let total = |text: &str, kind: &str| {
        let line = text.lines().find(|line| line.starts_with(kind))?;
        line.rsplit_once("total=")?.1.trim().parse().ok()
    };
    Some(Pressure {
        cpu_some_us: total(cpu, "some")?,
        memory_some_us: total(memory, "some")?,
        memory_full_us: total(memory, "full")?,
        io_some_us: total(io, "some")?,
        io_full_us: total(io, "full")?,
    })
}

/// Differences between two readings; if another cgroup is now the limiting one, none yet.
pub(super) fn growth(now: &Cgroup, before: Option<&Cgroup>) -> Cgroup {
    let mut grown = now.clone();
    if let (Some(cpu), Some(now)) = (&mut grown.cpu, &now.cpu) {
        let old = before.and_then(|c| c.cpu.as_ref()).filter(|old| old.group == cpu.group).unwrap_or(now);
        less!(cpu, old: periods throttled throttled_ns);
    }
    if let (Some(memory), Some(now)) = (&mut grown.memory, &now.memory) {
        let old =
            before.and_then(|c| c.memory.as_ref()).filter(|old| old.group == memory.group).unwrap_or(now);
        less!(memory, old: failures high kills refaults);
    }
    if let Some(tasks) = &mut grown.tasks {
        let old = before.and_then(|c| c.tasks.as_ref()).filter(|old| old.group == tasks.group);
        let old = old.and_then(|old| old.refused);
        tasks.refused = tasks.refused.map(|now| old.map_or(0, |old| now.saturating_sub(old)));
    }
    grown.pressure =
        now.pressure.zip(before.and_then(|c| c.pressure)).map(|(now, before)| pressure_growth(now, before));
    grown
}

pub(crate) fn pressure_growth(mut now: Pressure, before: Pressure) -> Pressure {
    less!(now, before: cpu_some_us memory_some_us memory_full_us io_some_us io_full_us);
    now
}

fn read(group: &GroupFolder, file: &str) -> Option<String> {
    fs::read_to_string(group.folder.join(file)).ok()
}

fn number(group: &GroupFolder, file: &str) -> Option<u64> {
    read_number(group.folder.join(file))
}
