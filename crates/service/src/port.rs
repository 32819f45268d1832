//! Who listens at a port of this machine.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of a listening socket in /proc/net/tcp (TCP_LISTEN).
const LISTEN: &str = "0A";

/// A process that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its number.
    pub pid: u32,
    /// What it is called.
    pub name: String,
}

/// Whether an address of this machine, where a listener at any address would take a connection too.
pub fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified()
}

/// The processes that take connections to a loopback address at this port; none if nobody does. An empty list: somebody,
/// but this user may not know who.
pub fn listeners(port: u16) -> Option<Vec<Listener>> {
    let local = all(port).into_iter().filter(|listening| is_local(listening.at.ip()));
    let sockets: Vec<u64> = local.map(|listening| listening.socket).collect();
    (!sockets.is_empty()).then(|| holders(&sockets))
}

/// The addresses of this network namespace at which somebody listens at this port, each once.
pub fn addresses(port: u16) -> Vec<SocketAddr> {
    let mut found: Vec<SocketAddr> = all(port).into_iter().map(|listening| listening.at).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// All sockets that listen at a port.
fn all(port: u16) -> Vec<Listening> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|file| fs::read_to_string(file).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines());
    lines.filter_map(listening).filter(|listening| listening.at.port() == port).collect()
}

/// The first of them, as an error wants it.
pub fn taken_by(listeners: Vec<Listener>) -> Option<(String, u32)> {
    listeners.into_iter().next().map(|Listener { pid, name }| (name, pid))
}

/// Who has one of these sockets open.
fn holders(sockets: &[u64]) -> Vec<Listener> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|link| {
            let number = link.to_str().and_then(|link| link.strip_prefix("socket:[")?.strip_suffix(']'));
            number.and_then(|number| number.parse().ok()).is_some_and(|number| sockets.contains(&number))
        })
    };
    numbers.filter(holds).map(|pid| Listener { pid, name: name(pid) }).collect()
}

/// What a process is called.
fn name(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.trim().is_empty() { "?".to_owned() } else { name.trim().to_owned() }
}

/// A line of the table, if its socket listens.
struct Listening {
    at: SocketAddr,
    socket: u64,
}

fn listening(line: &str) -> Option<Listening> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (ip, port) = words.next()?.split_once(':')?;
    (words.nth(1)? == LISTEN).then_some(())?;
    let socket = words.nth(5)?.parse().ok()?;
    // Words of 32 bits in the byte order of the machine, as hexadecimal digits.
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip: IpAddr = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut bytes = [0; 16];
            for part in 0..4 {
                bytes[part * 4..part * 4 + 4].copy_from_slice(&word(part * 8)?);
            }
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(Listening { at: SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?), socket })
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
            // Another test may have just started a process, which has this socket open until it executes its program.
            assert!(found.iter().any(|l| l.pid == std::process::id() && !l.name.is_empty()), "{found:?}");
        }
    }

    #[test]
    fn lines_that_are_none() {
        for line in [
            "",
            "  sl  local_address rem_address   st",
            "0: 01:02 x 0A 00:00 00:00 00 0 0 4711 1",
            "0: 0100007F:XYZW 0:0 0A 00:00 00:00 00 0 0 4711 1",
            "0: 0100007F:1F90 0:0 0A 0 0 0 0",
        ] {
            assert!(listening(line).is_none(), "{line}");
        }
        for (ip, expected) in [
            ("0000000000000000FFFF00000100007F", "127.0.0.1:8080"),
            ("00000000000000000000000001000000", "[::1]:8080"),
            ("0100007F", "127.0.0.1:8080"),
        ] {
            let line = format!("0: {ip}:1F90 00:00 0A 00:00 00:00 00 0 0 4711 1");
            let found = listening(&line).expect("it listens");
            assert_eq!((found.at, found.socket), (expected.parse().expect("an address"), 4711));
        }
    }
}
