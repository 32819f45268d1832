//! Made-up machines: each lacks something.

use super::*;
use record::Severity::{self, Fine, Hinders, Less, Unknown};
use std::fs::{create_dir_all, remove_file, write};
use tempfile::TempDir;

const STATUS: &str = "Name:\ttorment\nUid:\t1000\t1000\t1000\t1000\nThreads:\t3\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-7\n";
const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units
Max processes             96365                96365                processes
Max open files            1024                 524288               files
Max nice priority         0                    0
";
const V2: &str = "42 31 0:39 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

/// A healthy desktop with version 2 control groups, in a delegated group.
fn machine() -> TempDir {
    let root = tempfile::tempdir().expect("the temporary folder can be written");
    let group = "sys/fs/cgroup/user.slice/session.scope";
    for (path, text) in [
        ("proc/7/status", STATUS),
        ("proc/7/limits", LIMITS),
        ("proc/7/cgroup", "0::/user.slice/session.scope\n"),
        ("proc/7/mountinfo", V2),
        ("proc/7/mounts", "proc /proc proc rw 0 0\n"),
        ("proc/7/uid_map", "         0          0 4294967295\n"),
        ("proc/7/timerslack_ns", "50000\n"),
        ("proc/self/mountinfo", V2),
        ("proc/stat", "cpu  100 0 100 9800 0 0 0 0 0 0\ncpu0 100 0 100 9800 0 0 0 0 0 0\n"),
        ("proc/loadavg", "0.5 0.4 0.3 2/120 7000\n"),
        ("proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 500000 kB\nMemAvailable: 6000000 kB\n"),
        ("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
        ("proc/sys/kernel/yama/ptrace_scope", "1\n"),
        ("proc/sys/kernel/perf_event_paranoid", "4\n"),
        ("proc/sys/kernel/osrelease", "6.8.0-45-generic\n"),
        ("proc/sys/kernel/threads-max", "192730\n"),
        ("proc/sys/kernel/pid_max", "4194304\n"),
        ("proc/sys/fs/file-nr", "5000\t0\t9223372036854775807\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
        ("proc/sys/net/ipv4/tcp_tw_reuse", "2\n"),
        ("proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
        ("proc/sys/net/netfilter/nf_conntrack_count", "800\n"),
        ("proc/sys/net/core/somaxconn", "4096\n"),
        ("proc/sys/vm/max_map_count", "65530\n"),
        ("proc/sys/vm/overcommit_memory", "0\n"),
        ("sys/devices/system/cpu/online", "0-7\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never\n"),
        ("sys/fs/cgroup/cgroup.subtree_control", "cpu memory pids\n"),
        ("sys/fs/cgroup/cgroup.procs", ""),
        (&format!("{group}/cgroup.procs"), "7\n"),
        (&format!("{group}/cgroup.subtree_control"), ""),
        (&format!("{group}/pids.max"), "max\n"),
        (&format!("{group}/cpu.max"), "max 100000\n"),
    ] {
        set(&root, path, text);
    }
    root
}

fn set(root: &TempDir, path: &str, text: &str) {
    let path = root.path().join(path);
    create_dir_all(path.parent().expect("a file is in a folder")).expect("ours");
    write(path, text).expect("ours");
}

fn examined(root: &TempDir) -> Vec<Prerequisite> {
    examine(root.path(), 7, Duration::ZERO)
}

#[track_caller]
fn row(root: &TempDir, name: &str) -> Prerequisite {
    let rows = examined(root);
    rows.into_iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row is of {name}"))
}

/// For the healthy machine with one file replaced: the row's finding, and the command it suggests.
#[track_caller]
fn check(file: &str, text: &str, name: &str, bearing: Severity, found: &str, command: &str) {
    let root = machine();
    set(&root, file, text);
    let row = row(&root, name);
    assert_eq!(row.bearing, bearing, "{row:?}");
    assert!(row.found.contains(found), "{row:?}");
    assert_eq!(row.means.is_some(), row.bearing == Less || row.bearing == Hinders, "{row:?}");
    let remedy =
        row.remedy.map(|remedy| [remedy.now, remedy.for_good].map(Option::unwrap_or_default).join("\n"));
    assert!(remedy.clone().unwrap_or_default().contains(command), "{remedy:?}");
}

#[test]
fn a_healthy_desktop_has_nothing_that_hinders() {
    let rows = examined(&machine());
    let not_fine: Vec<(&str, &str)> = rows
        .iter()
        .filter(|row| row.bearing != Fine)
        .map(|row| (row.name.as_str(), row.bearing.name()))
        .collect();
    let expected = [("ptrace", "less"), ("tracepoints", "less"), ("priority", "less"), ("TIME_WAIT", "less")];
    assert_eq!(not_fine, expected, "what any user lacks: {rows:#?}");
    let of = |name: &str| rows.iter().find(|row| row.name == name).expect("it is told").found.as_str();
    assert_eq!(of("control groups"), "version 2");
    assert_eq!(of("limits of services"), "a plan may set them: control groups can be made");
    assert_eq!(of("connection tracking"), "800 of 262,144 (0.305 %)");
    assert_eq!(of("processors"), "8 of 8");
}

#[test]
fn who_may_look_into_processes() {
    const SCOPE: &str = "proc/sys/kernel/yama/ptrace_scope";
    check(
        SCOPE,
        "0\n",
        "ptrace",
        Less,
        "of the same user",
        "setcap cap_sys_ptrace,cap_dac_read_search,cap_sys_nice+ep",
    );
    check(SCOPE, "1\n", "ptrace", Less, "what torment starts itself", "kernel.yama.ptrace_scope=0");
    check(SCOPE, "2\n", "ptrace", Less, "only root", "kernel.yama.ptrace_scope=0");
    check(SCOPE, "3\n", "ptrace", Less, "nobody", "kernel.yama.ptrace_scope = 1, then reboot");
    let root = machine();
    let capable = |all: &str| STATUS.replace("CapEff:\t0000000000000000", &format!("CapEff:\t{all}"));
    set(&root, "proc/7/status", &capable("0000000000880004"));
    for (name, found) in [("ptrace", "any process"), ("priority", "nice -10")] {
        let row = row(&root, name);
        assert!(row.bearing == Fine && row.found.contains(found), "{row:?}");
    }
    set(&root, "proc/7/status", &capable("0000000000880000"));
    assert!(row(&root, "ptrace").found.contains("of the same user"), "the files of others are their owners'");
    set(&root, "proc/7/status", &capable("0000000000880004"));
    set(&root, "proc/7/uid_map", "0 1000 1\n");
    assert_eq!(row(&root, "priority").bearing, Less, "root of a user namespace is nobody outside");
    set(&root, SCOPE, "3\n");
    assert_eq!(row(&root, "ptrace").bearing, Less, "not even root may");
    remove_file(root.path().join(SCOPE)).expect("ours");
    assert_eq!(row(&root, "ptrace").bearing, Fine, "a kernel without Yama");
    check(
        "proc/7/mounts",
        "proc /proc proc rw,hidepid=2 0 0\n",
        "processes of others",
        Less,
        "hidepid=2",
        "hidepid=0",
    );
    check("proc/sys/kernel/perf_event_paranoid", "-1\n", "perf events", Fine, "paranoid -1", "");
}

#[test]
fn groups_of_either_version() {
    let root = machine();
    let v1 = "36 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
              38 31 0:34 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
    set(&root, "proc/self/mountinfo", v1);
    set(&root, "proc/7/mountinfo", v1);
    set(&root, "proc/7/cgroup", "8:pids:/\n4:memory:/\n3:cpu:/\n");
    for controller in ["cpu", "memory", "pids"] {
        set(&root, &format!("sys/fs/cgroup/{controller}/cgroup.procs"), "");
    }
    let first = row(&root, "control groups");
    assert_eq!((first.bearing, first.found.as_str()), (Less, "version 1"));
    set(&root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    set(&root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    let quota = row(&root, "quota");
    assert_eq!((quota.bearing, quota.figures["quota_milli_cpus"]), (Hinders, 500));
    set(&root, "proc/self/mountinfo", "");
    set(&root, "proc/7/mountinfo", "");
    let none = row(&root, "control groups");
    assert!(none.bearing == Less && none.found.contains("not seen: cpu, memory, pids"), "{none:?}");

    check(
        "sys/fs/cgroup/cgroup.subtree_control",
        "memory\n",
        "limits of services",
        Less,
        "gives 'cpu, memory, pids' on",
        "Delegate=yes",
    );
    let group = "sys/fs/cgroup/user.slice/session.scope";
    check(&format!("{group}/cpu.max"), "150000 100000\n", "quota", Hinders, "1.50 of 8", "CPUQuota=800%");
    check(&format!("{group}/cpu.max"), "400000 100000\n", "quota", Less, "4.00 of 8", "session.scope");
    check("proc/sys/kernel/osrelease", "5.10.0-30-amd64\n", "kernel", Hinders, "5.10", "newer kernel");
    check("proc/sys/kernel/osrelease", "5.11.0\n", "kernel", Fine, "5.11", "");
}

#[test]
fn tables_that_fill_up() {
    const COUNT: &str = "proc/sys/net/netfilter/nf_conntrack_count";
    const NAME: &str = "connection tracking";
    check(
        COUNT,
        "259000\n",
        NAME,
        Hinders,
        "259,000 of 262,144 (98.8 %)",
        "net.netfilter.nf_conntrack_max=524288",
    );
    check(COUNT, "140000\n", NAME, Less, "53.4 %", "nf_conntrack_max = 524288");
    check(
        "proc/sys/net/netfilter/nf_conntrack_max",
        "8192\n",
        NAME,
        Less,
        "8,192",
        "nf_conntrack_max=262144",
    );
    let root = machine();
    remove_file(root.path().join("proc/sys/net/netfilter/nf_conntrack_max")).expect("ours");
    assert_eq!(row(&root, NAME).found, "none here");
    check(
        "proc/sys/fs/file-nr",
        "99000\t0\t100000\n",
        "open files of all",
        Hinders,
        "99,000",
        "fs.file-max=400000",
    );
    check("proc/sys/net/core/somaxconn", "128\n", "listen backlog", Less, "128", "net.core.somaxconn=4096");
    const RANGE: &str = "proc/sys/net/ipv4/ip_local_port_range";
    check(
        RANGE,
        "60000 60999\n",
        "local ports",
        Hinders,
        "1,000, 60000",
        "\"net.ipv4.ip_local_port_range=1024 65535\"",
    );
    check(RANGE, "50000 60999\n", "local ports", Less, "11,000", "ip_local_port_range = 1024 65535");
    check(RANGE, "nonsense\n", "local ports", Unknown, "in no known format", "");
    check("proc/sys/net/ipv4/tcp_tw_reuse", "1\n", "TIME_WAIT", Fine, "after a second", "");
    check(
        "proc/sys/net/ipv4/tcp_tw_reuse",
        "0\n",
        "TIME_WAIT",
        Less,
        "after a minute",
        "net.ipv4.tcp_tw_reuse=1",
    );
}

#[test]
fn limits_of_a_process() {
    let files =
        |hard: &str| LIMITS.replace("1024                 524288", &format!("64                   {hard}"));
    check("proc/7/limits", &files("79"), "descriptors", Hinders, "79", "nofile 1048576");
    check("proc/7/limits", &files("1024"), "descriptors", Less, "1,024", "--nofile=1048576");
    check("proc/7/limits", &files("unlimited"), "descriptors", Fine, "any number", "");
    let nproc =
        |most: &str| LIMITS.replace("96365                96365", &format!("{most}                  {most}"));
    check("proc/7/limits", &nproc("100"), "RLIMIT_NPROC", Hinders, "100", "nproc");
    check("proc/7/limits", &nproc("3000"), "RLIMIT_NPROC", Less, "3,000", "--nproc=10003");
    check(
        "proc/7/limits",
        &LIMITS.replace("priority         0                    0", "priority         30   30"),
        "priority",
        Fine,
        "RLIMIT_NICE",
        "",
    );
    check("proc/sys/kernel/pid_max", "500\n", "kernel.pid_max", Hinders, "500", "kernel.pid_max=");
    let root = machine();
    let group = "sys/fs/cgroup/user.slice/session.scope";
    set(&root, &format!("{group}/pids.max"), "200\n");
    set(&root, &format!("{group}/pids.current"), "90\n");
    let pids = row(&root, "pids.max");
    assert_eq!((pids.bearing, pids.figures["limit"], pids.figures["used"]), (Hinders, 200, 90));
    check(
        "proc/meminfo",
        "MemTotal: 8000000 kB\nMemAvailable: 90000 kB\n",
        "memory",
        Hinders,
        "left of",
        "end what uses it",
    );
    check("proc/meminfo", "MemTotal: 8000000 kB\n", "memory", Unknown, "does not say", "");
    check("proc/sys/vm/overcommit_memory", "2\n", "overcommit", Less, "2", "vm.overcommit_memory=0");
}

#[test]
fn clocks_and_clock_speeds() {
    const CLOCK: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    check(CLOCK, "hpet\n", "clock source", Hinders, "hpet", "echo tsc >");
    check(
        "proc/7/timerslack_ns",
        "1000000\n",
        "timer slack",
        Hinders,
        "1 ms",
        "echo 50000 > /proc/$$/timerslack_ns",
    );
    const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    check(GOVERNOR, "powersave\n", "frequency", Hinders, "powersave (acpi-cpufreq)", "echo performance");
    check(GOVERNOR, "schedutil\n", "frequency", Less, "schedutil", "GOVERNOR=performance");
    check(
        "sys/devices/system/cpu/cpu11/cpufreq/scaling_governor",
        "ondemand\n",
        "frequency",
        Less,
        "performance, ondemand",
        "performance",
    );
    let root = machine();
    set(&root, GOVERNOR, "powersave\n");
    set(&root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate\n");
    assert_eq!(row(&root, "frequency").bearing, Less, "there it is not the lowest clock");
    assert!(examined(&root).iter().all(|row| row.name != "turbo"));
    check("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n", "turbo", Less, "on", "no_turbo");
    check("sys/devices/system/cpu/cpufreq/boost", "0\n", "turbo", Fine, "off", "");
    check(
        "sys/kernel/mm/transparent_hugepage/defrag",
        "[always] defer never\n",
        "huge pages",
        Less,
        "madvise, made always",
        "echo madvise",
    );
    check("proc/stat", "cpu  100 0 100 9000 0 0 0 800 0 0\n", "stolen time", Hinders, "8 % now", "");
    check("proc/stat", "cpu  100 0 100 9600 0 0 0 200 0 0\n", "stolen time", Less, "2 % now", "");
    check("proc/7/status", &STATUS.replace("0-7", "3,5"), "processors", Less, "2 of 8", "taskset -pc 0-7 $$");
}

/// A folder stands for a file that exists but cannot be read, whoever reads it.
#[test]
fn what_cannot_be_read_is_said_with_why() {
    for (file, name) in [
        ("proc/sys/kernel/yama/ptrace_scope", "ptrace"),
        ("proc/sys/net/netfilter/nf_conntrack_count", "connection tracking"),
        ("proc/sys/net/core/somaxconn", "listen backlog"),
        ("proc/7/timerslack_ns", "timer slack"),
        ("proc/stat", "stolen time"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "frequency"),
        ("proc/7/limits", "descriptors"),
    ] {
        let root = machine();
        remove_file(root.path().join(file)).expect("ours");
        create_dir_all(root.path().join(file)).expect("ours");
        let row = row(&root, name);
        assert_eq!(row.bearing, Unknown, "{row:?}");
        assert!(row.found.starts_with(&format!("/{file} cannot be read: ")), "{row:?}");
    }
    let nothing = tempfile::tempdir().expect("the temporary folder can be written");
    let rows = examined(&nothing);
    assert!(rows.iter().all(|row| row.bearing != Hinders), "what is not known does not hinder: {rows:#?}");
    assert!(rows.iter().filter(|row| row.bearing == Unknown).count() > 10, "{rows:#?}");
}
