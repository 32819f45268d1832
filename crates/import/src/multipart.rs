//! `multipart/form-data` (RFC 7578) of text parts.

/// The content type of such a form, before its boundary.
pub(crate) const CONTENT_TYPE: &str = "multipart/form-data";
const BOUNDARY: &str = "torment-7d1f0c5a9b3e";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub name: String,
    pub value: String,
    pub content_type: Option<String>,
}

/// The content type, with the boundary that [`body`] writes.
pub(crate) fn content_type() -> String {
    format!("{CONTENT_TYPE}; boundary={BOUNDARY}")
}

pub(crate) fn body(parts: &[Part]) -> String {
    let mut body = String::new();
    for Part { name, value, content_type } in parts {
        let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        body += &format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n");
        if let Some(kind) = content_type {
            body += &format!("Content-Type: {kind}\r\n");
        }
        body += &format!("\r\n{value}\r\n");
    }
    body + &format!("--{BOUNDARY}--\r\n")
}
