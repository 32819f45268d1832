//! `torment find threads` and `torment explain limits`. Each limit on its own is provoked in the tests of the crate
//! `tasks`.

use crate::program::{ProcessOutput, RunningProcess, Sandbox, number};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::read_to_string;
use std::thread::sleep;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Descendants that hold a ramp's threads.
fn crowds(torment: u32) -> Vec<u32> {
    let children = read_to_string(format!("/proc/{torment}/task/{torment}/children")).unwrap_or_default();
    let is_crowd = |pid: &u32| {
        let words = read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split('\0').nth(1) == Some("crowd")
    };
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(is_crowd).collect()
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        sleep(Duration::from_millis(5));
    }
}

fn ramp(json: &Value) -> Vec<u64> {
    json["ramp"].as_array().expect("a ramp").iter().map(|point| number(point, "/tasks") as u64).collect()
}

#[test]
fn as_many_as_asked_and_all_of_them_go_again() {
    let sandbox = Sandbox::new();
    let (ended, json) = sandbox.json(["find", "threads", "--most", "500"]);
    ended.expect(0);
    assert_eq!(
        (number(&json, "/verdict/reached"), &json["verdict"]["gave"]["kind"]),
        (500.0, &"asked".into())
    );
    let names: Vec<&Value> =
        json["limits"].as_array().expect("limits").iter().map(|room| &room["name"]).collect();
    assert!(names.contains(&&"kernel.threads-max".into()), "{names:?}");
    let ramp = ramp(&json);
    assert_eq!((ramp.first(), ramp.last(), ramp.iter().max()), (Some(&0), Some(&0), Some(&500)), "{ramp:?}");
    // Read back from the store, it is the same run.
    let (shown, again) = sandbox.json(["show"]);
    shown.expect(0);
    assert_eq!(again, json);
}

#[test]
fn each_limit_is_listed() {
    let sandbox = Sandbox::new();
    let text = sandbox.torment(["explain", "limits"]).expect(0).stdout;
    for name in ["RLIMIT_NPROC", "kernel.pid_max", "vm.max_map_count", "kernel.pid_max="] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let sandbox = Sandbox::new();
    for (arguments, says) in [
        (&["find", "threads", "--stack", "1KiB"][..], "too small for a thread's stack"),
        (&["find", "threads", "--stack", "1MiB", "--touch", "2MiB"], "give a larger --stack"),
    ] {
        sandbox.torment(arguments.iter().copied()).expect_error(2, &[says]);
    }
    let ended = sandbox.torment(["find", "threads", "--raw", "--touch", "1KiB"]);
    assert_eq!(ended.code(), 2, "{ended}");
}

/// A ramp that takes some time, since each thread touches all it can.
fn slow(sandbox: &Sandbox) -> (RunningProcess, u32) {
    let running = RunningProcess::start(
        sandbox.command(["find", "threads", "--most", "3000", "--touch", "256KiB", "--quiet"]),
    );
    let mut crowd = None;
    wait_until("it has threads", || {
        crowd = crowds(running.pid()).first().copied();
        crowd.is_some_and(|pid| {
            read_to_string(format!("/proc/{pid}/status")).is_ok_and(|text| !text.contains("Threads:\t1\n"))
        })
    });
    (running, crowd.expect("it was waited for"))
}

fn is_gone(pid: u32) -> bool {
    !std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn ctrl_c_ends_it_and_keeps_what_was_seen() {
    let sandbox = Sandbox::new();
    let (running, crowd) = slow(&sandbox);
    running.signal(Signal::INT);
    let ended: ProcessOutput = running.end();
    // It may have finished just then.
    assert!([0, 130].contains(&ended.code()), "{ended}");
    assert!(is_gone(crowd), "no thread outlives it");
    let (shown, json) = sandbox.json(["show"]);
    shown.expect(0);
    assert_eq!(number(&json, "/exit_code") as i32, ended.code());
    assert!(!ramp(&json).is_empty());
}

#[test]
fn nothing_outlives_a_killed_torment() {
    let sandbox = Sandbox::new();
    let (running, crowd) = slow(&sandbox);
    running.signal(Signal::KILL);
    assert_eq!(running.end().signal(), Some(Signal::KILL.as_raw()));
    wait_until("the threads end with torment", || is_gone(crowd));
}
