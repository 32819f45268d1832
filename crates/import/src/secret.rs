//! Keeps secrets out of a file that is edited and shared, and provides placeholders for them.

use crate::encode;
use crate::placeholder::free_name;
use std::collections::BTreeSet;
use std::ops::Range;

/// Secrets found so far, each with the environment variable that will hold it.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    found: Vec<FoundSecret>,
    /// Placeholders already used for something else.
    pub reserved: BTreeSet<String>,
}

#[derive(Debug)]
struct FoundSecret {
    name: String,
    /// So that equal values get the same name; never written anywhere.
    value: String,
    description: String,
}

impl FoundSecret {
    fn placeholder(&self) -> String {
        format!("{{env:{}}}", self.name)
    }
}

impl Secrets {
    /// A URL, for example inside a header, without its password and the secrets of its query.
    pub(crate) fn hide_in_url(&mut self, url: &str, place: &str) -> String {
        self.hide_fields(url, &url_fields(url), place)
    }

    /// The placeholder for a value. Equal values of one sort share it; `description` is for notes.
    pub(crate) fn hide(&mut self, kind: &str, value: &str, description: &str) -> String {
        let preferred_name = variable_name(kind);
        let same = |kept: &&FoundSecret| kept.value == value && without_number(&kept.name) == preferred_name;
        if let Some(kept) = self.found.iter().find(same) {
            return kept.placeholder();
        }
        let reserved = |name: &str| self.reserved.contains(&format!("{{env:{name}}}"));
        let taken = |name: &str| reserved(name) || self.found.iter().any(|kept| kept.name == name);
        let name = free_name(&preferred_name, |name| !taken(name));
        let secret = FoundSecret { name, value: value.to_owned(), description: description.to_owned() };
        let placeholder = secret.placeholder();
        self.found.push(secret);
        placeholder
    }

    /// A header's value; if `is_known`, it contains a placeholder, and only what surrounds it is secret.
    pub(crate) fn hide_in_header(&mut self, name: &str, value: &str, is_known: bool) -> String {
        if is_secret(name) && !value.is_empty() {
            let what = format!("the value of the header '{name}'");
            match is_known {
                true => self.hide_around(name, value, &what, is_label),
                false => self.hide(name, value, &what),
            }
        } else if value.starts_with("http") {
            self.hide_in_url(value, "in a URL, escaped as it stands there")
        } else {
            value.to_owned()
        }
    }

    /// Hides what surrounds the placeholders of a secret text, unless that is plain.
    pub(crate) fn hide_around(
        &mut self,
        kind: &str,
        text: &str,
        what: &str,
        is_plain: impl Fn(&str) -> bool,
    ) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while !rest.is_empty() {
            let (from, to) = placeholder(rest).unwrap_or((rest.len(), rest.len()));
            let piece = &rest[..from];
            match piece.is_empty() || is_plain(piece) {
                true => out.push_str(piece),
                false => out.push_str(&self.hide(kind, piece, &format!("a part of {what}"))),
            }
            out.push_str(&rest[from..to]);
            rest = &rest[to..];
        }
        out
    }

    /// The value of a field of this name, for example of a form. `place` is its location in notes.
    pub(crate) fn hide_in_field(&mut self, name: &str, value: &str, place: &str) -> String {
        let what = || format!("'{name}' {place}");
        if is_secret(name) && value.contains("{env:") {
            self.hide_around(name, value, &what(), str::is_empty)
        } else if is_secret(name) && !value.is_empty() && !is_placeholder(value) {
            self.hide(name, value, &what())
        } else if looks_like_json(value) {
            self.hide_fields(value, &json_fields(value), place)
        } else {
            value.to_owned()
        }
    }

    pub(crate) fn placeholders(&self) -> impl Iterator<Item = String> {
        self.found.iter().map(FoundSecret::placeholder)
    }

    /// One sentence for each secret whose placeholder is used.
    pub(crate) fn notes(&self, used: impl Fn(&str) -> bool) -> impl Iterator<Item = String> {
        let kept = self.found.iter().filter(move |kept| used(&kept.placeholder()));
        kept.map(|FoundSecret { name, description: what, .. }| {
            format!("kept out of the plan: {what}; before a run: export {name}='…'")
        })
    }

    /// Hides the values of fields with secret names, and those within JSON. `place` is the text's location in notes.
    pub(crate) fn hide_fields(&mut self, text: &str, fields: &[Field], place: &str) -> String {
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        for Field { name, value } in fields {
            out.push_str(&text[from..value.start]);
            out.push_str(&self.hide_in_field(name, &text[value.clone()], place));
            from = value.end;
        }
        out.push_str(&text[from..]);
        out
    }
}

/// Whether a value is already replaced by a placeholder.
pub(crate) fn is_placeholder(value: &str) -> bool {
    value.contains("{env:") || (value.starts_with('{') && value.ends_with('}'))
}

/// The position of the first `{name}` or `{env:NAME}` in a text.
fn placeholder(text: &str) -> Option<(usize, usize)> {
    let is_name = |inner: &str| {
        !inner.is_empty() && inner.bytes().all(|b| b.is_ascii_alphanumeric() || b"_:-.".contains(&b))
    };
    text.match_indices('{').find_map(|(from, _)| {
        let to = from + text[from..].find('}')? + 1;
        is_name(&text[from + 1..to - 1]).then_some((from, to))
    })
}

/// Whether a part of a secret header value is only the name of a scheme or cookie, as in `Bearer ` and `session=`.
fn is_label(piece: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|b| b.is_ascii_alphabetic());
    let names = piece.split_once(' ').filter(|(scheme, _)| is_word(scheme)).map_or(piece, |(_, names)| names);
    names.split([';', ',', ' ']).all(|part| part.is_empty() || part.ends_with('='))
}

/// Whether a text is JSON, whatever its media type: curl's is that of a form.
pub(crate) fn looks_like_json(text: &str) -> bool {
    let text = text.trim_start();
    let inner = text.strip_prefix('[').map_or(text, str::trim_start);
    inner.starts_with('{') || text.starts_with('[') && inner.starts_with(['"', '['])
}

/// Letters, digits and `_`, beginning with a letter, in capitals.
fn variable_name(kind: &str) -> String {
    let upper: String =
        kind.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    let name = upper.trim_matches('_');
    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
        name.to_owned()
    } else {
        format!("SECRET_{name}")
    }
}

fn without_number(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('_').unwrap_or(name)
}

/// Whether the name of a header, parameter or field implies a secret value.
pub(crate) fn is_secret(name: &str) -> bool {
    const SECRET_PARTS: [&str; 16] = units::texts![
        "authorization" "password" "passwd" "passphrase" "passcode" "secret" "token" "apikey" "accesskey" "authkey"
        "privatekey" "subscriptionkey" "credential" "signature" "sessionid" "sessid"
    ];
    const SECRET_NAMES: [&str; 8] = ["auth", "xauth", "pwd", "pass", "sid", "sig", "jwt", "cookie"];
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let kind_of_token = name.ends_with("tokentype");
    !kind_of_token
        && (SECRET_PARTS.iter().any(|part| name.contains(part)) || SECRET_NAMES.contains(&name.as_str()))
}

/// A named value inside a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// Unescaped.
    pub name: String,
    /// Range of its value, escaped, without quotes.
    pub value: Range<usize>,
}

/// The fields of a query or a form that begins at `from`.
pub(crate) fn form_fields(text: &str, from: usize) -> Vec<Field> {
    let (mut fields, mut at) = (Vec::new(), from);
    for pair in text[from..].split('&') {
        if let Some((name, _)) = pair.split_once('=') {
            fields.push(Field { name: encode::decode(name), value: at + name.len() + 1..at + pair.len() });
        }
        at += pair.len() + 1;
    }
    fields
}

/// The fields of the query of a path or URL.
pub(crate) fn query_fields(path: &str) -> Vec<Field> {
    path.find('?').map_or_else(Vec::new, |at| form_fields(path, at + 1))
}

/// The password of a URL and the fields of its query, in order and disjoint. The query may contain another URL: its
/// password is a field of its own, unless the whole surrounding field is secret.
fn url_fields(url: &str) -> Vec<Field> {
    let Some(mut password) = password_field(url) else { return query_fields(url) };
    let overlap = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
    let mut fields = Vec::new();
    for field in query_fields(url) {
        if !overlap(&field.value, &password.value) {
            fields.push(field);
        } else if is_secret(&field.name) {
            password.value.end = password.value.end.min(field.value.start);
            fields.push(field);
        } else if looks_like_json(&url[field.value.clone()]) {
            let at = field.value.start;
            let within = json_fields(&url[field.value])
                .into_iter()
                .map(|inner| Field { value: inner.value.start + at..inner.value.end + at, ..inner });
            fields.extend(within.filter(|inner| !overlap(&inner.value, &password.value)));
        }
    }
    if !password.value.is_empty() {
        fields.push(password);
    }
    fields.sort_by_key(|field| field.value.start);
    fields
}

/// The password before the host of a URL.
fn password_field(url: &str) -> Option<Field> {
    let start = url.find("://")? + 3;
    let authority = url[start..].split(['/', '?', '#']).next().unwrap_or_default();
    let (user, _) = authority.rsplit_once('@')?;
    let from = user.find(':').map_or(0, |colon| colon + 1);
    Some(Field { name: "password".to_owned(), value: start + from..start + user.len() })
}

/// The fields of a multipart form, including files.
pub(crate) fn multipart_fields(text: &str) -> Vec<Field> {
    let boundary = text.lines().next().filter(|line| line.starts_with("--")).unwrap_or_default();
    if boundary.is_empty() {
        return Vec::new();
    }
    let (mut fields, mut at) = (Vec::new(), 0);
    for part in text.split(boundary) {
        let from = at;
        at += part.len() + boundary.len();
        let blank = ["\r\n\r\n", "\n\n"].into_iter().find_map(|blank| Some((part.find(blank)?, blank.len())));
        let Some((head, blank)) = blank else { continue };
        let name = part[..head].split_once(" name=\"").and_then(|(_, rest)| Some(rest.split_once('"')?.0));
        let body = &part[head + blank..];
        let body = body.strip_suffix('\n').map_or(body, |body| body.strip_suffix('\r').unwrap_or(body));
        let start = from + head + blank;
        if let Some(name) = name {
            fields.push(Field { name: name.to_owned(), value: start..start + body.len() });
        }
    }
    fields
}

/// The string members of all objects of a JSON text. It need not be quite JSON.
pub(crate) fn json_fields(text: &str) -> Vec<Field> {
    let mut fields = Vec::new();
    // The name before a colon, once one was read.
    let (mut last, mut name) = (None, None);
    let mut at = 0;
    while let Some(next) = text[at..].find(|c: char| !c.is_whitespace()) {
        at += next;
        if text[at..].starts_with('"') {
            let string = at + 1..string_end(text, at + 1);
            at = (string.end + 1).min(text.len());
            if let Some(name) = name.take() {
                fields.push(Field { name, value: string });
            } else {
                last = Some(string);
            }
        } else {
            let first = text[at..].chars().next().expect("find stops at a character");
            name = last.take().filter(|_| first == ':').map(|name: Range<usize>| text[name].to_owned());
            at += first.len_utf8();
        }
    }
    fields
}

/// The position of the closing quote of the string that begins at `from`.
fn string_end(text: &str, from: usize) -> usize {
    let mut escaped = false;
    for (at, b) in text.bytes().enumerate().skip(from) {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets() {
        for name in [
            "Authorization",
            "X-Api-Key",
            "csrf_token",
            "client_secret",
            "Cookie",
            "password2",
            "sid",
            "X-Auth-Key",
            "sig",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["Accept", "token_type", "grant_type", "side", "passenger", "page"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn equal_secrets_share_a_name() {
        let mut secrets = Secrets::default();
        for (sort, value, expected) in [
            ("Authorization", "a", "{env:AUTHORIZATION}"),
            ("Authorization", "b", "{env:AUTHORIZATION_2}"),
            ("Authorization", "b", "{env:AUTHORIZATION_2}"),
            ("Authorization", "a", "{env:AUTHORIZATION}"),
            ("x-api-key", "a", "{env:X_API_KEY}"),
            ("2fa-token", "c", "{env:SECRET_2FA_TOKEN}"),
        ] {
            assert_eq!(secrets.hide(sort, value, "it"), expected);
        }
        let notes: Vec<_> = secrets.notes(|_| true).collect();
        assert_eq!(notes.len(), 4);
        assert!(notes.iter().all(|note| !note.contains("'a'") && note.contains("export")), "{notes:?}");
    }

    /// The password of a URL within the query was hidden before the field that contains it, which was then cut out of
    /// order.
    #[test]
    fn a_url_within_a_url_hides_its_own() {
        for (url, expected) in [
            ("http://u:p@h/?a=1&token=t", "http://u:{env:PASSWORD}@h/?a=1&token={env:TOKEN}"),
            ("/?token=t&next=http://u:p@h/?x", "/?token={env:TOKEN}&next=http://u:{env:PASSWORD}@h/?x"),
            ("/?token=http://u:p@h/&a=1", "/?token={env:TOKEN}&a=1"),
            ("/?a=http://u:p&token=t@h", "/?a=http://u:{env:PASSWORD}{env:TOKEN}"),
            (
                r#"/?a={"u":"http://p@h","password":"t"}"#,
                r#"/?a={"u":"http://{env:PASSWORD}@h","password":"{env:PASSWORD_2}"}"#,
            ),
            ("/?a=b{env:B}&token=t{env:B}", "/?a=b{env:B}&token={env:TOKEN}{env:B}"),
        ] {
            assert_eq!(Secrets::default().hide_in_url(url, "in the URL"), expected, "{url}");
        }
    }

    #[test]
    fn hides_fields_in_queries_forms_and_json() {
        let mut secrets = Secrets::default();
        let path = "/a?page=1&access_token=x%20y&password=";
        assert_eq!(
            secrets.hide_fields(path, &query_fields(path), "in the URL"),
            "/a?page=1&access_token={env:ACCESS_TOKEN}&password="
        );
        let json = r#"{"user":"a","password" : "b\"c", "n":{"token":"t"}, "list":["token","x"], "secret":1}"#;
        assert_eq!(
            secrets.hide_fields(json, &json_fields(json), "in the body"),
            r#"{"user":"a","password" : "{env:PASSWORD}", "n":{"token":"{env:TOKEN}"}, "list":["token","x"], "secret":1}"#
        );
        for text in ["", "\"", "{\"password\":\"", "{\"password\":\"é\\", ":::\"\"", "é"] {
            secrets.hide_fields(text, &json_fields(text), "");
        }
    }
}
