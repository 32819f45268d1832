//! Hides secrets in shown texts, in whatever form they come back.

use crate::{Plan, SecretValue, TemplatePiece};
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, Engine as _};
use std::borrow::Cow;
use std::collections::BTreeSet;

const MASK: &[u8] = b"***";
/// A text may be cut anywhere: this many leading characters of a secret count as a truncated one;
const MIN_PREFIX: usize = 8;
/// at the end of a text, this many suffice.
const MIN_PREFIX_AT_END: usize = 4;
/// Shorter ones are hidden only where they stand alone: they occur in any other word.
const MIN_EMBEDDED: usize = 4;
/// Base64 digits needed to tell a part of a secret from other text.
const MIN_DIGITS: usize = 4;
/// The longest encoding of one character, `&#1114111;`.
const MAX_ENCODED: usize = 10;

/// Every secret of a plan. Finds them in a text as is, escaped (`%C3`, `+`, `\u00eb`, `\"`, `&amp;`, character by
/// character), in base64 together with anything else, and truncated.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    /// As they are, longest first.
    values: Vec<SecretValue>,
    /// Base64 digits that encode a part of one.
    digits: Vec<SecretValue>,
}

impl Plan {
    /// A redactor of every secret, for whoever shows texts. Complete after [`Plan::bind`].
    pub fn redactor(&self) -> Redactor {
        let mut secrets = Vec::new();
        self.visit(|piece| match piece {
            TemplatePiece::Secret { value, .. } => secrets.push(value.bytes().to_vec()),
            // The password can be read from such a token.
            TemplatePiece::Base64(inner) if inner.is_constant() => {
                secrets.push(crate::Template::from_pieces(vec![piece.clone()]).constant());
            }
            _ => {}
        });
        Redactor::new(secrets)
    }
}

impl Redactor {
    /// Of these values; empty ones are ignored.
    pub fn new(values: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut values: Vec<Vec<u8>> = values.into_iter().filter(|value| !value.is_empty()).collect();
        values.sort_by(|a, b| (b.len(), b).cmp(&(a.len(), a)));
        values.dedup();
        let digits = values.iter().flat_map(|value| base64_digits(value)).map(SecretValue::new).collect();
        Self { values: values.into_iter().map(SecretValue::new).collect(), digits }
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The text with every secret replaced by stars.
    pub fn redact<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let (mut out, mut copied, mut at) = (Vec::new(), 0, 0);
        while at < text.len() {
            let Some((from, to)) = self.find_at(text, at) else {
                at += 1;
                continue;
            };
            out.extend_from_slice(&text[copied..from.max(copied)]);
            out.extend_from_slice(MASK);
            (copied, at) = (to, to);
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.extend_from_slice(&text[copied..]);
        Cow::Owned(out)
    }

    /// As [`Redactor::redact`], in place.
    pub fn redact_in_place(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.redact(text.as_bytes()) {
            *text = String::from_utf8_lossy(&hidden).into_owned();
        }
    }

    /// The range of the secret found at this position: a part of a base64 word hides all of it.
    fn find_at(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        if let Some(end) = self.values.iter().find_map(|value| match_secret(text, at, value.bytes())) {
            return Some((at, end));
        }
        self.digits.iter().find(|digits| text[at..].starts_with(digits.bytes()))?;
        let from = text[..at].iter().rposition(|b| !is_digit(*b)).map_or(0, |before| before + 1);
        let to = text[at..].iter().position(|b| !is_digit(*b) && *b != b'=').map_or(text.len(), |n| at + n);
        Some((from, to))
    }
}

/// Where the secret ends if it, or enough of its beginning, starts at this position.
fn match_secret(text: &[u8], at: usize, secret: &[u8]) -> Option<usize> {
    // Fast path: nearly no position starts one.
    if text[at] != secret[0] && !matches!(text[at], b'%' | b'\\' | b'&' | b'+') {
        return None;
    }
    let (mut ends, mut length) = (vec![at], 0);
    for character in characters(secret) {
        let mut next: Vec<usize> =
            ends.iter().flat_map(|end| match_character(text, *end, character)).collect();
        next.sort_unstable();
        next.dedup();
        if next.is_empty() {
            let end = *ends.last()?;
            let rest = &text[end..];
            let is_end =
                rest.is_empty() || rest.len() < MAX_ENCODED && matches!(rest[0], b'%' | b'\\' | b'&');
            let cut = length >= MIN_PREFIX || length >= MIN_PREFIX_AT_END && is_end;
            return cut.then_some(if is_end { text.len() } else { end });
        }
        (ends, length) = (next, length + 1);
    }
    let end = *ends.last()?;
    let is_part = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let stands_alone = || !is_part(at.checked_sub(1).map(|before| &text[before])) && !is_part(text.get(end));
    (length >= MIN_EMBEDDED || stands_alone()).then_some(end)
}

/// The characters of a text; invalid bytes stand by themselves.
fn characters(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid();
        let each = valid.char_indices().map(|(at, c)| &valid.as_bytes()[at..at + c.len_utf8()]);
        each.chain(chunk.invalid().chunks(1))
    })
}

/// Where this character ends, for each way of encoding it that is found here.
fn match_character(text: &[u8], at: usize, character: &[u8]) -> impl Iterator<Item = usize> {
    let rest = &text[at..];
    let plain = rest.starts_with(character).then_some(character.len());
    let plus = (character == b" " && rest.first() == Some(&b'+')).then_some(1);
    let code = std::str::from_utf8(character).ok().and_then(|text| text.chars().next()).map(u32::from);
    let by_code = [parse_escape(rest), parse_entity(rest)].into_iter().flatten();
    let by_code = by_code.filter(move |(found, _)| Some(*found) == code).map(|(_, length)| length);
    [plain, plus, in_percents(rest, character)].into_iter().flatten().chain(by_code).map(move |n| at + n)
}

/// `%C3%AB`
fn in_percents(text: &[u8], character: &[u8]) -> Option<usize> {
    let is = |(code, byte): (&[u8], &u8)| {
        code.len() == 3 && code[0] == b'%' && hex(&code[1..]) == Some((*byte).into())
    };
    let length = 3 * character.len();
    text.get(..length)?.chunks(3).zip(character).all(is).then_some(length)
}

/// `\n`, `\"`, `\u00eb`, `\ud83d\ude00`: the code point, and the length.
fn parse_escape(text: &[u8]) -> Option<(u32, usize)> {
    let (b'\\', kind) = (*text.first()?, *text.get(1)?) else { return None };
    let unit = |at: usize| hex(text.get(at..at + 4)?);
    Some(match kind {
        b'n' => (10, 2),
        b'r' => (13, 2),
        b't' => (9, 2),
        b'b' => (8, 2),
        b'f' => (12, 2),
        b'u' => match (unit(2)?, text.get(6..8) == Some(b"\\u")) {
            (high @ 0xd800..0xdc00, true) => {
                let low = unit(8)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                (0x10000 + ((high - 0xd800) << 10) + low, 12)
            }
            (code, _) => (code, 6),
        },
        other if other.is_ascii_punctuation() => (other.into(), 2),
        _ => return None,
    })
}

/// `&amp;`, `&#38;`, `&#x26;`: the code point, and the length.
fn parse_entity(text: &[u8]) -> Option<(u32, usize)> {
    let text = text.strip_prefix(b"&")?;
    let end = text.iter().take(MAX_ENCODED).position(|b| *b == b';')?;
    let code = match &text[..end] {
        b"amp" => 38,
        b"lt" => 60,
        b"gt" => 62,
        b"quot" => 34,
        b"apos" => 39,
        [b'#', b'x' | b'X', digits @ ..] => hex(digits)?,
        [b'#', digits @ ..] => std::str::from_utf8(digits).ok()?.parse().ok()?,
        _ => return None,
    };
    Some((code, end + 2))
}

fn hex(digits: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The base64 digits that the value alone determines, at each alignment: a digit is six bits, so the position modulo
/// three bytes matters. In both alphabets (RFC 4648, sections 4 and 5).
fn base64_digits(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut encodings = BTreeSet::new();
    for before in 0..3 {
        let bytes = [&[0; 3][..before], value].concat();
        // From the first digit that begins within the value to the last that ends there.
        let whole = (8 * before).div_ceil(6)..8 * bytes.len() / 6;
        if whole.len() >= MIN_DIGITS {
            for alphabet in [BASE64_STANDARD, BASE64_URL_SAFE] {
                encodings.insert(alphabet.encode(&bytes).as_bytes()[whole.clone()].to_vec());
            }
        }
    }
    encodings
}

fn is_digit(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"+/-_".contains(&b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use proptest::prelude::*;

    const SECRET: &str = "S3cr/et &\"ë😀+%25";

    fn hidden(text: &str) -> String {
        let secrets = Redactor::new([SECRET.as_bytes().to_vec(), b"abc".to_vec(), Vec::new()]);
        let mut text = text.to_owned();
        secrets.redact_in_place(&mut text);
        text
    }

    /// A server echoes a request in its own encoding, cut anywhere.
    #[test]
    fn a_secret_is_found_however_it_is_written() {
        for (text, expected) in [
            ("", ""),
            ("S3cr", "***"),
            ("no S3cret here", "no S3cret here"),
            ("a S3cr/et &\"ë😀+%25 b", "a *** b"),
            ("/x?k=S3cr%2Fet%20%26%22%C3%AB%F0%9F%98%80%2B%2525&b", "/x?k=***&b"),
            ("/x?k=S3cr/et%20&%22%c3%ab%f0%9f%98%80+%25", "/x?k=***"),
            ("k=S3cr%2Fet+%26%22%C3%AB%F0%9F%98%80%2B%2525;", "k=***;"),
            (r#"{"k":"S3cr\/et &\"\u00eb\ud83d\ude00+%25"}"#, r#"{"k":"***"}"#),
            (r#"{"k":"S3cr/et \u0026\u0022ë😀+%25"}"#, r#"{"k":"***"}"#),
            ("<p>S3cr/et &amp;&quot;&#235;&#x1f600;+%25</p>", "<p>***</p>"),
            ("S3cr/et &\"ë😀+%25S3cr/et &\"ë😀+%25", "******"),
            // Truncated.
            ("… S3cr/et &\"… (12345)", "… ***… (12345)"),
            ("said S3cr%2", "said ***"),
            ("said S3cr/", "said ***"),
            // A short one is not matched inside other words.
            ("abc, abcd, k=abc", "***, abcd, k=***"),
        ] {
            assert_eq!(hidden(text), expected, "{text}");
        }
    }

    #[test]
    fn a_secret_is_found_in_base64_with_anything_around_it() {
        for user in ["", "u", "me", "bob", "anna:", "ä"] {
            for after in ["", "1", "xy"] {
                let token = format!("{user}{SECRET}{after}");
                for coded in [BASE64_STANDARD.encode(&token), BASE64_URL_SAFE_NO_PAD.encode(&token)] {
                    assert_eq!(hidden(&format!("Basic {coded}, x")), "Basic ***, x", "{token}");
                }
            }
        }
    }

    proptest! {
        /// Whatever surrounds it, no secret comes through, and nothing panics.
        #[test]
        fn no_secret_comes_through(secret in ".{4,20}", before: String, after: String, any: Vec<u8>) {
            let secrets = Redactor::new([secret.clone().into_bytes(), any.clone()]);
            let mut text = format!("{before}{secret}{after}");
            secrets.redact_in_place(&mut text);
            prop_assert!(!text.contains(&secret));
            secrets.redact(&any);
            secrets.redact(after.as_bytes());
        }
    }
}
