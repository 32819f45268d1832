//! Which limit was hit: from readings before and at the failure, and from the repeated single steps. Pure.

use crate::ThreadsWanted;
use crate::limits::{CLOSE_SHARE, ClassifiedLimit, LimitKind, classified_limits};
use crate::readings::{KillCounts, LimitReadings, MemoryGroup};
use record::{RampEnd, SystemLimit, SystemLimitUnit};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A limit with a larger share of room left was not hit: others end between the failure and the reading.
const FULL_SLACK: f64 = 0.01;
const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;

/// A thread that could not be created, and the steps of its creation, repeated one by one: each with its error, or none if it
/// worked or was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadFailure {
    /// The call that failed first: `pthread_create` or `clone`.
    pub call: String,
    pub error: i32,
    /// A thread without a stack.
    pub clone: Option<i32>,
    /// Mapping a stack.
    pub map: Option<i32>,
    /// Making it writable.
    pub protect: Option<i32>,
}

/// As in errno(3).
fn errno_name(error: i32) -> String {
    match error {
        1 => "EPERM".to_owned(),
        EAGAIN => "EAGAIN".to_owned(),
        ENOMEM => "ENOMEM".to_owned(),
        22 => "EINVAL".to_owned(),
        38 => "ENOSYS".to_owned(),
        other => format!("error {other}"),
    }
}

impl ThreadFailure {
    /// The step that failed, and what the caller saw.
    fn step(&self) -> (&'static str, i32) {
        let steps = [("clone", self.clone), ("mmap", self.map), ("mprotect", self.protect)];
        let failed = steps.into_iter().find_map(|(step, error)| Some((step, error?)));
        failed.unwrap_or(("", self.error))
    }

    fn describe(&self) -> String {
        match self.step() {
            ("", _) => format!("{}: {}", self.call, errno_name(self.error)),
            (step, error) if step == self.call => format!("{step}: {}", errno_name(error)),
            (step, error) => {
                format!("{step}: {} ({}: {})", errno_name(error), self.call, errno_name(self.error))
            }
        }
    }
}

/// The limit hit when a thread could not be created.
pub fn limit_of_failure(
    before: &LimitReadings,
    after: &LimitReadings,
    threads_wanted: &ThreadsWanted,
    failure: &ThreadFailure,
) -> RampEnd {
    let call = failure.describe();
    let all = classified_limits(after, threads_wanted);
    let of = |kind: LimitKind| all.iter().filter(move |known| known.kind == kind);
    match failure.step() {
        ("clone", EAGAIN) => {
            task_limit_end(before, after, threads_wanted, call, of(LimitKind::Task).collect())
        }
        ("clone", ENOMEM) => {
            let full = of(LimitKind::Memory).find(|known| is_full(known));
            limit_end(before, threads_wanted, call, full, "the kernel has no memory for one more", "")
        }
        (step @ ("mmap" | "mprotect"), ENOMEM) => {
            let why = "a thread without a stack could be made, so that it is no limit on tasks";
            let mut full: Vec<&ClassifiedLimit> =
                of(LimitKind::Space).filter(|known| is_full(known)).collect();
            // Mapping hits one limit, making it writable another.
            let of_step = |known: &&ClassifiedLimit| match known.limit.name.as_str() {
                "RLIMIT_AS" | "address space" => step == "mmap",
                "RLIMIT_DATA" => step == "mprotect",
                _ => true,
            };
            full.sort_by_key(|known| !of_step(known));
            limit_end(before, threads_wanted, call, full.first().copied(), why, "")
        }
        ("", _) => RampEnd::Unknown { call: format!("{call}; the same steps, made one by one, worked") },
        _ => RampEnd::Unknown { call },
    }
}

/// Of the limits on tasks, the full one; refusal counters tell a group from the rest.
fn task_limit_end(
    before: &LimitReadings,
    after: &LimitReadings,
    threads_wanted: &ThreadsWanted,
    call: String,
    tasks: Vec<&ClassifiedLimit>,
) -> RampEnd {
    let grown =
        |then: Option<u64>, now: Option<u64>| now.zip(then).map(|(now, then)| now.saturating_sub(then));
    let mut refusals = vec![(after.group.as_ref(), grown(before.own_refusals, after.own_refusals))];
    refusals.extend(after.task_groups.iter().map(|group| {
        let then = before.task_groups.iter().find(|other| other.folder == group.folder);
        (Some(&group.name), grown(then.and_then(|then| then.refusals), group.refusals))
    }));
    let refusing =
        refusals.iter().find_map(|(name, refused)| Some(((*name)?, (*refused).filter(|n| *n > 0)?)));
    let is_counted = refusals.iter().any(|(_, refused)| refused.is_some());
    let is_group = |known: &&&ClassifiedLimit| known.limit.name == "pids.max";
    match refusing {
        Some((group, refused)) => {
            let because = format!("; pids.events of {group} counted {refused} more");
            let full = tasks.iter().filter(is_group).copied().find(|known| is_full(known));
            match full {
                Some(_) => limit_end(before, threads_wanted, call, full, "", &because),
                None => RampEnd::Unknown {
                    call: format!(
                        "{call}; pids.events of {group} counted the refusal, but no group that can be seen is full: \
                         the one that is must be outside this cgroup namespace"
                    ),
                },
            }
        }
        None => {
            let because = if is_counted { "; no control group counted a refusal" } else { "" };
            let full = tasks.iter().filter(|known| !is_counted || !is_group(known)).copied();
            limit_end(before, threads_wanted, call, full.clone().find(|known| is_full(known)), "", because)
        }
    }
}

/// Whether a limit has no significant room left.
fn is_full(classified: &ClassifiedLimit) -> bool {
    let SystemLimit { limit, threads, used, .. } = &classified.limit;
    let (Some(limit), Some(threads), Some(used)) = (limit, threads, used) else { return false };
    // Relative to its total in threads, whatever its own unit.
    let all = match classified.kind {
        LimitKind::Task => *limit as f64,
        _ => *threads as f64 * *limit as f64 / limit.saturating_sub(*used).max(1) as f64,
    };
    *threads <= 1.max((all * FULL_SLACK) as u64)
}

fn limit_end(
    before: &LimitReadings,
    threads_wanted: &ThreadsWanted,
    call: String,
    full: Option<&ClassifiedLimit>,
    first: &str,
    more: &str,
) -> RampEnd {
    let Some(ClassifiedLimit { limit, .. }) = full else {
        return RampEnd::Unknown { call: format!("{call}; every limit that can be read has room") };
    };
    let used = match (limit.used, limit.limit, &limit.unit) {
        (Some(used), Some(limit), SystemLimitUnit::Bytes) => {
            format!("{} of {} in use", units::Bytes(used), units::Bytes(limit))
        }
        (Some(used), Some(limit), unit) => {
            format!("{} of {} {unit} in use", units::grouped(used), units::grouped(limit))
        }
        _ => "nothing left".to_owned(),
    };
    let first = if first.is_empty() { String::new() } else { format!("{first}; ") };
    let because = format!("{first}{used} at the failure{more}");
    let limit = with_advice(before, threads_wanted, limit);
    let close = close_limits(before, threads_wanted, &limit);
    RampEnd::Limit { room: Box::new(limit), call, because, close }
}

/// A limit with its current use and the earlier advice: raised enough to matter,
/// computed from what it allowed then.
pub fn with_advice(
    before: &LimitReadings,
    threads_wanted: &ThreadsWanted,
    limit: &SystemLimit,
) -> SystemLimit {
    let then = classified_limits(before, threads_wanted)
        .into_iter()
        .map(|known| known.limit)
        .find(|then| is_same(then, limit));
    let then = then.unwrap_or_else(|| limit.clone());
    SystemLimit { limit: limit.limit, used: limit.used, threads: limit.threads, ..then }
}

fn is_same(one: &SystemLimit, other: &SystemLimit) -> bool {
    one.name == other.name && one.place == other.place
}

/// Names of the others within 5 % of it.
fn close_limits(
    before: &LimitReadings,
    threads_wanted: &ThreadsWanted,
    binding: &SystemLimit,
) -> Vec<String> {
    let limits = classified_limits(before, threads_wanted);
    let is_it = |room: &SystemLimit| is_same(room, binding);
    let Some(threads) = limits.iter().find(|known| is_it(&known.limit)).and_then(|known| known.limit.threads)
    else {
        return Vec::new();
    };
    let near = |other: u64| other.abs_diff(threads) as f64 <= threads as f64 * CLOSE_SHARE;
    let others = limits.iter().filter(|known| !is_it(&known.limit) && known.limit.threads.is_some_and(near));
    others.map(|known| known.limit.name.clone()).collect()
}

/// The limit hit when the process was killed. The groups are those read before, in the same order.
pub fn limit_of_kill(
    before: &LimitReadings,
    groups: &[Option<MemoryGroup>],
    kills: KillCounts,
    threads_wanted: &ThreadsWanted,
) -> RampEnd {
    let then = before.kills_before();
    let grown =
        |then: Option<u64>, now: Option<u64>| Some(now?.saturating_sub(then?)).filter(|more| *more > 0);
    let limits = classified_limits(before, threads_wanted);
    let limit_at = |is_it: &dyn Fn(&SystemLimit) -> bool| {
        let found = limits.iter().find(|known| known.kind == LimitKind::Memory && is_it(&known.limit));
        found.map(|known| Box::new(known.limit.clone()))
    };
    let hits = before.memory_groups.iter().zip(groups).filter_map(|(then, now)| {
        let now = now.as_ref()?;
        let killed = grown(then.kills, now.kills);
        let met = grown(then.failures, now.failures);
        (killed.is_some() || met.is_some()).then_some((then, killed, met))
    });
    // Of nested groups that counted, the one with the least room before.
    let hits = hits.min_by_key(|(group, ..)| group.max.saturating_sub(group.used));
    let in_group = grown(then.own_group, kills.own_group);
    match (hits, in_group, grown(then.machine, kills.machine)) {
        (Some((group, killed, met)), in_group, machine) if killed.or(in_group).or(machine).is_some() => {
            let times = met.map_or(String::new(), |met| format!(", and its limit was met {met} times"));
            let because = format!(
                "oom_kill counted {} more in {}{times}",
                killed.or(in_group).or(machine).unwrap_or(1),
                group.name
            );
            RampEnd::Killed {
                because,
                room: limit_at(&|room| Path::new(&room.place).parent() == Some(&group.folder)),
            }
        }
        (_, _, Some(machine)) => RampEnd::Killed {
            because: format!(
                "oom_kill in /proc/vmstat counted {machine} more, and no control group met its limit"
            ),
            room: limit_at(&|room| room.name == "memory"),
        },
        _ => RampEnd::Killed {
            because: "signal 9, and no kernel counter says that memory ran out".to_owned(),
            room: None,
        },
    }
}

#[cfg(test)]
mod tests;
