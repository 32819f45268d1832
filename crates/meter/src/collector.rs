//! Where metrics are pushed to, and how.

use fetch::ServerAddress;
use serde_json::Value;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use ureq::http::{StatusCode, Uri};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Error};

/// Timeout of a push, in all.
pub(crate) const PUSH_TIMEOUT: Duration = Duration::from_secs(3);
/// The metrics path below an endpoint.
const METRICS_PATH: &str = "/v1/metrics";
/// Maximum bytes read of a response.
const MAX_RESPONSE_BYTES: u64 = 64 * 1024;

/// The URL of an OpenTelemetry collector: `http://host:4318`, or with a base path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorUrl {
    uri: Uri,
}

impl FromStr for CollectorUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!("'{text}' {what}; expected where a collector listens, such as http://127.0.0.1:4318")
        };
        // It is neither displayed nor stored.
        if text
            .split_once("://")
            .is_some_and(|(_, rest)| rest.split('/').next().unwrap_or(rest).contains('@'))
        {
            return Err(
                "an address with a user or a password in it is printed, and can be seen by other users; \
                 put them into OTEL_EXPORTER_OTLP_HEADERS=authorization=…"
                    .to_owned(),
            );
        }
        let uri: Uri = text.parse().map_err(|_| wrong("is not an address"))?;
        let scheme = match uri.scheme_str() {
            Some(scheme @ ("http" | "https")) => scheme,
            Some(_) => return Err(wrong("is neither http nor https")),
            None => return Err(wrong("does not begin with http:// or https://")),
        };
        let host = uri.authority().filter(|authority| !authority.host().is_empty());
        let host = host.ok_or_else(|| wrong("names no host"))?;
        if host.as_str() != host.host() && host.port_u16().is_none() {
            return Err(wrong("names an impossible port"));
        }
        if uri.query().is_some() {
            return Err(wrong("has a question mark, which a collector does not understand"));
        }
        let path = uri.path().trim_end_matches('/');
        let path = path.strip_suffix(METRICS_PATH).unwrap_or(path);
        let uri = format!("{scheme}://{host}{path}{METRICS_PATH}")
            .parse()
            .map_err(|_| wrong("is not an address"))?;
        Ok(Self { uri })
    }
}

impl fmt::Display for CollectorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uri.fmt(f)
    }
}

/// Extra headers for the collector, such as credentials: never printed, never stored.
#[derive(Clone, Default)]
pub struct CollectorHeaders(Vec<(HeaderName, HeaderValue)>);

impl fmt::Debug for CollectorHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Headers(…)")
    }
}

/// Parses `name=value,name=value` with percent-encoded values, the format of `OTEL_EXPORTER_OTLP_HEADERS`.
impl FromStr for CollectorHeaders {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let header = |(number, pair): (usize, &str)| {
            let read = pair.split_once('=').and_then(|(name, value)| {
                let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
                let mut value = HeaderValue::from_bytes(&percent_decode(value.trim())?).ok()?;
                value.set_sensitive(name == AUTHORIZATION);
                Some((name, value))
            });
            // Omit the text: it is usually a secret.
            read.ok_or_else(|| {
                format!("its {}. entry is not NAME=VALUE, with % before two hexadecimal digits", number + 1)
            })
        };
        let pairs = text.split(',').enumerate().filter(|(_, pair)| !pair.trim().is_empty());
        Ok(Self(pairs.map(header).collect::<Result<_, _>>()?))
    }
}

/// Decodes percent escapes; `None` if a percent sign is not followed by two hexadecimal digits.
fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        out.push((digit()? * 16 + digit()?) as u8);
    }
    Some(out)
}

/// Sends pushes, reusing its connection.
pub(crate) struct PushClient {
    agent: Agent,
    collector: CollectorUrl,
    headers: CollectorHeaders,
}

impl PushClient {
    /// `authorities`: a PEM file of certificates to trust instead of the built-in ones.
    pub fn new(
        collector: CollectorUrl,
        headers: CollectorHeaders,
        authorities: Option<&Path>,
    ) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let roots = authorities.map_or(Ok(RootCerts::WebPki), read_certificates)?;
        let tls = TlsConfig::builder().unversioned_rustls_crypto_provider(provider).root_certs(roots).build();
        let agent = fetch::agent(ServerAddress::Named, PUSH_TIMEOUT, Some(tls));
        Ok(Self { agent, collector, headers })
    }

    /// Sends one body. Fails with the reason if it did not arrive or was not accepted in full.
    pub fn send(&self, body: &str) -> Result<(), String> {
        let mut request = self
            .agent
            .post(&self.collector.uri)
            .header("user-agent", concat!("torment/", env!("CARGO_PKG_VERSION")))
            .header("content-type", "application/json");
        for (name, value) in &self.headers.0 {
            request = request.header(name, value);
        }
        let mut answer = request.send(body).map_err(|error| error_words(&error))?;
        let status = answer.status();
        let response = answer.body_mut().with_config().limit(MAX_RESPONSE_BYTES).read_to_string();
        let response: Value =
            response.ok().and_then(|response| serde_json::from_str(&response).ok()).unwrap_or_default();
        check_response(status, &response)
    }
}

/// Whether the collector accepted all of it.
fn check_response(status: StatusCode, response: &Value) -> Result<(), String> {
    let because =
        |text: Option<&str>| text.filter(|t| !t.is_empty()).map_or(String::new(), |t| format!(": {t}"));
    if !status.is_success() {
        let reason = status.canonical_reason().map_or(String::new(), |reason| format!(" ({reason})"));
        let why = because(response["message"].as_str());
        return Err(format!("it answered with status {}{reason}{why}", status.as_u16()));
    }
    let partial = &response["partialSuccess"];
    let rejected = &partial["rejectedDataPoints"];
    // 64-bit integers are strings.
    let rejected = rejected.as_str().and_then(|text| text.parse().ok()).or(rejected.as_u64()).unwrap_or(0);
    if rejected > 0 {
        return Err(format!("it refused {rejected} values{}", because(partial["errorMessage"].as_str())));
    }
    Ok(())
}

fn error_words(error: &Error) -> String {
    match error {
        Error::Io(why) if why.kind() == std::io::ErrorKind::ConnectionRefused => {
            "nothing listens there (connection refused)".to_owned()
        }
        other => fetch::describe_error(other, PUSH_TIMEOUT),
    }
}

fn read_certificates(file: &Path) -> Result<RootCerts, String> {
    let wrong = |why: String| format!("SSL_CERT_FILE {}: {why}", file.display());
    let pem = std::fs::read(file).map_err(|why| wrong(why.to_string()))?;
    let found: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return Err(wrong("it holds no certificate in PEM form".to_owned()));
    }
    Ok(RootCerts::from(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn collectors_are_where_they_say() {
        for (text, expected) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
            ("https://otel.example/", "https://otel.example/v1/metrics"),
            ("http://[::1]:9090/api/v1/otlp", "http://[::1]:9090/api/v1/otlp/v1/metrics"),
            ("http://host/x/v1/metrics", "http://host/x/v1/metrics"),
            ("http://host/v1/metrics/", "http://host/v1/metrics"),
        ] {
            assert_eq!(text.parse::<CollectorUrl>().expect(text).to_string(), expected);
        }
        for (text, why) in [
            ("", "is not an address"),
            ("127.0.0.1:4318", "does not begin with http://"),
            ("grpc://host:4317", "is neither http nor https"),
            ("http://", "is not an address"),
            ("http://host/?token=1", "has a question mark"),
            ("http://host:99999999/", "names an impossible port"),
        ] {
            let said = text.parse::<CollectorUrl>().expect_err(text);
            assert!(said.contains(why) && said.contains(&format!("'{text}'")), "{text}: {said}");
        }
        let said = "http://me:geheim@host/".parse::<CollectorUrl>().expect_err("a password");
        assert!(said.contains("OTEL_EXPORTER_OTLP_HEADERS") && !said.contains("geheim"), "{said}");
    }

    #[test]
    fn headers_are_read_and_never_said() {
        let headers: CollectorHeaders =
            "api-key=abc%20d, authorization=Basic a2V5PT0=,".parse().expect("two headers");
        let read: Vec<(&str, &[u8])> =
            headers.0.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(read, [("api-key", &b"abc d"[..]), ("authorization", &b"Basic a2V5PT0="[..])]);
        assert!(!format!("{headers:?}").contains("abc"));
        for text in ["geheim", "a b=geheim", "a=geheim%2", "a=geheim%zz", "a=geheim%0A", "x=1,geheim"] {
            let said = text.parse::<CollectorHeaders>().expect_err(text);
            assert!(said.contains("NAME=VALUE") && !said.contains("geheim"), "{said}");
        }
        assert!("".parse::<CollectorHeaders>().is_ok_and(|none| none.0.is_empty()));
    }

    #[test]
    fn what_a_collector_refuses_is_said() {
        let refused = |rejected: Value| json!({ "partialSuccess": { "rejectedDataPoints": rejected, "errorMessage": "out of order" } });
        for said in [Value::Null, json!({}), json!({ "partialSuccess": {} }), refused(json!("0"))] {
            assert_eq!(check_response(StatusCode::OK, &said), Ok(()), "{said}");
        }
        for (status, said, why) in [
            (200, refused(json!("7")), "it refused 7 values: out of order"),
            (200, refused(json!(7)), "it refused 7 values: out of order"),
            (404, Value::Null, "it answered with status 404 (Not Found)"),
            (400, json!({ "message": "no unit" }), "it answered with status 400 (Bad Request): no unit"),
        ] {
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(check_response(status, &said).as_ref().err().map(String::as_str), Some(why));
        }
    }
}
