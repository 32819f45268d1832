//! `torment find connections` against services whose number of connections is known.

use crate::program;
use crate::program::{LoadTurn, RunningProcess, Sandbox, adds_up, number};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Serves at most `room` connections at a time; one more is closed at once.
fn serve(room: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    let open = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            if open.fetch_add(1, Ordering::SeqCst) >= room {
                open.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let open = Arc::clone(&open);
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().expect("a descriptor is free"));
                let mut line = String::new();
                while lines.read_line(&mut line).is_ok_and(|length| length > 0) {
                    let ends = line == "\r\n";
                    line.clear();
                    if ends && stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                        break;
                    }
                }
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    url
}

#[track_caller]
fn limit(find: &Value) -> &Value {
    let limit = &find["limits"][0];
    assert_eq!((&limit["goal"], &limit["unit"]), (&"strict".into(), &"connections".into()), "{limit}");
    limit
}

/// Both bounds of a search that has converged.
#[track_caller]
fn bounds(ended: &program::ProcessOutput, find: &Value) -> (f64, f64) {
    println!("{}", ended.stderr);
    assert_eq!(find["state"], "ended", "{ended}");
    let limit = limit(find);
    assert_eq!((&find["ended"], &limit["regular"]), (&"converged".into(), &true.into()), "{ended}");
    (number(limit, "/lower"), number(limit, "/upper"))
}

/// Half of them each: the result is not what one alone holds.
#[test]
fn several_hold_them_together() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let url = serve(100);
    let arguments = ["find", "connections", &url, "--from", "64", "--trial", "1s", "--no-watch", "--idle"];
    let (ended, find) = sandbox.json(arguments.into_iter().chain(["--on", "here", "--workers", "3"]));
    let (lower, upper) = bounds(&ended, &find);
    assert!((98.0..=100.0).contains(&lower) && upper > 100.0 && upper <= 103.0, "{lower} to {upper}");
    let workers = find["fleet"]["workers"].as_array().expect("a list");
    assert_eq!((workers.len(), ended.code()), (3, 0), "{ended}");
    find["trials"].as_array().expect("a list").iter().for_each(adds_up);
}

#[test]
fn a_service_that_closes_one_too_many() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    for further in [&["--idle"][..], &["--rate", "300"]] {
        let url = serve(100);
        let arguments = ["find", "connections", &url, "--from", "64", "--trial", "1s", "--no-watch"];
        let (ended, find) = sandbox.json(arguments.into_iter().chain(further.iter().copied()));
        let (lower, upper) = bounds(&ended, &find);
        assert!((98.0..=100.0).contains(&lower) && upper > 100.0 && upper <= 103.0, "{lower} to {upper}");
        assert_eq!(ended.code(), 0, "{ended}");
        // A recovery probe may still find the target slow: nothing was lost there.
        let trials = find["trials"].as_array().expect("trials").iter();
        let lost = trials.filter(|trial| trial["good"] == false && trial["purpose"] != "recovery");
        for trial in lost {
            assert!(trial["caveats"].to_string().contains("connections-lost"), "{trial:#}");
        }
    }
}

/// nginx closes idle connections for new ones once no more than a sixteenth of its 256 is free (older versions: once
/// none is); some of them are its own.
#[test]
fn nginx_with_256_connections() {
    let _turn = LoadTurn::shared();
    let Some(nginx) = testbed::Nginx::start_with_connections(256) else { return };
    let sandbox = Sandbox::new();
    let url = nginx.url();
    let (ended, find) =
        sandbox.json(["find", "connections", &url, "--from", "128", "--trial", "1s", "--rate", "200"]);
    let (lower, upper) = bounds(&ended, &find);
    // Its own: at most three listening sockets, and the channel to the master.
    let truths = [236.0..=239.0, 252.0..=255.0];
    let near = |truth: &std::ops::RangeInclusive<f64>| {
        lower >= truth.start() * 0.98 && lower <= *truth.end() && upper <= truth.end() * 1.02 + 1.0
    };
    assert!(truths.iter().any(near), "{lower} to {upper}");
}

/// The built-in service with this many descriptors.
struct LimitedTarget {
    child: Child,
    url: String,
}

impl LimitedTarget {
    fn start(sandbox: &Sandbox, descriptors: u32) -> Self {
        let script = format!(
            "ulimit -n {descriptors}; exec '{}' target --while-stdin --model async --workers 1 --listen 127.0.0.1:0",
            program::binary()
        );
        let mut command = sandbox.homed(Command::new("/bin/sh"));
        let command = command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("every Linux has a shell");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it was asked to be piped"))
            .read_line(&mut line)
            .expect("a pipe");
        let address = line.trim().strip_prefix("listening on ").expect("it says where").to_owned();
        Self { child, url: format!("{address}/delay?ms=1") }
    }
}

impl Drop for LimitedTarget {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_service_that_runs_out_of_descriptors() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = LimitedTarget::start(&sandbox, 200);
    let arguments = [
        "find",
        "connections",
        &target.url,
        "--from",
        "64",
        "--trial",
        "1s",
        "--timeout",
        "2s",
        "--rate",
        "200",
    ];
    let (ended, find) = sandbox.json(arguments);
    let (lower, upper) = bounds(&ended, &find);
    // Descriptors other than our connections: standard streams, its socket, its event loops, its database.
    assert!((150.0..=197.0).contains(&lower) && upper <= 200.0, "{lower} to {upper}");
}

#[test]
fn as_many_as_are_asked_for() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let url = serve(usize::MAX);
    let (ended, find) =
        sandbox.json(["find", "connections", &url, "--trial", "1s", "--max", "50", "--no-watch"]);
    assert_eq!((ended.code(), &find["ended"]), (0, &"max_reached".into()), "{ended}");
    assert!((number(limit(&find), "/lower") - 50.0).abs() < 1e-9);
}

/// While thousands of connections were being opened, Ctrl-C was ignored.
#[test]
fn an_interrupt_is_heard_while_connections_are_made() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    let running =
        RunningProcess::start(sandbox.command(["find", "connections", &url, "--from", "5000", "--no-watch"]));
    // One answer, to the check before the load; after that, requests wait in the kernel's queue until that is full.
    let (mut stream, _) = listener.accept().expect("it comes");
    let mut lines = BufReader::new(stream.try_clone().expect("a descriptor is free")).lines();
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").expect("it listens");
    std::thread::sleep(Duration::from_millis(800));
    let asked = Instant::now();
    running.signal(rustix::process::Signal::INT);
    let ended = running.end().expect(130);
    assert!(asked.elapsed() < Duration::from_secs(2), "it took {:?} to be heard", asked.elapsed());
    assert!(ended.stdout.contains("interrupted"), "no summary: {ended}");
}

#[test]
fn what_is_wrong_is_said() {
    let sandbox = Sandbox::new();
    for (arguments, word) in [
        (&["http://127.0.0.1:1/"][..], "refuses connections"),
        (&["http://127.0.0.1:1/", "--rate", "none"], "--rate"),
        (&["http://127.0.0.1:1/", "--rate", "5", "--idle"], "--idle"),
        (&["http://127.0.0.1:1/", "--max", "0"], "--max"),
        (&["http://127.0.0.1:1/", "--trial", "10ms"], "--trial"),
    ] {
        let all = ["find", "connections"].into_iter().chain(arguments.iter().copied());
        let ended = RunningProcess::start(sandbox.command(all)).end();
        assert!(ended.code() != 0 && ended.stderr.contains(word), "{ended}");
    }
}
