//! `--watch-on`: the target is watched from its own machine, by the real ssh and sshd, or over TLS.

use super::join::file;
use super::ssh::{assert_nothing_left, kill, wait_until};
use crate::program::sshd::{SshHosts, is_root};
use crate::program::target::TargetProcess;
use crate::program::{LoadTurn, RunningProcess, SOON, Sandbox, binary, number};
use rustix::process::Signal;
use std::path::Path;

/// Ten permits, each held for 50 ms: at most 200 requests a second.
const PERMITS: &str = "/fault/permit?size=10&us=50000";

/// A service with many workers.
fn pool(sandbox: &Sandbox) -> TargetProcess {
    TargetProcess::start(sandbox, &["--workers", "200"])
}

/// First less than that, then more, for long enough to see why.
fn overload(url: &str) -> Vec<String> {
    let stages = ["1ms:60", "5s:60", "1ms:280", "6s:280"].into_iter().flat_map(|stage| ["-s", stage]);
    let load = ["run", url].into_iter().chain(stages).chain(["--format", "json"]);
    load.map(str::to_owned).collect()
}

/// What the target lacked, and where: on a busy machine it is not the only cause.
fn given(found: &serde_json::Value) -> &serde_json::Value {
    let mut all = found["findings"].as_array().into_iter().flatten();
    let is_it =
        |finding: &&serde_json::Value| ["pool", "workers"].iter().any(|cause| finding["cause"] == *cause);
    all.find(is_it).unwrap_or_else(|| panic!("nothing of it: {found:#}"))
}

fn pid(target: &TargetProcess) -> f64 {
    let page = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let port = target.socket_address().port();
    let held = page.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut serving = held.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("--while-stdin") && listens(*pid, port)
    });
    f64::from(serving.next().expect("it runs"))
}

/// Whether a process has a socket that listens at this port.
fn listens(pid: u32, port: u16) -> bool {
    let inode = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1)?.ends_with(&format!(":{port:04X}")) && words.get(3) == Some(&"0A");
        is_it.then(|| format!("socket:[{}]", words[9]))
    };
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    let inodes: Vec<String> = table.lines().filter_map(inode).collect();
    let held = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = held.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.map(|link| link.display().to_string()).any(|link| inodes.contains(&link))
}

/// Records all traffic there.
fn overheard(hosts: &SshHosts<'_>, sandbox: &Sandbox) {
    std::fs::create_dir(sandbox.path("heard")).expect("the folder is ours");
    let (heard, real) = (sandbox.path("heard.bytes"), binary());
    let real = Path::new(real).display();
    let script = format!(
        "if [ \"$1\" = --version ]; then exec {real} --version; fi; tee {} | {real} \"$@\"",
        heard.display()
    );
    hosts.program("heard", "torment", &script);
    hosts.add("web", "heard", "", "");
}

#[test]
fn what_gave_first_is_seen_where_the_target_is_and_no_secret_goes_there() {
    let sandbox = Sandbox::new();
    let Some(hosts) = SshHosts::new(&sandbox) else { return };
    let _turn = LoadTurn::shared();
    overheard(&hosts, &sandbox);
    let target = pool(&sandbox);
    let url = target.url(PERMITS);
    let database = "postgres://me:geheim-two@127.0.0.1:1/clinic";
    let secret = ["-H", "Authorization: Bearer {env:TOKEN}", "--postgres", database];
    let all = overload(&url);
    let all = all.iter().map(String::as_str).chain(["--watch-on", "ssh:web"]).chain(secret);
    let mut command = hosts.command(all);
    command.env("TOKEN", "geheim-one");
    let ended = RunningProcess::start(command).end();
    let run = ended.json();
    assert_eq!((&run["watched"]["place"], &run["watched"]["on"]), (&"web".into(), &"ssh:web".into()));
    assert_eq!(number(&run, "/watched/subjects/0/pid"), pid(&target), "{ended}");
    assert!(number(&run, "/watched/trials/0/seen_seconds") > 3.0, "{:#}", run["watched"]);
    assert_eq!(run["watched"]["lost"], serde_json::Value::Null);
    // The whole chain of evidence is transferred.
    let found = &run["diagnosis"];
    assert_eq!(given(found)["place"], "web", "{ended}\n{found:#}");
    let said = found["sentences"][0].as_str().expect("it is said");
    assert!(found["place"] == "" || said.starts_with("On web: "), "{said}");
    // What needs a password is queried from here.
    assert_eq!(run["also_watched"][0]["place"], "", "{:#}", run["also_watched"]);
    let heard = std::fs::read(sandbox.path("heard.bytes")).expect("something went there");
    let has = |word: &str| heard.windows(word.len()).any(|bytes| bytes == word.as_bytes());
    assert!(has("attach") && !has("geheim") && !has("clinic"), "{} bytes", heard.len());
    // The stored run says it, too.
    let explained = sandbox.torment(["explain", "last"]).expect(0);
    for words in [" on web · ", "step by step, on web", "watched, on web"] {
        assert!(explained.stdout.contains(words), "{words}: {explained}");
    }
    let rows = sandbox.torment(["export", "last", "--what", "samples", "--format", "csv", "-o", "-"]);
    assert!(rows.stdout.contains(",web,"), "{}", rows.stdout.lines().take(3).collect::<Vec<_>>().join("\n"));
    assert_nothing_left(&hosts);
}

#[test]
fn what_keeps_a_watcher_from_seeing_is_said_before_any_load() {
    let sandbox = Sandbox::new();
    let Some(hosts) = SshHosts::new(&sandbox) else { return };
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let other = format!("IdentityFile {}", sandbox.path("other").display());
    hosts.add("locked", "torment-bin", "", &format!("{other}\n  IdentityAgent none"));
    std::fs::create_dir(sandbox.path("riscv")).expect("the folder is ours");
    hosts.program("riscv", "uname", "if [ \"$1\" = -m ]; then echo riscv64; else echo Linux; fi");
    hosts.program("riscv", "torment", "echo torment 0.0.1");
    hosts.add("riscv", "riscv", "", "");
    let check = |code: i32, arguments: &[&str], words: &[&str]| {
        let all = ["run", &url, "-r", "9", "-d", "1s"].into_iter().chain(arguments.iter().copied());
        println!("{}", RunningProcess::start(hosts.command(all)).end().expect_error(code, words));
    };
    check(
        1,
        &["--watch-on", "ssh:b,locked"],
        &["watcher on locked", "without a password", "ssh-copy-id locked"],
    );
    check(1, &["--watch-on", "ssh:riscv"], &["watcher on riscv", "Linux riscv64", "--remote-binary"]);
    check(1, &["--watch-on", "ssh:b", "--pid", "4194000"], &["watcher on b", "no process 4194000"]);
    check(1, &["--watch-on", "ssh:b", "--command", "no such program"], &["watcher on b", "command line"]);
    check(2, &["--watch-on", "here"], &["--watch-on", "watched anyway"]);
    check(2, &["--watch-on", "ssh:b,me@b"], &["--watch-on", "once"]);
    check(2, &["--watch-on", "ssh:b", "--no-watch"], &["--watch-on", "nothing is watched"]);
    sandbox.write(
        "plan.toml",
        &format!("target.url = '{url}'\nload.rate = 9\n[fleet]\nwatch_on = 'ssh:locked'\n"),
    );
    let by_file = RunningProcess::start(hosts.command(["run", "plan.toml", "-d", "1s"])).end();
    println!("{}", by_file.expect_error(1, &["watcher on locked", "without a password"]));
    check(2, &["--watch-on", "ssh:b", "--watchers", "2"], &["--watchers", "each host of ssh and each node"]);
    check(2, &["--watch-on", "ssh:b", "--wait", "3s"], &["--wait", "those of join"]);
    if is_root() {
        hosts.add("apart", "torment-bin", "unshare -n", "");
        let port = format!("nothing listens at port {}", target.socket_address().port());
        check(1, &["--watch-on", "ssh:apart"], &["watcher on apart", &port]);
    } else {
        eprintln!("SKIPPED: only root has other networks to try");
    }
    assert_eq!(target.truth("/json")["received"].as_u64().unwrap_or(0), 0, "somebody sent something");
    println!(
        "{}",
        sandbox.torment(["run", "null", "-r", "9", "--watch-on", "ssh:b"]).expect_error(2, &["null"])
    );
    assert_nothing_left(&hosts);
}

/// The load goes on, and its place says since when nothing is known.
#[test]
fn a_watcher_that_is_lost_ends_nothing() {
    let sandbox = Sandbox::new();
    let Some(hosts) = SshHosts::new(&sandbox) else { return };
    let _turn = LoadTurn::shared();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let arguments = ["run", &url, "-r", "50", "-d", "7s", "--watch-on", "ssh:b", "--format", "json"];
    let running = RunningProcess::start(hosts.command(arguments));
    wait_until("the load does not come", SOON, || target.truth("/json")["received"].as_u64() > Some(110));
    let watchers = hosts.watchers();
    assert_eq!(watchers.len(), 1, "{:?}", hosts.processes());
    kill(watchers[0]);
    let ended = running.end().measured();
    let run = ended.json();
    assert_eq!(run["trial"]["due"], 350, "the load goes on");
    let lost = &run["watched"]["lost"];
    assert_eq!(lost["trial"], 1, "{:#}", run["watched"]);
    assert!((0.5..6.0).contains(&number(lost, "/at_seconds")), "{lost}");
    assert!(lost["why"].as_str().is_some_and(|why| why.contains("killed there")), "{lost}");
    let unseen = run["diagnosis"]["unseen"].to_string();
    assert!(unseen.contains("What happened on b is not known since"), "{unseen}");
    let shown = sandbox.torment(["show", "last"]);
    assert!(shown.stdout.contains("into trial 1: torment was killed there"), "{shown}");
    assert_nothing_left(&hosts);
}

fn watcher(sandbox: &Sandbox, arguments: &[&str]) -> RunningProcess {
    RunningProcess::start(sandbox.command(["watch", "--join", "watch.join"].iter().chain(arguments).copied()))
}

#[test]
fn watchers_come_by_their_own_file_and_each_place_is_told_apart() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (target, beside) = (pool(&sandbox), TargetProcess::start(&sandbox, &["--model", "async"]));
    let all = overload(&target.url(PERMITS));
    let all = all.iter().map(String::as_str).chain(["--watch-on", "join", "--watchers", "2"]);
    let running = RunningProcess::start(sandbox.command(all));
    file(&sandbox, "watch.join");
    // Its certificate is for a watcher.
    let worker = RunningProcess::start(sandbox.command(["worker", "--join", "watch.join"])).end();
    println!("{}", worker.expect_error(1, &["does not let in a worker"]));
    let nobody = watcher(&sandbox, &["4194000"]).end();
    println!("{}", nobody.expect_error(1, &["no process 4194000"]));
    let (target_pid, other) = (pid(&target), pid(&beside));
    // One finds the target by itself, as the run says; the other is told whom to watch.
    let (first, second) = (watcher(&sandbox, &[]), watcher(&sandbox, &[&other.to_string()]));
    let ended = running.end();
    let run = ended.json();
    assert!(ended.stderr.contains("waits for 2 watchers: copy watch.join"), "{ended}");
    let mut places = [&run["watched"], &run["also_watched"][0]];
    places.sort_by_key(|place| number(place, "/subjects/0/pid") != target_pid);
    let pids = places.map(|place| number(place, "/subjects/0/pid"));
    assert_eq!(pids, [target_pid, other], "{ended}");
    // Both are on this machine.
    assert_ne!(places[0]["place"], places[1]["place"]);
    let found = &run["diagnosis"];
    assert_eq!(given(found)["place"], places[0]["place"], "{found:#}");
    // They exit with it, and the file is gone.
    first.end().expect(0);
    second.end().expect(0);
    assert!(!sandbox.path("watch.join").exists());
}

#[test]
fn a_watcher_that_goes_early_says_why() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/json");
    let arguments =
        ["run", &url, "-r", "50", "-d", "8s", "--watch-on", "join", "--watchers", "2", "--format", "json"];
    let running = RunningProcess::start(sandbox.command(arguments));
    file(&sandbox, "watch.join");
    let told = watcher(&sandbox, &[]);
    // The environment will do, too.
    let text = std::fs::read_to_string(sandbox.path("watch.join")).expect("it is there");
    let mut command = sandbox.command(["watch", "--join", "env:LETS_IN", "--for", "5s"]);
    command.env("LETS_IN", text);
    let timed = RunningProcess::start(command);
    wait_until("the load does not come", SOON, || target.truth("/json")["received"].as_u64() > Some(60));
    told.signal(Signal::TERM);
    told.end().expect(0);
    timed.end().expect(0);
    let run = running.end().measured().json();
    let whys = [&run["watched"], &run["also_watched"][0]].map(|place| place["lost"]["why"].to_string());
    assert!(whys.iter().any(|why| why.contains("SIGTERM")), "{whys:?}");
    assert!(whys.iter().any(|why| why.contains("its time was up")), "{whys:?}");
    let none = sandbox.torment(["watch", "--join", "env:LETS_NOBODY_IN"]);
    println!("{}", none.expect_error(1, &["LETS_NOBODY_IN holds no join file"]));
}
