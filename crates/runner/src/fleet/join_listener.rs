//! Where members join that others start, on any machine.

use crate::Error;
use engine::ResolvedTarget;
use fleet::FleetRole;
use link::{Authority, Credentials, JoinFile};
use plan::Target;
use std::fmt::Display;
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
    /// For members in this role, at `HOST` or `HOST:PORT`, as they reach this machine; by default the local address of the
    /// route to them, and a free port.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub fn open(role: FleetRole, at: Option<&str>, route: JoinRoute<'_>, wait: Nanos) -> Result<Self, Error> {
        let failed = |why: &dyn Display| {
            let nobody = match route {
                JoinRoute::Target(_) => format!("no {} can", role.name()),
                JoinRoute::Cluster(_) => "pods cannot".to_owned(),
            };
            Error::Fleet(format!("{nobody} come in at {}: {why}", at.unwrap_or("this machine")))
        };
        let named = at.map(|at| host_and_port(at).ok_or_else(|| failed(&"expected HOST or HOST:PORT")));
        let named = named.transpose()?;
        let bind = |own: SocketAddr| TcpListener::bind(own).map_err(|why| engine::reason(&why).to_string());
        let listener = match &named {
            None => bind(SocketAddr::new(route.local_address(), 0)),
            Some((host, port)) => {
                sys::resolve_host(host, *port, LOOKUP_LIMIT).and_then(bind).or_else(|why| match route {
                    JoinRoute::Target(_) => Err(why),
                    // Some NAT knows this machine by that name.
                    JoinRoute::Cluster(_) => bind(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), *port)),
                })
            }
        };
        let host = named.as_ref().map(|(host, _)| host.as_str());
        listener.and_then(|listener| Self::with_name(role, listener, host, wait)).map_err(|why| failed(&why))
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
        Ok(coordinator_link.listen(listener, &self.credentials)?)
    }
}

/// By what members reach this machine.
#[derive(Debug, Clone, Copy)]
pub enum JoinRoute<'a> {
    /// The network of the target.
    Target(&'a Target),
    /// That of a cluster with this API server: its pods may know this machine by another address than its own.
    Cluster(Option<(&'a str, u16)>),
}

impl JoinRoute<'_> {
    /// Local address of the route, or else of the default route.
    fn local_address(self) -> IpAddr {
        match self {
            Self::Target(target) => local_address_towards(target),
            Self::Cluster(server) => {
                let server = server.and_then(|(host, port)| sys::resolve_host(host, port, LOOKUP_LIMIT).ok());
                // An API server at a loopback address is on this machine, or at the other end of a tunnel.
                local_address_to(server.filter(|server| !server.ip().is_loopback()).unwrap_or(DEFAULT_ROUTE))
            }
        }
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
