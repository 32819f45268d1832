//! Recordings as browsers save them, written by hand.

use crate::accepted::accepted;
use proptest::prelude::*;
use toml::{Table, Value};
use torment_import::{HarOptions, ImportedPlan, from_har};

const SHOP: &str = include_str!("../fixtures/shop.har");

fn import(text: &str, options: &HarOptions) -> (Table, ImportedPlan) {
    let imported = from_har(text, options).expect("it is a recording");
    let table = imported.plan.parse().unwrap_or_else(|e| panic!("{e}\n{}", imported.plan));
    (table, imported)
}

fn steps(table: &Table) -> Vec<&Table> {
    let flow = table["flow"].as_array().and_then(|flows| flows.first()).expect("one flow");
    flow["step"].as_array().expect("steps").iter().filter_map(Value::as_table).collect()
}

fn texts<'a>(steps: &[&'a Table], key: &str) -> Vec<&'a str> {
    steps.iter().map(|step| step.get(key).and_then(Value::as_str).unwrap_or("-")).collect()
}

fn noted(imported: &ImportedPlan, what: &str) {
    assert!(imported.notes.iter().any(|note| note.contains(what)), "{what}: {:#?}", imported.notes);
}

#[test]
fn a_recording_becomes_a_flow_that_runs() {
    let (table, imported) = import(SHOP, &HarOptions::default());
    assert_eq!(table["target"]["url"].as_str(), Some("https://shop.example/"));
    let steps = steps(&table);
    assert_eq!(
        texts(&steps, "url"),
        [
            "/login",
            "/api/login",
            "/users/{user_id}/cart?currency=EUR",
            "/orders/{order_id}?sku=sku-000111&api_key={env:API_KEY}",
        ],
        "{}",
        imported.plan
    );
    assert_eq!(
        texts(&steps, "name"),
        ["GET /login", "POST /api/login", "GET /users/{user_id}/cart", "PUT /orders/{order_id}"]
    );
    assert_eq!(texts(&steps, "method"), ["-", "-", "-", "PUT"]);
    assert_eq!(texts(&steps, "think"), ["-", "5.3s", "6.5s", "-"]);
    let take = |at: usize| steps[at].get("take").and_then(Value::as_table).cloned().unwrap_or_default();
    assert_eq!(
        take(1),
        "access_token = 'json:/access_token'\nuser_id = 'json:/user/id'".parse::<Table>().expect("valid")
    );
    assert_eq!(take(0)["csrf"].as_str(), Some(r#"regex:<input type="hidden" name="csrf" value="([^"]+)">"#));
    let form = "user = 'anna'\npassword = '{env:PASSWORD}'\ncsrf = '{csrf}'".parse::<Table>().expect("valid");
    assert_eq!(steps[1]["form"].as_table(), Some(&form));
    assert_eq!(take(2), "order_id = 'json:/order/id'".parse::<Table>().expect("valid"));
    assert_eq!(steps[2]["expect_status"].as_integer(), Some(404));
    assert_eq!(steps[3]["body"].as_str(), Some(r#"{"order":{order_id},"note":"say {uuid}"}"#));
}

#[test]
fn headers_are_the_requests_own() {
    let (table, imported) = import(SHOP, &HarOptions::default());
    let list = |value: &Value| -> Vec<String> {
        value["headers"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(
        list(&table["target"]),
        ["user-agent: Mozilla/5.0", "Cookie: {env:COOKIE}"],
        "{}",
        imported.plan
    );
    let steps = &table["flow"][0]["step"];
    assert_eq!(list(&steps[0]), ["accept: text/html"]);
    assert_eq!(
        list(&steps[1]),
        ["accept: application/json", "content-type: application/x-www-form-urlencoded"]
    );
    assert_eq!(list(&steps[2]), ["accept: text/html", "authorization: Bearer {access_token}"]);
    assert!(list(&steps[3]).contains(&"x-api-key: {env:X_API_KEY}".to_owned()));
}

#[test]
fn nothing_is_dropped_in_silence_and_no_secret_is_kept() {
    let (_, imported) = import(SHOP, &HarOptions::default());
    for what in [
        "other origins are left out, a plan has one target: https://metrics.example (1)",
        "static assets are left out: images (1), scripts (1)",
        "from its cache is left out: 1 requests",
        "GET wss://shop.example/live is left out: torment does not speak WebSocket",
        "at the end, GET https://shop.example/api/blocked is left out: it had no answer",
        "2 of its requests may change data",
        "cookies are kept for each user",
        ":authority, :method, content-length, sec-fetch-mode",
        "POST /api/login: later steps have {access_token} from its answer, json:/access_token",
        "Accept-Encoding is left out of steps that take values",
        "it was answered 404",
        "json:/items/0/sku and json:/items/1/sku of the answer to step 3",
        "PUT /orders/{order_id}: the body holds '{uuid}'",
        "export COOKIE='…'",
        "export PASSWORD='…'",
        "export API_KEY='…'",
        "export X_API_KEY='…'",
    ] {
        noted(&imported, what);
    }
    let all = imported.plan.clone() + &imported.notes.concat();
    for secret in ["hunter2", "s3cr3t-sid-1", "yes-please", "eyJhbGciOi", "k3y-", "ticket"] {
        assert!(!all.contains(secret), "{secret}\n{all}");
    }
    let comments = imported.plan.replace("\n# ", " ");
    for note in &imported.notes {
        let note = note
            .split_once(": ")
            .filter(|_| !comments.contains(note.as_str()))
            .map_or(note.as_str(), |(_, rest)| rest);
        assert!(comments.contains(note), "not in the plan: {note}\n{}", imported.plan);
    }
}

#[test]
fn assets_and_origins_are_chosen() {
    let (table, imported) = import(SHOP, &HarOptions { include_assets: true, ..HarOptions::default() });
    assert_eq!(steps(&table).len(), 6);
    assert!(!imported.notes.iter().any(|note| note.contains("static assets")));
    let other = HarOptions { origin: Some("https://metrics.example/x".to_owned()), ..HarOptions::default() };
    let (table, _) = import(SHOP, &other);
    assert_eq!(table["target"]["url"].as_str(), Some("https://metrics.example/"));
    let unknown = HarOptions { origin: Some("https://nobody.example".to_owned()), ..HarOptions::default() };
    let error = from_har(SHOP, &unknown).expect_err("there is none").to_string();
    assert!(error.contains("expected one of: https://shop.example, https://metrics.example"), "{error}");
}

/// A recording of requests, each with the JSON that answered it.
fn recording(entries: &[(&str, &str)]) -> String {
    let entry = |(at, (url, answer)): (usize, &(&str, &str))| {
        serde_json::json!({
            "startedDateTime": format!("2026-05-01T10:00:{:02}.000+00:00", at % 60),
            "time": 10,
            "request": {"method": "GET", "url": url, "headers": []},
            "response": {"status": 200, "content": {"mimeType": "application/json", "text": answer}},
        })
    };
    let entries: Vec<_> = entries.iter().enumerate().map(entry).collect();
    serde_json::json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

/// Multipart forms used to stay in the plan as recorded, and users of URLs in its notes.
#[test]
fn no_form_and_no_url_keeps_a_secret() {
    let part = |name: &str, value: &str| {
        format!("------b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let raw = part("user", "me") + &part("password", "hunter2") + "------b--\r\n";
    let fields = [("user", "me"), ("password", "hunter2")];
    let fields = fields.map(|(name, value)| serde_json::json!({"name": name, "value": value}));
    for posted in [
        serde_json::json!({"mimeType": "multipart/form-data; boundary=----b", "text": raw}),
        serde_json::json!({"mimeType": "multipart/form-data", "params": fields}),
    ] {
        let entries = serde_json::json!([
            {"request": {"method": "GET", "url": "ws://me:hunter2@a/"}},
            {"request": {"method": "POST", "url": "http://a/", "postData": posted}, "response": {"status": 200}},
        ]);
        let text = serde_json::json!({"log": {"entries": entries}}).to_string();
        let (table, imported) = import(&text, &HarOptions::default());
        let body = steps(&table)[0]["body"].as_str().expect("text");
        let lines: Vec<&str> = body.lines().filter(|line| !line.starts_with("--")).collect();
        let head = |name: &str| format!("Content-Disposition: form-data; name=\"{name}\"");
        assert_eq!(lines, [&head("user"), "", "me", &head("password"), "", "{env:PASSWORD}"]);
        assert!(!(imported.plan.clone() + &imported.notes.concat()).contains("hunter2"), "{}", imported.plan);
        noted(&imported, "GET ws://a/ is left out");
    }
}

#[test]
fn of_equal_origins_the_first_counts_and_order_is_that_of_time() {
    let text = recording(&[("http://b/1", ""), ("http://a/1", "")]);
    let (table, _) = import(&text, &HarOptions::default());
    assert_eq!(table["target"]["url"].as_str(), Some("http://b/"));
    let late_first = r#"{"log": {"entries": [
        {"startedDateTime": "2026-05-01T10:00:02Z", "request": {"method": "GET", "url": "http://a/2"}, "response": {"status": 200}},
        {"startedDateTime": "2026-05-01T10:00:01Z", "request": {"method": "GET", "url": "http://a/1"}, "response": {"status": 200}}]}}"#;
    let (table, _) = import(late_first, &HarOptions::default());
    assert_eq!(texts(&steps(&table), "url"), ["/1", "/2"]);
}

#[test]
fn what_stands_escaped_is_named() {
    let text = recording(&[
        ("http://a/t", r#"{"token": "ab/cd+1234=="}"#),
        ("http://a/u?x=ab%2Fcd%2B1234%3D%3D", ""),
    ]);
    let (table, imported) = import(&text, &HarOptions::default());
    assert_eq!(texts(&steps(&table), "url")[1], "/u?x=ab%2Fcd%2B1234%3D%3D");
    noted(&imported, "'x' is from an earlier answer, but escaped");
}

#[test]
fn refuses_with_advice() {
    for (text, advice) in [
        ("not json", "expected a HAR file"),
        (r#"{"log": {"entries": []}}"#, "the recording is empty"),
        (
            r#"{"log": {"entries": [{"request": {"method": "GET", "url": "data:x"}}]}}"#,
            "no request to an http://",
        ),
        (
            r#"{"log": {"entries": [{"request": {"method": "GET", "url": "http://a/x.css"}, "response": {"status": 200}}]}}"#,
            "no request to http://a that can be repeated",
        ),
    ] {
        let error = from_har(text, &HarOptions::default()).expect_err(text).to_string();
        assert!(error.contains(advice), "{text}: {error}");
    }
}

proptest! {
    /// Whatever server and client said, the plan is TOML and its steps know the values they use.
    #[test]
    fn any_texts_make_a_plan(
        texts in prop::collection::vec(("[ -~]{0,20}|.{0,12}|[a-z0-9]{8,10}", "[a-z/~{}0-9\"\\\\]{0,8}", "[a-c0-9]{8,9}"), 1..6),
    ) {
        let answers: Vec<String> = texts
            .iter()
            .map(|(text, key, value)| serde_json::json!({key.as_str(): {"id": value}, "text": text}).to_string())
            .collect();
        let mut urls: Vec<String> = vec!["http://a/".to_owned()];
        urls.extend(texts.iter().map(|(text, key, value)| format!("http://a/{value}/{text}?{key}={value}")));
        let entries: Vec<(&str, &str)> = urls
            .iter()
            .zip(answers.iter().map(String::as_str).chain(std::iter::once("{}")))
            .map(|(url, answer)| (url.as_str(), answer))
            .collect();
        let imported = from_har(&recording(&entries), &HarOptions { include_assets: true, origin: None });
        let imported = imported.expect("the first can be repeated");
        let table: Table = imported.plan.parse().map_err(|e| TestCaseError::fail(format!("{e}\n{}", imported.plan)))?;
        let mut known: Vec<String> = Vec::new();
        for step in steps(&table) {
            let extractions = step.get("take").and_then(Value::as_table).cloned().unwrap_or_default();
            for name in extractions.keys() {
                prop_assert!(!known.contains(name), "{name} is taken twice\n{}", imported.plan);
                prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{name}");
            }
            known.extend(extractions.keys().cloned());
        }
        accepted(&imported)?;
    }

    #[test]
    fn no_text_makes_it_panic(text in ".*") {
        let _ = from_har(&text, &HarOptions::default());
    }
}
