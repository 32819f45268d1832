//! The first processes of the service: those named, or whoever listens where the target is.

use super::holders::{first_ones, holders};
use super::level::hidden;
use super::listing::Listing;
use crate::target::{Where, is_here};
use plan::Watch;
use procfs::{Socket, State};
use record::watch::Missing;
use std::collections::HashSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// The service as it was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Its first processes.
    pub pids: Vec<u32>,
    /// Why there are none.
    pub missing: Vec<Missing>,
}

/// The processes that are named.
pub(crate) fn named(asked: &Watch) -> Found {
    let mut found = Found::default();
    let mut none = |what: String, then: &str| found.missing.push(Missing::new("the service", what + then));
    let mut pids = Vec::new();
    for pid in &asked.pids {
        if procfs::process(*pid).is_some() {
            pids.push(*pid);
        } else {
            none(format!("there is no process {pid}"), "; give the id of one that runs");
        }
    }
    if let Some(group) = &asked.cgroup {
        let members = members(group);
        if members.is_empty() {
            none(
                format!("no process is in the control group '{group}'"),
                "; /proc/PID/cgroup says which is whose",
            );
        }
        pids.extend(members);
    }
    if let Some(part) = &asked.command {
        let with = commands(part);
        if with.is_empty() {
            none(format!("no process has '{part}' in its command line"), "; is it running?");
        }
        pids.extend(with);
    }
    pids.sort_unstable();
    pids.dedup();
    found.pids = first_ones(&pids);
    found
}

/// What holds the namespaces of a pod for its other containers, and does nothing else.
const PAUSE: &str = "pause";

/// The processes of pods, by the control groups that nodes name after them.
fn in_pods(uids: &[String]) -> Found {
    let is_of_one = |pid: u32| {
        fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|groups| of_a_pod(&groups, uids))
    };
    working(is_of_one, "none of the target's pods has a process on this node that can be seen from here")
}

/// All that there are beside this one.
fn beside() -> Found {
    let own = lineage();
    working(|pid| !own.contains(&pid), "no process but the watcher's is to be seen in the target's pod")
}

/// Those of all processes that do something; else why there are none.
fn working(is_one: impl Fn(u32) -> bool, nobody: &str) -> Found {
    let works = |pid: &u32| procfs::process(*pid).is_some_and(|process| process.name != PAUSE);
    let pids: Vec<u32> = procfs::pids().filter(|pid| is_one(*pid)).filter(works).collect();
    let mut found = Found { pids: first_ones(&pids), missing: Vec::new() };
    if found.pids.is_empty() {
        found.missing.push(Missing::new("the service", nobody));
    }
    found
}

/// Whether a process with this /proc/PID/cgroup is in one of these pods. Of the two ways to name a group, systemd's has no hyphens.
fn of_a_pod(groups: &str, uids: &[String]) -> bool {
    let groups = groups.replace('_', "-");
    uids.iter().any(|uid| groups.contains(&format!("pod{uid}")))
}

/// The processes of a control group, given by its path below a mount, and of those in it.
fn members(group: &str) -> Vec<u32> {
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
    // Deeper than any that are used.
    for entry in entries.filter(|_| depth < 16) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            within(&entry.path(), pids, depth + 1);
        }
    }
}

/// The processes with this in their command line, but for torment and those that started it.
fn commands(part: &str) -> Vec<u32> {
    let own = lineage();
    let pids = procfs::pids().filter(|pid| !own.contains(pid));
    pids.filter(|pid| procfs::arguments(*pid).join(" ").contains(part)).collect()
}

/// This process, and those that started it, but for the first of all.
fn lineage() -> HashSet<u32> {
    let mut own = HashSet::new();
    let mut pid = std::process::id();
    while pid > 1 && own.insert(pid) {
        pid = procfs::Stat::read(pid).map_or(0, |stat| stat.parent);
    }
    own
}

/// The sockets that listen where the target is.
pub(crate) fn listeners(target: &Where) -> HashSet<u64> {
    match target {
        Where::Pods(_) | Where::Inside | Where::Nowhere | Where::Elsewhere => HashSet::new(),
        Where::Tcp(addresses) => {
            let here: Vec<SocketAddr> = addresses.iter().copied().filter(|at| is_here(at.ip())).collect();
            if here.is_empty() {
                return HashSet::new();
            }
            let listening = Listing::Own.sockets(&[State::LISTEN]);
            // Which of them the load goes to is its own choice; mostly they are one and the same process.
            here.iter()
                .flat_map(|at| listening_at(&listening, *at))
                .map(|socket| socket.inode.into())
                .collect()
        }
        Where::Unix(path) => unix_listeners(path),
    }
}

/// Those that take a connection to an address: those at it, or else those at all addresses.
pub(crate) fn listening_at(listening: &[Socket], at: SocketAddr) -> Vec<Socket> {
    let takes = |socket: &&Socket| socket.state == State::LISTEN && socket.local.port() == at.port();
    let exact: Vec<Socket> =
        listening.iter().filter(takes).filter(|s| s.local.ip() == at.ip()).copied().collect();
    if !exact.is_empty() {
        return exact;
    }
    let any =
        |socket: &&Socket| socket.local.ip().is_unspecified() && (at.is_ipv4() || socket.local.is_ipv6());
    listening.iter().filter(takes).filter(any).copied().collect()
}

/// The listening ones of `/proc/net/unix` with this path.
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

/// Who has the sockets at which the target listens.
pub(crate) fn serving(target: &Where, inodes: &HashSet<u64>) -> Found {
    let mut found = Found::default();
    let mut why = |text: String| found.missing.push(Missing::new("the service", text));
    let at = match target {
        Where::Nowhere => {
            why("where the target runs is unknown; name its process with --pid".to_owned());
            return found;
        }
        Where::Elsewhere => return found,
        Where::Pods(uids) => return in_pods(uids),
        Where::Inside => return beside(),
        Where::Unix(path) => path.display().to_string(),
        Where::Tcp(addresses) => {
            let list: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
            let list = list.join(", ");
            if !addresses.iter().any(|at| is_here(at.ip())) {
                why(format!(
                    "{list} is not an address of this machine; \
                     run torment on the target's, or name the process with --pid if it is in a container here"
                ));
                return found;
            }
            list
        }
    };
    if inodes.is_empty() {
        why(format!("nothing listens at {at} in torment's network namespace; name the process with --pid"));
        return found;
    }
    let held = holders(inodes);
    found.pids = first_ones(&held.pids);
    if let Some(proxy) = found.pids.iter().find(|pid| is_proxy(**pid)) {
        why(format!(
            "process {proxy} at {at} hands connections on into a container; name the process there with --pid"
        ));
    }
    if found.pids.is_empty()
        && procfs::sockets(std::process::id()).is_ok_and(|own| own.iter().any(|i| inodes.contains(i)))
    {
        why(format!("torment itself listens at {at}"));
    } else if found.pids.is_empty() {
        why(format!(
            "something listens at {at}, but torment may not look into {} processes of other users; run \
             torment as root or as the target's user, or name the process with --pid",
            held.hidden
        ));
        found.missing.extend(hidden());
    }
    found
}

/// What Docker puts before a container's port.
fn is_proxy(pid: u32) -> bool {
    procfs::process(pid).is_some_and(|process| process.name == "docker-proxy")
}
