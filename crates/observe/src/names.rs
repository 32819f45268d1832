//! Names of hosts ▶ addresses.

use hickory_resolver::Resolver;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// How long one question to a name server may take; it is asked a few times.
const LOOK_UP_TRY: Duration = Duration::from_secs(2);
/// How long a connection that chooses between addresses may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

/// The address of a host: of several, the first that takes a connection at the port. By a resolver of our
/// own: a static glibc must not call getaddrinfo, which loads shared libraries.
///
/// Fails, with a reason in words, if there is no such name.
pub(crate) fn address(host: &str, port: u16) -> Result<SocketAddr, String> {
    let candidates = match host.trim_matches(['[', ']']).parse() {
        Ok(ip) => vec![ip],
        Err(_) if host == "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Err(_) => look_up(host)?,
    };
    let all: Vec<SocketAddr> = candidates.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
    let answers = |a: &&SocketAddr| all.len() == 1 || TcpStream::connect_timeout(a, CONNECT_LIMIT).is_ok();
    let chosen = all.iter().find(answers).or(all.first());
    chosen.copied().ok_or_else(|| format!("the name '{host}' has no address"))
}

fn look_up(host: &str) -> Result<Vec<IpAddr>, String> {
    let failed = |why: String| format!("the name '{host}' cannot be looked up: {why}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| failed(e.to_string()))?;
    runtime.block_on(async {
        let resolver = Resolver::builder_tokio().and_then(|mut builder| {
            let options = builder.options_mut();
            options.timeout = options.timeout.min(LOOK_UP_TRY);
            builder.build()
        });
        let resolver = resolver.map_err(|e| failed(format!("/etc/resolv.conf cannot be used ({e})")))?;
        match resolver.lookup_ip(host).await {
            Ok(found) => Ok(found.iter().collect()),
            // The resolver's own words for this are its inner state.
            Err(e) if e.is_nx_domain() => Err(format!("there is no host named '{host}'")),
            Err(e) => Err(failed(e.to_string())),
        }
    })
}
