//! How large a load torment can make.

use super::{Assessment, LIMITS, Rows, only_now, remedy, sysctl};
use crate::facts::{MachineFacts, TASKS_WANTED};
use crate::files::{FileRead, ReadError};
use record::{Remedy, SystemLimit, SystemLimitUnit};
use sys::DESCRIPTORS_LEAST;
use units::{Bytes, Share, grouped};

/// Comfortably enough for a loop's connections.
const DESCRIPTORS_WANTED: u64 = 4096;
/// The kernel's default range has 28,232.
const PORTS_WANTED: u64 = 20_000;
const PORTS_MIN: u64 = 2000;
/// How long a port is kept after its connection (TCP_TIMEWAIT_LEN), and an entry in the tracking table.
const TIME_WAIT_S: u64 = 60;
const TRACKED_S: u64 = 120;
/// Connections per second without keep-alive below which ports limit many a service.
const REOPEN_RATE: u64 = 1000;
/// Maximum fill of a table.
const FULL_SHARE: f64 = 0.9;
const FILLING_SHARE: f64 = 0.5;
/// The kernel's default since Linux 5.4.
const BACKLOG_DEFAULT: u64 = 4096;
/// Tasks of torment itself, with a JVM beside it.
const TASKS_MIN: u64 = 256;
const MEMORY_MIN: u64 = 128 << 20;
const MEMORY_WANTED: u64 = 512 << 20;

pub(super) fn rows(facts: &MachineFacts) -> Rows<'_> {
    let mut rows: Rows<'_> = vec![
        ("descriptors", descriptors(facts)),
        ("open files of all", files(facts)),
        ("local ports", ports(facts)),
        ("TIME_WAIT", reuse(facts)),
        ("connection tracking", tracking(facts)),
        ("listen backlog", backlog(facts)),
    ];
    // Sorted by what they leave: of several groups with a limit, the first is the one that counts.
    for system_limit in facts.system_limits.iter().filter(|room| room.unit == SystemLimitUnit::Tasks) {
        if rows.iter().all(|(name, _)| *name != system_limit.name) {
            rows.push((&system_limit.name, tasks(facts, system_limit)));
        }
    }
    rows.extend([("memory", memory(facts)), ("overcommit", overcommit(facts))]);
    rows
}

fn descriptors(facts: &MachineFacts) -> FileRead<Assessment> {
    let limits = facts.descriptors.as_ref()?;
    // torment raises the soft limit itself.
    let Some(hard) = limits.hard else { return Assessment::of("any number").fine() };
    let row = |found: String| {
        let row = Assessment::of(found).figure("hard", hard);
        limits.soft.into_iter().fold(row, |row, soft| row.figure("soft", soft))
    };
    let raise = || {
        remedy(
            "prlimit --pid $$ --nofile=1048576:1048576, as root",
            format!(
                "{LIMITS}: * - nofile 1048576; of a service: LimitNOFILE=1048576; docker run --ulimit nofile=1048576 …"
            ),
        )
    };
    match hard {
        ..DESCRIPTORS_LEAST => row(format!("{hard}"))
            .hinders(format!("no load is made with fewer than {DESCRIPTORS_LEAST}"), raise()),
        DESCRIPTORS_LEAST..DESCRIPTORS_WANTED => row(grouped(hard)).less(
            format!("a loop has no more connections than that: more of them take more loops, and a service started by torment has no more than {} at all", grouped(hard)),
            raise(),
        ),
        _ => row(format!("{} for each loop", grouped(hard))).fine(),
    }
}

fn files(facts: &MachineFacts) -> FileRead<Assessment> {
    let (used, most) = *facts.open_files.as_ref()?;
    let share = Share::of(used, most);
    // The kernel's default since Linux 5.16 is as good as none.
    let found = if most > 1 << 60 {
        format!("{}, no limit", grouped(used))
    } else {
        format!("{} of {}", grouped(used), grouped(most))
    };
    Assessment::of(found).figure("used", used).figure("limit", most).hinders_if(
        share.0 > FULL_SHARE,
        "the next connections are refused to torment and to the target alike",
        sysctl("fs.file-max", &most.saturating_mul(4).to_string()),
    )
}

fn ports(facts: &MachineFacts) -> FileRead<Assessment> {
    let (first, last) = *facts.ports.as_ref()?;
    let count = (last + 1).saturating_sub(first);
    let found = format!("{}, {first} to {last}", grouped(count));
    let row = Assessment::of(found).figure("first", first).figure("last", last).figure("ports", count);
    let means = format!(
        "no more than {} connections at once to one address and port; to 127.0.0.1 torment takes other source addresses",
        grouped(count)
    );
    let widen = || sysctl("net.ipv4.ip_local_port_range", "1024 65535");
    match count {
        ..PORTS_MIN => row.hinders(means, widen()),
        PORTS_MIN..PORTS_WANTED => row.less(means, widen()),
        _ => row.fine(),
    }
}

fn reuse(facts: &MachineFacts) -> FileRead<Assessment> {
    let (reuse, (first, last)) = (*facts.tw_reuse.as_ref()?, facts.ports.as_ref()?);
    let rate = (last + 1).saturating_sub(*first) / TIME_WAIT_S;
    let row = |found: &str| {
        Assessment::of(format!("{found} (net.ipv4.tcp_tw_reuse {reuse})"))
            .figure("tcp_tw_reuse", reuse)
            .figure("connections_per_second", rate)
    };
    match reuse {
        1 => row("ports are used again after a second").fine(),
        _ if rate >= REOPEN_RATE => row("ports are used again after a minute, and there are enough").fine(),
        _ => row(if reuse == 2 { "ports are used again after a minute, but for loopback" } else { "ports are used again after a minute" }).less(
            format!("without keep-alive no more than {} new connections a second to one address and port elsewhere", grouped(rate)),
            sysctl("net.ipv4.tcp_tw_reuse", "1"),
        ),
    }
}

fn tracking(facts: &MachineFacts) -> FileRead<Assessment> {
    let Some((count, most)) = *facts.conntrack.as_ref()? else { return Assessment::of("none here").fine() };
    let share = Share::of(count, most);
    let row = Assessment::of(format!("{} of {} ({share})", grouped(count), grouped(most)))
        .figure("count", count)
        .figure("max", most);
    let raise = || sysctl("net.netfilter.nf_conntrack_max", &most.max(1 << 17).saturating_mul(2).to_string());
    if share.0 >= FULL_SHARE {
        return row.hinders("a full table drops packets of new connections: they time out, and look like a target that does not answer", raise());
    }
    if share.0 >= FILLING_SHARE || most / TRACKED_S < REOPEN_RATE / 2 {
        let rate = most.saturating_sub(count) / TRACKED_S;
        return row.less(
            format!("each connection takes a place until two minutes after its end: without keep-alive the table is full at {} new ones a second", grouped(rate)),
            raise(),
        );
    }
    row.fine()
}

fn backlog(facts: &MachineFacts) -> FileRead<Assessment> {
    let most = *facts.backlog.as_ref()?;
    let row = Assessment::of(format!("{} (net.core.somaxconn)", grouped(most))).figure("somaxconn", most);
    row.less_if(
        most < BACKLOG_DEFAULT,
        format!("if more than {} connections arrive at once at any service on this machine, the rest retry after a second, which looks like a freezing target", grouped(most)),
        sysctl("net.core.somaxconn", &BACKLOG_DEFAULT.to_string()),
    )
}

fn raise(system_limit: &SystemLimit) -> Remedy {
    remedy(system_limit.now.as_str(), system_limit.for_good.as_str())
}

fn tasks(facts: &MachineFacts, system_limit: &SystemLimit) -> FileRead<Assessment> {
    let SystemLimit { name, limit, used, threads, .. } = system_limit;
    let Some(limit) = limit else {
        // The kernel always has a limit; for the process's, it is known whether it could be read.
        return match &facts.descriptors {
            Err(why) if name == "RLIMIT_NPROC" => Err(why.clone()),
            _ if name.starts_with("kernel.") => {
                Err(ReadError { why: format!("{} cannot be read", system_limit.place), absent: true })
            }
            _ => Assessment::of("any number").fine(),
        };
    };
    let in_use = used.map_or_else(String::new, |used| format!(", {} in use", grouped(used)));
    let row = Assessment::of(format!("{}{in_use}", grouped(*limit))).figure("limit", *limit);
    let row = used.iter().fold(row, |row, used| row.figure("used", *used));
    match threads {
        Some(left) if *left < TASKS_MIN => row.hinders(
            format!("{} more threads and processes: torment and the services that it starts need some hundred", grouped(*left)),
            raise(system_limit),
        ),
        Some(left) if *left < TASKS_WANTED => row.less(
            format!("{} more threads and processes: storms, and services with a thread for each connection, end there", grouped(*left)),
            raise(system_limit),
        ),
        _ => row.fine(),
    }
}

/// The memory left, where least is.
fn memory(facts: &MachineFacts) -> FileRead<Assessment> {
    let is_memory =
        |room: &&SystemLimit| ["memory", "memory.max", "memory.limit_in_bytes"].contains(&room.name.as_str());
    let left = |room: &SystemLimit| Some(room.limit?.saturating_sub(room.used?));
    let tightest = facts
        .system_limits
        .iter()
        .filter(is_memory)
        .filter_map(|room| Some((left(room)?, room)))
        .min_by_key(|(left, _)| *left);
    let Some((left, system_limit)) = tightest else {
        return Err(ReadError {
            why: "/proc/meminfo does not say what is available".to_owned(),
            absent: true,
        });
    };
    let total = system_limit.limit.unwrap_or_default();
    let row = Assessment::of(format!("{} left of {}, by {}", Bytes(left), Bytes(total), system_limit.place))
        .figure("left_bytes", left)
        .figure("limit_bytes", total);
    match left {
        ..MEMORY_MIN => row.hinders(
            "torment or the target is killed, or waits for its disk, before the target's own limit",
            raise(system_limit),
        ),
        MEMORY_MIN..MEMORY_WANTED => {
            row.less("little room for what a service holds while requests wait", raise(system_limit))
        }
        _ => row.fine(),
    }
}

fn overcommit(facts: &MachineFacts) -> FileRead<Assessment> {
    let mode = *facts.overcommit.as_ref()?;
    let row = Assessment::of(format!("vm.overcommit_memory {mode}")).figure("overcommit_memory", mode);
    if mode != 2 {
        return row.fine();
    }
    let room = facts.system_limits.iter().find(|room| room.name == "CommitLimit");
    row.less(
        "memory counts when it is asked for, not when it is used: threads and JVMs are refused long before memory is full",
        room.map_or_else(|| only_now("sysctl -w vm.overcommit_memory=0"), raise),
    )
}
