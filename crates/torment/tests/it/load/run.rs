//! `torment run`: one load, every arrival accounted for, and a verdict.

use crate::program::target::{TargetProcess, unix};
use crate::program::{LoadTurn, ProcessOutput, Sandbox, adds_up, number, odd_servers, outcome};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Makes a load and checks what holds for all. The trial and the exit code.
#[track_caller]
fn load(sandbox: &Sandbox, arguments: &[&str]) -> (Value, i32) {
    checked(sandbox, sandbox.load([&["run"], arguments].concat()))
}

/// The same where the target counts, so that nothing may be repeated.
#[track_caller]
fn load_once(sandbox: &Sandbox, arguments: &[&str]) -> (Value, i32) {
    checked(sandbox, sandbox.json([&["run"], arguments].concat()))
}

#[track_caller]
fn checked(sandbox: &Sandbox, (ended, run): (ProcessOutput, Value)) -> (Value, i32) {
    println!("{}", ended.stderr);
    assert_eq!((&run["state"], &run["exit_code"]), (&"ended".into(), &ended.code().into()), "{ended}");
    let trial = run["trial"].clone();
    adds_up(&trial);
    let met = match ended.code() {
        0 => json!(true),
        99 => json!(false),
        _ => Value::Null,
    };
    assert_eq!(run["goal_met"], met, "{ended}");
    let (shown, again) = sandbox.json(["show"]);
    shown.expect(0);
    assert_eq!(again, run, "show tells another story");
    (trial, ended.code())
}

/// A service that freezes for the last second of every ten: a tenth of the arrivals wait, evenly spread over that
/// second. A generator that waits with it would not see them.
#[test]
fn a_frozen_target_is_not_flattered() {
    let _turn = LoadTurn::shared();
    // The machine's own hiccups only add to the waits: one quiet run of three is enough, and a generator that omits the
    // waiting requests never has one.
    let off: Vec<String> = (0..3).map_while(|_| frozen_target().err()).collect();
    assert!(off.len() < 3, "{off:?}");
}

/// One load on a target that freezes; `Err` says how far its quantiles are off.
fn frozen_target() -> Result<(), String> {
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let (trial, code) = load_once(&sandbox, &[&target.url("/stall"), "-r", "500", "-d", "20s"]);
    if code == 92 {
        return Err("the generator was late".to_owned());
    }
    assert_eq!((code, &trial["due"], outcome(&trial, "ok")), (0, &10_000.into(), 10_000), "{trial:#}");
    let truth = target.truth("/stall");
    // To answer all that waited takes the target itself some milliseconds, more on a busy machine; it reports how many.
    let own = number(&truth, "/late_us/p99");
    println!("the target answers up to {own} µs late");
    let calm = number(&trial, "/response/p50_us");
    assert!(calm < 100_000.0, "nine tenths do not wait: p50 is {calm} µs");
    assert_eq!(truth["received"], 10_001, "the load, and one look before it");
    for (quantile, truth) in [("p95", 500_000.0), ("p99", 900_000.0)] {
        let found = number(&trial, &format!("/response/{quantile}_us"));
        if (found - truth).abs() > 50_000.0 + own {
            return Err(format!("{quantile} is {found} µs, the truth {truth} µs"));
        }
    }
    Ok(())
}

#[test]
fn stages_ramp_in_straight_lines() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    // The article's stages in a fiftieth of their time: 0 → 10 → 100 → 500 → 1,000, and hold.
    let stages = "600ms:1% 600ms:10% 600ms:50% 600ms:100% 1200ms:100%";
    let (trial, code) = load(&sandbox, &["demo/json", "-r", "1000", "--stages", stages]);
    let due = 0.6 * (5.0 + 55.0 + 300.0 + 750.0) + 1.2 * 1_000.0;
    assert_eq!((code, &trial["due"]), (0, &(due as u64).into()), "{trial:#}");

    let plan =
        sandbox.torment(["run", "demo", "-r", "2k", "--stages", "article", "--dry-run"]).expect(0).stdout;
    let expected = r#"["30s:20", "30s:200", "30s:1000", "30s:2000", "60s:2000"]"#;
    assert!(plan.contains(&format!("stages = {expected}")), "{plan}");
}

#[test]
fn a_closed_loop_makes_exactly_its_requests() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "threads"]);
    let (trial, code) = load_once(&sandbox, &[&target.url("/delay?ms=10"), "-c", "4", "-n", "1000"]);
    assert_eq!(code, 0, "{trial:#}");
    assert_eq!((&trial["due"], &trial["sent"], outcome(&trial, "ok")), (&1_000.into(), &1_000.into(), 1_000));
    let seconds = number(&trial, "/loaded_seconds");
    assert!(
        seconds >= 2.5,
        "4 connections at 10 ms each make at most 400 a second, not 1,000 in {seconds} s"
    );
    assert_eq!(target.truth("/delay")["received"], 1_001);
}

#[test]
fn a_goal_that_is_not_met_is_said_by_the_exit_code() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let slow = ["demo/delay?ms=20", "-r", "100", "-d", "1s", "--goal"];
    let (trial, code) = load(&sandbox, &[&slow[..], &["p99<15ms"]].concat());
    assert_eq!((code, outcome(&trial, "late")), (99, 100), "{trial:#}");
    let (trial, code) = load(&sandbox, &[&slow[..], &["p99<2s"]].concat());
    assert_eq!((code, outcome(&trial, "ok")), (0, 100), "{trial:#}");
}

#[test]
fn the_plan_says_which_status_is_an_answer() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &[]);
    let short = ["-r", "50", "-d", "1s"];
    // Redirects are answers, and not followed.
    let (trial, code) = load(&sandbox, &[&[&*target.url("/status/302")], &short[..]].concat());
    assert_eq!((code, &trial["statuses"]), (0, &json!({ "302": 50 })));
    let gone = target.url("/status/410");
    let (trial, code) = load(&sandbox, &[&[&*gone, "--expect-status", "200,410"], &short[..]].concat());
    assert_eq!((code, &trial["statuses"]), (0, &json!({ "410": 50 })));
    let (trial, code) = load(&sandbox, &[&[&*gone, "-m", "POST"], &short[..]].concat());
    assert_eq!((code, outcome(&trial, "failed")), (99, 50));
    assert_eq!(trial["failures"], json!([{ "reason": "status 410", "count": 50 }]));
    assert_eq!(target.truth("/")["received"], Value::Null, "a redirect was followed");
}

#[test]
fn a_unix_socket_takes_the_place_of_the_host() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let socket = sandbox.path("service.sock");
    let _target = TargetProcess::listen(&sandbox, &unix(&socket), &[]);
    let socket = socket.to_str().expect("a temporary path is UTF-8");
    let (trial, code) =
        load(&sandbox, &["http://clinic.example/healthz", "--unix-socket", socket, "-r", "200", "-d", "1s"]);
    assert_eq!((code, outcome(&trial, "ok")), (0, 200), "{trial:#}");
    let once = sandbox
        .torment(["run", "--once", "http://clinic.example/healthz", "--unix-socket", socket])
        .expect(0);
    assert!(once.stdout.contains("\r\nHost: clinic.example\r\n"), "{once}");
}

#[test]
fn random_arrivals_are_the_same_for_the_same_seed() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let due = |seed| {
        let poisson = ["null", "-r", "1000", "-d", "1s", "--arrivals", "poisson", "--seed", seed];
        let (trial, code) = load(&sandbox, &poisson);
        assert_eq!(code, 0, "{trial:#}");
        trial["due"].as_u64().expect("a count")
    };
    let (first, again, other) = (due("7"), due("7"), due("8"));
    assert_eq!(first, again, "seed 7 twice");
    // The standard deviation of a Poisson count of 1,000 is 32.
    for count in [first, other] {
        assert!((840..=1_160).contains(&count), "{count} arrivals at 1,000/s in 1 s");
    }
    assert!(first != 1_000 || other != 1_000, "these are even arrivals");
}

#[test]
fn once_prints_all_that_is_sent_and_answered() {
    let sandbox = Sandbox::new();
    let arguments =
        ["run", "--once", "demo/echo?n={counter}", "-H", "X-Number: {counter}", "-b", "number {counter}"];
    let once = sandbox.torment(arguments).expect(0);
    let (request, answer) = once.stdout.split_once("HTTP/1.1 200\r\n").unwrap_or_else(|| panic!("{once}"));
    for line in [
        "POST /echo?n=0 HTTP/1.1\r\n",
        "\r\nX-Number: 0\r\n",
        "\r\nContent-Length: 8\r\n",
        "\r\n\r\nnumber 0\n",
    ] {
        assert!(request.contains(line), "{line:?} is not in {once}");
    }
    assert!(answer.trim_end().ends_with("\r\n\r\nnumber 0"), "{once}");
    assert!(once.stderr.contains("status 200, as expected"), "{once}");
    assert_eq!(
        sandbox
            .torment(["run", "--once", "demo/status/500"])
            .expect(99)
            .stdout
            .matches("HTTP/1.1 500")
            .count(),
        1
    );
    let list = sandbox.torment(["list", "--format", "json"]).expect(0).json();
    assert_eq!(list["runs"], json!([]), "one request is no run");
}

#[test]
fn a_dry_run_prints_a_plan_that_says_the_same_again() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["run", "http://127.0.0.1:9/a?b={1..9}", "-r", "2.5k", "-d", "90s", "--goal", "loss<0.1%"][..],
        &["run", "demo", "-s", "10s:100", "-s", "1m:100", "--arrivals", "poisson", "--seed", "3"],
        &["run", "null", "-c", "64", "-n", "100000"],
        &[
            "run",
            "https://[::1]:8443/",
            "-k",
            "-r",
            "5",
            "-H",
            "X-Quote: \"\\",
            "-b",
            "{random:1..5}\n{uuid}",
        ],
        &[
            "run",
            "demo/owners/new",
            "--form",
            "a=1 & 2",
            "--form",
            "b=ü",
            "-r",
            "9",
            "--expect-status",
            "302",
        ],
        &["find", "demo/pool?size=10&ms=20", "--careful", "--budget", "10m", "--max", "20k"],
        &["find", "localhost:80", "--goal", "p99.9<1.5s", "--width", "5%", "--trial", "5s", "--cores", "0"],
    ] {
        let first = sandbox.torment(arguments.iter().copied().chain(["--dry-run"])).expect(0);
        let file = sandbox.write("plan.toml", &first.stdout);
        let again = sandbox.torment([arguments[0], file.to_str().expect("UTF-8"), "--dry-run"]).expect(0);
        assert_eq!(again.stdout, first.stdout, "{arguments:?}");
        assert_eq!(again.stderr, first.stderr, "{arguments:?}");
    }
    assert!(!sandbox.store().exists(), "a dry run keeps nothing");
}

#[test]
fn placeholders_reach_the_target() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let database = sandbox.path("clinic.db");
    let target = TargetProcess::start(
        &sandbox,
        &["--database", database.to_str().expect("UTF-8"), "--model", "async"],
    );

    // In the path: each of four statuses a quarter of the time.
    let path = target.url("/status/{200..203}");
    let (trial, code) = load(&sandbox, &[&path, "-r", "100", "-d", "1s"]);
    assert_eq!((code, &trial["statuses"]), (0, &json!({ "200": 25, "201": 25, "202": 25, "203": 25 })));

    // In a form, URL-encoded: names from a file, and numbers.
    sandbox.write("names.csv", "id,name\n1,Ada\n2,\"O'Brien & Söhne\"\n3,Zoë\n");
    let (trial, _) = load_once(
        &sandbox,
        &[
            &target.url("/owners/new"),
            "--form=first_name={file:names.csv:name}",
            "--form=last_name=N{counter}",
            "--form=address={uuid}",
            "--form=city=C{random:1..3}",
            "--form=telephone={1000..1002}",
            "-r",
            "60",
            "-d",
            "1s",
        ],
    );
    assert_eq!(outcome(&trial, "ok"), 60, "{trial:#}");
    let rows = rows(&database, 1_000);
    assert_eq!(rows.len(), 60);
    let column = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<BTreeSet<String>>();
    let set = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    assert_eq!(column(0), set(&["Ada", "O'Brien & Söhne", "Zoë"]));
    assert_eq!(column(1).len(), 60, "a counter never repeats: {:?}", column(1));
    assert_eq!(column(2).len(), 60, "nor does a UUID");
    assert_eq!(column(3), set(&["C1", "C2", "C3"]));
    assert_eq!(column(4), set(&["1000", "1001", "1002"]));
    for row in &rows {
        // All placeholders of a request are of the same arrival: file and range advance together.
        let turn = ["Ada", "O'Brien & Söhne", "Zoë"].iter().position(|name| *name == row[0]);
        assert_eq!(row[4], format!("100{}", turn.expect("one of the names")), "{row:?}");
    }
}

/// The owners with an ID above `after`.
fn rows(database: &std::path::Path, after: u32) -> Vec<[String; 5]> {
    let db = rusqlite::Connection::open(database).expect("the clinic's database");
    let mut query = db
        .prepare("SELECT first_name, last_name, address, city, telephone FROM owners WHERE id > ?1")
        .expect("the clinic's table");
    query
        .query_map([after], |r| Ok([r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?]))
        .expect("a sound database")
        .map(|row| row.expect("text"))
        .collect()
}

#[test]
fn what_is_not_answered_in_time_is_counted_as_that() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    // No check precedes a POST; it would end the run before it begins.
    let slow = ["demo/delay?ms=2000", "-m", "POST", "-r", "50", "-d", "1s", "--timeout", "300ms"];
    let (trial, code) = load(&sandbox, &slow);
    assert_eq!((code, outcome(&trial, "timeout")), (99, 50), "{trial:#}");
    // They count with the time they had waited: leaving them out would flatter.
    assert_eq!(trial["response"]["count"], 50, "{trial:#}");
    let p50 = number(&trial, "/response/p50_us");
    assert!(p50 >= 299_000.0, "given up after {p50} µs");
}

/// A server that writes head and body apart answers each request 40 ms late, but for those at the beginning of a connection.
#[test]
fn who_waits_for_delayed_acknowledgements_is_told_so() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let held_back = |nagle: bool| {
        let url = format!("http://{}/", odd_servers::in_pieces(nagle));
        let (trial, _) = load(&sandbox, &[&url, "-r", "300", "-d", "3s"]);
        let caveats = trial["caveats"].as_array().expect("a list");
        let told = caveats.iter().find(|caveat| caveat["code"] == "delayed-acks")?;
        Some(told["text"].as_str().expect("words").to_owned())
    };
    let told = held_back(true).expect("most answers wait");
    let share: u32 = told.split(' ').next().and_then(|share| share.parse().ok()).expect("a share");
    assert!(share > 50 && told.contains("TCP_NODELAY"), "{told}");
    assert_eq!(held_back(false), None);
}
