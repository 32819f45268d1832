use crate::{Origin, Piece, Target, Template};
use units::ParseError;

/// What the demo is asked for if nothing is said: one server with a service time of 500 µs, which is
/// 2,000 requests a second.
const DEMO_PATH: &str = "/queue?us=500";

impl Target {
    /// Reads a target and the path of the request from one text: `http://host:port/path?query`,
    /// `https://…`, `host/path` (then `http`), `demo`, `demo/path`, `null`.
    ///
    /// The path is sent as written. A fragment is dropped, for it is never sent.
    ///
    /// # Errors
    /// If it is none of these, or holds what cannot be sent.
    pub fn parse(text: &str) -> Result<(Self, Template), ParseError> {
        let error = |expected| ParseError { found: text.to_owned(), expected };
        let url = text.trim();
        if url.is_empty() {
            return Err(error(EXPECTED));
        }
        let is_scheme = |scheme: &str| scheme.bytes().all(|b| b.is_ascii_alphanumeric());
        let (scheme, rest) = url.split_once("://").filter(|(s, _)| is_scheme(s)).unwrap_or(("", url));
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "" | "http" => false,
            "https" => true,
            _ => return Err(error("an http:// or https:// URL: torment speaks nothing else")),
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let target = match (scheme, authority) {
            ("", "demo") => Self::Demo,
            ("", "null" | "null:") => Self::Null,
            _ => Self::Http(origin(tls, authority).map_err(error)?),
        };
        let path = match path {
            "" if target == Self::Demo => DEMO_PATH.to_owned(),
            path if path.starts_with('/') => path.to_owned(),
            path => format!("/{path}"),
        };
        let path = without_fragment(Template::parse(&path)?);
        check_path(&path).map_err(error)?;
        Ok((target, path))
    }
}

const EXPECTED: &str = "a target such as http://host:8080/path, https://host/, demo or null";

fn without_fragment(mut path: Template) -> Template {
    for (i, piece) in path.pieces.iter_mut().enumerate() {
        if let Piece::Literal(text) = piece
            && let Some(end) = text.iter().position(|&b| b == b'#')
        {
            text.truncate(end);
            path.pieces.truncate(if end == 0 { i } else { i + 1 });
            break;
        }
    }
    path
}

fn origin(tls: bool, authority: &str) -> Result<Origin, &'static str> {
    if authority.contains('@') {
        return Err("a URL without user name and password: send them in a header, \
                    -H 'Authorization: Basic …'");
    }
    if authority.contains('{') {
        return Err("a URL with one fixed host: placeholders are for the path, headers and body");
    }
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or("a URL: the ']' after the IPv6 address is missing")?;
        host.parse::<std::net::Ipv6Addr>().map_err(|_| "a URL with an IPv6 address in its brackets")?;
        (host, port)
    } else {
        let end = authority.find(':').unwrap_or(authority.len());
        authority.split_at(end)
    };
    if port.matches(':').count() > 1 {
        return Err("a URL with host and port: an IPv6 address needs brackets, http://[::1]:8080/");
    }
    if host.is_empty() {
        return Err(EXPECTED);
    }
    let known = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b':');
    if !host.bytes().all(known) {
        return Err("a URL whose host has only letters, digits, '-', '.' and '_' \
                    (write an international name in its xn-- form)");
    }
    let port = match port {
        "" | ":" if tls => 443,
        "" | ":" => 80,
        _ => port
            .strip_prefix(':')
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok())
            .filter(|&port| port > 0)
            .ok_or("a URL with a port from 1 to 65535")?,
    };
    Ok(Origin::new(tls, host, port))
}

/// What may stand in a request line: visible ASCII.
fn check_path(path: &Template) -> Result<(), &'static str> {
    for piece in &path.pieces {
        if let Piece::Literal(text) = piece {
            if text.contains(&b' ') {
                return Err("a URL without spaces: write %20");
            }
            if !text.iter().all(u8::is_ascii_graphic) {
                return Err("a URL of visible ASCII characters: write others as %C3%A9");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(tls: bool, host: &str, port: u16) -> Target {
        Target::Http(Origin::new(tls, host, port))
    }

    #[test]
    fn parses_targets() {
        for (text, target, path) in [
            ("http://localhost", http(false, "localhost", 80), "/"),
            ("http://localhost/", http(false, "localhost", 80), "/"),
            ("HTTP://localhost:8080/a/b?c=d&e", http(false, "localhost", 8080), "/a/b?c=d&e"),
            ("https://example.org", http(true, "example.org", 443), "/"),
            ("https://example.org:8443?x", http(true, "example.org", 8443), "/?x"),
            ("localhost:8080", http(false, "localhost", 8080), "/"),
            ("127.0.0.1/x#part", http(false, "127.0.0.1", 80), "/x"),
            ("http://[::1]:81/", http(false, "::1", 81), "/"),
            ("https://[2001:db8::1]", http(true, "2001:db8::1", 443), "/"),
            (
                "http://h/{file:a#1.csv:b}?r={random:1..5}#f",
                http(false, "h", 80),
                "/{file:a#1.csv:b}?r={random:1..5}",
            ),
            (
                "http://h/{file:my names.csv:first name}",
                http(false, "h", 80),
                "/{file:my names.csv:first name}",
            ),
            ("http://h/?next=http://other/", http(false, "h", 80), "/?next=http://other/"),
            ("h/?next=http://other/", http(false, "h", 80), "/?next=http://other/"),
            ("http://demo/", http(false, "demo", 80), "/"),
            ("http://h#f", http(false, "h", 80), "/"),
            ("http://h/{#f", http(false, "h", 80), "/{"),
            ("http://h/{counter}#{uuid}", http(false, "h", 80), "/{counter}"),
            ("demo", Target::Demo, "/queue?us=500"),
            ("demo/", Target::Demo, "/"),
            ("demo/delay?ms=10", Target::Demo, "/delay?ms=10"),
            (" demo ", Target::Demo, "/queue?us=500"),
            ("null", Target::Null, "/"),
            ("null:", Target::Null, "/"),
            ("null/x", Target::Null, "/x"),
        ] {
            let (found, rest) = Target::parse(text).expect(text);
            assert_eq!((found, rest.to_string()), (target, path.to_owned()), "{text}");
        }
    }

    #[test]
    fn refuses_with_advice() {
        for (text, advice) in [
            ("", "a target such as"),
            ("  ", "a target such as"),
            ("http://", "a target such as"),
            ("http:///path", "a target such as"),
            ("/path", "a target such as"),
            ("ftp://host/", "http:// or https://"),
            ("http://me:secret@host/", "Authorization"),
            ("http://host:0/", "port from 1"),
            ("http://host:65536/", "port from 1"),
            ("http://host:+80/", "port from 1"),
            ("http://host:http/", "port from 1"),
            ("http://::1/", "brackets"),
            ("http://[::1/", "']'"),
            ("http://[::1]8080/", "port from 1"),
            ("http://[localhost]/", "IPv6"),
            ("http://ho st/", "only letters"),
            ("http://höst/", "xn--"),
            ("http://h{1..3}/", "placeholders"),
            ("http://host/a b", "%20"),
            ("http://host/é", "%C3"),
            ("http://host/\r\nX: y", "write"),
            ("http://host/{random:1..}", "{random:1..1000}"),
        ] {
            let error = Target::parse(text).expect_err(text).to_string();
            assert!(error.contains(advice), "{text}: {error}");
        }
    }

    #[test]
    fn an_origin_prints_as_its_url() {
        for text in ["http://localhost", "https://example.org:8443", "http://[::1]:81"] {
            let Ok((Target::Http(origin), _)) = Target::parse(text) else { panic!("{text}") };
            assert_eq!(origin.to_string(), text);
        }
    }
}
