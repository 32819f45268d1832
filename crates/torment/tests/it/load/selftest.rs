//! `torment selftest` on the real program: what it starts ends with it.

use crate::program::binary;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(300);

fn selftest(words: &[&str]) -> Child {
    let mut command = Command::new(binary());
    command.arg("selftest").args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it has just been built")
}

/// A process's descendants.
fn below(pid: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            found.insert(child);
            found.extend(below(child));
        }
    }
    found
}

/// All descendants ever seen until it ended.
fn watched_to_its_end(mut child: Child, until: impl Fn(&BTreeSet<u32>, &Child)) -> (BTreeSet<u32>, Output) {
    let (mut seen, began) = (BTreeSet::new(), Instant::now());
    while child.try_wait().expect("it is our child").is_none() {
        assert!(began.elapsed() < PATIENCE, "it does not end");
        seen.extend(below(child.id()));
        until(&seen, &child);
        sleep(Duration::from_millis(20));
    }
    (seen, child.wait_with_output().expect("it is our child"))
}

fn nothing_is_left(seen: &BTreeSet<u32>, selftest: u32) {
    let is_there = |pid: &&u32| Path::new("/proc").join(pid.to_string()).exists();
    let ended = Instant::now();
    // The process that cleans up ends after it, on a busy machine a while later.
    while seen.iter().any(|pid| is_there(&pid)) && ended.elapsed() < Duration::from_secs(5) {
        sleep(Duration::from_millis(20));
    }
    let left: Vec<_> = seen.iter().filter(is_there).collect();
    assert!(left.is_empty(), "still there: {left:?}");
    let groups = fs::read_to_string("/proc/self/mountinfo").expect("proc(5)");
    for line in groups.lines().filter(|line| line.contains(" - cgroup")) {
        let mount = Path::new(line.split_whitespace().nth(4).expect("proc(5)"));
        for entry in fs::read_dir(mount).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with(&format!("torment-{selftest}-")), "{}", entry.path().display());
        }
    }
}

#[test]
fn cells_are_listed() {
    let list = selftest(&["--list"]).wait_with_output().expect("it is our child");
    let text = String::from_utf8(list.stdout).expect("words");
    for cell in ["permits", "pg-wal", "jvm25-virtual-pool", "both-row-lock-and-pool", "healthy-async"] {
        assert!(text.contains(cell), "{cell} is not in:\n{text}");
    }
    let unknown = selftest(&["nonsense"]).wait_with_output().expect("it is our child");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("--list"));
}

#[test]
fn a_cell_is_judged_kept_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let keep = folder.path().to_str().expect("letters").to_owned();
    let child = selftest(&["task-limit", "--quiet", "--format", "json", "--keep", &keep]);
    let pid = child.id();
    let (seen, output) = watched_to_its_end(child, |_, _| ());
    assert!(!seen.is_empty(), "no service was started");
    nothing_is_left(&seen, pid);
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let cell = &said["cells"][0];
    assert_eq!((&cell["cell"], &cell["expected"]), (&"task-limit".into(), &"task-limit".into()));
    if cell["skipped"].is_string() {
        return eprintln!("SKIPPED: {}", cell["skipped"]);
    }
    assert!(cell["failed"].is_null(), "{cell}");
    let kept = fs::read_to_string(folder.path().join("task-limit-1.ndjson")).expect("it was kept");
    let events: Vec<record::Event> =
        kept.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let refused = events.iter().any(|event| match event {
        record::Event::SliceDone { slice, .. } => slice.statuses.contains_key(&503),
        _ => false,
    });
    assert!(refused, "the service never ran out of threads");
    assert!(
        events.iter().any(|event| matches!(event, record::Event::Observed { .. })),
        "nothing was watched"
    );
}

#[test]
fn ctrl_c_ends_all_of_it() {
    let child = selftest(&["lock", "--quiet"]);
    let pid = child.id();
    let asked = std::cell::Cell::new(false);
    let (seen, output) = watched_to_its_end(child, |seen, child| {
        if !asked.get() && !seen.is_empty() {
            // The load has begun, or is about to.
            sleep(Duration::from_millis(1_500));
            asked.set(true);
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
            kill_process(pid, Signal::INT).expect("it is our child");
        }
    });
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    nothing_is_left(&seen, pid);
}

/// A quick part of the matrix. On a busy machine not every verdict has to be right, but none may be confidently wrong.
#[test]
fn faults_are_named() {
    let cells = [
        "permits",
        "lock",
        "workers",
        "cpu-quota",
        "descriptors",
        "healthy-pool",
        "pg-row-lock",
        "jvm17-pool",
    ];
    let words: Vec<&str> = cells.into_iter().chain(["--quiet", "--format", "json"]).collect();
    let child = selftest(&words);
    let pid = child.id();
    let (seen, output) = watched_to_its_end(child, |_, _| ());
    nothing_is_left(&seen, pid);
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let count = |name: &str| said[name].as_u64().unwrap_or_else(|| panic!("no {name} in {said:#}"));
    let failed = |cell: &serde_json::Value| cell["failed"].is_string();
    assert!(!said["cells"].as_array().is_some_and(|cells| cells.iter().any(failed)), "{said:#}");
    // A generator limit or a busy neighbour is true on a shared machine, and no wrong verdict.
    let of_the_machine = |cause: &serde_json::Value| cause == "generator" || cause == "neighbour";
    let own = |cell: &&serde_json::Value| cell["first_right"] == false && of_the_machine(&cell["causes"][0]);
    let own = said["cells"].as_array().map_or(0, |cells| cells.iter().filter(own).count() as u64);
    assert_eq!(count("wrong_with_high_confidence").saturating_sub(own), 0, "{said:#}");
    assert!(count("first_right") * 4 >= (count("judged") - own) * 3, "{said:#}");
    assert!(count("judged") >= 4, "{said:#}");
}
