//! Where members come in that others start, on whatever machines.

use crate::Error;
use engine::ResolvedTarget;
use fleet::FleetRole;
use link::{Authority, Credentials, JoinFile};
use plan::Target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;
use units::Nanos;

/// So long a file lets in: no run is longer, or hardly.
const LASTS: Duration = Duration::from_secs(31 * 86_400);
/// For a name to be looked up.
const LOOK_UP: Duration = Duration::from_secs(5);
/// An address for documentation (RFC 5737): the way there begins where the way to most others does. Nothing is sent.
const SOMEWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// It is open from when it is made. Who comes is let in once the run begins, with the file that it gives.
#[derive(Debug)]
pub struct JoinListener {
    listener: TcpListener,
    pass: Credentials,
    file: String,
    /// Where that says that this is.
    pub(crate) at: String,
    /// How long they are waited for.
    pub(crate) waits: Nanos,
}

impl JoinListener {
    /// For workers, at `HOST` or `HOST:PORT`, as their machines reach this one; if that is not said, at the address from which the way to the
    /// target begins, and a port that is free.
    ///
    /// # Errors
    /// If nobody can be let in there.
    pub fn for_workers(at: Option<&str>, target: &Target, waits: Nanos) -> Result<Self, Error> {
        Self::open(FleetRole::Worker, at, target, waits)
    }

    /// The same for watchers.
    ///
    /// # Errors
    /// As [`Entrance::for_workers`].
    pub fn for_watchers(at: Option<&str>, target: &Target, waits: Nanos) -> Result<Self, Error> {
        Self::open(FleetRole::Watcher, at, target, waits)
    }

    fn open(role: FleetRole, at: Option<&str>, target: &Target, waits: Nanos) -> Result<Self, Error> {
        let failed = |why: &dyn std::fmt::Display| {
            let at = at.unwrap_or("this machine");
            Error::Fleet(format!("no {} can come in at {at}: {why}", role.name()))
        };
        let (host, port) = match at.map(host_and_port) {
            Some(said) => {
                let (host, port) = said.ok_or_else(|| failed(&"expected HOST or HOST:PORT"))?;
                (Some(host), port)
            }
            None => (None, 0),
        };
        let own = match &host {
            Some(host) => sys::resolve_host(host, port, LOOK_UP).map_err(|why| failed(&why))?,
            None => SocketAddr::new(local_address_towards(target), port),
        };
        let listener = TcpListener::bind(own).map_err(|why| failed(&engine::reason(&why)))?;
        Self::named(role, listener, host.as_deref(), waits).map_err(|why| failed(&why))
    }

    /// For workers in pods of a cluster: at `HOST` or `HOST:PORT`, as they reach this machine, which may have another address for itself; if that is
    /// not said, at the address from which the way to the cluster's server begins, and a port that is free.
    ///
    /// # Errors
    /// If nobody can be let in there.
    pub fn for_worker_pods(
        at: Option<&str>,
        server: Option<(&str, u16)>,
        waits: Nanos,
    ) -> Result<Self, Error> {
        Self::of_cluster(FleetRole::Worker, at, server, waits)
    }

    /// The same for watchers.
    ///
    /// # Errors
    /// As [`Entrance::for_worker_pods`].
    pub fn for_watcher_pods(
        at: Option<&str>,
        server: Option<(&str, u16)>,
        waits: Nanos,
    ) -> Result<Self, Error> {
        Self::of_cluster(FleetRole::Watcher, at, server, waits)
    }

    fn of_cluster(
        role: FleetRole,
        at: Option<&str>,
        server: Option<(&str, u16)>,
        waits: Nanos,
    ) -> Result<Self, Error> {
        let failed = |why: &dyn std::fmt::Display| {
            Error::Fleet(format!("pods cannot come in at {}: {why}", at.unwrap_or("this machine")))
        };
        let Some(at) = at else {
            let server = server.and_then(|(host, port)| sys::resolve_host(host, port, LOOK_UP).ok());
            // A server that is reached by loopback is on this machine, or at the other end of a tunnel.
            let server = server.filter(|server| !server.ip().is_loopback()).unwrap_or(SOMEWHERE);
            let own = SocketAddr::new(way_to(server), 0);
            let listener = TcpListener::bind(own).map_err(|why| failed(&engine::reason(&why)))?;
            return Self::named(role, listener, None, waits).map_err(|why| failed(&why));
        };
        let (host, port) = host_and_port(at).ok_or_else(|| failed(&"expected HOST or HOST:PORT"))?;
        let own = sys::resolve_host(&host, port, LOOK_UP);
        let own = own.and_then(|own| TcpListener::bind(own).map_err(|why| engine::reason(&why).to_string()));
        let listener = own.or_else(|_| {
            // Somebody between here and there knows it by that name.
            let all = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
            TcpListener::bind(all).map_err(|why| failed(&engine::reason(&why)))
        })?;
        Self::named(role, listener, Some(&host), waits).map_err(|why| failed(&why))
    }

    /// Who listens there, by this name.
    fn named(
        role: FleetRole,
        listener: TcpListener,
        host: Option<&str>,
        waits: Nanos,
    ) -> Result<Self, String> {
        let own = listener.local_addr().map_err(|why| why.to_string())?;
        let authority = Authority::new(LASTS).map_err(|why| why.to_string())?;
        let pass = |role| authority.issue(role).map_err(|why| why.to_string());
        let at = host.map_or_else(|| own.to_string(), |host| format!("{host}:{}", own.port()));
        let file = JoinFile { at: at.clone(), pass: pass(role)? }.to_text();
        Ok(Self { listener, pass: pass(FleetRole::Coordinator)?, file, at, waits })
    }

    /// Where a run is conducted elsewhere: a place that is listened at, with what lets in there.
    pub(crate) fn from_listener(listener: TcpListener, pass: Credentials, waits: Nanos) -> Self {
        Self { listener, pass, file: String::new(), at: String::new(), waits }
    }

    /// What lets one in, as it is written into a file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Lets in, from now on, into this.
    pub(super) fn admit_to(&self, post: &link::CoordinatorLink) -> Result<(), Error> {
        let listener = self.listener.try_clone().map_err(|why| Error::Fleet(why.to_string()))?;
        post.listen(listener, &self.pass).map_err(|why| Error::Fleet(why.to_string()))
    }
}

/// Of `HOST:PORT`, `HOST`, or an address of IPv6 in brackets.
fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().ok()?),
        _ => (text, 0),
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// The address of this machine from which the target is reached, or most others are.
fn local_address_towards(target: &Target) -> IpAddr {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let to = match target {
        // It will be at this machine alone.
        Target::Demo => return loopback,
        Target::Null => SOMEWHERE,
        target => match ResolvedTarget::resolve(target) {
            Ok(endpoint) if endpoint.is_local() => return loopback,
            Ok(endpoint) => endpoint.address().unwrap_or(SOMEWHERE),
            Err(_) => SOMEWHERE,
        },
    };
    way_to(to)
}

/// The address of this machine from which the way there begins.
fn way_to(to: SocketAddr) -> IpAddr {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let way = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(to)?;
        socket.local_addr()
    });
    way.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |way| way.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_is_may_be_said_in_several_ways() {
        for (said, expected) in [
            ("b", Some(("b", 0))),
            ("b:70", Some(("b", 70))),
            ("10.0.0.4:0", Some(("10.0.0.4", 0))),
            ("[::1]:9", Some(("[::1]", 9))),
            ("::1", Some(("::1", 0))),
            ("b:x", None),
            (":9", None),
            ("", None),
        ] {
            assert_eq!(host_and_port(said), expected.map(|(host, port)| (host.to_owned(), port)), "{said}");
        }
        assert_eq!(local_address_towards(&Target::Demo), IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert!(!local_address_towards(&Target::Null).is_unspecified());
    }
}
