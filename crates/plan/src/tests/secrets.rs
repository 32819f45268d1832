//! Secrets are sent, and shown nowhere.

use super::{plan, read, request, who};
use crate::*;

const SECRET: &str = "geheim";

fn env(name: &str) -> Result<String, String> {
    match name {
        "TOKEN" => Ok("geheim-env é".to_owned()),
        "LINES" => Ok("geheim\nx".to_owned()),
        _ => Err(format!("the environment variable {name} is not set")),
    }
}

fn secret_file(file: &str) -> Result<String, String> {
    match file {
        "plans/s.txt" => Ok("geheim-file\r\n".to_owned()),
        _ => Err(format!("cannot read '{file}'")),
    }
}

fn sent(text: &str) -> (Plan, String) {
    let text = format!("load.rate = 1\n{text}");
    let mut plan = plan(PlanCommand::Run, &text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    plan.bind(secret_file, env).expect("all is there");
    let request = request(&plan);
    let mut out = Vec::new();
    request.render_path(&who(0), &mut out);
    for (index, (name, _)) in request.headers.iter().enumerate() {
        out.extend(format!(" {name}: ").bytes());
        request.render_header(index, &who(0), &mut out);
    }
    out.push(b' ');
    request.render_body(&who(0), &mut out);
    (plan, String::from_utf8(out).expect("text"))
}

/// A watcher on another machine is told what it may know; the rest is asked from here.
#[test]
fn what_takes_a_secret_is_kept_here() {
    let watch = |postgres: &str, metrics: &str| {
        let text = format!(
            "load.rate = 1\ntarget.url = 'h'\nwatch = {{ postgres = '{postgres}', metrics = '{metrics}' }}"
        );
        let mut plan = plan(PlanCommand::Run, &text).unwrap_or_else(|e| panic!("{text}\n{e}"));
        plan.bind(secret_file, env).expect("all is there");
        plan.watch.split_secrets()
    };
    let urls = |watch: &WatchPlan| (watch.postgres_url(), watch.metrics_url());
    let (shareable, with_secrets) = watch("postgres://me@db/x", "http://h/metrics");
    assert_eq!(
        urls(&shareable),
        (Some("postgres://me@db/x".to_owned()), Some("http://h/metrics".to_owned()))
    );
    assert!(!with_secrets.has_database_or_metrics());
    let (shareable, with_secrets) = watch("postgres://me:geheim@db/x", "http://me:geheim@h/metrics");
    assert!(!shareable.has_database_or_metrics() && !format!("{shareable:?}").contains(SECRET));
    let (postgres, metrics) = urls(&with_secrets);
    assert!(
        postgres.is_some_and(|url| url.contains(SECRET)) && metrics.is_some_and(|url| url.contains(SECRET))
    );
    let (shareable, with_secrets) = watch("postgres://me:{env:TOKEN}@db/x", "http://h/?key={secret:s.txt}");
    assert!(
        !shareable.has_database_or_metrics()
            && with_secrets.postgres.is_some()
            && with_secrets.metrics.is_some()
    );
}

#[test]
fn they_are_sent() {
    for (text, expected) in [
        ("target.url = 'http://me:geheim@h/'", "/ Authorization: Basic bWU6Z2VoZWlt "),
        ("target.url = 'http://geheim@h/'", "/ Authorization: Basic Z2VoZWltOg== "),
        (
            "target = { url = 'h', basic = 'me:{secret:s.txt}' }",
            "/ Authorization: Basic bWU6Z2VoZWltLWZpbGU= ",
        ),
        ("target = { url = 'h', bearer = '{env:TOKEN}' }", "/ Authorization: Bearer geheim-env é "),
        ("target = { url = 'h', bearer = 'geheim' }", "/ Authorization: Bearer geheim "),
        (
            "target = { url = 'http://a:b@h', basic = 'c:d' }\nrequest.bearer = 'geheim'",
            "/ Authorization: Bearer geheim ",
        ),
        (
            "target = { url = 'h', basic = 'c:d' }\nrequest.headers = { authorization = 'X geheim' }",
            "/ authorization: X geheim ",
        ),
        (
            "target = { url = 'h', headers = { Cookie = 'a=geheim', X-Api-Key = 'geheim' } }",
            "/ Cookie: a=geheim X-Api-Key: geheim ",
        ),
        ("target.url = 'h/?k={env:TOKEN}'", "/?k=geheim-env%20%C3%A9 "),
        (
            "target.url = 'h'\nrequest.form = { k = '{env:TOKEN}' }",
            "/ Content-Type: application/x-www-form-urlencoded k=geheim-env+%C3%A9",
        ),
        ("target.url = 'h'\nrequest.body = '{secret:s.txt}'", "/ geheim-file"),
    ] {
        let (plan, found) = sent(text);
        assert_eq!(found, expected, "{text}");
        for shown in [plan.to_toml(), plan.describe().join("\n"), plan.url(), format!("{plan:?} {plan:#?}")] {
            assert!(!shown.contains(SECRET) && !shown.contains("Z2VoZWlt"), "{text}\n{shown}");
            // `Debug` prints bytes as numbers.
            assert!(!shown.replace([' ', '\n'], "").contains("103,101,104,101,105,109"), "{text}\n{shown}");
        }
        let hidden = plan.redactor().redact(found.as_bytes()).into_owned();
        let hidden = String::from_utf8(hidden).expect("text");
        assert!(
            !hidden.contains(SECRET) && !hidden.contains("Z2VoZWlt") && hidden.contains("***"),
            "{hidden}"
        );
        // Answers may contain the value as is.
        if text.contains("env:") {
            assert_eq!(*plan.redactor().redact("geheim-env é".as_bytes()), *b"***");
        }
    }
}

#[test]
fn those_of_the_watch_are_given_to_who_connects() {
    for (text, expected) in [
        ("postgres = 'postgres://me:geheim@h/d'", "postgres://me:geheim@h/d"),
        ("postgres = 'postgres://me@h?password=geheim'", "postgres://me:geheim@h/me"),
        ("postgres = 'postgres://me:{env:TOKEN}@h/d'", "postgres://me:geheim-env%20%C3%A9@h/d"),
        ("metrics = 'me:geheim@h:1/m'", "http://me:geheim@h:1/m"),
        ("metrics = 'https://geheim@h/m#x'", "https://geheim@h/m#x"),
        ("metrics = 'http://{secret:s.txt}@h/?a={env:TOKEN}'", "http://geheim-file@h/?a=geheim-env é"),
    ] {
        let mut plan =
            plan(PlanCommand::Run, &format!("target.url = 'h'\nload.rate = 1\n[watch]\n{text}")).expect(text);
        plan.bind(secret_file, env).expect("all is there");
        let found = plan.watch.postgres_url().or(plan.watch.metrics_url());
        assert_eq!(found.as_deref(), Some(expected), "{text}");
        for shown in [plan.to_toml(), plan.describe().join("\n"), format!("{plan:?} {plan:#?}")] {
            assert!(!shown.contains(SECRET), "{text}\n{shown}");
            assert!(!shown.replace([' ', '\n'], "").contains("103,101,104,101,105,109"), "{text}\n{shown}");
        }
        assert_ne!(*plan.redactor().redact(expected.as_bytes()), *expected.as_bytes(), "{text}");
    }
    let database = "load.rate = 1\ntarget.url = 'postgres://me:geheim@h/d'\nrequest.sql = 'select 1'";
    let own = plan(PlanCommand::Run, database).expect("valid");
    assert_eq!(own.watch.postgres_url().as_deref(), Some("postgres://me:geheim@h/d"));
    let other = plan(PlanCommand::Run, &format!("{database}\nwatch.postgres = 'postgres://monitor@h/d'"))
        .expect("valid");
    assert_eq!(other.watch.postgres_url().as_deref(), Some("postgres://monitor@h/d"));
}

#[test]
fn they_are_not_kept() {
    for text in [
        "target.url = 'http://me:geheim@h/'",
        "target = { url = 'h', basic = 'me:geheim' }",
        "target = { url = 'h', bearer = 'geheim' }",
        "target.url = 'h'\nrequest.headers = { Authorization = 'Bearer geheim' }",
        "target.url = 'h'\nrequest.headers = { Cookie = 'id=geheim' }",
        "target.url = 'postgres://me:geheim@h/d'\nrequest.sql = 'select 1'",
        "target.url = 'h'\nwatch.postgres = 'postgres://me:geheim@h/d'",
        "target.url = 'h'\nwatch.metrics = 'http://me:geheim@h/d'",
    ] {
        let plan = plan(PlanCommand::Run, &format!("load.rate = 1\n{text}")).expect(text);
        let error = Plan::from_toml(&plan.to_toml(), PlanCommand::Run).expect_err(text).to_string();
        assert!(error.contains("this secret was not kept; give it again, best as {env:NAME}"), "{error}");
    }
    // Giving it again on the command line suffices.
    for (kept, key, text) in [
        ("request.headers = ['Authorization: Bearer {redacted}']", Key::Bearer, "{env:TOKEN}"),
        (
            "request.headers = ['Authorization: Bearer {redacted}']",
            Key::Headers,
            "authorization: {env:TOKEN}",
        ),
        ("request.basic = 'me:{redacted}'", Key::Basic, "me:geheim"),
        ("target.bearer = '{redacted}'", Key::Basic, "me:geheim"),
        ("request.headers = { Cookie = 'a={redacted}' }", Key::Headers, "Cookie: a=b"),
    ] {
        let mut overrides = Draft::default();
        overrides.set(key, "--option", text);
        let draft =
            Draft::from_toml("p", &format!("target.url = 'h'\nload.rate = 1\n{kept}")).expect("valid");
        draft.overlaid_by(overrides).check(PlanCommand::Run, &mut read).expect(kept);
    }
}

#[test]
fn no_message_shows_them() {
    for text in [
        "target.url = 'http://me:geheim@h/a b'",
        "target.url = 'http://me:geheim@h:x/'",
        "target.url = 'http://geheim@h:x/'",
        "target.url = 'http://me:ge/heim@h/'",
        "target.url = 'ftp://me:geheim@h/'",
        "target.url = 'postgres://me:geheim@h/d?sslmod=x'",
        "target.url = 'postgres://me:geheim{env:}@h/d'",
        "target.url = 'postgres://h/d?password=geheim&x=y'",
        "target = { url = 'h', basic = 'geheim' }",
        "target = { url = 'h', basic = 'me:geheim{random:1..}' }",
        "target = { url = 'h', basic = 'me:geheim', bearer = 'geheim' }",
        "target = { url = 'h', bearer = \"geheim\\n\" }",
        "target = { url = 'h', bearer = 'geheim', basci = 5 }",
        "target = { url = 'h', baerer = 'geheim' }",
        "target = { url = 'h', heders = ['Authorisation: Bearer geheim'] }",
        "request = { basci = 'me:geheim' }\ntarget.url = 'h'",
        "target = { url = 'h', bearer = 'geheim }",
        "target = { url = 'h', headers = { Authorization = 'Bearer geheim' }, x = 5 }",
        "target = { url = 'h', headers = { Authorization = \"Bearer geheim\\nx\" } }",
        "target = { url = 'h', headers = ['Authorization: Bearer geheim'], x = 5 }",
        "target = { url = 'h', headers = ['Authorization Bearer geheim'] }",
        "target = { url = 'h', headers = { Cookie = 'a=geheim; {file:geheim' } }",
        "target = { url = 'h', headers = { Cookie = 'a=geheim' } ",
        "target.url = 'h'\nrequest = { form = { password = 'geheim' }, x = 1 }",
        "target.url = 'http://me:geheim@h\n",
        "target.url = 'h'\nwatch.postgres = 'postgres://me:geheim@h/d?sslmod=x'",
        "target.url = 'h'\nwatch.postgres = 'http://me:geheim@h/'",
        "target.url = 'h'\nwatch = { postgres = 'postgres://me:geheim@h/d', x = 1 }",
        "target.url = 'h'\nwatch.metrics = 'postgres://me:geheim@h/'",
        "target.url = 'h'\nwatch.metrics = 'http://me:geheim@h/{uuid}'",
    ] {
        let error = plan(PlanCommand::Run, &format!("load.rate = 1\n{text}")).expect_err(text).to_string();
        assert!(!error.contains(SECRET) && !error.contains("heim@"), "{text}\n{error}");
    }
    for (option, key, text) in [
        ("-H", Key::Headers, "Authorization Bearer geheim"),
        ("-H", Key::Headers, "Authorization: {file:geheim"),
        ("--basic", Key::Basic, "geheim"),
        ("--bearer", Key::Bearer, "\ngeheim"),
        ("TARGET", Key::Url, "http://me:geheim@:x/"),
    ] {
        let mut draft = Draft::default();
        draft.set(Key::Url, "TARGET", "h");
        draft.set(Key::Requests, "-n", "1");
        draft.set(key, option, text);
        let error = draft.check(PlanCommand::Run, &mut read).expect_err(text).to_string();
        assert!(error.starts_with(option) && !error.contains(SECRET), "{text}\n{error}");
    }
    for (text, expected) in [
        (
            "target = { url = 'h', bearer = '{env:NONE}' }",
            "{env:NONE}: the environment variable NONE is not set",
        ),
        ("target = { url = 'h', bearer = '{secret:none}' }", "{secret:plans/none}: cannot read 'plans/none'"),
        (
            "target = { url = 'h', bearer = '{env:LINES}' }",
            "{env:LINES}: it is used in a header and holds a line break",
        ),
    ] {
        let mut plan = plan(PlanCommand::Run, &format!("load.rate = 1\n{text}")).expect(text);
        let error = plan.bind(secret_file, env).expect_err(text).to_string();
        assert!(error.starts_with(expected) && !error.contains(SECRET), "{error}");
    }
}

#[test]
fn one_kind_of_credentials() {
    for text in [
        "target = { url = 'h', basic = 'a:b', bearer = 'c' }",
        "target = { url = 'h', basic = 'a:b', headers = { authorization = 'c' } }",
        "target.url = 'h'\nrequest = { basic = 'a:b', bearer = 'c' }",
    ] {
        let error = plan(PlanCommand::Run, &format!("load.rate = 1\n{text}")).expect_err(text).to_string();
        assert!(error.contains("give one kind of credentials"), "{error}");
    }
}
