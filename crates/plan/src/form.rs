//! `application/x-www-form-urlencoded`, and other URL escaping.

use crate::placeholder::NameScope;
use crate::{Template, TemplatePiece};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode, percent_encode};
use units::ParseError;

pub(crate) const CONTENT_TYPE: &str = "application/x-www-form-urlencoded";

/// The URL standard's query percent-encode set.
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');
/// What RFC 3986 does not allow in a path either.
const NEVER_IN_PATH: &AsciiSet = &QUERY.add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');
/// All but the unreserved characters of RFC 3986, 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// One `name=value` field; its placeholders stay.
pub(crate) fn field(name: &str, value: &str, names: &NameScope<'_>) -> Result<Template, ParseError> {
    let mut field = escaped(name, names)?;
    field.append(Template::literal("="));
    field.append(escaped(value, names)?);
    Ok(field)
}

fn escaped(text: &str, names: &NameScope<'_>) -> Result<Template, ParseError> {
    let mut template = Template::parse_with(text.as_bytes(), names)?;
    for piece in &mut template.pieces {
        if let TemplatePiece::Literal(text) = piece {
            let mut out = Vec::with_capacity(text.len());
            encode(text, &mut out);
            *text = out;
        }
    }
    Ok(template)
}

/// As browsers do (the URL standard's form serialiser): a space is `+`.
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    form_urlencoded::byte_serialize(text).for_each(|part| out.extend_from_slice(part.as_bytes()));
}

/// Escapes only what can never stand in a path or query, so that a value may itself be a path.
pub(crate) fn encode_path(text: &[u8], out: &mut Vec<u8>) {
    percent_encode(text, NEVER_IN_PATH).for_each(|part| out.extend_from_slice(part.as_bytes()));
}

/// Escapes what has a meaning in any part of a URL.
pub(crate) fn encoded(text: &[u8]) -> String {
    percent_encode(text, RESERVED).to_string()
}

/// Decodes `%2F`; the error is what was expected.
pub(crate) fn percent_decoded(text: &[u8]) -> Result<Vec<u8>, String> {
    let is_escape = |after: &[u8]| after.len() >= 2 && after[..2].iter().all(u8::is_ascii_hexdigit);
    if !text.split(|b| *b == b'%').skip(1).all(is_escape) {
        return Err("a URL: '%' is followed by two hexadecimal digits, write %25 for itself".to_owned());
    }
    Ok(percent_decode(text).collect())
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
            let field = field(name, value, &NameScope::default()).expect(expected);
            assert_eq!(field.to_string(), expected);
            assert_eq!(Template::parse(expected), Ok(field));
        }
    }
}
