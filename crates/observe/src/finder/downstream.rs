//! Finds downstream processes on this machine: those whose sockets are the other ends of the service's
//! connections.

use super::ProcessTree;
use super::holders::{find_holders, root_processes};
use super::service::listening_at;
use super::socket_lister::{SocketLister, lister_for};
use crate::unix_sockets::{LOCAL, UnixSocket, list_unix_sockets};
use procfs::{TcpSocket, TcpState};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;

/// Maximum downstream processes followed.
const MOST: usize = 3;
/// Parts of the names of local sockets that belong to the system: journal, buses, name services, screen and
/// sound, containers.
const SYSTEM_SOCKETS: [&str; 8] = units::texts![
    "/systemd/" "/dbus" "/nscd/" "/sss/" ".X11-unix/" "/pulse/" "/docker.sock" "/containerd"
];
/// The session bus.
const BUS: &str = "/bus";
/// Looks between reconsiderations of a listener judged not to be used by the service: its connections may
/// have been closed by then.
const RECHECK_EVERY: u32 = 20;

/// Connections by accepting listener, with its name.
type ConnectionsByListener = BTreeMap<u64, (String, Vec<u64>)>;

#[derive(Debug, Default)]
pub(crate) struct DownstreamFinder {
    lister: Option<(u32, SocketLister)>,
    /// Listening sockets whose owners have been looked up.
    looked_up: HashSet<u64>,
    /// Number of connections, by listener, when none of them was the service's.
    rejected: HashMap<u64, usize>,
    looks: u32,
}

impl DownstreamFinder {
    /// The addresses that a tree listens on.
    pub fn listen_addresses(&mut self, tree: &ProcessTree) -> Vec<String> {
        let tree_sockets = sockets_of(tree);
        let listening = self.sockets(tree, &[TcpState::LISTEN]);
        let own_sockets: Vec<&TcpSocket> =
            listening.iter().filter(|socket| tree_sockets.contains(&socket.inode.into())).collect();
        self.looked_up.extend(own_sockets.iter().map(|socket| u64::from(socket.inode)));
        let mut names: Vec<String> = own_sockets.iter().map(|socket| socket.local.to_string()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn sockets(&mut self, tree: &ProcessTree, states: &[TcpState]) -> Vec<TcpSocket> {
        let Some(first) = tree.pids().first().copied() else { return Vec::new() };
        if self.lister.as_ref().is_none_or(|(pid, _)| *pid != first) {
            self.lister = Some((first, lister_for(first)));
        }
        self.lister.as_mut().map(|(_, listing)| listing.sockets(states)).unwrap_or_default()
    }

    /// Finds processes in no tree yet that the service, the first tree, connects to. Adds a tree for each;
    /// returns its listen addresses and first process.
    ///
    /// The first ten looks list all sockets, later ones every fifth: there may be many.
    pub fn find_new(&mut self, trees: &mut Vec<ProcessTree>) -> Vec<(Vec<String>, u32)> {
        self.looks = self.looks.wrapping_add(1);
        if trees.len() > MOST || (self.looks > 10 && !self.looks.is_multiple_of(5)) {
            return Vec::new();
        }
        if self.looks <= 10 || self.looks.is_multiple_of(RECHECK_EVERY) {
            self.rejected.clear();
        }
        let states = [TcpState::LISTEN, TcpState::ESTABLISHED];
        let sockets = self.sockets(&trees[0], &states);
        let is_open = |listener: u64| !self.looked_up.contains(&listener);
        let mut candidates = by_listener(&sockets, is_open);
        candidates.extend(
            list_unix_sockets(&states).map(|all| by_local_listener(&all, is_open)).unwrap_or_default(),
        );
        candidates.retain(|listener, (_, connections)| {
            self.rejected.get(listener).is_none_or(|before| connections.len() > *before)
        });
        if candidates.is_empty() {
            return Vec::new();
        }
        let service_sockets = sockets_of(&trees[0]);
        let mut found = Vec::new();
        for (listener, (at, connections)) in candidates {
            let is_used = connections.iter().any(|inode| service_sockets.contains(inode));
            if !is_used {
                self.rejected.insert(listener, connections.len());
                continue;
            }
            self.looked_up.insert(listener);
            let holders = find_holders(&HashSet::from([listener]));
            let first = root_processes(&holders.pids);
            let known = first.iter().any(|pid| trees.iter().any(|tree| tree.members.contains_key(pid)));
            if let Some(pid) = first.first().copied().filter(|_| !known && trees.len() <= MOST) {
                let tree = ProcessTree::of(&first);
                let mut listens = self.listen_addresses(&tree);
                if listens.is_empty() || at.starts_with(LOCAL) {
                    listens.push(at);
                }
                trees.push(tree);
                found.push((listens, pid));
                break;
            }
        }
        found
    }
}

/// Connections accepted on this machine, by listening socket whose owner was not looked up yet (`is_open`).
fn by_listener(sockets: &[TcpSocket], is_open: impl Fn(u64) -> bool) -> ConnectionsByListener {
    let connections = || sockets.iter().filter(|s| s.state == TcpState::ESTABLISHED);
    let ends: HashSet<(SocketAddr, SocketAddr)> = connections().map(|s| (s.local, s.remote)).collect();
    let mut listeners: HashMap<SocketAddr, Option<u64>> = HashMap::new();
    let mut found = ConnectionsByListener::new();
    for socket in connections().filter(|s| s.inode != 0 && ends.contains(&(s.remote, s.local))) {
        let listener = listeners
            .entry(socket.remote)
            .or_insert_with(|| listening_at(sockets, socket.remote).first().map(|s| s.inode.into()));
        if let Some(listener) = listener.filter(|listener| is_open(*listener)) {
            let (_, inodes) =
                found.entry(listener).or_insert_with(|| (socket.remote.to_string(), Vec::new()));
            inodes.push(socket.inode.into());
        }
    }
    found
}

fn is_system_socket(name: &str) -> bool {
    name.ends_with(BUS) || SYSTEM_SOCKETS.iter().any(|part| name.contains(part))
}

/// The same for local sockets, except the system's; includes connections not yet accepted.
fn by_local_listener(sockets: &[UnixSocket], is_open: impl Fn(u64) -> bool) -> ConnectionsByListener {
    let listens = |socket: &&UnixSocket| socket.state == TcpState::LISTEN;
    let listeners: HashMap<&str, u64> = sockets
        .iter()
        .filter(listens)
        .filter_map(|socket| Some((socket.name.as_deref()?, socket.inode)))
        .filter(|(name, inode)| is_open(*inode) && !is_system_socket(name))
        .collect();
    let mut found = ConnectionsByListener::new();
    for socket in sockets.iter().filter(|socket| socket.peer.is_some() || !socket.waiting.is_empty()) {
        let Some(name) = socket.name.as_deref() else { continue };
        if let Some(listener) = listeners.get(name) {
            let (_, inodes) =
                found.entry(*listener).or_insert_with(|| (format!("{LOCAL}{name}"), Vec::new()));
            inodes.extend(socket.peer.iter().chain(&socket.waiting));
        }
    }
    found
}

fn sockets_of(tree: &ProcessTree) -> HashSet<u64> {
    tree.pids().iter().filter_map(|pid| procfs::socket_inodes(*pid).ok()).flatten().collect()
}
