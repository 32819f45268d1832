//! What the C library really does, read from its machine code and compared with a running program; and what a program
//! consists of, without running it.

use crate::program::{Sandbox, binary};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Explains the call; the report, after checking that the exit code matches its verdict.
fn explain(sandbox: &Sandbox, what: &str) -> Value {
    let (ended, report) = sandbox.json(["explain", what]);
    let expected = match report["verdict"].as_str() {
        Some("pass") => 0,
        Some("differs") => 1,
        Some("not_seen" | "not_read") => 91,
        other => panic!("{other:?}: {ended}"),
    };
    assert_eq!(ended.code(), expected, "{ended}");
    report
}

fn is_dynamic(program: &str) -> bool {
    let sandbox = Sandbox::new();
    sandbox.json(["explain", "binary", program]).1["kind"] == "dynamic"
}

#[test]
fn fork_read_and_seen() {
    if !is_dynamic("/bin/sh") {
        eprintln!("SKIPPED: the shell is static");
        return;
    }
    let sandbox = Sandbox::new();
    let report = explain(&sandbox, "fork");
    // Every shell forks for a background job.
    assert_eq!(report["verdict"], "pass", "{report:#}");
    let (chain, live) = (&report["chains"][0], &report["live"]);
    assert_eq!(chain["steps"][0]["names"][0]["symbol"], "fork");
    assert_eq!(chain["system_call"]["address"], live["address"], "{report:#}");
    assert_eq!(chain["system_call"]["number"], live["number"]);
    assert_eq!(live["returns_found"], live["returns"], "each function on the way is on the stack: {live:#}");
    if report["libraries"][0]["version"] == "glibc 2.36" && report["machine"] == "x86-64" {
        assert_eq!(chain["system_call"]["number"], 0x38);
        assert_eq!(chain["system_call"]["flags"]["value"], "0x1200011");
        assert_eq!(live["flags"]["value"], "0x1200011");
        assert_eq!(chain["steps"][1]["names"][0]["symbol"], "_Fork");
    }
    let text = sandbox.torment(["explain", "fork"]);
    assert_eq!(text.code(), 0, "{text}");
    assert!(text.stdout.contains("pass: the live call matches the code"), "{text}");
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn the_others_are_read_and_never_differ() {
    if !is_dynamic("/bin/sh") {
        eprintln!("SKIPPED: the shell is static");
        return;
    }
    let sandbox = Sandbox::new();
    for what in ["vfork", "spawn", "thread"] {
        let report = explain(&sandbox, what);
        assert_ne!(report["verdict"], "differs", "{report:#}");
        if report["verdict"] != "pass" {
            eprintln!("{what}: {}: {}", report["verdict"], report["not_shown_by"]);
            assert!(report["not_shown_by"].as_array().is_some_and(|all| !all.is_empty()), "{report:#}");
        }
        let how = &report["live"]["flags"]["names"];
        let has = |flag: &str| how.as_array().is_none_or(|names| names.iter().any(|name| name == flag));
        assert!(has("CLONE_VM"), "{report:#}");
        assert!(has(if what == "thread" { "CLONE_THREAD" } else { "CLONE_VFORK" }), "{report:#}");
    }
}

#[test]
fn torment_itself_is_static_and_the_shell_is_what_it_is() {
    let sandbox = Sandbox::new();
    let (ended, own) = sandbox.json(["explain", "binary", binary()]);
    assert_eq!(ended.code(), 0, "{ended}");
    assert_eq!((&own["kind"], &own["interpreter"]), (&"static_pie".into(), &Value::Null), "{own:#}");
    assert_eq!((&own["needed"], &own["why_dynamic"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    let text = sandbox.torment(["explain", "binary", binary()]);
    assert!(text.stdout.contains("nothing: no loader, no library"), "{text}");
    // A name without a slash is looked up in the search path.
    let (_, shell) = sandbox.json(["explain", "binary", "sh"]);
    if shell["kind"] == "dynamic" {
        assert!(shell["interpreter"].as_str().is_some_and(|loader| Path::new(loader).exists()), "{shell:#}");
        let needed = shell["needed"].as_array().expect("a list");
        assert!(needed.iter().all(|library| library["path"].is_string()), "{shell:#}");
        let gives = needed.iter().filter_map(|library| library["gives"].as_array()).flatten();
        assert!(gives.clone().any(|name| name == "fork"), "{shell:#}");
        assert!(!shell["why_dynamic"].as_array().expect("a list").is_empty());
    }
}

/// Compiled here, so that everything about it is known.
#[test]
fn programs_made_for_it() {
    let sandbox = Sandbox::new();
    let source = sandbox.write(
        "main.c",
        "#include <netdb.h>\nint main(void) { struct addrinfo *a; return getaddrinfo(\"h\", 0, 0, &a); }\n",
    );
    let plain = sandbox.write("plain.c", "int main(void) { return 0; }\n");
    let compile = |source: &Path, name: &str, options: &[&str]| {
        let made = Command::new("cc").arg(source).arg("-o").arg(sandbox.path(name)).args(options).output();
        let well = made.is_ok_and(|output| output.status.success());
        if !well {
            eprintln!("SKIPPED: {name}: no compiler, or none for {options:?}");
        }
        well
    };
    let kind = |name: &str| {
        let path = sandbox.path(name);
        sandbox.json(["explain", "binary", path.to_str().expect("text")]).1
    };
    if compile(&plain, "static", &["-static"]) {
        assert_eq!(kind("static")["kind"], "static");
    }
    if compile(&plain, "static-pie", &["-static-pie"]) {
        assert_eq!(kind("static-pie")["kind"], "static_pie");
    }
    if compile(&plain, "fixed", &["-no-pie"]) {
        let fixed = kind("fixed");
        assert_eq!((&fixed["kind"], &fixed["position_independent"]), (&"dynamic".into(), &false.into()));
        assert_eq!(fixed["why_dynamic"][0]["kind"], "only_libc");
    }
    if compile(&source, "names", &[]) {
        let names = kind("names");
        assert_eq!(names["why_dynamic"][0]["kind"], "names", "{names:#}");
        assert_eq!(names["why_dynamic"][0]["functions"][0], "getaddrinfo");
    }
    if compile(&plain, "lost", &["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN/lib", "-lm"]) {
        let lost = kind("lost");
        assert!(lost["runpath"] == "$ORIGIN/lib" || lost["rpath"] == "$ORIGIN/lib", "{lost:#}");
    }
}

#[test]
fn what_is_no_program() {
    let sandbox = Sandbox::new();
    let complains = |path: &Path, words: &[&str]| {
        sandbox.torment(["explain", "binary", path.to_str().expect("text")]).expect_error(2, words);
    };
    complains(&sandbox.path("nothing"), &["nothing", "No such file"]);
    complains(&sandbox.write("empty", ""), &["an empty file", "expected an ELF program"]);
    complains(&sandbox.write("text", "hello, world\n"), &["a text file"]);
    complains(Path::new("/"), &["a folder"]);
    complains(Path::new("/dev/null"), &["no regular file"]);
    let bytes = std::fs::read(binary()).expect("cargo has built it");
    let cut = sandbox.path("cut");
    std::fs::write(&cut, &bytes[..100]).expect("the folder is ours");
    complains(&cut, &["a damaged ELF file"]);
    let script = sandbox.write("script", "#!/bin/sh -e\nexit 3\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let (ended, report) = sandbox.json(["explain", "binary", script.to_str().expect("text")]);
    assert_eq!(ended.code(), 0, "{ended}");
    assert_eq!((&report["kind"], &report["interpreter"]), (&"script".into(), &"/bin/sh".into()));
    let text = sandbox.write("text.txt", "hello, world\n");
    let program = text.to_str().expect("text");
    sandbox.torment(["explain", "fork", "--program", program]).expect_error(2, &["a text file"]);
}

#[test]
fn a_word_that_is_nearly_one_of_them_is_answered_with_all() {
    let sandbox = Sandbox::new();
    sandbox
        .torment(["explain", "forkk"])
        .expect_error(1, &["no run 'forkk'", "of the machine itself: fork, vfork, spawn"]);
}
