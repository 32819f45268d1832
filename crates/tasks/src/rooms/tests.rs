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
        seen: 100,
        of_user: 10,
        numbered: 40,
        tasks: Some(100),
        last_number: Some(5000),
        threads_max: Some(192_731),
        pid_max: Some(32_768),
        max_maps: Some(65_530),
        maps: Some(30),
        top: Some(1 << 47),
        virtual_size: 10 << 20,
        available: Some(23 * GIB),
        total: 24 * GIB,
        ..LimitReadings::default()
    }
}

fn group(name: &str, max: u64, used: u64) -> TaskGroup {
    let folder = PathBuf::from(format!("/sys/fs/cgroup{name}"));
    TaskGroup { name: name.to_owned(), folder, max, used, refused: Some(0) }
}

fn find<'a>(rooms: &'a [SystemLimit], name: &str) -> &'a SystemLimit {
    rooms.iter().find(|room| room.name == name).unwrap_or_else(|| panic!("no {name} in {rooms:#?}"))
}

fn first(readings: &LimitReadings) -> (String, Option<u64>) {
    let rooms = rooms(readings, &ThreadsWanted::default());
    (rooms[0].name.clone(), rooms[0].threads)
}

#[test]
fn numbers_and_mappings_bind_together() {
    let rooms = rooms(&readings(), &ThreadsWanted::default());
    let threads: Vec<_> = rooms.iter().filter_map(|room| room.threads).collect();
    assert!(threads.is_sorted(), "{threads:?}");
    assert!(rooms.iter().skip(threads.len()).all(|room| room.threads.is_none()), "without a limit: last");
    assert_eq!((rooms[0].name.as_str(), rooms[0].threads), ("kernel.pid_max", Some(32_768 - 300 - 40)));
    assert_eq!((rooms[1].name.as_str(), rooms[1].threads), ("vm.max_map_count", Some((65_530 - 30) / 2)));
    let note = rooms[0].note.as_deref().expect("it has one");
    assert!(note.contains("together with vm.max_map_count (within 5 %)"), "{note}");
    assert_eq!(close(&rooms), ["vm.max_map_count"]);
    assert_eq!(find(&rooms, "address space").threads, Some(((1 << 47) - (10 << 20)) / (8_392_704)));
    assert_eq!(find(&rooms, "memory").threads, Some(23 * GIB / (35 << 10)));
    assert_eq!(find(&rooms, "RLIMIT_AS").threads, None);
    assert_eq!(find(&rooms, "pids.max").limit, None);
    let now = &rooms[0].now;
    assert_eq!(now, &format!("sysctl -w kernel.pid_max={}", 400 + 2 * 32_428));
    assert_eq!(
        rooms[0].for_good,
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
    assert_eq!(with(&|r| r.top = Some(1 << 30)), at("address space", (GIB - (10 << 20)) / 8_392_704));
    assert_eq!(with(&|r| r.available = Some(35 << 20)), at("memory", 1 << 10));
    assert_eq!(with(&|r| r.commit = Some((GIB, GIB / 2))), at("CommitLimit", 64));
    assert_eq!(
        with(&|r| r.groups = vec![group("/a/b", 1000, 1), group("/a", 300, 7)]),
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
    assert_eq!(with(&|r| r.memories = vec![small.clone()]), at("memory.limit_in_bytes", (64 << 10) / 35));
}

#[test]
fn who_may_do_more_is_told_so() {
    let root = LimitReadings {
        exempt: true,
        nproc: ResourceLimit { soft: Some(400), hard: Some(400) },
        ..readings()
    };
    let rooms = rooms(&root, &ThreadsWanted::default());
    let nproc = find(&rooms, "RLIMIT_NPROC");
    assert_eq!((nproc.limit, nproc.threads), (Some(400), None));
    assert!(nproc.note.as_deref().expect("it says why").contains("CAP_SYS_RESOURCE"));
}

#[test]
fn a_fresh_namespace_has_the_lowest_numbers_too() {
    let fresh =
        LimitReadings { pid_max: Some(500), last_number: Some(3), numbered: 0, own_pids: true, ..readings() };
    let rooms = rooms(&fresh, &ThreadsWanted::default());
    let room = find(&rooms, "kernel.pid_max");
    assert_eq!(room.threads, Some(200 + 296));
    assert!(room.note.as_deref().expect("it has one").contains("cannot be seen from here"));
    assert_eq!(room.now, "sysctl -w kernel.pid_max=32768", "never less than the usual");
}

#[test]
fn hidden_ancestors_are_told() {
    let inside = LimitReadings { own_groups: true, groups: vec![group("/", 100, 1)], ..readings() };
    let rooms_inside = rooms(&inside, &ThreadsWanted::default());
    let note = find(&rooms_inside, "pids.max").note.clone().expect("it has one");
    assert!(note.contains("outside this cgroup namespace"), "{note}");
    let without = LimitReadings { own_groups: true, ..readings() };
    assert!(find(&rooms(&without, &ThreadsWanted::default()), "pids.max").note.is_some());
}

#[test]
fn what_threads_are_like_matters() {
    let touching = ThreadsWanted { touch: Bytes(400 << 10), ..ThreadsWanted::default() };
    assert_eq!(find(&rooms(&readings(), &touching), "memory").threads, Some(23 * GIB / (435 << 10)));
    let small = ThreadsWanted { stack: Some(Bytes(256 << 10)), ..ThreadsWanted::default() };
    assert_eq!(
        find(&rooms(&readings(), &small), "address space").threads,
        Some(((1 << 47) - (10 << 20)) / (260 << 10))
    );
    let raw = ThreadsWanted { raw: true, ..ThreadsWanted::default() };
    let rooms_raw = rooms(&readings(), &raw);
    assert!(rooms_raw.iter().all(|room| room.unit != SystemLimitUnit::Maps), "they need none");
    assert_eq!(find(&rooms_raw, "memory").threads, Some(23 * GIB / (23 << 10)));
    let many = ThreadsWanted { most: Some(100_000), ..ThreadsWanted::default() };
    assert_eq!(find(&rooms(&readings(), &many), "kernel.pid_max").now, "sysctl -w kernel.pid_max=100400");
    let mapped = ThreadsWanted { maps: 64_530, ..ThreadsWanted::default() };
    assert_eq!(find(&rooms(&readings(), &mapped), "vm.max_map_count").threads, Some(500));
    let unlimited = LimitReadings { stack: ResourceLimit::default(), ..readings() };
    assert_eq!(ThreadCost::of(&unlimited, &ThreadsWanted::default()).stack, 2 << 20);
}

#[test]
fn hardly_anything_known() {
    let rooms = rooms(&LimitReadings::default(), &ThreadsWanted::default());
    assert!(rooms.iter().all(|room| room.threads.is_none()), "{rooms:#?}");
    assert!(close(&rooms).is_empty());
}
