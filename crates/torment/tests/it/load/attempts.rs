//! `torment try`: experiments on the built-in service, whose truth is known; interrupted, resumed, and invalid ones.

use super::join::{file, worker};
use crate::program::target::free_port;
use crate::program::{LoadTurn, RunningProcess, Sandbox, adds_up, repository};
use rustix::process::Signal;
use serde_json::Value;
use std::net::TcpListener;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Four workers that each hold a request for 20 ms answer 200/s, eight answer 400/s, and the length limit of the queue
/// changes nothing.
fn workers(port: u16, more: &str) -> String {
    format!(
        r#"
[target]
url = "http://127.0.0.1:{port}/fault/permit?size=1000&us=20000"

[service]
command = "torment target --listen {port} --model pool"
env = {{ MARK = "{port}" }}

[[variant]]
name = "8 workers"
relieves = ["workers"]
args = ["--workers", "8"]

[[variant]]
name = "longer queue"
args = ["--workers", "4", "--queue", "50000"]

[[variant]]
name = "4 workers"
args = "--workers 4"

[[hypothesis]]
name = "twice the workers help"
variant = "8 workers"
baseline = "4 workers"

[[hypothesis]]
name = "a longer queue helps"
variant = "longer queue"
baseline = "4 workers"

[try]
measure = "throughput"
connections = [20]
warm = "0s"
hold = "1s"
pilot = 2
least = 3
most = 4
{more}"#
    )
}

/// Processes whose environment or command line contains this port; only the test itself should be left.
fn left(port: u16) -> Vec<String> {
    let marks = [format!("MARK={port}"), format!("--listen\0{port}")];
    let all = std::fs::read_dir("/proc").expect("it is mounted").flatten();
    let holds = |path: &Path| {
        let text = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        marks.iter().any(|mark| text.contains(mark.as_str()))
    };
    all.filter(|entry| holds(&entry.path().join("environ")) || holds(&entry.path().join("cmdline")))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Waits until nothing of it is left.
fn nothing_left(port: u16) {
    let until = Instant::now() + Duration::from_secs(10);
    while !left(port).is_empty() {
        assert!(Instant::now() < until, "processes are left: {:?}", left(port));
        sleep(Duration::from_millis(50));
    }
}

fn hypothesis<'a>(result: &'a Value, name: &str) -> &'a Value {
    let all = result["experiment"]["hypotheses"].as_array().expect("a list");
    all.iter()
        .find(|hypothesis| hypothesis["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {result:#}"))
}

/// The truth, or that the machine is too busy to tell.
#[track_caller]
fn answers(judged: &Value, truth: &str) {
    let answer = judged["answer"].as_str().expect("a word");
    assert!([truth, "undecided"].contains(&answer), "{answer} instead of {truth}: {judged:#}");
}

#[test]
fn what_helps_is_better_and_what_does_not_is_no_difference() {
    let (sandbox, port) = (Sandbox::new(), free_port());
    let _turn = LoadTurn::shared();
    let plan = sandbox.write("workers.toml", &workers(port, ""));
    let (ended, result) = sandbox.json(["try", plan.to_str().expect("a path"), "--quiet"]);
    assert!([0, 91].contains(&ended.code()), "{ended}");
    let helps = hypothesis(&result, "twice the workers help");
    answers(&helps["judged"], "better");
    let (low, high) = (&helps["judged"]["ratio"]["low"], &helps["judged"]["ratio"]["high"]);
    // Without any noise the interval is a point: the truth, except for rounding.
    let (low, high) = (low.as_f64().expect("a number"), high.as_f64().expect("a number"));
    assert!(low < 2.0 + 1e-9 && high > 2.0 - 1e-9, "twice as many is twice: {ended}");
    answers(&hypothesis(&result, "a longer queue helps")["judged"], "no-difference");
    // The baseline has 200 workers: five to ten times as many answers as either.
    let placebo = &result["experiment"]["placebo"][0];
    answers(placebo, "no-difference");
    nothing_left(port);

    // Every measurement is a run of its own, which the list leaves out by default.
    let id = result["id"].as_str().expect("a name").to_owned();
    let list = sandbox.torment(["list"]).expect(0);
    assert_eq!(list.stdout.matches("try").count(), 1, "{list}");
    assert!(!list.stdout.contains(" run "), "{list}");
    let part = result["experiment"]["visits"][0]["taken"][0]["run"].as_str().expect("a name");
    let shown = sandbox.torment(["show", part]).expect(0);
    assert!(shown.stdout.contains(&id), "it says whose measurement it is: {shown}");
    let again = sandbox.torment(["show", &id]).expect(0);
    assert!(again.stdout.contains("twice the workers help"), "{again}");
    let logs = sandbox.torment(["show", &id, "--logs"]).expect(0);
    assert!(logs.stdout.contains("listening on"), "{logs}");
    sandbox.torment(["rm", &id]).expect(0);
    sandbox.torment(["show", part]).expect_error(1, &["no run"]);
}

/// The same two from the first start to the last.
#[test]
fn a_fleet_makes_the_loads_of_an_experiment() {
    let (sandbox, port) = (Sandbox::new(), free_port());
    let _turn = LoadTurn::shared();
    let plan = workers(port, "[fleet]\non = 'join'\nworkers = 2").replace("most = 4", "most = 3");
    let plan = sandbox.write("workers.toml", &plan);
    let running =
        RunningProcess::start(sandbox.command(["try", plan.to_str().expect("a path"), "--format", "json"]));
    file(&sandbox, "run.join");
    let two = [worker(&sandbox, "run.join"), worker(&sandbox, "run.join")];
    let mut expected = two.each_ref().map(|worker| u64::from(worker.pid()));
    expected.sort_unstable();
    let ended = running.end();
    assert!([0, 91].contains(&ended.code()), "{ended}");
    let result = ended.json();
    answers(&hypothesis(&result, "twice the workers help")["judged"], "better");
    let pids = |run: &Value| {
        let members = run["fleet"]["workers"].as_array().expect("a list");
        let mut pids: Vec<u64> = members.iter().filter_map(|member| member["pid"].as_u64()).collect();
        pids.sort_unstable();
        pids
    };
    assert_eq!(pids(&result), expected, "{ended}");
    let shown = sandbox.torment(["show", "last"]).expect(0);
    assert!(shown.stdout.contains("fleet: 2 workers on "), "{shown}");
    let visits = result["experiment"]["visits"].as_array().expect("a list");
    assert!(visits.len() >= 2 + 3 * 5, "{ended}");
    for start in visits.iter().filter(|start| start["void"].is_null()) {
        let part =
            start["taken"][0]["run"].as_str().unwrap_or_else(|| panic!("nothing was measured: {start:#}"));
        let (_, part) = sandbox.json(["show", part]);
        assert_eq!(pids(&part), expected, "{part:#}");
        adds_up(&part["trial"]);
    }
    for worker in two {
        worker.end().expect(0);
    }
    nothing_left(port);
    let plan = plan.to_str().expect("a path");
    sandbox.torment(["try", plan, "--on", "k8s"]).expect_error(2, &["--on", "in their cluster"]);
}

#[test]
fn whatever_ends_it_nothing_is_left_and_it_goes_on() {
    let (sandbox, port) = (Sandbox::new(), free_port());
    let _turn = LoadTurn::shared();
    let plan = sandbox.write("workers.toml", &workers(port, ""));
    let begun = RunningProcess::start(sandbox.command(["try", plan.to_str().expect("a path"), "--quiet"]));
    sleep(Duration::from_secs(4));
    begun.signal(Signal::KILL);
    assert_eq!(begun.end().signal(), Some(9));
    nothing_left(port);

    let again = RunningProcess::start(sandbox.command(["try", "--resume", "last", "--quiet"]));
    sleep(Duration::from_secs(4));
    again.signal(Signal::INT);
    let again = again.end().expect(130);
    assert!(again.stdout.contains("--resume"), "it says how to go on: {again}");
    nothing_left(port);

    let (ended, result) = sandbox.json(["try", "--resume", "last", "--quiet"]);
    assert!([0, 91].contains(&ended.code()), "{ended}");
    let visits = result["experiment"]["visits"].as_array().expect("a list");
    let starts: Vec<u64> = visits.iter().filter_map(|start| start["number"].as_u64()).collect();
    let expected: Vec<u64> = (1..=starts.len() as u64).collect();
    assert_eq!(starts, expected, "none is made twice or lost: {ended}");
    assert!(starts.len() >= 2 + 3 * 5, "{ended}");
    answers(&hypothesis(&result, "twice the workers help")["judged"], "better");
    nothing_left(port);

    sandbox.torment(["try", "--resume", "20200101"]).expect_error(1, &["no run"]);
}

#[test]
fn a_plan_starts_its_service_for_run_and_find_too() {
    let (sandbox, port) = (Sandbox::new(), free_port());
    let _turn = LoadTurn::shared();
    let plan = sandbox.write("workers.toml", &workers(port, ""));
    let plan = plan.to_str().expect("a path");
    let (ended, result) = sandbox.load(["run", plan, "-r", "50", "-d", "1s", "--quiet"]);
    let ended = ended.measured();
    assert_eq!(result["trial"]["due"], 50, "{ended}");
    nothing_left(port);
    let again = sandbox.torment(["try", "--resume", "last"]);
    again.expect_error(2, &["torment run", "torment try"]);
}

#[test]
fn wrong_experiments_are_told_before_or_when_they_show() {
    let (sandbox, free) = (Sandbox::new(), free_port());
    let attempt = |plan: String| {
        let file = sandbox.write("wrong.toml", &plan);
        sandbox.torment(["try", file.to_str().expect("a path"), "--quiet"])
    };
    let changed = |from: &str, to: &str| {
        let plan = workers(free, "");
        assert!(plan.contains(from), "{from}");
        attempt(plan.replace(from, to))
    };
    changed("torment target --listen", "no-such-program --listen")
        .expect_error(2, &["no-such-program", "baseline"]);
    changed("relieves = [\"workers\"]", "relieves = [\"workerz\"]").expect_error(2, &["workerz", "workers"]);
    changed("args = \"--workers 4\"", "args = []").expect_error(2, &["4 workers", "changes nothing"]);
    changed("warm = \"0s\"", "budget = \"3s\"").expect_error(2, &["3 s", "starts before the first look"]);
    changed("variant = \"8 workers\"", "variant = \"9 workers\"")
        .expect_error(2, &["9 workers", "4 workers"]);
    attempt("[target]\nurl = \"demo\"\n[[variant]]\nname = \"a\"\n".to_owned())
        .expect_error(2, &["[service]"]);
    let nothing = sandbox.torment(["try"]).expect(2);
    assert!(nothing.stderr.contains("<PLAN>"), "{nothing}");
    // It resumes with its plan's fleet.
    let other = sandbox.torment(["try", "--resume", "last", "--on", "here"]).expect(2);
    assert!(other.stderr.contains("'--resume <RUN>' cannot be used with"), "{other}");

    // Who owns the port.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let held = taken.local_addr().expect("it is bound").port();
    let told = attempt(workers(held, "")).expect_error(2, &[&held.to_string(), "process"]);
    assert!(told.contains(&std::process::id().to_string()), "it says who holds it: {told}");

    // What only a start can show: its own last output does.
    let ends = changed("torment target --listen", "sh -c 'echo the reason; exit 3' --listen");
    assert_eq!(ends.code(), 99, "{ends}");
    assert!(ends.stdout.contains("the reason"), "{ends}");
    let never = changed(
        &format!("command = \"torment target --listen {free} --model pool\""),
        "command = \"sh -c 'echo still busy; sleep 60'\"\nwithin = \"1s\"",
    );
    assert_eq!(never.code(), 99, "{never}");
    assert!(never.stdout.contains("still busy"), "{never}");
    nothing_left(free);
}

/// This repository's plans are read as they are, quick and in full.
#[test]
fn the_plans_that_come_along_can_be_read() {
    let sandbox = Sandbox::new();
    for name in ["homelab", "pool-size", "two-disks", "threads-or-fibers"] {
        let file = repository().join(format!("plans/{name}.toml"));
        let file = file.to_str().expect("a path");
        for quick in [None, Some("--quick")] {
            let words = ["try", file, "--dry-run"].into_iter().chain(quick);
            let ended = sandbox.torment(words).expect(0);
            assert!(ended.stdout.contains("[try]") && ended.stderr.contains("arms"), "{ended}");
        }
        sandbox.torment(["plan", "check", file]).expect(0);
    }
}
