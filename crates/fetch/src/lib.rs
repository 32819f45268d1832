//! Small HTTP/1.1 requests with a timeout. The load is not made here, but in `engine`.
//!
//! No redirects, no proxy, no retries, and any status is an answer. Connections are kept alive while both ends want it.
//! The caller bounds the size of a body.

use std::net::SocketAddr;
use std::time::Duration;
use units::Nanos;
use ureq::config::Config;
use ureq::tls::TlsConfig;
use ureq::typestate::WithoutBody;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error, RequestBuilder};

/// Timeout per address where a name has several.
const ADDRESS_TIMEOUT: Duration = Duration::from_millis(500);

/// The server to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAddress {
    /// The URL's host, resolved for each new connection.
    Named,
    /// This address, whatever the URL says.
    At(SocketAddr),
}

/// An agent whose timeout, `patience`, includes the whole body. `tls` is for https URLs.
pub fn agent(server: ServerAddress, patience: Duration, tls: Option<TlsConfig>) -> Agent {
    let config = Config::builder()
        .timeout_global(Some(patience))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .user_agent("torment")
        .tls_config(tls.unwrap_or_default());
    Agent::with_parts(config.build(), DefaultConnector::default(), server)
}

/// A GET without TLS; characters of `path` that people leave unescaped are escaped.
pub fn get(agent: &Agent, host: &str, path: &str) -> RequestBuilder<WithoutBody> {
    const ESCAPED: [(&str, &str); 4] = [("\"", "%22"), ("<", "%3C"), (">", "%3E"), ("`", "%60")];
    let path = ESCAPED.iter().fold(path.to_owned(), |path, (raw, escaped)| path.replace(raw, escaped));
    agent.get(format!("http://{host}{path}"))
}

/// Why there is no answer, or not a whole one.
pub fn describe_error(error: &Error, patience: Duration) -> String {
    match error {
        Error::Timeout(_) => format!("no answer within {}", Nanos::from(patience)),
        Error::Io(why) if why.kind() == std::io::ErrorKind::UnexpectedEof => {
            "the connection ended within the answer".to_owned()
        }
        Error::Io(why) => why.to_string(),
        Error::Protocol(why) => format!("the answer is no HTTP: {why}"),
        Error::LargeResponseHeader(..) => "the answer is no HTTP: its head does not end".to_owned(),
        Error::ConnectionFailed => "no connection".to_owned(),
        other => other.to_string(),
    }
}

/// Names are resolved our own way: a static glibc must not.
impl Resolver for ServerAddress {
    fn resolve(
        &self,
        uri: &ureq::http::Uri,
        _: &Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = match self {
            Self::At(address) => *address,
            Self::Named => {
                let host = uri.host().ok_or(Error::HostNotFound)?;
                let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
                sys::resolve_host(host, port, ADDRESS_TIMEOUT)
                    .map_err(|why| Error::Io(std::io::Error::other(why)))?
            }
        };
        let mut addresses = self.empty();
        addresses.push(found);
        Ok(addresses)
    }
}
