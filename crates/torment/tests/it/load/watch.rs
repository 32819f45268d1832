//! `torment watch` on real processes, and on missing ones.

use crate::program::Sandbox;
use crate::program::target::free_port;
use serde_json::Value;
use std::net::TcpListener;
use std::process::Command;

#[test]
fn whoever_is_not_there_is_said_so() {
    let sandbox = Sandbox::new();
    let refuse = |line: &str, code: i32, words: &[&str]| {
        let arguments: Vec<&str> = ["watch"].into_iter().chain(line.split_whitespace()).collect();
        let message = sandbox.torment(arguments).expect_error(code, words);
        assert_eq!(message.lines().count(), 1, "{message}");
    };
    // No Linux process has this ID: they end at 2²².
    refuse("4194305", 1, &["there is no process 4194305", "torment watch :8080"]);
    let port = free_port();
    refuse(&format!(":{port}"), 1, &["nothing listens at port", "start the service first"]);
    refuse(&format!("127.0.0.1:{port}"), 1, &["nothing listens at 127.0.0.1"]);
    refuse("192.0.2.1:80", 1, &["192.0.2.1:80 is not an address of this machine"]);
    refuse("java", 2, &["'java' is neither a process such as 4711", "torment watch -- java"]);
    refuse(":0", 2, &["neither a process"]);
    refuse("0", 2, &["neither a process"]);
    refuse("1 --for 10ms", 2, &["--for: '10ms' is too short"]);
    refuse("1 --postgres http://h", 2, &["--postgres: 'http://h' is not the URL of a PostgreSQL"]);
    refuse("-- /no/such/program", 1, &["cannot start '/no/such/program'"]);
    refuse("-- true", 1, &["it ended before anything could be seen"]);
}

#[test]
fn a_program_is_started_seen_and_ended() {
    let sandbox = Sandbox::new();
    let pids = sandbox.path("pids");
    // Quoted, so that the command line, which is shown, differs from its output.
    let script = format!("sleep 1000 & echo $! $$ > '{}'; echo pri''nted; wait", pids.display());
    let ended = sandbox.torment(["watch", "--for", "2s", "--", "sh", "-c", &script]);
    let ended = ended.expect(0);
    for words in ["who waits for what", "the service", "2 processes", "sleeps: ", "waits "] {
        assert!(ended.stdout.contains(words), "'{words}' is missing\n{ended}");
    }
    assert!(ended.stderr.contains("printed") && !ended.stdout.contains("printed"), "{ended}");
    for pid in std::fs::read_to_string(pids).expect("written").split_whitespace() {
        let left = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(left.is_empty() || left.contains(") Z "), "{left}");
    }
}

#[test]
fn whoever_listens_at_a_port_is_watched() {
    let sandbox = Sandbox::new();
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = socket.local_addr().expect("it is bound");
    for whom in [format!(":{}", at.port()), at.to_string(), std::process::id().to_string()] {
        let (ended, seen) = sandbox.json(["watch", &whom, "--for", "2s"]);
        ended.expect(0);
        let subject = &seen["watched"]["subjects"][0];
        assert_eq!((&subject["pid"], &subject["role"]), (&std::process::id().into(), &"service".into()));
        assert!(seen["seen"]["subjects"][0]["groups"].as_array().is_some_and(|groups| !groups.is_empty()));
    }
}

/// They are busy during a warm-up, so they must be recognised by HotSpot's names.
#[test]
fn the_compilers_of_a_java_machine_are_seen() {
    if Command::new("java").arg("-version").output().is_err() {
        return eprintln!("SKIPPED: there is no java");
    }
    let sandbox = Sandbox::new();
    let source = sandbox.path("Busy.java");
    let busy =
        "class Busy { public static void main(String[] a) { for (;;) new java.util.Random().nextInt(); } }";
    std::fs::write(&source, busy).expect("there is room");
    let source = source.to_string_lossy().into_owned();
    let seen = sandbox.torment(["watch", "--for", "3s", "--format", "json", "--", "java", &source]).json();
    let groups = seen["seen"]["subjects"][0]["groups"].as_array().expect("it has threads");
    let is_compiler = |group: &Value| group["name"].as_str().is_some_and(|name| name.contains(" CompilerT"));
    assert!(groups.iter().any(is_compiler), "{groups:#?}");
}
