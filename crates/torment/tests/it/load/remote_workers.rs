//! Workers that are really apart: each has two networks of its own, to the coordinator and to the target, and a clock
//! that is a day ahead. They join over TLS. Needs root.

use super::join::file;
use crate::program::sshd::is_root;
use crate::program::target::TargetProcess;
use crate::program::{LoadTurn, RunningProcess, SOON, Sandbox, adds_up, binary, number};
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Runs `ip`, here or in a process's network namespace.
fn ip(within: Option<u32>, words: &str) {
    let mut command = match within {
        None => Command::new("ip"),
        Some(pid) => {
            let mut command = Command::new("nsenter");
            command.args(["-t", &pid.to_string(), "-n", "ip"]);
            command
        }
    };
    let ended = command.args(words.split(' ')).output().expect("it can be run");
    assert!(ended.status.success(), "ip {words}: {}", String::from_utf8_lossy(&ended.stderr));
}

/// A future worker and its networks, with this end of the cables named by its number. All of it is gone when the
/// process is.
pub(super) struct RemoteWorker {
    pub process: RunningProcess,
    number: u32,
}

/// The networks of one test, with unique addresses.
pub(super) struct WorkerNetworks {
    /// Third byte of 198.18.0.0/15, which is for benchmarks (RFC 2544).
    third: u32,
}

impl WorkerNetworks {
    /// `None`, with a message, where namespaces are impossible.
    pub fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut possible = Command::new("unshare");
        possible.args(["-n", "-T", "--monotonic", "86400", "--fork", "ip", "link"]);
        if !is_root() || !possible.output().is_ok_and(|ended| ended.status.success()) {
            eprintln!("SKIPPED: only root, with iproute2 and util-linux, has networks and clocks apart");
            return None;
        }
        let own = std::process::id() * 8 + NEXT.fetch_add(1, Ordering::Relaxed);
        Some(Self { third: own % 256 })
    }

    /// An address on a worker's cable: the first goes to the coordinator, the second to the target. The other end is
    /// the next address.
    pub fn at(&self, worker: u32, cable: u32, end: u32) -> String {
        format!("198.18.{}.{}", self.third, worker * 8 + cable * 4 + 1 + end)
    }

    /// The cable's interface name at this end.
    fn cable(&self, worker: u32, cable: u32) -> String {
        format!("torment{}-{worker}{cable}", self.third)
    }

    /// A worker that starts once its `file` exists and all cables are up; it first runs `first` in its network.
    pub fn far(&self, sandbox: &Sandbox, worker: u32, first: &str, file: &str) -> RemoteWorker {
        let mut command = Command::new("unshare");
        command.args(["-n", "-T", "--monotonic", "86400", "--fork", "--kill-child", "sh", "-c"]).arg(
            format!(
                "until test -e laid; do sleep 0.05; done; {first} exec \"{}\" worker --join {file}",
                binary()
            ),
        );
        let process = RunningProcess::start(sandbox.homed(command));
        let pid = process.pid();
        let network = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net"));
        let began = Instant::now();
        while network(&pid.to_string()).ok() == network("self").ok() {
            assert!(began.elapsed() < SOON, "it does not start");
            sleep(Duration::from_millis(10));
        }
        let within = Some(pid);
        for cable in [0, 1] {
            let (name, far) = (self.cable(worker, cable), format!("far{cable}"));
            let (here, there) = (self.at(worker, cable, 0), self.at(worker, cable, 1));
            ip(None, &format!("link add {name} type veth peer name {far} netns {pid}"));
            ip(None, &format!("addr add {here}/30 dev {name}"));
            ip(None, &format!("link set {name} up"));
            ip(within, &format!("addr add {there}/30 dev {far}"));
            ip(within, &format!("link set {far} up"));
            // Coordinator and target are at the ends of the first one's cables.
            if worker > 0 {
                ip(within, &format!("route add {} via {here}", self.at(0, cable, 0)));
            }
        }
        RemoteWorker { process, number: worker }
    }

    /// Takes a worker's cable to the coordinator down for this long.
    fn pulls_out(&self, far: &RemoteWorker, so_long: Duration) {
        let cable = self.cable(far.number, 0);
        ip(None, &format!("link set {cable} down"));
        sleep(so_long);
        ip(None, &format!("link set {cable} up"));
    }
}

/// A load by two such workers, which has begun.
fn under_way(
    net: &WorkerNetworks,
    sandbox: &Sandbox,
    target: &TargetProcess,
    load: &[&str],
) -> (RunningProcess, [RemoteWorker; 2]) {
    let port = target.address.rsplit(':').next().expect("it has a port");
    let url = format!("http://{}:{port}/json", net.at(0, 1, 0));
    let fars = [0, 1].map(|worker| net.far(sandbox, worker, "", "run.join"));
    let on = format!("join:{}", net.at(0, 0, 0));
    let fleet = [url.as_str(), "--on", &on, "--workers", "2", "--format", "json"];
    let running = RunningProcess::start(sandbox.command(load.iter().copied().chain(fleet)));
    file(sandbox, "run.join");
    sandbox.write("laid", "");
    let began = Instant::now();
    while target.truth("/json")["received"].as_u64() < Some(100) {
        assert!(began.elapsed() < SOON * 2, "the load does not come");
        sleep(Duration::from_millis(20));
    }
    (running, fars)
}

fn target(sandbox: &Sandbox) -> TargetProcess {
    let mut target = TargetProcess::listen(sandbox, "0.0.0.0:0", &["--model", "async"]);
    // The address for asking the target what truly happened.
    target.address = target.address.replace("0.0.0.0", "127.0.0.1");
    target
}

/// Whatever was sent has arrived, and nobody else sent anything but the very first request.
#[track_caller]
fn is_whole(run: &Value, target: &TargetProcess, due: u64) {
    adds_up(&run["trial"]);
    assert_eq!(run["trial"]["due"], due, "{run:#}");
    let received = target.truth("/json")["received"].as_u64().expect("a count");
    assert_eq!(number(run, "/trial/sent") as u64, received - 1, "{run:#}");
    assert_eq!(run["fleet"]["lost"].as_array().map(Vec::len), Some(0), "{run:#}");
}

#[test]
fn clocks_that_are_a_day_apart_make_one_load() {
    let Some(net) = WorkerNetworks::new() else { return };
    let (_turn, sandbox) = (LoadTurn::shared(), Sandbox::new());
    let target = target(&sandbox);
    let (running, fars) = under_way(&net, &sandbox, &target, &["run", "-r", "400", "-d", "3s"]);
    let run = running.end().measured().json();
    is_whole(&run, &target, 1200);
    for member in run["fleet"]["workers"].as_array().expect("a list") {
        let bound = number(member, "/clock_within_us");
        assert!(bound > 0.0 && bound < 20_000.0, "{member}");
    }
    for far in fars {
        far.process.end().expect(0);
    }
}

#[test]
fn a_cable_that_is_out_for_two_seconds_voids_nothing() {
    let Some(net) = WorkerNetworks::new() else { return };
    let (_turn, sandbox) = (LoadTurn::shared(), Sandbox::new());
    let target = target(&sandbox);
    let (running, fars) = under_way(&net, &sandbox, &target, &["run", "-r", "200", "-d", "8s"]);
    net.pulls_out(&fars[1], Duration::from_secs(2));
    let run = running.end().measured().json();
    is_whole(&run, &target, 1600);
    for far in fars {
        far.process.end().expect(0);
    }
}

#[test]
fn a_cable_that_is_out_for_ten_seconds_loses_one_worker() {
    let Some(net) = WorkerNetworks::new() else { return };
    let (_turn, sandbox) = (LoadTurn::shared(), Sandbox::new());
    let target = target(&sandbox);
    let (running, fars) = under_way(&net, &sandbox, &target, &["run", "-r", "200", "-d", "20s"]);
    net.pulls_out(&fars[1], Duration::from_secs(10));
    let run = running.end().expect(92).json();
    adds_up(&run["trial"]);
    let lost = run["fleet"]["lost"].as_array().expect("a list");
    assert_eq!(lost.len(), 1, "{lost:#?}");
    let received = target.truth("/json")["received"].as_u64().expect("a count") - 1;
    let (sent, open) = (number(&run, "/trial/sent") as u64, number(&lost[0], "/unaccounted") as u64);
    assert!(sent <= received && received <= sent + open, "{sent} sent, {received} came, {open} are open");
}

/// An address has a limited number of ports: the worker with the fewest limits all, and is named.
#[test]
fn who_can_hold_no_more_is_named() {
    let Some(net) = WorkerNetworks::new() else { return };
    let (_turn, sandbox) = (LoadTurn::shared(), Sandbox::new());
    let target = target(&sandbox);
    let port = target.address.rsplit(':').next().expect("it has a port");
    let url = format!("http://{}:{port}/json", net.at(0, 1, 0));
    let few = "echo 20000 20299 > /proc/sys/net/ipv4/ip_local_port_range;";
    let fars = [net.far(&sandbox, 0, "", "run.join"), net.far(&sandbox, 1, few, "run.join")];
    let on = format!("join:{}", net.at(0, 0, 0));
    let find = ["find", "connections", &url, "--from", "64", "--trial", "1s", "--max", "2000"];
    let fleet = ["--on", &on, "--workers", "2", "--no-watch", "--format", "json"];
    let running = RunningProcess::start(sandbox.command(find.into_iter().chain(fleet)));
    file(&sandbox, "run.join");
    sandbox.write("laid", "");
    let ended = running.end();
    let find = ended.json();
    for far in fars {
        far.process.end().expect(0);
    }
    let caveats = find["caveats"].as_array().expect("a list");
    let few = caveats.iter().find(|caveat| caveat["code"] == "few-ports").expect("it is told");
    let says = few.to_string();
    assert!(says.contains("(on ") && says.contains("236 ports"), "{says}");
    // Twice as many, if the machine has time for a search.
    assert_eq!((&find["ended"], ended.code()), (&"generator_limit".into(), 92), "{ended}");
    let trials = find["trials"].as_array().expect("a list");
    let void = trials.iter().filter(|trial| trial["valid"] == false).count();
    if void == 0 {
        assert_eq!(number(&find, "/limits/0/lower"), 472.0, "{ended}");
    } else {
        eprintln!("SKIPPED: the machine is too busy to hold connections in time");
    }
}
