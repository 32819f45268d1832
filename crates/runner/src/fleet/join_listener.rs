//! Where members join that others start, on any machine.

use crate::Error;
use engine::ResolvedTarget;
use fleet::FleetRole;
use link::{Authority, Credentials, JoinFile};
use plan::Target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;
use units::Nanos;

/// Lifetime of a join file: hardly any run is longer.
const JOIN_FILE_LIFETIME: Duration = Duration::from_secs(31 * 86_400);
/// Timeout of a name lookup.
const LOOKUP_LIMIT: Duration = Duration::from_secs(5);
/// A documentation address (RFC 5737), to find the local address of the default route. Nothing is sent.
const DEFAULT_ROUTE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// Listens from the start. Members with its join file are admitted once the run begins.
#[derive(Debug)]
pub struct JoinListener {
    listener: TcpListener,
    credentials: Credentials,
    file: String,
    /// The address in the join file.
    pub(crate) address: String,
    /// How long to wait for members.
    pub(crate) wait: Nanos,
}

impl JoinListener {
    /// For workers, at `HOST` or `HOST:PORT`, as their machines reach this one; by default the local address of the
    /// route to the target, and a free port.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub fn for_workers(at: Option<&str>, target: &Target, wait: Nanos) -> Result<Self, Error> {
        Self::open(FleetRole::Worker, at, target, wait)
    }

    /// The same for watchers.
    ///
    /// # Errors
    /// As for [`JoinListener::for_workers`].
    pub fn for_watchers(at: Option<&str>, target: &Target, wait: Nanos) -> Result<Self, Error> {
        Self::open(FleetRole::Watcher, at, target, wait)
    }

    fn open(role: FleetRole, at: Option<&str>, target: &Target, wait: Nanos) -> Result<Self, Error> {
        let failed = |why: &dyn std::fmt::Display| {
            let at = at.unwrap_or("this machine");
            Error::Fleet(format!("no {} can come in at {at}: {why}", role.name()))
        };
        let (host, port) = match at.map(host_and_port) {
            Some(parsed) => {
                let (host, port) = parsed.ok_or_else(|| failed(&"expected HOST or HOST:PORT"))?;
                (Some(host), port)
            }
            None => (None, 0),
        };
        let own = match &host {
            Some(host) => sys::resolve_host(host, port, LOOKUP_LIMIT).map_err(|why| failed(&why))?,
            None => SocketAddr::new(local_address_towards(target), port),
        };
        let listener = TcpListener::bind(own).map_err(|why| failed(&engine::reason(&why)))?;
        Self::with_name(role, listener, host.as_deref(), wait).map_err(|why| failed(&why))
    }

    /// For workers in pods: at `HOST` or `HOST:PORT`, as they reach this machine, possibly by another address; by
    /// default the local address of the route to the cluster's server, and a free port.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub fn for_worker_pods(
        at: Option<&str>,
        server: Option<(&str, u16)>,
        wait: Nanos,
    ) -> Result<Self, Error> {
        Self::open_for_pods(FleetRole::Worker, at, server, wait)
    }

    /// The same for watchers.
    ///
    /// # Errors
    /// As for [`JoinListener::for_worker_pods`].
    pub fn for_watcher_pods(
        at: Option<&str>,
        server: Option<(&str, u16)>,
        wait: Nanos,
    ) -> Result<Self, Error> {
        Self::open_for_pods(FleetRole::Watcher, at, server, wait)
    }

    fn open_for_pods(
        role: FleetRole,
        at: Option<&str>,
        server: Option<(&str, u16)>,
        wait: Nanos,
    ) -> Result<Self, Error> {
        let failed = |why: &dyn std::fmt::Display| {
            Error::Fleet(format!("pods cannot come in at {}: {why}", at.unwrap_or("this machine")))
        };
        let Some(at) = at else {
            let server = server.and_then(|(host, port)| sys::resolve_host(host, port, LOOKUP_LIMIT).ok());
            // An API server at a loopback address is on this machine, or at the other end of a tunnel.
            let server = server.filter(|server| !server.ip().is_loopback()).unwrap_or(DEFAULT_ROUTE);
            let own = SocketAddr::new(local_address_to(server), 0);
            let listener = TcpListener::bind(own).map_err(|why| failed(&engine::reason(&why)))?;
            return Self::with_name(role, listener, None, wait).map_err(|why| failed(&why));
        };
        let (host, port) = host_and_port(at).ok_or_else(|| failed(&"expected HOST or HOST:PORT"))?;
        let own = sys::resolve_host(&host, port, LOOKUP_LIMIT);
        let own = own.and_then(|own| TcpListener::bind(own).map_err(|why| engine::reason(&why).to_string()));
        let listener = own.or_else(|_| {
            // Some NAT knows this machine by that name.
            let all = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
            TcpListener::bind(all).map_err(|why| failed(&engine::reason(&why)))
        })?;
        Self::with_name(role, listener, Some(&host), wait).map_err(|why| failed(&why))
    }

    /// Listens there under this name.
    fn with_name(
        role: FleetRole,
        listener: TcpListener,
        host: Option<&str>,
        wait: Nanos,
    ) -> Result<Self, String> {
        let own = listener.local_addr().map_err(|why| why.to_string())?;
        let authority = Authority::new(JOIN_FILE_LIFETIME).map_err(|why| why.to_string())?;
        let credentials = |role| authority.issue(role).map_err(|why| why.to_string());
        let at = host.map_or_else(|| own.to_string(), |host| format!("{host}:{}", own.port()));
        let file = JoinFile { address: at.clone(), credentials: credentials(role)? }.to_text();
        Ok(Self { listener, credentials: credentials(FleetRole::Coordinator)?, file, address: at, wait })
    }

    /// For a run conducted elsewhere: an open listener and its credentials.
    pub(crate) fn from_listener(listener: TcpListener, credentials: Credentials, wait: Nanos) -> Self {
        Self { listener, credentials, file: String::new(), address: String::new(), wait }
    }

    /// Content of the join file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Admits members to this link from now on.
    pub(super) fn admit_to(&self, coordinator_link: &link::CoordinatorLink) -> Result<(), Error> {
        let listener = self.listener.try_clone().map_err(|why| Error::Fleet(why.to_string()))?;
        coordinator_link.listen(listener, &self.credentials).map_err(|why| Error::Fleet(why.to_string()))
    }
}

/// Parses `HOST:PORT`, `HOST`, or a bracketed IPv6 address.
fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().ok()?),
        _ => (text, 0),
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Local address of the route to the target, or else of the default route.
fn local_address_towards(target: &Target) -> IpAddr {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let to = match target {
        // The demo will be on this machine.
        Target::Demo => return loopback,
        Target::Null => DEFAULT_ROUTE,
        target => match ResolvedTarget::resolve(target) {
            Ok(endpoint) if endpoint.is_local() => return loopback,
            Ok(endpoint) => endpoint.address().unwrap_or(DEFAULT_ROUTE),
            Err(_) => DEFAULT_ROUTE,
        },
    };
    local_address_to(to)
}

/// Local address of the route to `to`.
fn local_address_to(to: SocketAddr) -> IpAddr {
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
        for (parsed, expected) in [
            ("b", Some(("b", 0))),
            ("b:70", Some(("b", 70))),
            ("10.0.0.4:0", Some(("10.0.0.4", 0))),
            ("[::1]:9", Some(("[::1]", 9))),
            ("::1", Some(("::1", 0))),
            ("b:x", None),
            (":9", None),
            ("", None),
        ] {
            assert_eq!(
                host_and_port(parsed),
                expected.map(|(host, port)| (host.to_owned(), port)),
                "{parsed}"
            );
        }
        assert_eq!(local_address_towards(&Target::Demo), IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert!(!local_address_towards(&Target::Null).is_unspecified());
    }
}
