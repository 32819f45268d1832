//! From what was read to rooms: how many more threads each limit allows. Pure.

use crate::ThreadsWanted;
use crate::advice;
use crate::readings::{Memory, RESERVED_PIDS, Readings, Tasks};
use record::{Room, RoomUnit};

/// What a waiting thread takes of memory, as measured on Linux 6.18: two pages of stack, one of page tables, 16 KiB of
/// kernel stack, and some 7 KiB of the kernel's own structures. `torment probe memory` measures it.
const CHARGE: u64 = 35 << 10;
/// The same without a stack: nothing but the kernel's.
const CHARGE_RAW: u64 = 23 << 10;
/// Mappings of a thread: its stack, and the guard page below it.
const MAPS: u64 = 2;
/// glibc's stack where RLIMIT_STACK is none (ARCH_STACK_DEFAULT_SIZE).
const STACK: u64 = 2 << 20;
/// The guard page; of machines with larger pages it is larger, and as negligible.
const GUARD: u64 = 4 << 10;
/// Limits this close behind the first bind together with it: to raise one of them alone gains nothing.
const CLOSE: f64 = 0.05;

/// What one more thread takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerThread {
    /// Stack; none for raw threads.
    pub stack: u64,
    pub memory: u64,
}

impl PerThread {
    pub fn of(readings: &Readings, asked: &ThreadsWanted) -> Self {
        if asked.raw {
            return Self { stack: 0, memory: CHARGE_RAW };
        }
        let usual = readings.stack.soft.unwrap_or(STACK);
        let stack = asked.stack.map_or(usual, |stack| stack.0);
        Self { stack, memory: CHARGE + asked.touch.0 }
    }
}

/// Where a limit is, in the order of its names: what it is, and how to tell it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What EAGAIN of clone(2) means.
    Task,
    /// What ENOMEM of mmap(2) or mprotect(2) means.
    Space,
    /// What the kernel kills for.
    Memory,
}

/// A room and what kind of limit it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRoom {
    pub kind: Kind,
    pub room: Room,
}

/// All of them, the one that binds first leading, and said to bind with others where it does.
pub fn rooms(readings: &Readings, asked: &ThreadsWanted) -> Vec<Room> {
    let mut rooms: Vec<Room> = known(readings, asked).into_iter().map(|known| known.room).collect();
    let close = close(&rooms);
    if let (Some(first), false) = (rooms.first_mut(), close.is_empty()) {
        let text = format!(
            "binds together with {} (within 5 %): raising one alone gains nothing",
            close.join(" and ")
        );
        first.note = Some(first.note.take().map_or(text.clone(), |note| format!("{note}; {text}")));
    }
    rooms
}

/// Names of those that are within 5 % of the first.
pub fn close(rooms: &[Room]) -> Vec<String> {
    let Some(first) = rooms.first().and_then(|room| room.threads) else { return Vec::new() };
    let near = |threads: u64| threads as f64 <= first as f64 * (1.0 + CLOSE);
    let others = rooms.iter().skip(1).filter(|room| room.threads.is_some_and(near));
    others.map(|room| room.name.clone()).collect()
}

/// In the order of the threads that they allow; those that allow any number last.
pub fn known(readings: &Readings, asked: &ThreadsWanted) -> Vec<KnownRoom> {
    let each = PerThread::of(readings, asked);
    let mut all = vec![
        task(nproc(readings, asked)),
        task(threads_max(readings, asked)),
        task(pid_max(readings, asked)),
        memory(available(readings, &each)),
    ];
    all.extend(readings.groups.iter().enumerate().map(|(at, group)| task(pids(readings, at, group, asked))));
    if readings.groups.is_empty() {
        all.push(task(no_pids(readings)));
    }
    all.extend(readings.memories.iter().map(|group| memory(group_memory(group, &each))));
    if !asked.raw {
        all.push(space(maps(readings, asked)));
        all.push(space(address_space(readings, &each)));
        all.push(space(rlimit_space(
            "RLIMIT_AS",
            'v',
            readings.address_space.soft,
            readings.virtual_size,
            each.stack + GUARD,
        )));
        all.push(space(rlimit_space("RLIMIT_DATA", 'd', readings.data.soft, readings.data_size, each.stack)));
    }
    all.extend(commit(readings, &each).map(space));
    all.sort_by_key(|known| known.room.threads.unwrap_or(u64::MAX));
    all
}

fn task(room: Room) -> KnownRoom {
    KnownRoom { kind: Kind::Task, room }
}

fn space(room: Room) -> KnownRoom {
    KnownRoom { kind: Kind::Space, room }
}

fn memory(room: Room) -> KnownRoom {
    KnownRoom { kind: Kind::Memory, room }
}

/// What it would have to be, for what is asked, or for twice as many as now.
fn raised(used: u64, threads: u64, asked: &ThreadsWanted) -> u64 {
    used.saturating_add(asked.most.unwrap_or(threads.saturating_mul(2)).max(threads.saturating_add(1)))
}

fn room(name: &str, place: impl Into<String>, unit: RoomUnit) -> Room {
    Room {
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

fn nproc(readings: &Readings, asked: &ThreadsWanted) -> Room {
    let Readings { user, uid, nproc, of_user, .. } = readings;
    let (limit, used) = (nproc.soft, *of_user);
    let left = limit.map(|limit| limit.saturating_sub(used));
    let wanted = raised(used, left.unwrap_or_default(), asked);
    let by_hand = match nproc.hard {
        Some(hard) if hard < wanted => format!("as root: prlimit --pid $$ --nproc={wanted}"),
        _ => format!("ulimit -u {wanted}"),
    };
    let mut notes = Vec::new();
    if readings.exempt && limit.is_some() {
        notes.push(format!("does not bind {user}: not enforced with CAP_SYS_RESOURCE or CAP_SYS_ADMIN"));
    }
    if readings.own_users && limit.is_some() {
        notes.push("counted in this user namespace and in each around it".to_owned());
    }
    Room {
        limit,
        used: Some(used),
        threads: left.filter(|_| !readings.exempt),
        now: by_hand,
        for_good: format!(
            "/etc/security/limits.d/90-tasks.conf: {user} - nproc {wanted}; of a service: LimitNPROC={wanted}"
        ),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        ..room("RLIMIT_NPROC", format!("ulimit -u: all tasks of user {user} ({uid})"), RoomUnit::Tasks)
    }
}

fn threads_max(readings: &Readings, asked: &ThreadsWanted) -> Room {
    let Readings { threads_max: limit, tasks, seen, .. } = *readings;
    let used = tasks.unwrap_or(seen);
    let threads = limit.map(|limit| limit.saturating_sub(used));
    let wanted = raised(used, threads.unwrap_or_default(), asked);
    Room {
        limit,
        used: Some(used),
        threads,
        now: format!("sysctl -w kernel.threads-max={wanted}"),
        for_good: format!("/etc/sysctl.d/90-tasks.conf: kernel.threads-max = {wanted}"),
        note: readings.own_pids.then(|| "of the whole machine: other containers count too".to_owned()),
        ..room("kernel.threads-max", "/proc/sys/kernel/threads-max", RoomUnit::Tasks)
    }
}

fn pid_max(readings: &Readings, asked: &ThreadsWanted) -> Room {
    let Readings { pid_max: limit, last_number, numbered, seen, .. } = *readings;
    // Numbers below are given once, before those above are given for the first time.
    let fresh = last_number.map_or(0, |last| (RESERVED_PIDS - 1).saturating_sub(last));
    let threads = limit.map(|limit| (limit.saturating_sub(RESERVED_PIDS + numbered)).saturating_add(fresh));
    let wanted = raised(seen + RESERVED_PIDS, threads.unwrap_or_default(), asked).clamp(32_768, 4_194_304);
    let mut note = format!("the lowest {RESERVED_PIDS} are given once only");
    if readings.own_pids {
        note.push_str("; of this process namespace alone: that of each around it binds too, and cannot be seen from here");
    }
    Room {
        limit,
        used: Some(seen),
        threads,
        now: format!("sysctl -w kernel.pid_max={wanted}"),
        for_good: format!("/etc/sysctl.d/90-tasks.conf: kernel.pid_max = {wanted}"),
        note: Some(note),
        ..room("kernel.pid_max", "/proc/sys/kernel/pid_max", RoomUnit::Tasks)
    }
}

const HIDDEN: &str =
    "groups above are outside this cgroup namespace: they bind too, and cannot be seen from here";

fn pids(readings: &Readings, at: usize, group: &Tasks, asked: &ThreadsWanted) -> Room {
    let left = group.max.saturating_sub(group.used);
    let file = group.folder.join("pids.max").display().to_string();
    let (now, for_good) = advice::pids(&group.name, &file, raised(group.used, left, asked));
    let last = at + 1 == readings.groups.len();
    Room {
        limit: Some(group.max),
        used: Some(group.used),
        threads: Some(left),
        now,
        for_good,
        note: (last && readings.own_groups).then(|| HIDDEN.to_owned()),
        ..room("pids.max", file, RoomUnit::Tasks)
    }
}

fn no_pids(readings: &Readings) -> Room {
    let place = match &readings.group {
        Some(group) => format!("group {group} and those above it"),
        None => "no control group with 'pids' is visible".to_owned(),
    };
    Room { note: readings.own_groups.then(|| HIDDEN.to_owned()), ..room("pids.max", place, RoomUnit::Tasks) }
}

fn maps(readings: &Readings, asked: &ThreadsWanted) -> Room {
    let Readings { max_maps: limit, maps, .. } = *readings;
    let used = maps.map_or(asked.maps, |maps| maps.max(asked.maps));
    let threads = limit.map(|limit| limit.saturating_sub(used) / MAPS);
    let wanted = used + MAPS * raised(0, threads.unwrap_or_default(), asked);
    Room {
        limit,
        used: Some(used),
        threads,
        now: format!("sysctl -w vm.max_map_count={wanted}"),
        for_good: format!("/etc/sysctl.d/90-tasks.conf: vm.max_map_count = {wanted}"),
        note: Some("of each process; a thread takes two, its stack and the guard page below".to_owned()),
        ..room("vm.max_map_count", "/proc/sys/vm/max_map_count", RoomUnit::Maps)
    }
}

fn address_space(readings: &Readings, each: &PerThread) -> Room {
    let used = readings.virtual_size;
    Room {
        limit: readings.top,
        used: Some(used),
        threads: readings.top.map(|top| top.saturating_sub(used) / (each.stack + GUARD)),
        now: "smaller stacks: --stack 256KiB here, -Xss of Java, ulimit -s of others".to_owned(),
        for_good: "it is the processor's".to_owned(),
        ..room("address space", "what the processor can address, for programs", RoomUnit::Bytes)
    }
}

fn rlimit_space(name: &str, option: char, limit: Option<u64>, used: u64, each: u64) -> Room {
    let item = if option == 'v' { "as" } else { "data" };
    Room {
        limit,
        used: Some(used),
        threads: limit.map(|limit| limit.saturating_sub(used) / each.max(1)),
        now: format!("ulimit -{option} unlimited, or smaller stacks"),
        for_good: format!("/etc/security/limits.d/90-tasks.conf: * - {item} unlimited"),
        ..room(name, format!("ulimit -{option} of the process"), RoomUnit::Bytes)
    }
}

fn available(readings: &Readings, each: &PerThread) -> Room {
    let Readings { available, total, .. } = *readings;
    Room {
        limit: Some(total),
        used: available.map(|available| total.saturating_sub(available)),
        threads: available.map(|available| available / each.memory),
        now: "end what uses it".to_owned(),
        for_good: "more memory, or threads that touch less of it".to_owned(),
        note: Some(format!("some {} KiB a thread; the kernel kills rather than refuses", each.memory >> 10)),
        ..room("memory", "MemAvailable in /proc/meminfo", RoomUnit::Bytes)
    }
}

fn group_memory(group: &Memory, each: &PerThread) -> Room {
    let left = group.max.saturating_sub(group.used);
    let name = if group.unified { "memory.max" } else { "memory.limit_in_bytes" };
    let file = group.folder.join(name).display().to_string();
    let (now, for_good) = advice::memory(&group.name, &file, group.max.saturating_mul(2));
    Room {
        limit: Some(group.max),
        used: Some(group.used),
        threads: Some(left / each.memory),
        now,
        for_good,
        note: Some(format!("some {} KiB a thread; the kernel kills rather than refuses", each.memory >> 10)),
        ..room(name, file, RoomUnit::Bytes)
    }
}

/// Only where the kernel promises no more than it has: there a stack counts in full, touched or not.
fn commit(readings: &Readings, each: &PerThread) -> Option<Room> {
    let (limit, promised) = readings.commit?;
    Some(Room {
        limit: Some(limit),
        used: Some(promised),
        threads: Some(limit.saturating_sub(promised) / each.stack.max(each.memory)),
        now: "sysctl -w vm.overcommit_memory=0, or a higher vm.overcommit_ratio, or smaller stacks"
            .to_owned(),
        for_good: "/etc/sysctl.d/90-tasks.conf: vm.overcommit_memory = 0".to_owned(),
        note: Some("vm.overcommit_memory is 2: stacks count in full, touched or not".to_owned()),
        ..room("CommitLimit", "/proc/meminfo, vm.overcommit_ratio", RoomUnit::Bytes)
    })
}

#[cfg(test)]
mod tests;
