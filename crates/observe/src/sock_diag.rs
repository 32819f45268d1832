//! The kernel's socket list (sock_diag(7)) over netlink: some 20 times cheaper than /proc/net/tcp, which
//! walks a whole hash table to write text, and with the backlog of listening sockets.

use procfs::{TcpSocket, TcpState};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time limit of one listing; 40,000 connections take some 20 ms.
pub(crate) const LONGEST: Duration = Duration::from_millis(250);
/// Maximum sockets kept per listing: some 100 bytes each.
pub(crate) const MOST: usize = 100_000;
/// Buffer per read: the kernel fills up to 32 KiB.
const BUFFER: usize = 1 << 16;

/// Sizes of the kernel's structures (linux/netlink.h, linux/inet_diag.h).
pub(crate) const HEADER: usize = 16;
const REQUEST: usize = HEADER + 56;
const MESSAGE: usize = 72;

pub(crate) const SOCK_DIAG_BY_FAMILY: u16 = 20;
pub(crate) const REQUEST_DUMP: u16 = 0x301; // NLM_F_REQUEST and NLM_F_DUMP
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const IPPROTO_TCP: u8 = 6;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

pub(crate) fn bits(states: &[TcpState]) -> u32 {
    states.iter().fold(0, |bits, state| bits | 1 << state.0)
}

/// The TCP sockets in these states in torment's network namespace, IPv4 and IPv6; at most 100,000.
pub(crate) fn list_tcp(states: &[TcpState]) -> io::Result<Vec<TcpSocket>> {
    SockDiag::open()?.list_tcp(states)
}

/// A netlink socket whose reads end after this long at the latest.
pub(crate) fn open_socket(timeout: Duration) -> io::Result<OwnedFd> {
    let (kind, flags) = (SocketType::DGRAM, SocketFlags::CLOEXEC);
    let socket = socket_with(AddressFamily::NETLINK, kind, flags, Some(netlink::SOCK_DIAG))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(timeout))?;
    Ok(socket)
}

/// A netlink socket in one network namespace.
#[derive(Debug)]
pub(crate) struct SockDiag {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl SockDiag {
    /// In torment's own namespace.
    pub fn open() -> io::Result<Self> {
        Ok(Self { socket: open_socket(LONGEST)?, buffer: vec![0; BUFFER] })
    }

    /// In the namespace behind this path (`/proc/PID/ns/net`); requires permission to enter it
    /// (`CAP_SYS_ADMIN`).
    ///
    /// A netlink socket stays in the namespace where it was created, so only a short-lived thread has to
    /// enter it.
    pub fn open_in_namespace(namespace: &Path) -> io::Result<Self> {
        let namespace = File::open(namespace)?;
        let enter = move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            Self::open()
        };
        let thread = std::thread::Builder::new().name("watch-enter".to_owned()).spawn(enter)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("entering a network namespace panicked")))
    }

    /// The TCP sockets in these states; at most 100,000. Fails if the kernel refuses, or takes longer than a
    /// quarter of a second; this `SockDiag` is then unusable.
    pub fn list_tcp(&mut self, states: &[TcpState]) -> io::Result<Vec<TcpSocket>> {
        let until = Instant::now() + LONGEST;
        let mut sockets = Vec::new();
        let mut each = |body: &[u8]| sockets.extend(parse_socket(body).filter(|_| sockets.len() < MOST));
        self.query(&request(AF_INET, states), until, &mut each)?;
        match self.query(&request(AF_INET6, states), until, &mut each) {
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
        Ok(sockets)
    }

    /// Sends a request, and calls `visit` with each message about a socket, under the same conditions.
    pub fn query(&mut self, request: &[u8], until: Instant, visit: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        send(&self.socket, request, SendFlags::empty())?;
        loop {
            if Instant::now() > until {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "listing the sockets took too long"));
            }
            let (length, _) = recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
            if parse_messages(&self.buffer[..length], visit)? {
                return Ok(());
            }
        }
    }
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`: all sockets of a family in these states.
fn request(family: u8, states: &[TcpState]) -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    bytes[..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&REQUEST_DUMP.to_ne_bytes());
    bytes[HEADER] = family;
    bytes[HEADER + 1] = IPPROTO_TCP;
    bytes[HEADER + 4..HEADER + 8].copy_from_slice(&bits(states).to_ne_bytes());
    bytes
}

/// Parses the messages of one datagram, one per socket; true if the last one ends the listing.
pub(crate) fn parse_messages(mut bytes: &[u8], visit: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    while bytes.len() >= HEADER {
        let length = u32_at(bytes, 0) as usize;
        let kind = u16::from_ne_bytes([bytes[4], bytes[5]]);
        if length < HEADER || length > bytes.len() {
            return Err(io::Error::other(format!("a netlink message of {length} bytes, of {}", bytes.len())));
        }
        let body = &bytes[HEADER..length];
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR if body.len() >= 4 => {
                return Err(io::Error::from_raw_os_error((u32_at(body, 0) as i32).wrapping_neg()));
            }
            SOCK_DIAG_BY_FAMILY => visit(body),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// `struct inet_diag_msg`.
fn parse_socket(body: &[u8]) -> Option<TcpSocket> {
    if body.len() < MESSAGE {
        return None;
    }
    let ipv6 = body[0] == AF_INET6;
    let port = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    Some(TcpSocket {
        local: SocketAddr::new(address(&body[8..24], ipv6), port(4)),
        remote: SocketAddr::new(address(&body[24..40], ipv6), port(6)),
        state: TcpState(body[1]),
        receive_queue: u32_at(body, 56),
        send_queue: u32_at(body, 60),
        inode: u32_at(body, 68),
    })
}

fn address(bytes: &[u8], ipv6: bool) -> IpAddr {
    let mut octets = [0; 16];
    octets.copy_from_slice(bytes);
    if ipv6 {
        Ipv6Addr::from(octets).to_canonical()
    } else {
        Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into()
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::fstat;
    use rustix::net::{bind, connect, listen, socket_with};
    use std::net::{TcpListener, TcpStream};

    fn of_port(port: u16, states: &[TcpState]) -> Vec<TcpSocket> {
        let sockets = list_tcp(states).expect("the kernel lists its sockets");
        sockets.into_iter().filter(|s| s.local.port() == port).collect()
    }

    fn inode(of: impl AsFd) -> u32 {
        fstat(of).expect("it is open").st_ino as u32
    }

    #[test]
    fn both_ends_of_a_connection_with_their_inodes() {
        for ip in ["127.0.0.1", "::1"] {
            let Ok(listener) = TcpListener::bind((ip, 0)) else {
                eprintln!("skipped: no {ip} here");
                continue;
            };
            let at = listener.local_addr().expect("it is bound");
            let client = TcpStream::connect(at).expect("it listens");
            let (server, from) = listener.accept().expect("there is a connection");
            assert_eq!(from, client.local_addr().expect("it is connected"));
            let made = of_port(from.port(), &[TcpState::ESTABLISHED]);
            assert_eq!(made.len(), 1, "{made:?}");
            assert_eq!((made[0].local, made[0].remote), (from, at));
            assert_eq!(made[0].inode, inode(&client));
            let taken = of_port(at.port(), &[TcpState::ESTABLISHED]);
            assert_eq!(taken.iter().map(|s| s.inode).collect::<Vec<_>>(), [inode(&server)]);
            let listening = of_port(at.port(), &[TcpState::LISTEN]);
            assert_eq!(listening.iter().map(|s| s.inode).collect::<Vec<_>>(), [inode(&listener)]);
        }
    }

    #[test]
    fn ipv4_within_ipv6_is_ipv4() {
        let Ok(listener) = TcpListener::bind("[::]:0") else { return eprintln!("skipped: no IPv6 here") };
        let at = listener.local_addr().expect("it is bound");
        let Ok(_client) = TcpStream::connect(("127.0.0.1", at.port())) else {
            return eprintln!("skipped: IPv6 sockets take no IPv4 here");
        };
        let (server, _) = listener.accept().expect("there is a connection");
        let taken = of_port(at.port(), &[TcpState::ESTABLISHED]);
        assert_eq!(taken[0].inode, inode(&server));
        assert_eq!(taken[0].local.to_string(), format!("127.0.0.1:{}", at.port()));
    }

    #[test]
    fn a_full_listen_queue() {
        let family = AddressFamily::INET;
        let listener =
            socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("sockets are there");
        bind(&listener, &"127.0.0.1:0".parse::<SocketAddr>().expect("it is one")).expect("a port is free");
        listen(&listener, 2).expect("it is bound");
        let listener = TcpListener::from(listener);
        let at = listener.local_addr().expect("it is bound");
        let mut clients = Vec::new();
        for _ in 0..6 {
            let client =
                socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK, None).expect("as above");
            let _ = connect(&client, &at);
            clients.push(client);
        }
        let listening = of_port(at.port(), &[TcpState::LISTEN]);
        assert_eq!((listening[0].receive_queue, listening[0].send_queue), (3, 2));
        let waiting = list_tcp(&[TcpState::SYN_SENT]).expect("the kernel lists its sockets");
        assert_eq!(waiting.iter().filter(|s| s.remote == at).count(), 3);
        let unaccepted = of_port(at.port(), &[TcpState::ESTABLISHED]);
        assert!(unaccepted.iter().all(|s| s.inode == 0), "{unaccepted:?}");
    }

    #[test]
    fn another_namespace_is_entered_or_refused() {
        let own = list_tcp(&[TcpState::LISTEN]).expect("the kernel lists its sockets").len();
        match SockDiag::open_in_namespace(Path::new("/proc/self/ns/net")) {
            Ok(mut diag) => {
                let count = diag.list_tcp(&[TcpState::LISTEN]).expect("as in its own").len();
                // Other tests open and close sockets meanwhile.
                assert!(count.abs_diff(own) < 50, "{count} and {own}");
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
    }

    #[test]
    fn broken_messages_are_errors() {
        let never = &mut |_: &[u8]| panic!("there is none");
        assert!(parse_messages(&[255; 20], never).is_err());
        let mut refused = [0; 20];
        refused[0] = 20;
        refused[4] = 2;
        refused[16..].copy_from_slice(&(-1_i32).to_ne_bytes());
        let error = parse_messages(&refused, never).expect_err("it refuses");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(!parse_messages(&[0; 3], never).expect("nothing in it"));
        assert_eq!(parse_socket(&[0; 71]), None);
    }
}
