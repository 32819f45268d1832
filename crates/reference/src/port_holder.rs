//! Finds the process that listens on a port. Only root sees processes of other users.

use procfs::TcpState;
use std::net::SocketAddr;

/// `nginx (process 812)`, if known.
pub(crate) fn of(address: SocketAddr) -> Option<String> {
    let mut sockets = procfs::tcp_sockets(std::process::id(), &[TcpState::LISTEN]);
    sockets.retain(|socket| socket.local.port() == address.port());
    let pid = procfs::socket_owners(&sockets).next()?;
    Some(format!("{} (process {pid})", procfs::process_name(pid)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_listener_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = listener.local_addr().expect("it is bound");
        let holder = of(address).expect("our own descriptors can be read");
        assert!(holder.ends_with(&format!("(process {})", std::process::id())), "{holder}");
        drop(listener);
        assert_eq!(of(address), None);
    }
}
