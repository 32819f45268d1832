//! Compares the kernel's tracepoints with ptrace(2) on the same program.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;
use torment_trace::{SyscallCost, TraceLimits, TracepointRecorder, find_instances, trace_syscalls};

fn program() -> Command {
    let mut command = Command::new("/bin/cat");
    command.args(["/etc/passwd", "/etc/passwd"]).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn counts(costs: &[SyscallCost]) -> BTreeMap<&'static str, u64> {
    costs.iter().filter_map(|cost| Some((cost.name?, cost.count))).collect()
}

#[test]
fn both_ways_count_the_same() {
    let place = match find_instances() {
        Ok(place) => place.join(format!("torment-test-{}", std::process::id())),
        Err(why) => return println!("SKIPPED: {why}"),
    };
    std::fs::create_dir(&place).expect("it may be written");
    let recorded = TracepointRecorder::begin(&place).and_then(|points| {
        for _ in 0..3 {
            assert!(program().status().expect("every Linux has it").success());
        }
        points.end()
    });
    std::fs::remove_dir(&place).expect("an instance goes with all that is in it");
    let recorded = recorded.expect("the kernel has what it offers");
    assert_eq!((recorded.programs, recorded.truncated), (3, 0), "{recorded:?}");
    let limits = TraceLimits { time: Duration::from_secs(30), stops: 100_000 };
    let traced = trace_syscalls(program(), limits).expect("it may be traced");
    let each: BTreeMap<_, _> =
        counts(&recorded.costs).into_iter().map(|(name, count)| (name, count / 3)).collect();
    assert_eq!(each, counts(&traced.costs));
    assert!(each["read"] >= 4, "{each:?}");
    assert!(recorded.costs[0].time.0 > 0, "{recorded:?}");
}
