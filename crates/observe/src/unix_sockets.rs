//! Local sockets, as listed by the kernel (sock_diag(7), `unix_diag`).

use crate::sock_diag::{
    HEADER, LONGEST, MOST, REQUEST_DUMP, SOCK_DIAG_BY_FAMILY, SockDiag, bits, open_socket, parse_messages,
};
use procfs::TcpState;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::time::{Duration, Instant};

/// Prefix of a local socket's name where addresses are shown, such as PostgreSQL's.
pub(crate) const LOCAL: &str = "unix ";

const REQUEST: usize = HEADER + 24;
const MESSAGE: usize = 16;
const REQUEST_ONE: u16 = 1; // NLM_F_REQUEST
const AF_UNIX: u8 = 1;
const ENDS: u8 = 1 | 4; // UDIAG_SHOW_NAME, UDIAG_SHOW_PEER
const QUEUES: u8 = 8 | 16; // UDIAG_SHOW_ICONS, UDIAG_SHOW_RQLEN
const NAME: u16 = 0;
const PEER: u16 = 2;
const WAITING: u16 = 3;
const QUEUE: u16 = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnixSocket {
    /// As in `/proc/PID/fd`: `socket:[inode]`. A connection not yet accepted has none, and is not listed.
    pub inode: u64,
    /// Numbered as TCP's states.
    pub state: TcpState,
    /// Path, or `@` and the abstract name; a connection has that of its listening socket.
    pub name: Option<String>,
    /// The other end's inode.
    pub peer: Option<u64>,
    /// Of a listening socket: connections not yet accepted, and the backlog limit.
    pub queue: (u32, u32),
    /// The inodes of these connections' other ends.
    pub waiting: Vec<u64>,
}

/// The local socket with this inode, if any.
pub(crate) fn find_unix_socket(inode: u64) -> io::Result<Option<UnixSocket>> {
    let Ok(inode) = u32::try_from(inode) else { return Ok(None) };
    let socket = open_socket(Duration::from_millis(50))?;
    send(&socket, &request(REQUEST_ONE, u32::MAX, inode, ENDS), SendFlags::empty())?;
    let mut answer = [0_u8; 1024];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let mut found = None;
    // An error means that there is none.
    let _ = parse_messages(&answer[..length], &mut |body| found = parse(body));
    Ok(found)
}

/// The local sockets in these states in torment's network namespace; at most 100,000.
pub(crate) fn list_unix_sockets(states: &[TcpState]) -> io::Result<Vec<UnixSocket>> {
    let mut sockets = Vec::new();
    SockDiag::open()?.query(
        &request(REQUEST_DUMP, bits(states), 0, ENDS | QUEUES),
        Instant::now() + LONGEST,
        &mut |body| {
            sockets.extend(parse(body).filter(|_| sockets.len() < MOST));
        },
    )?;
    Ok(sockets)
}

/// `struct nlmsghdr` and `struct unix_diag_req`: the socket with this inode, or with other flags all in
/// these states.
fn request(flags: u16, states: u32, inode: u32, shown: u8) -> [u8; REQUEST] {
    let mut request = [0_u8; REQUEST];
    request[..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    request[HEADER] = AF_UNIX;
    request[HEADER + 4..HEADER + 8].copy_from_slice(&states.to_ne_bytes());
    request[HEADER + 8..HEADER + 12].copy_from_slice(&inode.to_ne_bytes());
    request[HEADER + 12] = shown;
    request[HEADER + 16..].fill(0xff); // any cookie
    request
}

/// `struct unix_diag_msg` and what follows it.
pub(crate) fn parse(body: &[u8]) -> Option<UnixSocket> {
    let u16_at = |at: usize| Some(u16::from_ne_bytes(body.get(at..at + 2)?.try_into().ok()?));
    let u32_of = |bytes: &[u8]| bytes.try_into().ok().map(u32::from_ne_bytes);
    let inode = u32_of(body.get(4..8)?)?.into();
    let mut socket = UnixSocket {
        inode,
        state: TcpState(body[2]),
        name: None,
        peer: None,
        queue: (0, 0),
        waiting: Vec::new(),
    };
    let mut at = MESSAGE;
    while let (Some(length), Some(kind)) = (u16_at(at), u16_at(at + 2)) {
        let Some(value) = body.get(at + 4..at + usize::from(length)) else { break };
        match kind {
            NAME if !value.is_empty() => socket.name = Some(name(value)),
            PEER => socket.peer = u32_of(value).map(u64::from),
            WAITING => socket.waiting = value.chunks_exact(4).filter_map(u32_of).map(u64::from).collect(),
            QUEUE if value.len() == 8 => {
                socket.queue = (u32_of(&value[..4]).unwrap_or(0), u32_of(&value[4..]).unwrap_or(0));
            }
            _ => {}
        }
        at += usize::from(length).next_multiple_of(4);
    }
    (body[0] == AF_UNIX).then_some(socket)
}

fn name(value: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(|c: char| c.is_control(), "?");
    match value.strip_prefix(b"\0") {
        Some(rest) => format!("@{}", text(rest)),
        None => text(value.strip_suffix(b"\0").unwrap_or(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::fs::fstat;
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn inode(of: impl AsFd) -> u64 {
        fstat(of).expect("it is open").st_ino
    }

    #[test]
    fn both_ends_and_who_waits_to_be_accepted() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).expect("the path is free");
        let client = UnixStream::connect(&path).expect("it listens");
        let (server, _) = listener.accept().expect("there is a connection");
        let one = |inode: u64| find_unix_socket(inode).expect("the kernel answers").expect("there is one");
        let connected = |inode, name, peer| UnixSocket {
            inode,
            state: TcpState::ESTABLISHED,
            name,
            peer: Some(peer),
            queue: (0, 0),
            waiting: Vec::new(),
        };
        let name = Some(path.display().to_string());
        let (at_client, at_server) = (inode(&client), inode(&server));
        let ends = [connected(at_client, None, at_server), connected(at_server, name.clone(), at_client)];
        assert_eq!([one(at_client), one(at_server)], ends);
        assert_eq!(find_unix_socket(u64::from(u32::MAX)).expect("the kernel answers"), None);
        let waits = [1, 2].map(|_| UnixStream::connect(&path).expect("it listens"));
        let mut all =
            list_unix_sockets(&[TcpState::LISTEN, TcpState::ESTABLISHED]).expect("the kernel lists them");
        all.retain(|socket| socket.name == name);
        assert_eq!(all.len(), 2, "what nobody has accepted stands in the queue only: {all:?}");
        let listening = all.iter().find(|socket| socket.state == TcpState::LISTEN).expect("it listens");
        assert_eq!((listening.inode, listening.queue.0), (inode(&listener), 2));
        assert!(listening.queue.1 >= 2, "{listening:?}");
        assert_eq!(listening.waiting, waits.each_ref().map(inode));
    }

    proptest! {
        #[test]
        fn hostile_answers_never_panic(mut answer in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse(&answer);
            if let Some(family) = answer.first_mut() {
                *family = AF_UNIX;
                let _ = parse(&answer);
            }
        }
    }
}
