//! `--on k8s` with a fake kubectl, a script: what torment asks it for, and that everything is removed. In a real
//! cluster: `cluster.rs`.

use crate::program::target::TargetProcess;
use crate::program::{LoadTurn, RunningProcess, SOON, Sandbox, adds_up, binary, number};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const CONFIG: &str = r#"{"current-context": "lab", "contexts": [{"name": "lab", "context": {"cluster": "c", "namespace": "load"}}],
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"}}]}"#;

/// Starts and ends two workers where a cluster would.
const KUBECTL: &str = r#"
echo "$*" >> asked
worker() { setsid TORMENT worker --quiet --join pod.join > /dev/null 2>&1 < /dev/null & echo $! >> pids; }
case "$*" in
*"config view"*) cat config.json ;;
*--dry-run=server*) cat > pod.yaml ;;
*"create -f - -o json"*) cat > job.yaml; echo '{"metadata": {"uid": "u-1"}}' ;;
*"create -f -"*)
    cat > rest.yaml
    printf '%b' "$(sed -n 's/^  run.join: "\(.*\)"$/\1/p' rest.yaml)" > pod.join
    for pod in $(seq $(sed -n 's/^  completions: //p' job.yaml)); do worker; done ;;
*"patch job"*) worker; cat pods.json ;;
*"get pods"*) cat pods.json ;;
*"delete job"*) for pid in $(cat pids); do kill $pid; done; echo > deleted ;;
esac
"#;

fn cluster(sandbox: &Sandbox) {
    sandbox.write("config.json", CONFIG);
    sandbox.write("pods.json", r#"{"items": []}"#);
    std::fs::create_dir(sandbox.path("bin")).expect("the folder is ours");
    let script =
        format!("#!/bin/sh\ncd {}\n{}", sandbox.path("").display(), KUBECTL.replace("TORMENT", binary()));
    let path = sandbox.write("bin/kubectl", &script);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

fn command(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = sandbox.command(arguments.iter().copied());
    command.env("PATH", format!("{}:{path}", sandbox.path("bin").display()));
    command
}

fn wait_for(sandbox: &Sandbox, name: &str) {
    let began = Instant::now();
    while !sandbox.path(name).exists() {
        assert!(began.elapsed() < SOON, "there is no {name}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn pods_are_asked_for_and_taken_back() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    cluster(&sandbox);
    // Nothing is sent there: only who is started matters, and by what.
    let arguments = ["run", "null", "-r", "300", "-d", "2s", "--on", "k8s", "--format", "json"];
    let ended = RunningProcess::start(command(&sandbox, &arguments)).end().measured();
    let run = ended.json();
    adds_up(&run["trial"]);
    assert_eq!(number(&run, "/trial/sent") as u64, 600, "{ended}");
    assert_eq!(run["fleet"]["workers"].as_array().map(Vec::len), Some(2), "{ended}");
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).expect("it was written");
    // It was gone before torment was.
    assert!(sandbox.path("deleted").exists());
    assert!(read("rest.yaml").contains("uid: \"u-1\""));
    let asked = read("asked");
    assert!(asked.lines().skip(1).all(|line| line.starts_with("--context lab --namespace load ")), "{asked}");
    // The join file is in the secret alone, and requests are in no argument.
    for name in ["asked", "pod.yaml", "job.yaml"] {
        assert!(!read(name).contains("PRIVATE KEY"), "{name}");
    }
}

/// The null target is as fast as the generator: one worker is the limit, until there are two.
#[test]
fn more_pods_are_asked_for_before_one_is_the_limit() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    cluster(&sandbox);
    let arguments = [
        "find",
        "null",
        "--from",
        "100k",
        "--trial",
        "1s",
        "--budget",
        "40s",
        "--on",
        "k8s",
        "--workers",
        "1..2",
    ];
    let ended =
        RunningProcess::start(command(&sandbox, &[&arguments[..], &["--format", "json"]].concat())).end();
    assert_eq!(ended.json()["fleet"]["workers"].as_array().map(Vec::len), Some(2), "{ended}");
    let asked = std::fs::read_to_string(sandbox.path("asked")).expect("it was written");
    let patches: Vec<&str> = asked.lines().filter(|line| line.contains(" patch job torment-")).collect();
    assert_eq!(patches.len(), 1, "{asked}");
    assert!(patches[0].contains(r#"-p {"spec":{"completions":2,"parallelism":2}}"#), "{asked}");
}

#[test]
fn a_torment_that_is_killed_leaves_no_pods() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    cluster(&sandbox);
    let running =
        RunningProcess::start(command(&sandbox, &["run", "null", "-r", "100", "-d", "1m", "--on", "k8s"]));
    wait_for(&sandbox, "pids");
    sleep(Duration::from_millis(500));
    assert!(!sandbox.path("deleted").exists());
    running.signal(Signal::KILL);
    running.end();
    wait_for(&sandbox, "deleted");
}

#[test]
fn what_the_cluster_says_is_told_before_anything_is_sent() {
    let sandbox = Sandbox::new();
    cluster(&sandbox);
    let run = |arguments: &[&str]| {
        RunningProcess::start(command(&sandbox, &[&["run", "null", "-r", "9"], arguments].concat())).end()
    };
    println!(
        "{}",
        run(&["--on", "k8s:none"]).expect_error(2, &["kubectl knows no context none; it knows lab"])
    );
    println!("{}", run(&["--on", "here", "--reach", "b:7"]).expect_error(2, &["--reach", "it is for pods"]));
    // A pod that cannot start ends the wait at once.
    let pod = r#"{"items": [{"metadata": {"name": "torment-1-0-x", "annotations": {"batch.kubernetes.io/job-completion-index": "0"}},
        "spec": {"nodeName": "b"}, "status": {"phase": "Pending", "containerStatuses": [
        {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]}}]}"#;
    sandbox.write("pods.json", pod);
    let script = std::fs::read_to_string(sandbox.path("bin/kubectl")).expect("it was written");
    sandbox.write("bin/kubectl", &script.replace("setsid", "true"));
    println!(
        "{}",
        run(&["--on", "k8s"])
            .expect_error(1, &["worker 0 on b cannot start: ImagePullBackOff", "torment image"])
    );
    assert!(sandbox.path("deleted").exists());
    // Nor is anything created for a target that no pod can reach.
    std::fs::remove_file(sandbox.path("asked")).expect("it was asked");
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let ended =
        RunningProcess::start(command(&sandbox, &["run", &target.url("/json"), "-r", "9", "--on", "k8s"]))
            .end();
    println!("{}", ended.expect_error(1, &["this machine's own address", "http://SERVICE.NAMESPACE:PORT/"]));
    let asked = std::fs::read_to_string(sandbox.path("asked")).expect("it was asked");
    assert!(!asked.contains("create"), "{asked}");
}
