//! `--on here`: several processes make the load, and one of them is lost. Whatever happens, every arrival is accounted
//! for, and compared with the target's own counts.

use crate::program::target::TargetProcess;
use crate::program::{LoadTurn, RunningProcess, SOON, Sandbox, adds_up, number, outcome};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// A torment's workers, in the order they were started.
fn workers(coordinator: u32) -> Vec<Pid> {
    let is_worker = |pid: &u32| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0worker\0"))
    };
    let tasks = std::fs::read_dir(format!("/proc/{coordinator}/task")).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let mut pids: Vec<u32> = children
        .flat_map(|line| line.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
        .filter(is_worker)
        .collect();
    pids.sort_unstable();
    pids.into_iter().filter_map(|pid| Pid::from_raw(pid as i32)).collect()
}

/// Waits until the target has received this many requests.
fn wait_for(target: &TargetProcess, page: &str, requests: u64) {
    let began = Instant::now();
    while target.truth(page)["received"].as_u64().unwrap_or(0) < requests {
        assert!(began.elapsed() < SOON * 2, "the load does not come");
        sleep(Duration::from_millis(20));
    }
}

fn has(trial: &Value, code: &str) -> bool {
    trial["caveats"].as_array().into_iter().flatten().any(|caveat| caveat["code"] == code)
}

/// A load from two workers, one of which is sent `signals`, each after a pause. The result, and what the target
/// received.
fn load_with(signals: &[(u64, Signal)]) -> (i32, Value, u64) {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let command = sandbox.command([
        "run",
        &url,
        "-r",
        "300",
        "-d",
        "6s",
        "--on",
        "here",
        "--workers",
        "2",
        "--format",
        "json",
    ]);
    let running = RunningProcess::start(command);
    wait_for(&target, "/json", 500);
    let worker = workers(running.pid())[1];
    for (pause, signal) in signals {
        sleep(Duration::from_millis(*pause));
        // It may have ended by then.
        let _ = kill_process(worker, *signal);
    }
    let ended = running.end();
    let (code, run) = (ended.code(), ended.json());
    println!("{ended}");
    adds_up(&run["trial"]);
    let received = target.truth("/json")["received"].as_u64().expect("a count");
    (code, run, received)
}

/// Checks the result of a load that lost a worker.
#[track_caller]
fn has_lost_one((code, run, received): &(i32, Value, u64), why: &str) {
    assert_eq!(*code, 92, "it cannot be trusted");
    let trial = &run["trial"];
    let lost = run["fleet"]["lost"].as_array().expect("a list");
    assert_eq!((lost.len(), &lost[0]["number"]), (1, &1.into()), "{lost:?}");
    assert!(lost[0]["why"].as_str().is_some_and(|said| said.contains(why)), "{lost:?}");
    assert!(has(trial, "worker-lost") && trial["valid"] == false, "{trial:#}");
    // The very first request is not part of the load.
    let (sent, unaccounted) = (number(trial, "/sent") as u64, number(&lost[0], "/unaccounted") as u64);
    let reached = received - 1;
    assert!(
        sent <= reached && reached <= sent + unaccounted,
        "{sent} sent, {reached} came, {unaccounted} are open"
    );
    assert_eq!(outcome(trial, "refused"), 0, "{trial:#}");
}

#[test]
fn a_worker_that_is_killed_voids_the_load_and_leaves_nothing_unsaid() {
    let ended = load_with(&[(0, Signal::KILL)]);
    has_lost_one(&ended, "SIGKILL");
    assert!(number(&ended.1, "/trial/loaded_seconds") < 6.0, "the others are stopped");
}

#[test]
fn a_worker_that_is_told_to_go_gives_its_account_to_the_request() {
    let ended = load_with(&[(0, Signal::TERM)]);
    has_lost_one(&ended, "SIGTERM");
    assert_eq!(number(&ended.1, "/fleet/lost/0/unaccounted"), 0.0);
}

#[test]
fn a_worker_that_stands_still_is_late_and_is_not_lost() {
    let (code, run, received) = load_with(&[(0, Signal::STOP), (2000, Signal::CONT)]);
    assert_eq!((code, &run["fleet"]["lost"]), (92, &Value::Array(Vec::new())), "{run:#}");
    assert!(has(&run["trial"], "generator-late") && run["trial"]["valid"] == false, "{run:#}");
    assert_eq!(number(&run, "/trial/sent") as u64, received - 1);
}

#[test]
fn a_worker_that_stands_still_for_long_is_not_waited_for() {
    has_lost_one(&load_with(&[(0, Signal::STOP)]), "reported nothing");
}

#[test]
fn a_search_asks_again_for_what_a_lost_worker_has_spoiled() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let command = sandbox.command([
        "find",
        &url,
        "--from",
        "200",
        "--max",
        "400",
        "--trial",
        "2s",
        "--budget",
        "12s",
        "--on",
        "here",
        "--workers",
        "3",
        "--format",
        "json",
    ]);
    let running = RunningProcess::start(command);
    wait_for(&target, "/json", 150);
    let killed = workers(running.pid())[0];
    kill_process(killed, Signal::KILL).expect("it is there");
    let ended = running.end();
    let found = ended.json();
    println!("{ended}");
    assert!([0, 91].contains(&ended.code()), "{ended}");
    let trials = found["trials"].as_array().expect("a list");
    trials.iter().for_each(adds_up);
    // On a busy machine a later one may be void too, because a worker was late.
    let spoiled = (0..trials.len()).find(|at| has(&trials[*at], "worker-lost")).expect("one was killed");
    let (lost, again) = (&trials[spoiled], &trials[spoiled + 1]);
    for same in ["purpose", "offered_per_second"] {
        assert_eq!(lost[same], again[same], "{again:#}");
    }
    assert!(!has(again, "worker-lost"), "{again:#}");
    // Another has replaced it, once ready.
    assert!(ended.stderr.contains("3 workers"), "{ended}");
    let members = found["fleet"]["workers"].as_array().expect("a list");
    let pids = || members.iter().map(|member| number(member, "/pid") as i32);
    assert!(pids().all(|pid| pid != killed.as_raw_nonzero().get()), "{members:?}");
}

/// A load of a minute from two workers, which has begun.
fn under_way(sandbox: &Sandbox, target: &TargetProcess) -> RunningProcess {
    let url = target.url("/json");
    let running = RunningProcess::start(sandbox.command([
        "run",
        &url,
        "-r",
        "300",
        "-d",
        "1m",
        "--on",
        "here",
        "--workers",
        "2",
    ]));
    wait_for(target, "/json", 300);
    running
}

/// Nothing is sent any more.
#[track_caller]
fn is_quiet(target: &TargetProcess) {
    let received = target.truth("/json")["received"].clone();
    sleep(Duration::from_millis(500));
    assert_eq!(target.truth("/json")["received"], received, "somebody goes on");
}

#[test]
fn without_a_coordinator_nobody_goes_on() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let running = under_way(&sandbox, &target);
    let workers = workers(running.pid());
    assert_eq!(workers.len(), 2);
    running.signal(Signal::KILL);
    let began = Instant::now();
    let alive = |pid: &Pid| {
        // One not yet reaped is a zombie, and does nothing.
        let status =
            std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        status.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
    };
    while workers.iter().any(alive) {
        assert!(began.elapsed() < Duration::from_secs(7), "a worker goes on");
        sleep(Duration::from_millis(50));
    }
    is_quiet(&target);
}

/// It could not stop a load that does harm.
#[test]
fn of_a_coordinator_that_stands_still_nobody_waits_to_hear() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let running = under_way(&sandbox, &target);
    let workers = workers(running.pid());
    running.signal(Signal::STOP);
    sleep(Duration::from_secs(2));
    assert_eq!(workers.len(), 2);
    let received = target.truth("/json")["received"].as_u64();
    sleep(Duration::from_secs(5));
    // It went on until then: what ended it was the silence.
    assert!(target.truth("/json")["received"].as_u64() > received, "its workers have gone already");
    sleep(Duration::from_secs(3));
    is_quiet(&target);
    running.signal(Signal::CONT);
    running.end().expect(92);
}

/// It learns late that all are ready, and that they go on: nobody counts as late for that, and whatever reaches the
/// target is accounted for.
#[test]
fn a_coordinator_that_is_held_up_leaves_nothing_unsaid() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let arguments = ["find", &url, "--from", "200", "--max", "400", "--trial", "1s", "--budget", "20s"];
    let fleet = ["--on", "here", "--workers", "2", "--format", "json"];
    let mut running = RunningProcess::start(sandbox.command(arguments.into_iter().chain(fleet)));
    // Each time at another moment of a trial.
    for pause in (0..).map(|nth| 40 + nth * 97 % 500) {
        if !running.is_running() {
            break;
        }
        running.signal(Signal::STOP);
        sleep(Duration::from_millis(450));
        running.signal(Signal::CONT);
        sleep(Duration::from_millis(pause));
    }
    let ended = running.end();
    println!("{ended}");
    let run = ended.json();
    let trials = run["trials"].as_array().expect("a list");
    trials.iter().for_each(adds_up);
    let sent: f64 = trials.iter().map(|trial| number(trial, "/sent")).sum();
    let lost = run["fleet"]["lost"].as_array().expect("a list");
    let unaccounted: f64 = lost.iter().map(|lost| number(lost, "/unaccounted")).sum();
    let reached = target.truth("/json")["received"].as_u64().expect("a count") as f64 - 1.0;
    assert!(
        sent <= reached && reached <= sent + unaccounted,
        "{sent} sent, {reached} came, {unaccounted} are open"
    );
}

#[test]
fn however_many_make_the_load_the_limit_is_the_same() {
    let limit = |count: &str| {
        let _turn = LoadTurn::shared();
        let sandbox = Sandbox::new();
        let (ended, found) = sandbox.json([
            "find",
            "demo",
            "--trial",
            "2s",
            "--width",
            "5%",
            "--budget",
            "16s",
            "--on",
            "here",
            "--workers",
            count,
        ]);
        println!("{ended}");
        found["trials"].as_array().expect("a list").iter().for_each(adds_up);
        let members = found["fleet"]["workers"].as_array().expect("a list");
        assert_eq!(members.len().to_string(), count);
        let bounds = ["lower", "upper"].map(|bound| found["limits"][0][bound].as_f64());
        (ended.stderr, bounds)
    };
    let limits = scope(|scope| {
        let searches = ["1", "2", "4"].map(|count| scope.spawn(move || limit(count)));
        searches.map(|search| search.join().expect("it comes to a limit"))
    });
    // It is 2,000/s; on a shared machine a short search is imprecise.
    for (told, [lower, upper]) in limits {
        assert!(lower.is_none_or(|lower| lower < 2_100.0), "{lower:?}: {told}");
        assert!(upper.is_none_or(|upper| upper > 1_800.0), "{upper:?}: {told}");
        assert!(lower.or(upper).is_some(), "nothing was found: {told}");
    }
}

/// The null target is as fast as the generator: one worker is the limit, until there are two.
#[test]
fn a_fleet_grows_before_it_is_the_limit() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let arguments = ["find", "null", "--from", "100k", "--max", "10M", "--trial", "1s", "--budget", "20s"];
    let (ended, run) = sandbox.json(arguments.into_iter().chain(["--on", "here", "--workers", "1..2"]));
    let workers = run["fleet"]["workers"].as_array().expect("a list");
    assert_eq!(workers.len(), 2, "{ended}");
    assert!(ended.stderr.contains("1 worker on") && ended.stderr.contains("2 workers on"), "{ended}");
    assert_eq!(run["fleet"]["lost"].as_array().map(Vec::len), Some(0), "{ended}");
}

#[test]
fn each_has_as_many_loops_as_it_may_have_processors() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let load =
        ["run", "null", "-r", "300", "-d", "1s", "--on", "here", "--workers", "2", "--worker-cpus", "3"];
    let (ended, run) = sandbox.load(load);
    ended.measured();
    let members = run["fleet"]["workers"].as_array().expect("a list");
    assert!(members.len() == 2 && members.iter().all(|member| member["loops"] == 3), "{members:?}");
    assert_eq!(run["trial"]["due"], 300);
    adds_up(&run["trial"]);
}

#[test]
fn workers_without_a_user_wait_for_the_end() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let load = |more: [&'static str; 2]| {
        ["run", "null", "-c", "2", more[0], more[1], "--on", "here", "--workers", "3"]
    };
    let (ended, run) = sandbox.load(load(["-d", "1s"]));
    ended.measured();
    assert_eq!(run["fleet"]["lost"].as_array().map_or(0, Vec::len), 0, "{run}");
    adds_up(&run["trial"]);
    let (ended, run) = sandbox.load(load(["-n", "7"]));
    ended.measured();
    assert_eq!(run["trial"]["outcomes"]["ok"], 7, "{run}");
}

#[test]
fn how_many_may_be_said_in_two_ways() {
    let sandbox = Sandbox::new();
    for wrong in ["0", "4..2", "1..65", "..", "two"] {
        let ended = sandbox.torment(["run", "null", "-r", "9", "--on", "here", "--workers", wrong]);
        println!("{}", ended.expect_error(2, &["--workers", "4..16"]));
    }
}
