//! A private network namespace with few local ports, so that they can run out without affecting
//! others.

use crate::CaseError;
use crate::case::LocalPorts;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::process::Command;

/// The first local port.
const FIRST_PORT: u32 = 40_000;

/// The network; removed when dropped. The thread that entered stays in it to its end.
pub(crate) struct NetworkNamespace {
    name: String,
}

impl NetworkNamespace {
    /// Creates one and moves the calling thread, and whatever it starts, into it.
    pub(crate) fn enter(ports: LocalPorts) -> Result<Self, CaseError> {
        let name = format!("torment-faults-{}", std::process::id());
        // A killed process with our number may have left it.
        let _ = ip(&["netns", "del", &name]);
        ip(&["netns", "add", &name])?;
        let this = Self { name };
        ip(&["-n", &this.name, "link", "set", "lo", "up"])?;
        let skip = |what: &'static str| move |e: std::io::Error| CaseError::Skip(format!("{what}: {e}"));
        let path = format!("/run/netns/{}", this.name);
        let space = File::open(&path).map_err(skip("a network of our own cannot be opened"))?;
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|e| CaseError::Skip(format!("a network of our own cannot be entered: {e}")))?;
        let range = format!("{FIRST_PORT} {}", FIRST_PORT + ports.range - 1);
        fs::write("/proc/sys/net/ipv4/ip_local_port_range", range)
            .map_err(skip("the local ports of a network of our own cannot be set"))?;
        Ok(this)
    }
}

/// Takes local ports by holding connections to an address.
pub(crate) fn hold_ports(to: SocketAddr, count: u32) -> Result<Vec<TcpStream>, CaseError> {
    (0..count).map(|_| TcpStream::connect(to).map_err(CaseError::fail("a port cannot be held"))).collect()
}

fn ip(words: &[&str]) -> Result<(), CaseError> {
    let skip = |why: String| {
        CaseError::Skip(format!("a network of our own cannot be made (ip {}): {why}", words.join(" ")))
    };
    let done = Command::new("ip").args(words).output().map_err(|e| skip(e.to_string()))?;
    if done.status.success() {
        Ok(())
    } else {
        Err(skip(String::from_utf8_lossy(&done.stderr).trim().to_owned()))
    }
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        // Open sockets keep the network itself until they close.
        let _ = ip(&["netns", "del", &self.name]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn ports_run_out_in_a_network_of_ones_own_only() {
        let range = || fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").expect("proc(5)");
        let before = range();
        // The thread stays in that network.
        let name = std::thread::spawn(|| {
            let namespace = match NetworkNamespace::enter(LocalPorts { range: 10, held: 0 }) {
                Ok(space) => space,
                Err(why) => {
                    eprintln!("SKIPPED: {why:?}");
                    return None;
                }
            };
            let listener = TcpListener::bind("127.0.0.1:7").expect("nobody else is here");
            let address = listener.local_addr().expect("it is bound");
            let held = hold_ports(address, 9).expect("there are ten");
            assert!(hold_ports(address, 3).is_err(), "{} of 10 ports are held", held.len());
            Some(namespace.name.clone())
        });
        let name = name.join().expect("no panic");
        assert_eq!(range(), before, "the machine's own range has changed");
        if let Some(name) = name {
            assert!(!std::path::Path::new("/run/netns").join(name).exists());
        }
    }
}
