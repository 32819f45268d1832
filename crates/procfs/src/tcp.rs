//! TCP sockets, as `/proc/PID/net/tcp` and `tcp6` list them, and their owners.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A TCP state, by the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpState(pub u8);

#[allow(missing_docs)] // TCP's own names (RFC 9293)
impl TcpState {
    pub const ESTABLISHED: Self = Self(1);
    pub const SYN_SENT: Self = Self(2);
    pub const TIME_WAIT: Self = Self(6);
    pub const CLOSE_WAIT: Self = Self(8);
    pub const LISTEN: Self = Self(10);
}

/// One TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocket {
    /// The local end; an IPv4 address mapped to IPv6 is given as IPv4.
    pub local: SocketAddr,
    /// The remote end; all zeroes for a listening socket.
    pub remote: SocketAddr,
    /// Its TCP state.
    pub state: TcpState,
    /// As in `/proc/PID/fd`: `socket:[inode]`; 0 if no process has it (TIME_WAIT, not yet accepted).
    pub inode: u32,
    /// Bytes not yet read; for a listening socket, connections not yet accepted.
    pub receive_queue: u32,
    /// Bytes not yet acknowledged; for a listening socket the backlog, which these files do not show.
    pub send_queue: u32,
}

/// The sockets in these states in a process's network namespace; empty if they may not be read.
pub fn tcp_sockets(pid: u32, states: &[TcpState]) -> Vec<TcpSocket> {
    let mut sockets = Vec::new();
    for name in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{name}")).unwrap_or_default();
        sockets
            .extend(text.lines().filter_map(parse_tcp_line).filter(|socket| states.contains(&socket.state)));
    }
    sockets
}

/// The processes that have one of these sockets open, as far as visible.
pub fn socket_owners(sockets: &[TcpSocket]) -> impl Iterator<Item = u32> {
    let is_one = move |inode: &u64| sockets.iter().any(|socket| u64::from(socket.inode) == *inode);
    crate::pids().filter(move |pid| crate::socket_inodes(*pid).is_ok_and(|inodes| inodes.iter().any(is_one)))
}

/// Parses a line; `None` for the heading.
pub fn parse_tcp_line(text: &str) -> Option<TcpSocket> {
    let mut words = text.split_ascii_whitespace().skip(1);
    let local = address(words.next()?)?;
    let remote = address(words.next()?)?;
    let state = TcpState(u8::from_str_radix(words.next()?, 16).ok()?);
    let (send, receive) = words.next()?.split_once(':')?;
    let inode = words.nth(4)?.parse().ok()?;
    let queue = |text: &str| u32::from_str_radix(text, 16).ok();
    Some(TcpSocket { local, remote, state, inode, receive_queue: queue(receive)?, send_queue: queue(send)? })
}

/// `0100007F:1F90`: words of four bytes, each in native byte order.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip: IpAddr = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut octets = [0; 16];
            for (at, part) in octets.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(at * 8)?);
            }
            Ipv6Addr::from(octets).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn who_listens_is_found() {
        for bind in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(bind).expect("a port is free");
            let at = listener.local_addr().expect("it is bound");
            let own: Vec<TcpSocket> = tcp_sockets(std::process::id(), &[TcpState::LISTEN])
                .into_iter()
                .filter(|socket| socket.local == at)
                .collect();
            assert_eq!(own.len(), 1, "{own:?}");
            assert!(socket_owners(&own).any(|pid| pid == std::process::id()));
            assert_eq!(socket_owners(&[]).next(), None);
        }
    }

    #[test]
    fn hostile_lines_are_none() {
        for text in [
            "",
            " ",
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid",
            "0: 1:1",
            "0: 01:02 x 0A 00:00 00:00 00 0 0 4711 1",
            "0: 0100007F:XYZW 00000000:0000 0A 0:0 00:00 00 0 0 4711 1",
            "0: 0100007F:1F90 00000000:0000 0A 0:0 00:0 0 0 0 -",
            "0: 0100007F:1F90 00000000:0000 0A 0 0 0 0",
        ] {
            assert_eq!(parse_tcp_line(text), None, "{text}");
        }
        assert_eq!(address("0100007é:1F90"), None);
        assert_eq!(address("0100007F:1F901"), None);
    }

    #[test]
    fn addresses_of_both_kinds() {
        for (ip, expected) in [
            ("0000000000000000FFFF00000100007F", "127.0.0.1:8080"),
            ("00000000000000000000000001000000", "[::1]:8080"),
            ("0100007F", "127.0.0.1:8080"),
        ] {
            let text = format!("0: {ip}:1F90 00000000:0000 0A 00:00 00:00 00 0 0 4711 1");
            let found = parse_tcp_line(&text).expect("it is one");
            assert_eq!(found.local, expected.parse().expect("an address"));
            assert_eq!((found.state, found.inode), (TcpState::LISTEN, 4711));
        }
    }
}
