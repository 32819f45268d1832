//! Where the socket behind a descriptor leads.

use crate::finder::SocketLister;
use crate::unix_sockets::{LOCAL, UnixSocket, find_unix_socket};
use procfs::{TcpSocket, TcpState};
use record::watch::ThreadWait;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// The least time between two listings: a connection made for one request may be gone with it, and who waits for it then waits for nobody knows what.
const LEAST: Duration = Duration::from_millis(20);
/// So many times as long as a listing took passes before the next one: at most 2 % of the time.
const REST: u32 = 50;

/// Local sockets kept; they are few, or made for a moment.
const MOST_LOCAL: usize = 4096;

const STATES: [TcpState; 4] =
    [TcpState::LISTEN, TcpState::ESTABLISHED, TcpState::SYN_SENT, TcpState::CLOSE_WAIT];

/// The sockets of one network namespace, by inode.
#[derive(Debug)]
pub(crate) struct SocketTable {
    listing: SocketLister,
    known: HashMap<u64, ThreadWait>,
    /// The same of local ones; the kernel gives no number twice.
    local: HashMap<u64, ThreadWait>,
    again: Instant,
}

impl SocketTable {
    pub fn new(listing: SocketLister) -> Self {
        Self { listing, known: HashMap::new(), local: HashMap::new(), again: Instant::now() }
    }

    /// What somebody waits for who waits at this socket.
    pub fn classify(&mut self, inode: u64) -> ThreadWait {
        if let Some(wait) = self.known.get(&inode).or_else(|| self.local.get(&inode)) {
            return wait.clone();
        }
        let wait = match find_unix_socket(inode) {
            Ok(Some(UnixSocket { name: Some(_), .. })) => ThreadWait::Client,
            Ok(Some(UnixSocket { name: None, peer, .. })) => {
                let path =
                    peer.and_then(|inode| find_unix_socket(inode).ok().flatten()).and_then(|end| end.name);
                // Nobody has accepted it yet, or it has no name.
                let Some(path) = path else {
                    return ThreadWait::Peer { address: LOCAL.trim_end().to_owned() };
                };
                ThreadWait::Peer { address: format!("{LOCAL}{path}") }
            }
            Ok(None) | Err(_) => return self.listed(inode),
        };
        if self.local.len() >= MOST_LOCAL {
            self.local.clear();
        }
        self.local.insert(inode, wait.clone());
        wait
    }

    /// The same of one that is not known yet, and not local.
    fn listed(&mut self, inode: u64) -> ThreadWait {
        let now = Instant::now();
        if now < self.again {
            return ThreadWait::Socket;
        }
        self.list();
        self.again = now + LEAST.max(now.elapsed() * REST);
        // One that is not on a list made while somebody waits there is of another kind, such as UDP.
        self.known.get(&inode).cloned().unwrap_or_else(|| ThreadWait::Other { what: "socket".to_owned() })
    }

    fn list(&mut self) {
        let sockets = self.listing.sockets(&STATES);
        let ports: HashSet<u16> =
            sockets.iter().filter(|s| s.state == TcpState::LISTEN).map(|s| s.local.port()).collect();
        self.known.clear();
        let named = sockets.iter().filter(|socket| socket.inode != 0);
        self.known.extend(named.map(|socket| (socket.inode.into(), end(socket, &ports))));
    }
}

/// A connection from a port that is listened to was accepted there.
fn end(socket: &TcpSocket, ports: &HashSet<u16>) -> ThreadWait {
    if socket.state == TcpState::LISTEN {
        ThreadWait::Accept
    } else if ports.contains(&socket.local.port()) {
        ThreadWait::Client
    } else {
        ThreadWait::Peer { address: socket.remote.to_string() }
    }
}
