//! Whom the service talks to on this machine: found by its connections, of which the other end is a
//! socket here too.

use super::Tree;
use super::holders::{first_ones, holders};
use super::listing::{Listing, of_process};
use super::service::listening_at;
use procfs::{Socket, State};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;

/// The most that are followed.
const MOST: usize = 3;

/// What is known of the service's connections.
#[derive(Debug, Default)]
pub(crate) struct Downstream {
    listing: Option<(u32, Listing)>,
    /// Listening sockets that are settled: of those that are watched.
    settled: HashSet<u32>,
    /// How many connections there were to others when it was seen that none of them was the service's.
    judged: HashMap<u32, usize>,
    looks: u32,
}

impl Downstream {
    /// The addresses at which a tree listens.
    pub fn listens_of(&mut self, tree: &Tree) -> Vec<String> {
        let have = sockets_of(tree);
        let listening = self.sockets(tree, &[State::LISTEN]);
        let its: Vec<&Socket> =
            listening.iter().filter(|socket| have.contains(&socket.inode.into())).collect();
        self.settled.extend(its.iter().map(|socket| socket.inode));
        let mut names: Vec<String> = its.iter().map(|socket| socket.local.to_string()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn sockets(&mut self, tree: &Tree, states: &[State]) -> Vec<Socket> {
        let Some(first) = tree.pids().first().copied() else { return Vec::new() };
        if self.listing.as_ref().is_none_or(|(pid, _)| *pid != first) {
            self.listing = Some((first, of_process(first)));
        }
        self.listing.as_mut().map(|(_, listing)| listing.sockets(states)).unwrap_or_default()
    }

    /// Looks for processes that the service, the first tree, talks to and that are in none yet. Adds a tree for each;
    /// gives where the service finds them and the first process of each.
    ///
    /// The first ten looks list all sockets, later ones every fifth: there may be many.
    pub fn look(&mut self, trees: &mut Vec<Tree>) -> Vec<(String, u32)> {
        self.looks = self.looks.wrapping_add(1);
        if trees.len() > MOST || (self.looks > 10 && !self.looks.is_multiple_of(5)) {
            return Vec::new();
        }
        let sockets = self.sockets(&trees[0], &[State::LISTEN, State::ESTABLISHED]);
        let candidates = self.candidates(&sockets);
        if candidates.is_empty() {
            return Vec::new();
        }
        let have = sockets_of(&trees[0]);
        let mut more = Vec::new();
        for (listener, (at, connections)) in candidates {
            let its = connections.iter().any(|inode| have.contains(&u64::from(*inode)));
            if !its {
                self.judged.insert(listener, connections.len());
                continue;
            }
            self.settled.insert(listener);
            let held = holders(&HashSet::from([u64::from(listener)]));
            let first = first_ones(&held.pids);
            let known = first.iter().any(|pid| trees.iter().any(|tree| tree.members.contains_key(pid)));
            if let Some(pid) = first.first().copied().filter(|_| !known && trees.len() <= MOST) {
                trees.push(Tree::of(&first));
                more.push((at.to_string(), pid));
                break;
            }
        }
        more
    }

    /// Connections whose other end is accepted here, by the listening socket that took it; without those known.
    fn candidates(&self, sockets: &[Socket]) -> BTreeMap<u32, (SocketAddr, Vec<u32>)> {
        let ends: HashSet<(SocketAddr, SocketAddr)> =
            sockets.iter().filter(|s| s.state == State::ESTABLISHED).map(|s| (s.local, s.remote)).collect();
        let mut listeners: HashMap<SocketAddr, Option<u32>> = HashMap::new();
        let mut found: BTreeMap<u32, (SocketAddr, Vec<u32>)> = BTreeMap::new();
        for socket in sockets.iter().filter(|s| s.state == State::ESTABLISHED && s.inode != 0) {
            if !ends.contains(&(socket.remote, socket.local)) {
                continue;
            }
            let listener = *listeners
                .entry(socket.remote)
                .or_insert_with(|| listening_at(sockets, socket.remote).first().map(|s| s.inode));
            if let Some(listener) = listener.filter(|inode| !self.settled.contains(inode)) {
                found.entry(listener).or_insert((socket.remote, Vec::new())).1.push(socket.inode);
            }
        }
        found.retain(|listener, (_, connections)| {
            self.judged.get(listener).is_none_or(|before| connections.len() > *before)
        });
        found
    }
}

fn sockets_of(tree: &Tree) -> HashSet<u64> {
    tree.pids().iter().filter_map(|pid| procfs::sockets(*pid).ok()).flatten().collect()
}
