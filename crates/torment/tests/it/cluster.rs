//! `--on k8s` in a cluster created by tests/cluster.sh: Kubernetes' own API server, controllers and scheduler, nodes
//! without a kubelet. Run by `make test-cluster`, which starts it.

mod doctor;
mod watched;

use crate::program::{ProcessOutput, RunningProcess, SOON, Sandbox, adds_up, held, number};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const URL: &str = "http://clinic.shop:8080/json";
/// Selects the objects of all runs.
const RUNS: &str = "app.kubernetes.io/name=torment";
/// Timeout for pods to be created, scheduled and started.
const STARTS: Duration = Duration::from_secs(60);

/// What the script created.
struct TestCluster {
    folder: PathBuf,
    place: Sandbox,
}

impl TestCluster {
    fn new() -> Self {
        let folder = std::env::var_os("TORMENT_LAB").expect("make test-cluster says where it is");
        Self { folder: folder.into(), place: Sandbox::new() }
    }

    fn with_kubectl(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.display()));
        command.env("KUBECONFIG", self.folder.join("config"));
        command
    }

    fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        self.with_kubectl(self.place.command(arguments))
    }

    fn torment<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> ProcessOutput {
        RunningProcess::start(self.command(arguments)).end()
    }

    /// As the administrator.
    fn kubectl(&self, arguments: &[&str]) -> String {
        let mut kubectl = self.with_kubectl(Command::new(self.folder.join("kubectl")));
        let output = kubectl.args(["--context", "admin"]).args(arguments).output().expect("it can be run");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it prints text")
    }

    fn pods(&self) -> Vec<Value> {
        let list = self.kubectl(&["-n", "load", "get", "pods", "-o", "json"]);
        let list: Value = serde_json::from_str(&list).expect("it is JSON");
        list["items"].as_array().expect("a list").clone()
    }

    /// Waits until something holds for the pods in the load's namespace.
    fn until(&self, what: &str, holds: impl Fn(&[Value]) -> bool) {
        let began = Instant::now();
        loop {
            let pods = self.pods();
            if holds(&pods) {
                return;
            }
            assert!(began.elapsed() < STARTS, "{what}: {pods:?}");
            sleep(Duration::from_millis(100));
        }
    }

    /// Nothing of a run is left, or soon will be.
    #[track_caller]
    fn assert_swept(&self) {
        let began = Instant::now();
        loop {
            let kinds = "jobs,secrets,networkpolicies,services,pods";
            let left = self.kubectl(&["get", kinds, "-A", "-l", RUNS, "-o", "name"]);
            if left.is_empty() {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "it is still there: {left}");
            sleep(Duration::from_millis(100));
        }
    }

    /// The target's own count.
    fn received(&self) -> u64 {
        let address = self.kubectl(&["-n", "shop", "get", "pod", "clinic", "-o", "jsonpath={.status.podIP}"]);
        let mut stream = TcpStream::connect(format!("{address}:8080")).expect("it listens");
        stream.set_read_timeout(Some(SOON)).expect("not zero");
        stream
            .write_all(b"GET /truth HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
            .expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers in UTF-8");
        let truth: Value =
            serde_json::from_str(answer.split_once("\r\n\r\n").expect("an answer").1).expect("JSON");
        let patterns = truth["patterns"].as_object().expect("an object");
        patterns.values().filter_map(|pattern| pattern["received"].as_u64()).sum()
    }

    /// Waits until the target receives requests.
    fn until_loaded(&self) {
        let (began, before) = (Instant::now(), self.received());
        while self.received() < before + 10 {
            assert!(began.elapsed() < SOON, "the load does not come");
            sleep(Duration::from_millis(50));
        }
    }
}

fn is_running(pods: &[Value]) -> bool {
    pods.iter().filter(|pod| pod["status"]["phase"] == "Running").count() == 2
}

#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn pods_make_the_load_and_leave_nothing() {
    let cluster = TestCluster::new();
    let before = cluster.received();
    let mut command =
        cluster.command(["run", URL, "-r", "300", "-d", "5s", "--on", "k8s", "--format", "json"]);
    command.args(["-H", "X-Key: {env:TORMENT_TEST_KEY}"]).env("TORMENT_TEST_KEY", "open-sesame");
    let running = RunningProcess::start(command);
    cluster.until("they run", is_running);
    // None of the plan's secrets are in the cluster, nor the plan outside the workers; the join file is in a Secret
    // alone.
    let shown = ["get", "jobs,pods,networkpolicies,events", "-A", "-o", "json"];
    let shown = cluster.kubectl(&shown) + &cluster.kubectl(&["-n", "load", "logs", "-l", RUNS, "--prefix"]);
    let secrets = cluster.kubectl(&["get", "secrets", "-A", "-o", "json"]);
    for hidden in ["open-sesame", "b3Blbi1zZXNhbW", "X-Key"] {
        assert!(!shown.contains(hidden) && !secrets.contains(hidden), "{hidden} is in the cluster");
    }
    for hidden in ["PRIVATE KEY", "UFJJVkFURSBLRV"] {
        assert!(!shown.contains(hidden), "{hidden} is shown");
    }
    let ended = running.end().measured();
    let run = ended.json();
    adds_up(&run["trial"]);
    let workers = run["fleet"]["workers"].as_array().expect("a list");
    println!("{workers:?}");
    assert_eq!(workers.len(), 2);
    for worker in workers {
        // Never on the target's node, each on another one.
        let place = worker["place"].as_str().expect("a text");
        assert!(place.starts_with("b (torment-") || place.starts_with("c (torment-"), "{place}");
    }
    assert_ne!(
        workers[0]["place"].as_str().map(|place| &place[..1]),
        workers[1]["place"].as_str().map(|place| &place[..1])
    );
    assert_eq!(number(&run, "/trial/sent") as u64, cluster.received() - before - 1, "{ended}");
    cluster.assert_swept();
}

#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn whoever_ends_torment_ends_all_of_it() {
    let cluster = TestCluster::new();
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::TERM, Some(130)), (Signal::KILL, None)] {
        let running =
            RunningProcess::start(cluster.command(["run", URL, "-r", "100", "-d", "2m", "--on", "k8s"]));
        cluster.until("they run", is_running);
        cluster.until_loaded();
        running.signal(signal);
        let ended = running.end();
        match code {
            Some(code) => drop(ended.expect(code)),
            None => assert_eq!(ended.signal(), Some(9)),
        }
        cluster.assert_swept();
        let after = cluster.received();
        sleep(Duration::from_secs(1));
        assert_eq!(cluster.received(), after, "somebody still sends");
    }
    // Before anybody has joined.
    let running = RunningProcess::start(
        cluster.command(["run", URL, "-r", "100", "-d", "2m", "--on", "k8s", "--image", "none:1"]),
    );
    cluster.until("there are pods", |pods| !pods.is_empty());
    running.signal(Signal::KILL);
    running.end();
    cluster.assert_swept();
}

#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn what_is_wrong_is_said_before_any_load() {
    let cluster = TestCluster::new();
    let before = cluster.received();
    let wrong = |arguments: &[&str], code: i32, words: &[&str]| {
        let all = [&["run", URL, "-r", "9", "-d", "1s"], arguments].concat();
        let ended = cluster.torment(all.iter().copied());
        println!("{}", ended.expect_last_error(code, words));
        cluster.assert_swept();
    };
    wrong(
        &["--on", "k8s:nowhere"],
        2,
        &["kubectl knows no context nowhere; it knows admin, dev, gone, guest"],
    );
    wrong(&["--on", "k8s:gone"], 1, &["the cluster of context gone is not reached"]);
    wrong(
        &["--on", "k8s:guest"],
        1,
        &["guest may not create jobs in namespace load", "--clusterrole=edit --user=guest"],
    );
    wrong(&["--on", "k8s:admin/nothing"], 1, &["there is no namespace nothing in admin"]);
    wrong(&["--on", "k8s", "--image", "none:1"], 1, &["cannot start: ImagePullBackOff", "torment image"]);
    wrong(&["--on", "k8s:dev/tight"], 1, &["the cluster makes no pods", "exceeded quota: few"]);
    wrong(
        &["--on", "k8s", "--workers", "9", "--wait", "20s"],
        1,
        &["of 9 workers joined", "has no node: 0/3 nodes", "Insufficient cpu"],
    );
    wrong(
        &["--on", "k8s", "--target-service", "shop/none"],
        1,
        &["there is no service none with pods in namespace shop"],
    );
    // A join file for an address where nobody listens.
    wrong(&["--on", "k8s", "--reach", "10.99.0.250:7"], 1, &["cannot be reached", "--reach HOST:PORT"]);
    let home = "http://127.0.0.1:9/";
    println!(
        "{}",
        cluster
            .torment(["run", home, "-r", "9", "--on", "k8s"])
            .expect_error(1, &["this machine's own address", "SERVICE"])
    );
    let mut command = cluster.place.command(["run", URL, "-r", "9", "--on", "k8s"]);
    command.env("PATH", "/nowhere");
    println!(
        "{}",
        RunningProcess::start(command).end().expect_error(2, &["there is no kubectl on this machine"])
    );
    let mut command = cluster.command(["run", URL, "-r", "9", "--on", "k8s"]);
    command.env("KUBECONFIG", "/dev/null");
    println!("{}", RunningProcess::start(command).end().expect_error(2, &["kubectl has no context"]));
    // If some of the workers had joined, the first of them made the first request.
    assert!(cluster.received() <= before + 2, "something was sent");
}

/// The process that acts as a worker's pod.
fn worker_of(pod: &str) -> u32 {
    let is_it = |status: &str| {
        let environment = std::fs::read(format!("/proc/{status}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&environment).replace('\0', " ");
        words.contains("/torment worker --join")
            && Command::new("nsenter")
                .args(["-u", "-t", status, "hostname"])
                .output()
                .is_ok_and(|output| pod.starts_with(String::from_utf8_lossy(&output.stdout).trim()))
    };
    let processes = std::fs::read_dir("/proc").expect("it is there");
    let names = processes.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let found = names.filter(|name| name.parse::<u32>().is_ok()).find(|name| is_it(name));
    found.and_then(|name| name.parse().ok()).unwrap_or_else(|| panic!("no process is {pod}"))
}

#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn a_lost_worker_is_replaced_and_the_search_goes_on() {
    let cluster = TestCluster::new();
    let arguments = [
        "find",
        "http://clinic.shop:8080/queue?us=5000",
        "--on",
        "k8s",
        "--budget",
        "70s",
        "--max",
        "1000",
        "--format",
        "json",
    ];
    let running = RunningProcess::start(cluster.command(arguments));
    cluster.until("they run", is_running);
    sleep(Duration::from_secs(12));
    cluster.until_loaded();
    let pod = cluster.pods()[0]["metadata"]["name"].as_str().expect("a name").to_owned();
    let pid = Pid::from_raw(worker_of(&pod) as i32).expect("a process has an id");
    kill_process(pid, Signal::KILL).expect("root may");
    let ended = running.end();
    let run = ended.json();
    let lost = run["fleet"]["lost"].as_array().expect("a list");
    println!("{lost:?}");
    // A busy machine may lose others by itself.
    let killed = lost.iter().filter(|lost| lost["why"] == "it was killed").count();
    assert_eq!(killed, 1, "{ended}");
    // Another pod of the same index has joined.
    let workers = run["fleet"]["workers"].as_array().expect("a list");
    assert_eq!(workers.len(), 2, "{ended}");
    let lower = number(held(&run), "/lower");
    assert!((150.0..=204.0).contains(&lower), "{lower}: the truth is 200/s; {ended}");
    cluster.assert_swept();
}

#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn a_fleet_of_pods_grows_before_it_is_the_limit() {
    let cluster = TestCluster::new();
    let grow = |on: &str| {
        let arguments = [
            "find",
            "null",
            "--from",
            "100k",
            "--max",
            "10M",
            "--trial",
            "1s",
            "--budget",
            "40s",
            "--workers",
            "1..2",
        ];
        let ended = cluster.torment(arguments.into_iter().chain(["--format", "json", "--on", on]));
        let run = ended.json();
        let workers = run["fleet"]["workers"].as_array().expect("a list").len();
        assert_eq!(run["fleet"]["lost"].as_array().map(Vec::len), Some(0), "{ended}");
        cluster.assert_swept();
        (workers, ended)
    };
    let (workers, ended) = grow("k8s");
    assert_eq!(workers, 2, "{ended}");
    assert!(ended.stderr.contains("1 worker on") && ended.stderr.contains("2 workers on"), "{ended}");
    // If there is no room for another, it goes on with those it has, without waiting.
    let (workers, ended) = grow("k8s:dev/tight");
    assert_eq!(workers, 1, "{ended}");
    assert!(ended.took < Duration::from_secs(60), "{ended}");
    // Once, with the cluster's reason.
    let said = "workers are needed from here on, but only 1 are available: the cluster makes no pods: ";
    assert_eq!(ended.stderr.matches(said).count(), 1, "{ended}");
    assert!(ended.stderr.contains("exceeded quota: few"), "{ended}");
}

/// torment's cleanup process.
fn sweeper_of(torment: u32) -> Pid {
    let children =
        std::fs::read_to_string(format!("/proc/{torment}/task/{torment}/children")).unwrap_or_default();
    let is_it = |pid: &&str| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words == b"torment\0sweeper\0")
    };
    let found = children.split_whitespace().find(is_it).and_then(|pid| pid.parse().ok());
    found.and_then(Pid::from_raw).unwrap_or_else(|| panic!("{torment} has no sweeper, only {children}"))
}

/// As if the machine had gone down: only the cluster's own cleanup remains.
#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn workers_end_without_anybody() {
    let cluster = TestCluster::new();
    let running =
        RunningProcess::start(cluster.command(["run", URL, "-r", "100", "-d", "2m", "--on", "k8s"]));
    cluster.until("they run", is_running);
    cluster.until_loaded();
    kill_process(sweeper_of(running.pid()), Signal::KILL).expect("root may");
    running.signal(Signal::KILL);
    running.end();
    sleep(Duration::from_secs(7));
    let after = cluster.received();
    sleep(Duration::from_secs(1));
    assert_eq!(cluster.received(), after, "somebody still sends");
    let job: Value =
        serde_json::from_str(&cluster.kubectl(&["-n", "load", "get", "job", "-l", RUNS, "-o", "json"]))
            .expect("it is JSON");
    let spec = &job["items"][0]["spec"];
    // The run's two minutes and half an hour, and an hour more.
    assert_eq!(number(spec, "/activeDeadlineSeconds") + number(spec, "/ttlSecondsAfterFinished"), 5520.0);
    // The cluster honours both: patched to a time that is over, it does not take that long.
    let over = r#"{"spec": {"activeDeadlineSeconds": 1, "ttlSecondsAfterFinished": 1}}"#;
    let name = job["items"][0]["metadata"]["name"].as_str().expect("a name");
    cluster.kubectl(&["-n", "load", "patch", "job", name, "--type=merge", "-p", over]);
    cluster.assert_swept();
}

#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn by_hand_it_is_the_same() {
    let cluster = TestCluster::new();
    let manifests =
        cluster.torment(["run", URL, "-r", "100", "-d", "3s", "--on", "k8s", "--print-manifests"]).expect(0);
    cluster.place.write("fleet.yaml", &manifests.stdout);
    let at = "join:10.99.0.1";
    let running = RunningProcess::start(
        cluster.command(["run", URL, "-r", "100", "-d", "3s", "--on", at, "--format", "json"]),
    );
    let began = Instant::now();
    while !std::fs::read_to_string(cluster.place.path("run.join"))
        .is_ok_and(|text| text.ends_with("KEY-----\n"))
    {
        assert!(began.elapsed() < SOON, "there is no join file");
        sleep(Duration::from_millis(20));
    }
    let path = |name: &str| cluster.place.path(name).display().to_string();
    let secret = format!("--from-file=run.join={}", path("run.join"));
    cluster.kubectl(&["-n", "load", "create", "secret", "generic", "torment-by-hand", &secret]);
    cluster.kubectl(&["-n", "load", "apply", "-f", &path("fleet.yaml")]);
    let ended = running.end().measured();
    adds_up(&ended.json()["trial"]);
    cluster.kubectl(&["-n", "load", "delete", "job,networkpolicy", "-l", "torment/run=by-hand"]);
    cluster.kubectl(&["-n", "load", "delete", "secret", "torment-by-hand"]);
    cluster.assert_swept();
}

/// ID of the run's objects, from the messages at its start.
fn id(said: &str) -> String {
    let rest = said.split("torment attach ").nth(1).unwrap_or_else(|| panic!("no id: {said}"));
    rest.split_whitespace().next().expect("a word").to_owned()
}

#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn a_run_conducted_there_needs_nobody_here() {
    let cluster = TestCluster::new();
    let before = cluster.received();
    let there = ["run", URL, "-r", "300", "-d", "5s", "--on", "k8s", "--conduct-there", "--format", "json"];
    let ended = cluster.torment(there).measured();
    let run = ended.json();
    adds_up(&run["trial"]);
    let workers = run["fleet"]["workers"].as_array().expect("a list");
    println!("{workers:?}");
    assert!(
        workers
            .iter()
            .all(|worker| worker["place"].as_str().is_some_and(|place| place.contains(" (torment-"))),
        "{workers:?}"
    );
    assert_eq!(number(&run, "/trial/sent") as u64, cluster.received() - before - 1, "{ended}");
    cluster.assert_swept();
    // Killed in the middle, it goes on, and attaching follows it to its end.
    let before = cluster.received();
    let there = ["run", URL, "-r", "100", "-d", "20s", "--on", "k8s", "--conduct-there"];
    let running = RunningProcess::start(cluster.command(there));
    let began = Instant::now();
    while cluster.received() < before + 200 {
        assert!(began.elapsed() < STARTS, "the load does not come");
        sleep(Duration::from_millis(100));
    }
    running.signal(Signal::KILL);
    let id = id(&running.end().stderr);
    let now = cluster.received();
    sleep(Duration::from_secs(2));
    assert!(cluster.received() > now + 100, "it does not go on");
    let ended = cluster.torment(["attach", &id, "--format", "json"]).measured();
    let run = ended.json();
    adds_up(&run["trial"]);
    assert_eq!(number(&run, "/trial/sent") as u64, 2_000, "{ended}");
    assert_eq!(cluster.received() - before - 1, 2_000);
    // It is stored once, and complete.
    assert_eq!(cluster.torment(["show", "last", "--format", "json"]).json()["id"], run["id"]);
    cluster.assert_swept();
    println!(
        "{}",
        cluster.torment(["attach", &id]).expect_last_error(1, &["there is no run", "removed after an hour"])
    );
    // An interrupt ends it, and everything is removed.
    let there = ["run", URL, "-r", "100", "-d", "2m", "--on", "k8s", "--conduct-there"];
    let running = RunningProcess::start(cluster.command(there));
    let before = cluster.received();
    let began = Instant::now();
    while cluster.received() < before + 100 {
        assert!(began.elapsed() < STARTS, "the load does not come");
        sleep(Duration::from_millis(100));
    }
    running.signal(Signal::INT);
    running.end().expect(130);
    cluster.assert_swept();
    let none = ["run", URL, "-r", "9", "--on", "k8s", "--conduct-there", "--image", "none:1"];
    println!("{}", cluster.torment(none).expect_last_error(1, &["cannot start: ImagePullBackOff"]));
    cluster.assert_swept();
}
