//! Resolves host names without libc: a static glibc must not call getaddrinfo, which loads shared libraries.

use hickory_resolver::Resolver;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Timeout of one query to a name server; three are tried.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// Resolves a host, which may be an address itself, in brackets or not. Of several addresses, returns the first
/// that accepts a connection at the port within `patience`, or else the first.
///
/// Fails, saying what is wrong with the name, if it has no address.
pub fn resolve_host(host: &str, port: u16, timeout: Duration) -> Result<SocketAddr, String> {
    let candidates: Vec<IpAddr> = match host.trim_matches(['[', ']']).parse() {
        Ok(ip) => vec![ip],
        Err(_) if host == "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Err(_) => look_up(host)?,
    };
    let addresses: Vec<SocketAddr> = candidates.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
    let accepts = |a: &&SocketAddr| TcpStream::connect_timeout(a, timeout).is_ok();
    let chosen = match addresses.as_slice() {
        [only] => Some(only),
        several => several.iter().find(accepts).or(several.first()),
    };
    chosen.copied().ok_or_else(|| "the name has no address".to_owned())
}

fn look_up(host: &str) -> Result<Vec<IpAddr>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| format!("cannot start the resolver: {e}"))?;
    runtime.block_on(async {
        let resolver = Resolver::builder_tokio().and_then(|mut builder| {
            let options = builder.options_mut();
            options.timeout = options.timeout.min(LOOKUP_TIMEOUT);
            builder.build()
        });
        let resolver = resolver.map_err(|e| format!("/etc/resolv.conf cannot be used ({e})"))?;
        match resolver.lookup_ip(host).await {
            Ok(found) => Ok(found.iter().collect()),
            // The resolver's own messages for these two describe its inner state.
            Err(e) if e.is_nx_domain() => Err("there is no such name".to_owned()),
            Err(e) if e.is_no_records_found() => Err("the name has no address".to_owned()),
            Err(e) => Err(e.to_string()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn addresses_are_their_own_and_localhost_is_the_end_that_listens() {
        let timeout = Duration::from_secs(1);
        for (host, at) in [("192.0.2.7", "192.0.2.7:80"), ("[::1]", "[::1]:80"), ("::1", "[::1]:80")] {
            assert_eq!(resolve_host(host, 80, timeout).map(|a| a.to_string()).as_deref(), Ok(at));
        }
        let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let at = socket.local_addr().expect("it is bound");
        assert_eq!(resolve_host("localhost", at.port(), timeout), Ok(at));
        let wrong = resolve_host("no-such-host.invalid", 80, timeout).expect_err("a name that never is");
        assert!(!wrong.is_empty());
    }
}
