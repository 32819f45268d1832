//! `torment run --processes` and `torment find processes`: real programs, exactly as many as asked for, and none left
//! over.

use crate::program::{LoadTurn, ProcessOutput, RunningProcess, Sandbox, adds_up, binary, number, outcome};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// torment with these arguments, and this command for it to start.
fn storm(sandbox: &Sandbox, arguments: &[&str], command: &[&str]) -> RunningProcess {
    let mut torment = sandbox.homed(Command::new(binary()));
    torment.args(arguments).arg("--store").arg(sandbox.store());
    if !command.is_empty() {
        torment.arg("--").args(command);
    }
    RunningProcess::start(torment)
}

fn json(sandbox: &Sandbox, arguments: &[&str], command: &[&str]) -> (ProcessOutput, Value) {
    let ended = storm(sandbox, &[arguments, &["--format", "json"]].concat(), command).end();
    let json = ended.json();
    (ended, json)
}

/// A sleep duration unique on this machine.
fn own_sleep() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    format!("6000.{}{:09}", std::process::id(), since.subsec_nanos())
}

/// Processes whose command line ends with this word.
fn alive(word: &str) -> usize {
    let folders = std::fs::read_dir("/proc").expect("every Linux has it");
    let words = folders.flatten().filter_map(|folder| std::fs::read(folder.path().join("cmdline")).ok());
    let found = words.filter(|line| {
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
        words.len() == 2 && words[1] == word.as_bytes()
    });
    found.count()
}

fn wait_for(what: &str, until: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !until() {
        assert!(Instant::now() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn so_many_processes_are_so_many_lines() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (log, output) = (sandbox.path("jobs.ndjson"), sandbox.path("output"));
    let arguments = [
        "run",
        "--processes",
        "500",
        "--parallel",
        "20",
        "--job-log",
        &log.to_string_lossy(),
        "--output",
        &output.to_string_lossy(),
    ];
    let (ended, run) = json(&sandbox, &arguments, &["sh", "-c", "echo line"]);
    let ended = ended.expect(0);
    let trial = &run["trial"];
    adds_up(trial);
    assert_eq!(
        (&trial["due"], &trial["sent"], outcome(trial, "ok")),
        (&500.into(), &500.into(), 500),
        "{ended}"
    );
    assert_eq!(trial["statuses"]["0"], 500);
    let lines = std::fs::read_to_string(&log).expect("it was written");
    assert_eq!(lines.lines().count(), 500);
    let exits = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["exit"] == 0;
    assert!(lines.lines().all(exits));
    let output = std::fs::read_to_string(&output).expect("it was written");
    assert_eq!(output.matches("line").count(), 500);
    let (shown, again) = sandbox.json(["show"]);
    shown.expect(0);
    assert_eq!(again["trial"], run["trial"], "show tells another story");
}

#[test]
fn programs_that_fail_fail_the_goal() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (ended, run) = json(&sandbox, &["run", "--processes", "30"], &["sh", "-c", "exit 7"]);
    ended.expect(99);
    assert_eq!(outcome(&run["trial"], "failed"), 30);
    assert_eq!(run["trial"]["statuses"]["7"], 30);
    let (ended, _) =
        json(&sandbox, &["run", "--processes", "30", "--expect-exit", "5-7"], &["sh", "-c", "exit 7"]);
    ended.expect(0);
    let slow = ["run", "--processes", "4", "--timeout", "100ms"];
    let (ended, run) = json(&sandbox, &slow, &["sleep", "600"]);
    // The machine may be too slow, which is then reported.
    assert!([99, 92].contains(&ended.code()), "{ended}");
    assert_eq!(outcome(&run["trial"], "timeout"), 4);
}

#[test]
fn a_rate_of_processes_is_kept() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (ended, run) = json(&sandbox, &["run", "-r", "50", "-d", "2s"], &["true"]);
    ended.measured();
    adds_up(&run["trial"]);
    assert_eq!((&run["trial"]["due"], outcome(&run["trial"], "ok")), (&100.into(), 100));
}

/// Ten at a time, each 50 ms: 200 a second.
#[test]
fn a_known_rate_is_reported() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (ended, run) = json(&sandbox, &["run", "--processes", "200", "--parallel", "10"], &["sleep", "0.05"]);
    ended.expect(0);
    let rate = number(&run["trial"], "/answered_per_second");
    assert!((60.0..201.0).contains(&rate), "{rate}/s");
}

#[test]
fn a_search_counts_in_processes() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let arguments = [
        "find",
        "processes",
        "--from",
        "20",
        "--max",
        "40",
        "--trial",
        "1s",
        "--budget",
        "60s",
        "--no-split",
    ];
    let (ended, run) = json(&sandbox, &arguments, &[]);
    println!("{}", ended.stderr);
    let limit = &run["limits"][0];
    assert_eq!((&limit["goal"], &limit["unit"]), (&"nine-of-ten".into(), &"processes/s".into()), "{ended}");
    // A busy machine changes during the search, which reports it.
    assert!([0, 91, 92].contains(&ended.code()), "{ended}");
    if ended.code() == 0 {
        assert_eq!(run["ended"], "max_reached", "every machine starts 40 a second");
    }
}

/// A storm with five sleeping processes, each with this word.
fn five_asleep(sandbox: &Sandbox) -> (RunningProcess, String) {
    let word = own_sleep();
    let storm_of = ["run", "--processes", "1000", "--parallel", "5", "--timeout", "1h"];
    let running = storm(sandbox, &storm_of, &["sleep", &word]);
    wait_for("it starts five", || alive(&word) == 5);
    (running, word)
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (running, word) = five_asleep(&sandbox);
    running.signal(rustix::process::Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code(), 130, "{ended}");
    assert_eq!(alive(&word), 0);
}

#[test]
fn nothing_is_left_after_a_kill() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (running, word) = five_asleep(&sandbox);
    running.signal(rustix::process::Signal::KILL);
    assert_eq!(running.end().signal(), Some(9));
    wait_for("they end with it", || alive(&word) == 0);
}

#[test]
fn what_is_wrong_is_one_message() {
    let sandbox = Sandbox::new();
    let text = sandbox.write("text", "nothing\n").to_string_lossy().into_owned();
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["run", "--processes", "10"], &["nowhere-at-all"], &["nowhere-at-all", "PATH"]),
        (&["run", "--processes", "10"], &["/proc/nowhere/at/all"], &["/proc/nowhere/at/all", "no such file"]),
        (&["run", "--processes", "10"], &[&text], &["text", "permission"]),
        (&["run", "--processes", "10"], &["/"], &["folder"]),
        (&["run", "--processes", "10", "-r", "5"], &["true"], &["a rate", "leave one out"]),
        (&["run"], &["true"], &["--processes", "--rate"]),
        (&["run", "--processes", "0"], &["true"], &["--processes", "'0'"]),
        (&["run", "--processes", "10", "--parallel", "0"], &["true"], &["--parallel", "'0'"]),
        (&["run", "--processes", "10", "--expect-exit", "300"], &["true"], &["--expect-exit", "300"]),
        (&["run", "--processes", "10", "--timeout", "0"], &["true"], &["--timeout"]),
        (&["run", "-c", "10"], &["true"], &["--parallel"]),
        (&["run", "--processes", "10"], &[], &["no command", "--"]),
        (&["find", "processes", "--max", "none"], &["true"], &["--max"]),
    ];
    for (arguments, command, words) in cases {
        storm(&sandbox, arguments, command).end().expect_error(2, words);
    }
    let (log, none) = (["run", "--processes", "10", "--job-log", "/proc/nowhere/jobs"], ["true"]);
    storm(&sandbox, &[&log[..], &["-q"]].concat(), &none).end().expect_error(1, &["/proc/nowhere/jobs"]);
    let many = ["run", "--processes", "10", "--parallel", "1000000", "-q"];
    storm(&sandbox, &many, &none).end().expect_error(1, &["1000000", "--parallel"]);
}
