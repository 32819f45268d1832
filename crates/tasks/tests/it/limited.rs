//! Each limit in turn.

use crate::harness::{LimitSetting, RampArgs, RampResult, TestGroup, is_root, own, skipped};
use record::{RampEnd, SystemLimitUnit};
use std::os::unix::process::CommandExt;
use std::process::Command;
use testbed::NamedTest;

pub const CHECKS: &[NamedTest] = &[
    ("limited::as_many_as_asked", as_many_as_asked),
    ("limited::raw_threads_and_small_stacks", raw_threads_and_small_stacks),
    ("limited::by_a_group", by_a_group),
    ("limited::by_the_group_above", by_the_group_above),
    ("limited::by_the_number_of_a_users_tasks", by_the_number_of_a_users_tasks),
    ("limited::by_numbers_of_processes", by_numbers_of_processes),
    ("limited::by_mappings", by_mappings),
    ("limited::by_address_space", by_address_space),
    ("limited::by_data", by_data),
    ("limited::by_memory_of_a_group", by_memory_of_a_group),
    ("limited::the_reserve_is_left", the_reserve_is_left),
    ("limited::what_makes_no_sense", what_makes_no_sense),
];

const GIB: u64 = 1 << 30;
/// The user nobody, on every Linux.
const NOBODY: u32 = 65_534;

fn as_many_as_asked() {
    let ramp = RampResult::run(&mut RampArgs { most: Some(300), ..RampArgs::default() }.command());
    assert_eq!((ramp.reached, &ramp.end), (300, &RampEnd::Asked));
    assert_eq!(
        (ramp.reported_tasks.first(), ramp.reported_tasks.last()),
        (Some(&0), Some(&0)),
        "{:?}",
        ramp.reported_tasks
    );
    let names: Vec<&str> = ramp.limits.iter().map(|room| room.name.as_str()).collect();
    for name in
        ["RLIMIT_NPROC", "pids.max", "kernel.threads-max", "kernel.pid_max", "vm.max_map_count", "memory"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
}

fn raw_threads_and_small_stacks() {
    let ramp = RampResult::run(&mut RampArgs { most: Some(300), raw: true, ..RampArgs::default() }.command());
    assert_eq!((ramp.reached, &ramp.end), (300, &RampEnd::Asked));
    assert!(
        ramp.limits.iter().all(|room| room.unit != SystemLimitUnit::Maps),
        "without stacks there are no mappings"
    );
    let small = RampArgs { most: Some(300), stack: Some(128 << 10), touch: 64 << 10, ..RampArgs::default() };
    assert_eq!(RampResult::run(&mut small.command()).reached, 300);
}

fn by_a_group() {
    let Some(group) = TestGroup::with("pids") else { return };
    group.set("pids.max", 300);
    let mut command = RampArgs::default().command();
    group.add_command(&mut command);
    let ramp = RampResult::run(&mut command);
    // torment itself is in it, and the first thread of the other process.
    let room = ramp.is_limit("pids.max", "clone: EAGAIN", 298);
    assert_eq!((room.limit, room.used), (Some(300), Some(300)));
    assert!(room.place.starts_with(&group.folder().display().to_string()), "{}", room.place);
    let RampEnd::Limit { because, .. } = &ramp.end else { panic!() };
    assert!(because.contains("pids.events of") && because.starts_with("300 of 300 tasks"), "{because}");
    // Without stacks it is the same limit.
    let mut command = RampArgs { raw: true, ..RampArgs::default() }.command();
    group.add_command(&mut command);
    RampResult::run(&mut command).is_limit("pids.max", "clone: EAGAIN", 298);
}

fn by_the_group_above() {
    let Some(group) = TestGroup::with("pids") else { return };
    let inner = group.inner("pids");
    group.set("pids.max", 300);
    let mut command = RampArgs::default().command();
    inner.add_command(&mut command);
    let ramp = RampResult::run(&mut command);
    let room = ramp.is_limit("pids.max", "clone: EAGAIN", 298);
    assert_eq!(room.place, group.folder().join("pids.max").display().to_string());
    drop(inner);
}

fn by_the_number_of_a_users_tasks() {
    if !is_root() {
        return skipped("only root may become nobody");
    }
    let wanted = RampArgs { limits: vec![LimitSetting::Tasks(400)], ..RampArgs::default() };
    let ramp = RampResult::run(wanted.command().uid(NOBODY).gid(NOBODY));
    let room = ramp.is_limit("RLIMIT_NPROC", "clone: EAGAIN", ramp.forecast.expect("it is a limit"));
    assert_eq!(room.limit, Some(400));
    // Only this user's other tasks are missing.
    assert!(ramp.reached > 350, "{}", ramp.reached);
    // Root is exempt.
    let free = RampArgs { most: Some(600), limits: vec![LimitSetting::Tasks(400)], ..RampArgs::default() };
    assert_eq!(RampResult::run(&mut free.command()).end, RampEnd::Asked);
}

/// A torment in its own PID namespace with this many numbers, so that the machine's are left alone; if
/// permitted. Before Linux 6.14 there is only one limit for all.
fn numbered(wanted: &RampArgs, numbers: u64) -> Option<Command> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
    let version = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if version < (6, 14) || !is_root() {
        skipped(format!(
            "only root may give a namespace a pid_max of its own, from Linux 6.14 on (this is {release})"
        ));
        return None;
    }
    let unshared = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount", "--kill-child", "sh", "-c", script]);
        command.arg(own()).arg(wanted.to_json());
        command
    };
    if !unshared("mount -t proc proc /proc").status().is_ok_and(|status| status.success()) {
        skipped("namespaces cannot be made here");
        return None;
    }
    Some(unshared(&format!(
        "mount -t proc proc /proc && echo {numbers} > /proc/sys/kernel/pid_max && exec \"$0\" ramp \"$1\""
    )))
}

fn by_numbers_of_processes() {
    let Some(mut command) = numbered(&RampArgs { until_failure: true, ..RampArgs::default() }, 700) else {
        return;
    };
    let ramp = RampResult::run(&mut command);
    let room = ramp.is_limit("kernel.pid_max", "clone: EAGAIN", ramp.forecast.expect("it is a limit"));
    assert_eq!(room.limit, Some(700));
    assert!(room.note.as_deref().is_some_and(|note| note.contains("cannot be seen from here")), "{room:?}");
}

fn the_reserve_is_left() {
    let Some(mut command) = numbered(&RampArgs::default(), 3000) else { return };
    let ramp = RampResult::run(&mut command);
    let RampEnd::Reserve { room: Some(room) } = &ramp.end else { panic!("{:?}", ramp.end) };
    assert_eq!((room.name.as_str(), room.limit), ("kernel.pid_max", Some(3000)));
    // A thousand, without those that are given only once.
    let left = ramp.forecast.expect("it is a limit") - ramp.reached;
    assert!((1000..=1320).contains(&left), "{left}");
}

fn by_mappings() {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").expect("every Linux has it");
    let limit: u64 = limit.trim().parse().expect("it is a number");
    let wanted = RampArgs { maps: limit - 1030, ..RampArgs::default() };
    let ramp = RampResult::run(&mut wanted.command());
    let room = ramp.is_limit("vm.max_map_count", "mprotect: ENOMEM (pthread_create: EAGAIN)", 480);
    assert_eq!(room.limit, Some(limit));
    // Threads without mappings are not limited by it.
    let raw = RampArgs { maps: limit - 1030, raw: true, most: Some(900), ..RampArgs::default() };
    assert_eq!(RampResult::run(&mut raw.command()).end, RampEnd::Asked);
}

fn by_address_space() {
    let wanted = RampArgs { limits: vec![LimitSetting::AddressSpace(GIB)], ..RampArgs::default() };
    let ramp = RampResult::run(&mut wanted.command());
    let room = ramp.is_limit("RLIMIT_AS", "mmap: ENOMEM (pthread_create: EAGAIN)", 125);
    assert_eq!(room.limit, Some(GIB));
}

fn by_data() {
    let wanted = RampArgs { limits: vec![LimitSetting::Data(GIB)], ..RampArgs::default() };
    let ramp = RampResult::run(&mut wanted.command());
    ramp.is_limit("RLIMIT_DATA", "mprotect: ENOMEM (pthread_create: EAGAIN)", 126);
}

fn by_memory_of_a_group() {
    let Some(group) = TestGroup::with("memory") else { return };
    let file = if group.has("memory.max") { "memory.max" } else { "memory.limit_in_bytes" };
    group.set(file, 64 << 20);
    let mut command = RampArgs::default().command();
    group.add_command(&mut command);
    let ramp = RampResult::run(&mut command);
    let RampEnd::Killed { because, room } = &ramp.end else { panic!("{:?}", ramp.end) };
    assert!(because.contains("oom_kill counted 1 more in"), "{because}");
    let room = room.as_ref().expect("it is this one");
    assert_eq!((room.name.as_str(), room.limit), (file, Some(64 << 20)));
    assert!(room.place.starts_with(&group.folder().display().to_string()), "{}", room.place);
    // A thread's memory is known to a tenth or so; it differs between kernels.
    let forecast = ramp.forecast.expect("it is a limit") as f64;
    assert!((0.7..1.4).contains(&(ramp.reached as f64 / forecast)), "{} of {forecast}", ramp.reached);
}

fn what_makes_no_sense() {
    for (wanted, says) in [
        (RampArgs { raw: true, touch: 1, ..RampArgs::default() }, "raw threads have no stack"),
        (RampArgs { stack: Some(4096), ..RampArgs::default() }, "4 KiB is too small for a thread's stack"),
        (RampArgs { stack: Some(1 << 20), touch: 1 << 20, ..RampArgs::default() }, "give a larger --stack"),
        (RampArgs { maps: 1 << 40, ..RampArgs::default() }, "mappings cannot be made"),
    ] {
        let why = RampResult::try_run(&mut wanted.command()).expect_err("it is refused");
        assert!(why.contains(says), "{why}");
    }
    if is_root() {
        let wanted = RampArgs { until_failure: true, most: Some(10), ..RampArgs::default() };
        let why = RampResult::try_run(wanted.command().uid(NOBODY).gid(NOBODY))
            .expect_err("nobody may not make groups");
        assert!(
            why.contains("--until-failure needs a control group of its own") && why.contains("as root"),
            "{why}"
        );
    }
}
