//! `--on join`: workers that others start, and their join file.

use crate::program::target::{TargetProcess, free_port};
use crate::program::{LoadTurn, RunningProcess, SOON, Sandbox, adds_up, binary, number};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant};
use testbed::TestRelay;

/// Waits for the join file.
pub(super) fn file(sandbox: &Sandbox, name: &str) -> String {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(sandbox.path(name)).unwrap_or_default();
        if text.ends_with("PRIVATE KEY-----\n") {
            return text;
        }
        assert!(began.elapsed() < SOON, "there is no join file");
        sleep(Duration::from_millis(20));
    }
}

pub(super) fn worker(sandbox: &Sandbox, file: &str) -> RunningProcess {
    RunningProcess::start(sandbox.command(["worker", "--join", file]))
}

#[test]
fn whoever_has_the_file_makes_a_part_of_the_load() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let arguments =
        ["run", &url, "-r", "300", "-d", "3s", "--on", "join", "--workers", "2", "--format", "json"];
    let running = RunningProcess::start(sandbox.command(arguments));
    let text = file(&sandbox, "run.join");
    let mode = std::fs::metadata(sandbox.path("run.join")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "others could read it");
    // Another run does not touch it.
    let other = sandbox.torment(["run", &url, "-r", "9", "--on", "join"]);
    other.expect_error(2, &["run.join", "another folder"]);
    // One by its file, one by standard input.
    let first = worker(&sandbox, "run.join");
    let mut command = sandbox.command(["worker", "--join", "-", "--quiet"]);
    sandbox.write("copied", &text);
    command.stdin(std::fs::File::open(sandbox.path("copied")).expect("it was written"));
    let second = RunningProcess::start(command);
    let ended = running.end().measured();
    assert!(ended.stderr.contains("waits for 2 workers"), "{ended}");
    let run = ended.json();
    adds_up(&run["trial"]);
    let mut pids: Vec<u64> = run["fleet"]["workers"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|member| number(member, "/pid") as u64)
        .collect();
    let mut expected = vec![u64::from(first.pid()), u64::from(second.pid())];
    pids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(pids, expected);
    let received = target.truth("/json")["received"].as_u64().expect("a count");
    assert_eq!(number(&run, "/trial/sent") as u64, received - 1, "{ended}");
    // They exit with it, and the file is gone.
    let first = first.end().expect(0);
    assert!(first.stderr.contains("joined the run at 127.0.0.1:"), "{first}");
    assert_eq!(second.end().expect(0).stderr, "");
    assert!(!sandbox.path("run.join").exists());
    // It admits nobody any more.
    let late = worker(&sandbox, "copied").end();
    println!("{}", late.expect_error(1, &["cannot be reached", "as long as its run goes on"]));
}

#[test]
fn who_does_not_come_or_should_not_is_said() {
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let (url, port) = (target.url("/json"), free_port());
    let at = format!("join:127.0.0.1:{port}");
    let wait = |sandbox: &Sandbox| {
        let arguments = ["run", &url, "-r", "9", "-d", "1s", "--on", &at, "--wait", "3s"];
        RunningProcess::start(sandbox.command(arguments))
    };
    let running = wait(&sandbox);
    let old = file(&sandbox, "run.join");
    assert!(old.contains(&format!("at 127.0.0.1:{port}\n")), "{old}");
    let alone = worker(&sandbox, "run.join");
    println!("{}", running.end().expect_error(1, &["1 of 2 workers joined in time", "--wait"]));
    // The only worker that joined is told that there is no run.
    alone.end();
    // The same address, another run: the first one's file is not accepted.
    sandbox.write("old.join", &old);
    let running = wait(&sandbox);
    file(&sandbox, "run.join");
    println!("{}", worker(&sandbox, "old.join").end().expect_error(1, &["are they from this run?"]));
    println!("{}", running.end().expect_error(1, &["0 of 2 workers joined", "turned away: 127.0.0.1:"]));
    for (text, words) in [("", "it is no file of torment's"), ("# Lets one process", "no file of torment's")]
    {
        sandbox.write("none.join", text);
        println!("{}", worker(&sandbox, "none.join").end().expect_error(1, &[words]));
    }
    println!(
        "{}",
        worker(&sandbox, "missing.join").end().expect_error(1, &["there is no 'missing.join' in "])
    );
    // A file that is not ours is left alone.
    sandbox.write("run.join", "mine");
    println!("{}", wait(&sandbox).end().expect_error(2, &["run.join is another file"]));
    assert_eq!(std::fs::read_to_string(sandbox.path("run.join")).expect("it is there"), "mine");
}

/// This program with another build ID, as if made from other sources.
fn another_build(sandbox: &Sandbox) -> std::path::PathBuf {
    let said = std::process::Command::new(binary()).arg("stamp").output().expect("it can be run").stdout;
    let said = String::from_utf8(said).expect("digits");
    let digits = said.split_whitespace().last().expect("its stamp").as_bytes();
    let digit =
        |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("digits");
    let stamp: Vec<u8> = digits.chunks(2).map(digit).collect();
    let mut bytes = std::fs::read(binary()).expect("it can be read");
    let at = bytes.windows(stamp.len()).position(|bytes| bytes == stamp).expect("it is in its head");
    bytes[at] ^= 1;
    let path = sandbox.path("another");
    std::fs::write(&path, bytes).expect("the folder is ours");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).expect("it is ours");
    path
}

#[test]
fn another_build_of_the_same_version_is_not_let_in() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let arguments = ["run", &url, "-r", "9", "-d", "1s", "--on", "join", "--workers", "1", "--wait", "20s"];
    let running = RunningProcess::start(sandbox.command(arguments));
    file(&sandbox, "run.join");
    let mut command = std::process::Command::new(another_build(&sandbox));
    command.args(["worker", "--join", "run.join"]);
    let refused = RunningProcess::start(sandbox.homed(command)).end();
    println!("{}", refused.expect_error(1, &["another torment", "than the coordinator's", "the same file"]));
    // Its number is free for a matching one.
    let worker = worker(&sandbox, "run.join");
    running.end().measured();
    worker.end().expect(0);
}

/// Two workers, one of which comes through a relay, and a load that has begun.
fn through_a_relay(
    sandbox: &Sandbox,
    target: &TargetProcess,
    arguments: &[&str],
) -> (RunningProcess, TestRelay, [RunningProcess; 2]) {
    let url = target.url("/json");
    let load = ["--on", "join", "--workers", "2", "--format", "json"];
    let all = arguments.iter().copied().chain([url.as_str()]).chain(load);
    let running = RunningProcess::start(sandbox.command(all));
    let text = file(sandbox, "run.join");
    let at = text.lines().find_map(|line| line.strip_prefix("at ")).expect("it says where");
    let relay = TestRelay::to(at.parse().expect("an address"));
    sandbox.write("far.join", &text.replace(at, &relay.address().to_string()));
    let workers = [worker(sandbox, "run.join"), worker(sandbox, "far.join")];
    let began = Instant::now();
    while target.truth("/json")["received"].as_u64() < Some(300) {
        assert!(began.elapsed() < SOON, "the load does not come");
        sleep(Duration::from_millis(20));
    }
    (running, relay, workers)
}

/// It reconnects, and reports what it counted meanwhile.
#[test]
fn a_link_that_is_cut_for_two_seconds_voids_nothing() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let (running, relay, workers) = through_a_relay(&sandbox, &target, &["run", "-r", "200", "-d", "8s"]);
    relay.cut();
    sleep(Duration::from_secs(2));
    relay.restore();
    let ended = running.end().measured();
    let run = ended.json();
    adds_up(&run["trial"]);
    assert_eq!(run["trial"]["due"], 1600, "{run:#}");
    assert_eq!(run["fleet"]["lost"].as_array().map(Vec::len), Some(0), "{run:#}");
    let received = target.truth("/json")["received"].as_u64().expect("a count");
    assert_eq!(number(&run, "/trial/sent") as u64, received - 1, "{ended}");
    for worker in workers {
        worker.end().expect(0);
    }
}

/// Only its clock's offset is known less well then.
#[test]
fn a_long_and_uneven_way_to_the_coordinator_voids_nothing() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let (running, relay, workers) = through_a_relay(&sandbox, &target, &["run", "-r", "200", "-d", "6s"]);
    relay.delays(Duration::from_millis(2), Duration::from_millis(40));
    let run = running.end().measured().json();
    adds_up(&run["trial"]);
    assert_eq!(run["trial"]["due"], 1200, "{run:#}");
    assert_eq!(run["fleet"]["lost"].as_array().map(Vec::len), Some(0), "{run:#}");
    let received = target.truth("/json")["received"].as_u64().expect("a count");
    assert_eq!(number(&run, "/trial/sent") as u64, received - 1, "{run:#}");
    for worker in workers {
        worker.end().expect(0);
    }
}

#[test]
fn a_link_that_is_cut_for_ten_seconds_voids_one_trial() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let find = ["find", "--from", "150", "--max", "300", "--trial", "8s", "--budget", "2m"];
    let (mut running, relay, workers) = through_a_relay(&sandbox, &target, &find);
    relay.cut();
    sleep(Duration::from_secs(10));
    relay.restore();
    sleep(Duration::from_secs(9));
    // Where others take the processors a search ends before that.
    let goes_on = running.is_running();
    let run = running.end().json();
    let lost = run["fleet"]["lost"].as_array().expect("a list");
    assert_eq!(lost.len(), 1, "{lost:#?}");
    let why = lost[0]["why"].as_str().expect("it is said");
    assert!(why.contains("was not back within 5 s"), "{why}");
    if !goes_on {
        eprintln!("SKIPPED: the machine is too busy for a search that lasts");
        return;
    }
    assert_eq!(run["fleet"]["workers"].as_array().map(Vec::len), Some(2), "it takes part again: {run:#}");
    for worker in workers {
        worker.end().expect(0);
    }
}

#[test]
fn a_worker_that_leaves_is_lost_and_says_so() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let arguments =
        ["run", &url, "-r", "300", "-d", "1m", "--on", "join", "--workers", "1", "--format", "json"];
    let running = RunningProcess::start(sandbox.command(arguments));
    file(&sandbox, "run.join");
    let worker = worker(&sandbox, "run.join");
    let began = Instant::now();
    while target.truth("/json")["received"].as_u64() < Some(200) {
        assert!(began.elapsed() < SOON, "the load does not come");
        sleep(Duration::from_millis(20));
    }
    worker.signal(Signal::TERM);
    worker.end().expect(0);
    let run = running.end().expect(92).json();
    let lost = run["fleet"]["lost"][0]["why"].as_str().expect("one is lost");
    assert!(lost.contains("SIGTERM"), "{lost}");
    assert_eq!(number(&run, "/fleet/lost/0/unaccounted"), 0.0);
}

#[test]
fn who_waits_for_workers_can_be_interrupted() {
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let running =
        RunningProcess::start(sandbox.command(["run", &url, "-r", "300", "-d", "1s", "--on", "join"]));
    file(&sandbox, "run.join");
    running.signal(Signal::INT);
    running.end().expect(130);
    assert!(!sandbox.path("run.join").exists(), "it goes with the run");
    assert_eq!(
        target.truth("/json")["received"].as_u64().unwrap_or(0),
        0,
        "nobody was there to send anything"
    );
}
