//! Evaluates a step's answer: whether it is right, and what later steps need from it.
//!
//! Failures quote only the plan, never the answer: the reasons are counted, so there must be few of them.

use crate::content::{BODY_LIMIT, Content};
use crate::cookies;
use crate::json_pointer::{FoundValues, PointerTree, write_value};
use memchr::memmem::Finder;
use plan::{AnswerCheck, Extraction, ExtractionSource};
use regex::bytes::Regex;
use std::str;

/// Longer texts of a plan are truncated when quoted.
const QUOTE_CHARS: usize = 40;

/// The checks and takes of one step, compiled.
#[derive(Debug)]
pub(crate) struct ChecksAndTakes {
    checks: Vec<CompiledCheck>,
    takes: Vec<CompiledTake>,
    /// Number of the first take among all takes of the flow.
    first_take: usize,
    pointers: PointerTree,
}

#[derive(Debug)]
enum CompiledCheck {
    Header { name: String, finder: Finder<'static> },
    Body(Finder<'static>),
    Json { pointer: String, number: usize, value: String },
}

#[derive(Debug)]
struct CompiledTake {
    name: String,
    from: TakeSource,
}

#[derive(Debug)]
enum TakeSource {
    Json { pointer: String, number: usize },
    Regex(Regex),
    Header(String),
    Cookie(String),
}

impl ChecksAndTakes {
    /// Compiles the checks and takes of a step, the first of which fills `taken[first_take]`.
    ///
    /// # Errors
    /// If a regular expression or a JSON pointer is invalid, in words.
    pub fn new(takes: &[Extraction], first_take: usize, checks: &[AnswerCheck]) -> Result<Self, String> {
        let mut pointers = PointerTree::default();
        let finder = |text: &String| Finder::new(text.as_bytes()).into_owned();
        let checks = checks.iter().map(|check| {
            Ok(match check {
                AnswerCheck::Header(name, text) => {
                    CompiledCheck::Header { name: name.clone(), finder: finder(text) }
                }
                AnswerCheck::Body(text) => CompiledCheck::Body(finder(text)),
                AnswerCheck::Json(pointer, value) => CompiledCheck::Json {
                    pointer: pointer.clone(),
                    number: pointers.add(pointer)?,
                    value: value.clone(),
                },
            })
        });
        let checks = checks.collect::<Result<_, String>>()?;
        let takes = takes.iter().map(|take| {
            let from = match &take.from {
                ExtractionSource::Json(pointer) => {
                    pointers.add(pointer).map(|number| TakeSource::Json { pointer: pointer.clone(), number })
                }
                ExtractionSource::Regex(text) => compile_regex(text).map(TakeSource::Regex),
                ExtractionSource::Header(name) => Ok(TakeSource::Header(name.clone())),
                ExtractionSource::Cookie(name) => Ok(TakeSource::Cookie(name.clone())),
            };
            let from = from.map_err(|why| format!("take {}: {why}", take.name))?;
            Ok(CompiledTake { name: take.name.clone(), from })
        });
        let takes = takes.collect::<Result<_, String>>()?;
        Ok(Self { checks, takes, first_take, pointers })
    }

    /// Whether answers need not be kept: nothing is looked for in them.
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.takes.is_empty()
    }

    /// Checks the answer, then takes from it: each value goes to its place in `taken`, which grows as needed
    /// and keeps its allocations.
    ///
    /// # Errors
    /// Which check or take failed, and why.
    pub fn apply(&self, content: &Content, taken: &mut Vec<Vec<u8>>) -> Result<(), String> {
        let mut json = JsonBody { content, pointers: &self.pointers, values: None };
        for check in &self.checks {
            check.apply(content, &mut json).map_err(|why| format!("check: {why}"))?;
        }
        if taken.len() < self.first_take + self.takes.len() {
            taken.resize_with(self.first_take + self.takes.len(), Vec::new);
        }
        for (take, value) in self.takes.iter().zip(&mut taken[self.first_take..]) {
            value.clear();
            take.from.apply(content, &mut json, value).map_err(|why| format!("take {}: {why}", take.name))?;
        }
        Ok(())
    }
}

impl CompiledCheck {
    fn apply(&self, content: &Content, json: &mut JsonBody<'_>) -> Result<(), String> {
        match self {
            Self::Header { name, finder } => {
                let mut values = content.header(name).peekable();
                if values.peek().is_none() {
                    return Err(format!("header {name} is missing"));
                }
                let holds = values.any(|value| finder.find(value).is_some());
                holds.then_some(()).ok_or_else(|| {
                    format!("header {name} does not contain {}", quote_truncated(finder.needle()))
                })
            }
            Self::Body(finder) => finder.find(&content.body).map(drop).ok_or_else(|| {
                body_error(content, &format!("does not contain {}", quote_truncated(finder.needle())))
            }),
            Self::Json { pointer, number, value } => {
                let mut found = Vec::new();
                json.write(*number, pointer, &mut found)?;
                (found == value.as_bytes()).then_some(()).ok_or_else(|| {
                    format!("{} is not {}", describe_pointer(pointer), quote_truncated(value.as_bytes()))
                })
            }
        }
    }
}

impl TakeSource {
    fn apply(&self, content: &Content, json: &mut JsonBody<'_>, out: &mut Vec<u8>) -> Result<(), String> {
        let value = match self {
            Self::Json { pointer, number } => return json.write(*number, pointer, out),
            Self::Regex(regex) => {
                let found = if regex.captures_len() > 1 {
                    regex.captures(&content.body).and_then(|groups| groups.get(1))
                } else {
                    regex.find(&content.body)
                };
                let why = || {
                    body_error(
                        content,
                        &format!("does not match {}", quote_truncated(regex.as_str().as_bytes())),
                    )
                };
                found.ok_or_else(why)?.as_bytes()
            }
            Self::Header(name) => {
                let value = content.header(name).next();
                value.ok_or_else(|| format!("header {name} is missing"))?.trim_ascii()
            }
            Self::Cookie(name) => {
                let set = content.header("set-cookie").filter_map(cookies::name_and_value);
                let named = set.filter(|(found, _)| *found == name.as_bytes());
                named.last().ok_or_else(|| format!("no cookie {name} is set"))?.1
            }
        };
        out.extend_from_slice(value);
        Ok(())
    }
}

/// A regular expression, or the last line of its error: those before draw the position.
fn compile_regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or_default();
        format!(
            "{} is not a regular expression: {}",
            quote_truncated(text.as_bytes()),
            last.trim_start_matches("error: ")
        )
    })
}

/// The body as JSON, parsed when its first value is needed.
struct JsonBody<'a> {
    content: &'a Content,
    pointers: &'a PointerTree,
    values: Option<FoundValues<'a>>,
}

impl JsonBody<'_> {
    fn write(&mut self, number: usize, pointer: &str, out: &mut Vec<u8>) -> Result<(), String> {
        let values = match &mut self.values {
            Some(found) => found,
            none => none.insert(parse(self.content, self.pointers)?),
        };
        let value = values[number].ok_or_else(|| format!("no value at {}", describe_pointer(pointer)))?;
        write_value(value, out).map_err(|_| format!("no text at {}", describe_pointer(pointer)))
    }
}

fn parse<'a>(content: &'a Content, pointers: &PointerTree) -> Result<FoundValues<'a>, String> {
    let text = str::from_utf8(&content.body).ok();
    text.and_then(|text| pointers.find(text).ok()).ok_or_else(|| {
        let why = match text {
            _ if is_compressed(content) => return compressed_error(),
            _ if content.truncated => "is too long to be read as JSON: above 1 MiB",
            Some("") => "is empty",
            Some(_) => "is not JSON",
            None => "is not JSON: it is not UTF-8",
        };
        format!("the body {why}")
    })
}

/// Why something was not found in the body.
fn body_error(content: &Content, what: &str) -> String {
    const { assert!(BODY_LIMIT == 1 << 20, "the text says so") };
    match content {
        _ if is_compressed(content) => compressed_error(),
        Content { truncated: true, .. } => format!("the first 1 MiB of the body {what}"),
        _ => format!("the body {what}"),
    }
}

/// Whether the body is encoded, e.g. compressed.
fn is_compressed(content: &Content) -> bool {
    content.header("content-encoding").any(|coding| !coding.eq_ignore_ascii_case(b"identity"))
}

fn compressed_error() -> String {
    "the body is compressed; leave Accept-Encoding out of the request".to_owned()
}

fn describe_pointer(pointer: &str) -> &str {
    if pointer.is_empty() { "the whole body" } else { pointer }
}

/// A text of the plan in quotes, truncated.
fn quote_truncated(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(QUOTE_CHARS) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests;
