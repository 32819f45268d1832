//! Runs are stored: through crashes, interruptions, and two torments at once.

use crate::program::target::{TargetProcess, free_port};
use crate::program::{LoadTurn, RunningProcess, Sandbox, adds_up, held, number, outcome, outcomes};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Stored runs, the newest first.
fn list(sandbox: &Sandbox) -> Vec<Value> {
    let list = sandbox.torment(["list", "--format", "json"]).expect(0).json();
    list["runs"].as_array().expect("a list").clone()
}

/// Waits until the current run, not an earlier one, satisfies `holds`, then returns it.
pub fn wait_until(sandbox: &Sandbox, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        if list(sandbox).first().is_some_and(|run| run["state"] == "running") {
            let run = sandbox.json(["show"]).1;
            if run["state"] == "running" && holds(&run) {
                return run;
            }
        }
        assert!(Instant::now() < until, "never came: {what}");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_killed_run_is_kept_but_for_its_last_second() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let began = Instant::now();
    let running = RunningProcess::start(sandbox.command(["run", "null", "-r", "1000", "-d", "60s"]));
    wait_until(&sandbox, "three seconds in the store", |run| run["trial"]["due"].as_u64() >= Some(3_000));
    assert_eq!(list(&sandbox)[0]["state"], "running");
    let text = sandbox.torment(["show"]).expect(0).stdout;
    assert!(text.contains("still running"), "{text}");
    let refused = sandbox.torment(["rm", "last"]);
    refused.expect_error(1, &["is still running", "stop it first"]);

    sleep(Duration::from_millis(1_500));
    let loaded = began.elapsed();
    running.signal(Signal::KILL);
    let ended = running.end();
    assert_eq!(ended.signal(), Some(9), "{ended}");

    let (shown, run) = sandbox.json(["show"]);
    shown.expect(0);
    assert_eq!((&run["state"], &run["exit_code"]), (&"cut_short".into(), &Value::Null), "{run:#}");
    assert_eq!((&run["skipped_events"], &run["goal_met"]), (&0.into(), &Value::Null), "{run:#}");
    let kept = number(&run, "/trial/due") / 1_000.0;
    // The current second, and the last complete one, which the store has up to a second to commit.
    let least = loaded.as_secs_f64() - 2.5;
    assert!(kept >= least && kept <= loaded.as_secs_f64() + 0.1, "{kept} s of {loaded:?} are kept");
    assert_eq!(outcomes(&run["trial"]), outcome(&run["trial"], "ok"), "{run:#}");
    let text = sandbox.torment(["show"]).expect(0).stdout;
    assert!(text.contains("cut short"), "{text}");
    assert!(sandbox.torment(["list"]).expect(0).stdout.contains("cut short"));
    sandbox.torment(["rm", "last"]).expect(0);
    assert!(list(&sandbox).is_empty());
}

#[test]
fn an_interrupted_search_says_what_is_known() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    for signal in [Signal::INT, Signal::TERM] {
        let running = RunningProcess::start(sandbox.command(["find", "demo"]));
        wait_until(&sandbox, "a lower bound", |run| {
            run.pointer("/limits/0/lower").and_then(Value::as_f64) >= Some(10.0)
        });
        let asked = Instant::now();
        running.signal(signal);
        let ended = running.end();
        assert!(asked.elapsed() < Duration::from_secs(10), "it took {:?} to stop", asked.elapsed());
        let ended = ended.expect(130);
        assert!(ended.stdout.contains("interrupted"), "{ended}");
        let (_, run) = sandbox.json(["show"]);
        assert_eq!((&run["state"], &run["ended"]), (&"ended".into(), &"interrupted".into()), "{run:#}");
        assert_eq!(run["exit_code"], 130);
        assert!(number(held(&run), "/lower") >= 10.0, "the climb has shown that much: {run:#}");
        for trial in run["trials"].as_array().expect("trials") {
            adds_up(trial);
        }
    }
    assert_eq!(list(&sandbox).len(), 2);
}

#[test]
fn an_interrupted_load_counts_what_came_due() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let running =
        RunningProcess::start(sandbox.command(["run", "demo/delay?ms=10", "-r", "200", "-d", "60s"]));
    wait_until(&sandbox, "a second of load", |run| run["trial"]["due"].as_u64() > Some(0));
    running.signal(Signal::INT);
    let ended = running.end().expect(130);
    let (_, run) = sandbox.json(["show"]);
    let trial = &run["trial"];
    adds_up(trial);
    assert_eq!((&run["goal_met"], outcome(trial, "unsent")), (&Value::Null, 0), "{ended}");
    let due = number(trial, "/due");
    // A loop that is late on a busy machine learns of the end a little later than the other.
    let late = (due - 200.0 * number(trial, "/loaded_seconds")).abs();
    assert!(due < 60.0 * 200.0 && late <= 20.0, "{trial:#}");
}

#[test]
fn two_torments_share_a_store() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let load = |rate| sandbox.command(["run", "null", "-r", rate, "-d", "2s", "--format", "json"]);
    let both: Vec<RunningProcess> = ["1000", "2000"].map(|rate| RunningProcess::start(load(rate))).into();
    let mut ids = Vec::new();
    for (running, due) in both.into_iter().zip([2_000, 4_000]) {
        let run = running.end().measured().json();
        assert_eq!(run["trial"]["due"], due);
        let id = run["id"].as_str().expect("an id").to_owned();
        assert_eq!(sandbox.json(["show", &id]).1, run);
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1]);
    let runs = list(&sandbox);
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert!(ids.iter().any(|id| run["id"] == **id), "{run:#}");
        assert_eq!(run["state"], "ended", "{run:#}");
    }
    // A new file, opened by many at once, is created once.
    let fresh = Sandbox::new();
    let many: Vec<RunningProcess> = (0..6).map(|_| RunningProcess::start(fresh.command(["list"]))).collect();
    for running in many {
        running.end().expect(0);
    }
}

#[test]
fn runs_are_listed_shown_and_removed_by_name() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let run = |rate| sandbox.json(["run", "null", "-d", "100ms", "-r", rate]).1;
    let (first, second, third) = (run("100"), run("200"), run("300"));
    let id = |run: &Value| run["id"].as_str().expect("an id").to_owned();

    let listed: Vec<String> = list(&sandbox).iter().map(id).collect();
    assert_eq!(listed, [id(&third), id(&second), id(&first)], "the newest first");
    let text = sandbox.torment(["list"]).expect(0).stdout;
    assert_eq!(text.lines().count(), 3, "{text}");
    for (name, expected) in [
        ("last", &third),
        ("last~0", &third),
        ("last~1", &second),
        ("last~2", &first),
        (&id(&second), &second),
    ] {
        assert_eq!(sandbox.json(["show", name]).1, *expected, "{name}");
    }
    sandbox.torment(["show", "last~3"]).expect_error(1, &["last~3", "torment list"]);
    // All begin with the year.
    sandbox.torment(["show", &id(&first)[..4]]).expect_error(1, &["more than one", &id(&first)]);

    // A wrong name among right ones removes nothing.
    sandbox.torment(["rm", &id(&first), "nonsense"]).expect_error(1, &["nonsense"]);
    assert_eq!(list(&sandbox).len(), 3);
    sandbox.torment(["rm", &id(&first), &id(&third)]).expect(0);
    assert_eq!(list(&sandbox).iter().map(id).collect::<Vec<_>>(), [id(&second)]);
    sandbox.torment(["show", &id(&first)]).expect_error(1, &[&id(&first)]);

    // A run is not stored if so requested.
    sandbox.torment(["run", "null", "-d", "100ms", "-r", "100", "--no-store"]).measured();
    assert_eq!(list(&sandbox).len(), 1);
}

#[test]
fn a_target_that_dies_and_comes_back_loses_no_arrival() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let listen = format!("127.0.0.1:{}", free_port());
    let target = TargetProcess::listen(&sandbox, &listen, &[]);
    let url = target.url("/delay?ms=5");
    let running =
        RunningProcess::start(sandbox.command(["run", &url, "-r", "200", "-d", "5s", "--format", "json"]));
    sleep(Duration::from_millis(1_500));
    target.kill();
    sleep(Duration::from_millis(1_000));
    let again = TargetProcess::listen(&sandbox, &listen, &[]);
    let ended = running.end();
    assert!([92, 99].contains(&ended.code()), "{ended}");
    let run = ended.json();
    let trial = &run["trial"];
    adds_up(trial);
    let (ok, failed) = (outcome(trial, "ok"), outcome(trial, "failed"));
    assert_eq!((&trial["due"], ok + failed), (&1_000.into(), 1_000), "{trial:#}");
    // It was away for a second at least.
    assert!(failed >= 150, "{trial:#}");
    let reasons: Vec<&str> =
        trial["failures"].as_array().expect("a list").iter().filter_map(|f| f["reason"].as_str()).collect();
    assert!(reasons.iter().any(|r| r.contains("refused")), "{reasons:?}");
    let after = again.truth("/delay")["answered"].as_u64().expect("a count");
    assert!(after > 0 && ok > after, "there before, and found again: {after} of {ok} after its return");
    assert_ne!(json!(ok), trial["due"]);
}
