//! Lists the TCP sockets of a network namespace: by netlink, or from /proc where that is refused.

use crate::sock_diag::{SockDiag, list_tcp};
use procfs::{TcpSocket, TcpState};
use std::path::PathBuf;

/// How to list the sockets of one network namespace.
#[derive(Debug)]
pub(crate) enum SocketLister {
    /// By netlink, in torment's namespace.
    Own,
    /// By netlink, in another namespace that may be entered.
    Namespace(SockDiag),
    /// From /proc/PID/net of a process in it, 20 times more expensive.
    ProcNet(u32),
}

/// How to list the sockets of a process's namespace.
pub(crate) fn lister_for(pid: u32) -> SocketLister {
    let own = procfs::namespace(std::process::id(), "net");
    let its = procfs::namespace(pid, "net");
    // An unreadable namespace is another user's process; most likely in the same one.
    if its.is_none() || its == own {
        return SocketLister::Own;
    }
    let path = PathBuf::from(format!("/proc/{pid}/ns/net"));
    SockDiag::open_in_namespace(&path).map_or(SocketLister::ProcNet(pid), SocketLister::Namespace)
}

impl SocketLister {
    /// The sockets in these states; none if they cannot be listed.
    pub fn sockets(&mut self, states: &[TcpState]) -> Vec<TcpSocket> {
        match self {
            Self::Own => list_tcp(states).unwrap_or_else(|_| procfs::tcp_sockets(std::process::id(), states)),
            Self::Namespace(diag) => diag.list_tcp(states).unwrap_or_default(),
            Self::ProcNet(pid) => procfs::tcp_sockets(*pid, states),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn files_say_what_the_kernel_says() {
        for ip in ["127.0.0.1", "::1"] {
            let Ok(listener) = TcpListener::bind((ip, 0)) else { continue };
            let at = listener.local_addr().expect("it is bound");
            let client = TcpStream::connect(at).expect("it listens");
            let states = [TcpState::LISTEN, TcpState::ESTABLISHED];
            let of_ours = |sockets: Vec<TcpSocket>| {
                let mut found: Vec<_> =
                    sockets.into_iter().filter(|s| s.local == at || s.remote == at).collect();
                found.sort_by_key(|s| (s.local, s.remote));
                // /proc gives no backlog.
                found.iter_mut().for_each(|s| s.send_queue = 0);
                found
            };
            let files = of_ours(procfs::tcp_sockets(std::process::id(), &states));
            assert_eq!(files.len(), 3, "{files:?}");
            assert_eq!(files, of_ours(SocketLister::Own.sockets(&states)));
            drop(client);
        }
    }
}
