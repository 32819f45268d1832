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

fn check(content: &Content, check: AnswerCheck) -> Result<(), String> {
    ChecksAndTakes::new(&[], 0, &[check]).expect("a check").apply(content, &mut Vec::new())
}

fn take(content: &Content, from: ExtractionSource) -> Result<String, String> {
    let mut taken = Vec::new();
    let take = Extraction { name: "token".to_owned(), from };
    ChecksAndTakes::new(&[take], 0, &[]).expect("a take").apply(content, &mut taken)?;
    Ok(String::from_utf8_lossy(&taken[0]).into_owned())
}

fn failed(why: &str) -> Result<(), String> {
    Err(why.to_owned())
}

#[test]
fn checks_pass_or_say_why_not() {
    let header = |name: &str, part: &str| AnswerCheck::Header(name.to_owned(), part.to_owned());
    let body = |part: &str| AnswerCheck::Body(part.to_owned());
    for (content, answer_check, expected) in [
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
        assert_eq!(check(&content, answer_check.clone()), expected, "{answer_check:?}");
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
        let answer_check = AnswerCheck::Json(pointer.to_owned(), value.to_owned());
        assert_eq!(check(&json(text), answer_check), expected, "{pointer}");
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
        let answer_check = AnswerCheck::Json("/a".to_owned(), String::new());
        assert_eq!(check(&content, answer_check), failed(&format!("check: the body {why}")));
    }
    let coded = answer(&[("content-encoding", "identity")], b"{\"a\": \"\"}");
    assert_eq!(check(&coded, AnswerCheck::Json("/a".to_owned(), String::new())), Ok(()));
}

#[test]
fn values_are_taken_or_said_to_be_missing() {
    let regex = |text: &str| ExtractionSource::Regex(text.to_owned());
    let header = |name: &str| ExtractionSource::Header(name.to_owned());
    let cookie = |name: &str| ExtractionSource::Cookie(name.to_owned());
    let pointer = |text: &str| ExtractionSource::Json(text.to_owned());
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
    let takes = ["/a", "/b"]
        .map(|p| Extraction { name: p[1..].to_owned(), from: ExtractionSource::Json(p.to_owned()) });
    let reading = ChecksAndTakes::new(&takes, 1, &[AnswerCheck::Json("/a".to_owned(), "1".to_owned())])
        .expect("compiles");
    let mut taken = vec![b"first".to_vec()];
    assert_eq!(reading.apply(&json("{\"b\": 22, \"a\": 1}"), &mut taken), Ok(()));
    assert_eq!(taken, [b"first".to_vec(), b"1".to_vec(), b"22".to_vec()]);
    let failed = Err("take b: no value at /b".to_owned());
    assert_eq!(reading.apply(&json("{\"a\": 1}"), &mut taken), failed);
    assert_eq!(taken, [b"first".to_vec(), b"1".to_vec(), Vec::new()], "nothing of the answer before");
    assert!(ChecksAndTakes::new(&[], 0, &[]).expect("nothing").is_empty() && !reading.is_empty());
}

#[test]
fn what_does_not_compile_is_said() {
    for (from, why) in [
        (
            ExtractionSource::Regex("(".to_owned()),
            "take token: \"(\" is not a regular expression: unclosed group",
        ),
        (ExtractionSource::Json("access_token".to_owned()), "must begin with /, as /access_token"),
    ] {
        let take = Extraction { name: "token".to_owned(), from };
        let error = ChecksAndTakes::new(&[take], 0, &[]).expect_err("no take");
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
            ExtractionSource::Json("/a".to_owned()),
            ExtractionSource::Regex("a(.*)".to_owned()),
            ExtractionSource::Header("set-cookie".to_owned()),
            ExtractionSource::Cookie(text.clone()),
        ];
        for from in takes {
            let _ = take(&content, from);
        }
        for answer_check in [AnswerCheck::Body(text.clone()), AnswerCheck::Json(format!("/{text}"), text.clone())] {
            if let Ok(checks) = ChecksAndTakes::new(&[], 0, &[answer_check]) {
                let _ = checks.apply(&content, &mut Vec::new());
            }
        }
    }
}
