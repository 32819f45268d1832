//! How everything ends when torment says so.

use crate::scene::{Fixture, alone, guard, never_stop, read, setup, wait_until};
use std::time::{Duration, Instant};
use testbed::NamedTest;
use units::Nanos;

pub const CHECKS: &[NamedTest] = &[
    ("ends::asked_in_the_opposite_order", asked_in_the_opposite_order),
    ("ends::those_that_do_not_listen_are_killed", those_that_do_not_listen_are_killed),
    ("ends::daemons_end_too", daemons_end_too),
    ("ends::a_drop_is_enough", a_drop_is_enough),
    ("ends::the_guard_sleeps_meanwhile", the_guard_sleeps_meanwhile),
    ("ends::a_long_log_keeps_both_ends", a_long_log_keeps_both_ends),
];

/// Starts what nobody waits for: a child, one in its own session, and one whose parents have all ended.
pub const DAEMONS: &str = "sleep 600 & setsid sh -c 'sleep 600; :' & \
    setsid sh -c 'setsid sh -c \"sleep 600; :\" & exit' & sleep 0.1; ";

fn asked_in_the_opposite_order() {
    let fixture = Fixture::new();
    let script = |name: &str, signal: &str| {
        let script = format!(
            "trap 'sleep 0.1; echo {name} by {signal} >> order; kill $!; exit' {signal}; sleep 600 & echo ready; wait"
        );
        let mut program = fixture.script(name, &script);
        program.stop = signal.to_owned();
        program
    };
    let setup = setup(vec![script("first", "TERM"), script("second", "INT")], script("service", "QUIT"));
    let mut guard = guard();
    guard.up(&setup, &never_stop).expect("it starts");
    guard.down();
    assert_eq!(read(fixture.path("order")), "service by QUIT\nsecond by INT\nfirst by TERM\n");
    fixture.assert_empty();
}

fn those_that_do_not_listen_are_killed() {
    let fixture = Fixture::new();
    let mut service = fixture.script("service", "trap '' TERM; echo ready; while :; do sleep 0.1; done");
    service.grace = Nanos::from_millis(300);
    let mut guard = guard();
    guard.up(&alone(service), &never_stop).expect("it starts");
    let since = Instant::now();
    guard.down();
    assert!(since.elapsed().as_millis() >= 300);
    fixture.assert_empty();
}

fn daemons_end_too() {
    let fixture = Fixture::new();
    let mut guard = guard();
    let service = fixture.script("service", &format!("{DAEMONS} echo ready; exec sleep 600"));
    guard.up(&alone(service), &never_stop).expect("it starts");
    wait_until("all can be seen", || fixture.marked_processes().len() >= 6);
    guard.down();
    fixture.assert_empty();
}

fn a_drop_is_enough() {
    let fixture = Fixture::new();
    let mut guard = guard();
    let mut service = fixture.script("service", &format!("{DAEMONS} echo ready; exec sleep 600"));
    service.files = vec![("new".to_owned(), plan::Template::literal("x"))];
    guard.up(&alone(service), &never_stop).expect("it starts");
    assert!(fixture.path("new").exists());
    drop(guard);
    fixture.assert_empty();
    assert!(!fixture.path("new").exists());
}

/// The guard must not interfere with what is measured.
fn the_guard_sleeps_meanwhile() {
    let fixture = Fixture::new();
    let mut guard = guard();
    let chatty = "echo ready; while [ -e talk ]; do echo one more request; sleep 0.01; done; exec sleep 600";
    std::fs::write(fixture.path("talk"), "").expect("ours");
    guard.up(&alone(fixture.script("service", chatty)), &never_stop).expect("it starts");
    let field = |pid: &str, name: &str| -> String {
        let status = read(format!("/proc/{pid}/status"));
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("every process has it");
        line.trim().to_owned()
    };
    let second = field(&guard.pids()[0].1.to_string(), "PPid:");
    let first = field(&second, "PPid:");
    let woken = || -> Vec<u64> {
        let count = |pid: &String| field(pid, "voluntary_ctxt_switches:").parse().expect("a number");
        [&first, &second].map(count).to_vec()
    };
    let (before, since) = (woken(), Instant::now());
    std::thread::sleep(Duration::from_secs(2));
    let (after, took) = (woken(), since.elapsed().as_secs_f64());
    assert_eq!(after[0], before[0]);
    // At most four times a second for output, each followed by a pause, and one more at each end.
    let most = took * 4.0 * 2.0 + 4.0;
    assert!((after[1] - before[1]) as f64 <= most, "{before:?} {after:?} in {took} s");
    std::fs::remove_file(fixture.path("talk")).expect("ours");
    std::thread::sleep(Duration::from_secs(1));
    let before = woken();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(woken(), before, "nothing happens, so nobody wakes");
}

fn a_long_log_keeps_both_ends() {
    let fixture = Fixture::new();
    let mut guard = guard();
    let service = fixture
        .script("service", "seq 1000000; echo; echo ready; seq 1000000 1999999; touch done; exec sleep 600");
    guard.up(&alone(service), &never_stop).expect("it starts");
    wait_until("it has printed everything", || fixture.path("done").exists());
    let log = guard.down().remove(0);
    assert!(log.text.starts_with("1\n2\n3\n") && log.text.ends_with("\n1999999\n"));
    // 6,888,896 bytes of the first numbers, 8,000,000 of the second, and the lines of the two words.
    assert_eq!(log.left_out, 6_888_896 + 8_000_000 + 7 - 256 * 1024);
    assert!(log.text.len() < 257 * 1024);
}
