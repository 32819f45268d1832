//! Which processes have a socket: found by walking their descriptors, which is expensive and done only in a
//! search.

use std::collections::{BTreeMap, HashSet};

/// The processes that have one of these sockets, and how many processes could not be searched.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SocketHolders {
    pub pids: Vec<u32>,
    /// Other users' processes.
    pub hidden: usize,
}

/// Searches all processes but torment's own.
pub(crate) fn find_holders(inodes: &HashSet<u64>) -> SocketHolders {
    let own = std::process::id();
    let mut found = SocketHolders::default();
    for pid in procfs::pids().filter(|pid| *pid != own) {
        match procfs::socket_inodes(pid) {
            Ok(sockets) if sockets.iter().any(|inode| inodes.contains(inode)) => found.pids.push(pid),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => found.hidden += 1,
            // It has ended.
            Err(_) => {}
        }
    }
    found.pids.sort_unstable();
    found
}

/// Drops processes that are children of others among them: of a server and its workers, which share a
/// socket, the server stays. Also drops one that only holds sockets for others, unless it is alone:
/// `systemd`, which starts services on demand.
pub(crate) fn root_processes(pids: &[u32]) -> Vec<u32> {
    let parents: BTreeMap<u32, u32> = pids
        .iter()
        .filter_map(|pid| procfs::running_process(*pid))
        .map(|p| (p.stat.pid, p.stat.parent))
        .collect();
    let keeps = |pid: u32| pid == 1 || procfs::program(pid).is_some_and(|name| name == "systemd");
    let serving: Vec<u32> = parents.keys().copied().filter(|pid| !keeps(*pid)).collect();
    let among = if serving.is_empty() { parents.keys().copied().collect() } else { serving };
    among.iter().copied().filter(|pid| !among.contains(&parents[pid])).collect()
}
