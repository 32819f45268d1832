use super::*;
use crate::readings::TaskGroup;
use procfs::ResourceLimit;
use std::path::PathBuf;

fn before() -> LimitReadings {
    LimitReadings {
        uid: 1000,
        user: "ann".to_owned(),
        nproc: ResourceLimit { soft: Some(50_000), hard: None },
        stack: ResourceLimit { soft: Some(8 << 20), hard: None },
        visible_tasks: 100,
        user_tasks: 10,
        tasks: Some(100),
        last_pid: Some(5000),
        threads_max: Some(192_731),
        pid_max: Some(32_768),
        max_maps: Some(65_530),
        maps: Some(30),
        address_top: Some(1 << 47),
        available: Some(1 << 34),
        total: 1 << 34,
        group: Some("/a/b".to_owned()),
        own_refusals: Some(5),
        kills: Some(1),
        own_group_kills: Some(0),
        ..LimitReadings::default()
    }
}

/// With this many more threads.
fn later(before: &LimitReadings, threads: u64) -> LimitReadings {
    let mut after = before.clone();
    for used in [&mut after.visible_tasks, &mut after.user_tasks, &mut after.pids_in_use] {
        *used += threads;
    }
    after.tasks = after.tasks.map(|tasks| tasks + threads);
    after.maps = after.maps.map(|maps| maps + 2 * threads);
    after.virtual_size += threads * 8_392_704;
    after.task_groups.iter_mut().for_each(|group| group.used += threads);
    after
}

fn group(name: &str, max: u64, used: u64, refused: u64) -> TaskGroup {
    let folder = PathBuf::from(format!("/sys/fs/cgroup/pids{name}"));
    TaskGroup { name: name.to_owned(), folder, max, used, refusals: Some(refused) }
}

fn memory(name: &str, failures: u64, kills: u64) -> MemoryGroup {
    let folder = PathBuf::from(format!("/sys/fs/cgroup/memory{name}"));
    let (failures, kills) = (Some(failures), Some(kills));
    MemoryGroup {
        name: name.to_owned(),
        folder,
        unified: false,
        max: 64 << 20,
        used: 1 << 20,
        failures,
        kills,
    }
}

fn refused() -> ThreadFailure {
    let (clone, map, protect) = (Some(EAGAIN), None, None);
    ThreadFailure { call: "pthread_create".to_owned(), error: EAGAIN, clone, map, protect }
}

fn of_space(map: Option<i32>, protect: Option<i32>) -> ThreadFailure {
    ThreadFailure { clone: None, map, protect, ..refused() }
}

#[track_caller]
fn is_limit(end: &RampEnd, name: &str, says: &str) -> Vec<String> {
    let RampEnd::Limit { room, call, because, close } = end else { panic!("{end:?}") };
    assert_eq!(room.name, name, "{because}");
    assert!(format!("{call}; {because}").contains(says), "{call}; {because}");
    close.clone()
}

fn judge(before: &LimitReadings, after: &LimitReadings, failure: &ThreadFailure) -> RampEnd {
    limit_of_failure(before, after, &ThreadsWanted::default(), failure)
}

#[test]
fn the_group_that_counted_it() {
    let before = LimitReadings { task_groups: vec![group("/a/b", 300, 1, 5)], ..before() };
    let mut after = later(&before, 299);
    after.task_groups[0].refusals = Some(9);
    after.own_refusals = Some(9);
    let end = judge(&before, &after, &refused());
    let close = is_limit(
        &end,
        "pids.max",
        "300 of 300 tasks in use at the failure; pids.events of /a/b counted 4 more",
    );
    assert!(close.is_empty());
    is_limit(&end, "pids.max", "clone: EAGAIN (pthread_create: EAGAIN)");
    let RampEnd::Limit { room, .. } = end else { panic!() };
    assert_eq!((room.limit, room.used, room.threads), (Some(300), Some(300), Some(0)));
    assert_eq!(room.now, "echo 599 > /sys/fs/cgroup/pids/a/b/pids.max", "for twice as many");
}

/// Version 1, and 2 before Linux 6.11, count in the group of the refused thread.
#[test]
fn an_ancestor_gave_though_the_own_group_counted() {
    let before =
        LimitReadings { task_groups: vec![group("/a/b", 9000, 1, 5), group("/a", 300, 1, 0)], ..before() };
    let mut after = later(&before, 299);
    after.task_groups[0].refusals = Some(9);
    after.own_refusals = Some(9);
    let end = judge(&before, &after, &refused());
    is_limit(&end, "pids.max", "pids.events of /a/b counted");
    let RampEnd::Limit { room, .. } = end else { panic!() };
    assert_eq!(room.place, "/sys/fs/cgroup/pids/a/pids.max");
}

#[test]
fn a_group_that_cannot_be_seen() {
    let before = LimitReadings { own_cgroup_namespace: true, ..before() };
    let after = LimitReadings { own_refusals: Some(6), ..later(&before, 500) };
    let RampEnd::Unknown { call } = judge(&before, &after, &refused()) else { panic!() };
    assert!(call.contains("/a/b") && call.contains("outside this cgroup namespace"), "{call}");
}

#[test]
fn limits_that_no_group_counts() {
    let limited = LimitReadings { nproc: ResourceLimit { soft: Some(400), hard: None }, ..before() };
    let end = judge(&limited, &later(&limited, 390), &refused());
    is_limit(
        &end,
        "RLIMIT_NPROC",
        "400 of 400 tasks in use at the failure; no control group counted a refusal",
    );
    let end = judge(&before(), &later(&before(), 32_768 - 300), &refused());
    let close = is_limit(&end, "kernel.pid_max", "of 32,768 tasks in use");
    assert_eq!(close, ["vm.max_map_count"], "within 5 %, so that raising one alone gains nothing");
    let limited = LimitReadings { threads_max: Some(5000), ..before() };
    is_limit(&judge(&limited, &later(&limited, 4900), &refused()), "kernel.threads-max", "5,000 of 5,000");
    // A full group that did not count it did not refuse it.
    let mut both = LimitReadings { nproc: ResourceLimit { soft: Some(400), hard: None }, ..before() };
    both.task_groups = vec![group("/a/b", 391, 1, 5)];
    is_limit(&judge(&both, &later(&both, 390), &refused()), "RLIMIT_NPROC", "");
    // Without counters it is the full one.
    let silent = |mut readings: LimitReadings| {
        readings.own_refusals = None;
        readings.task_groups[0].refusals = None;
        readings
    };
    let before = silent(LimitReadings { task_groups: vec![group("/a/b", 300, 1, 0)], ..before() });
    is_limit(&judge(&before, &later(&before, 299), &refused()), "pids.max", "300 of 300");
}

#[test]
fn no_reason_is_no_reason() {
    let RampEnd::Unknown { call } = judge(&before(), &later(&before(), 500), &refused()) else { panic!() };
    assert!(call.contains("every limit that can be read has room"), "{call}");
    let RampEnd::Unknown { call } = judge(&before(), &before(), &of_space(None, None)) else { panic!() };
    assert!(call.contains("pthread_create: EAGAIN; the same steps"), "{call}");
    let denied = ThreadFailure { clone: Some(1), ..refused() };
    let RampEnd::Unknown { call } = judge(&before(), &before(), &denied) else { panic!() };
    assert_eq!(call, "clone: EPERM (pthread_create: EAGAIN)");
    let raw = ThreadFailure { call: "clone".to_owned(), ..refused() };
    let RampEnd::Unknown { call } = judge(&before(), &before(), &raw) else { panic!() };
    assert!(call.starts_with("clone: EAGAIN; "), "{call}");
}

#[test]
fn places_for_stacks() {
    let end = judge(&before(), &later(&before(), 32_750), &of_space(None, Some(ENOMEM)));
    let close = is_limit(&end, "vm.max_map_count", "65,530 of 65,530 maps in use");
    assert_eq!(close, ["kernel.pid_max"]);
    is_limit(&end, "vm.max_map_count", "mprotect: ENOMEM (pthread_create: EAGAIN)");
    let small =
        LimitReadings { address_space: ResourceLimit { soft: Some(1 << 30), hard: None }, ..before() };
    is_limit(
        &judge(&small, &later(&small, 127), &of_space(Some(ENOMEM), None)),
        "RLIMIT_AS",
        "of 1 GiB in use",
    );
    let strict = LimitReadings { commit: Some((1 << 30, 1 << 20)), ..before() };
    let full = LimitReadings { commit: Some((1 << 30, (1 << 30) - 4096)), ..later(&strict, 127) };
    is_limit(&judge(&strict, &full, &of_space(None, Some(ENOMEM))), "CommitLimit", "");
    let nothing = LimitReadings { available: Some(4096), ..later(&before(), 900) };
    let no_memory = ThreadFailure { clone: Some(ENOMEM), ..refused() };
    is_limit(&judge(&before(), &nothing, &no_memory), "memory", "clone: ENOMEM");
}

#[test]
fn who_was_killed_and_why() {
    let is_killed = |before: &LimitReadings, now: Vec<Option<MemoryGroup>>, kills: KillCounts| {
        let RampEnd::Killed { because, room } = limit_of_kill(before, &now, kills, &ThreadsWanted::default())
        else {
            panic!()
        };
        (because, room.map(|room| room.place))
    };
    let kills = |machine: u64, here: u64| KillCounts { machine: Some(machine), own_group: Some(here) };
    let own = LimitReadings { memory_groups: vec![memory("/m", 7, 0)], ..before() };
    let (because, place) = is_killed(&own, vec![Some(memory("/m", 20, 1))], kills(2, 1));
    assert_eq!(because, "oom_kill counted 1 more in /m, and its limit was met 13 times");
    assert_eq!(place.as_deref(), Some("/sys/fs/cgroup/memory/m/memory.limit_in_bytes"));
    // The ancestor's limit, though the kill was counted below it.
    let outer = LimitReadings { memory_groups: vec![memory("/", 7, 0)], ..before() };
    let (because, place) = is_killed(&outer, vec![Some(memory("/", 9, 0))], kills(2, 1));
    assert_eq!(because, "oom_kill counted 1 more in /, and its limit was met 2 times");
    assert_eq!(place.as_deref(), Some("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    let (because, place) = is_killed(&before(), Vec::new(), kills(2, 0));
    assert!(because.contains("/proc/vmstat counted 1 more"), "{because}");
    assert_eq!(place.as_deref(), Some("MemAvailable in /proc/meminfo"));
    // Killed by hand, in a group that is gone by now.
    let (because, place) = is_killed(&own, vec![None], kills(1, 0));
    assert!(because.contains("no kernel counter") && place.is_none(), "{because}");
}
