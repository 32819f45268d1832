//! Local sockets by inode, asked of the kernel (sock_diag(7), `unix_diag`).

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::io;
use std::time::Duration;

const HEADER: usize = 16;
const REQUEST: usize = HEADER + 24;
const MESSAGE: usize = HEADER + 16;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const AF_UNIX: u8 = 1;
const NAME: u16 = 0;
const PEER: u16 = 2;

/// One local socket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Local {
    /// Its path, or `@` and its name; a connection has that of the socket which accepted it.
    pub name: Option<String>,
    /// The other end's inode.
    pub peer: Option<u64>,
}

/// The local socket with this inode; none if there is none.
pub(crate) fn local(inode: u64) -> io::Result<Option<Local>> {
    let Ok(inode) = u32::try_from(inode) else { return Ok(None) };
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_millis(50)))?;
    let mut request = [0_u8; REQUEST];
    request[..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6] = 1; // NLM_F_REQUEST
    request[HEADER] = AF_UNIX;
    request[HEADER + 4..HEADER + 8].fill(0xff); // in any state
    request[HEADER + 8..HEADER + 12].copy_from_slice(&inode.to_ne_bytes());
    request[HEADER + 12] = 1 | 4; // UDIAG_SHOW_NAME, UDIAG_SHOW_PEER
    request[HEADER + 16..].fill(0xff); // whatever its cookie
    send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0_u8; 1024];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    Ok(read(&answer[..length]))
}

/// An error, such as that there is none, is none.
pub(crate) fn read(answer: &[u8]) -> Option<Local> {
    let u16_at = |at: usize| Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    if u16_at(4)? != SOCK_DIAG_BY_FAMILY || answer.len() < MESSAGE {
        return None;
    }
    let mut found = Local::default();
    let mut at = MESSAGE;
    while let (Some(length), Some(kind)) = (u16_at(at), u16_at(at + 2)) {
        let Some(value) = answer.get(at + 4..at + usize::from(length)) else { break };
        match kind {
            NAME if !value.is_empty() => found.name = Some(name(value)),
            PEER => found.peer = value.try_into().ok().map(|bytes| u32::from_ne_bytes(bytes).into()),
            _ => {}
        }
        at += usize::from(length).next_multiple_of(4);
    }
    Some(found)
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
    fn both_ends() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).expect("the path is free");
        let client = UnixStream::connect(&path).expect("it listens");
        let (server, _) = listener.accept().expect("there is a connection");
        let name = Some(path.display().to_string());
        let made = local(inode(&client)).expect("the kernel answers").expect("there is one");
        assert_eq!(made, Local { name: None, peer: Some(inode(&server)) });
        let accepted = local(inode(&server)).expect("the kernel answers").expect("there is one");
        assert_eq!(accepted, Local { name, peer: Some(inode(&client)) });
        assert_eq!(local(u64::from(u32::MAX)).expect("the kernel answers"), None);
    }

    proptest! {
        #[test]
        fn hostile_answers_never_panic(mut answer in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&answer);
            if answer.len() > 6 {
                answer[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
                let _ = read(&answer);
            }
        }
    }
}
