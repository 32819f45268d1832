//! Errors are reported once, promptly, and with a remedy; nothing hangs.

use crate::program::odd_servers::{closing, saying, silent, tls};
use crate::program::target::{TargetProcess, free_port};
use crate::program::{LoadTurn, ProcessOutput, RunningProcess, Sandbox, adds_up, binary, outcome};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// `run` and `find` fail alike, and each run that began is stored with its error.
#[track_caller]
fn both_complain(sandbox: &Sandbox, url: &str, further: &[&str], words: &[&str]) {
    for command in [&["run", url, "-r", "10", "-d", "1s"][..], &["find", url]] {
        let arguments = [command, further].concat();
        let message = sandbox.torment(arguments.iter().copied()).expect_error(1, words);
        println!("{message}");
        let (_, kept) = sandbox.json(["show"]);
        assert_eq!((&kept["state"], &kept["exit_code"]), (&"ended".into(), &1.into()), "{kept:#}");
        let error = kept["error"].as_str().expect("an error");
        assert_eq!(message.trim_end(), format!("torment: {error}"));
        // With --quiet it prints nothing else at all.
        let quiet = sandbox.torment(arguments.iter().copied().chain(["--quiet"]));
        quiet.expect_error(1, words);
        assert!(quiet.stderr.starts_with("torment: ") && quiet.stderr.lines().count() == 1, "{quiet}");
    }
}

#[test]
fn targets_that_cannot_be_reached() {
    let sandbox = Sandbox::new();
    let nobody = format!("http://127.0.0.1:{}/", free_port());
    both_complain(
        &sandbox,
        &nobody,
        &[],
        &["refuses connections", "start the service", "check host and port"],
    );
    // The resolver's internal errors used to be shown here. Without any name service, that is reported instead; the
    // name is shown either way.
    both_complain(
        &sandbox,
        "http://no-such-host.invalid/",
        &[],
        &["no-such-host.invalid", "check the spelling"],
    );
    both_complain(
        &sandbox,
        "http://localhost/",
        &["--unix-socket", "/no/such.sock"],
        &["/no/such.sock", "no such socket"],
    );
}

#[test]
fn targets_that_do_not_speak_http() {
    let sandbox = Sandbox::new();
    let http = |address| format!("http://{address}/");
    both_complain(&sandbox, &http(closing()), &[], &["does not speak HTTP", "check the port"]);
    both_complain(
        &sandbox,
        &http(saying(b"SSH-2.0-OpenSSH_9.2\r\n")),
        &[],
        &["does not speak HTTP", "check the port"],
    );
    both_complain(&sandbox, &http(saying(&[0, 159, 146, 150])), &[], &["does not speak HTTP"]);
    both_complain(
        &sandbox,
        &http(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal")),
        &[],
        &["in the middle"],
    );
    let slow = ["--timeout", "500ms"];
    both_complain(&sandbox, &http(silent()), &slow, &["did not answer within 500 ms", "raise --timeout"]);
}

#[test]
fn http_and_https_taken_for_one_another() {
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &[]);
    let https = target.url("/").replace("http:", "https:");
    both_complain(&sandbox, &https, &[], &["no TLS session"]);
    both_complain(
        &sandbox,
        &format!("http://{}/", tls().address),
        &[],
        &["does not speak HTTP", "http or https"],
    );
    // A server that would have to speak first does not answer a TLS greeting either.
    both_complain(&sandbox, &format!("https://{}/", closing()), &[], &["no TLS session"]);
    both_complain(&sandbox, &format!("https://{}/", silent()), &[], &["does not answer within"]);
}

#[test]
fn plans_that_cannot_be_meant() {
    let sandbox = Sandbox::new();
    for (content, words) in [
        ("[target\nurl = \"demo\"\n", &["plan.toml:1:8:", " 1 | [target", "^"][..]),
        (
            "[target]\nurl = \"demo\"\n\n[find]\ntrail = \"10s\"\n",
            &["plan.toml:5:1:", "trail", "did you mean 'trial'", "^^^^^"],
        ),
        (
            "[target]\nurl = \"demo\"\n[find]\ntrial = \"10\"\n",
            &["plan.toml:4:9:", "'10'", "trial = \"10\"", "^"],
        ),
        ("[target]\nurl = \"demo\"\n[find]\ntrial = [1]\n", &["plan.toml:4:9:", "^"]),
        ("goal = \"p99<fast\"\n[target]\nurl = \"demo\"\n", &["plan.toml:1:8:", "p99<fast", "^"]),
        ("[target]\nurl = \"ftp://h/\"\n", &["plan.toml:2:7:", "http://", "^"]),
        ("[find]\ntrial = \"10s\"\n", &["url"]),
        ("", &["url"]),
    ] {
        sandbox.write("plan.toml", content);
        println!("{}", sandbox.torment(["find", "plan.toml"]).expect_error(2, words));
    }
    std::fs::write(sandbox.path("plan.toml"), [0xff, 0xfe]).expect("the folder is ours");
    sandbox.torment(["find", "plan.toml"]).expect_error(2, &["plan.toml", "UTF-8"]);
    sandbox.torment(["run", "missing.toml"]).expect_error(2, &["there is no 'missing.toml' in "]);
    assert!(!sandbox.store().exists(), "nothing began, so nothing is kept");
}

#[test]
fn arguments_that_cannot_be_meant() {
    let sandbox = Sandbox::new();
    for (arguments, words) in [
        (&["run", "demo"][..], &["--rate", "--connections"][..]),
        (&["run", "demo", "-r", "fast"], &["--rate", "'fast'", "1000/s"]),
        (&["run", "demo", "-r", "0"], &["--rate"]),
        (&["run", "demo", "-r", "-5"], &["--rate"]),
        (&["run", "demo", "-r", "10", "-d", "10"], &["--duration", "'10'"]),
        (&["run", "demo", "-r", "10", "-c", "4"], &["--connections", "leave one out"]),
        (&["run", "demo", "-r", "10", "-s", "30s"], &["--stage", "30s"]),
        (&["run", "demo", "-r", "10", "-H", "NoColon"], &["NoColon"]),
        (&["run", "demo", "-r", "10", "--expect-status", "99"], &["--expect-status", "99"]),
        (&["run", "demo", "-r", "10", "--body-file", "missing.txt"], &["there is no 'missing.txt' in "]),
        (&["run", "demo", "-r", "10", "--form", "a={file:missing.csv:x}"], &["missing.csv"]),
        (&["run", "demo/{file:names.csv:nme}", "-r", "10"], &["names.csv", "nme", "name"]),
        (&["run", "demo", "-r", "10", "--cores", "999"], &["999"]),
        (&["run", "http://", "-r", "10"], &["http://"]),
        (&["find", "demo", "--goal", "p99"], &["--goal", "p99"]),
        (&["find", "demo", "--from", "100", "--max", "10"], &["--from", "must be below max"]),
        (&["find", "demo", "--budget", "1s"], &["--budget"]),
        (&["find", "demo", "--width", "200%"], &["--width"]),
        (&["target", "--model", "threads", "--workers", "5"], &["--workers"]),
        (
            &["run", "--processes", "5", "--on", "here", "--", "true"],
            &["--on", "leave --on, --workers and --watch-on out"],
        ),
        (&["find", "processes", "--on", "here"], &["--on", "by this process alone"]),
        (&["find", "connections", "demo", "--on", "here", "--wait", "9s"], &["--wait", "leave it out"]),
        (&["find", "demo", "--on", "ssh:b", "--workers", "2"], &["--workers", "name a host twice"]),
        (&["find", "demo", "--on", "here", "--remote-binary", "t"], &["--remote-binary", "leave it out"]),
        (&["find", "demo", "--on", "here", "--wait", "9s"], &["--wait", "leave it out"]),
        (
            &["run", "null", "-r", "3M", "--arrivals", "poisson", "--on", "here"],
            &["--on", "at most 2,000,000", "--arrivals even"],
        ),
        (&["find", "demo", "--on", "join", "--wait", "long"], &["--wait", "'long'"]),
        (&["find", "demo", "--on", "moon"], &["--on", "expected here"]),
        (&["find", "demo", "--on", "ssh:node2,-oProxyCommand=x"], &["--on", "is no host"]),
        (&["find", "demo", "--on", "ssh:"], &["--on", "is no host"]),
        (
            &["find", "demo", "--on", "ssh:b", "--remote-binary", "$(x)"],
            &["--remote-binary", "a path of letters"],
        ),
        (&["find", "demo", "--workers", "4"], &["--workers", "--on"]),
        (&["run", "demo", "-r", "9", "--on", "here", "--workers", "0"], &["--workers", "4..16"]),
    ] {
        sandbox.write("names.csv", "id,name\n1,Ada\n");
        let ended = sandbox.torment(arguments.iter().copied());
        // Only the engine looks for a processor.
        let code = if arguments.contains(&"--cores") { ended.code() } else { 2 };
        println!("{}", ended.expect_error(code, words));
    }
}

/// clap explains unknown words; help always works.
#[test]
fn words_that_are_none_of_ours() {
    let sandbox = Sandbox::new();
    for (arguments, words) in [
        (&["frobnicate"][..], &["unrecognized subcommand 'frobnicate'", "--help"][..]),
        (&["find", "demo", "--gaol", "x"], &["unexpected argument '--gaol'", "--goal"]),
        (&["find"], &["TARGET"]),
        (&["show", "--format", "xml"], &["xml", "json"]),
    ] {
        let ended = sandbox.torment(arguments.iter().copied()).expect(2);
        assert_eq!(ended.stdout, "", "{ended}");
        assert_eq!(ended.stderr.matches("error: ").count(), 1, "{ended}");
        for word in words {
            assert!(ended.stderr.contains(word), "'{word}' is missing: {ended}");
        }
    }
    let bare = RunningProcess::start(sandbox.homed(Command::new(binary()))).end().expect(2);
    for word in ["Usage: torment", "find", "torment find demo", "Exit codes"] {
        assert!(bare.stderr.contains(word), "'{word}' is missing: {bare}");
    }
    assert!(sandbox.torment(["--help"]).expect(0).stdout.contains("Usage: torment"));
}

mod load {
    use super::*;

    #[test]
    fn certificates_that_do_not_verify() {
        let _turn = LoadTurn::shared();
        let sandbox = Sandbox::new();
        let server = tls();
        let url = format!("https://localhost:{}/", server.address.port());
        both_complain(&sandbox, &url, &[], &["certificate", "SSL_CERT_FILE", "--insecure"]);

        let load = ["run", &url, "-r", "50", "-d", "1s", "--format", "json"];
        let all_ok = |ended: ProcessOutput| {
            let run = ended.measured().json();
            adds_up(&run["trial"]);
            assert_eq!(outcome(&run["trial"], "ok"), 50, "{run:#}");
        };
        all_ok(sandbox.torment(load.into_iter().chain(["-k"])));
        let authority = sandbox.write("authority.pem", &server.authority);
        let trusting = |url: &str| {
            let mut command = sandbox.command(["run", url, "-r", "50", "-d", "1s", "--format", "json"]);
            command.env("SSL_CERT_FILE", &authority);
            RunningProcess::start(command).end()
        };
        all_ok(trusting(&url));
        all_ok(trusting(&format!("https://{}/", server.address)));
        // Trusted, but for other names than this one.
        let other_name = format!("https://127.0.0.2:{}/", server.address.port());
        trusting(&other_name).expect_error(1, &["127.0.0.2", "certificate not valid for name", "right name"]);

        // A file without a certificate used to be accepted silently, and then every server rejected.
        for (file, content) in [("missing.pem", None), ("empty.pem", Some("no certificate\n"))] {
            if let Some(content) = content {
                sandbox.write(file, content);
            }
            let mut command = sandbox.command(load);
            command.env("SSL_CERT_FILE", sandbox.path(file));
            RunningProcess::start(command).end().expect_error(1, &["SSL_CERT_FILE", file]);
        }
    }

    #[test]
    fn targets_that_answer_only_errors() {
        let _turn = LoadTurn::shared();
        let sandbox = Sandbox::new();
        let target = TargetProcess::start(&sandbox, &[]);
        let gone = target.url("/status/404");
        // Safe to request once before any load.
        both_complain(
            &sandbox,
            &gone,
            &[],
            &["GET /status/404", "answered 404", "--once", "--expect-status 404"],
        );
        assert_eq!(target.truth("/status/{code}")["received"], 4, "one look each, no load");

        // Not safe: the first second tells.
        let (run, _) = sandbox.load(["run", &gone, "-m", "POST", "-r", "20", "-d", "1s"]);
        run.expect(99);
        let text = sandbox.torment(["show"]).expect(0).stdout;
        assert!(text.contains("goal not met") && text.contains("20 × status 404"), "{text}");
        let (ended, find) = sandbox.json(["find", &gone, "-m", "POST"]);
        let ended = ended.expect(99);
        assert_eq!(
            (&find["ended"], &find["limits"][0]["lower"]),
            (&"target_fails".into(), &Value::Null),
            "{ended}"
        );
        let received = target.truth("/status/{code}")["received"].as_u64().expect("a count");
        assert!(
            received < 4 + 3 * 20 + 100,
            "a target that only fails is not beaten further: {received} requests"
        );
        let text = sandbox.torment(["show"]).expect(0).stdout;
        assert!(text.contains("status 404") && text.contains("check the path"), "{text}");
    }

    #[test]
    fn a_rate_that_no_machine_makes() {
        let _turn = LoadTurn::alone();
        let sandbox = Sandbox::new();
        let (ended, run) = sandbox.json(["run", "null", "-r", "50000k", "-d", "2s"]);
        println!("{ended}");
        let ended = ended.expect(92);
        let trial = &run["trial"];
        adds_up(trial);
        assert_eq!((&trial["due"], &run["goal_met"]), (&100_000_000.into(), &Value::Null), "{ended}");
        assert!(outcome(trial, "unsent") > 1_000_000, "{ended}");
        assert_eq!((&trial["valid"], &trial["good"]), (&false.into(), &Value::Null), "{ended}");
        let text = sandbox.torment(["show"]).expect(0).stdout;
        assert!(
            text.contains("not trustworthy") && text.contains("unsent") && text.contains("--on ssh:HOST"),
            "{text}"
        );
    }

    #[test]
    fn too_few_descriptors() {
        let _turn = LoadTurn::shared();
        let sandbox = Sandbox::new();
        let limited = |limit: u32, arguments: &[&str]| {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\""), binary()]).args(arguments);
            shell.arg("--store").arg(sandbox.store());
            RunningProcess::start(sandbox.homed(shell)).end()
        };
        let load = ["run", "null", "-r", "100", "-d", "1s"];
        limited(70, &load).expect_error(1, &["70 files", "ulimit -n"]);

        // Each loop has its own descriptor table; more is asked for than all of them hold.
        let few = limited(90, &["run", "null", "-c", "10000", "-n", "100"]).measured();
        assert!(
            few.stdout.contains("at most 4736 connections") && few.stdout.contains("ulimit -Hn"),
            "{few}"
        );
        // 800 at once, but neither generator nor service may have more than 300 files per table.
        let crowd = ["run", "demo/delay?ms=2000", "-r", "400", "-d", "2s", "--format", "json"];
        let run = limited(300, &crowd);
        println!("{run}");
        let json = run.json();
        adds_up(&json["trial"]);
        let failures = json["trial"]["failures"].to_string();
        assert!(!failures.contains("too many open files"), "{failures} in {run}");
        assert!(outcome(&json["trial"], "ok") > 500, "{run}");
        // A soft limit alone is raised.
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "ulimit -Sn 70; exec \"$0\" \"$@\"", binary()])
            .args(load)
            .arg("--store")
            .arg(sandbox.store());
        let raised = RunningProcess::start(sandbox.homed(shell)).end().measured();
        assert!(!raised.stdout.contains("ulimit"), "{raised}");
    }

    #[test]
    fn a_target_that_stops_answering_under_load() {
        let _turn = LoadTurn::shared();
        let sandbox = Sandbox::new();
        // No check precedes a POST, so the load itself meets the silence.
        let silence = format!("http://{}/", silent());
        let (ended, run) =
            sandbox.load(["run", &silence, "-m", "POST", "-r", "50", "-d", "1s", "--timeout", "500ms"]);
        let ended = ended.expect(99);
        assert_eq!(outcome(&run["trial"], "timeout"), 50, "{ended}");
        let closed = format!("http://{}/", closing());
        let (ended, run) = sandbox.load(["run", &closed, "-m", "POST", "-r", "50", "-d", "1s"]);
        let ended = ended.expect(99);
        adds_up(&run["trial"]);
        assert_eq!(outcome(&run["trial"], "failed"), 50, "{ended}");
        let garbage = format!("http://{}/", saying(b"hello\n"));
        let (ended, run) = sandbox.load(["run", &garbage, "-m", "POST", "-r", "50", "-d", "1s"]);
        let ended = ended.expect(99);
        adds_up(&run["trial"]);
        assert_eq!(outcome(&run["trial"], "failed"), 50, "{ended}");
        let first = run["trial"]["failures"][0]["reason"].as_str().expect("a reason");
        assert!(first.starts_with("not understood"), "{ended}");
    }

    #[test]
    fn stores_that_cannot_be_used() {
        let _turn = LoadTurn::shared();
        let sandbox = Sandbox::new();
        let load = ["run", "null", "-r", "100", "-d", "100ms"];
        let with_store = |store: &str, arguments: &[&str]| {
            let mut command = sandbox.homed(Command::new(binary()));
            command.args(arguments).args(["--store", store]);
            RunningProcess::start(command).end()
        };
        sandbox.write(
            "text.db",
            "This is a text, and no database at all; it is long enough to look like one.\n",
        );
        rusqlite::Connection::open(sandbox.path("other.db"))
            .and_then(|db| db.execute_batch("CREATE TABLE mine (x); PRAGMA user_version = 1"))
            .expect("the folder is ours");
        sandbox.write("file", "in the way of a folder");
        for (store, words) in [
            ("/proc/no.db", &["/proc/no.db", "--store"][..]),
            ("file/no.db", &["file/no.db", "--store"]),
            (".", &["--store"]),
            ("text.db", &["text.db", "not a valid SQLite database", "--store"]),
            ("other.db", &["other.db", "another program", "--store"]),
        ] {
            with_store(store, &load).expect_error(1, words);
            // A missing store has no runs.
            if store != "/proc/no.db" {
                with_store(store, &["list"]).expect_error(1, words);
            }
        }
        with_store("text.db", &[&load[..], &["--no-store"]].concat()).measured();
        let listed = with_store("not/here.db", &["list"]).expect(0);
        assert!(listed.stdout.contains("there is no store not/here.db yet"), "{listed}");
        with_store("not/here.db", &["show"]).expect_error(1, &["the store is empty", "torment find"]);
        assert!(!sandbox.path("not").exists(), "who only reads makes nothing");
        let mut own = sandbox.homed(Command::new(binary()));
        own.arg("show");
        RunningProcess::start(own).end().expect_error(1, &["the store is empty", "torment find"]);
        sandbox.torment(load).measured();
        sandbox.torment(["show", "nonsense"]).expect_error(1, &["nonsense", "torment list"]);
        sandbox.torment(["rm", "nonsense"]).expect_error(1, &["nonsense", "torment list"]);

        if rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: root may write everywhere, so a store without rights cannot be tried");
        } else {
            let folder = sandbox.path("closed");
            std::fs::create_dir(&folder).expect("the folder is ours");
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o500)).expect("it is ours");
            with_store("closed/no.db", &load).expect_error(1, &["closed/no.db", "--store"]);
        }
        // Without a home there is no place for a store.
        let mut homeless = Command::new(binary());
        homeless.args(load).env_clear().current_dir(sandbox.path("."));
        RunningProcess::start(homeless).end().expect_error(1, &["HOME", "--store"]);
    }

    #[test]
    fn colour_is_for_those_who_want_it() {
        let _turn = LoadTurn::shared();
        let sandbox = Sandbox::new();
        let load = ["run", "null", "-r", "100", "-d", "100ms"];
        let escapes = |ended: &ProcessOutput| (ended.stdout.contains('\x1b'), ended.stderr.contains('\x1b'));
        let plain = sandbox.torment(load).measured();
        assert_eq!(escapes(&plain), (false, false), "a pipe is no terminal: {plain}");
        let asked = sandbox.torment(load.into_iter().chain(["--color", "always"])).measured();
        assert_eq!(escapes(&asked), (true, true), "{asked}");
        // An explicit option overrides the environment.
        let mut command = sandbox.command(load.into_iter().chain(["--color", "always"]));
        command.env("NO_COLOR", "1");
        assert_eq!(escapes(&RunningProcess::start(command).end().measured()), (true, true));
        let refused = sandbox.torment(["show", "nonsense", "--color", "always"]);
        assert!(refused.stderr.contains("\x1b[") && refused.code() == 1, "{refused}");
    }
}
