//! A target that freezes now and then, and what only looks like it.

use super::store::wait_until;
use crate::program::target::{TargetProcess, unix};
use crate::program::{LoadTurn, RunningProcess, Sandbox};
use rustix::process::Signal;
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

/// Frozen for 0.4 s every two seconds: reported at any rate, with length and period.
#[test]
fn freezes_are_found_at_any_rate() {
    let _turn = LoadTurn::shared();
    for rate in ["50", "1000"] {
        let off: Vec<String> = (0..3).map_while(|_| freezes(rate).err()).collect();
        assert!(off.len() < 3, "{rate}/s: {off:?}");
    }
}

fn freezes(rate: &str) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let arguments = ["run", "demo/stall?every=2s&for=400ms", "-r", rate, "-d", "12s"];
    let (ended, run) = sandbox.load(arguments);
    let found = &run["freezes"];
    let seconds = |key: &str| found[key].as_f64().unwrap_or(0.0);
    println!("{ended}{found:#}");
    let is_near = |found: f64, truth: f64| (found / truth - 1.0).abs() < 0.1;
    let right = matches!(found["count"].as_u64(), Some(5..=6))
        && is_near(seconds("median_seconds"), 0.4)
        && is_near(seconds("period_seconds"), 2.0);
    if !right {
        return Err(format!("{found:#}"));
    }
    let shown = sandbox.torment(["show"]).expect(0);
    assert!(shown.stdout.contains("the target froze"), "{shown}");
    Ok(())
}

#[test]
fn a_steady_target_never_stands_still() {
    let _turn = LoadTurn::shared();
    let off: Vec<String> = (0..3)
        .map_while(|_| {
            let sandbox = Sandbox::new();
            let (ended, run) =
                sandbox.load(["run", "demo/delay?ms=300", "-r", "20", "-d", "4s", "--arrivals", "poisson"]);
            println!("{ended}");
            run["freezes"].is_object().then(|| run["freezes"].to_string())
        })
        .collect();
    assert!(off.len() < 3, "{off:?}");
}

/// Acts during a load of nine seconds; returns its findings on freezes.
fn meanwhile(sandbox: &Sandbox, arguments: &[&str], act: impl Fn(&RunningProcess)) -> Value {
    let load = ["run", "-r", "200", "-d", "9s", "--format", "json"];
    let running = RunningProcess::start(sandbox.command(load.iter().chain(arguments).copied()));
    // A busy machine may take its time before the load begins.
    wait_until(sandbox, "a second of load", |run| run["trial"]["due"].as_u64() > Some(0));
    act(&running);
    let ended = running.end();
    println!("{ended}");
    ended.json()["freezes"].clone()
}

const PAUSE: Duration = Duration::from_millis(600);

/// A Unix socket does not show when an answer came, so only torment itself can know that it stood still.
#[test]
fn that_torment_stood_still_is_not_laid_to_the_target() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let socket = sandbox.path("service.sock");
    let _target = TargetProcess::listen(&sandbox, &unix(&socket), &[]);
    let socket = socket.to_str().expect("a temporary path is UTF-8");
    let arguments = ["http://clinic.example/delay?ms=20", "--unix-socket", socket];
    let found = meanwhile(&sandbox, &arguments, |running| {
        for _ in 0..3 {
            running.signal(Signal::STOP);
            sleep(PAUSE);
            running.signal(Signal::CONT);
            sleep(PAUSE);
        }
    });
    // On a busy machine the target itself may have to wait for a processor, but for less than that.
    let longest = found["longest_seconds"].as_f64().unwrap_or(0.0);
    assert!(longest < PAUSE.as_secs_f64() / 2.0, "{found:#}");
}

/// Stopped as by a debugger, a snapshot or the cgroup freezer.
#[test]
fn a_target_that_was_stopped_is_said_to_have_been() {
    let _turn = LoadTurn::shared();
    // Where others take the processors, torment sometimes checks too rarely, and reports that nothing explains it.
    let off: Vec<String> = (0..3).map_while(|_| stopped().err()).collect();
    assert!(off.len() < 3, "{off:?}");
}

fn stopped() -> Result<(), String> {
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let found = meanwhile(&sandbox, &[&target.url("/json")], |_| {
        for _ in 0..3 {
            target.signal(Signal::STOP);
            sleep(PAUSE);
            target.signal(Signal::CONT);
            // Seconds without a freeze are the baseline for the others.
            sleep(2 * PAUSE);
        }
    });
    let enough = found["count"].as_u64().is_some_and(|count| count >= 3);
    if enough && found["meanwhile"]["code"] == "stopped" { Ok(()) } else { Err(format!("{found:#}")) }
}
