use crate::encode;
use std::net::Ipv6Addr;

/// A URL taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// `https://host:port`, the port left out where it is the scheme's own.
    pub origin: String,
    /// Path and query; begins with `/`, and holds only what a request line can.
    pub path: String,
    /// User and password, as they stand before the `@`.
    pub user: Option<String>,
}

impl Address {
    /// Reads `http://…`, `https://…`, or what has no scheme, which then is `http`.
    ///
    /// # Errors
    /// With a sentence about what is wrong.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let url = url.trim();
        let is_scheme = |scheme: &str| scheme.bytes().all(|b| b.is_ascii_alphanumeric());
        let (scheme, rest) = url.split_once("://").filter(|(s, _)| is_scheme(s)).unwrap_or(("http", url));
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, authority),
        };
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(format!("'{scheme}://{host}' is not an http:// or https:// URL")),
        };
        let origin = origin(tls, host).ok_or_else(|| {
            format!("'{scheme}://{host}' is not a host with a port from 1 to 65535, such as http://host:8080")
        })?;
        let path = encode::visible(path.split('#').next().unwrap_or_default().as_bytes());
        let path = if path.starts_with('/') { path } else { format!("/{path}") };
        Ok(Self { origin, path, user })
    }

    /// The path without its query.
    pub(crate) fn route(path: &str) -> &str {
        path.split('?').next().unwrap_or_default()
    }
}

/// `https://host:port` from what stands between `//` and the path.
fn origin(tls: bool, host: &str) -> Option<String> {
    let scheme = if tls { "https" } else { "http" };
    let bracket = host.find(']').map_or(0, |at| at + 1);
    let (name, port) = match host[bracket..].find(':') {
        Some(at) => (&host[..bracket + at], &host[bracket + at + 1..]),
        None => (host, ""),
    };
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
    };
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if !address.map_or_else(|| is_name(name), |address| address.parse::<Ipv6Addr>().is_ok()) {
        return None;
    }
    let own = if tls { 443 } else { 80 };
    let port = if port.is_empty() { own } else { port.parse::<u16>().ok().filter(|port| *port > 0)? };
    Some(if port == own { format!("{scheme}://{name}") } else { format!("{scheme}://{name}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_urls_apart() {
        for (url, origin, path, user) in [
            ("http://h", "http://h", "/", None),
            ("h:81?a=b", "http://h:81", "/?a=b", None),
            ("https://h:443/é x#part", "https://h", "/%C3%A9%20x", None),
            ("https://me:p%40ss@h/", "https://h", "/", Some("me:p%40ss")),
            ("demo/x", "http://demo", "/x", None),
            ("http://[::1]:8080/[1-3]", "http://[::1]:8080", "/[1-3]", None),
        ] {
            let expected =
                Address { origin: origin.to_owned(), path: path.to_owned(), user: user.map(str::to_owned) };
            assert_eq!(Address::parse(url), Ok(expected), "{url}");
        }
        for url in [
            "",
            "ftp://h/",
            "ws://h/",
            "http:///x",
            "http://h:0/",
            "http://h:65536",
            "http://[x]/",
            "http://a{b/",
            "http://ü/",
        ] {
            assert!(Address::parse(url).is_err(), "{url}");
        }
    }
}
