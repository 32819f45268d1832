//! The cookies that one user keeps, as a browser does (RFC 6265), for one origin.
//!
//! All requests of a user go to one host, so a cookie's domain is checked once, when it is set. No public
//! suffix list is needed: a cookie for all of `com` stays with this host anyway.

use crate::cookie_date;
use std::cmp::Ordering;
use std::net::IpAddr;
use std::str;

/// Most cookies of one user; beyond that the oldest is dropped. Browsers keep no fewer (RFC 6265, 6.1).
const COOKIES_LIMIT: usize = 50;
/// Most bytes of a cookie's name and value; longer ones are not kept.
const COOKIE_LIMIT: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct CookieJar {
    /// In sending order: longer paths first, then older ones.
    cookies: Vec<Cookie>,
    /// How many were ever kept.
    next_serial: u64,
}

#[derive(Debug)]
struct Cookie {
    /// `name=value`, as sent.
    pair: Vec<u8>,
    name_length: usize,
    path: Vec<u8>,
    /// The Unix second from which it is no longer sent.
    expires_s: Option<u64>,
    /// Its creation order in the jar.
    serial: u64,
}

/// One request of a user: where it goes, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CookieContext<'a> {
    /// The host's name or address, without a port; only used if a cookie names a domain.
    pub host: &'a str,
    /// The request's path; any query is ignored.
    pub path: &'a [u8],
    /// Whether it uses TLS.
    pub tls: bool,
    /// Seconds since 1970, by the wall clock.
    pub now_s: u64,
}

/// The name and value of a `Set-Cookie` header, if valid (RFC 6265, 5.2).
pub(crate) fn name_and_value(set_cookie: &[u8]) -> Option<(&[u8], &[u8])> {
    let pair = set_cookie.split(|&b| b == b';').next()?;
    let equals = pair.iter().position(|&b| b == b'=')?;
    let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
    (!name.is_empty()).then_some((name, value))
}

impl CookieJar {
    /// Applies one `Set-Cookie` header of an answer; ignores what a browser would not keep.
    pub fn set(&mut self, set_cookie: &[u8], context: &CookieContext<'_>) {
        // Of control characters only a tab is allowed; any other could break the header sent later.
        if set_cookie.iter().any(|&b| b.is_ascii_control() && b != b'\t') {
            return;
        }
        let Some((name, value)) = name_and_value(set_cookie) else { return };
        let attributes = Attributes::parse(set_cookie);
        if name.len() + value.len() > COOKIE_LIMIT || !attributes.permits(context) {
            return;
        }
        let path = attributes.path.unwrap_or_else(|| default_path(context.path));
        let same = |cookie: &Cookie| &cookie.pair[..cookie.name_length] == name && cookie.path == path;
        let old = self.cookies.iter().position(same).map(|at| self.cookies.remove(at));
        let expires_s = attributes.expires(context.now_s);
        if expires_s.is_some_and(|end| end <= context.now_s) {
            return;
        }
        // A replacement keeps its place in the order.
        let serial = old.map_or(self.next_serial, |old| old.serial);
        self.next_serial += 1;
        self.make_room(context.now_s);
        let goes_before = |other: &Cookie| match other.path.len().cmp(&path.len()) {
            Ordering::Equal => other.serial < serial,
            order => order.is_gt(),
        };
        let at = self.cookies.partition_point(goes_before);
        let pair = [name, b"=", value].concat();
        let cookie = Cookie { pair, name_length: name.len(), path: path.to_vec(), expires_s, serial };
        self.cookies.insert(at, cookie);
    }

    /// Appends the value of a request's `Cookie` header; nothing if no cookie matches.
    pub fn header(&self, context: &CookieContext<'_>, out: &mut Vec<u8>) {
        let path = without_query(context.path);
        let mut separator: &[u8] = b"";
        for cookie in &self.cookies {
            if !cookie.is_over(context.now_s) && path_matches(path, &cookie.path) {
                out.extend_from_slice(separator);
                out.extend_from_slice(&cookie.pair);
                separator = b"; ";
            }
        }
    }

    /// Makes room for one more: removes expired cookies, or else the oldest.
    fn make_room(&mut self, now_s: u64) {
        if self.cookies.len() < COOKIES_LIMIT {
            return;
        }
        self.cookies.retain(|cookie| !cookie.is_over(now_s));
        if self.cookies.len() >= COOKIES_LIMIT {
            let oldest = (0..self.cookies.len()).min_by_key(|&at| self.cookies[at].serial);
            self.cookies.remove(oldest.expect("a full jar is not empty"));
        }
    }
}

impl Cookie {
    fn is_over(&self, now_s: u64) -> bool {
        self.expires_s.is_some_and(|end| end <= now_s)
    }
}

/// The attributes of a `Set-Cookie` header; of each kind the last counts.
#[derive(Debug, Default)]
struct Attributes<'a> {
    /// Only if absolute.
    path: Option<&'a [u8]>,
    domain: Option<&'a [u8]>,
    max_age_s: Option<i64>,
    expires_s: Option<i64>,
    secure: bool,
}

impl<'a> Attributes<'a> {
    fn parse(set_cookie: &'a [u8]) -> Self {
        let mut all = Self::default();
        for attribute in set_cookie.split(|&b| b == b';').skip(1) {
            let equals = attribute.iter().position(|&b| b == b'=').unwrap_or(attribute.len());
            let (name, value) = attribute.split_at(equals);
            let (name, value) = (name.trim_ascii(), value.get(1..).unwrap_or_default().trim_ascii());
            if name.eq_ignore_ascii_case(b"path") {
                all.path = value.starts_with(b"/").then_some(value);
            } else if name.eq_ignore_ascii_case(b"domain") {
                all.domain = Some(value.strip_prefix(b".").unwrap_or(value)).filter(|name| !name.is_empty());
            } else if name.eq_ignore_ascii_case(b"max-age") {
                all.max_age_s = whole_number(value).or(all.max_age_s);
            } else if name.eq_ignore_ascii_case(b"expires") {
                all.expires_s = cookie_date::parse(value).or(all.expires_s);
            } else if name.eq_ignore_ascii_case(b"secure") {
                all.secure = true;
            }
        }
        all
    }

    /// Whether a cookie with these attributes may be set from there.
    fn permits(&self, context: &CookieContext<'_>) -> bool {
        // A browser keeps no secure cookie received without TLS, and would never send it here.
        (context.tls || !self.secure) && self.domain.is_none_or(|domain| domain_matches(context.host, domain))
    }

    /// The Unix second at which it expires; `Max-Age` takes precedence over `Expires`.
    fn expires(&self, now_s: u64) -> Option<u64> {
        let end = match self.max_age_s {
            Some(age) => i64::try_from(now_s).unwrap_or(i64::MAX).saturating_add(age),
            None => self.expires_s?,
        };
        Some(u64::try_from(end).unwrap_or(0))
    }
}

/// Digits, optionally after a minus; too many of them count as the largest number.
fn whole_number(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = str::from_utf8(digits).ok()?.parse().unwrap_or(i64::MAX);
    Some(if negative { -number } else { number })
}

/// RFC 6265, 5.1.3: the same name, or a parent of it; an address has no parents.
fn domain_matches(host: &str, domain: &[u8]) -> bool {
    let host = host.as_bytes();
    let Some(head) = host.len().checked_sub(domain.len()) else { return false };
    if !host[head..].eq_ignore_ascii_case(domain) {
        return false;
    }
    let is_address = || str::from_utf8(host).is_ok_and(|host| host.parse::<IpAddr>().is_ok());
    head == 0 || (host[head - 1] == b'.' && !is_address())
}

/// RFC 6265, 5.1.4: the folder of the request's path.
fn default_path(path: &[u8]) -> &[u8] {
    let path = without_query(path);
    match path.iter().rposition(|&b| b == b'/') {
        Some(end) if end > 0 && path.starts_with(b"/") => &path[..end],
        _ => b"/",
    }
}

/// RFC 6265, 5.1.4: the same path, or one below it.
fn path_matches(path: &[u8], cookie_path: &[u8]) -> bool {
    let Some(rest) = path.strip_prefix(cookie_path) else { return false };
    rest.is_empty() || cookie_path.ends_with(b"/") || rest.starts_with(b"/")
}

fn without_query(path: &[u8]) -> &[u8] {
    path.split(|&b| b == b'?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
