//! The owners of connections. The kernel's list names none; the descriptors of the processes do, but are
//! expensive to walk.

use super::listener;
use crate::missing::MissingLog;
use crate::watch_scope::WatchScope;
use procfs::{TcpSocket, TcpState};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Ratio of the pause after a walk to its duration.
const SHARE: u32 = 100;
/// Minimum pause.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// Maximum inodes kept; beyond it all are forgotten, to drop those that have ended.
const MOST: usize = 100_000;

/// The owner of at least this share of the connections to an address is taken for the owner of the unknown
/// ones: others connect to a database, too.
const NEARLY_ALL: f64 = 0.8;

#[derive(Debug, Default)]
pub(super) struct SocketOwners {
    /// By inode; none: of no subject.
    inodes: HashMap<u32, Option<usize>>,
    /// The last owner of nearly all connections to an address, who is taken to own those that no process
    /// has any longer, or that are new since the last walk.
    remotes: HashMap<SocketAddr, usize>,
    not_before: Option<Instant>,
}

impl SocketOwners {
    /// Finds the owners of new sockets.
    pub fn resolve(
        &mut self,
        sockets: &[TcpSocket],
        listens: &[(SocketAddr, usize)],
        scope: &WatchScope,
        missing_log: &mut MissingLog,
    ) {
        let outgoing = || sockets.iter().filter(|socket| is_outgoing(socket, listens));
        let is_new = outgoing().any(|socket| !self.inodes.contains_key(&socket.inode));
        let now = Instant::now();
        if !is_new || self.not_before.is_some_and(|at| now < at) {
            return;
        }
        let mut found: HashMap<u32, usize> = HashMap::new();
        for (at, subject) in scope.subjects.iter().enumerate() {
            for &pid in &subject.pids {
                match procfs::socket_inodes(pid) {
                    Ok(inodes) => found.extend(inodes.into_iter().map(|inode| (inode as u32, at))),
                    Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => missing_log.note(
                        "connections that the target makes",
                        format!(
                            "/proc/{pid}/fd may not be read; run torment as the target's user, or as root"
                        ),
                    ),
                    // It has just ended.
                    Err(_) => {}
                }
            }
        }
        if self.inodes.len() > MOST {
            self.inodes.clear();
        }
        self.inodes.extend(outgoing().map(|socket| (socket.inode, found.get(&socket.inode).copied())));
        let mut there: HashMap<SocketAddr, HashMap<Option<usize>, u32>> = HashMap::new();
        for socket in outgoing() {
            let of = found.get(&socket.inode).copied();
            *there.entry(socket.remote).or_default().entry(of).or_default() += 1;
        }
        for (remote, counts) in there {
            let all: u32 = counts.values().sum();
            // Some were closed before the walk, and have no owner.
            let nearly_all = |(of, count): (&Option<usize>, &u32)| {
                of.filter(|_| f64::from(*count) >= NEARLY_ALL * f64::from(all))
            };
            match counts.iter().find_map(nearly_all) {
                Some(of) => self.remotes.insert(remote, of),
                None => self.remotes.remove(&remote),
            };
        }
        self.not_before = Some(now + (now.elapsed() * SHARE).max(MIN_PAUSE));
    }

    /// The subject that made this connection, if any.
    pub fn owner_of(&self, socket: &TcpSocket, listens: &[(SocketAddr, usize)]) -> Option<usize> {
        if is_outgoing(socket, listens)
            && let Some(known) = self.inodes.get(&socket.inode)
        {
            return *known;
        }
        self.remotes.get(&socket.remote).copied()
    }
}

/// Whether a subject may have made this connection: excludes those made to a subject; connections to the
/// service are torment's.
fn is_outgoing(socket: &TcpSocket, listens: &[(SocketAddr, usize)]) -> bool {
    socket.state == TcpState::ESTABLISHED
        && socket.inode != 0
        && listener(listens, socket.local).is_none()
        && listener(listens, socket.remote) != Some(0)
}
