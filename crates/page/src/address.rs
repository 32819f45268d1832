//! The page's address, and the token that grants access to it.

use aws_lc_rs::{constant_time, rand};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// Where the page is served: `127.0.0.1:7979` by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(pub SocketAddr);

impl Address {
    /// A port that no common service uses.
    const DEFAULT_PORT: u16 = 7979;
    /// This machine only.
    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// Whether other machines could connect.
    pub fn is_open(self) -> bool {
        !self.0.ip().to_canonical().is_loopback()
    }

    /// The same address, at a free port.
    #[must_use]
    pub fn with_free_port(self) -> Self {
        Self(SocketAddr::new(self.0.ip(), 0))
    }
}

impl Default for Address {
    fn default() -> Self {
        Self(SocketAddr::new(Self::LOOPBACK, Self::DEFAULT_PORT))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A port, an address of this machine, or both.
impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.replacen("localhost", "127.0.0.1", 1);
        let port = || named.strip_prefix(':').unwrap_or(&named).parse().ok();
        let ip = || named.trim_matches(['[', ']']).parse().ok();
        named
            .parse()
            .ok()
            .or_else(|| port().map(|port| SocketAddr::new(Self::LOOPBACK, port)))
            .or_else(|| ip().map(|ip| SocketAddr::new(ip, Self::DEFAULT_PORT)))
            .map(Self)
            .ok_or_else(|| {
                format!(
                    "cannot listen at '{text}': expected a port such as 7979, or ADDRESS:PORT such as \
                     127.0.0.1:7979"
                )
            })
    }
}

/// The token that grants access to the page.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Shorter ones could be guessed by trial.
    const MIN_LENGTH: usize = 8;

    /// An unguessable token of 128 bits.
    ///
    /// # Panics
    /// If the kernel has no randomness.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        rand::fill(&mut bytes).expect("the kernel has randomness");
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Compares in constant time.
    pub(crate) fn matches(&self, given: &str) -> bool {
        constant_time::verify_slices_are_equal(self.0.as_bytes(), given.as_bytes()).is_ok()
    }

    /// The token in clear, to be printed for those who may have access.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Accidental logging must not leak it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl FromStr for Token {
    type Err = String;

    /// Allows only characters that need no escaping in a URL.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        if text.len() >= Self::MIN_LENGTH && text.chars().all(is_allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!(
                "expected at least {} letters, digits or any of - . _ ~; leave it out to have one made",
                Self::MIN_LENGTH
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_listen_at() {
        for (text, expected) in [
            ("80", "127.0.0.1:80"),
            (":80", "127.0.0.1:80"),
            ("0", "127.0.0.1:0"),
            ("127.0.0.1", "127.0.0.1:7979"),
            ("localhost", "127.0.0.1:7979"),
            ("localhost:80", "127.0.0.1:80"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
            ("[::]", "[::]:7979"),
        ] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), expected);
        }
        for text in ["", "x", "host:80", "127.0.0.1:99999", "http://127.0.0.1", "1.2.3"] {
            let why = text.parse::<Address>().expect_err(text);
            assert!(why.contains(&format!("cannot listen at '{text}'")), "{why}");
        }
        for (text, open) in [
            ("127.0.0.2:1", false),
            ("[::1]:1", false),
            ("[::ffff:127.0.0.1]:1", false),
            ("0.0.0.0:1", true),
            ("10.0.0.1:1", true),
        ] {
            assert_eq!(text.parse::<Address>().expect(text).is_open(), open, "{text}");
        }
    }

    #[test]
    fn tokens_are_long_random_and_compared_as_a_whole() {
        let (one, other) = (Token::random(), Token::random());
        assert_eq!((one.text().len(), one == other), (32, false));
        assert!(one.text().parse::<Token>().is_ok_and(|again| again == one));
        assert!(one.matches(one.text()));
        for wrong in ["", "x", other.text(), &one.text()[1..], &format!("{}0", one.text())] {
            assert!(!one.matches(wrong), "{wrong}");
        }
        for text in ["", "short", "with space", "wort-mit-ä", "a&b=cdefgh"] {
            assert!(text.parse::<Token>().is_err(), "{text}");
        }
        assert!(!format!("{one:?}").contains(one.text()));
    }
}
