//! Idle threads, in a process of its own: its threads and memory are counted.

use std::fs::read_to_string;
use std::time::{Duration, Instant};
use torment_sys::{IdleThreads, try_map_stack};
use units::Bytes;

fn status(name: &str) -> u64 {
    let status = read_to_string("/proc/self/status").expect("every Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("every kernel says it");
    line.split_ascii_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_crowd_comes_and_goes() {
    if !testbed::is_own_process("crowd::a_crowd_comes_and_goes") {
        return;
    }
    let resident = || status("VmRSS:") * 1024;
    let before = resident();
    let mut threads = IdleThreads::new(Bytes(1 << 20), Bytes(400 << 10));
    (0..100).for_each(|_| threads.add_thread().expect("there is room for so few"));
    wait_until("all touch their stacks", || threads.is_settled());
    let each = (resident() - before) / 100;
    assert!((400 << 10..480 << 10).contains(&each), "{each} B of 400 KiB");
    (0..100).for_each(|_| threads.add_stackless().expect("there is room for so few"));
    assert_eq!(threads.count(), 200);
    assert!(status("Threads:") >= 201, "they are there");
    threads.release();
    // The harness's own threads stay.
    wait_until("all are gone", || status("Threads:") < 50);
}

#[test]
fn a_stack_is_made_in_two_steps() {
    let (mapped, changed) = try_map_stack(Bytes(8 << 20));
    mapped.expect("there is so much");
    changed.expect("the first was done").expect("it is ours");
    let (mapped, changed) = try_map_stack(Bytes(1 << 60));
    assert_eq!(mapped.expect_err("no machine has it").raw_os_error(), Some(libc::ENOMEM));
    assert!(changed.is_none());
    assert!(try_map_stack(Bytes(u64::MAX)).0.is_err());
}
