//! Headers of a recorded request that do not belong in the plan.

use plan::is_token;

/// Why a header is left out of the plan, if it is.
pub(crate) fn omission_reason(name: &str, value: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        _ if name.starts_with(':') => Some("it is part of the request line of HTTP/2"),
        "content-length" | "transfer-encoding" => Some("it follows from the body and is set by torment"),
        "connection" if value.trim().eq_ignore_ascii_case("close") => None,
        "connection" | "keep-alive" | "proxy-connection" | "te" | "trailer" | "upgrade"
        | "http2-settings" => Some("it is about the connection, which is torment's"),
        "expect" => Some("torment sends the body at once"),
        _ if !is_token(&name) => Some("it is not the name of a header"),
        _ if value.bytes().any(|b| b.is_ascii_control() && b != b'\t') => {
            Some("its value holds a line break or another control character")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_whose_a_header_is() {
        for (name, value, stays) in [
            (":authority", "h", false),
            ("Content-Length", "3", false),
            ("Connection", "keep-alive", false),
            ("connection", "close", true),
            ("TE", "trailers", false),
            ("X y", "1", false),
            ("X", "1\r\nY: 2", false),
            ("", "", false),
            ("Host", "shop", true),
            ("Accept", "*/*", true),
        ] {
            assert_eq!(omission_reason(name, value).is_none(), stays, "{name}: {value}");
        }
    }
}
