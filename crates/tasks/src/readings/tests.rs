//! Made-up machines.

use super::*;
use std::fs::{create_dir_all, write};
use std::os::unix::fs::symlink;
use tempfile::TempDir;

const STATUS: &str = "Name:\ttorment\nUid:\t1000\t1000\t1000\t1000\nThreads:\t3\nCapEff:\t0000000000000000\n\
    VmSize:\t  100000 kB\nVmData:\t   20000 kB\n";
const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units     
Max data size             unlimited            unlimited            bytes     
Max stack size            8388608              unlimited            bytes     
Max processes             4096                 96365                processes 
Max address space         1073741824           unlimited            bytes     
";
const MAPS: &str = "\
555555554000-555555556000 r--p 00000000 fe:00 12 /usr/bin/torment
7ffff7dc0000-7ffff7dc2000 rw-p 00000000 00:00 0 
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
";
const MEMINFO: &str = "MemTotal: 1000000 kB\nMemFree: 500000 kB\nMemAvailable: 800000 kB\nCommitLimit: 600000 kB\n\
    Committed_AS: 100000 kB\n";
const V1: &str = "\
36 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
";
const V2: &str = "42 31 0:39 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().expect("the temporary folder can be written");
    let usual = [
        ("proc/7/status", STATUS),
        ("proc/7/limits", LIMITS),
        ("proc/7/maps", MAPS),
        ("proc/7/cgroup", "8:pids:/\n4:memory:/\n0::/\n"),
        ("proc/9/status", "Uid:\t1000\t0\t0\t0\nThreads:\t20\n"),
        ("proc/450/status", "Uid:\t0\t0\t0\t0\nThreads:\t5\n"),
        ("proc/self/mountinfo", V1),
        ("proc/loadavg", "0.5 0.4 0.3 2/120 7000\n"),
        ("proc/meminfo", MEMINFO),
        ("proc/vmstat", "nr_free_pages 5\noom_kill 3\n"),
        ("proc/sys/kernel/threads-max", "192730\n"),
        ("proc/sys/kernel/pid_max", "32768\n"),
        ("proc/sys/vm/max_map_count", "65530\n"),
        ("proc/sys/vm/overcommit_memory", "0\n"),
        ("etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n"),
    ];
    usual.iter().chain(files).for_each(|(path, text)| {
        let path = root.path().join(path);
        create_dir_all(path.parent().expect("a file is in a folder")).expect("ours");
        write(path, text).expect("ours");
    });
    root
}

fn take(root: &TempDir) -> LimitReadings {
    LimitReadings::take(root.path(), 7)
}

#[test]
fn a_user_without_groups() {
    let now = take(&tree(&[]));
    assert_eq!((now.uid, now.user.as_str(), now.exempt), (1000, "ann", false));
    assert_eq!(now.nproc, ResourceLimit { soft: Some(4096), hard: Some(96365) });
    assert_eq!((now.stack.soft, now.data.soft, now.address_space.soft), (Some(8 << 20), None, Some(1 << 30)));
    // The real user counts, not the effective one; 9 has 19 further threads with numbers of their own.
    assert_eq!((now.visible_tasks, now.user_tasks, now.pids_in_use), (28, 23, 2 + 19 + 5));
    assert_eq!((now.tasks, now.last_pid), (Some(120), Some(7000)));
    assert_eq!((now.max_maps, now.maps, now.address_top), (Some(65530), Some(3), Some(1 << 47)));
    assert_eq!((now.virtual_size, now.data_size), (100_000 << 10, 20_000 << 10));
    assert_eq!((now.available, now.commit, now.kills), (Some(800_000 << 10), None, Some(3)));
    assert_eq!((now.task_groups.len(), now.memory_groups.len(), now.own_pid_namespace), (0, 0, false));
}

#[test]
fn who_is_exempt() {
    let root = tree(&[("proc/7/status", &STATUS.replace("0000000000000000", "0000000001000000"))]);
    assert!(take(&root).exempt, "CAP_SYS_RESOURCE");
    let root = tree(&[("proc/7/status", &STATUS.replace("0000000000000000", "0000000000200000"))]);
    assert!(take(&root).exempt, "CAP_SYS_ADMIN");
    create_dir_all(root.path().join("proc/7/ns")).expect("ours");
    symlink("user:[4026532001]", root.path().join("proc/7/ns/user")).expect("ours");
    assert!(!take(&root).exempt, "what it may within its own namespace does not count");
    let root = tree(&[("proc/7/status", &STATUS.replace("1000\t", "0\t"))]);
    assert!(take(&root).exempt, "root");
}

#[test]
fn namespaces_are_seen() {
    let root = tree(&[]);
    create_dir_all(root.path().join("proc/7/ns")).expect("ours");
    symlink("pid:[4026532002]", root.path().join("proc/7/ns/pid")).expect("ours");
    symlink("cgroup:[4026531835]", root.path().join("proc/7/ns/cgroup")).expect("ours");
    let now = take(&root);
    assert!(now.own_pid_namespace && !now.own_cgroup_namespace && !now.own_user_namespace);
}

#[test]
fn groups_of_version_1_and_their_ancestors() {
    let pids = "sys/fs/cgroup/pids";
    let memory = "sys/fs/cgroup/memory/jobs";
    let root = tree(&[
        ("proc/7/cgroup", "8:pids:/jobs/a\n4:memory:/jobs\n0::/\n"),
        (&format!("{pids}/jobs/a/pids.max"), "max\n"),
        (&format!("{pids}/jobs/a/pids.current"), "5\n"),
        (&format!("{pids}/jobs/a/pids.events"), "max 4\n"),
        (&format!("{pids}/jobs/pids.max"), "300\n"),
        (&format!("{pids}/jobs/pids.current"), "9\n"),
        (&format!("{pids}/jobs/pids.events"), "max 0\n"),
        (&format!("{memory}/memory.limit_in_bytes"), "67108864\n"),
        (&format!("{memory}/memory.usage_in_bytes"), "20000000\n"),
        (
            &format!("{memory}/memory.stat"),
            "inactive_file 1\ntotal_inactive_file 4096\ntotal_active_file 8192\n",
        ),
        (&format!("{memory}/memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        (&format!("{memory}/memory.failcnt"), "17\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n"),
    ]);
    let now = take(&root);
    assert_eq!((now.group.as_deref(), now.own_refusals), (Some("/jobs/a"), Some(4)));
    let [group] = now.task_groups.as_slice() else { panic!("{:?}", now.task_groups) };
    assert_eq!((group.name.as_str(), group.max, group.used, group.refusals), ("/jobs", 300, 9, Some(0)));
    let [memory] = now.memory_groups.as_slice() else { panic!("{:?}", now.memory_groups) };
    assert_eq!((memory.max, memory.used), (64 << 20, 20_000_000 - 12_288));
    assert_eq!((memory.failures, memory.kills, now.own_group_kills), (Some(17), Some(2), Some(2)));
    assert_eq!(memory.reread().as_ref(), Some(memory));
}

#[test]
fn groups_of_version_2() {
    let slice = "sys/fs/cgroup/user.slice/user-1000.slice";
    let root = tree(&[
        ("proc/self/mountinfo", V2),
        ("proc/7/cgroup", "0::/user.slice/user-1000.slice/session-3.scope\n"),
        (&format!("{slice}/session-3.scope/pids.max"), "max\n"),
        (&format!("{slice}/pids.max"), "10813\n"),
        (&format!("{slice}/pids.current"), "213\n"),
        (&format!("{slice}/pids.events"), "max 0\n"),
        (&format!("{slice}/memory.max"), "1073741824\n"),
        (&format!("{slice}/memory.current"), "73741824\n"),
        (&format!("{slice}/memory.stat"), "inactive_file 1000000\nactive_file 2000000\n"),
        (&format!("{slice}/memory.events"), "low 0\nhigh 0\nmax 6\noom 1\noom_kill 1\n"),
        ("proc/sys/vm/overcommit_memory", "2\n"),
    ]);
    let now = take(&root);
    let [group] = now.task_groups.as_slice() else { panic!("{:?}", now.task_groups) };
    assert_eq!((group.name.as_str(), group.max, group.used), ("/user.slice/user-1000.slice", 10_813, 213));
    let [memory] = now.memory_groups.as_slice() else { panic!("{:?}", now.memory_groups) };
    assert_eq!((memory.unified, memory.used), (true, 70_741_824));
    assert_eq!((memory.failures, memory.kills), (Some(6), Some(1)));
    assert_eq!(now.commit, Some((600_000 << 10, 100_000 << 10)));
}

#[test]
fn what_is_not_there_is_none() {
    let empty = tempfile::tempdir().expect("the temporary folder can be written");
    let now = take(&empty);
    let nothing = LimitReadings { user: "0".to_owned(), exempt: true, ..LimitReadings::default() };
    assert_eq!(now, nothing);
    // Malformed text is no number.
    let root = tree(&[
        ("proc/7/status", "Uid:\tx\nThreads: \n\u{0}"),
        ("proc/7/limits", "Max processes\n"),
        ("proc/7/maps", "x\n-\n"),
        ("proc/loadavg", "1 2 3\n"),
        ("proc/sys/kernel/pid_max", "many\n"),
    ]);
    let now = take(&root);
    assert_eq!((now.nproc.soft, now.tasks, now.pid_max), (None, None, None));
}
