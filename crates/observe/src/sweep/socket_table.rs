//! Where the socket behind a descriptor leads.

use crate::finder::SocketLister;
use crate::unix_sockets::{LOCAL, UnixSocket, find_unix_socket};
use procfs::{TcpSocket, TcpState};
use record::watch::ThreadWait;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Minimum interval between listings: a connection made for one request may be gone with it, and the wait
/// for it then stays unknown.
const MIN_INTERVAL: Duration = Duration::from_millis(20);
/// Ratio of the pause after a listing to its duration: at most 2 % of the time.
const PAUSE_RATIO: u32 = 50;

/// Maximum local sockets kept; they are few, or short-lived.
const MAX_LOCAL: usize = 4096;

const STATES: [TcpState; 4] =
    [TcpState::LISTEN, TcpState::ESTABLISHED, TcpState::SYN_SENT, TcpState::CLOSE_WAIT];

/// The sockets of one network namespace, by inode.
#[derive(Debug)]
pub(crate) struct SocketTable {
    lister: SocketLister,
    known: HashMap<u64, ThreadWait>,
    /// Local sockets; the kernel never reuses their inodes.
    local: HashMap<u64, ThreadWait>,
    next_listing: Instant,
}

impl SocketTable {
    pub fn new(lister: SocketLister) -> Self {
        Self { lister, known: HashMap::new(), local: HashMap::new(), next_listing: Instant::now() }
    }

    /// The wait of a thread that waits at this socket.
    pub fn classify(&mut self, inode: u64) -> ThreadWait {
        if let Some(wait) = self.known.get(&inode).or_else(|| self.local.get(&inode)) {
            return wait.clone();
        }
        let wait = match find_unix_socket(inode) {
            Ok(Some(UnixSocket { name: Some(_), .. })) => ThreadWait::Client,
            Ok(Some(UnixSocket { name: None, peer, .. })) => {
                let path =
                    peer.and_then(|inode| find_unix_socket(inode).ok().flatten()).and_then(|end| end.name);
                // Not accepted yet, or without a name.
                let Some(path) = path else {
                    return ThreadWait::Peer { address: LOCAL.trim_end().to_owned() };
                };
                ThreadWait::Peer { address: format!("{LOCAL}{path}") }
            }
            Ok(None) | Err(_) => return self.classify_listed(inode),
        };
        if self.local.len() >= MAX_LOCAL {
            self.local.clear();
        }
        self.local.insert(inode, wait.clone());
        wait
    }

    /// The same for a socket that is unknown, and not local.
    fn classify_listed(&mut self, inode: u64) -> ThreadWait {
        let now = Instant::now();
        if now < self.next_listing {
            return ThreadWait::Socket;
        }
        self.list();
        self.next_listing = now + MIN_INTERVAL.max(now.elapsed() * PAUSE_RATIO);
        // Not in a list made while a thread waits there: another kind, such as UDP.
        self.known.get(&inode).cloned().unwrap_or_else(|| ThreadWait::Other { what: "socket".to_owned() })
    }

    fn list(&mut self) {
        let sockets = self.lister.sockets(&STATES);
        let ports: HashSet<u16> =
            sockets.iter().filter(|s| s.state == TcpState::LISTEN).map(|s| s.local.port()).collect();
        self.known.clear();
        let named = sockets.iter().filter(|socket| socket.inode != 0);
        self.known.extend(named.map(|socket| (socket.inode.into(), socket_wait(socket, &ports))));
    }
}

/// A connection from a listening port was accepted there.
fn socket_wait(socket: &TcpSocket, ports: &HashSet<u16>) -> ThreadWait {
    if socket.state == TcpState::LISTEN {
        ThreadWait::Accept
    } else if ports.contains(&socket.local.port()) {
        ThreadWait::Client
    } else {
        ThreadWait::Peer { address: socket.remote.to_string() }
    }
}
