use super::*;

fn request(name: &str) -> Request {
    Request { name: name.to_owned(), method: "GET".to_owned(), url: "/".to_owned(), ..Request::default() }
}

fn written(document: Document) -> String {
    let imported = document.finish();
    imported.plan.parse::<toml::Table>().unwrap_or_else(|e| panic!("{e}\n{}", imported.plan));
    imported.plan
}

#[test]
fn one_request_is_a_section_several_are_a_list() {
    let one = written(Document { requests: vec![request("a")], ..Document::default() });
    assert!(one.contains("[request]") && !one.contains("[[request]]") && !one.contains("name ="), "{one}");
    let two = written(Document { requests: vec![request("a"), request("a")], ..Document::default() });
    assert!(two.contains("name = \"a\"") && two.contains("name = \"a (2)\""), "{two}");
    assert_eq!(two.matches("[[request]]").count(), 2, "{two}");
}

#[test]
fn more_than_a_plan_holds_is_commented_out() {
    let requests = vec![request("a"); MAX_REQUESTS + 2];
    let imported = Document { requests, ..Document::default() }.finish();
    assert!(imported.notes[0].contains("the last 2 are commented out"), "{:?}", imported.notes);
    let table: toml::Table = imported.plan.parse().expect("it is TOML");
    assert_eq!(table["request"].as_array().map(Vec::len), Some(MAX_REQUESTS));
}

#[test]
fn what_is_commented_out_comes_back_by_taking_the_marks_away() {
    let full = Request {
        think: Some("1s".to_owned()),
        headers: vec![("A".to_owned(), "b\n# c\n\n'''".to_owned())],
        body: Body::Bytes(b"line\n\n  \"\"\"\r\n\t'''\x01".to_vec()),
        expect_status: vec!["200".to_owned(), "2xx".to_owned()],
        extractions: vec![("x y".to_owned(), "json:/a\"b".to_owned())],
        ..request("a")
    };
    let on = written(Document { requests: vec![full.clone(), request("b")], ..Document::default() });
    let off =
        Document { requests: vec![Request { disabled: true, ..full }, request("b")], ..Document::default() };
    let off = written(off);
    let table = |plan: &str| plan.parse::<toml::Table>().expect("written() checks it");
    assert_eq!(table(&off)["request"].as_array().map(Vec::len), Some(1));
    let begin = off.find("# [[request]]").expect("it is there");
    let end = off.find("\n[[request]]").expect("the other is there");
    let block: Vec<&str> =
        off[begin..end].lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect();
    let back = format!("{}{}{}", &off[..begin], block.join("\n"), &off[end..]);
    assert_eq!(table(&back), table(&on));
}

#[test]
fn headers_of_all_requests_stand_at_the_target() {
    let with = |headers: &[(&str, &str)]| Request {
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..request("a")
    };
    let requests = vec![
        with(&[("A", "1"), ("B", "1"), ("C", "1"), ("C", "2")]),
        with(&[("a", "1"), ("B", "2"), ("C", "1"), ("C", "2")]),
    ];
    let plan = written(Document { requests, ..Document::default() });
    let target = &plan[..plan.find("[[request]]").expect("requests follow")];
    assert!(target.contains("\"A: 1\"") && !target.contains("B:") && !target.contains("C:"), "{plan}");
    assert_eq!(
        (plan.matches("A: 1").count(), plan.matches("a: 1").count(), plan.matches("C: 1").count()),
        (1, 0, 2)
    );
}

#[test]
fn who_asks_is_said_once_if_all_are_the_same() {
    let with = |auth| Request { auth, ..request("a") };
    let basic = || Some(Auth::Basic("me:{env:PASSWORD}".to_owned()));
    let same = written(Document { requests: vec![with(basic()), with(basic())], ..Document::default() });
    assert!(same.contains("basic = \"me:{env:PASSWORD}\"") && !same.contains("Authorization"), "{same}");
    let bearer = Some(Auth::Bearer("{env:TOKEN}".to_owned()));
    let differ = Document { requests: vec![with(basic()), with(bearer), with(None)], ..Document::default() };
    let imported = differ.finish();
    assert!(imported.plan.contains("Authorization: {env:AUTHORIZATION}"), "{}", imported.plan);
    assert!(imported.plan.contains("Authorization: Bearer {env:TOKEN}"), "{}", imported.plan);
    assert!(imported.notes[0].contains("the base64 of me:PASSWORD"), "{:?}", imported.notes);
}

#[test]
fn notes_are_comments_too_and_cannot_break_out() {
    let notes = vec!["one\nurl = \"http://evil/\"".to_owned(), "long ".repeat(100)];
    let document = Document { requests: vec![Request { notes, ..request("a") }], ..Document::default() };
    let imported = document.finish();
    assert_eq!(imported.notes.len(), 2);
    let table: toml::Table = imported.plan.parse().expect("comments are comments");
    assert_eq!(table["target"]["url"].as_str(), Some(""));
    assert!(imported.plan.lines().all(|line| line.chars().count() <= 105), "{}", imported.plan);
}

#[test]
fn copied_text_that_looks_like_a_placeholder_is_named() {
    let body = |text: &str| Request { body: Body::Bytes(text.as_bytes().to_vec()), ..request("a") };
    for (text, named) in [
        ("{\"a\": \"{uuid}\"}", Some("'{uuid}'")),
        ("x{1..3}", Some("'{1..3}'")),
        ("{random:x}", Some("refused")),
        ("{counter}", None),
        ("{\"a\": {}}", None),
    ] {
        let placeholders = ["{counter}".to_owned()].into();
        let imported = Document { requests: vec![body(text)], placeholders, ..Document::default() }.finish();
        assert_eq!(
            imported.notes.iter().any(|note| note.contains(named.unwrap_or_default())),
            named.is_some(),
            "{text}"
        );
    }
}
