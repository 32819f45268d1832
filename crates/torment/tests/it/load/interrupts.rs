//! Ctrl-C, and its equivalents: what was measured is reported, once; a second request exits.

use crate::program::odd_servers;
use crate::program::{LoadTurn, RunningProcess, Sandbox};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What needs no time may take this long on a busy machine.
const SOON: Duration = Duration::from_secs(4);

/// A service that answers the check before the load, and then nothing. Its address, and the number of requests
/// received.
fn falls_silent() -> (String, Arc<AtomicUsize>) {
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&heard);
    let address = odd_servers::server(move |mut stream| {
        while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
        }
    });
    (format!("http://{address}/"), heard)
}

#[track_caller]
fn wait_for(what: &str, truth: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !truth() {
        assert!(Instant::now() < until, "{what} does not come");
        sleep(Duration::from_millis(20));
    }
}

/// `timeout 400 torment find …` once ended without a summary: it signals its child, then the whole group, and the
/// second signal, a millisecond after the first, ended torment at once.
#[test]
fn two_signals_at_once_are_one_request() {
    let _turn = LoadTurn::shared();
    for pause in [0, 2, 300] {
        let place = Sandbox::new();
        let (url, heard) = falls_silent();
        let arguments = ["run", &url, "-r", "20", "-d", "60s", "--timeout", "1s", "--no-watch"];
        let running = RunningProcess::start(place.command(arguments));
        wait_for("the load", || heard.load(Ordering::SeqCst) > 5);
        running.signal(Signal::TERM);
        sleep(Duration::from_millis(pause));
        running.signal(Signal::TERM);
        running.signal(Signal::INT);
        let ended = running.end().expect(130);
        assert!(ended.stdout.contains("interrupted"), "no summary: {ended}");
    }
}

/// Draining may take long: a second request, at least a second later, stops it.
#[test]
fn who_asks_again_gets_out_at_once() {
    let _turn = LoadTurn::shared();
    let place = Sandbox::new();
    let (url, heard) = falls_silent();
    let arguments = ["run", &url, "-r", "20", "-d", "60s", "--timeout", "60s", "--no-watch"];
    let mut running = RunningProcess::start(place.command(arguments));
    wait_for("the load", || heard.load(Ordering::SeqCst) > 5);
    running.signal(Signal::INT);
    sleep(Duration::from_millis(2500));
    assert!(running.is_running(), "it still waits for answers");
    let again = Instant::now();
    running.signal(Signal::INT);
    let ended = running.end().expect(130);
    assert!(again.elapsed() < SOON, "out after {:?}", again.elapsed());
    assert_eq!(ended.stdout, "", "{ended}");
}
