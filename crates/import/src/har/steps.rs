//! From recorded requests to the steps of a flow.

use super::cookies::CookieJar;
use super::correlation::KnownValues;
use super::recording::{Exchange, Pair, PostedBody};
use super::select::SelectedRequest;
use crate::document::{Body, Document, Request};
use crate::form::{self, CONTENT_TYPE};
use crate::header::omission_reason;
use crate::secret::{form_fields, query_fields};
use crate::url::ParsedUrl;
use crate::{encode, multipart};
use std::collections::BTreeSet;

/// Shorter gaps, in ms, are the browser at work, not a user thinking.
const MIN_THINK: f64 = 100.0;
/// Longer gaps, in ms, are an absent user, or a clock that was set.
const MAX_THINK: f64 = 3_600_000.0;

/// What is noted once about all steps.
#[derive(Default)]
struct SharedNotes {
    omitted_headers: BTreeSet<String>,
    cookies: bool,
    conditional: bool,
    writes: u32,
    newer_http: bool,
    /// Whether a step would have had to extract a value from a compressed answer.
    compressed: bool,
}

/// The steps, and notes about the flow.
pub(super) fn steps(requests: Vec<SelectedRequest>, document: &mut Document) -> (Vec<Request>, Vec<String>) {
    let (mut known, mut jar, mut shared_notes) =
        (KnownValues::default(), CookieJar::default(), SharedNotes::default());
    let mut steps = Vec::<Request>::new();
    let (mut last_end, mut page) = (None::<f64>, None);
    for request in &requests {
        let exchange = &request.exchange;
        known.reserve_names(&exchange.url);
        exchange.headers.iter().for_each(|(_, value)| known.reserve_names(value));
        if let Some(text) = exchange.body.as_ref().and_then(|posted| posted.text.as_deref()) {
            known.reserve_names(&String::from_utf8_lossy(text));
        }
    }
    for (number, SelectedRequest { exchange, omissions }) in requests.into_iter().enumerate() {
        let mut step = Request { method: exchange.method.clone(), notes: omissions, ..Request::default() };
        if page != exchange.page {
            // Chrome's title is the URL, and its query may contain secrets.
            step.comments
                .extend(exchange.page.iter().map(|title| format!("Page: {}", ParsedUrl::route(title))));
            page.clone_from(&exchange.page);
        }
        if let Some((start, end)) = exchange.span {
            let gap = last_end.map(|last| start - last);
            step.think = gap.and_then(think);
            if gap.is_some_and(|gap| gap > MAX_THINK) {
                step.note("the recorded pause was longer than an hour; an hour is used");
            }
            last_end = Some(last_end.map_or(end, |last| last.max(end)));
        }
        fill(&mut step, &exchange, &mut known, &jar, &mut shared_notes, document);
        if let Some(status) = exchange.status.filter(|status| *status >= 400) {
            step.expect_status = vec![status.to_string()];
            step.note(format!("it was answered {status} when it was recorded, and is expected to be"));
        }
        step.name = format!("{} {}", step.method, ParsedUrl::route(&step.url));
        jar.store(&exchange);
        if let Some(answer) = &exchange.answer {
            known.add_answer(number, &exchange.media, answer);
        }
        steps.push(step);
    }
    for extracted in known.into_extractions() {
        document.placeholders.insert(format!("{{{}}}", extracted.name));
        let step = &mut steps[extracted.step];
        step.note(format!("later steps have {{{}}} from its answer, {}", extracted.name, extracted.location));
        step.extractions.push((extracted.name, extracted.location));
    }
    for step in steps.iter_mut().filter(|step| !step.extractions.is_empty()) {
        let headers = step.headers.len();
        step.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("accept-encoding"));
        shared_notes.compressed |= step.headers.len() < headers;
    }
    (steps, shared_notes.notes())
}

impl SharedNotes {
    fn notes(self) -> Vec<String> {
        let note_if = |is_so: bool, note: &str| is_so.then(|| note.to_owned());
        let writes =
            format!("{} of its requests may change data (POST, PUT, …), once for each arrival", self.writes);
        let omitted_headers = Vec::from_iter(self.omitted_headers).join(", ");
        let notes = [
            note_if(self.writes > 0, &writes),
            note_if(
                self.cookies,
                "cookies are kept for each user as answers set them; those recorded are left out",
            ),
            (!omitted_headers.is_empty()).then(|| {
                format!(
                    "headers are left out that torment sets itself or that only a browser sends: {omitted_headers}"
                )
            }),
            note_if(
                self.conditional,
                "some requests ask whether something has changed (If-None-Match, If-Modified-Since): their \
                 answers are smaller than a first visitor's",
            ),
            note_if(
                self.compressed,
                "Accept-Encoding is left out of steps that take values: they are not taken from compressed answers",
            ),
            note_if(self.newer_http, "it was recorded over HTTP/3; torment speaks HTTP/1.1 and HTTP/2"),
        ];
        notes.into_iter().flatten().collect()
    }
}

/// URL, headers and body, with values of earlier answers inserted and secrets removed.
fn fill(
    step: &mut Request,
    exchange: &Exchange,
    known: &mut KnownValues,
    jar: &CookieJar,
    shared_notes: &mut SharedNotes,
    document: &mut Document,
) {
    let path = exchange.address.as_ref().map_or("/", |address| address.path.as_str());
    let mut ambiguous = Vec::new();
    shared_notes.newer_http |= exchange.version.contains("h3") || exchange.version.contains("http/3");
    shared_notes.writes += u32::from(!matches!(exchange.method.as_str(), "GET" | "HEAD" | "OPTIONS"));

    // The path's leading slash must stay: a placeholder at its start is not a path.
    let url = format!("/{}", known.substitute(&path[1..], &mut ambiguous));
    step.url = document.secrets.hide_in_url(&url, "in a URL, escaped as it stands there");

    for (name, value) in &exchange.headers {
        let lower = name.to_ascii_lowercase();
        if lower == "cookie" {
            shared_notes.cookies = true;
        } else if lower == "host" || lower.starts_with("sec-") || omission_reason(name, value).is_some() {
            shared_notes.omitted_headers.insert(lower);
        } else {
            shared_notes.conditional |= lower == "if-none-match" || lower == "if-modified-since";
            let hidden = known.substitute(value, &mut ambiguous);
            let hidden = document.secrets.hide_in_header(name, &hidden, hidden != *value);
            step.headers.push((name.clone(), hidden));
        }
    }
    if let Some(cookies) = jar.unexplained(exchange) {
        let what = "the cookies that no answer in the recording sets (header 'Cookie')";
        step.headers.push(("Cookie".to_owned(), document.secrets.hide("Cookie", &cookies, what)));
    }
    match &exchange.body {
        Some(posted) => body(step, posted, known, &mut ambiguous, document),
        None if exchange.has_body() => step.note("its body was not recorded and is left out"),
        None => {}
    }
    for place in ambiguous {
        step.note(format!(
            "it holds a value that also occurs at {place}: which is meant is unclear, so it stays as recorded"
        ));
    }
    note_encoded_values(step, known);
    known.add_request(path);
    exchange.headers.iter().for_each(|(_, value)| known.add_request(value));
    if let Some(text) = exchange.body.as_ref().and_then(|posted| posted.text.as_deref()) {
        known.add_request(&String::from_utf8_lossy(text));
    }
}

fn body(
    step: &mut Request,
    posted: &PostedBody,
    known: &mut KnownValues,
    ambiguous: &mut Vec<String>,
    document: &mut Document,
) {
    let bytes = match (&posted.text, recorded_fields(posted)) {
        (Some(bytes), _) if !bytes.is_empty() => bytes.clone(),
        (_, Some(text)) => text.into_bytes(),
        (_, None) if posted.is_multipart_text() => {
            let part = |field: &Pair| {
                let value = known.substitute(field.value.as_deref().unwrap_or_default(), ambiguous);
                let value = document.secrets.hide_in_field(&field.name, &value, "in a form");
                multipart::Part { name: field.name.clone(), value, content_type: None }
            };
            let parts: Vec<_> = posted.fields.iter().map(part).collect();
            step.body = multipart::body(&parts, step);
            return;
        }
        (_, None) if posted.fields.is_empty() => return,
        (_, None) => {
            step.note(format!("its body ({}) was not recorded and is left out", posted.media));
            return;
        }
    };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        step.body = Body::Bytes(bytes);
        return;
    };
    if text.contains('\u{fffd}') {
        step.note("its body holds bytes that are not text and were lost when it was recorded");
    }
    if posted.media == multipart::CONTENT_TYPE {
        step.note("the browser may have left out what uploaded files hold; look at the body");
    }
    let substitute = |text: &str| known.substitute(text, ambiguous);
    step.body = form::body(text, &posted.media, "in a body", &mut document.secrets, substitute);
}

/// A form recorded only as its fields, encoded again. Recorders differ in whether they decode; what contains escapes
/// stays as is.
fn recorded_fields(posted: &PostedBody) -> Option<String> {
    let encode =
        |text: &str| if text.contains('%') { text.to_owned() } else { encode::form(text.as_bytes()) };
    let pair = |field: &Pair| {
        format!("{}={}", encode(&field.name), encode(field.value.as_deref().unwrap_or_default()))
    };
    let pairs: Vec<_> = posted.fields.iter().map(pair).collect();
    (posted.media == CONTENT_TYPE && !posted.has_files() && !pairs.is_empty()).then(|| pairs.join("&"))
}

/// Notes values of answers that are escaped in a query or a form: inserted as they are, they would differ.
fn note_encoded_values(step: &mut Request, known: &KnownValues) {
    let form = step.header("content-type").is_some_and(|media| media.starts_with(CONTENT_TYPE));
    let body = match &step.body {
        Body::Bytes(bytes) if form => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    let mut notes = Vec::new();
    for (text, fields) in [(&step.url, query_fields(&step.url)), (&body, form_fields(&body, 0))] {
        for field in fields {
            let value = &text[field.value];
            let decoded = encode::decode(value);
            if decoded != value && known.knows(&decoded) {
                notes.push(format!(
                    "'{}' is from an earlier answer, but escaped, and stays as recorded: take it by hand",
                    field.name
                ));
            }
        }
    }
    step.notes.extend(notes);
}

/// A pause, rounded as people would say it.
fn think(gap: f64) -> Option<String> {
    match gap.min(MAX_THINK) {
        gap if gap < MIN_THINK => None,
        gap if gap < 1_000.0 => Some(format!("{}ms", (gap / 100.0).round() * 100.0)),
        gap if gap < 10_000.0 => Some(format!("{}s", (gap / 100.0).round() / 10.0)),
        gap => Some(format!("{}s", (gap / 1_000.0).round())),
    }
}
