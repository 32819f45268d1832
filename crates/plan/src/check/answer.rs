//! Conditions on an answer, and values extracted from it.

use super::parse_choice;
use crate::draft::{Section, SourceText};
use crate::error::Error;
use crate::placeholder::{RESERVED_NAMES, is_name};
use crate::{AnswerCheck, Extraction, ExtractionSource, Key, StatusRange};

impl Section {
    pub(super) fn statuses(&self) -> Result<Vec<StatusRange>, Error> {
        let mut expect = Vec::new();
        for given in self.all(Key::ExpectStatus) {
            for part in given.text.split(',') {
                expect.push(part.parse().map_err(|e: units::ParseError| given.error(e.to_string()))?);
            }
        }
        if expect.is_empty() {
            expect.push(StatusRange::DEFAULT);
        }
        Ok(expect)
    }

    pub(super) fn checks(&self) -> Result<Vec<AnswerCheck>, Error> {
        let mut checks = Vec::new();
        for given in self.all(Key::ExpectHeader) {
            let (name, value) = given.text.split_once(':').unwrap_or((&given.text, ""));
            checks.push(AnswerCheck::Header(header_name(name, given)?.to_owned(), value.trim().to_owned()));
        }
        for given in self.all(Key::ExpectBody) {
            if given.text.is_empty() {
                return Err(given.error("every body contains nothing: expected some text"));
            }
            checks.push(AnswerCheck::Body(given.text.clone()));
        }
        for given in self.all(Key::ExpectJson) {
            let (pointer, value) = given.text.split_once('=').ok_or_else(|| {
                given.error(format!("'{}' is not a JSON value, /pointer=value", given.text))
            })?;
            checks.push(AnswerCheck::Json(json_pointer(pointer, given)?, value.to_owned()));
        }
        Ok(checks)
    }

    pub(super) fn takes(&self) -> Result<Vec<Extraction>, Error> {
        self.all(Key::Take).iter().map(take).collect()
    }
}

pub(super) fn header_name<'a>(name: &'a str, given: &SourceText) -> Result<&'a str, Error> {
    let name = name.trim();
    if !is_token(name) {
        return Err(given.error(format!("'{name}' is not the name of a header: letters, digits and '-'")));
    }
    Ok(name)
}

/// Whether a header or a cookie can have this name (RFC 9110, 5.6.2).
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// `name=kind:where`.
fn take(given: &SourceText) -> Result<Extraction, Error> {
    const KINDS: [&str; 4] = ["json", "regex", "header", "cookie"];
    let (name, from) = given.text.split_once('=').unwrap_or((&given.text, ""));
    let name = name.trim();
    if !is_name(name) || RESERVED_NAMES.contains(&name) {
        let message = format!(
            "'{name}' cannot be taken as a name: letters, digits, '_' and '-', and none of {RESERVED_NAMES:?}"
        );
        return Err(given.error(message.replace(['[', ']', '"'], "")));
    }
    let Some((kind, at)) = from.split_once(':') else {
        return Err(given.error(format!(
            "'{from}' does not say where it stands; expected json:/pointer, regex:…, header:Name or cookie:name"
        )));
    };
    let from = match parse_choice(&given.part(kind.trim()), &KINDS, |kind| kind)? {
        "json" => ExtractionSource::Json(json_pointer(at.trim(), given)?),
        "regex" => ExtractionSource::Regex(pattern(at, given)?),
        "header" => ExtractionSource::Header(header_name(at, given)?.to_owned()),
        _ if !is_token(at.trim()) => {
            return Err(given.error(format!("'{at}' is not the name of a cookie")));
        }
        _ => ExtractionSource::Cookie(at.trim().to_owned()),
    };
    Ok(Extraction { name: name.to_owned(), from })
}

/// RFC 6901, 3.
fn json_pointer(text: &str, given: &SourceText) -> Result<String, Error> {
    let is_escape = |rest: &str| rest.starts_with(['0', '1']);
    let is_pointer = text.is_empty() || text.starts_with('/');
    if !is_pointer || !text.split('~').skip(1).all(is_escape) {
        let message =
            format!("'{text}' is not a JSON pointer such as /user/0/name (~1 for '/', ~0 for '~' in a name)");
        return Err(given.error(message));
    }
    Ok(text.to_owned())
}

fn pattern(text: &str, given: &SourceText) -> Result<String, Error> {
    regex::bytes::Regex::new(text).map_err(|error| {
        // The last line says what is wrong, those before show where.
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or("").trim_start_matches("error: ");
        given.error(format!("'{text}' is not a regular expression: {reason}"))
    })?;
    Ok(text.to_owned())
}
