//! `postgres://` URLs in libpq's syntax (PostgreSQL's documentation, 32.1.1.2, "Connection URIs").

use crate::error::advice;
use crate::form::{encoded, percent_decoded};
use crate::placeholder::NameScope;
use crate::secret::hide;
use crate::url::{UrlParts, host_and_port, parse_port};
use crate::{DatabaseAddress, Template, TemplatePiece};
use std::fmt::Write as _;

const PORT: u16 = 5432;
const SSL_MODES: [&str; 4] = ["disable", "prefer", "require", "verify-full"];
const PARAMETERS: [&str; 7] = ["host", "port", "user", "password", "dbname", "sslmode", "application_name"];

impl DatabaseAddress {
    /// Parses a URL whose scheme is already known.
    ///
    /// The message says what was expected, or what else is wrong; it never contains the password.
    pub(crate) fn parse(url: &UrlParts<'_>) -> Result<Self, String> {
        let (name, query) = url.path.split_once('?').unwrap_or((url.path, ""));
        let user = url.user.unwrap_or("");
        let (user, password) = user.split_once(':').map_or((user, None), |(user, rest)| (user, Some(rest)));
        if url.host.contains(',') {
            return Err("a URL with one host: torment measures one server".to_owned());
        }
        let (host, port) = host_and_port(url.host)?;
        let mut database = Self {
            host: decoded(host)?,
            port: port.unwrap_or(PORT),
            user: decoded(user)?,
            password: password.map(secret).transpose()?,
            name: decoded(name.strip_prefix('/').unwrap_or(name))?,
            tls: false,
            insecure: false,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (parameter, value) = pair.split_once('=').unwrap_or((pair, ""));
            database.parameter(parameter, value)?;
        }
        if database.user.is_empty() {
            return Err("a URL with a user: postgres://USER@host/database".to_owned());
        }
        if database.host.is_empty() {
            "localhost".clone_into(&mut database.host);
        }
        if database.name.is_empty() {
            database.name.clone_from(&database.user);
        }
        if database.is_socket() && database.tls {
            return Err("a URL without sslmode: a Unix socket has no TLS".to_owned());
        }
        Ok(database)
    }

    fn parameter(&mut self, parameter: &str, value: &str) -> Result<(), String> {
        match parameter {
            "host" => self.host = decoded(value)?,
            "port" => self.port = parse_port(value)?,
            "user" => self.user = decoded(value)?,
            "password" => self.password = Some(secret(value)?),
            "dbname" => self.name = decoded(value)?,
            // The session's name for others; torment sets its own.
            "application_name" => {}
            "sslmode" => match value {
                // Encryption must not be left to the server: it is measured.
                "disable" | "prefer" | "allow" => self.tls = false,
                // libpq checks no certificate then, unless it finds an authority's.
                "require" => (self.tls, self.insecure) = (true, true),
                "verify-full" => self.tls = true,
                other => {
                    let known = SSL_MODES.join(", ");
                    return Err(format!(
                        "a URL whose sslmode is one of {known}; '{other}' is not known here"
                    ));
                }
            },
            other => {
                let advice = advice(other, &PARAMETERS);
                return Err(format!("understood: it has an unknown parameter '{other}'; {advice}"));
            }
        }
        Ok(())
    }

    /// Whether it is reached by a Unix socket.
    pub fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }

    /// The URL that parses to this; with the password as its template prints, or without.
    pub(crate) fn url(&self, with_password: bool) -> String {
        self.url_with(self.password.as_ref().filter(|_| with_password).map(ToString::to_string))
    }

    /// The URL with the plain password, for connecting.
    pub(crate) fn url_in_clear(&self) -> String {
        self.url_with(self.password.as_ref().map(|password| encoded(&password.constant())))
    }

    fn url_with(&self, password: Option<String>) -> String {
        let mut url = format!("postgres://{}", encoded(self.user.as_bytes()));
        if let Some(password) = password {
            let _ = write!(url, ":{password}");
        }
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { encoded(self.host.as_bytes()) };
        let _ = write!(url, "@{host}");
        if self.port != PORT {
            let _ = write!(url, ":{}", self.port);
        }
        let _ = write!(url, "/{}", encoded(self.name.as_bytes()));
        match (self.tls, self.insecure) {
            (false, _) => {}
            (true, true) => url += "?sslmode=require",
            (true, false) => url += "?sslmode=verify-full",
        }
        url
    }
}

/// A password: its placeholders stay, everything else is a secret.
fn secret(text: &str) -> Result<Template, String> {
    let mut template =
        Template::parse_with(text.as_bytes(), &NameScope::default()).map_err(|e| e.expected)?;
    for piece in &mut template.pieces {
        match piece {
            TemplatePiece::Literal(text) => *text = percent_decoded(text)?,
            TemplatePiece::Secret { .. } => {}
            _ => return Err("a URL whose password is the same for every connection".to_owned()),
        }
    }
    Ok(hide(template))
}

fn decoded(text: &str) -> Result<String, String> {
    if text.contains('{') {
        return Err("a URL with placeholders in the password only, as {env:PASSWORD}".to_owned());
    }
    let text = String::from_utf8(percent_decoded(text.as_bytes())?);
    let text = text.ok().filter(|text| !text.contains(char::is_control));
    text.ok_or_else(|| "a URL of UTF-8 without control characters".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rest: &str) -> Result<DatabaseAddress, String> {
        DatabaseAddress::parse(&UrlParts::parse(&format!("postgres://{rest}")))
    }

    #[test]
    fn reads_what_libpq_reads() {
        for (rest, expected) in [
            ("me@h", "postgres://me@h/me"),
            ("me@h:5432/db", "postgres://me@h/db"),
            ("me@h:5433/db", "postgres://me@h:5433/db"),
            ("me@[::1]:5433/db", "postgres://me@[::1]:5433/db"),
            ("me@/db", "postgres://me@localhost/db"),
            ("me@%2Frun%2Fpostgresql/db", "postgres://me@%2Frun%2Fpostgresql/db"),
            ("me@/db?host=/run/postgresql", "postgres://me@%2Frun%2Fpostgresql/db"),
            ("m%40e@h/d%20b", "postgres://m%40e@h/d%20b"),
            ("me@h/db?sslmode=disable", "postgres://me@h/db"),
            ("me@h/db?sslmode=prefer", "postgres://me@h/db"),
            ("me@h/db?sslmode=require", "postgres://me@h/db?sslmode=require"),
            ("me@h/db?sslmode=verify-full&application_name=x", "postgres://me@h/db?sslmode=verify-full"),
            ("h/?user=me&dbname=db&port=99", "postgres://me@h:99/db"),
            ("me:{env:PG}@h", "postgres://me:{env:PG}@h/me"),
            ("me:a{secret:p.txt}@h", "postgres://me:{redacted}{secret:p.txt}@h/me"),
            ("me:p@ss:word@h", "postgres://me:{redacted}@h/me"),
            ("me:p#w@h", "postgres://me:{redacted}@h/me"),
            ("me@h?password=geheim", "postgres://me:{redacted}@h/me"),
        ] {
            let database = parse(rest).expect(rest);
            assert_eq!(database.url(true), expected);
            assert!(!database.url(false).contains('{') && !format!("{database:?}").contains("geheim"));
        }
        let database = parse("me:p%40%C3%A4@h").expect("valid");
        let out = database.password.expect("one").constant();
        assert_eq!(out, "p@ä".as_bytes());
    }

    #[test]
    fn refuses_with_advice() {
        for (rest, advice) in [
            ("h/db", "postgres://USER@host"),
            ("me@h:0/db", "port from 1"),
            ("me@h:x/db", "port from 1"),
            ("me@::1/db", "brackets"),
            ("me@[::1/db", "']'"),
            ("me@a,b/db", "one host"),
            ("me@h/db?sslmode=verify-ca", "one of disable, prefer, require, verify-full"),
            ("me@h/db?ssl_mode=require", "unknown parameter 'ssl_mode'; did you mean 'sslmode'?"),
            ("me@h/db?options=x", "unknown parameter 'options'; expected one of: host"),
            ("me@h/%zz", "%25"),
            ("me@h/%ff", "UTF-8"),
            ("m{env:X}@h", "password only"),
            ("me:{uuid}@h", "the same for every connection"),
            ("me:{env:}@h", "{env:PASSWORD}"),
            ("me@/db?host=/run&sslmode=require", "no TLS"),
        ] {
            let error = parse(rest).expect_err(rest);
            assert!(error.contains(advice), "{rest}: {error}");
        }
    }
}
