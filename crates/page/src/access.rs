//! Access control, and the security headers of every response.

use crate::address::{Address, Token};
use crate::http_error::HttpError;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, REFERRER_POLICY, SET_COOKIE,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Nothing from elsewhere, nothing to elsewhere. The page's own policy, in its head, narrows scripts and styles down
/// to its one of each; naming them here as well would have to be redone for each build.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Sent with every response, refusals included.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (CACHE_CONTROL, "no-store"),
];

#[derive(Debug)]
pub(crate) struct AccessPolicy {
    /// Only this machine is listened to: then only its own names are accepted as host.
    local_only: bool,
    token: Option<Token>,
    /// A browser shares one set of cookies between all ports of a host.
    cookie: String,
}

/// How a token was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenSource {
    /// None is required.
    None,
    /// In the URL: the browser keeps it as a cookie, for the page's own requests.
    Address,
    /// In a header.
    Header,
}

impl AccessPolicy {
    pub fn new(at: Address, token: Option<Token>) -> Self {
        Self { local_only: !at.is_open(), token, cookie: format!("torment-{}=", at.0.port()) }
    }

    fn check(&self, request: &Request) -> Result<TokenSource, HttpError> {
        let headers = request.headers();
        if self.local_only
            && !headers.get(HOST).and_then(|host| host.to_str().ok()).is_some_and(is_local_host)
        {
            return Err(HttpError::new(
                StatusCode::FORBIDDEN,
                "this page is served to its own machine only, as localhost, 127.0.0.1 or [::1]; a site with \
                 another name must not read it through the browser",
            ));
        }
        let Some(token) = &self.token else { return Ok(TokenSource::None) };
        if query_token(request.uri().query()).is_some_and(|given| token.matches(given)) {
            return Ok(TokenSource::Address);
        }
        if self.header_tokens(headers).any(|given| token.matches(given)) {
            return Ok(TokenSource::Header);
        }
        Err(HttpError::new(
            StatusCode::UNAUTHORIZED,
            "this page needs its token: use the address that torment printed when it started, the one that \
             ends in ?token=…",
        ))
    }

    /// Every candidate for the token.
    fn header_tokens<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let text = |value: &'a HeaderValue| value.to_str().ok();
        let bearer =
            headers.get(AUTHORIZATION).and_then(text).and_then(|value| value.strip_prefix("Bearer "));
        let cookies = headers.get_all(COOKIE).iter().filter_map(text).flat_map(|value| value.split(';'));
        bearer
            .into_iter()
            .map(str::trim)
            .chain(cookies.filter_map(|cookie| cookie.trim().strip_prefix(self.cookie.as_str())))
    }
}

/// Lets a request through, or refuses it with a reason.
pub(crate) async fn check_access(
    State(policy): State<Arc<AccessPolicy>>,
    request: Request,
    next: Next,
) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let mut response = match policy.check(&request) {
        Ok(source) => {
            let mut response = next.run(request).await;
            if let (TokenSource::Address, Some(token)) = (source, &policy.token) {
                let cookie = format!("{}{}; Path=/; HttpOnly; SameSite=Lax", policy.cookie, token.text());
                let value =
                    HeaderValue::from_str(&cookie).expect("a token holds nothing that a header must not");
                response.headers_mut().append(SET_COOKIE, value);
            }
            response
        }
        Err(refusal) => {
            let status = refusal.status;
            let mut response = if is_api {
                refusal.into_response()
            } else {
                (status, format!("{}\n", refusal.why)).into_response()
            };
            if status == StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            response
        }
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whether a host, with or without a port, can only be this machine. The owner of a name can point it at this
/// machine, but an address cannot be redirected.
fn is_local_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    name.is_some_and(|name| {
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

/// The token in a query. Tokens need no unescaping.
fn query_token(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    const TOKEN: &str = "0123456789abcdef";

    fn policy(at: &str, token: Option<&str>) -> AccessPolicy {
        AccessPolicy::new(at.parse().expect(at), token.map(|text| text.parse().expect("a token")))
    }

    fn get_request(address: &str, headers: &[(HeaderName, &str)]) -> Request {
        let mut request = axum::http::Request::get(address);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        request.body(Body::empty()).expect("a request")
    }

    #[test]
    fn hosts_that_are_this_machine() {
        for host in [
            "localhost",
            "LOCALHOST:7979",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.1.2.3:80",
            "[::1]",
            "[::1]:7979",
        ] {
            assert!(is_local_host(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example:7979",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]:80",
            "[",
            "::1",
        ] {
            assert!(!is_local_host(host), "{host}");
        }
    }

    #[test]
    fn a_name_from_elsewhere_is_refused_only_where_this_machine_alone_is_served() {
        let request = get_request("/", &[(HOST, "evil.example")]);
        let refused = policy("127.0.0.1:80", None).check(&request).expect_err("another name");
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
        assert!(policy("127.0.0.1:80", None).check(&get_request("/", &[])).is_err(), "no name at all");
        let open = policy("0.0.0.0:80", Some(TOKEN));
        assert_eq!(open.check(&request).expect_err("no token").status, StatusCode::UNAUTHORIZED);
    }

    #[test]
    fn a_token_comes_in_three_ways() {
        let policy = policy("127.0.0.1:80", Some(TOKEN));
        let localhost = (HOST, "localhost");
        let bearer = format!("Bearer {TOKEN}");
        let cookie = format!("other=1; torment-80={TOKEN}");
        for (request, source) in [
            (
                get_request(&format!("/?a=b&token={TOKEN}"), std::slice::from_ref(&localhost)),
                TokenSource::Address,
            ),
            (get_request("/", &[localhost.clone(), (AUTHORIZATION, bearer.as_str())]), TokenSource::Header),
            (get_request("/", &[localhost.clone(), (COOKIE, cookie.as_str())]), TokenSource::Header),
            (
                get_request("/?token=old", &[localhost.clone(), (COOKIE, cookie.as_str())]),
                TokenSource::Header,
            ),
        ] {
            assert_eq!(policy.check(&request).ok(), Some(source), "{request:?}");
        }
        for request in [
            get_request("/", std::slice::from_ref(&localhost)),
            get_request("/?token=", std::slice::from_ref(&localhost)),
            get_request("/?token=0123456789abcdeX", std::slice::from_ref(&localhost)),
            get_request(&format!("/?broken={TOKEN}"), std::slice::from_ref(&localhost)),
            get_request("/", &[localhost.clone(), (COOKIE, format!("torment-81={TOKEN}").as_str())]),
            get_request("/", &[localhost.clone(), (AUTHORIZATION, TOKEN)]),
        ] {
            assert_eq!(
                policy.check(&request).expect_err("wrong").status,
                StatusCode::UNAUTHORIZED,
                "{request:?}"
            );
        }
    }
}
