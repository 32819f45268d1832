//! The facts read of a machine, before any of them is judged.

use crate::files::{FileRead, FileTree, optional};
use procfs::cgroups::{self, GroupPaths};
use procfs::{CpuTimes, ResourceLimit, field, parse_limit, parse_number};
use record::SystemLimit;
use record::watch::CpuQuota;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tasks::ThreadsWanted;

/// More tasks than a load and the services of a plan need.
pub(crate) const TASKS_WANTED: u64 = 10_000;

/// All facts, as found for one process.
pub(crate) struct MachineFacts {
    // Privileges.
    pub is_root: bool,
    /// `CapEff` (capabilities(7)).
    pub capabilities: FileRead<u64>,
    /// In a user namespace of its own: its capabilities are valid only there.
    pub nested: bool,

    // What can be seen.
    pub ptrace_scope: FileRead<Option<u64>>,
    pub hidepid: FileRead<Option<String>>,
    pub perf_paranoid: FileRead<Option<String>>,
    pub tracepoints: Result<(), String>,
    pub pressure: FileRead<String>,

    // What is permitted.
    pub groups: FileRead<GroupPaths>,
    pub delegated: Result<(), String>,
    /// RLIMIT_NICE: 20 minus the lowest permitted nice value.
    pub nice_limit: FileRead<ResourceLimit>,

    // How much there can be.
    pub descriptors: FileRead<ResourceLimit>,
    /// Open files of the whole machine, and their maximum.
    pub open_files: FileRead<(u64, u64)>,
    pub ports: FileRead<(u64, u64)>,
    pub tw_reuse: FileRead<u64>,
    /// Tracked connections, and their maximum; none without tracking.
    pub conntrack: FileRead<Option<(u64, u64)>>,
    pub backlog: FileRead<u64>,
    pub system_limits: Vec<SystemLimit>,
    pub overcommit: FileRead<u64>,

    // How exactly requests can be timed.
    pub kernel_release: FileRead<String>,
    pub present_cpus: FileRead<u64>,
    pub allowed_cpus: FileRead<u64>,
    pub quota: Option<Quota>,
    /// Processor times at the beginning and at the end of the watch.
    pub cpu_times: FileRead<(CpuTimes, CpuTimes)>,
    pub clock_source: FileRead<String>,
    pub clock_sources: FileRead<String>,
    /// Timer resolution (clock_getres(2)).
    pub timer_ns: Option<u64>,
    pub slack_ns: FileRead<u64>,
    /// The frequency governor of each processor, and its driver; empty without frequency scaling.
    pub governors: Vec<FileRead<String>>,
    pub cpufreq_driver: FileRead<String>,
    /// Whether clock frequencies may exceed what can be sustained; none if unknown.
    pub turbo: Option<Turbo>,
    pub huge_pages: FileRead<Option<(String, String)>>,
}

/// A processor quota, and the control group that sets it.
pub(crate) struct Quota {
    pub quota: CpuQuota,
    pub folder: PathBuf,
    pub unified: bool,
}

/// The switch for it.
pub(crate) enum Turbo {
    /// `intel_pstate/no_turbo`.
    Intel(bool),
    /// `cpufreq/boost`.
    Boost(bool),
}

const CPUS: &str = "sys/devices/system/cpu";
const CLOCKS: &str = "sys/devices/system/clocksource/clocksource0";
const HUGE: &str = "sys/kernel/mm/transparent_hugepage";
const CONNTRACK: &str = "proc/sys/net/netfilter";

impl MachineFacts {
    pub fn read(root: &Path, pid: u32, watch: Duration) -> Self {
        let tree = FileTree::new(root, pid);
        let limit_of = |name: &str| tree.process_file("limits", |limits| parse_limit(limits, name));
        let groups = tree.process_file("cgroup", |text| cgroups::find(root, pid, text).ok());
        let wanted = ThreadsWanted { max: Some(TASKS_WANTED), ..ThreadsWanted::default() };
        let system_limits = tasks::forecast_of(root, pid, &wanted);
        let cpu = |name: &str| format!("{CPUS}/{name}");
        let cpu_names = tree.names(CPUS).into_iter().filter(|name| {
            name.strip_prefix("cpu").and_then(|number| parse_number(number.as_bytes())).is_some()
        });
        let governors = cpu_names.map(|name| tree.text(&cpu(&format!("{name}/cpufreq/scaling_governor"))));
        let mut facts = Self {
            is_root: tree.process_file("status", |text| field(text, "Uid").map(|ids| ids.starts_with('0')))
                == Ok(true),
            capabilities: tree
                .process_file("status", |text| u64::from_str_radix(field(text, "CapEff")?, 16).ok()),
            nested: tree
                .process_file("uid_map", |map| Some(!map.ends_with(" 4294967295")))
                .unwrap_or_default(),
            ptrace_scope: optional(tree.number("proc/sys/kernel/yama/ptrace_scope")),
            hidepid: tree
                .process_file("mounts", |mounts| Some(procfs::hiding_options(mounts).map(str::to_owned))),
            perf_paranoid: optional(tree.text("proc/sys/kernel/perf_event_paranoid")),
            tracepoints: trace::find_instances_in(root).map(|_| ()),
            pressure: tree.text("proc/pressure/cpu"),
            quota: quota(root, pid, groups.as_ref().ok()),
            groups,
            delegated: service::check_may_limit(root, pid),
            nice_limit: limit_of("Max nice priority"),
            descriptors: limit_of("Max open files"),
            open_files: tree.parsed("proc/sys/fs/file-nr", |text| {
                let mut words = text.split_ascii_whitespace().map(|word| parse_number(word.as_bytes()));
                Some((words.next()??, words.nth(1)??))
            }),
            ports: tree.parsed("proc/sys/net/ipv4/ip_local_port_range", procfs::parse_port_range),
            tw_reuse: tree.number("proc/sys/net/ipv4/tcp_tw_reuse"),
            conntrack: optional(tree.number(&format!("{CONNTRACK}/nf_conntrack_max"))).and_then(|most| {
                let with_count = |most| Ok((tree.number(&format!("{CONNTRACK}/nf_conntrack_count"))?, most));
                most.map(with_count).transpose()
            }),
            backlog: tree.number("proc/sys/net/core/somaxconn"),
            system_limits,
            overcommit: tree.number("proc/sys/vm/overcommit_memory"),
            kernel_release: tree.text("proc/sys/kernel/osrelease"),
            present_cpus: tree.parsed(&cpu("online"), procfs::count_list),
            allowed_cpus: tree
                .process_file("status", |text| procfs::count_list(field(text, "Cpus_allowed_list")?)),
            cpu_times: Ok((CpuTimes::default(), CpuTimes::default())),
            clock_source: tree.text(&format!("{CLOCKS}/current_clocksource")),
            clock_sources: tree.text(&format!("{CLOCKS}/available_clocksource")),
            timer_ns: timer_ns(),
            slack_ns: tree.process_file("timerslack_ns", |text| parse_number(text.as_bytes())),
            governors: governors.filter(|governor| !matches!(governor, Err(why) if why.absent)).collect(),
            cpufreq_driver: tree.text(&cpu("cpu0/cpufreq/scaling_driver")),
            turbo: match tree.number(&cpu("intel_pstate/no_turbo")) {
                Ok(no) => Some(Turbo::Intel(no == 0)),
                Err(_) => tree.number(&cpu("cpufreq/boost")).ok().map(|on| Turbo::Boost(on != 0)),
            },
            huge_pages: optional(tree.parsed(&format!("{HUGE}/enabled"), chosen)).and_then(|enabled| {
                let with_defrag = |enabled| Ok((enabled, tree.parsed(&format!("{HUGE}/defrag"), chosen)?));
                enabled.map(with_defrag).transpose()
            }),
        };
        // Last, so that our own reading is not taken for the work of others.
        let read_times = || tree.parsed("proc/stat", |stat| procfs::parse_cpu_times(stat, "cpu"));
        let before = read_times();
        std::thread::sleep(watch);
        facts.cpu_times = before.and_then(|before| Ok((before, read_times()?)));
        facts
    }

    /// Whether it has this capability, by its number in capabilities(7).
    pub fn has_capability(&self, capability: u32) -> bool {
        self.capabilities.as_ref().is_ok_and(|all| all & 1 << capability != 0)
    }
}

/// The smallest quota above the process, as read for a target.
fn quota(root: &Path, pid: u32, groups: Option<&GroupPaths>) -> Option<Quota> {
    let quota = observe::limits_of(root, pid).ok()??.cpu?;
    let line = &groups?.cpu;
    let folder = line.groups.iter().find(|group| group.name == quota.group)?.folder.clone();
    Some(Quota { quota, folder, unified: line.unified })
}

/// The bracketed value, as in `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

fn timer_ns() -> Option<u64> {
    let resolution = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(resolution.tv_sec).ok()?;
    Some(seconds * 1_000_000_000 + u64::try_from(resolution.tv_nsec).ok()?)
}
