//! A service that crashes and restarts under load: every arrival is accounted for, failures say why, and the load finds
//! the service again by itself.

use crate::program::target::TargetProcess;
use crate::program::{LoadTurn, RunningProcess, Sandbox, adds_up, outcome};
use std::thread::sleep;
use std::time::Duration;

const UP: Duration = Duration::from_secs(2);
const DOWN: Duration = Duration::from_secs(2);

#[test]
fn a_service_that_crashes_and_comes_back_is_accounted_for() {
    let _turn = LoadTurn::shared();
    // A load voided because the machine was busy is repeated.
    assert!((0..3).any(|_| crash_under_load()), "the generator was late three times");
}

/// One load on a service that crashes and restarts; false if the generator was late.
fn crash_under_load() -> bool {
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let (url, listen) = (target.url("/delay?ms=1"), target.socket_address().to_string());
    let run = RunningProcess::start(
        sandbox.command(["run", &url, "-r", "500", "-d", "7s", "--goal", "loss<1%", "--format", "json"]),
    );
    sleep(UP);
    target.kill();
    sleep(DOWN);
    let again = TargetProcess::listen(&sandbox, &listen, &["--model", "async"]);
    let ended = run.end();
    let json = ended.json();
    let trial = &json["trial"];
    println!("{}\n{trial:#}", ended.stderr);
    adds_up(trial);
    if ended.code() == 92 {
        return false;
    }
    assert_eq!(ended.code(), 99, "{ended}");
    assert_eq!(json["exit_code"], 99, "{ended}");
    let (ok, failed) = (outcome(trial, "ok"), outcome(trial, "failed"));
    assert_eq!(trial["due"], 500 * 7, "a target that is gone does not stop the load");
    // What the new service received is what was answered after the crash; the other ok ones were before.
    let after = again.truth("/delay")["received"].as_u64().expect("a count");
    assert!(after > 0, "the load does not find the service again: {trial:#}");
    assert!(ok > after, "nothing was answered before the crash: {ok} in all, {after} after it");
    assert!(failed > 0, "nobody missed a service that was gone for {DOWN:?}: {trial:#}");
    let failures = trial["failures"].as_array().expect("a list");
    let mut named = 0;
    for failure in failures {
        let (why, count) = (failure["reason"].as_str().expect("words"), failure["count"].as_u64());
        let known = [
            "no connection: connection refused",
            "no connection: connection reset",
            "connection closed",
            "the server closed a used connection",
        ];
        assert!(known.iter().any(|known| why.starts_with(known)), "{why} in {trial:#}");
        named += count.expect("a count");
    }
    assert_eq!(named, failed, "every failure has a reason: {trial:#}");
    let refused = |f: &serde_json::Value| f["reason"].as_str().is_some_and(|why| why.contains("refused"));
    assert!(failures.iter().any(refused), "nobody listened, and nobody said so: {trial:#}");
    true
}
