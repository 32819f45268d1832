//! Forms as fields, which are easier to edit than an encoded body.

use crate::document::Body;
use crate::encode;
use crate::multipart;
use crate::placeholder::is_plain;
use crate::secret::{Secrets, form_fields, json_fields, looks_like_json, multipart_fields};

pub(crate) const CONTENT_TYPE: &str = "application/x-www-form-urlencoded";

/// The fields of an encoded form, if torment's encoding reproduces the form, and none contains what would be taken
/// for a placeholder.
pub(crate) fn parse_fields(text: &str) -> Option<Vec<(String, String)>> {
    let mut fields = Vec::new();
    for pair in text.split('&') {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (encode::decode(name), encode::decode(value));
        if name.is_empty() || name.contains('=') || !is_plain(&name) || !is_plain(&value) {
            return None;
        }
        fields.push((name, value));
    }
    let encode = |text: &str| encode::form(text.as_bytes());
    let reencoded: Vec<_> =
        fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    (reencoded.join("&") == normal(text)).then_some(fields)
}

/// A body for a plan, its secrets hidden: a form as its fields, if they reproduce it. `place` is its location in
/// notes, and `substitute` inserts values of earlier answers.
pub(crate) fn body(
    text: &str,
    media: &str,
    place: &str,
    secrets: &mut Secrets,
    mut substitute: impl FnMut(&str) -> String,
) -> Body {
    let is_form = media.starts_with(CONTENT_TYPE);
    if is_form && let Some(mut fields) = parse_fields(text) {
        for (name, value) in &mut fields {
            *value = secrets.hide_in_field(name, &substitute(value), "in a form");
        }
        return Body::Form(fields);
    }
    let text = substitute(text);
    let hidden = if media.contains("json") || looks_like_json(&text) {
        secrets.hide_fields(&text, &json_fields(&text), &format!("{place}, escaped as it stands there"))
    } else if is_form {
        secrets.hide_fields(&text, &form_fields(&text, 0), place)
    } else if media.starts_with(multipart::CONTENT_TYPE) {
        secrets.hide_fields(&text, &multipart_fields(&text), place)
    } else {
        text
    };
    Body::Bytes(hidden.into_bytes())
}

/// Normalises where encoders differ: a space may be `+`, an escape lower case, and some characters escaped or not.
fn normal(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let escape: String = rest[at..].chars().take(3).collect();
        out.push_str(&escape.to_ascii_uppercase());
        rest = &rest[at + escape.len()..];
    }
    out.push_str(rest);
    out.replace("%20", "+").replace('*', "%2A").replace("%7E", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_forms_apart_only_if_they_can_be_put_together_again() {
        for (text, expected) in [
            ("a=b&c=", Some(vec![("a", "b"), ("c", "")])),
            ("a=1&a=2", Some(vec![("a", "1"), ("a", "2")])),
            ("n=Zo%c3%ab+%26+Co%2B&s=x%20y&t=*~", Some(vec![("n", "Zoë & Co+"), ("s", "x y"), ("t", "*~")])),
            ("a", None),
            ("=b", None),
            ("", None),
            ("a%3Db=c", None),
            ("a=%ff", None),
            ("a=%", None),
            ("{\"a\":\"b=c\"}", None),
            ("a=%7Buuid%7D", None),
            ("a=b c", None),
        ] {
            let found = parse_fields(text);
            let found =
                found.as_ref().map(|fields| fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect());
            assert_eq!(found, expected, "{text}");
        }
    }
}
