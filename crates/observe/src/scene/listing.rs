//! The TCP sockets of a network namespace: asked of the kernel, or read from its files where that is refused.

use crate::diag::{Diag, Socket, State, tcp};
use crate::tree;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// How the sockets of one network namespace are listed.
#[derive(Debug)]
pub(crate) enum Listing {
    /// Of torment's own.
    Own,
    /// Of another one, into which it may go.
    Within(Diag),
    /// By the files of a process in it, 20 times dearer.
    Files(u32),
}

/// How to list the sockets that a process can have.
pub(crate) fn of_process(pid: u32) -> Listing {
    let own = tree::namespace(std::process::id(), "net");
    let its = tree::namespace(pid, "net");
    // One that may not be read is another user's; most likely it is the same.
    if its.is_none() || its == own {
        return Listing::Own;
    }
    let path = PathBuf::from(format!("/proc/{pid}/ns/net"));
    Diag::within(&path).map_or(Listing::Files(pid), Listing::Within)
}

impl Listing {
    /// The sockets in these states; none of them if they cannot be listed at all.
    pub fn sockets(&mut self, states: &[State]) -> Vec<Socket> {
        match self {
            Self::Own => tcp(states).unwrap_or_else(|_| from_files(std::process::id(), states)),
            Self::Within(diag) => {
                let mut sockets = Vec::new();
                match diag.each(states, &mut |socket| sockets.push(socket)) {
                    Ok(()) => sockets,
                    Err(_) => Vec::new(),
                }
            }
            Self::Files(pid) => from_files(*pid, states),
        }
    }
}

fn from_files(pid: u32, states: &[State]) -> Vec<Socket> {
    let mut sockets = Vec::new();
    for name in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{name}")).unwrap_or_default();
        sockets.extend(text.lines().filter_map(line).filter(|socket| states.contains(&socket.state)));
    }
    sockets
}

/// A line of `/proc/net/tcp` or `tcp6`; its heading is none.
pub(crate) fn line(text: &str) -> Option<Socket> {
    let mut words = text.split_ascii_whitespace().skip(1);
    let local = address(words.next()?)?;
    let remote = address(words.next()?)?;
    let state = State(u8::from_str_radix(words.next()?, 16).ok()?);
    let (send, receive) = words.next()?.split_once(':')?;
    let uid = words.nth(2)?.parse().ok()?;
    let inode = words.nth(1)?.parse().ok()?;
    let queue = |text: &str| u32::from_str_radix(text, 16).ok();
    Some(Socket {
        local,
        remote,
        state,
        inode,
        receive_queue: queue(receive)?,
        send_queue: queue(send)?,
        uid,
    })
}

/// `0100007F:1F90`: words of four bytes, each as the processor has it in memory.
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
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn files_say_what_the_kernel_says() {
        for ip in ["127.0.0.1", "::1"] {
            let Ok(listener) = TcpListener::bind((ip, 0)) else { continue };
            let at = listener.local_addr().expect("it is bound");
            let client = TcpStream::connect(at).expect("it listens");
            let states = [State::LISTEN, State::ESTABLISHED];
            let of_ours = |sockets: Vec<Socket>| {
                let mut found: Vec<_> =
                    sockets.into_iter().filter(|s| s.local == at || s.remote == at).collect();
                found.sort_by_key(|s| (s.local, s.remote));
                // A file gives no backlog.
                found.iter_mut().for_each(|s| s.send_queue = 0);
                found
            };
            let files = of_ours(from_files(std::process::id(), &states));
            assert_eq!(files.len(), 3, "{files:?}");
            assert_eq!(files, of_ours(Listing::Own.sockets(&states)));
            drop(client);
        }
    }

    #[test]
    fn hostile_lines_are_none() {
        let heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid";
        for text in ["", " ", heading, "0: 1:1", "0: 0100007F:1F90 00000000:0000 0A 0:0 00:0 0 0 0 -"] {
            assert_eq!(line(text), None, "{text}");
        }
        assert_eq!(address("0100007é:1F90"), None);
        assert_eq!(address("0100007F:1F901"), None);
    }
}
