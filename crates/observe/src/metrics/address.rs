//! Parses the address of a metrics endpoint.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use std::net::SocketAddr;

#[derive(Debug, Clone)]
pub(super) struct MetricsAddress {
    pub address: SocketAddr,
    /// The `Host` header.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// The URL without user, password and query, which may hold a secret.
    pub redacted: String,
}

impl MetricsAddress {
    /// Parses `http://USER:PASSWORD@HOST:PORT/PATH`.
    ///
    /// Fails, with a sentence that holds no password, if it is anything else or the host has no address.
    pub fn parse(url: &str) -> Result<Self, String> {
        let url = url.trim();
        let expected = "expected http://HOST:PORT/PATH";
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(format!("it is not a URL; {expected}"));
        };
        match scheme.to_ascii_lowercase().as_str() {
            "http" => {}
            "https" => {
                return Err("metrics are read without TLS only; give the address of a port that speaks HTTP"
                    .to_owned());
            }
            _ => return Err(format!("it begins with neither http nor https; {expected}")),
        }
        // Nothing that could end a line may get into a request's head.
        if rest.contains(|c: char| c.is_ascii_control() || c == ' ' || !c.is_ascii()) {
            return Err(format!("it has a space or a character that a URL cannot have; {expected}"));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => {
                (name, port.parse().map_err(|_| format!("its port is not a number up to 65535; {expected}"))?)
            }
            _ => (host, 80),
        };
        if name.is_empty() {
            return Err(format!("it names no host; {expected}"));
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let redacted = format!("http://{host}{}", path.split('?').next().unwrap_or_default());
        let decoded = |user: &str| percent_decode_str(user).collect::<Vec<u8>>();
        let basic = |user: &str| format!("Basic {}", BASE64_STANDARD.encode(decoded(user)));
        Ok(Self {
            address: crate::resolve(name, port)?,
            host: host.to_owned(),
            authorization: user.map(basic),
            path,
            redacted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_users_write_them() {
        for (url, address, host, path, shown) in [
            (
                "http://127.0.0.1:9100/metrics",
                "127.0.0.1:9100",
                "127.0.0.1:9100",
                "/metrics",
                "http://127.0.0.1:9100/metrics",
            ),
            ("http://127.0.0.1", "127.0.0.1:80", "127.0.0.1", "/", "http://127.0.0.1/"),
            ("HTTP://[::1]:81?a=b#c", "[::1]:81", "[::1]:81", "/?a=b", "http://[::1]:81/"),
            ("http://[::1]/m", "[::1]:80", "[::1]", "/m", "http://[::1]/m"),
            (
                " http://u:p%40@127.0.0.1:1/m?token=x",
                "127.0.0.1:1",
                "127.0.0.1:1",
                "/m?token=x",
                "http://127.0.0.1:1/m",
            ),
        ] {
            let place = MetricsAddress::parse(url).expect(url);
            let found = (place.address.to_string(), &*place.host, &*place.path, &*place.redacted);
            assert_eq!(found, (address.to_owned(), host, path, shown), "{url}");
            assert_eq!(place.authorization.is_some(), url.contains("u:p"), "{url}");
        }
        let place = MetricsAddress::parse("http://u:p%40@127.0.0.1/").expect("it is a URL");
        assert_eq!(place.authorization.as_deref(), Some("Basic dTpwQA=="));
    }

    #[test]
    fn what_cannot_be_used_is_said_without_the_password() {
        for (url, part) in [
            ("https://u:geheim@127.0.0.1/metrics", "without TLS"),
            ("127.0.0.1:9100/metrics", "expected http://"),
            ("ftp://u:geheim@127.0.0.1/", "neither http nor https"),
            ("http://u:geheim@/metrics", "names no host"),
            ("http://127.0.0.1:70000/", "port"),
            ("http://u:geheim@127.0.0.1/a b", "a space"),
            ("http://127.0.0.1/\r\nX: y", "a space"),
        ] {
            let why = MetricsAddress::parse(url).expect_err(url);
            assert!(why.contains(part) && !why.contains("geheim"), "{url}: {why}");
        }
    }
}
