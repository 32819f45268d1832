use super::*;
use record::watch::{CpuQuota, MemoryLimit, TaskLimit};
use std::fs::{create_dir_all, write};
use tempfile::TempDir;

const V1_MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,size=4096k,nr_inodes=1024,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
";
const V2_MOUNTS: &str = "42 31 0:39 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

/// Writes files, each a path and its contents.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().expect("the temporary folder can be written");
    for (path, text) in files {
        put(&root, path, text);
    }
    root
}

fn put(root: &TempDir, path: &str, text: &str) {
    let path = root.path().join(path);
    create_dir_all(path.parent().expect("a file is in a folder")).expect("it can be made");
    write(path, text).expect("it can be written");
}

fn groups(root: &TempDir) -> CgroupReader {
    CgroupReader::of(root.path(), 7)
}

fn seen(groups: &mut CgroupReader) -> Cgroup {
    groups.read().expect("the process is there").expect("it is in a group")
}

#[test]
fn version_1_with_the_quota_of_an_ancestor() {
    let root = tree(&[
        ("proc/self/mountinfo", V1_MOUNTS),
        (
            "proc/7/cgroup",
            "4:cpu,cpuacct:/shop/web\n3:memory:/shop\n2:pids:/shop/web\n1:name=systemd:/x:y\n0::/\n",
        ),
        ("sys/fs/cgroup/cpu,cpuacct/shop/web/cpu.cfs_quota_us", "200000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/shop/web/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/shop/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/shop/cpu.cfs_period_us", "100000\n"),
        (
            "sys/fs/cgroup/cpu,cpuacct/shop/cpu.stat",
            "nr_periods 32\nnr_throttled 29\nthrottled_time 4253816293\n",
        ),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "6000000000\n"),
        ("sys/fs/cgroup/memory/shop/memory.limit_in_bytes", "1073741824\n"),
        ("sys/fs/cgroup/memory/shop/memory.usage_in_bytes", "1073000000\n"),
        ("sys/fs/cgroup/memory/shop/memory.failcnt", "17\n"),
        ("sys/fs/cgroup/memory/shop/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        (
            "sys/fs/cgroup/memory/shop/memory.stat",
            "cache 0\ninactive_file 1\ntotal_inactive_file 4096\ntotal_active_file 8192\ntotal_workingset_refault_file 5\n",
        ),
        ("sys/fs/cgroup/pids/shop/web/pids.max", "max\n"),
        ("sys/fs/cgroup/pids/shop/web/pids.current", "8\n"),
        ("sys/fs/cgroup/pids/shop/web/pids.events", "max 3\n"),
        ("sys/fs/cgroup/pids/shop/pids.max", "512\n"),
        ("sys/fs/cgroup/pids/shop/pids.current", "100\n"),
        ("sys/fs/cgroup/pids/shop/pids.events", "max 1\n"),
    ]);
    let mut groups = groups(&root);
    assert_eq!(seen(&mut groups).cpu.map(|cpu| cpu.periods), Some(0), "what was before is not counted");
    for (file, text) in [
        ("cpu,cpuacct/shop/cpu.stat", "nr_periods 72\nnr_throttled 69\nthrottled_time 10150230759\n"),
        ("memory/shop/memory.failcnt", "20\n"),
        ("memory/shop/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
        ("pids/shop/web/pids.events", "max 5\n"),
    ] {
        put(&root, &format!("sys/fs/cgroup/{file}"), text);
    }
    let cgroup = seen(&mut groups);
    assert_eq!(
        cgroup.cpu,
        Some(CpuQuota {
            group: "/shop".into(),
            cpus: 0.5,
            periods: 40,
            throttled: 40,
            throttled_ns: 5_896_414_466
        })
    );
    assert_eq!(
        cgroup.memory,
        Some(MemoryLimit {
            group: "/shop".into(),
            used_bytes: 1_073_000_000,
            cache_bytes: 12_288,
            limit_bytes: 1 << 30,
            failures: 3,
            high: 0,
            kills: 1,
            refaults: 0,
        })
    );
    assert_eq!(
        cgroup.tasks,
        Some(TaskLimit { group: "/shop".into(), used: 100, limit: 512, refused: Some(2) })
    );
    assert_eq!(cgroup.pressure, None);
}

#[test]
fn version_2_with_pressure() {
    let slice = "sys/fs/cgroup/system.slice";
    let shop = format!("{slice}/shop.service");
    let files = [
        ("proc/self/mountinfo".to_owned(), V2_MOUNTS),
        ("proc/7/cgroup".to_owned(), "0::/system.slice/shop.service\n"),
        (format!("{shop}/cgroup.events"), "populated 1\nfrozen 0\n"),
        (format!("{shop}/cpu.max"), "max 100000\n"),
        (format!("{slice}/cpu.max"), "150000 100000\n"),
        (
            format!("{slice}/cpu.stat"),
            "usage_usec 9\nuser_usec 5\nnr_periods 10\nnr_throttled 1\nthrottled_usec 2000\n",
        ),
        (format!("{shop}/memory.max"), "max\n"),
        (format!("{shop}/memory.high"), "536870912\n"),
        (format!("{shop}/memory.current"), "500000000\n"),
        (format!("{shop}/memory.events"), "low 0\nhigh 10\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n"),
        (
            format!("{shop}/memory.stat"),
            "anon 4\ninactive_file 100\nactive_file 20\nworkingset_refault_file 9\n",
        ),
        (format!("{slice}/memory.max"), "8589934592\n"),
        (format!("{slice}/memory.current"), "600000000\n"),
        (format!("{shop}/pids.max"), "4915\n"),
        (format!("{shop}/pids.current"), "44\n"),
        (format!("{shop}/cpu.pressure"), "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n"),
        (format!("{shop}/memory.pressure"), "some avg10=0 total=10\nfull avg10=0 total=5\n"),
        (format!("{shop}/io.pressure"), "some avg10=0 total=20\nfull avg10=0 total=6\n"),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let root = tree(&files);
    let mut groups = groups(&root);
    assert_eq!(seen(&mut groups).pressure, None, "nothing to compare with");
    put(&root, &format!("{slice}/cpu.stat"), "nr_periods 20\nnr_throttled 9\nthrottled_usec 5000\n");
    put(&root, &format!("{shop}/memory.events"), "low 0\nhigh 14\nmax 0\noom 0\noom_kill 0\n");
    put(&root, &format!("{shop}/cpu.pressure"), "some avg10=0.00 total=1700\nfull avg10=0.00 total=0\n");
    let cgroup = seen(&mut groups);
    let cpu = cgroup.cpu.expect("there is a quota");
    assert_eq!((cpu.group.as_str(), cpu.cpus), ("/system.slice", 1.5));
    assert_eq!((cpu.periods, cpu.throttled, cpu.throttled_ns), (10, 8, 3_000_000));
    let memory = cgroup.memory.expect("there is a limit");
    assert_eq!((memory.limit_bytes, memory.cache_bytes, memory.high), (1 << 29, 120, 4));
    assert_eq!(cgroup.tasks.expect("there is one").refused, None, "this kernel does not count them");
    let pressure = cgroup.pressure.expect("it is kept");
    assert_eq!((pressure.cpu_some_us, pressure.io_full_us), (700, 0));
}

#[test]
fn a_hybrid_host_has_a_version_for_each_controller() {
    let mounts = "\
32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
    let root = tree(&[
        ("proc/self/mountinfo", mounts),
        ("proc/7/cgroup", "1:cpu:/a\n0::/b\n"),
        ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "25000\n"),
        ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/unified/b/cpu.max", "10000 100000\n"),
        ("sys/fs/cgroup/unified/b/pids.max", "9\n"),
        ("sys/fs/cgroup/unified/b/pids.current", "4\n"),
    ]);
    let cgroup = seen(&mut groups(&root));
    assert_eq!(cgroup.cpu.expect("there is a quota").cpus, 0.25, "version 1 has this controller");
    assert_eq!(cgroup.tasks.map(|tasks| (tasks.used, tasks.limit)), Some((4, 9)));
    assert_eq!(cgroup.memory, None);
}

#[test]
fn within_a_container_paths_begin_at_what_is_mounted() {
    let mounts =
        "32 31 0:29 /docker/4f /sys/fs/cgroup/my\\040cpu ro master:11 - cgroup cgroup rw,cpu,cpuacct\n";
    let root = tree(&[
        ("proc/self/mountinfo", mounts),
        ("proc/7/cgroup", "4:cpu,cpuacct:/docker/4f/worker\n"),
        ("sys/fs/cgroup/my cpu/worker/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/my cpu/cpu.cfs_quota_us", "300000\n"),
        ("sys/fs/cgroup/my cpu/cpu.cfs_period_us", "100000\n"),
    ]);
    let cpu = seen(&mut groups(&root)).cpu.expect("there is a quota");
    assert_eq!((cpu.group.as_str(), cpu.cpus), ("/docker/4f", 3.0));
}

#[test]
fn a_hierarchy_mounted_only_where_the_process_is() {
    let root = tree(&[
        ("proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/vda rw\n"),
        ("proc/7/mountinfo", V2_MOUNTS),
        ("proc/7/cgroup", "0::/\n"),
        ("proc/7/root/sys/fs/cgroup/cpu.max", "40000 20000\n"),
    ]);
    assert_eq!(seen(&mut groups(&root)).cpu.expect("there is a quota").cpus, 2.0);
}

#[test]
fn nothing_to_be_seen_and_nonsense() {
    let root = tree(&[("proc/self/mountinfo", V2_MOUNTS), ("proc/7/cgroup", "0::/../elsewhere\n")]);
    assert_eq!(groups(&root).read().expect("the process is there"), None);
    let root = tree(&[
        ("proc/self/mountinfo", "x\n\n - \n1 2 - cgroup2\n42 31 0:39 / /sys rw - cgroup2 none rw\n"),
        ("proc/7/cgroup", "what\n0::/a (deleted)\n::\n"),
        ("sys/a/cpu.max", "-1\n"),
        ("sys/a/memory.max", "12 bytes\n"),
        ("sys/a/pids.max", "\n"),
    ]);
    assert_eq!(seen(&mut groups(&root)), Cgroup::default());
}

#[test]
fn what_killed_a_process_is_read_after_its_end() {
    let root = tree(&[
        ("proc/self/mountinfo", V2_MOUNTS),
        ("proc/7/cgroup", "0::/a\n"),
        ("sys/fs/cgroup/a/memory.max", "100\n"),
        ("sys/fs/cgroup/a/memory.current", "100\n"),
        ("sys/fs/cgroup/a/memory.events", "oom_kill 0\n"),
    ]);
    let mut groups = groups(&root);
    seen(&mut groups);
    fs::remove_file(root.path().join("proc/7/cgroup")).expect("it is there");
    put(&root, "sys/fs/cgroup/a/memory.events", "oom_kill 1\n");
    assert_eq!(seen(&mut groups).memory.expect("as before").kills, 1);
}
