mod experiment;
mod fleet;
mod flows;
mod portable;
mod reference;
mod round_trip;
mod secrets;
mod service;

use super::*;
use units::{Nanos, Rate, Share};

fn read(file: &str) -> Result<Vec<u8>, String> {
    match file {
        "body.json" | "plans/body.json" => Ok(b"{\"id\": {counter}}".to_vec()),
        _ => Err(format!("cannot read '{file}': no such file")),
    }
}

fn plan(command: PlanCommand, text: &str) -> Result<Plan, Error> {
    Draft::from_toml("plans/p.toml", text)?.check(command, &mut read)
}

fn run(text: &str) -> Plan {
    plan(PlanCommand::Run, &format!("target.url = 'h/'\n{text}")).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn find(text: &str) -> SearchPlan {
    match plan(PlanCommand::Find, &format!("target.url = 'h/'\n{text}"))
        .unwrap_or_else(|e| panic!("{text}\n{e}"))
        .task
    {
        Task::Find(find) => find,
        Task::Run(_) | Task::Try(_) => panic!("{text}"),
    }
}

fn request(plan: &Plan) -> &Request {
    plan.flows[0].steps[0].request().expect("an HTTP request")
}

fn no_env(name: &str) -> Result<String, String> {
    Err(format!("no variable '{name}' in this test"))
}

fn who(number: u64) -> RenderContext<'static> {
    RenderContext { number, seed: 1, extracted: &[] }
}

fn stage(seconds: u64, from: f64, to: f64) -> Stage {
    Stage { duration: Nanos::from_secs(seconds), from: Rate(from), to: Rate(to) }
}

#[test]
fn the_demo_plan_is_a_plan() {
    let text = include_str!("../../../plans/demo.toml");
    let run = plan(PlanCommand::Run, text).expect("demo.toml");
    assert_eq!((run.url().as_str(), &run.target), ("demo/queue?us=500", &Target::Demo));
    let Task::Run(Load::Open { stages, .. }) = run.task else { panic!("{:?}", run.task) };
    assert_eq!(stages[0], stage(10, 0.0, 15.0));
    assert_eq!(stages[4], stage(20, 1500.0, 1500.0));
    let Task::Find(find) = plan(PlanCommand::Find, text).expect("demo.toml").task else { panic!("a search") };
    assert_eq!(find.budget, Some(Nanos::from_secs(120)));
}

#[test]
fn the_example_plans_are_plans() {
    let mix = plan(PlanCommand::Find, include_str!("../../../plans/mix.toml")).expect("mix.toml");
    let weights: Vec<_> = mix.flows.iter().map(|flow| (flow.name.as_str(), flow.weight)).collect();
    assert_eq!(weights, [("owner", 8.0), ("fortunes", 1.0), ("new owner", 1.0)]);
    let flow = plan(PlanCommand::Run, include_str!("../../../plans/flow.toml")).expect("flow.toml");
    let Flow { cookies: true, steps, .. } = &flow.flows[0] else { panic!("a flow") };
    let path = &steps[2].request().expect("a request").path;
    assert!(
        matches!(&path.pieces[..], [TemplatePiece::Taken { number: 0, fit: Escaping::Url, .. }]),
        "{path:?}"
    );
}

#[test]
fn loads() {
    let open = |stages: &[Stage]| Load::Open { stages: stages.to_vec(), arrivals: Arrivals::Even };
    let closed = |connections, requests, seconds: Option<u64>| Load::Closed {
        connections,
        requests,
        duration: seconds.map(Nanos::from_secs),
    };
    for (text, expected) in [
        ("load.rate = 500", open(&[stage(30, 500.0, 500.0)])),
        ("load = { rate = '500/s', duration = '20s' }", open(&[stage(20, 500.0, 500.0)])),
        ("load = { rate = 500, requests = 10_000 }", open(&[stage(20, 500.0, 500.0)])),
        (
            "load.stages = '10s:5 20s:5 10s:0'",
            open(&[stage(10, 0.0, 5.0), stage(20, 5.0, 5.0), stage(10, 5.0, 0.0)]),
        ),
        (
            "load.stages = ['0s:100', '5s:100', '0s:300', '5s:200']",
            open(&[stage(5, 100.0, 100.0), stage(5, 300.0, 200.0)]),
        ),
        (
            "load = { rate = 1000, stages = 'article' }",
            open(&[
                stage(30, 0.0, 10.0),
                stage(30, 10.0, 100.0),
                stage(30, 100.0, 500.0),
                stage(30, 500.0, 1000.0),
                stage(60, 1000.0, 1000.0),
            ]),
        ),
        (
            "load = { rate = 200, stages = ['1m:50%', '1s:7'] }",
            open(&[stage(60, 0.0, 100.0), stage(1, 100.0, 7.0)]),
        ),
        ("load.connections = 64", closed(64, None, Some(30))),
        ("load.requests = 1000", closed(50, Some(1000), None)),
        ("load.requests = 3", closed(3, Some(3), None)),
        ("load = { connections = 1, requests = 9, duration = '1m' }", closed(1, Some(9), Some(60))),
    ] {
        assert_eq!(run(text).task, Task::Run(expected), "{text}");
    }
    let Task::Run(Load::Open { arrivals, .. }) = run("load = { rate = 5, arrivals = 'poisson' }").task else {
        panic!("an open loop")
    };
    assert_eq!(arrivals, Arrivals::Poisson);
}

#[test]
fn searches() {
    let base = SearchPlan::default();
    for (text, expected) in [
        ("", base.clone()),
        (
            "find = { from = 100, max = '20k/s' }",
            SearchPlan { from: Rate(100.0), max: Rate(20_000.0), ..base.clone() },
        ),
        ("find.max = 50", SearchPlan { from: Rate(5.0), max: Rate(50.0), ..base.clone() }),
        ("find.careful = true", base.clone().careful()),
        (
            "find = { careful = true, width = '5%' }",
            SearchPlan { width: Share(0.05), ..base.clone().careful() },
        ),
        (
            "find.trial = '2s'",
            SearchPlan { trial: Nanos::from_secs(2), sum: Nanos::from_secs(6), ..base.clone() },
        ),
        (
            "find = { width = 0.1, sum = '10s' }",
            SearchPlan { width: Share(0.1), sum: Nanos::from_secs(10), ..base.clone() },
        ),
        ("load.arrivals = 'poisson'", SearchPlan { arrivals: Arrivals::Poisson, ..base.clone() }),
    ] {
        assert_eq!(find(text), expected, "{text}");
    }
}

#[test]
fn requests() {
    let text = |request: &Request| {
        let headers =
            request.headers.iter().map(|(name, value)| format!("{name}: {value}, ")).collect::<String>();
        format!("{} {headers}{}", request.method, request.body)
    };
    for (toml, expected) in [
        ("", "GET "),
        ("method = 'delete'", "DELETE "),
        ("method = 'purge'", "purge "),
        ("body = 'x'", "POST x"),
        ("method = 'GET'\nbody = 'x'", "GET x"),
        ("body_file = 'body.json'", "POST {\"id\": {counter}}"),
        ("body_base64 = 'aGk='", "POST hi"),
        ("headers = { b = '1', a = '{uuid}', c = ['x', 'y'] }", "GET b: 1, a: {uuid}, c: x, c: y, "),
        ("headers = ['b:1', 'A: x:y ']", "GET b: 1, A: x:y, "),
        ("headers = { n = 5 }", "GET n: 5, "),
        (
            "form = { b = 'x y', a = '{1..3}&' }",
            "POST Content-Type: application/x-www-form-urlencoded, b=x+y&a={1..3}%26",
        ),
        (
            "form = ['a=b=c']\nheaders.content-type = 'text/x'\nmethod = 'PUT'",
            "PUT content-type: text/x, a=b%3Dc",
        ),
        ("body = '{file:names.csv:n}'", "POST {file:plans/names.csv:n}"),
        ("body = '{file:/etc/names.csv:n}'", "POST {file:/etc/names.csv:n}"),
    ] {
        assert_eq!(text(request(&run(&format!("load.rate = 1\n[request]\n{toml}")))), expected, "{toml}");
    }
}

#[test]
fn a_message_says_where_what_and_what_else() {
    for (text, expected) in [
        (
            "[load]\nrte = 5",
            "plans/p.toml:2:1: unknown key 'rte' in [load]; did you mean 'rate'?\n 2 | rte = 5\n   | ^^^",
        ),
        ("rate = 5", "plans/p.toml:1:1: unknown key 'rate' at the top; it belongs in [load]"),
        ("[load]\ngoal = 'x'", "2:1: unknown key 'goal' in [load]; it belongs at the top"),
        ("[laod]\nrate = 1", "1:2: unknown key 'laod' at the top; did you mean 'load'?"),
        (
            "[find]\nspeed = 1",
            "2:1: unknown key 'speed' in [find]; expected one of: from, max, width, trial, sum, careful, strict, budget",
        ),
        (
            "colour = 1",
            "expected one of: goal, [target], [data], [request], [flow], [load], [find], [generator]",
        ),
        ("load = 5", "1:8: 'load' is a number; expected a section [load]"),
        (
            "[load]\nrate = true",
            "2:8: 'rate' is a boolean; expected a number, or text in quotes\n 2 | rate = true\n   |        ^^^^",
        ),
        ("[load]\nrate = 0x10", "2:8: 'rate' is a number"),
        ("[load]\nstages = [['a']]", "2:11: 'stages' holds a list; expected text or numbers"),
        ("[load]\nstages = false", "2:10: 'stages' is a boolean; expected text, a number, or a list of them"),
        ("[target]\ninsecure = 'yes'", "2:12: 'insecure' is text; expected true or false"),
        ("[target]\nurl = 5", "2:7: 'url' is a number; expected text in quotes"),
        ("[request]\nheaders = 'a: b'", "2:11: 'headers' is text; expected a table such as"),
        ("[request]\nheaders = ['a']", "2:12: each of 'headers' is expected as \"name:value\""),
        ("[request]\nheaders = { 'a:b' = 'c' }", "2:13: a name in 'headers' cannot hold ':'"),
        ("[request]\nheaders = { a = true }", "2:13: 'a' is a boolean; expected text in quotes"),
        ("[load]\nrate = ", "plans/p.toml:2:8: "),
        ("[load\nrate = 5", "plans/p.toml:1:"),
        ("[load]\nrate = 5\nrate = 6", "plans/p.toml:3:1: "),
        (
            "goal = 'fast'",
            "1:8: 'fast' is not a goal such as zero-drop, loss<0.1% or p99<50ms\n 1 | goal = 'fast'\n   |        ^^^^^^",
        ),
        ("goal = 'p99<0'", "1:8: expected a deadline above 0: every answer takes some time"),
        ("[load]\nrate = '10 parsecs'", "2:8: '10 parsecs' is not a rate such as 1000"),
        ("[load]\nrate = 0", "2:8: '0' is too low; expected a rate above 0"),
        ("[load]\nrate = -5", "2:8: '-5' is not a rate"),
        ("[load]\nrate = 1e9", "2:8: '1e9' is not a rate"),
        ("[load]\nrate = 1_000_000_000", "2:8: '1000000000' is too high; expected at most 100,000,000/s"),
        ("", "how much load? Give --rate"),
        ("[load]\nduration = '5s'", "how much load? Give --rate"),
        ("[load]\nrate = 5\nduration = 30", "3:12: '30' is not a duration such as"),
        ("[load]\nrate = 5\nduration = '0s'", "3:12: '0s' is too short; expected a time above 0"),
        ("[load]\nrate = 5\nduration = '1000h'", "3:12: '1000h' is too long; expected at most a month"),
        ("[load]\nrate = 5\narrivals = 'random'", "3:12: 'random' is neither even nor poisson"),
        ("[load]\nconnections = 5\narrivals = 'even'", "3:12: a closed loop plans no arrivals"),
        ("[load]\nconnections = 0", "2:15: '0' is not a number of connections, a whole number from 1"),
        ("[load]\nconnections = 5000000", "2:15: '5000000' is too large; expected at most 1048576"),
        ("[load]\nrequests = 1.5", "2:12: '1.5' is not a number of requests, a whole number from 1"),
        ("[load]\nrate = 5\nconnections = 5", "3:15: connections make a closed loop"),
        ("[load]\nrate = 5\nrequests = 5\nduration = '1s'", "3:12: a rate with both a duration and a number"),
        ("[load]\nrate = 0.001\nrequests = 5000000", "3:12: at this rate, this takes longer than a month"),
        ("[load]\nstages = '30s'", "2:10: '30s' is not a stage: expected DURATION:RATE"),
        ("[load]\nstages = ['1s:5', '5%:30s']", "2:19: '5%:30s' is not a stage: '5%' is not a duration"),
        ("[load]\nstages = '30s:x'", "'30s:x' is not a stage: 'x' is not a rate"),
        ("[load]\nstages = '30s:5%'", "'30s:5%' is not a stage: percent of what? Give a rate too"),
        ("[load]\nrate = 5\nstages = '30s:-5%'", "expected 0% to 1000%"),
        ("[load]\nrate = 5\nstages = '30s:5'", "2:8: no stage is a percentage of it"),
        ("[load]\nstages = '30s:0'", "2:10: these stages offer nothing"),
        ("[load]\nstages = []", "how much load?"),
        ("[load]\nstages = '0s:5'", "2:10: these stages offer nothing"),
        ("[load]\nstages = '400h:5 400h:6'", "2:10: these stages take longer than a month"),
        ("[load]\nstages = '30s:5'\nduration = '5s'", "3:12: stages already say how long"),
        ("[request]\nbody = 'a'\nform = { b = 'c' }", "3:10: a request has one body"),
        ("[request]\nbody_file = 'x.json'", "2:13: cannot read 'plans/x.json': no such file"),
        ("[request]\nbody_base64 = '?'", "2:15: this is not base64"),
        (
            "[request]\nbody = '{random:1..}'",
            "2:8: '{random:1..}' is not a random number such as {random:1..1000}",
        ),
        ("[request]\nmethod = 'GE T'", "2:10: 'GE T' is not a method such as GET"),
        ("[request]\nmethod = 'connect'", "2:10: 'connect' is not a method"),
        (
            "[request]\nheaders = { Content-Length = '5' }",
            "2:13: torment sets 'Content-Length' itself, from the body: leave it out\n \
             2 | headers = { Content-Length = '5' }\n   |             ^^^^^^^^^^^^^^^^^^^^",
        ),
        ("[request]\nheaders = ['transfer-encoding: chunked']", "itself, from the body"),
        ("[request]\nheaders = { 'a b' = '5' }", "'a b' is not the name of a header"),
        ("[request]\nheaders = { a = \"5\\r\\nb: c\" }", "the value of 'a' holds a line break"),
        ("[request]\nheaders = { a = '{file:x}' }", "'{file:x}' is not a column"),
        ("[request]\nform = { '' = 'x' }", "is not a form field"),
        ("[request]\ntimeout = '0s'", "2:11: '0s' is too short; expected a time above 0"),
        ("[request]\nexpect_status = ['2xx', 70]", "2:25: '70' is not a status such as 200"),
        ("[request]\nexpect_status = '200,,300'", "2:17: '' is not a status"),
        ("[generator]\nconnections = 0", "'0' is not a number of connections"),
        ("[generator]\noutstanding = 0", "'0' is not a number of arrivals"),
        ("[generator]\ncores = [0, 'x']", "2:13: 'x' is not a list of processors"),
        ("[generator]\nseed = -1", "2:8: '-1' is not a seed, a whole number from 0"),
    ] {
        let has_url = text.contains("[target]") || text.starts_with("load =");
        let text = if has_url { text.to_owned() } else { format!("{text}\n[target]\nurl = 'h'") };
        // A valid load, so that a message about the rest is not about the load.
        let text = match text.contains("load") || text.contains("laod") || expected.starts_with("how much") {
            true => text,
            false => format!("{text}\n[load]\nrate = 5"),
        };
        let error = plan(PlanCommand::Run, &text).expect_err(&text).to_string();
        assert!(error.contains(expected), "{text}\nexpected: {expected}\nfound: {error}");
        assert!(error.lines().count() <= 3, "{error}");
    }
}

#[test]
fn a_search_without_room_is_refused() {
    for (text, expected) in [
        ("[find]\nfrom = 500\nmax = 500", "3:8: the search from 500/s to 500/s has no room"),
        ("[find]\nfrom = '2000k'", "3:8: the search from 2,000,000/s to 1,000,000/s has no room"),
        ("[find]\nmax = 0", "3:7: '0' is too low; expected a rate above 0"),
        ("[find]\nwidth = 0", "3:9: 0 % is not above 0 % and at most 50 %"),
        ("[find]\nwidth = '60%'", "3:9: 60 % is not above 0 %"),
        ("[find]\nwidth = 2", "3:9: '2' is not a share such as 2%"),
        ("[find]\ntrial = '0s'", "3:9: '0s' is too short; expected a time above 0"),
        ("[find]\nsum = '5s'", "3:7: 5 s is shorter than one trial of 10 s"),
        ("[find]\ncareful = true\nbudget = '30s'", "4:10: not enough for one trial of 60 s; give more"),
    ] {
        let error =
            plan(PlanCommand::Find, &format!("target.url = 'h'\n{text}")).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}\nexpected: {expected}\nfound: {error}");
    }
}

#[test]
fn targets() {
    let error = |text: &str| plan(PlanCommand::Find, text).expect_err(text).to_string();
    assert!(error("").starts_with("no target; expected [target] url = \"http://host:port/path\""));
    assert!(error("[target]\nurl = 'http://a b/'").contains("2:7: 'http://a b/' is not a URL"));
    assert!(error("[target]\nurl = 'demo'\nunix_socket = 'x'").contains("3:15: only an http://"));
    assert!(error("[target]\nurl = 'h'\nunix_socket = ''").contains("3:15: expected the path of a socket"));
    let plan = plan(PlanCommand::Find, "[target]\nurl = 'https://h/x'\nunix_socket = '/s'\ninsecure = true")
        .expect("valid");
    let Target::Http(origin) = &plan.target else { panic!("{:?}", plan.target) };
    assert!(origin.insecure && origin.tls);
    assert_eq!(origin.unix_socket.as_deref(), Some("/s".as_ref()));
}

#[test]
fn the_command_line_wins_over_the_file() {
    const FILE: &str = "goal = 'p99<50ms'\n[target]\nurl = 'h'\n[request]\nheaders = { A = '1', b = '2' }\nbody = 'x'\n\
                        [load]\nrate = 100\nstages = '10s:50%'\narrivals = 'even'";
    let describe = |options: &[(Key, &str)]| {
        let mut overrides = Draft::default();
        options.iter().for_each(|(key, text)| overrides.set(*key, "--option", *text));
        let draft = Draft::from_toml("p.toml", FILE).expect("valid").overlaid_by(overrides);
        draft.check(PlanCommand::Run, &mut read).map(|plan| plan.to_toml()).map_err(|e| e.to_string())
    };
    for (options, expected) in [
        (&[][..], "stages = [\"10s:50\"]"),
        (&[(Key::Rate, "200")], "stages = [\"10s:100\"]"),
        (&[(Key::Rate, "200"), (Key::Duration, "5s")], "rate = 200\nduration = \"5s\""),
        (&[(Key::Stages, "5s:10%"), (Key::Stages, "5s:20%")], "stages = [\"5s:10\", \"5s:20\"]"),
        (&[(Key::Connections, "5")], "[load]\nconnections = 5\nduration = \"30s\""),
        (&[(Key::Arrivals, "poisson")], "arrivals = \"poisson\""),
        (&[(Key::Requests, "9"), (Key::Connections, "5")], "[load]\nconnections = 5\nrequests = 9\n"),
        (&[(Key::Headers, "a: 3"), (Key::Headers, "c: 4")], "headers = [\"b: 2\", \"a: 3\", \"c: 4\"]"),
        (&[(Key::Form, "k=v")], "body = \"k=v\""),
        (&[(Key::BodyFile, "body.json")], "body = '{\"id\": {counter}}'"),
        (&[(Key::Goal, "zero-drop")], "goal = \"zero-drop\""),
        (&[(Key::Cores, "3"), (Key::Cores, "0-1,1")], "cores = [0, 1, 3]"),
    ] {
        let toml = describe(options).expect("valid");
        assert!(toml.contains(expected), "{options:?}\n{toml}");
    }
    let error = describe(&[(Key::Duration, "5s")]).expect_err("stages and a duration");
    assert_eq!(error, "--option: stages already say how long they last: leave this out");
}

#[test]
fn columns_are_filled_in_and_escaped() {
    let csv = "name,path\n\"Zoë & \"\"Co\"\"\",/a b?c=d\nBob,/x\n";
    let text = "load.rate = 1\n[target]\nurl = 'h/{file:f.csv:path}?n={file:f.csv:name}'\n[request]\n\
                headers = { x = '{file:f.csv:name}' }\n";
    let mut form =
        plan(PlanCommand::Run, &format!("{text}form = {{ n = '{{file:f.csv:name}}' }}")).expect("valid");
    let mut json = plan(PlanCommand::Run, &format!("{text}body = '{{file:f.csv:name}}'")).expect("valid");
    let mut reads = Vec::new();
    form.bind(
        |file| {
            reads.push(file.to_owned());
            Ok(csv.to_owned())
        },
        no_env,
    )
    .expect("it has the columns");
    assert_eq!(reads, ["plans/f.csv"]);
    json.bind(|_| Ok(csv.to_owned()), no_env).expect("it has the columns");
    let text = |render: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        render(&mut out);
        String::from_utf8(out).expect("text")
    };
    let request = request(&form);
    assert_eq!(text(&|out| request.render_path(&who(0), out)), "//a%20b?c=d?n=Zo%C3%AB%20&%20%22Co%22");
    assert_eq!(text(&|out| request.render_path(&who(3), out)), "//x?n=Bob");
    assert_eq!(text(&|out| request.render_header(0, &who(2), out)), "Zoë & \"Co\"");
    assert_eq!(text(&|out| request.render_body(&who(0), out)), "n=Zo%C3%AB+%26+%22Co%22");
    assert_eq!(text(&|out| self::request(&json).render_body(&who(0), out)), "Zoë & \"Co\"");

    let error = |csv: Result<&str, &str>| {
        let csv = csv.map(str::to_owned).map_err(str::to_owned);
        form.clone().bind(|_| csv.clone(), no_env).expect_err("a bad file").to_string()
    };
    assert_eq!(error(Err("no such file")), "{file:plans/f.csv:path}: no such file");
    assert!(error(Ok("name\nx")).starts_with("plans/f.csv:1:1: no column 'path'; the file has: name"));
    assert!(
        error(Ok("name,path\n\"a\r\nb\",c"))
            .contains("column 'name' is used in a header and holds a line break")
    );
}

#[test]
fn describes_the_plan_to_people() {
    for (command, text, expected) in [
        (PlanCommand::Find, "target.url = 'demo'", include_str!("../tests/golden/find-demo.txt")),
        (
            PlanCommand::Run,
            "goal = 'p99<50ms'\n[target]\nurl = 'https://h:8443/o/{1..9}'\ninsecure = true\nunix_socket = '/s'\n\
             [request]\nform = { a = 'b' }\nexpect_status = [200, 302]\n[load]\nrate = 1000\nstages = 'article'\n\
             arrivals = 'poisson'\n[generator]\ncores = [1]",
            include_str!("../tests/golden/run-stages.txt"),
        ),
        (
            PlanCommand::Run,
            "goal = 'loss<1%'\ntarget.url = 'null'\nload = { connections = 64, requests = 10000 }",
            include_str!("../tests/golden/run-closed.txt"),
        ),
    ] {
        let plan = plan(command, text).expect(text);
        let found = plan.describe().join("\n") + "\n\n" + &plan.to_toml();
        assert_eq!(found, expected, "found:\n{found}");
    }
}
