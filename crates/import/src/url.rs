use crate::encode;
use plan::UrlParts;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedUrl {
    /// `https://host:port`, without the scheme's default port.
    pub origin: String,
    /// Path and query; begins with `/`, and contains only what a request line can.
    pub path: String,
    /// User and password as written before the `@`.
    pub user: Option<String>,
}

impl ParsedUrl {
    /// Parses `http://…`, `https://…`, or a URL without scheme, which is then `http`.
    ///
    /// # Errors
    /// With a sentence about what is wrong.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let parts = UrlParts::parse(url.trim());
        let UrlParts { scheme, host, .. } = parts;
        let colon = if scheme.is_empty() { "" } else { "://" };
        let origin = parts.origin().map_err(|why| format!("'{scheme}{colon}{host}' is not {why}"))?;
        let path = encode::visible(parts.path.split('#').next().unwrap_or_default().as_bytes());
        let path = if path.starts_with('/') { path } else { format!("/{path}") };
        Ok(Self { origin: origin.to_string(), path, user: parts.user.map(str::to_owned) })
    }

    /// The path without its query.
    pub(crate) fn route(path: &str) -> &str {
        path.split('?').next().unwrap_or_default()
    }
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
                ParsedUrl { origin: origin.to_owned(), path: path.to_owned(), user: user.map(str::to_owned) };
            assert_eq!(ParsedUrl::parse(url), Ok(expected), "{url}");
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
            assert!(ParsedUrl::parse(url).is_err(), "{url}");
        }
    }
}
