//! `torment plan`: imports give plans that run; what it accepts runs.

use crate::program::target::TargetProcess;
use crate::program::{LoadTurn, ProcessOutput, RunningProcess, Sandbox, adds_up, binary};
use std::process::Command;

fn curl(target: &TargetProcess) -> String {
    let url = target.url("/owners/new");
    format!(
        "curl '{url}' -H 'Accept: text/html' -H 'Authorization: Bearer geheim' --compressed \
         --data-raw 'first_name=Ada&last_name=Lovelace&address=1+Fair+Way&city=London&telephone=123'"
    )
}

/// With the secret that the import took out.
fn with_token(sandbox: &Sandbox, arguments: &[&str]) -> ProcessOutput {
    let mut command = sandbox.command(arguments.iter().copied());
    command.env("AUTHORIZATION", "Bearer geheim");
    RunningProcess::start(command).end()
}

#[test]
fn a_curl_command_becomes_a_plan_that_runs() {
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &[]);
    let made = sandbox.torment(["plan", "from-curl", &curl(&target), "-o", "login.toml"]).expect(0);
    assert!(made.stdout.is_empty() && made.stderr.contains("AUTHORIZATION"), "{made}");
    let text = std::fs::read_to_string(sandbox.path("login.toml")).expect("it was written");
    assert!(!text.contains("geheim") && text.contains("{env:AUTHORIZATION}"), "{text}");
    // Without the variable the plan is still valid; it only cannot be run.
    let checked = sandbox.torment(["plan", "check", "login.toml"]).expect(0);
    assert!(
        checked.stdout.contains("POST /owners/new") && checked.stderr.contains("AUTHORIZATION="),
        "{checked}"
    );
    sandbox
        .torment(["run", "login.toml", "--once"])
        .expect_error(2, &["{env:AUTHORIZATION}", "AUTHORIZATION=…"]);

    let checked = with_token(&sandbox, &["plan", "check", "login.toml"]).expect(0);
    assert_eq!(checked.stderr, "", "{checked}");
    let before = target.owners();
    let ran = with_token(&sandbox, &["run", "login.toml", "--once"]).expect(0);
    assert!(ran.stdout.contains("POST /owners/new HTTP/1.1") && ran.stdout.contains("HTTP/1.1 302"), "{ran}");
    assert!(!ran.stdout.contains("geheim") && !ran.stderr.contains("geheim"), "{ran}");
    assert_eq!(target.owners(), before + 1);

    // Existing files are not overwritten.
    sandbox
        .torment(["plan", "from-curl", &curl(&target), "-o", "login.toml"])
        .expect_error(2, &["'login.toml' exists already"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("login.toml")).expect("it is there"), text);
}

#[test]
fn from_standard_input_to_standard_output() {
    let sandbox = Sandbox::new();
    sandbox.write("command.txt", "curl http://127.0.0.1:1/");
    sandbox.write(
        "api.yaml",
        "openapi: 3.0.0\ninfo: {title: t, version: '1'}\npaths: {/a: {get: {responses: {}}}}\n",
    );
    sandbox.write(
        "rec.har",
        r#"{"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [{
            "startedDateTime": "2024-01-01T00:00:00.000Z", "time": 5,
            "request": {"method": "GET", "url": "http://127.0.0.1:1/x", "httpVersion": "HTTP/1.1", "headers": [],
                        "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0},
            "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
                         "content": {"size": 0, "mimeType": "text/html"}, "redirectURL": "", "headersSize": -1,
                         "bodySize": 0},
            "cache": {}, "timings": {"send": 0, "wait": 5, "receive": 0}}]}}"#,
    );
    for arguments in
        ["from-curl - < command.txt", "from-har rec.har", "from-openapi api.yaml --base http://127.0.0.1:1"]
    {
        let mut shell = sandbox.homed(Command::new("sh"));
        let binary = binary();
        shell.args(["-c", &format!("{binary} plan {arguments} | tee plan.toml | {binary} plan check -")]);
        let ended = RunningProcess::start(shell).end().expect(0);
        assert!(ended.stdout.contains("http://127.0.0.1:1"), "{arguments}: {ended}");
        let json = sandbox.torment(["plan", "check", "plan.toml", "--format", "json"]).expect(0).json();
        assert!(json["plan"].as_str().is_some_and(|plan| plan.contains("[target]")), "{json}");
    }
    sandbox.torment(["plan", "from-curl", "wget x"]).expect_error(2, &["curl"]);
    sandbox.torment(["plan", "from-har", "missing.har"]).expect_error(2, &["there is no 'missing.har' in "]);
    sandbox.write("broken.toml", "[target]\nurl = \"h\"\n[[flow]]\n");
    sandbox.torment(["plan", "check", "broken.toml"]).expect_error(2, &["broken.toml:3:1", "[[flow.step]]"]);
}

/// The example plans do what they say.
#[test]
fn the_examples_run() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    for (name, due) in [("mix", 60), ("flow", 20)] {
        let file = format!("{}/../../plans/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        sandbox.torment(["plan", "check", &file]).expect(0);
        let rate = format!("{}", due / 2);
        let (ended, run) = sandbox.load(["run", &file, "-r", &rate, "-d", "2s"]);
        let ended = ended.expect(0);
        adds_up(&run["trial"]);
        assert_eq!(run["trial"]["due"], due, "{ended}");
    }
}
