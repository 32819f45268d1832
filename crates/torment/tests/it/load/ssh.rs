//! `--on ssh:`: workers on other machines, by the real ssh and sshd.

use crate::program::odd_servers::tls;
use crate::program::sshd::{SshHosts, is_root};
use crate::program::target::{TargetProcess, free_port};
use crate::program::{LoadTurn, RunningProcess, SOON, Sandbox, adds_up, binary, number, outcome};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(super) fn wait_until(what: &str, limit: Duration, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < limit, "{what}");
        sleep(Duration::from_millis(50));
    }
}

/// Everything is gone after this: 6 s of silence, and a little more.
const GONE: Duration = Duration::from_secs(8);

/// On either side.
#[track_caller]
pub(super) fn assert_nothing_left(hosts: &SshHosts<'_>) {
    let mut left = Vec::new();
    let began = Instant::now();
    while began.elapsed() < GONE {
        left = hosts.processes();
        if left.is_empty() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("these stay behind: {left:#?}");
}

pub(super) fn kill(pid: u32) {
    let pid = Pid::from_raw(pid as i32).expect("a process has an id");
    kill_process(pid, Signal::KILL).expect("it is there");
}

#[test]
fn two_hosts_make_the_load_as_one_and_nothing_stays_there() {
    let sandbox = Sandbox::new();
    let Some(hosts) = SshHosts::new(&sandbox) else { return };
    let _turn = LoadTurn::shared();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let command =
        hosts.command(["run", &url, "-r", "300", "-d", "2s", "--on", "ssh:b,c", "--format", "json"]);
    let ended = RunningProcess::start(command).end().measured();
    let run = ended.json();
    adds_up(&run["trial"]);
    assert_eq!(run["trial"]["due"], 600);
    let members = run["fleet"]["workers"].as_array().expect("a list");
    let pids: Vec<f64> = members.iter().map(|member| number(member, "/pid")).collect();
    assert!(pids.len() == 2 && pids[0] != pids[1], "{members:?}");
    // The very first request is not part of the load.
    let received = target.truth("/json")["received"].as_u64().expect("a count");
    assert_eq!(number(&run, "/trial/sent") as u64, received - 1, "{ended}");
    let caveats = run["caveats"].as_array().expect("a list");
    assert!(caveats.iter().any(|caveat| caveat["code"] == "beside-target"), "{run:#}");
    assert_nothing_left(&hosts);
}

/// Only this machine has the authority's file.
#[test]
fn whom_the_coordinator_trusts_its_workers_trust() {
    let sandbox = Sandbox::new();
    let Some(hosts) = SshHosts::new(&sandbox) else { return };
    let _turn = LoadTurn::shared();
    let server = tls();
    let url = format!("https://localhost:{}/", server.address.port());
    let load = ["run", &url, "-r", "50", "-d", "1s", "--on", "ssh:b", "--format", "json"];
    let refused = RunningProcess::start(hosts.command(load)).end();
    println!("{}", refused.expect_error(1, &["worker on b", "certificate", "SSL_CERT_FILE"]));
    let mut command = hosts.command(load);
    command.env("SSL_CERT_FILE", sandbox.write("authority.pem", &server.authority));
    let run = RunningProcess::start(command).end().measured().json();
    // All that were sent: on a busy machine possibly fewer than 50.
    let (ok, sent) = (outcome(&run["trial"], "ok"), number(&run, "/trial/sent") as u64);
    assert!(ok > 0 && ok == sent, "{ok} of {sent}: {run:#}");
}

/// A load of a minute from two hosts, which has begun.
fn under_way(hosts: &SshHosts<'_>, target: &TargetProcess) -> RunningProcess {
    let url = target.url("/json");
    let arguments = ["run", &url, "-r", "300", "-d", "1m", "--on", "ssh:b,c", "--format", "json"];
    let running = RunningProcess::start(hosts.command(arguments));
    wait_until("the load does not come", SOON * 2, || target.truth("/json")["received"].as_u64() > Some(300));
    running
}

#[test]
fn a_worker_there_that_is_killed_voids_the_load() {
    let sandbox = Sandbox::new();
    let Some(hosts) = SshHosts::new(&sandbox) else { return };
    let _turn = LoadTurn::shared();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let running = under_way(&hosts, &target);
    let workers = hosts.workers();
    assert_eq!(workers.len(), 2, "{:?}", hosts.processes());
    kill(workers[0]);
    let run = running.end().expect(92).json();
    let lost = run["fleet"]["lost"].as_array().expect("a list");
    assert!(
        lost.len() == 1 && lost[0]["why"].as_str().is_some_and(|why| why.contains("killed there")),
        "{lost:?}"
    );
    let received = target.truth("/json")["received"].as_u64().expect("a count") - 1;
    let (sent, open) = (number(&run, "/trial/sent") as u64, number(&lost[0], "/unaccounted") as u64);
    assert!(sent <= received && received <= sent + open, "{sent} sent, {received} came, {open} are open");
    assert_nothing_left(&hosts);
}

#[test]
fn without_its_coordinator_nothing_goes_on_there() {
    let sandbox = Sandbox::new();
    let Some(hosts) = SshHosts::new(&sandbox) else { return };
    let _turn = LoadTurn::shared();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let running = under_way(&hosts, &target);
    running.signal(Signal::KILL);
    assert_nothing_left(&hosts);
    let received = target.truth("/json")["received"].clone();
    sleep(Duration::from_millis(300));
    assert_eq!(target.truth("/json")["received"], received, "somebody goes on");
}

/// Another build is on its path: this one is copied, into a file that is unlinked when it starts.
#[test]
fn torment_takes_itself_along() {
    let sandbox = Sandbox::new();
    let Some(hosts) = SshHosts::new(&sandbox) else { return };
    std::fs::create_dir(sandbox.path("old")).expect("the folder is ours");
    // Of the same version, but another build.
    let version = env!("CARGO_PKG_VERSION");
    hosts.program(
        "old",
        "torment",
        &format!("echo torment {version}; test \"$1\" != stamp || echo x86_64 00"),
    );
    hosts.add("old", "old", "", "");
    // Without debug information, if possible: it is copied through a cipher.
    let small = sandbox.path("torment-small");
    let stripped = Command::new("strip").arg("-o").arg(&small).arg(binary()).status();
    let program = if stripped.is_ok_and(|status| status.success()) { small } else { binary().into() };
    let mut command = Command::new(program);
    command.args([
        "run",
        "null",
        "-r",
        "50",
        "-d",
        "1m",
        "--on",
        "ssh:old",
        "--format",
        "json",
        "--no-store",
    ]);
    let running = RunningProcess::start(hosts.homed(sandbox.homed(command)));
    wait_until("no worker begins", SOON * 4, || !hosts.workers().is_empty());
    let worker = hosts.workers()[0];
    let runs = std::fs::read_link(format!("/proc/{worker}/exe")).expect("it runs");
    assert!(runs.display().to_string().ends_with(" (deleted)"), "{}", runs.display());
    assert_eq!(std::fs::read_dir(sandbox.path("tmp")).expect("it is ours").count(), 0, "a file stays");
    // The ssh there is gone, and so is whatever it started.
    running.signal(Signal::KILL);
    assert_nothing_left(&hosts);
}

#[test]
fn what_keeps_a_host_from_taking_part_is_said_before_any_load() {
    let sandbox = Sandbox::new();
    let Some(hosts) = SshHosts::new(&sandbox) else { return };
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let other = format!("IdentityFile {}", sandbox.path("other").display());
    hosts.add("locked", "torment-bin", "", &format!("{other}\n  IdentityAgent none"));
    hosts.add("stranger", "torment-bin", "", "StrictHostKeyChecking yes\n  UserKnownHostsFile /dev/null");
    hosts.add(
        "nowhere",
        "torment-bin",
        "",
        &format!("ProxyCommand none\n  HostName 127.0.0.1\n  Port {}", free_port()),
    );
    std::fs::create_dir(sandbox.path("riscv")).expect("the folder is ours");
    hosts.program("riscv", "uname", "if [ \"$1\" = -m ]; then echo riscv64; else echo Linux; fi");
    hosts.program("riscv", "torment", "echo torment 0.0.1");
    hosts.add("riscv", "riscv", "", "");
    std::fs::create_dir(sandbox.path("noisy")).expect("the folder is ours");
    hosts.program(
        "noisy",
        "torment",
        &format!("if [ \"$1\" = stamp ]; then exec {} stamp; else echo no, thanks >&2; exit 7; fi", binary()),
    );
    hosts.add("noisy", "noisy", "", "");
    let check = |arguments: &[&str], words: &[&str]| {
        let all = ["run", &url, "-r", "9", "-d", "1s"].into_iter().chain(arguments.iter().copied());
        println!("{}", RunningProcess::start(hosts.command(all)).end().expect_error(1, words));
    };
    check(&["--on", "ssh:b,locked"], &["worker on locked", "without a password", "ssh-copy-id locked"]);
    check(&["--on", "ssh:stranger"], &["worker on stranger", "does not know this host", "ssh stranger"]);
    check(&["--on", "ssh:nowhere"], &["worker on nowhere", "Connection refused"]);
    check(&["--on", "ssh:riscv"], &["Linux riscv64", "--remote-binary"]);
    check(
        &["--on", "ssh:b", "--remote-binary", "/no/torment"],
        &["worker on b", "where --remote-binary says"],
    );
    check(&["--on", "ssh:noisy"], &["worker on noisy", "ended with 7", "no, thanks"]);
    if is_root() {
        hosts.add("apart", "torment-bin", "unshare -n", "");
        check(&["--on", "ssh:apart"], &["worker on apart", "this machine reaches it"]);
        sandbox.write("another", "00000000-0000-0000-0000-000000000000\n");
        let bind =
            format!("mount --bind {} /proc/sys/kernel/random/boot_id", sandbox.path("another").display());
        hosts.add("far", "torment-bin", &format!("unshare -m sh -c '{bind} && exec \"$@\"' sh"), "");
        check(&["--on", "ssh:far"], &["this machine's own address", "reaches, too"]);
    } else {
        eprintln!("SKIPPED: only root has other networks to try");
    }
    // Only the first request, of a worker that was ready.
    assert!(target.truth("/json")["received"].as_u64().unwrap_or(0) <= 1, "somebody sent something");
    // Nor is ssh installed everywhere.
    let mut command = sandbox.command(["run", &url, "-r", "9", "-d", "1s", "--on", "ssh:b"]);
    command.env("PATH", sandbox.path("torment-bin"));
    println!(
        "{}",
        RunningProcess::start(command).end().expect_error(1, &["no ssh on this machine", "openssh-client"])
    );
    assert_nothing_left(&hosts);
}
