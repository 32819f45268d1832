//! Forms as fields, which are easier to edit than an encoded body.

use crate::encode;
use crate::lookalike::is_plain;
use crate::secret::{Secrets, is_secret};

/// The content type of a form.
pub(crate) const CONTENT_TYPE: &str = "application/x-www-form-urlencoded";

/// The fields of an encoded form, if torment's own encoding of them gives the same form again, and
/// none holds what would be taken for a placeholder.
pub(crate) fn fields(text: &str) -> Option<Vec<(String, String)>> {
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
    let again: Vec<_> =
        fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    (again.join("&") == normal(text)).then_some(fields)
}

/// Hides the values of fields whose names say that they are secret.
pub(crate) fn hide(fields: &mut [(String, String)], secrets: &mut Secrets) {
    for (name, value) in fields {
        let placeholder = value.contains("{env:") || (value.starts_with('{') && value.ends_with('}'));
        if is_secret(name) && !value.is_empty() && !placeholder {
            *value = secrets.hide(name, value, &format!("'{name}' in a form"));
        }
    }
}

/// Encoders differ in these: a space may be `+`, an escape be in small letters, and some characters
/// be escaped or not.
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
            let found = fields(text);
            let found =
                found.as_ref().map(|fields| fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect());
            assert_eq!(found, expected, "{text}");
        }
    }
}
