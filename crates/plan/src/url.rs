use crate::form::percent_decoded;
use crate::placeholder::NameScope;
use crate::secret::masked_url;
use crate::{DatabaseAddress, Origin, Target, Template, TemplatePiece};

/// The demo's default path: one server with a service time of 500 µs, which is 2,000 requests a second.
const DEMO_PATH: &str = "/queue?us=500";

/// What one text says of the target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TargetUrl {
    pub(crate) target: Target,
    /// Path and query, unless a request gives its own.
    pub(crate) path: Template,
    /// `user:password` of an HTTP URL.
    pub(crate) basic: Option<Template>,
}

/// A URL split into its parts as written: nothing is decoded or normalised, since a path is sent as given (the `url`
/// crate would shorten and escape it).
#[derive(Debug, Clone, Copy)]
pub struct UrlParts<'a> {
    /// Before `://`; empty if there is none.
    pub scheme: &'a str,
    /// Before the `@`.
    pub user: Option<&'a str>,
    /// Name or address, and port.
    pub host: &'a str,
    /// The rest: path, query and fragment.
    pub path: &'a str,
}

impl<'a> UrlParts<'a> {
    /// A `postgres://` path has no fragment, as in libpq: a password may contain `#`.
    pub fn parse(url: &'a str) -> Self {
        let is_scheme = |scheme: &str| scheme.bytes().all(|b| b.is_ascii_alphanumeric());
        let (scheme, rest) = url.split_once("://").filter(|(s, _)| is_scheme(s)).unwrap_or(("", url));
        let ends: &[char] = if is_postgres(scheme) { &['/', '?'] } else { &['/', '?', '#'] };
        let (authority, path) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        Self { scheme, user, host, path }
    }

    /// The HTTP origin; the scheme is optional.
    ///
    /// # Errors
    /// With what was expected: a noun.
    pub fn origin(&self) -> Result<Origin, &'static str> {
        let tls = match self.scheme.to_ascii_lowercase().as_str() {
            "" | "http" => false,
            "https" => true,
            _ => return Err("an http:// or https:// URL"),
        };
        if self.host.contains('{') {
            return Err("a URL with one fixed host: placeholders are for the path, headers and body");
        }
        let (host, port) = host_and_port(self.host)?;
        if host.is_empty() {
            return Err("a URL with a host, such as http://host:8080/path");
        }
        let known = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b':');
        if !host.bytes().all(known) {
            return Err("a URL whose host has only letters, digits, '-', '.' and '_' \
                        (write an international name in its xn-- form)");
        }
        Ok(Origin::new(tls, host, port.unwrap_or(if tls { 443 } else { 80 })))
    }
}

fn is_postgres(scheme: &str) -> bool {
    is_one_of(scheme, &["postgres", "postgresql"])
}

fn is_one_of(scheme: &str, known: &[&str]) -> bool {
    known.iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// The name or address, without the brackets of IPv6, and the port if given; or what was expected.
pub(crate) fn host_and_port(text: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or("a URL: the ']' after the IPv6 address is missing")?;
        host.parse::<std::net::Ipv6Addr>().map_err(|_| "a URL with an IPv6 address in its brackets")?;
        (host, port)
    } else {
        text.split_at(text.find(':').unwrap_or(text.len()))
    };
    if port.matches(':').count() > 1 {
        return Err("a URL with host and port: an IPv6 address needs brackets, such as [::1]:8080");
    }
    let port = match port {
        "" | ":" => None,
        _ => Some(parse_port(port.strip_prefix(':').unwrap_or_default())?),
    };
    Ok((host, port))
}

pub(crate) fn parse_port(text: &str) -> Result<u16, &'static str> {
    let digits = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    digits.filter(|&port| port > 0).ok_or("a URL with a port from 1 to 65535")
}

impl TargetUrl {
    /// Parses a target and the request's path from one text: `http://host:port/path?query`, `https://…`, `host/path`
    /// (then `http`), `demo`, `demo/path`, `null`, `postgres://user@host/name`.
    ///
    /// The path is sent as written. A fragment is dropped, as it is never sent. The error message is complete, and
    /// shows no password.
    pub(crate) fn parse(text: &str, names: &NameScope<'_>) -> Result<Self, String> {
        let error = |expected: &str| format!("'{}' is not {expected}", masked_url(text));
        let parts = UrlParts::parse(text.trim());
        let target = match (parts.scheme, parts.user, parts.host) {
            (scheme, ..) if is_postgres(scheme) => {
                let target = Target::Sql(DatabaseAddress::parse(&parts).map_err(|e| error(&e))?);
                return Ok(Self { target, path: Template::default(), basic: None });
            }
            (scheme, ..) if !is_one_of(scheme, &["", "http", "https"]) => {
                return Err(error("an http://, https:// or postgres:// URL: torment speaks nothing else"));
            }
            (.., "") => return Err(error(EXPECTED)),
            ("", None, "demo") => Target::Demo,
            ("", None, "null" | "null:") => Target::Null,
            _ => Target::Http(parts.origin().map_err(error)?),
        };
        let path = match parts.path {
            "" if target == Target::Demo => DEMO_PATH.to_owned(),
            path if path.starts_with('/') => path.to_owned(),
            path => format!("/{path}"),
        };
        let path = parse_path(&path, names, &masked_url(text))?;
        let basic = parts.user.map(|text| basic(text, names).map_err(|e| error(&e))).transpose()?;
        Ok(Self { target, path, basic })
    }
}

/// Path and query as sent; `shown` is the text that messages quote.
pub(crate) fn parse_path(text: &str, names: &NameScope<'_>, shown: &str) -> Result<Template, String> {
    let path = Template::parse_with(text.as_bytes(), names).map_err(|e| e.to_string())?;
    let path = without_fragment(path);
    check_path(&path).map_err(|expected| format!("'{shown}' is not {expected}"))?;
    Ok(path)
}

/// `user:password` before the host, for basic authorization; a user alone has no password.
fn basic(userinfo: &str, names: &NameScope<'_>) -> Result<Template, String> {
    let mut template = Template::parse_with(userinfo.as_bytes(), names).map_err(|e| e.expected)?;
    for piece in &mut template.pieces {
        if let TemplatePiece::Literal(text) = piece {
            *text = percent_decoded(text)?;
        }
    }
    if !userinfo.contains(':') {
        template.append(Template::literal(":"));
    }
    Ok(template)
}

const EXPECTED: &str =
    "a target such as http://host:8080/path, https://host/, postgres://me@host/db, demo or null";

fn without_fragment(mut path: Template) -> Template {
    for (i, piece) in path.pieces.iter_mut().enumerate() {
        if let TemplatePiece::Literal(text) = piece
            && let Some(end) = text.iter().position(|&b| b == b'#')
        {
            text.truncate(end);
            path.pieces.truncate(if end == 0 { i } else { i + 1 });
            break;
        }
    }
    path
}

/// Only what a request line may hold: visible ASCII.
fn check_path(path: &Template) -> Result<(), &'static str> {
    for piece in &path.pieces {
        if let TemplatePiece::Literal(text) = piece {
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

    fn parse(text: &str) -> Result<TargetUrl, String> {
        TargetUrl::parse(text, &NameScope::default())
    }

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
            let found = parse(text).expect(text);
            assert_eq!((found.target, found.path.to_string()), (target, path.to_owned()), "{text}");
        }
    }

    #[test]
    fn user_and_password_are_basic_authorization() {
        for (url, expected) in [
            ("http://me:se%3Acret@h/x", Some("me:se:cret")),
            ("http://me@h/", Some("me:")),
            ("u:{env:P}@h:80/", Some("u:{env:P}")),
            ("http://h/a@b", None),
        ] {
            let found = parse(url).expect(url);
            assert_eq!(found.basic.map(|basic| basic.to_string()).as_deref(), expected, "{url}");
            assert!(matches!(&found.target, Target::Http(origin) if origin.host == "h"));
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
            ("ftp://host/", "http://, https:// or postgres://"),
            ("http://me:se/cret@host/", "'http://me:***@host/' is not a URL with a port"),
            ("http://me:se%cret@host/", "'http://me:***@host/' is not a URL: '%'"),
            ("http://me:secret@ho st/", "'http://me:***@ho st/' is not a URL whose host"),
            ("postgres://me:secret@h:x/", "'postgres://me:***@h:x/' is not a URL with a port"),
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
            let error = parse(text).expect_err(text);
            assert!(error.contains(advice), "{text}: {error}");
        }
    }

    #[test]
    fn an_origin_prints_as_its_url() {
        for text in ["http://localhost", "https://example.org:8443", "http://[::1]:81"] {
            let Ok(TargetUrl { target: Target::Http(origin), .. }) = parse(text) else { panic!("{text}") };
            assert_eq!(origin.to_string(), text);
        }
    }
}
