//! `multipart/form-data` (RFC 7578) of text parts.

use crate::document::{Body, Request};

/// The content type of such a form, before its boundary.
pub(crate) const CONTENT_TYPE: &str = "multipart/form-data";
const BOUNDARY: &str = "torment-7d1f0c5a9b3e";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub name: String,
    pub value: String,
    pub content_type: Option<String>,
}

/// The body; the request gets the header that names its boundary.
pub(crate) fn body(parts: &[Part], request: &mut Request) -> Body {
    request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    let content_type = format!("{CONTENT_TYPE}; boundary={BOUNDARY}");
    request.headers.push(("Content-Type".to_owned(), content_type));
    let mut body = String::new();
    for Part { name, value, content_type } in parts {
        let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        body += &format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n");
        if let Some(kind) = content_type {
            body += &format!("Content-Type: {kind}\r\n");
        }
        body += &format!("\r\n{value}\r\n");
    }
    body += &format!("--{BOUNDARY}--\r\n");
    Body::Bytes(body.into_bytes())
}
