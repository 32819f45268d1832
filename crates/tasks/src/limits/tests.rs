use super::*;
use procfs::ResourceLimit;
use std::path::PathBuf;
use units::Bytes;

const GIB: u64 = 1 << 30;

/// A machine of 24 GiB whose only user is idle.
fn readings() -> LimitReadings {
    LimitReadings {
        uid: 1000,
        user: "ann".to_owned(),
        nproc: ResourceLimit { soft: Some(96_365), hard: Some(96_365) },
        stack: ResourceLimit { soft: Some(8 << 20), hard: None },
        visible_tasks: 100,
        user_tasks: 10,
        pids_in_use: 40,
        tasks: Some(100),
        last_pid: Some(5000),
        threads_max: Some(192_731),
        pid_max: Some(32_768),
        max_maps: Some(65_530),
        maps: Some(30),
        address_top: Some(1 << 47),
        virtual_size: 10 << 20,
        available: Some(23 * GIB),
        total: 24 * GIB,
        ..LimitReadings::default()
    }
}

fn group(name: &str, max: u64, used: u64) -> TaskGroup {
    let folder = PathBuf::from(format!("/sys/fs/cgroup{name}"));
    TaskGroup { name: name.to_owned(), folder, max, used, refusals: Some(0) }
}

fn find<'a>(limits: &'a [SystemLimit], name: &str) -> &'a SystemLimit {
    limits.iter().find(|room| room.name == name).unwrap_or_else(|| panic!("no {name} in {limits:#?}"))
}

fn first(readings: &LimitReadings) -> (String, Option<u64>) {
    let limits = limits(readings, &ThreadsWanted::default());
    (limits[0].name.clone(), limits[0].threads)
}

#[test]
fn numbers_and_mappings_bind_together() {
    let limits = limits(&readings(), &ThreadsWanted::default());
    let threads: Vec<_> = limits.iter().filter_map(|room| room.threads).collect();
    assert!(threads.is_sorted(), "{threads:?}");
    assert!(limits.iter().skip(threads.len()).all(|room| room.threads.is_none()), "without a limit: last");
    assert_eq!((limits[0].name.as_str(), limits[0].threads), ("kernel.pid_max", Some(32_768 - 300 - 40)));
    assert_eq!((limits[1].name.as_str(), limits[1].threads), ("vm.max_map_count", Some((65_530 - 30) / 2)));
    let note = limits[0].note.as_deref().expect("it has one");
    assert!(note.contains("together with vm.max_map_count (within 5 %)"), "{note}");
    assert_eq!(close_to_first(&limits), ["vm.max_map_count"]);
    assert_eq!(find(&limits, "address space").threads, Some(((1 << 47) - (10 << 20)) / (8_392_704)));
    assert_eq!(find(&limits, "memory").threads, Some(23 * GIB / (35 << 10)));
    assert_eq!(find(&limits, "RLIMIT_AS").threads, None);
    assert_eq!(find(&limits, "pids.max").limit, None);
    let now = &limits[0].now;
    assert_eq!(now, &format!("sysctl -w kernel.pid_max={}", 400 + 2 * 32_428));
    assert_eq!(
        limits[0].for_good,
        format!("/etc/sysctl.d/90-tasks.conf: kernel.pid_max = {}", 400 + 2 * 32_428)
    );
}

/// Each limit in turn is the lowest.
#[test]
fn each_limit_binds() {
    let with = |change: &dyn Fn(&mut LimitReadings)| {
        let mut changed = readings();
        change(&mut changed);
        first(&changed)
    };
    let at = |name: &str, threads: u64| (name.to_owned(), Some(threads));
    let limit = |soft: u64| ResourceLimit { soft: Some(soft), hard: None };
    assert_eq!(with(&|r| r.nproc = limit(400)), at("RLIMIT_NPROC", 390));
    assert_eq!(with(&|r| r.threads_max = Some(1000)), at("kernel.threads-max", 900));
    assert_eq!(with(&|r| r.pid_max = Some(1000)), at("kernel.pid_max", 1000 - 300 - 40));
    assert_eq!(with(&|r| r.max_maps = Some(1030)), at("vm.max_map_count", 500));
    assert_eq!(with(&|r| r.address_space = limit(GIB)), at("RLIMIT_AS", (GIB - (10 << 20)) / 8_392_704));
    assert_eq!(with(&|r| r.data = limit(GIB)), at("RLIMIT_DATA", 128));
    assert_eq!(with(&|r| r.address_top = Some(1 << 30)), at("address space", (GIB - (10 << 20)) / 8_392_704));
    assert_eq!(with(&|r| r.available = Some(35 << 20)), at("memory", 1 << 10));
    assert_eq!(with(&|r| r.commit = Some((GIB, GIB / 2))), at("CommitLimit", 64));
    assert_eq!(
        with(&|r| r.task_groups = vec![group("/a/b", 1000, 1), group("/a", 300, 7)]),
        at("pids.max", 293),
        "of an ancestor"
    );
    let small = MemoryGroup {
        name: "/m".to_owned(),
        folder: "/sys/fs/cgroup/memory/m".into(),
        unified: false,
        max: 64 << 20,
        used: 0,
        failures: Some(0),
        kills: Some(0),
    };
    assert_eq!(
        with(&|r| r.memory_groups = vec![small.clone()]),
        at("memory.limit_in_bytes", (64 << 10) / 35)
    );
}

#[test]
fn who_may_do_more_is_told_so() {
    let root = LimitReadings {
        exempt: true,
        nproc: ResourceLimit { soft: Some(400), hard: Some(400) },
        ..readings()
    };
    let limits = limits(&root, &ThreadsWanted::default());
    let nproc = find(&limits, "RLIMIT_NPROC");
    assert_eq!((nproc.limit, nproc.threads), (Some(400), None));
    assert!(nproc.note.as_deref().expect("it says why").contains("CAP_SYS_RESOURCE"));
}

#[test]
fn a_fresh_namespace_has_the_lowest_numbers_too() {
    let fresh = LimitReadings {
        pid_max: Some(500),
        last_pid: Some(3),
        pids_in_use: 0,
        own_pid_namespace: true,
        ..readings()
    };
    let limits = limits(&fresh, &ThreadsWanted::default());
    let room = find(&limits, "kernel.pid_max");
    assert_eq!(room.threads, Some(200 + 296));
    assert!(room.note.as_deref().expect("it has one").contains("cannot be seen from here"));
    assert_eq!(room.now, "sysctl -w kernel.pid_max=32768", "never less than the usual");
}

#[test]
fn hidden_ancestors_are_told() {
    let inside =
        LimitReadings { own_cgroup_namespace: true, task_groups: vec![group("/", 100, 1)], ..readings() };
    let rooms_inside = limits(&inside, &ThreadsWanted::default());
    let note = find(&rooms_inside, "pids.max").note.clone().expect("it has one");
    assert!(note.contains("outside this cgroup namespace"), "{note}");
    let without = LimitReadings { own_cgroup_namespace: true, ..readings() };
    assert!(find(&limits(&without, &ThreadsWanted::default()), "pids.max").note.is_some());
}

#[test]
fn what_threads_are_like_matters() {
    let touching = ThreadsWanted { touch: Bytes(400 << 10), ..ThreadsWanted::default() };
    assert_eq!(find(&limits(&readings(), &touching), "memory").threads, Some(23 * GIB / (435 << 10)));
    let small = ThreadsWanted { stack: Some(Bytes(256 << 10)), ..ThreadsWanted::default() };
    assert_eq!(
        find(&limits(&readings(), &small), "address space").threads,
        Some(((1 << 47) - (10 << 20)) / (260 << 10))
    );
    let raw = ThreadsWanted { raw: true, ..ThreadsWanted::default() };
    let rooms_raw = limits(&readings(), &raw);
    assert!(rooms_raw.iter().all(|room| room.unit != SystemLimitUnit::Maps), "they need none");
    assert_eq!(find(&rooms_raw, "memory").threads, Some(23 * GIB / (23 << 10)));
    let many = ThreadsWanted { max: Some(100_000), ..ThreadsWanted::default() };
    assert_eq!(find(&limits(&readings(), &many), "kernel.pid_max").now, "sysctl -w kernel.pid_max=100400");
    let mapped = ThreadsWanted { maps: 64_530, ..ThreadsWanted::default() };
    assert_eq!(find(&limits(&readings(), &mapped), "vm.max_map_count").threads, Some(500));
    let unlimited = LimitReadings { stack: ResourceLimit::default(), ..readings() };
    assert_eq!(ThreadCost::of(&unlimited, &ThreadsWanted::default()).stack, 2 << 20);
}

#[test]
fn hardly_anything_known() {
    let limits = limits(&LimitReadings::default(), &ThreadsWanted::default());
    assert!(limits.iter().all(|room| room.threads.is_none()), "{limits:#?}");
    assert!(close_to_first(&limits).is_empty());
}
