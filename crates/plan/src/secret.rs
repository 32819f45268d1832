//! Values that must not be shown, and the texts that contain them.

use crate::error::nearest;
use crate::{Escaping, Template, TemplatePiece};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// A secret value. It is in no printed, stored or debugged plan; only a [`crate::PortablePlan`] carries it elsewhere.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SecretValue(Vec<u8>);

impl SecretValue {
    pub(crate) fn new(value: impl Into<Vec<u8>>) -> Self {
        Self(value.into())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SecretSource {
    /// Written into the plan or on the command line; printed as `{redacted}`, and not kept.
    Given,
    /// `{env:NAME}`: an environment variable.
    Env(String),
    /// `{secret:FILE}`: the content of a file, without its trailing line end.
    File(String),
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given => f.write_str("{redacted}"),
            Self::Env(name) => write!(f, "{{env:{name}}}"),
            Self::File(file) => write!(f, "{{secret:{file}}}"),
        }
    }
}

pub(crate) fn hide(mut template: Template) -> Template {
    for piece in &mut template.pieces {
        if let TemplatePiece::Literal(text) = piece {
            *piece = given_secret(std::mem::take(text));
        }
    }
    template
}

/// Hides the password of `user:password`; a token that stands for both is hidden entirely.
pub(crate) fn hide_basic(template: Template) -> Template {
    let mut pieces = template.pieces.into_iter().peekable();
    let mut user = Template::default();
    while let Some(piece) = pieces.next() {
        let TemplatePiece::Literal(mut text) = piece else {
            user.pieces.push(piece);
            continue;
        };
        let Some(colon) = text.iter().position(|&b| b == b':') else {
            user.append(Template::literal(text));
            continue;
        };
        let password = text.split_off(colon + 1);
        user.append(Template::literal(text));
        if password.is_empty() && pieces.peek().is_none() {
            return hide(user);
        }
        let mut rest = Template::literal(password);
        rest.pieces.extend(pieces);
        user.append(hide(rest));
        return user;
    }
    hide(user)
}

fn given_secret(value: Vec<u8>) -> TemplatePiece {
    TemplatePiece::Secret { from: SecretSource::Given, fit: Escaping::Raw, value: SecretValue::new(value) }
}

/// Which part of a header is secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecretPart {
    /// Its value.
    All,
    /// What follows the scheme's name, such as `Bearer`.
    AfterScheme,
    /// The values of `name=value; name=value`.
    Values,
}

fn secret_part(header: &str) -> Option<SecretPart> {
    // Environment variables have `_` where headers have `-`.
    match header.to_ascii_lowercase().replace('_', "-").as_str() {
        "authorization" | "proxy-authorization" => Some(SecretPart::AfterScheme),
        "cookie" => Some(SecretPart::Values),
        name => ["api-key", "apikey", "token", "secret", "password"]
            .iter()
            .any(|word| name.contains(word))
            .then_some(SecretPart::All),
    }
}

/// Whether a text for a program contains secrets as URLs do.
pub(crate) fn may_hold_secret(text: &str) -> bool {
    text.contains("://") || text.contains(PASSWORD_PARAMETER)
}

/// Whether an environment variable's value is secret.
pub(crate) fn is_secret_variable(name: &str) -> bool {
    secret_part(name) == Some(SecretPart::All)
}

/// Hides the secret part of a header's value.
pub(crate) fn hide_header(name: &str, value: Template) -> Template {
    let Some(part) = secret_part(name) else { return value };
    let mut hidden = Template::default();
    // Only literal text delimits the value, wherever placeholders stand.
    let mut secret = part == SecretPart::All;
    for piece in value.pieces {
        let TemplatePiece::Literal(mut text) = piece else {
            // A scheme's name has no placeholder: what follows one is secret.
            secret |= part == SecretPart::AfterScheme;
            hidden.pieces.push(piece);
            continue;
        };
        while !text.is_empty() {
            let end = match (part, secret) {
                (SecretPart::Values, true) => text.iter().position(|&b| b == b';'),
                (SecretPart::Values, false) => text.iter().position(|&b| b == b'=').map(|at| at + 1),
                // Without a scheme all of it is secret.
                (SecretPart::AfterScheme, false) => {
                    Some(text.iter().position(|&b| b == b' ').map_or(0, |at| at + 1))
                }
                _ => None,
            };
            let rest = text.split_off(end.unwrap_or(text.len()));
            if !text.is_empty() {
                hidden.pieces.push(if secret { given_secret(text) } else { TemplatePiece::Literal(text) });
            }
            if end.is_some() {
                secret = !secret;
            }
            text = rest;
        }
    }
    hidden
}

/// Whether the value of a plan key or header must not be quoted: also if the name is mistyped, which is what the
/// message is about.
pub(crate) fn is_secret_name(name: &str) -> bool {
    const NAMES: [&str; 5] = ["basic", "bearer", "authorization", "cookie", "password"];
    nearest(name.trim(), NAMES).is_some() || secret_part(name.trim()).is_some()
}

/// Precedes a secret in a URL's query, or in an argument.
const PASSWORD_PARAMETER: &str = "password=";

/// The URL without its secrets.
pub(crate) fn masked_url(url: &str) -> String {
    let mut masked = url.to_owned();
    for span in url_secrets(url).into_iter().rev() {
        masked.replace_range(span, "***");
    }
    masked
}

/// The ranges of the secrets of a URL, in order and disjoint: in its userinfo, or as a parameter. In a malformed URL,
/// one may contain the other.
pub(crate) fn url_secrets(url: &str) -> Vec<Range<usize>> {
    let parameter = url.find(PASSWORD_PARAMETER).map(|at| {
        let start = at + PASSWORD_PARAMETER.len();
        start..url[start..].find(['&', '"', '\'']).map_or(url.len(), |end| start + end)
    });
    match (userinfo_secret(url), parameter) {
        (Some(one), Some(other)) if one.start < other.end && other.start < one.end => {
            std::iter::once(one.start.min(other.start)..one.end.max(other.end)).collect()
        }
        (Some(one), Some(other)) if other.start < one.start => vec![other, one],
        (one, other) => one.into_iter().chain(other).collect(),
    }
}

/// The range of the secret of `scheme://user:secret@host`; of `http://token@host`, everything before the `@`.
fn userinfo_secret(url: &str) -> Option<Range<usize>> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let rest = &url[start..];
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    // An unescaped password may contain what ends a host: then no port follows the colon.
    let no_port = |(_, port): (&str, &str)| !port.is_empty() && !port.bytes().all(|b| b.is_ascii_digit());
    let is_cut = !authority.starts_with('[') && authority.split_once(':').is_some_and(no_port);
    let at = authority.rfind('@').or_else(|| rest.rfind('@').filter(|_| is_cut))?;
    let is_database = url.trim_start_matches(['"', '\'']).starts_with("postgres");
    let from = rest[..at].find(':').map(|colon| colon + 1).or((!is_database).then_some(0))?;
    (from < at).then_some(start + from..start + at)
}

/// The text of a plan file for messages: within `spans`, all but placeholders is starred out, byte for byte.
pub(crate) fn masked(text: &str, spans: &[Range<usize>]) -> String {
    let mut out = text.as_bytes().to_vec();
    for span in spans {
        let mut at = span.start;
        while at < span.end {
            match out[at] {
                b'\n' | b'\r' | b'"' | b'\'' => {}
                b'{' if let Some(length) = placeholder(&text[at..span.end]) => {
                    at += length;
                    continue;
                }
                _ => out[at] = b'*',
            }
            at += 1;
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| "*".repeat(text.len()))
}

/// The length of the placeholder that the text begins with, even a malformed one.
fn placeholder(text: &str) -> Option<usize> {
    let end = text[1..].find(['{', '}', '\n'])? + 1;
    let length = text[end..].starts_with('}').then_some(end + 1)?;
    match Template::parse(&text[..length]) {
        Ok(template) => !matches!(template.pieces[..], [TemplatePiece::Literal(_)]),
        Err(_) => true,
    }
    .then_some(length)
}

/// As [`masked`], for a text that is not valid TOML, so that the extents of values are unknown: masks what follows a
/// telltale word on its line.
pub(crate) fn masked_lines(text: &str) -> String {
    const SECRET_WORDS: [&str; 9] =
        ["basic", "bearer", "authorization", "cookie", "password", "secret", "token", "api-key", "://"];
    let mut spans = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let lower = line.to_ascii_lowercase();
        let word = SECRET_WORDS.iter().filter_map(|word| Some(lower.find(word)? + word.len())).min();
        if let Some(at) = word.filter(|_| !lower.contains("://") || lower.contains('@')) {
            spans.push(start + at..start + line.len());
        }
        start += line.len();
    }
    masked(text, &spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_url_may_overlap() {
        for (url, masked) in [
            ("postgres:password=/a{env:P}@host", "postgres:***"),
            ("postgres:password=a@host/b", "postgres:***"),
            ("postgres://u:secret@host/a?password=other&x=1", "postgres://u:***@host/a?password=***&x=1"),
        ] {
            assert_eq!(masked_url(url), masked, "{url}");
        }
    }

    #[test]
    fn hides_what_is_secret_of_a_header() {
        for (name, value, expected) in [
            ("Accept", "text/html", "text/html"),
            ("Authorization", "Bearer abc", "Bearer {redacted}"),
            ("authorization", "abc", "{redacted}"),
            ("Authorization", "Bearer {env:TOKEN}", "Bearer {env:TOKEN}"),
            ("Authorization", "Bearer a{env:TOKEN}b", "Bearer {redacted}{env:TOKEN}{redacted}"),
            ("Authorization", "{uuid} abc", "{uuid}{redacted}"),
            ("Proxy-Authorization", "Digest a=b, c=d", "Digest {redacted}"),
            ("Cookie", "id=abc; theme=dark", "id={redacted}; theme={redacted}"),
            ("Cookie", "id={uuid}", "id={uuid}"),
            ("Cookie", "id={uuid}; a=b{counter}c; d=", "id={uuid}; a={redacted}{counter}{redacted}; d="),
            ("Cookie", "id=a=b", "id={redacted}"),
            ("X-Api-Key", "abc", "{redacted}"),
            ("X-Auth-Token", "a{1..3}", "{redacted}{1..3}"),
        ] {
            let template = Template::parse(value).expect(value);
            let hidden = hide_header(name, template);
            assert_eq!(hidden.to_string(), expected, "{name}: {value}");
            assert!(!format!("{hidden:?}").contains("abc"), "{hidden:?}");
        }
    }

    #[test]
    fn hides_passwords_and_tokens() {
        for (text, expected) in [
            ("me:abc", "me:{redacted}"),
            ("me:a:bc", "me:{redacted}"),
            ("me:{env:P}", "me:{env:P}"),
            ("{env:U}:a{env:P}b", "{env:U}:{redacted}{env:P}{redacted}"),
            ("u{counter}:abc", "u{counter}:{redacted}"),
            ("abc:", "{redacted}"),
            ("{env:T}:", "{env:T}{redacted}"),
        ] {
            let hidden = hide_basic(Template::parse(text).expect(text));
            assert_eq!(hidden.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn urls_are_shown_without_their_secrets() {
        for (url, expected) in [
            ("http://h/a:b@c", "http://h/a:b@c"),
            ("http://h:80/a:b@c", "http://h:80/a:b@c"),
            ("http://[::1]/a@c", "http://[::1]/a@c"),
            ("http://h/", "http://h/"),
            ("http://u:p@h/", "http://u:***@h/"),
            ("http://u:p/w@h/", "http://u:***@h/"),
            ("https://token@h/", "https://***@h/"),
            ("postgres://u:p:w@h/d", "postgres://u:***@h/d"),
            ("postgres://u@h/d", "postgres://u@h/d"),
            ("u:p@h/", "u:***@h/"),
            ("postgres://u:p@h/d?password=a&b", "postgres://u:***@h/d?password=***&b"),
            ("h/a@b", "h/a@b"),
        ] {
            assert_eq!(masked_url(url), expected);
        }
    }

    #[test]
    fn quotes_do_not_show_secrets() {
        let text = "basic = \"u:pä\" # x\nurl = \"h\"";
        assert_eq!(masked(text, std::slice::from_ref(&(8..15))), "basic = \"*****\" # x\nurl = \"h\"");
        assert_eq!(masked("\"a{env:X}b\"", std::slice::from_ref(&(0..11))), "\"*{env:X}*\"");
        let masked_all = |text: &str| masked(text, std::slice::from_ref(&(0..text.len())));
        assert_eq!(masked_all("a{env:X}{file:b{uuid}{c}{random:x}"), "*{env:X}*******{uuid}***{random:x}");
        for (text, expected) in [
            ("basic = \"u:p\nx = 1", "basic * \"***\nx = 1"),
            ("x = { Cookie = \"a\" ", "x = { Cookie*=*\"*\"*"),
            ("url = \"http://h/x", "url = \"http://h/x"),
            ("url = \"http://u:p@h/x", "url = \"http://*******"),
        ] {
            let found = masked_lines(text);
            assert_eq!(found.len(), text.len());
            assert_eq!(found.replace('*', "").len() < text.len(), expected.contains('*'), "{found}");
            assert!(!found.contains("u:p") && !found.contains("\"a\""), "{found}");
        }
    }
}
