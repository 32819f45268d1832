use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;

/// Where the target listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetLocation {
    /// At these addresses, to which a name resolved.
    Tcp(Vec<SocketAddr>),
    /// At this local socket.
    Unix(PathBuf),
    /// In these pods, by UID, as far as they are on this node.
    Pods(Vec<String>),
    /// Beside this process, which runs in the target's PID namespace.
    Inside,
    /// Unknown: the watched processes were named.
    Unknown,
    /// On another machine, watched by others.
    Remote,
}

impl TargetLocation {
    /// On this machine, for a target that others reach at these addresses: at those of them that are local,
    /// or else at any address with this port, whose owner may forward connections.
    pub fn behind(addresses: &[SocketAddr], listening: Vec<SocketAddr>) -> Self {
        let own: Vec<SocketAddr> = addresses.iter().copied().filter(|at| is_here(at.ip())).collect();
        let is_there = |at: &SocketAddr| {
            listening.iter().any(|listener| listener.ip() == at.ip() || listener.ip().is_unspecified())
        };
        Self::Tcp(if own.iter().any(is_there) { own } else { listening })
    }

    /// The addresses that connections are made to.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        match self {
            Self::Tcp(addresses) => addresses.clone(),
            Self::Unix(_) | Self::Pods(_) | Self::Inside | Self::Unknown | Self::Remote => Vec::new(),
        }
    }
}

/// Whether an address is local to this network namespace.
pub(crate) fn is_here(address: IpAddr) -> bool {
    if address.is_loopback() || address.is_unspecified() {
        return true;
    }
    // The kernel sends to a local address from that address. Nothing is sent by this.
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_for_others_is_found_by_the_port() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("it is one");
        for (reached, listening, expected) in [
            ("127.0.0.1:80", "0.0.0.0:80", "127.0.0.1:80"),
            ("127.0.0.1:80", "127.0.0.1:80", "127.0.0.1:80"),
            // Nobody listens at that one.
            ("127.0.0.2:80", "127.0.0.1:80", "127.0.0.1:80"),
            // Reserved for documentation: a balancer's.
            ("192.0.2.1:80", "127.0.0.1:80", "127.0.0.1:80"),
        ] {
            let found = TargetLocation::behind(&[at(reached)], vec![at(listening)]);
            assert_eq!(found, TargetLocation::Tcp(vec![at(expected)]), "{reached} {listening}");
        }
    }

    #[test]
    fn what_is_here() {
        for here in ["127.0.0.1", "127.9.9.9", "::1", "0.0.0.0"] {
            assert!(is_here(here.parse().expect("it is one")), "{here}");
        }
        // Reserved for documentation: nobody's.
        for elsewhere in ["192.0.2.1", "2001:db8::1"] {
            assert!(!is_here(elsewhere.parse().expect("it is one")), "{elsewhere}");
        }
    }
}
