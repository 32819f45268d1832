//! Who listens on a port of this machine.

use procfs::{TcpSocket, TcpState};
use std::net::{IpAddr, SocketAddr};

/// A process that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListeningProcess {
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// Whether it is a loopback address or unspecified: a listener on any address would accept its connections too.
pub fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified()
}

/// The processes that accept connections to a loopback address on this port; none if nobody listens. An empty list:
/// somebody does, but this user may not know who.
pub fn listeners(port: u16) -> Option<Vec<ListeningProcess>> {
    let mut sockets = listening_sockets(port);
    sockets.retain(|socket| is_local(socket.local.ip()));
    let name = |pid| procfs::process_name(pid).unwrap_or_else(|| "?".to_owned());
    let owners =
        || procfs::socket_owners(&sockets).map(|pid| ListeningProcess { pid, name: name(pid) }).collect();
    (!sockets.is_empty()).then(owners)
}

/// The addresses of this network namespace with a listener on this port, each once.
pub fn addresses(port: u16) -> Vec<SocketAddr> {
    let mut found: Vec<SocketAddr> = listening_sockets(port).into_iter().map(|socket| socket.local).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// All sockets that listen on a port.
fn listening_sockets(port: u16) -> Vec<TcpSocket> {
    let listening = procfs::tcp_sockets(std::process::id(), &[TcpState::LISTEN]);
    listening.into_iter().filter(|socket| socket.local.port() == port).collect()
}

/// The first of them, as [`crate::Error::PortTaken`] has it.
pub fn first_listener(listeners: Vec<ListeningProcess>) -> Option<(String, u32)> {
    listeners.into_iter().next().map(|ListeningProcess { pid, name }| (name, pid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn who_listens_is_found_by_number() {
        for bind in ["127.0.0.1:0", "0.0.0.0:0"] {
            let socket = TcpListener::bind(bind).expect("a free port");
            let at = socket.local_addr().expect("it is bound");
            assert_eq!(addresses(at.port()), [at]);
            let found = listeners(at.port()).expect("somebody listens");
            // Another test may have just forked a process, which has this socket open until it executes its program.
            assert!(found.iter().any(|l| l.pid == std::process::id() && !l.name.is_empty()), "{found:?}");
        }
    }
}
