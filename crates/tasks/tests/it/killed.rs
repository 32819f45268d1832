//! torment killed in the middle of a ramp: nothing is left.

use crate::harness::{MARK, RampArgs, is_root, marked, skipped, wait_until};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use testbed::NamedTest;

pub const CHECKS: &[NamedTest] = &[
    ("killed::threads_end_with_torment", threads_end_with_torment),
    ("killed::and_so_does_the_group", and_so_does_the_group),
];

/// A torment in the middle of a long ramp: each thread touches what it can.
fn ramping(mark: &str, wanted: RampArgs) -> (Child, BufReader<ChildStdout>) {
    let mut command = wanted.command();
    let mut torment = command
        .env(MARK, mark)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be started");
    let mut output = BufReader::new(torment.stdout.take().expect("it was asked to be piped"));
    let mut lines = output.by_ref().lines().map_while(Result::ok);
    let ramped = lines.find(|line| line.contains("ramped"));
    assert!(ramped.is_some(), "it is told of while it goes on");
    // Dropping the output would end it.
    (torment, output)
}

fn slow() -> RampArgs {
    RampArgs { most: Some(3000), touch: 256 << 10, ..RampArgs::default() }
}

/// Observes a running ramp, then kills torment. On a busy machine the ramp may be over before it is looked at: then it is repeated.
fn killed<T>(mark: &str, wanted: impl Fn() -> RampArgs, observe: impl Fn() -> Option<T>) -> Option<T> {
    (0..5).find_map(|_| {
        let (mut torment, _output) = ramping(mark, wanted());
        let observed = observe();
        torment.kill().expect("ours");
        torment.wait().expect("ours");
        observed
    })
}

fn threads_end_with_torment() {
    let mark = format!("{}-threads", std::process::id());
    let both = killed(&mark, slow, || (marked(&mark).len() >= 2).then_some(()));
    assert!(both.is_some(), "torment, and the process that has the threads");
    wait_until("the threads end with torment", || marked(&mark).is_empty());
}

fn and_so_does_the_group() {
    if !is_root() {
        return skipped("only root may make groups everywhere");
    }
    let mark = format!("{}-group", std::process::id());
    let until_failure = || RampArgs { until_failure: true, ..slow() };
    let own = || {
        let groups: Vec<PathBuf> = marked(&mark).into_iter().flat_map(groups_of).collect();
        (!groups.is_empty()).then_some(groups)
    };
    let groups = killed(&mark, until_failure, own).expect("it has one of its own");
    wait_until("all end with torment", || marked(&mark).is_empty());
    wait_until("the group goes", || groups.iter().all(|group| !group.exists()));
}

/// The control groups made by the guard that contain a process.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let paths = own.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
    });
    let ours =
        paths.filter(|(_, path)| path.rsplit('/').next().is_some_and(|last| last.starts_with("torment-")));
    ours.map(|(hierarchy, path)| {
        Path::new("/sys/fs/cgroup").join(hierarchy).join(path.trim_start_matches('/'))
    })
    .collect()
}
