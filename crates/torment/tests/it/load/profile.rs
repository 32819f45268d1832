//! `torment profile` on code whose shares are known, compared with `perf record`, and where it is not permitted.

use crate::program::target::TargetProcess;
use crate::program::{LoadTurn, ProcessOutput, RunningProcess, Sandbox, binary};
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Runs `work` while a client requests a page in a loop.
fn under_load<T>(target: &TargetProcess, page: &str, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                target.get(page);
            }
        });
        let done = work();
        over.store(true, Ordering::SeqCst);
        done
    })
}

/// Its profile; `None` where the kernel does not permit one, if that is reported properly.
fn profile<'a>(
    sandbox: &Sandbox,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Option<(ProcessOutput, Value)> {
    let (ended, json) = sandbox.json(["profile"].into_iter().chain(arguments));
    if ended.stderr.contains("cannot be sampled") {
        let says_what_to_do = ["perf_event_paranoid", "PERFMON", "CONFIG_PERF_EVENTS"];
        assert!(says_what_to_do.iter().any(|words| ended.stderr.contains(words)), "{ended}");
        eprintln!("SKIPPED: no perf events here: {}", ended.stderr);
        return None;
    }
    let profile = json["profiles"][0].clone();
    Some((ended.expect(0), profile))
}

/// Samples of functions with this name suffix, `own` or `total`.
fn samples(profile: &Value, which: &str, name: &str) -> f64 {
    let functions = profile["functions"].as_array().expect("it has functions");
    let its = functions.iter().filter(|function| {
        function["name"].as_str().is_some_and(|full| full.rsplit("::").next() == Some(name))
    });
    its.map(|function| function[which]["samples"].as_f64().expect("a count")).sum()
}

/// Both functions have their shares, also behind a recursion probably deeper than the copied part of the stack. The
/// program has no frame pointers: every caller is found by DWARF unwinding.
#[test]
fn two_functions_have_the_shares_that_they_were_given() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--workers", "4"]);
    let whom = target.pid().to_string();
    let mut counted = 0;
    for (page, deeper) in [("/burn?a=70&b=30&us=50000", 0), ("/burn?a=25&b=75&us=50000&deep=40", 40)] {
        let expected = if deeper == 0 { 0.7 } else { 0.25 };
        let arguments = ["--hz", "999", "-d", "4s"];
        let found =
            under_load(&target, page, || profile(&sandbox, [whom.as_str()].into_iter().chain(arguments)));
        let Some((ended, profile)) = found else { return };
        let (first, second) =
            (samples(&profile, "total", "burn_first"), samples(&profile, "total", "burn_second"));
        let (both, all) = (first + second, profile["samples"].as_f64().expect("a count"));
        // A busy machine may have given it few.
        assert!(both > 100.0, "only {both} of {all} samples\n{ended}");
        counted = profile["samples"].as_u64().expect("a count");
        let share = first / both;
        // Three points; with fewer than 2,500 samples three standard errors.
        assert!((share - expected).abs() < 0.03_f64.max(3.0 * (0.25 / both).sqrt()), "{share}\n{ended}");
        assert!(both / all > 0.9, "the rest is the kernel's and the service's: {both} of {all}");
        let through = samples(&profile, "total", "burn_deeper");
        assert!((through - both).abs() < 0.02 * both, "{through} of {both} came through the recursion");
        assert!(profile["truncated"].as_f64().expect("a count") < 0.05 * all, "{ended}");
        let ours = profile["processor_seconds"].as_f64().expect("it is measured");
        let by_kernel = profile["processor_seconds_by_kernel"].as_f64().expect("it is measured");
        // Ours includes stolen time, the kernel's does not.
        assert!((ours - by_kernel).abs() < 0.25 * by_kernel + 0.1, "{ours} s, by the kernel {by_kernel} s");
    }
    is_exported(&sandbox, counted);
    let shown = sandbox.torment(["show", "last"]).expect(0).stdout;
    for words in ["of its processor time", "burn_second", "by module", "[kernel]"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

/// Exports have the same content; checked with the tools that are installed.
fn is_exported(sandbox: &Sandbox, samples: u64) {
    sandbox.torment(["export", "last", "--profile", "folded", "-o", "p.folded"]).expect(0);
    let folded = std::fs::read_to_string(sandbox.path("p.folded")).expect("it was written");
    let counts =
        folded.lines().map(|line| line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()));
    assert_eq!(counts.map(|count| count.expect("a count")).sum::<u64>(), samples);
    assert!(
        folded.lines().any(|line| line.contains("burn_deeper;") && line.contains("burn_second")),
        "{folded}"
    );
    sandbox.torment(["export", "last", "--profile", "speedscope", "-o", "p.json"]).expect(0);
    let text = std::fs::read_to_string(sandbox.path("p.json")).expect("it was written");
    let speedscope: Value = serde_json::from_str(&text).expect("JSON");
    let stacks = speedscope["profiles"][0]["samples"].as_array().expect("it has stacks");
    assert_eq!(stacks.len(), folded.lines().count());
    sandbox.torment(["export", "last", "--profile", "pprof", "-o", "p.pb.gz"]).expect(0);
    // Since 1.25 Go builds the tool on first use; the build cache avoids compiling again.
    let cache =
        Command::new("go").args(["env", "GOCACHE"]).output().map(|said| said.stdout).unwrap_or_default();
    let mut go = sandbox.homed(Command::new("go"));
    go.env("GOCACHE", String::from_utf8_lossy(&cache).trim());
    go.args(["tool", "pprof", "-top", "-cum", "-sample_index=samples"]).arg(sandbox.path("p.pb.gz"));
    match go.output() {
        Err(_) => eprintln!("SKIPPED: there is no go here"),
        Ok(output) => {
            let top = String::from_utf8_lossy(&output.stdout);
            let is_read = top.contains(&format!("% of {samples} total")) && top.contains("burn_second");
            assert!(is_read, "{top}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Workers that wait for one of two permits, half a second each: each shows where it waits.
#[test]
fn threads_that_wait_are_shown_where_they_do() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--workers", "6"]);
    let url = target.url("/fault/permit?size=2&us=500000");
    let whom = target.pid().to_string();
    let load = RunningProcess::start(sandbox.command([
        "run",
        &url,
        "-c",
        "6",
        "-d",
        "6s",
        "--no-store",
        "--no-watch",
    ]));
    thread::sleep(Duration::from_secs(2));
    let (ended, _) = sandbox.json(["profile", &whom, "-d", "1s"]);
    load.end();
    if ended.stderr.contains("cannot be sampled") {
        return eprintln!("SKIPPED: no perf events here: {}", ended.stderr);
    }
    // Often nobody ran.
    assert!([0, 91].contains(&ended.code()), "{ended}");
    let shown = sandbox.torment(["show", "last"]).expect(0).stdout;
    let waiting = shown.split_once("threads that wait, by their stacks").map(|(_, rest)| rest);
    let waiting = waiting.unwrap_or_else(|| panic!("{ended}\n{shown}"));
    // One may have been between two requests.
    let in_line = ["4 × worker-N futex", "3 × worker-N futex"].iter().any(|words| waiting.contains(words));
    assert!(in_line && waiting.contains(" futex in torment_reference::fault"), "{shown}");
}

/// During a load, samples become processor time per request.
#[test]
fn a_load_tells_what_a_request_costs_in_each_function() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--workers", "4"]);
    let url = target.url("/burn?a=70&b=30&us=10000");
    let (ended, json) = sandbox.json(["run", &url, "-r", "30", "-d", "8s", "--profile"]);
    if ended.stdout.contains("not-profiled") {
        return eprintln!("SKIPPED: no perf events here: {}", json["caveats"]);
    }
    let profile = &json["profiles"][0];
    let requests = profile["requests"].as_f64().expect("they are counted");
    assert!(requests > 100.0, "{ended}");
    let expected = if json["goal_met"] == true { "well" } else { "above" };
    assert_eq!(profile["load"]["side"], expected, "{ended}");
    // 100 samples or more of 7 ms each: seven standard errors.
    let each = samples(profile, "total", "burn_first") / 99.0 / requests * 1e3;
    assert!((each - 7.0).abs() < 3.0, "{each} ms a request\n{ended}");
    let shown = sandbox.torment(["show", "last"]).expect(0).stdout;
    for words in ["a request", "burn_first", "under a load of 30/s"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

/// After a search the code on both sides of its limit is sampled, which changes neither verdict nor exit code.
#[test]
fn a_search_is_followed_by_a_look_at_both_sides_of_its_limit() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--workers", "1"]);
    let url = target.url("/burn?a=70&b=30&us=20000");
    let search = |when, budget| {
        let how = ["--from", "15", "--max", "200", "--trial", "1s", "--budget", budget, "--profile", when];
        sandbox.json(["find", &url].into_iter().chain(how))
    };
    let (ended, json) = search("always", "20s");
    if ended.stdout.contains("not-profiled") {
        return eprintln!("SKIPPED: no perf events here: {}", json["caveats"]);
    }
    let limit = &json["limits"][0];
    let expected: &[&str] = match (limit["lower"].as_f64(), limit["upper"].as_f64()) {
        (Some(_), Some(_)) => &["well", "above"],
        // A busy machine may leave no time to find one.
        (Some(_), None) => &["well"],
        (None, _) => return eprintln!("SKIPPED: no rate held on this machine: {ended}"),
    };
    let profiles = json["profiles"].as_array().expect("it was profiled");
    let sides: Vec<&str> = profiles.iter().filter_map(|profile| profile["load"]["side"].as_str()).collect();
    assert_eq!(sides, expected, "{ended}");
    for profile in profiles {
        let of = |name| samples(profile, "total", name);
        let share = of("burn_first") / (of("burn_first") + of("burn_second"));
        assert!((share - 0.7).abs() < 0.15, "{share}\n{ended}");
    }
    let explained = sandbox.torment(["explain", "last"]).expect(0).stdout;
    let told = ["What ran on the processors", "burn_first", "a request"].into_iter();
    let of_both = ["above the limit, by what they do themselves", "below the limit, with what they call"];
    for words in told.chain(of_both.into_iter().filter(|_| expected.len() == 2)) {
        assert!(explained.contains(words), "{words}: {explained}");
    }
    let (ended, json) = search("never", "3s");
    assert!(json["profiles"].is_null() && !ended.stdout.contains("not-profiled"), "{ended}");
}

/// perf(1) is an independent check: it agrees within five points, function by function.
#[test]
fn perf_record_says_the_same() {
    if Command::new("perf").arg("--version").output().is_err() {
        return eprintln!("SKIPPED: there is no perf here");
    }
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--workers", "4"]);
    let (whom, data) = (target.pid().to_string(), sandbox.path("perf.data"));
    let found = under_load(&target, "/burn?a=60&b=40&us=50000", || {
        let mut perf = sandbox.homed(Command::new("perf"));
        perf.args(["record", "-q", "-e", "cpu-clock", "-F", "499", "-o"]).arg(&data);
        let perf = RunningProcess::start({
            perf.args(["-p", &whom, "--", "sleep", "6"]);
            perf
        });
        let found = profile(&sandbox, [whom.as_str(), "--hz", "499", "-d", "6s"]);
        perf.end().expect(0);
        found
    });
    let Some((ended, profile)) = found else { return };
    let mut report = sandbox.homed(Command::new("perf"));
    report.args(["report", "--stdio", "-q", "--no-children", "-F", "overhead,sym", "-i"]).arg(&data);
    let report = RunningProcess::start(report).end().expect(0).stdout;
    let all = profile["samples"].as_f64().expect("a count");
    let mut compared = 0;
    for line in report.lines() {
        let Some((share, rest)) = line.trim().split_once('%') else { continue };
        let share: f64 = share.parse().expect("a share in percent");
        // `[.] name` or `[k] name`, with or without generic arguments.
        let name = rest.trim().trim_start_matches("[.]").trim_start_matches("[k]").trim();
        let last = name.rsplit("::").next().unwrap_or(name);
        if share < 10.0 || last.is_empty() {
            continue;
        }
        let ours = 100.0 * samples(&profile, "own", last) / all;
        assert!((ours - share).abs() < 5.0, "{name}: {ours:.1} %, by perf {share} %\n{report}\n{ended}");
        compared += 1;
    }
    assert!(compared > 0, "{report}");
}

/// Whether this process samples.
fn samples_by(pid: u32) -> bool {
    let held = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let is_event = |link: std::path::PathBuf| link.to_string_lossy().contains("perf_event");
    held.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(is_event)
}

/// Neither a process nor an event nor a file outlives a killed profile, and the target does not notice.
#[test]
fn nothing_stays_behind_a_profile_that_is_killed() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--workers", "4"]);
    let whom = target.pid().to_string();
    let running = RunningProcess::start(sandbox.command(["profile", &whom, "-d", "60s"]));
    let pid = running.pid();
    let is_there = || std::path::Path::new(&format!("/proc/{pid}/fd")).exists();
    let begins = (0..200).find(|_| {
        thread::sleep(Duration::from_millis(50));
        samples_by(pid) || !is_there()
    });
    if begins.is_none() || !samples_by(pid) {
        running.signal(Signal::KILL);
        return eprintln!("SKIPPED: it does not sample here: {}", running.end());
    }
    under_load(&target, "/burn?a=70&b=30&us=5000", || thread::sleep(Duration::from_secs(1)));
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    assert_eq!(children, "", "it works alone");
    running.signal(Signal::KILL);
    running.end();
    assert!(!samples_by(target.pid()), "events are torment's");
    let status = std::fs::read_to_string(format!("/proc/{whom}/status")).expect("the target goes on");
    assert!(status.contains("TracerPid:\t0"), "{status}");
    for file in [&whom, &pid.to_string()].map(|pid| format!("/tmp/perf-{pid}.map")) {
        assert!(!std::path::Path::new(&file).exists(), "{file}");
    }
    target.get("/burn?a=70&b=30&us=5000");
    // What was stored of it says that it was cut short.
    sandbox.torment(["show", "last"]).expect(0);
}

#[test]
fn who_may_not_be_sampled_is_told_what_to_change() {
    let sandbox = Sandbox::new();
    let refuse = |line: &str, code: i32, words: &[&str]| {
        let arguments: Vec<&str> = ["profile"].into_iter().chain(line.split_whitespace()).collect();
        sandbox.torment(arguments).expect_error(code, words);
    };
    refuse("4194305", 1, &["there is no process 4194305", "torment profile :8080"]);
    refuse("java", 2, &["'java' is neither a process such as 4711"]);
    refuse("1 -d 1ms", 2, &["--duration: '1ms' is too short"]);
    if !rustix::process::geteuid().is_root() {
        return eprintln!("SKIPPED: only root can be somebody else");
    }
    // The program must be where nobody may run it.
    let copy = std::env::temp_dir().join(format!("torment-as-nobody-{}", std::process::id()));
    std::fs::copy(binary(), &copy).expect("there is room");
    let mut nobody = Command::new(&copy);
    nobody.args(["profile", "1", "-d", "1s", "--no-store"]).current_dir("/").uid(65534).gid(65534);
    let output = nobody.output();
    std::fs::remove_file(&copy).expect("it is ours");
    let output = output.expect("it can be run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_told = said.contains("process 1 cannot be sampled") && said.contains("perf_event_paranoid");
    assert!(output.status.code() == Some(1) && is_told, "{said}");
}

/// A search by a user who may not sample the target ends as usual.
#[test]
fn who_may_not_sample_finds_the_limit_as_before() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("SKIPPED: only root can be somebody else");
    }
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--workers", "4"]);
    let copy = std::env::temp_dir().join(format!("torment-finds-as-nobody-{}", std::process::id()));
    std::fs::copy(binary(), &copy).expect("there is room");
    let mut nobody = Command::new(&copy);
    let pid = target.pid().to_string();
    nobody.args([
        "find",
        &target.url("/delay?ms=1"),
        "--pid",
        &pid,
        "--from",
        "50",
        "--max",
        "100",
        "--trial",
        "1s",
    ]);
    nobody
        .args(["--profile", "always", "--no-store", "--format", "json"])
        .current_dir("/")
        .uid(65534)
        .gid(65534);
    let output = nobody.output();
    std::fs::remove_file(&copy).expect("it is ours");
    let output = output.expect("it can be run");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_told = said.contains("not-profiled") && said.contains("the target is not profiled: ");
    assert!(output.status.code() != Some(1) && is_told && !said.contains("\"profiles\""), "{said}");
}
