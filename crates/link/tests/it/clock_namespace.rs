//! A clock that is exactly a day ahead: in a kernel time namespace, which only root can create.

use crate::{SOON, hello, post};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use torment_link::{MemberEvent, MemberLink};
use units::Nanos;

/// Where the far side, this very program, finds the near one.
const SOCKET: &str = "TORMENT_TEST_SOCKET";
const DAY: i64 = 86_400_000_000_000;
/// Comparisons of the clocks, with twenty exchanges each.
const TIMES: usize = 1_000;

/// Only the far side of the test below, when that has started it.
#[test]
fn far_side() {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    let near = UnixStream::connect(socket).expect("it is listened to");
    let mut member_link = MemberLink::connect(near, hello("1.0"), &[]).expect("it is let in");
    while member_link.next(SOON).is_ok() {}
}

#[test]
fn the_truth_is_within_the_bound_a_thousand_times() {
    let folder = std::env::temp_dir().join(format!("torment-link-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room");
    let socket = folder.join("near");
    let listener = UnixListener::bind(&socket).expect("the folder is ours");
    let program = std::env::current_exe().expect("it runs");
    let mut far = Command::new("unshare");
    far.args(["-T", "--monotonic", "86400", "--fork", "--kill-child"]).arg(program);
    far.args(["--exact", "apart::far_side"]).env(SOCKET, &socket);
    let far = far.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut far = far.expect("util-linux is everywhere");
    listener.set_nonblocking(true).expect("it is a socket");
    let began = std::time::Instant::now();
    let way = loop {
        match listener.accept() {
            Ok((way, _)) => break Some(way),
            Err(_) if far.try_wait().is_ok_and(|ended| ended.is_some()) => break None,
            Err(_) => std::thread::sleep(crate::SHORT),
        }
        assert!(began.elapsed() < SOON, "nobody comes");
    };
    if let Some(way) = way {
        let mut coordinator_link = post();
        coordinator_link.accept(7, way).expect("it can be waited for");
        assert!(matches!(coordinator_link.next(SOON), Some((7, MemberEvent::Joined(_)))));
        let mut widest = 0;
        for time in 0..TIMES {
            coordinator_link.compare_clocks(SOON);
            let reading =
                coordinator_link.clock_reading(7, Nanos(sys::monotonic_ns())).expect("it was asked");
            let off = (reading.offset_ns - DAY).unsigned_abs();
            assert!(off <= reading.bound.0, "the {time}th: {off} ns off, {reading:?}");
            widest = widest.max(reading.bound.0);
        }
        println!("a day within {} at the widest", Nanos(widest));
    } else {
        eprintln!("SKIPPED: only root has clocks apart");
    }
    let _ = far.kill();
    let _ = far.wait();
    std::fs::remove_dir_all(&folder).expect("it is ours");
}
