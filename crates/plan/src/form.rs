//! `application/x-www-form-urlencoded`, and what else must be escaped to stand where it stands.

use crate::{Piece, Template};
use units::ParseError;

/// The content type of a form.
pub(crate) const CONTENT_TYPE: &str = "application/x-www-form-urlencoded";

/// A body of `name=value` fields joined by `&`; placeholders inside keep working.
pub(crate) fn body<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Template, ParseError> {
    let mut body = Template::default();
    for (name, value) in fields {
        if !body.is_empty() {
            body.append(Template::literal("&"));
        }
        body.append(encoded(name)?);
        body.append(Template::literal("="));
        body.append(encoded(value)?);
    }
    Ok(body)
}

fn encoded(text: &str) -> Result<Template, ParseError> {
    let mut template = Template::parse(text)?;
    for piece in &mut template.pieces {
        if let Piece::Literal(text) = piece {
            *text = encode(text).into_bytes();
        }
    }
    Ok(template)
}

/// As browsers do it (the URL standard's form serialiser): a space is `+`.
pub(crate) fn encode(text: &[u8]) -> String {
    escape(text, |b| b.is_ascii_alphanumeric() || b"*-._".contains(&b)).replace("%20", "+")
}

/// Escapes only what can never stand in a path or query, so that a value may be a path itself.
pub(crate) fn encode_path(text: &[u8]) -> String {
    escape(text, |b| b.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&b))
}

fn escape(text: &[u8], keep: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for &b in text {
        if keep(b) {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_bodies() {
        for (fields, expected) in [
            (vec![("a", "b")], "a=b"),
            (vec![("first name", "Zoë & Co+"), ("x", "")], "first+name=Zo%C3%AB+%26+Co%2B&x="),
            (vec![("id", "n{1..9}%")], "id=n{1..9}%25"),
            (vec![("json", "{\"a\":1}")], "json=%7B%22a%22%3A1%7D"),
        ] {
            let body = body(fields).expect(expected);
            assert_eq!(body.to_string(), expected);
            assert_eq!(Template::parse(expected), Ok(body));
        }
    }
}
