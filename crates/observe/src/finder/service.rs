//! Finds the first processes of the service: those named, or those that listen at the target's address.

use super::access_level::hidden_processes;
use super::holders::{find_holders, root_processes};
use super::socket_lister::SocketLister;
use crate::target::{TargetLocation, is_here};
use plan::WatchPlan;
use procfs::{TcpSocket, TcpState};
use record::watch::MissingMeasure;
use std::collections::HashSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

#[derive(Debug, Default)]
pub(crate) struct FoundService {
    pub pids: Vec<u32>,
    /// Why there are none.
    pub missing: Vec<MissingMeasure>,
}

pub(crate) fn find_named(plan: &WatchPlan) -> FoundService {
    let mut found = FoundService::default();
    let mut add_missing =
        |what: String, then: &str| found.missing.push(MissingMeasure::new("the service", what + then));
    let mut pids = Vec::new();
    for pid in &plan.pids {
        if procfs::running_process(*pid).is_some() {
            pids.push(*pid);
        } else {
            add_missing(format!("there is no process {pid}"), "; give the id of one that runs");
        }
    }
    if let Some(group) = &plan.cgroup {
        let members = cgroup_members(group);
        if members.is_empty() {
            add_missing(
                format!("no process is in the control group '{group}'"),
                "; /proc/PID/cgroup says which is whose",
            );
        }
        pids.extend(members);
    }
    if let Some(part) = &plan.command {
        let with = find_by_command(part);
        if with.is_empty() {
            add_missing(format!("no process has '{part}' in its command line"), "; is it running?");
        }
        pids.extend(with);
    }
    pids.sort_unstable();
    pids.dedup();
    found.pids = root_processes(&pids);
    found
}

/// Name of the process that only holds a pod's namespaces for its containers.
const PAUSE: &str = "pause";

/// The processes of pods, by their UIDs in cgroup names.
fn find_in_pods(uids: &[String]) -> FoundService {
    let is_of_one = |pid: u32| {
        fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|groups| belongs_to_pod(&groups, uids))
    };
    find_matching(
        is_of_one,
        "none of the target's pods has a process on this node that can be seen from here",
    )
}

/// All other processes.
fn find_all_others() -> FoundService {
    let own = own_ancestors();
    find_matching(|pid| !own.contains(&pid), "no process but the watcher's is to be seen in the target's pod")
}

/// The matching processes that run and are not `pause`; if none, `nobody` says why.
fn find_matching(is_one: impl Fn(u32) -> bool, nobody: &str) -> FoundService {
    let works = |pid: &u32| procfs::running_process(*pid).is_some_and(|process| process.name != PAUSE);
    let pids: Vec<u32> = procfs::pids().filter(|pid| is_one(*pid)).filter(works).collect();
    let mut found = FoundService { pids: root_processes(&pids), missing: Vec::new() };
    if found.pids.is_empty() {
        found.missing.push(MissingMeasure::new("the service", nobody));
    }
    found
}

/// Whether a process with this /proc/PID/cgroup is in one of these pods. systemd's names of cgroups have no
/// hyphens in UIDs.
fn belongs_to_pod(groups: &str, uids: &[String]) -> bool {
    let groups = groups.replace('_', "-");
    uids.iter().any(|uid| groups.contains(&format!("pod{uid}")))
}

/// The processes of a cgroup and its descendants, by its path below a mount.
fn cgroup_members(group: &str) -> Vec<u32> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let path = words.next()?;
        words.next()?.starts_with("cgroup").then_some(path)
    });
    let group = group.trim_matches('/');
    let mut pids = Vec::new();
    for mount in mounts.filter(|_| !group.split('/').any(|part| part == "..")) {
        within(&Path::new(mount).join(group), &mut pids, 0);
    }
    pids.sort_unstable();
    pids.dedup();
    pids
}

fn within(folder: &Path, pids: &mut Vec<u32>, depth: usize) {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    pids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()).filter(|pid| *pid > 0));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // Deeper than any in use.
    for entry in entries.filter(|_| depth < 16) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            within(&entry.path(), pids, depth + 1);
        }
    }
}

/// The processes with this in their command line, except torment and its ancestors.
fn find_by_command(part: &str) -> Vec<u32> {
    let own = own_ancestors();
    let pids = procfs::pids().filter(|pid| !own.contains(pid));
    pids.filter(|pid| procfs::arguments(*pid).join(" ").contains(part)).collect()
}

/// torment and its ancestors, except PID 1.
fn own_ancestors() -> HashSet<u32> {
    let mut own = HashSet::new();
    let mut pid = std::process::id();
    while pid > 1 && own.insert(pid) {
        pid = procfs::TaskStat::read(pid).map_or(0, |stat| stat.parent);
    }
    own
}

/// The sockets listening at the target's address.
pub(crate) fn listeners(target: &TargetLocation) -> HashSet<u64> {
    match target {
        TargetLocation::Pods(_)
        | TargetLocation::Inside
        | TargetLocation::Unknown
        | TargetLocation::Remote => HashSet::new(),
        TargetLocation::Tcp(addresses) => {
            let local_addresses: Vec<SocketAddr> =
                addresses.iter().copied().filter(|at| is_here(at.ip())).collect();
            if local_addresses.is_empty() {
                return HashSet::new();
            }
            let listening = SocketLister::Own.sockets(&[TcpState::LISTEN]);
            // The client's choice of address is unknown; mostly all are the same process.
            local_addresses
                .iter()
                .flat_map(|at| listening_at(&listening, *at))
                .map(|socket| socket.inode.into())
                .collect()
        }
        TargetLocation::Unix(path) => unix_listeners(path),
    }
}

/// The sockets that accept connections to an address: bound to it, or else to the wildcard address.
pub(crate) fn listening_at(listening: &[TcpSocket], at: SocketAddr) -> Vec<TcpSocket> {
    let takes = |socket: &&TcpSocket| socket.state == TcpState::LISTEN && socket.local.port() == at.port();
    let exact: Vec<TcpSocket> =
        listening.iter().filter(takes).filter(|s| s.local.ip() == at.ip()).copied().collect();
    if !exact.is_empty() {
        return exact;
    }
    let any =
        |socket: &&TcpSocket| socket.local.ip().is_unspecified() && (at.is_ipv4() || socket.local.is_ipv6());
    listening.iter().filter(takes).filter(any).copied().collect()
}

/// The sockets in `/proc/net/unix` that listen at this path.
fn unix_listeners(path: &Path) -> HashSet<u64> {
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let text = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let sockets = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(3);
        let flags = u32::from_str_radix(words.next()?, 16).ok()?;
        let inode: u64 = words.nth(2)?.parse().ok()?;
        let name = Path::new(words.next()?);
        // __SO_ACCEPTCON
        (flags & 0x1_0000 != 0 && (name == path || name == full)).then_some(inode)
    });
    sockets.collect()
}

/// The processes that have the target's listening sockets.
pub(crate) fn find_serving(target: &TargetLocation, inodes: &HashSet<u64>) -> FoundService {
    let mut found = FoundService::default();
    let mut add_missing = |text: String| found.missing.push(MissingMeasure::new("the service", text));
    let address = match target {
        TargetLocation::Unknown => {
            add_missing("where the target runs is unknown; name its process with --pid".to_owned());
            return found;
        }
        TargetLocation::Remote => return found,
        TargetLocation::Pods(uids) => return find_in_pods(uids),
        TargetLocation::Inside => return find_all_others(),
        TargetLocation::Unix(path) => path.display().to_string(),
        TargetLocation::Tcp(addresses) => {
            let list: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
            let list = list.join(", ");
            if !addresses.iter().any(|at| is_here(at.ip())) {
                add_missing(format!(
                    "{list} is not an address of this machine; \
                     run torment on the target's, or name the process with --pid if it is in a container here"
                ));
                return found;
            }
            list
        }
    };
    if inodes.is_empty() {
        add_missing(format!(
            "nothing listens at {address} in torment's network namespace; name the process with --pid"
        ));
        return found;
    }
    let holders = find_holders(inodes);
    found.pids = root_processes(&holders.pids);
    if let Some(proxy) = found.pids.iter().find(|pid| is_proxy(**pid)) {
        add_missing(format!(
            "process {proxy} at {address} hands connections on into a container; name the process there with --pid"
        ));
    }
    if found.pids.is_empty()
        && procfs::socket_inodes(std::process::id()).is_ok_and(|own| own.iter().any(|i| inodes.contains(i)))
    {
        add_missing(format!("torment itself listens at {address}"));
    } else if found.pids.is_empty() {
        add_missing(format!(
            "something listens at {address}, but torment may not look into {} processes of other users; run \
             torment as root or as the target's user, or name the process with --pid",
            holders.hidden
        ));
        found.missing.extend(hidden_processes());
    }
    found
}

/// Docker's userland proxy for a container's port.
fn is_proxy(pid: u32) -> bool {
    procfs::running_process(pid).is_some_and(|process| process.name == "docker-proxy")
}
