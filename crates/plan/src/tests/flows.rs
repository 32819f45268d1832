//! Several requests, flows, data sets and statements.

use super::{no_env, plan, read, request, who};
use crate::*;
use units::Nanos;

fn run(text: &str) -> Plan {
    plan(PlanCommand::Run, &format!("load.rate = 1\n{text}")).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

pub(super) const BUY: &str = "
[target]
url = 'http://h:80/x'
headers = { Accept = 'a', X-Same = 'target' }
[data.users]
file = 'u.csv'
order = 'once'
[[request]]
weight = 9
url = '/read/{1..9}?{users.id}'
headers = { x-same = 'own' }
[[flow]]
name = 'buy'
weight = 0.5
[[flow.step]]
name = 'login'
url = 'http://h/login'
form = { user = '{users.id}', same = '{token' }
take = { token = 'json:/a/b', id = 'regex:id=(\\d+)' }
expect_header = { Content-Type = 'json' }
expect_body = ['ok', 'fine']
expect_json = { '/n' = 5, '/yes' = true, '/t' = 'x=y' }
[[flow.step]]
think = '1s..3s'
url = '{token}'
take = ['token=header:Location', 'c = cookie:session']
timeout = '5s'
[[flow.step]]
url = '/{token}/{id}/{c}/{unknown}'
think = '250ms'
[[request]]
";

#[test]
fn requests_and_flows() {
    let plan = run(BUY);
    let names: Vec<_> =
        plan.flows.iter().map(|flow| (flow.name.as_str(), flow.weight, flow.cookies)).collect();
    assert_eq!(
        names,
        [("GET /read/{1..9}?{users.id}", 9.0, false), ("buy", 0.5, true), ("GET /x", 1.0, false),]
    );
    assert!(plan.flows[0].is_plain() && !plan.flows[1].is_plain());
    let steps = &plan.flows[1].steps;
    let names: Vec<_> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["login", "GET {token}", "GET /{token}/{id}/{c}/{unknown}"]);
    let ms = Nanos::from_millis;
    let thinks: Vec<_> = steps.iter().map(|step| step.think).collect();
    assert_eq!(thinks, [None, Some((ms(1000), ms(3000))), Some((ms(250), ms(250)))]);
    assert_eq!(steps[1].timeout, ms(5000));
    assert_eq!(
        steps[0].takes,
        [
            Extraction { name: "token".to_owned(), from: ExtractionSource::Json("/a/b".to_owned()) },
            Extraction { name: "id".to_owned(), from: ExtractionSource::Regex("id=(\\d+)".to_owned()) },
        ]
    );
    let login = steps[0].request().expect("a request");
    assert_eq!((login.method.as_str(), login.path.to_string().as_str()), ("POST", "/login"));
    let check = |pointer: &str, value: &str| AnswerCheck::Json(pointer.to_owned(), value.to_owned());
    assert_eq!(
        login.checks,
        [
            AnswerCheck::Header("Content-Type".to_owned(), "json".to_owned()),
            AnswerCheck::Body("ok".to_owned()),
            AnswerCheck::Body("fine".to_owned()),
            check("/n", "5"),
            check("/yes", "true"),
            check("/t", "x=y"),
        ]
    );
    // The second step's token is the first one's, the third step's the one extracted since.
    let sent = |step: usize| {
        let taken = [b"http://h/cart".to_vec(), b"7".to_vec(), b"a b".to_vec(), b"s".to_vec()];
        let mut out = Vec::new();
        let context = RenderContext { extracted: &taken, ..who(0) };
        steps[step].request().expect("a request").render_path(&context, &mut out);
        String::from_utf8(out).expect("text")
    };
    assert_eq!((sent(1).as_str(), sent(2).as_str()), ("/cart", "/a%20b/7/s/{unknown}"));
    // A request's own headers come before those of all.
    let headers = |plan: &Plan, flow: usize| -> Vec<String> {
        let request = plan.flows[flow].steps[0].request().expect("a request");
        request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect()
    };
    assert_eq!(headers(&plan, 0), ["Accept: a", "x-same: own"]);
    assert_eq!(headers(&plan, 2), ["Accept: a", "X-Same: target"]);
    assert_eq!(plan.url(), "http://h/");
    assert_eq!(Plan::from_toml(&plan.to_toml(), PlanCommand::Run), Ok(plan));
}

#[test]
fn one_flow_table_and_names_that_are_alike() {
    let plan = run("target.url = 'h'\nrequest = [{ url = '/a' }, { url = '/a' }, { name = 'GET /a (2)' }]");
    let names: Vec<_> = plan.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["GET /a", "GET /a (3)", "GET /a (2)"]);
    let plan = run("target.url = 'h'\nflow = { step = [{ url = '/a' }, { url = '/a' }] }");
    let names: Vec<_> = plan.flows[0].steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!((plan.flows[0].name.as_str(), names), ("flow 1", vec!["GET /a", "GET /a (2)"]));
    assert!(run("target.url = 'h'\nflow = { step = [{ url = '/a' }] }").flows[0].is_plain());
}

#[test]
fn messages() {
    const FLOW: &str = "[[flow]]\n[[flow.step]]\nurl = '/'\n";
    for (text, expected) in [
        ("[[flow]]", "plans/p.toml:1:1: a flow without steps; expected at least one [[flow.step]]"),
        (
            "[[flow]]\n[[flow.step]]\n",
            "2:1: a step without url; expected url = \"/path\"\n 2 | [[flow.step]]",
        ),
        (
            "[[flow]]\nurl = '/'",
            "2:1: unknown key 'url' in [[flow]]; it belongs in [target] or in [request] or in [[flow.step]]",
        ),
        ("[[flow]]\nstpe = []", "2:1: unknown key 'stpe' in [[flow]]; did you mean 'step'?"),
        ("[[flow]]\nx = 1", "expected one of: name, weight, cookies, [[flow.step]]"),
        ("flow = [1]", "1:9: 'flow' is a number; expected a section [[flow]]"),
        ("flow = { step = 'x' }", "'flow' is text; expected a section [[flow.step]]"),
        ("request = 5", "1:11: 'request' is a number; expected a section [request]"),
        ("[request]\nthink = '1s'", "2:1: unknown key 'think' in [request]; it belongs in [[flow.step]]"),
        ("cookies = true", "1:1: unknown key 'cookies' at the top; it belongs in [[flow]]"),
        ("[[request]]\nweight = 0", "2:10: '0' is not a weight, a number above 0"),
        ("[[request]]\nweight = -1", "'-1' is not a weight"),
        ("[[request]]\nweight = nan", "'nan' is not a weight"),
        ("[[request]]\nname = ''", "2:8: expected a name"),
        ("[[request]]\nname = 'a'\n[[request]]\nname = 'a'", "4:8: 'a' is already used as a name"),
        ("[[request]]\nurl = 'x'", "2:7: 'x' is neither a path nor a URL; expected it to begin with '/'"),
        ("[[request]]\nurl = '{uuid}'", "expected it to begin with '/'"),
        ("[[request]]\nurl = '/a b'", "2:7: '/a b' is not a URL without spaces"),
        ("[[request]]\nurl = 'http://other/'", "2:7: this is not on the target"),
        ("[[request]]\nurl = 'https://h/'", "this is not on the target"),
        ("[[request]]\nurl = 'http://h:8080/'", "this is not on the target"),
        ("[[request]]\nurl = 'http://u:p@h/'", "user and password go in [target] url"),
        ("[request]\nsql = 'select 1'", "2:7: a statement needs a database"),
        ("[request]\nexpect_body = ''", "2:15: every body contains nothing"),
        ("[request]\nexpect_json = { 'a' = 1 }", "2:17: 'a' is not a JSON pointer such as /user/0/name"),
        ("[request]\nexpect_json = { '/a~2' = 1 }", "'/a~2' is not a JSON pointer"),
        ("[request]\nexpect_json = { '/a=b' = 1 }", "a name in 'expect_json' cannot hold '='"),
        ("[request]\nexpect_json = { '/a' = [[1]] }", "'/a' is a list"),
        ("[request]\nexpect_header = { 'a b' = 1 }", "'a b' is not the name of a header"),
        ("[data]\nx = 1", "'data' is a number; expected a section [data.NAME]"),
        ("[data.users]", "1:7: no file for 'users'; expected file = \"users.csv\""),
        (
            "[data.users]\nfile = 'u.csv'\norder = 'rnadom'",
            "3:9: 'rnadom' is not known here; did you mean 'random'?",
        ),
        ("[data.users]\nfile = 'u.csv'\norder = 'shuffled'", "expected one of: cycle, random, once"),
        ("[data.'a b']\nfile = 'u.csv'", "1:7: 'a b' is not the name of a data set"),
        ("[data.users]\nfiel = 'u.csv'", "2:1: unknown key 'fiel' in [data.NAME]; did you mean 'file'?"),
        ("[data.u]\nfile = 'u'\n[request]\nbody = '{u.}'", "4:8: '{u.}' is not a column of a data set"),
        ("[generator]\nlateness = '2s'", "2:12: '2s' is too long; expected at most 1 s"),
        ("[generator]\nlateness = 5", "2:12: '5' is not a duration"),
        ("[generator]\npool = 5", "2:8: only a postgres:// target has a pool"),
    ] {
        check(&format!("{text}\n[target]\nurl = 'h'\n[load]\nrate = 1"), expected);
    }
    for (step, expected) in [
        ("think = '3s..1s'", "4:9: '3s..1s' ends before it begins"),
        ("think = '1..2'", "4:9: '1' is not a duration"),
        ("think = '1s..1000h'", "4:9: '1s..1000h' is too long; expected at most a month"),
        ("think = '1s'", "4:9: a pause before the first step, which begins when its user arrives"),
        ("take = { token = 'jsn:/a' }", "4:10: 'jsn' is not known here; did you mean 'json'?"),
        (
            "take = { token = 'xpath:/a' }",
            "'xpath' is not known here; expected one of: json, regex, header, cookie",
        ),
        ("take = { token = 'access' }", "'access' does not say where it stands; expected json:/pointer"),
        ("take = { token = 'json:a' }", "'a' is not a JSON pointer"),
        ("take = { token = 'regex:(' }", "'(' is not a regular expression: unclosed group"),
        ("take = { token = 'header:a b' }", "'a b' is not the name of a header"),
        ("take = { token = 'cookie:' }", "'' is not the name of a cookie"),
        ("take = { uuid = 'json:/a' }", "'uuid' cannot be taken as a name: letters"),
        ("take = { 'a b' = 'json:/a' }", "'a b' cannot be taken as a name: letters"),
        ("take = 'token'", "'take' is text; expected a table such as"),
        (
            "take = { id = 'json:/a' }\nbody = '{id}'",
            "5:8: '{id}' is not known here: it is taken from the answer",
        ),
        (
            "body = '{id}'\n[[flow.step]]\nurl = '/'\ntake = { id = 'json:/a' }",
            "4:8: '{id}' is not known here",
        ),
        ("name = 'a'\n[[flow.step]]\nurl = '/'\nname = 'a'", "7:8: 'a' is already used as a name"),
        ("weight = 5", "4:1: unknown key 'weight' in [[flow.step]]; it belongs in [request] or in [[flow]]"),
        ("sql = 'x'", "a statement needs a database"),
    ] {
        check(&format!("{FLOW}{step}\n[target]\nurl = 'h'\n[load]\nrate = 1"), expected);
    }
    for (text, expected) in [
        ("", "no statement for the database; expected sql = \"select 1\", or --sql 'select 1'"),
        ("request = { url = '/' }", "no statement for the database"),
        (
            "request = { sql = 'select 1', url = '/' }",
            "a statement has no url: that is for http:// and https:// targets",
        ),
        ("request = { sql = 'select 1', expect_status = 200 }", "a statement has no expect_status"),
        ("flow = { step = [{ sql = 'select 1', take = { a = 'json:/b' } }] }", "a statement has no take"),
        ("request = { sql = 'select $1' }", "a parameter is written as a placeholder"),
        ("request = { sql = 'select 1; select 2' }", "one statement at a time"),
        ("[request]\nsql = 'select {random:1..}'", "'{random:1..}' is not a random number"),
        ("target.headers = { a = 'b' }", "only an http:// or https:// target has headers"),
        ("target.basic = 'a:b'", "only an http:// or https:// target has credentials such as these"),
        ("target.http = 2", "only an http:// or https:// target has a version of HTTP"),
        ("target.unix_socket = '/s'", "postgres://me@%2Frun%2Fpostgresql/db"),
        (
            "request.sql = 'select 1'\ngenerator = { pool = 5, connections = 6 }",
            "the pool is the number of connections",
        ),
        ("request.sql = 'select 1'\ngenerator.pool = 0", "'0' is not a number of connections"),
    ] {
        check(&format!("target.url = 'postgres://me@h/d'\nload.rate = 1\n{text}"), expected);
    }
    check("target = { url = 'h', http = 3 }", "'3' is not a version of HTTP, \"1\" or \"2\"");
    check("target = { url = 'h', http = 1, streams = 5 }", "HTTP/1.1 has no streams");
    check("target = { url = 'h', streams = 0 }", "'0' is not a number of streams");
    check("target = { url = 'demo', http = 2 }", "the built-in service does not");
    check("target = { url = 'null', streams = 2 }", "only an http:// or https:// target has streams");
    let many = "[[request]]\n".repeat(1001);
    check(&format!("target.url = 'h'\n{many}"), "1001 requests in one plan; expected at most 1000");
}

fn check(text: &str, expected: &str) {
    let error = plan(PlanCommand::Run, text).expect_err(text).to_string();
    assert!(error.contains(expected), "{text}\nexpected: {expected}\nfound: {error}");
    assert!(error.lines().count() <= 3, "{error}");
}

#[test]
fn options_are_for_every_request() {
    let with = |options: &[(Key, &'static str, &str)]| {
        let mut overrides = Draft::default();
        options.iter().for_each(|(key, option, text)| overrides.set(*key, option, *text));
        let draft = Draft::from_toml("p.toml", &format!("load.rate = 1\n{BUY}")).expect("valid");
        draft.overlaid_by(overrides).check(PlanCommand::Run, &mut read).map_err(|e| e.to_string())
    };
    let plan = with(&[
        (Key::Headers, "-H", "X-SAME: option"),
        (Key::Timeout, "--timeout", "7s"),
        (Key::ExpectStatus, "--expect-status", "418"),
        (Key::ExpectBody, "--expect-body", "tea"),
        (Key::Bearer, "--bearer", "{env:TOKEN}"),
    ])
    .expect("valid");
    for step in plan.flows.iter().flat_map(|flow| &flow.steps) {
        let request = step.request().expect("a request");
        let headers: Vec<_> =
            request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert!(headers.contains(&"X-SAME: option".to_owned()), "{headers:?}");
        assert!(headers.contains(&"Authorization: Bearer {env:TOKEN}".to_owned()), "{headers:?}");
        assert_eq!(headers.iter().filter(|header| header.to_lowercase().starts_with("x-same")).count(), 1);
        assert_eq!((step.timeout, &request.expect[..]), (Nanos::from_secs(7), &[StatusRange(418, 418)][..]));
        assert!(request.checks.contains(&AnswerCheck::Body("tea".to_owned())));
    }
    for (key, option) in [
        (Key::Method, "--method"),
        (Key::Body, "--body"),
        (Key::BodyFile, "--body-file"),
        (Key::Form, "--form"),
    ] {
        let error = with(&[(key, option, "GET")]).expect_err(option);
        assert!(error.starts_with(&format!("{option}: the plan has 5 requests")), "{error}");
    }
    let error = with(&[(Key::Sql, "--sql", "select 1")]).expect_err("not a database");
    assert_eq!(error, "--sql: a statement needs a database: the target is no postgres:// URL");
}

#[test]
fn statements() {
    let mut draft =
        Draft::from_toml("p.toml", "target.url = 'postgresql://me:{env:PG}@h/d'\nload.requests = 99")
            .expect("valid");
    draft = draft.overlaid_by({
        let mut overrides = Draft::default();
        overrides.set(Key::Sql, "--sql", "3: select '{1..9}::int' || {counter}");
        overrides.set(Key::Sql, "--sql", "select a::text from t");
        overrides.set(Key::Pool, "--pool", "20");
        overrides.set(Key::Timeout, "--timeout", "1s");
        overrides
    });
    let plan = draft.check(PlanCommand::Run, &mut read).expect("valid");
    let weights: Vec<_> = plan.flows.iter().map(|flow| (flow.weight, flow.name.as_str())).collect();
    assert_eq!(weights, [(3.0, "select '{1..9}::int' || {counter}"), (1.0, "select a::text from t")]);
    let Payload::Sql(statement) = &plan.flows[0].steps[0].ask else { panic!("a statement") };
    assert_eq!(statement.text, "select $1 || $2");
    let mut out = Vec::new();
    statement.render_parameter(0, &who(3), &mut out);
    assert_eq!(out, b"4::int");
    assert_eq!(plan.generator.connections, 20);
    assert!(matches!(plan.task, Task::Run(Load::Closed { connections: 20, requests: Some(99), .. })));
    assert_eq!(plan.url(), "postgres://me@h/d");
    assert_eq!(Plan::from_toml(&plan.to_toml(), PlanCommand::Run), Ok(plan));
    for (text, connections) in [
        ("load.rate = 5", 16),
        ("load.connections = 64", 64),
        ("load.connections = 4", 16),
        ("load.rate = 5\ngenerator.connections = 7", 7),
    ] {
        let text = format!("target.url = 'postgres://me@h/d'\nrequest.sql = 'select 1'\n{text}");
        assert_eq!(
            super::plan(PlanCommand::Run, &text).expect("valid").generator.connections,
            connections,
            "{text}"
        );
    }
    let mut overrides = Draft::default();
    overrides.set(Key::Url, "TARGET", "postgres://me@h/d");
    overrides.set(Key::Sql, "--sql", "0: select 1");
    overrides.set(Key::Requests, "-n", "1");
    let error = overrides.check(PlanCommand::Run, &mut read).expect_err("no weight").to_string();
    assert_eq!(error, "--sql: '0' is not a weight, a number above 0 such as 3 or 0.5");
}

#[test]
fn all_columns_are_of_one_row() {
    let text = "[target]\nurl = 'h/{users.id}?{users.name}'\n[data.users]\nfile = 'u.ndjson'\norder = 'random'\n\
                [request]\nheaders = { x = '{users.id}' }\nform = { n = '{users.name}' }\nbasic = '{users.id}:{users.name}'";
    let mut plan = run(text);
    let rows: String = (0..100).map(|n| format!("{{\"id\": {n}, \"name\": \"n {n}\"}}\n")).collect();
    let mut reads = 0;
    let read = |_: &str| {
        reads += 1;
        Ok(rows.clone())
    };
    plan.bind(read, no_env).expect("both columns are there");
    assert_eq!((reads, plan.arrivals_limit()), (1, None));
    let mut seen = std::collections::BTreeSet::new();
    for k in 0..1000 {
        let mut out = Vec::new();
        let request = request(&plan);
        request.render_path(&who(k), &mut out);
        out.push(b' ');
        request.render_header(0, &who(k), &mut out);
        out.push(b' ');
        request.render_body(&who(k), &mut out);
        let text = String::from_utf8(out).expect("text");
        let n: u32 = text.rsplit('+').next().and_then(|n| n.parse().ok()).expect("it ends with the number");
        assert_eq!(text, format!("/{n}?n%20{n} {n} n=n+{n}"));
        seen.insert(n);
    }
    assert_eq!(seen.len(), 100);
}

#[test]
fn rows_that_are_used_once_bound_the_load() {
    let bound = |load: &str, command| {
        let text = format!(
            "target.url = 'h/{{users.id}}'\n[data.users]\nfile = 'u.csv'\norder = 'once'\n[load]\n{load}"
        );
        let mut plan = plan(command, &text).expect("valid");
        plan.bind(|_| Ok("id\n1\n2\n3\n".to_owned()), no_env).map(|()| plan)
    };
    for load in
        ["rate = 3\nduration = '1s'", "connections = 1", "requests = 3", "rate = 9\narrivals = 'poisson'"]
    {
        assert_eq!(bound(load, PlanCommand::Run).expect(load).arrivals_limit(), Some(3));
    }
    assert_eq!(bound("arrivals = 'even'", PlanCommand::Find).expect("a search").arrivals_limit(), Some(3));
    for load in ["rate = 4\nduration = '1s'", "requests = 4"] {
        let error = bound(load, PlanCommand::Run).expect_err(load).to_string();
        assert_eq!(
            error,
            "the load has 4 arrivals, and the data set 'users' 3 rows, each for one of them: shorten the load, or \
             let it start again with order = \"cycle\""
        );
    }
}

#[test]
fn data_that_is_not_there() {
    let error = |column: &str, text: Result<&str, &str>| {
        let plan = format!("target.url = 'h/{{u.{column}}}'\ndata.u.file = 'u.csv'");
        let read = |_: &str| text.map(str::to_owned).map_err(str::to_owned);
        run(&plan).bind(read, no_env).expect_err(column).to_string()
    };
    assert_eq!(error("id", Err("cannot read 'u.csv'")), "{u.id}: cannot read 'u.csv'");
    assert!(error("id", Ok("name\nx")).starts_with("plans/u.csv:1:1: no column 'id'; the file has: name"));
}

#[test]
fn several_are_described_with_their_shares() {
    let lines = run(BUY).describe();
    assert_eq!(
        lines[1..5],
        [
            "requests 85.7 %  GET /read/{1..9}?{users.id}, 2 headers",
            "         4.76 %  buy: 3 steps, with cookies: login ▸ GET {token} ▸ GET /{token}/{id}/{c}/{unknown}",
            "         9.52 %  GET /x, 2 headers",
            "data     users from plans/u.csv, each row once",
        ]
    );
    let lines = run("target.url = 'h'\nflow = { step = [{ url = '/a' }, { url = '/b' }], cookies = false }")
        .describe();
    assert_eq!(lines[1], "flow     flow 1: 2 steps: GET /a ▸ GET /b");
    let many: String = (0..11).map(|n| format!("[[request]]\nname = 'r{n}'\n")).collect();
    let lines = run(&format!("target.url = 'h'\n{many}")).describe();
    assert_eq!(lines[1], "requests 9.09 %  r0: GET /");
    assert_eq!(lines[9], "         and 3 more");
    let lines =
        run("target.url = 'postgres://me:pw@h/d?sslmode=require'\nrequest.sql = '''select\n 1'''").describe();
    assert_eq!(
        lines[0],
        "target   PostgreSQL, postgres://me@h/d?sslmode=require, encrypted, any certificate accepted"
    );
    assert_eq!(lines[1], "request  select 1; answered means within 10 s");
}
