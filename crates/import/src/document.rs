//! A plan being written: its content, and the notes beside it.

mod toml_writer;

use crate::ImportedPlan;
use crate::placeholder::placeholders;
use crate::secret::Secrets;
use std::collections::BTreeSet;
use toml_writer::TomlWriter;

/// Further requests are commented out: a plan with more is refused.
const MAX_REQUESTS: usize = 1000;

/// A whole plan file.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// What it was made from, for the first line.
    pub source: &'static str,
    pub target: Target,
    /// Several requests, each chosen at random.
    pub requests: Vec<Request>,
    /// Or one user's requests in a row.
    pub flow: Option<Flow>,
    /// About the whole plan.
    pub notes: Vec<String>,
    pub secrets: Secrets,
    /// Intended placeholders, unlike those that a copied text happens to contain.
    pub placeholders: BTreeSet<String>,
}

/// `[target]`.
#[derive(Debug, Default)]
pub(crate) struct Target {
    pub url: String,
    pub unix_socket: Option<String>,
    pub insecure: bool,
    pub http: Option<&'static str>,
    pub notes: Vec<String>,
}

/// `[[flow]]`.
#[derive(Debug)]
pub(crate) struct Flow {
    pub name: String,
    pub notes: Vec<String>,
    pub steps: Vec<Request>,
}

/// `[request]`, `[[request]]` or `[[flow.step]]`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub name: String,
    /// Commented out.
    pub disabled: bool,
    pub think: Option<String>,
    /// Omitted where it follows from the body.
    pub method: String,
    pub url: String,
    pub auth: Option<Auth>,
    pub headers: Vec<(String, String)>,
    pub body: Body,
    pub timeout: Option<String>,
    /// Statuses and ranges; empty: the default.
    pub expect_status: Vec<String>,
    /// Name and location of each value extracted from the answer.
    pub extractions: Vec<(String, String)>,
    /// Comments that only describe it.
    pub comments: Vec<String>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Auth {
    /// `user:password`.
    Basic(String),
    Bearer(String),
}

impl Auth {
    fn name(&self) -> &'static str {
        match self {
            Self::Basic(_) => "user with the password",
            Self::Bearer(_) => "bearer token",
        }
    }

    fn text(&self) -> &[u8] {
        let (Self::Basic(text) | Self::Bearer(text)) = self;
        text.as_bytes()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Body {
    #[default]
    None,
    Bytes(Vec<u8>),
    File(String),
    Form(Vec<(String, String)>),
}

impl Body {
    fn is_empty(&self) -> bool {
        match self {
            Self::None => true,
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Form(fields) => fields.is_empty(),
            Self::File(_) => false,
        }
    }
}

impl Request {
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    fn parts(&self) -> impl Iterator<Item = (String, &[u8])> {
        let url = std::iter::once(("URL".to_owned(), self.url.as_bytes()));
        let headers = self.headers.iter().map(|(name, value)| (format!("header '{name}'"), value.as_bytes()));
        let body = match &self.body {
            Body::Bytes(bytes) => vec![("body".to_owned(), bytes.as_slice())],
            Body::Form(fields) => fields
                .iter()
                .flat_map(|(name, value)| [name, value])
                .map(|text| ("form".to_owned(), text.as_bytes()))
                .collect(),
            Body::None | Body::File(_) => Vec::new(),
        };
        let auth = self.auth.iter().map(|auth| (auth.name().to_owned(), auth.text()));
        url.chain(headers).chain(body).chain(auth)
    }
}

impl Document {
    /// Writes the plan. Notes written as comments are in the list, too.
    pub(crate) fn finish(mut self) -> ImportedPlan {
        let mut requests = std::mem::take(&mut self.requests);
        let mut flow = self.flow.take();
        let all: &mut Vec<Request> = flow.as_mut().map_or(&mut requests, |flow| &mut flow.steps);
        self.placeholders.extend(self.secrets.placeholders());
        for request in &mut *all {
            name_lookalikes(request, &self.placeholders);
        }
        number_equal_names(all);
        self.notes.extend(comment_out_excess(all));
        let auth = self.shared_auth(all);
        let headers = shared_headers(all);
        let target = auth.iter().map(Auth::text).chain(headers.iter().map(|(_, value)| value.as_bytes()));
        let texts: Vec<&[u8]> =
            target.chain(all.iter().flat_map(Request::parts).map(|(_, text)| text)).collect();
        let used = |text: &str| texts.iter().any(|in_plan| contains(in_plan, text.as_bytes()));
        self.notes.extend(self.secrets.notes(used));

        let mut writer = TomlWriter::default();
        writer.comment(&format!(
            "Written by torment from {}. Edit it, then try it: torment run THIS-FILE --once",
            self.source
        ));
        writer.notes("", &self.notes);
        writer.target(&self.target, auth.as_ref(), &headers);
        if let Some(flow) = &flow {
            writer.line("");
            writer.notes("", &flow.notes);
            writer.line("[[flow]]");
            writer.pair("name", &flow.name);
            writer.line("cookies = true");
        }
        let alone = requests.len() == 1 && !requests[0].disabled;
        for request in &requests {
            writer.request(if alone { "[request]" } else { "[[request]]" }, request);
        }
        for step in flow.iter().flat_map(|flow| &flow.steps) {
            writer.request("[[flow.step]]", step);
        }
        ImportedPlan { plan: writer.out, notes: writer.notes }
    }

    /// The credentials of every request, if all agree; where they differ, they become headers.
    fn shared_auth(&mut self, requests: &mut [Request]) -> Option<Auth> {
        let first = requests.first()?.auth.clone();
        if requests.iter().all(|request| request.auth == first) {
            return first;
        }
        for request in requests {
            let value = match &request.auth {
                None => continue,
                Some(Auth::Bearer(token)) => format!("Bearer {token}"),
                Some(Auth::Basic(user)) => {
                    let names = user.replace("{env:", "").replace('}', "");
                    let what = format!("'Basic ' and the base64 of {names}");
                    self.secrets.hide("AUTHORIZATION", user, &what)
                }
            };
            request.headers.push(("Authorization".to_owned(), value));
        }
        None
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Comments out requests beyond the maximum.
fn comment_out_excess(requests: &mut [Request]) -> Option<String> {
    let active = requests.iter_mut().filter(|request| !request.disabled);
    let mut excess = 0;
    for request in active.skip(MAX_REQUESTS) {
        request.disabled = true;
        request.comments.push("Too many for one plan: commented out.".to_owned());
        excess += 1;
    }
    (excess > 0)
        .then(|| format!("a plan holds at most {MAX_REQUESTS} requests: the last {excess} are commented out"))
}

/// Names in a plan are unique: the first keeps it, the next becomes `… (2)`.
fn number_equal_names(requests: &mut [Request]) {
    let mut names = BTreeSet::new();
    for request in requests {
        let again = (2..).map(|n| format!("{} ({n})", request.name));
        let mut candidates = std::iter::once(request.name.clone()).chain(again);
        let name = candidates.find(|name| names.insert(name.clone())).expect("numbers do not end");
        request.name = name;
    }
}

/// Removes and returns the headers that all of several requests send alike.
fn shared_headers(requests: &mut [Request]) -> Vec<(String, String)> {
    let [first, others @ ..] = requests else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let once = |request: &Request, (name, value): &(String, String)| {
        let mut same = request.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        same.next().is_some_and(|(_, v)| v == value) && same.next().is_none()
    };
    let shared: Vec<_> = first
        .headers
        .iter()
        .filter(|header| once(first, header) && others.iter().all(|other| once(other, header)))
        .cloned()
        .collect();
    for request in requests {
        request.headers.retain(|(name, _)| !shared.iter().any(|(n, _)| n.eq_ignore_ascii_case(name)));
    }
    shared
}

/// Notes what torment would take for a placeholder in copied text, and so not send as is.
fn name_lookalikes(request: &mut Request, allowed: &BTreeSet<String>) {
    let mut notes = Vec::new();
    for (place, text) in request.parts() {
        match placeholders(&String::from_utf8_lossy(text)) {
            Ok(found) => {
                for found in found.into_iter().filter(|text| !allowed.contains(text)) {
                    notes.push(format!(
                        "the {place} holds '{found}', which torment takes for a placeholder and replaces"
                    ));
                }
            }
            Err(e) => notes.push(format!(
                "the {place} holds what looks like a placeholder but is not: {e}; change it, or the plan \
                 is refused"
            )),
        }
    }
    notes.dedup();
    request.notes.extend(notes);
}

#[cfg(test)]
mod tests;
