//! The subjects' sockets: accept queues, and connections by remote address. Also the ports that torment
//! itself uses.

mod owners;
#[cfg(test)]
mod tests;

use crate::finder::{SocketLister, lister_for};
use crate::missing::MissingLog;
use crate::sock_diag::list_tcp;
use crate::source::Source;
use crate::unix_sockets::{LOCAL, UnixSocket, list_unix_sockets};
use crate::watch_scope::{WatchScope, WatchedTree};
use owners::SocketOwners;
use procfs::{TcpSocket, TcpState};
use record::watch::{LimitUsage, ListenSocket, MissingMeasure, PeerConnections, Window};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Interval between looks: often enough to see a queue that is always full, and rarely enough that 40,000
/// connections cost some percent of a processor.
const EVERY: Duration = Duration::from_millis(500);
/// Maximum remote addresses kept per subject.
const PEERS: usize = 20;

/// All states of connections that occupy a local port.
const CONNECTED: [TcpState; 8] = [
    TcpState::ESTABLISHED,
    TcpState::SYN_SENT,
    TcpState(4), // FIN_WAIT1
    TcpState(5), // FIN_WAIT2
    TcpState::TIME_WAIT,
    TcpState::CLOSE_WAIT,
    TcpState(9),  // LAST_ACK
    TcpState(11), // CLOSING
];

#[derive(Debug, Default)]
pub(crate) struct SocketSource {
    /// The load's target addresses.
    targets: Vec<SocketAddr>,
    subjects: Vec<SubjectSockets>,
    owners: SocketOwners,
    missing_log: MissingLog,
}

/// What was seen of a subject since the last cut.
#[derive(Debug, Default)]
struct SubjectSockets {
    /// The process that identifies its network namespace, and how to list sockets there.
    lister: Option<(u32, SocketLister)>,
    looks: u32,
    clients: u32,
    /// By address: connections not yet accepted, and the backlog limit.
    listeners: HashMap<String, (u32, u32)>,
    peers: HashMap<SocketAddr, ConnectionCounts>,
}

/// Connections to one remote address.
#[derive(Debug, Default, Clone, Copy)]
struct ConnectionCounts {
    /// Established, summed over looks, and in this look.
    sum: u32,
    now: u32,
    /// Minimum over the earlier looks that had any.
    least: u32,
    most: u32,
    /// Looks that had any.
    looks: u32,
    time_wait: u32,
}

impl SocketSource {
    /// Also counts the ports that torment uses to these addresses.
    pub fn new(targets: Vec<SocketAddr>) -> Self {
        Self { targets, ..Self::default() }
    }

    /// Lists the sockets in these states once per namespace, and counts.
    fn scan(&mut self, scope: &WatchScope, states: &[TcpState]) {
        self.subjects.resize_with(scope.subjects.len(), SubjectSockets::default);
        let listens = listens(scope);
        let mut own = None;
        for (at, watched) in scope.subjects.iter().enumerate() {
            let Some(&pid) = watched.pids.first() else { continue };
            let subject = &mut self.subjects[at];
            if subject.lister.as_ref().is_none_or(|(known, _)| *known != pid) {
                subject.lister = Some((pid, lister_for(pid)));
            }
            let Some((_, lister)) = &mut subject.lister else { continue };
            let other;
            let sockets: &[TcpSocket] = match lister {
                // All subjects in torment's own namespace share one list.
                SocketLister::Own => own.get_or_insert_with(|| lister.sockets(states)),
                _ => {
                    other = lister.sockets(states);
                    &other
                }
            };
            if sockets.is_empty() && listens.iter().any(|(_, of)| *of == at) {
                let why = format!("the kernel lists none in the network namespace of process {pid}");
                self.missing_log.note("sockets of the target", why);
                // Reopened next time: after a listing that took too long it is unusable.
                subject.lister = None;
                continue;
            }
            if matches!(lister, SocketLister::ProcNet(_)) {
                self.missing_log.note(
                    "listen queues of the target",
                    format!(
                        "process {pid} is in another network namespace; run torment as root, or within it"
                    ),
                );
            }
            let has_backlog = !matches!(lister, SocketLister::ProcNet(_));
            self.owners.resolve(sockets, &listens, scope, &mut self.missing_log);
            self.subjects[at].count(at, sockets, &listens, &self.owners, has_backlog);
        }
        self.look_at_local(scope, states);
    }

    /// The same for subjects that listen at local sockets.
    fn look_at_local(&mut self, scope: &WatchScope, states: &[TcpState]) {
        let named = |watched: &WatchedTree| -> Vec<String> {
            let names = watched.about.listens.iter().filter_map(|listen| listen.strip_prefix(LOCAL));
            names.map(str::to_owned).collect()
        };
        let names: Vec<Vec<String>> = scope.subjects.iter().map(named).collect();
        if names.iter().all(Vec::is_empty) {
            return;
        }
        let Some(sockets) = self.missing_log.ok_or_note(
            "local sockets",
            "the list of local sockets",
            list_unix_sockets(states),
        ) else {
            return;
        };
        for (subject, names) in self.subjects.iter_mut().zip(&names) {
            let at = |socket: &&UnixSocket| socket.name.as_ref().is_some_and(|name| names.contains(name));
            sockets.iter().filter(at).for_each(|socket| subject.count_local(socket));
        }
    }
}

/// The listen addresses of the subjects.
fn listens(scope: &WatchScope) -> Vec<(SocketAddr, usize)> {
    let all = scope.subjects.iter().enumerate();
    let all = all.flat_map(|(at, watched)| watched.about.listens.iter().map(move |listen| (listen, at)));
    all.filter_map(|(listen, at)| Some((listen.parse().ok()?, at))).collect()
}

/// The subject with a listening socket at this address.
fn listener(listens: &[(SocketAddr, usize)], address: SocketAddr) -> Option<usize> {
    let is_there =
        |at: SocketAddr| at.port() == address.port() && (at.ip() == address.ip() || at.ip().is_unspecified());
    listens.iter().find(|(at, _)| is_there(*at)).map(|(_, of)| *of)
}

impl SubjectSockets {
    fn count(
        &mut self,
        at: usize,
        sockets: &[TcpSocket],
        listens: &[(SocketAddr, usize)],
        owners: &SocketOwners,
        has_backlog: bool,
    ) {
        self.looks += 1;
        self.clients = 0;
        self.peers.values_mut().for_each(|peer| (peer.now, peer.time_wait) = (0, 0));
        for socket in sockets {
            if socket.state == TcpState::LISTEN {
                if has_backlog && listens.contains(&(socket.local, at)) {
                    self.record_queue(socket.local.to_string(), (socket.receive_queue, socket.send_queue));
                }
                continue;
            }
            if let Some(of) = listener(listens, socket.local) {
                self.clients += u32::from(of == at && socket.state == TcpState::ESTABLISHED);
                continue;
            }
            if owners.owner_of(socket, listens) != Some(at) {
                continue;
            }
            let peer = self.peers.entry(socket.remote).or_default();
            match socket.state {
                TcpState::ESTABLISHED => peer.now += 1,
                TcpState::TIME_WAIT => peer.time_wait += 1,
                _ => {}
            }
        }
        for peer in self.peers.values_mut().filter(|peer| peer.now > 0) {
            peer.least = if peer.looks == 0 { peer.now } else { peer.least.min(peer.now) };
            peer.most = peer.most.max(peer.now);
            peer.sum += peer.now;
            peer.looks += 1;
        }
    }

    fn count_local(&mut self, socket: &UnixSocket) {
        match (&socket.name, socket.state) {
            (Some(name), TcpState::LISTEN) => {
                // These are connections too, and listed nowhere else.
                self.clients += socket.queue.0;
                self.record_queue(format!("{LOCAL}{name}"), socket.queue);
            }
            (_, TcpState::ESTABLISHED) => self.clients += 1,
            _ => {}
        }
    }

    /// Records an accept queue: its length and limit.
    fn record_queue(&mut self, address: String, queue: (u32, u32)) {
        let most = self.listeners.entry(address).or_insert((0, queue.1));
        if queue.0 >= most.0 {
            *most = queue;
        }
    }

    fn peers(&self) -> Vec<PeerConnections> {
        let peer = |(address, counts): (&SocketAddr, &ConnectionCounts)| PeerConnections {
            address: address.to_string(),
            established: f64::from(counts.sum) / f64::from(self.looks),
            least: if counts.looks == self.looks { counts.least } else { 0 },
            most: counts.most,
            time_wait: counts.time_wait,
        };
        let mut peers: Vec<PeerConnections> = self.peers.iter().map(peer).collect();
        let rank = |peer: &PeerConnections| peer.established + f64::from(peer.time_wait);
        peers.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then_with(|| a.address.cmp(&b.address)));
        peers.truncate(PEERS);
        peers
    }

    fn listeners(&self) -> Vec<ListenSocket> {
        let all = self.listeners.iter();
        let all = all.map(|(at, &(queued, backlog))| ListenSocket { address: at.clone(), queued, backlog });
        let mut all: Vec<ListenSocket> = all.collect();
        all.sort_by(|a, b| a.address.cmp(&b.address));
        all
    }
}

/// Local ports in use to the load's target: the most of any address pair, and the size of the port range.
fn ports(targets: &[SocketAddr], sockets: &[TcpSocket]) -> LimitUsage {
    let mut pairs: HashMap<(IpAddr, SocketAddr), u64> = HashMap::new();
    for socket in sockets.iter().filter(|s| s.state != TcpState::LISTEN && targets.contains(&s.remote)) {
        *pairs.entry((socket.local.ip(), socket.remote)).or_default() += 1;
    }
    LimitUsage {
        used: pairs.into_values().max().unwrap_or(0),
        limit: sys::ephemeral_port_count().unwrap_or(0),
    }
}

impl Source for SocketSource {
    fn interval(&self) -> Duration {
        EVERY
    }

    fn read(&mut self, scope: &WatchScope) {
        if !scope.subjects.is_empty() {
            self.scan(scope, &[TcpState::LISTEN, TcpState::ESTABLISHED]);
        }
    }

    fn cut(&mut self, scope: &WatchScope, window: &mut Window) {
        self.scan(scope, &[TcpState::LISTEN, TcpState::ESTABLISHED, TcpState::TIME_WAIT]);
        for (subject, part) in self.subjects.iter_mut().zip(&mut window.subjects) {
            if subject.looks > 0 {
                part.listeners = subject.listeners();
                part.peers = subject.peers();
                part.clients = subject.clients;
            }
            *subject = SubjectSockets { lister: subject.lister.take(), ..SubjectSockets::default() };
        }
        if !self.targets.is_empty()
            && let Some(sockets) =
                self.missing_log.ok_or_note("ports in use", "the list of sockets", list_tcp(&CONNECTED))
        {
            window.own.ports = ports(&self.targets, &sockets);
        }
    }

    fn missing(&self) -> Vec<MissingMeasure> {
        self.missing_log.list()
    }
}
