//! `application/x-www-form-urlencoded`, and what else must be escaped to stand where it stands.

use crate::placeholder::Names;
use crate::{Piece, Template};
use units::ParseError;

/// The content type of a form.
pub(crate) const CONTENT_TYPE: &str = "application/x-www-form-urlencoded";

/// One `name=value` field; placeholders inside keep working.
pub(crate) fn field(name: &str, value: &str, names: &Names<'_>) -> Result<Template, ParseError> {
    let mut field = encoded(name, names)?;
    field.append(Template::literal("="));
    field.append(encoded(value, names)?);
    Ok(field)
}

fn encoded(text: &str, names: &Names<'_>) -> Result<Template, ParseError> {
    let mut template = Template::parse_with(text.as_bytes(), names)?;
    for piece in &mut template.pieces {
        if let Piece::Literal(text) = piece {
            let mut out = Vec::with_capacity(text.len());
            encode(text, &mut out);
            *text = out;
        }
    }
    Ok(template)
}

/// As browsers do it (the URL standard's form serialiser): a space is `+`.
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    for &b in text {
        match b {
            b' ' => out.push(b'+'),
            _ if b.is_ascii_alphanumeric() || b"*-._".contains(&b) => out.push(b),
            _ => escape(b, out),
        }
    }
}

/// Escapes only what can never stand in a path or query, so that a value may be a path itself.
pub(crate) fn encode_path(text: &[u8], out: &mut Vec<u8>) {
    for &b in text {
        if b.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&b) { out.push(b) } else { escape(b, out) }
    }
}

fn escape(b: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_fields() {
        for (name, value, expected) in [
            ("a", "b", "a=b"),
            ("first name", "Zoë & Co+", "first+name=Zo%C3%AB+%26+Co%2B"),
            ("x", "", "x="),
            ("id", "n{1..9}%", "id=n{1..9}%25"),
            ("json", "{\"a\":1}", "json=%7B%22a%22%3A1%7D"),
        ] {
            let field = field(name, value, &Names::default()).expect(expected);
            assert_eq!(field.to_string(), expected);
            assert_eq!(Template::parse(expected), Ok(field));
        }
    }
}
