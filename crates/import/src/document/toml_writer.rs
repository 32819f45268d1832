//! The TOML of a plan, with its comments.

use super::{Auth, Body, Request, Target};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Comments are wrapped before this column.
const MAX_COLUMNS: usize = 100;

/// The text so far, and its notes.
#[derive(Default)]
pub(super) struct TomlWriter {
    pub out: String,
    pub notes: Vec<String>,
    /// Whether what follows is commented out.
    disabled: bool,
}

impl TomlWriter {
    pub(super) fn line(&mut self, text: &str) {
        for line in text.split('\n') {
            let mark = if self.disabled && !text.is_empty() { "# " } else { "" };
            writeln!(self.out, "{mark}{line}").expect("a String takes every write");
        }
    }

    pub(super) fn pair(&mut self, key: &str, value: &str) {
        self.line(&pair(key, value));
    }

    fn pair_if_given(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.pair(key, value);
        }
    }

    pub(super) fn notes(&mut self, place: &str, notes: &[String]) {
        for note in notes {
            self.comment(note);
            self.notes.push(if place.is_empty() { note.clone() } else { format!("{place}: {note}") });
        }
    }

    pub(super) fn comment(&mut self, text: &str) {
        let mut width = usize::MAX;
        for word in printable(text).split(' ') {
            let length = word.chars().count();
            if width.saturating_add(length) >= MAX_COLUMNS {
                self.out.push_str(if width == usize::MAX { "#" } else { "\n#" });
                width = 1;
            }
            self.out.push(' ');
            self.out.push_str(word);
            width += length + 1;
        }
        self.out.push('\n');
    }

    pub(super) fn target(&mut self, target: &Target, auth: Option<&Auth>, headers: &[(String, String)]) {
        self.line("");
        self.notes("", &target.notes);
        self.line("[target]");
        self.pair("url", &target.url);
        self.pair_if_given("unix_socket", target.unix_socket.as_deref());
        if target.insecure {
            self.line("insecure = true");
        }
        self.pair_if_given("http", target.http);
        match auth {
            Some(Auth::Basic(user)) => self.pair("basic", user),
            Some(Auth::Bearer(token)) => self.pair("bearer", token),
            None => {}
        }
        self.headers(headers);
    }

    pub(super) fn request(&mut self, title: &str, request: &Request) {
        self.line("");
        for comment in &request.comments {
            self.comment(comment);
        }
        let place = if title == "[request]" { "" } else { &request.name };
        self.notes(place, &request.notes);
        self.disabled = request.disabled;
        self.line(title);
        if title != "[request]" {
            self.pair("name", &request.name);
        }
        if title == "[[request]]" {
            self.line("weight = 1");
        }
        self.pair_if_given("think", request.think.as_deref());
        let default_method = if request.body.is_empty() { "GET" } else { "POST" };
        if request.method != default_method {
            self.pair("method", &request.method);
        }
        self.pair("url", &request.url);
        self.headers(&request.headers);
        self.body(&request.body);
        self.pair_if_given("timeout", request.timeout.as_deref());
        match request.expect_status.as_slice() {
            [] => {}
            [one] => self.line(&format!("expect_status = {}", status(one))),
            several => {
                let list: Vec<_> = several.iter().map(|one| status(one)).collect();
                self.line(&format!("expect_status = [{}]", list.join(", ")));
            }
        }
        if !request.extractions.is_empty() {
            self.table("take", &request.extractions);
        }
        self.disabled = false;
    }

    /// An array, since a table would lose the order and repeated headers.
    fn headers(&mut self, headers: &[(String, String)]) {
        if headers.is_empty() {
            return;
        }
        self.line("headers = [");
        for (name, value) in headers {
            self.line(&format!("  {},", quoted(&format!("{name}: {value}"))));
        }
        self.line("]");
    }

    fn body(&mut self, body: &Body) {
        match body {
            Body::None => {}
            Body::File(name) => self.pair("body_file", name),
            Body::Form(fields) => self.form(fields),
            Body::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.pair("body", text),
                Err(_) => self.pair("body_base64", &BASE64_STANDARD.encode(bytes)),
            },
        }
    }

    /// An array where a name is repeated, which a table cannot express.
    fn form(&mut self, fields: &[(String, String)]) {
        let names: BTreeSet<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        if names.len() == fields.len() {
            return self.table("form", fields);
        }
        let list: Vec<_> = fields.iter().map(|(name, value)| quoted(&format!("{name}={value}"))).collect();
        self.line(&format!("form = [{}]", list.join(", ")));
    }

    fn table(&mut self, key: &str, pairs: &[(String, String)]) {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| pair(name, value)).collect();
        self.line(&format!("{key} = {{ {} }}", pairs.join(", ")));
    }
}

/// `key = "value"`, both quoted as needed.
fn pair(key: &str, value: &str) -> String {
    toml::Table::from_iter([(key.to_owned(), toml::Value::String(value.to_owned()))])
        .to_string()
        .trim_end()
        .to_owned()
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A number as is, a range such as `2xx` in quotes.
fn status(text: &str) -> String {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.to_owned() } else { quoted(text) }
}

/// On one line, without characters that a comment cannot contain.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
