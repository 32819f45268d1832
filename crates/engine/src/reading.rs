//! What a step reads in an answer: whether it is right, and what later steps need of it.
//!
//! Why it cannot be read is said in the plan's words only, never in the answer's: the reasons are
//! counted, so there must be few of them.

use crate::content::{BODY_LIMIT, Content};
use crate::cookies;
use crate::json::{Found, Wanted, write_value};
use memchr::memmem::Finder;
use plan::{Check, Take, TakeFrom};
use regex::bytes::Regex;
use std::str;

/// Longer texts of a plan are cut where they are repeated.
const SHOWN: usize = 40;

/// The checks and takes of one step, ready to be applied to each of its answers.
#[derive(Debug)]
pub(crate) struct Reading {
    checks: Vec<Checked>,
    takes: Vec<Taken>,
    /// Number of the first take among all takes of the flow.
    first: usize,
    wanted: Wanted,
}

#[derive(Debug)]
enum Checked {
    Header { name: String, part: Finder<'static> },
    Body(Finder<'static>),
    Json { pointer: String, number: usize, value: String },
}

#[derive(Debug)]
struct Taken {
    name: String,
    from: Source,
}

#[derive(Debug)]
enum Source {
    Json { pointer: String, number: usize },
    Regex(Regex),
    Header(String),
    Cookie(String),
}

impl Reading {
    /// Prepares the checks and takes of a step, the first of which fills `taken[first]`.
    ///
    /// # Errors
    /// If a regular expression or a JSON pointer is none, in words.
    pub fn new(takes: &[Take], first: usize, checks: &[Check]) -> Result<Self, String> {
        let mut wanted = Wanted::default();
        let finder = |text: &String| Finder::new(text.as_bytes()).into_owned();
        let checks = checks.iter().map(|check| {
            Ok(match check {
                Check::Header(name, text) => Checked::Header { name: name.clone(), part: finder(text) },
                Check::Body(text) => Checked::Body(finder(text)),
                Check::Json(pointer, value) => Checked::Json {
                    pointer: pointer.clone(),
                    number: wanted.add(pointer)?,
                    value: value.clone(),
                },
            })
        });
        let checks = checks.collect::<Result<_, String>>()?;
        let takes = takes.iter().map(|take| {
            let from = match &take.from {
                TakeFrom::Json(pointer) => {
                    wanted.add(pointer).map(|number| Source::Json { pointer: pointer.clone(), number })
                }
                TakeFrom::Regex(text) => compiled(text).map(Source::Regex),
                TakeFrom::Header(name) => Ok(Source::Header(name.clone())),
                TakeFrom::Cookie(name) => Ok(Source::Cookie(name.clone())),
            };
            let from = from.map_err(|why| format!("take {}: {why}", take.name))?;
            Ok(Taken { name: take.name.clone(), from })
        });
        let takes = takes.collect::<Result<_, String>>()?;
        Ok(Self { checks, takes, first, wanted })
    }

    /// Whether answers need not be kept: nothing is looked for in them.
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.takes.is_empty()
    }

    /// Checks the answer, then takes from it: each value goes to its place in `taken`, which grows
    /// as needed and keeps what it has allocated.
    ///
    /// # Errors
    /// Which check or take failed, and why.
    pub fn read(&self, content: &Content, taken: &mut Vec<Vec<u8>>) -> Result<(), String> {
        let mut json = Json { content, wanted: &self.wanted, found: None };
        for check in &self.checks {
            check.apply(content, &mut json).map_err(|why| format!("check: {why}"))?;
        }
        if taken.len() < self.first + self.takes.len() {
            taken.resize_with(self.first + self.takes.len(), Vec::new);
        }
        for (take, value) in self.takes.iter().zip(&mut taken[self.first..]) {
            value.clear();
            take.from.apply(content, &mut json, value).map_err(|why| format!("take {}: {why}", take.name))?;
        }
        Ok(())
    }
}

impl Checked {
    fn apply(&self, content: &Content, json: &mut Json<'_>) -> Result<(), String> {
        match self {
            Self::Header { name, part } => {
                let mut values = content.header(name).peekable();
                if values.peek().is_none() {
                    return Err(format!("header {name} is missing"));
                }
                let holds = values.any(|value| part.find(value).is_some());
                holds
                    .then_some(())
                    .ok_or_else(|| format!("header {name} does not contain {}", shown(part.needle())))
            }
            Self::Body(part) => part
                .find(&content.body)
                .map(drop)
                .ok_or_else(|| not_found(content, &format!("does not contain {}", shown(part.needle())))),
            Self::Json { pointer, number, value } => {
                let mut found = Vec::new();
                json.write(*number, pointer, &mut found)?;
                (found == value.as_bytes())
                    .then_some(())
                    .ok_or_else(|| format!("{} is not {}", place(pointer), shown(value.as_bytes())))
            }
        }
    }
}

impl Source {
    fn apply(&self, content: &Content, json: &mut Json<'_>, out: &mut Vec<u8>) -> Result<(), String> {
        let value = match self {
            Self::Json { pointer, number } => return json.write(*number, pointer, out),
            Self::Regex(regex) => {
                let found = if regex.captures_len() > 1 {
                    regex.captures(&content.body).and_then(|groups| groups.get(1))
                } else {
                    regex.find(&content.body)
                };
                let why =
                    || not_found(content, &format!("does not match {}", shown(regex.as_str().as_bytes())));
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

/// A regular expression, or the last line of why it is none: those before it draw the place.
fn compiled(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or_default();
        format!("{} is no regular expression: {}", shown(text.as_bytes()), last.trim_start_matches("error: "))
    })
}

/// The body as JSON, parsed when the first value of it is asked for.
struct Json<'a> {
    content: &'a Content,
    wanted: &'a Wanted,
    found: Option<Found<'a>>,
}

impl Json<'_> {
    fn write(&mut self, number: usize, pointer: &str, out: &mut Vec<u8>) -> Result<(), String> {
        let found = match &mut self.found {
            Some(found) => found,
            none => none.insert(parse(self.content, self.wanted)?),
        };
        let value = found[number].ok_or_else(|| format!("no value at {}", place(pointer)))?;
        write_value(value, out).map_err(|_| format!("no text at {}", place(pointer)))
    }
}

fn parse<'a>(content: &'a Content, wanted: &Wanted) -> Result<Found<'a>, String> {
    let text = str::from_utf8(&content.body).ok();
    text.and_then(|text| wanted.find(text).ok()).ok_or_else(|| {
        let why = match text {
            _ if is_coded(content) => return coded(),
            _ if content.cut => "is too long to be read as JSON: above 1 MiB",
            Some("") => "is empty",
            Some(_) => "is not JSON",
            None => "is not JSON: it is not UTF-8",
        };
        format!("the body {why}")
    })
}

/// Why something was not found in the body.
fn not_found(content: &Content, what: &str) -> String {
    const { assert!(BODY_LIMIT == 1 << 20, "the text says so") };
    match content {
        _ if is_coded(content) => coded(),
        Content { cut: true, .. } => format!("the first 1 MiB of the body {what}"),
        _ => format!("the body {what}"),
    }
}

/// Whether the body is not the text itself.
fn is_coded(content: &Content) -> bool {
    content.header("content-encoding").any(|coding| !coding.eq_ignore_ascii_case(b"identity"))
}

fn coded() -> String {
    "the body is compressed; leave Accept-Encoding out of the request".to_owned()
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the whole body" } else { pointer }
}

/// A text of the plan in quotes, cut if it is long.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(headers: &[(&str, &str)], body: &[u8]) -> Content {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        let mut content = Content { headers: headers.collect(), ..Content::default() };
        content.append(body);
        content
    }

    fn page() -> Content {
        let headers = [
            ("content-type", "text/html; charset=utf-8"),
            ("X-Id", " 17 "),
            ("Set-Cookie", "sid=old"),
            ("Set-Cookie", "theme=dark; Path=/"),
            ("Set-Cookie", "sid=\"a=b\"; HttpOnly"),
        ];
        answer(&headers, b"<p>Welcome, anna</p><input name=\"csrf\" value=\"abc\"><i>\xff</i>")
    }

    fn json(body: &str) -> Content {
        answer(&[("Content-Type", "application/json")], body.as_bytes())
    }

    fn check(content: &Content, check: Check) -> Result<(), String> {
        Reading::new(&[], 0, &[check]).expect("a check").read(content, &mut Vec::new())
    }

    fn take(content: &Content, from: TakeFrom) -> Result<String, String> {
        let mut taken = Vec::new();
        let take = Take { name: "token".to_owned(), from };
        Reading::new(&[take], 0, &[]).expect("a take").read(content, &mut taken)?;
        Ok(String::from_utf8_lossy(&taken[0]).into_owned())
    }

    fn failed(why: &str) -> Result<(), String> {
        Err(why.to_owned())
    }

    #[test]
    fn checks_pass_or_say_why_not() {
        let header = |name: &str, part: &str| Check::Header(name.to_owned(), part.to_owned());
        let body = |part: &str| Check::Body(part.to_owned());
        for (content, asked, expected) in [
            (page(), header("Content-Type", "text/html"), Ok(())),
            (page(), header("Content-Type", ""), Ok(())),
            (page(), header("set-cookie", "dark"), Ok(())),
            (
                page(),
                header("Content-Type", "json"),
                failed("check: header Content-Type does not contain \"json\""),
            ),
            (page(), header("ETag", ""), failed("check: header ETag is missing")),
            (page(), body("Welcome"), Ok(())),
            (page(), body(""), Ok(())),
            (page(), body("welcome"), failed("check: the body does not contain \"welcome\"")),
            (
                page(),
                body(&"ü".repeat(50)),
                failed(&format!("check: the body does not contain \"{}…\"", "ü".repeat(40))),
            ),
            (
                answer(&[("Content-Encoding", "gzip")], b"\x1f\x8b"),
                body("x"),
                failed("check: the body is compressed; leave Accept-Encoding out of the request"),
            ),
            (
                answer(&[], &vec![b'x'; BODY_LIMIT + 1]),
                body("y"),
                failed("check: the first 1 MiB of the body does not contain \"y\""),
            ),
        ] {
            assert_eq!(check(&content, asked.clone()), expected, "{asked:?}");
        }
    }

    #[test]
    fn json_checks_compare_as_text() {
        let text = r#"{"ok": false, "n": 1, "user": {"name": "anna \"x\"", "id": 1.0}, "list": [ 1, 2 ]}"#;
        for (pointer, value, expected) in [
            ("/ok", "false", Ok(())),
            ("/ok", "true", failed("check: /ok is not \"true\"")),
            ("/n", "1", Ok(())),
            ("/n", "1.0", failed("check: /n is not \"1.0\"")),
            ("/user/id", "1.0", Ok(())),
            ("/user/name", "anna \"x\"", Ok(())),
            ("/list", "[1,2]", Ok(())),
            ("/list/1", "2", Ok(())),
            ("/list/2", "3", failed("check: no value at /list/2")),
            ("", "x", failed("check: the whole body is not \"x\"")),
        ] {
            let asked = Check::Json(pointer.to_owned(), value.to_owned());
            assert_eq!(check(&json(text), asked), expected, "{pointer}");
        }
        for (content, why) in [
            (page(), "is not JSON: it is not UTF-8"),
            (json("<p>"), "is not JSON"),
            (json(""), "is empty"),
            (
                json(&format!("{{\"a\": \"{}\"}}", "x".repeat(BODY_LIMIT))),
                "is too long to be read as JSON: above 1 MiB",
            ),
            (
                answer(&[("content-encoding", "br")], b"\x00"),
                "is compressed; leave Accept-Encoding out of the request",
            ),
        ] {
            let asked = Check::Json("/a".to_owned(), String::new());
            assert_eq!(check(&content, asked), failed(&format!("check: the body {why}")));
        }
        let coded = answer(&[("content-encoding", "identity")], b"{\"a\": \"\"}");
        assert_eq!(check(&coded, Check::Json("/a".to_owned(), String::new())), Ok(()));
    }

    #[test]
    fn values_are_taken_or_said_to_be_missing() {
        let regex = |text: &str| TakeFrom::Regex(text.to_owned());
        let header = |name: &str| TakeFrom::Header(name.to_owned());
        let cookie = |name: &str| TakeFrom::Cookie(name.to_owned());
        let pointer = |text: &str| TakeFrom::Json(text.to_owned());
        let login = json(r#"{"access_token": "a.b\/c", "expires": 3600, "bad": "\ud800"}"#);
        for (content, from, expected) in [
            (page(), regex("name=\"csrf\" value=\"([^\"]*)\""), Ok("abc")),
            (page(), regex("W[a-z]+"), Ok("Welcome")),
            (page(), regex("(?-u)<i>(.)</i>"), Ok("\u{fffd}")),
            (page(), regex("nothing"), Err("the body does not match \"nothing\"")),
            (page(), regex("Welcome(!)?"), Err("the body does not match \"Welcome(!)?\"")),
            (page(), header("x-id"), Ok("17")),
            (page(), header("ETag"), Err("header ETag is missing")),
            (page(), cookie("sid"), Ok("\"a=b\"")),
            (page(), cookie("SID"), Err("no cookie SID is set")),
            (login, pointer("/access_token"), Ok("a.b/c")),
            (json("{\"expires\": 3600}"), pointer("/expires"), Ok("3600")),
            (json("{\"access\": 1}"), pointer("/access_token"), Err("no value at /access_token")),
            (json("{\"bad\": \"\\ud800\"}"), pointer("/bad"), Err("no text at /bad")),
            (page(), pointer("/a"), Err("the body is not JSON: it is not UTF-8")),
        ] {
            let expected = expected.map(str::to_owned).map_err(|why| format!("take token: {why}"));
            assert_eq!(take(&content, from.clone()), expected, "{from:?}");
        }
    }

    #[test]
    fn each_value_has_its_place_and_none_is_left_over() {
        let takes =
            ["/a", "/b"].map(|p| Take { name: p[1..].to_owned(), from: TakeFrom::Json(p.to_owned()) });
        let reading =
            Reading::new(&takes, 1, &[Check::Json("/a".to_owned(), "1".to_owned())]).expect("compiles");
        let mut taken = vec![b"first".to_vec()];
        assert_eq!(reading.read(&json("{\"b\": 22, \"a\": 1}"), &mut taken), Ok(()));
        assert_eq!(taken, [b"first".to_vec(), b"1".to_vec(), b"22".to_vec()]);
        let failed = Err("take b: no value at /b".to_owned());
        assert_eq!(reading.read(&json("{\"a\": 1}"), &mut taken), failed);
        assert_eq!(taken, [b"first".to_vec(), b"1".to_vec(), Vec::new()], "nothing of the answer before");
        assert!(Reading::new(&[], 0, &[]).expect("nothing").is_empty() && !reading.is_empty());
    }

    #[test]
    fn what_does_not_compile_is_said() {
        for (from, why) in [
            (TakeFrom::Regex("(".to_owned()), "take token: \"(\" is no regular expression: unclosed group"),
            (TakeFrom::Json("access_token".to_owned()), "must begin with /, as /access_token"),
        ] {
            let take = Take { name: "token".to_owned(), from };
            let error = Reading::new(&[take], 0, &[]).expect_err("no take");
            assert!(error.contains(why), "{error}");
        }
    }

    proptest! {
        #[test]
        fn garbage_never_panics(
            body in proptest::collection::vec(any::<u8>(), 0..200),
            value in proptest::collection::vec(any::<u8>(), 0..40),
            text in ".{0,10}",
        ) {
            let content =
                Content { headers: vec![("Set-Cookie".to_owned(), value)], body, ..Content::default() };
            let takes = [
                TakeFrom::Json("/a".to_owned()),
                TakeFrom::Regex("a(.*)".to_owned()),
                TakeFrom::Header("set-cookie".to_owned()),
                TakeFrom::Cookie(text.clone()),
            ];
            for from in takes {
                let _ = take(&content, from);
            }
            for asked in [Check::Body(text.clone()), Check::Json(format!("/{text}"), text.clone())] {
                if let Ok(reading) = Reading::new(&[], 0, &[asked]) {
                    let _ = reading.read(&content, &mut Vec::new());
                }
            }
        }
    }
}
