//! `torment doctor` on the actual machine, against a second opinion; other machines are in the tests of the crate
//! `doctor`.

use crate::program::{ProcessOutput, RunningProcess, Sandbox, binary};
use serde_json::Value;
use std::process::Command;

/// What a shell prints.
fn said(line: &str) -> String {
    let output = Command::new("sh").args(["-c", line]).output().expect("there is a shell");
    String::from_utf8(output.stdout).expect("it prints text").trim().to_owned()
}

fn number(line: &str) -> u64 {
    let text = said(line);
    text.parse().unwrap_or_else(|_| panic!("{line}: '{text}' is no number"))
}

/// After these shell commands, in the same process.
fn after(commands: &str, options: &str) -> ProcessOutput {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{commands}; exec {} doctor {options}", binary())]);
    RunningProcess::start(Sandbox::new().homed(shell)).end()
}

fn row(json: &Value, name: &str) -> Value {
    let rows = json["allows"].as_array().expect("a list");
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no row is of {name}: {json}")).clone()
}

fn json_after(commands: &str) -> (i32, Value) {
    let ended = after(commands, "--format json");
    (ended.code(), ended.json())
}

/// The obstacles depend on the machine; that the exit code matches them is ours.
#[track_caller]
fn consistent(code: i32, json: &Value) {
    let rows = json["allows"].as_array().expect("a list");
    let hinders: Vec<&Value> =
        rows.iter().filter(|row| row["bearing"] == "hinders").map(|row| &row["name"]).collect();
    assert_eq!(json["hinders"].as_array().expect("a list").iter().collect::<Vec<_>>(), hinders);
    assert_eq!(code, if hinders.is_empty() { 0 } else { 92 }, "{hinders:?}");
    for row in rows {
        let is_bad = row["bearing"] == "hinders" || row["bearing"] == "less";
        assert_eq!(row.get("means").is_some() && row.get("remedy").is_some(), is_bad, "{row}");
    }
}

#[test]
fn it_says_what_the_system_s_own_tools_say() {
    let (code, json) = json_after(":");
    consistent(code, &json);
    for (name, figure, second) in [
        ("descriptors", "hard", "ulimit -Hn"),
        ("descriptors", "soft", "ulimit -Sn"),
        ("kernel.pid_max", "limit", "cat /proc/sys/kernel/pid_max"),
        ("kernel.threads-max", "limit", "cat /proc/sys/kernel/threads-max"),
        ("listen backlog", "somaxconn", "cat /proc/sys/net/core/somaxconn"),
        ("local ports", "first", "cut -f1 /proc/sys/net/ipv4/ip_local_port_range"),
        ("local ports", "last", "cut -f2 /proc/sys/net/ipv4/ip_local_port_range"),
        ("processors", "present", "getconf _NPROCESSORS_ONLN"),
        ("processors", "allowed", "nproc"),
        ("overcommit", "overcommit_memory", "cat /proc/sys/vm/overcommit_memory"),
    ] {
        if said(second) == "unlimited" {
            continue;
        }
        assert_eq!(row(&json, name)["figures"][figure], number(second), "{name}: {second}");
    }
    assert!(
        row(&json, "kernel")["found"].as_str().is_some_and(|found| found.contains(&said("uname -r"))),
        "{json}"
    );
}

/// Each is lowered for this process alone.
#[test]
fn what_is_lowered_is_seen() {
    for (commands, name, bearing, found) in [
        ("ulimit -n 70", "descriptors", "hinders", "70"),
        ("ulimit -n 1000", "descriptors", "less", "1,000"),
        ("echo 2000000 > /proc/$$/timerslack_ns", "timer slack", "hinders", "2 ms"),
    ] {
        let (code, json) = json_after(commands);
        consistent(code, &json);
        let row = row(&json, name);
        assert_eq!((&row["bearing"], &row["found"]), (&bearing.into(), &found.into()), "{row}");
        assert!(code == 92 || bearing != "hinders");
    }
}

#[test]
fn it_is_read_by_people_too() {
    let text = after("ulimit -n 70; export NO_COLOR=1", "").expect(92).stdout;
    let at =
        |row: &str| text.lines().find(|line| line.contains(row)).unwrap_or_else(|| panic!("{row}: {text}"));
    let column = |row: &str| at(row).find(row);
    assert_eq!(column("descriptors"), column("listen backlog"), "{text}");
    assert!(at("descriptors").starts_with("    hinders descriptors") && !text.contains('\u{1b}'), "{text}");
    assert!(
        text.contains("prlimit --pid $$ --nofile=1048576:1048576")
            && text.contains("hinder what is measured"),
        "{text}"
    );
    let colours = after("ulimit -n 70", "--color always").expect(92).stdout;
    assert!(colours.contains("\u{1b}["), "{colours}");
}
