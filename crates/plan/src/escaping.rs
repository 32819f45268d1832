use crate::form;
use serde::{Deserialize, Serialize};

/// How a value from outside is escaped, by where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Escaping {
    /// As is.
    #[default]
    Raw,
    /// In a path or query: what no path can hold is escaped.
    Path,
    /// At the beginning of a path, possibly from a `Location` header: as in a path, without scheme and host, since
    /// there is one target.
    Url,
    /// In a form field.
    Form,
    /// In a header: control characters are left out.
    Header,
}

impl Escaping {
    pub(crate) fn write(self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Raw => out.extend_from_slice(value),
            Self::Path => form::encode_path(value, out),
            Self::Url => {
                let path = without_origin(value);
                if !path.starts_with(b"/") {
                    out.push(b'/');
                }
                form::encode_path(path, out);
            }
            Self::Form => form::encode(value, out),
            Self::Header => out.extend(value.iter().filter(|b| !b.is_ascii_control())),
        }
    }
}

/// Path and query of a URL; a path is returned as is.
fn without_origin(url: &[u8]) -> &[u8] {
    let is = |scheme: &[u8]| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let Some(start) = [&b"http://"[..], b"https://", b"//"].into_iter().find(|start| is(start)) else {
        return url;
    };
    let rest = &url[start.len()..];
    &rest[rest.iter().position(|b| b"/?#".contains(b)).unwrap_or(rest.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_a_path() {
        for (location, expected) in [
            ("/owners/7", "/owners/7"),
            ("owners/7?x", "/owners/7?x"),
            ("http://h:80/owners/7", "/owners/7"),
            ("HTTPS://h/a b", "/a%20b"),
            ("//h/a", "/a"),
            ("https://h", "/"),
            ("https://h?q", "/?q"),
            ("", "/"),
        ] {
            let mut out = Vec::new();
            Escaping::Url.write(location.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).expect("text"), expected, "{location}");
        }
    }
}
