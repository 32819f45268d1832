use super::*;
use crate::watch_scope::WatchedTree;
use record::watch::TreeWindow;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A shell that executes lines, and says when each is done.
struct Shell {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Shell {
    fn start() -> Self {
        let mut command = Command::new("sh");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("there is a shell");
        let stdin = child.stdin.take().expect("it is piped");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, stdin, stdout }
    }

    /// Runs a line; returns what it prints last.
    fn run(&mut self, line: &str) -> String {
        writeln!(self.stdin, "{line}").expect("it reads");
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).expect("it answers");
        answer.trim().to_owned()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cut(processes: &mut ProcessSource, pids: &[u32]) -> TreeWindow {
    let scene = WatchScope {
        subjects: vec![WatchedTree { pids: pids.to_vec(), ..WatchedTree::default() }],
        ..WatchScope::default()
    };
    let mut window = Window { subjects: vec![TreeWindow::default()], ..Window::default() };
    processes.cut(&scene, &mut window);
    window.subjects.remove(0)
}

const BUSY: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

#[test]
fn processor_time_also_of_children_that_came_and_went() {
    let mut shell = Shell::start();
    let pid = shell.child.id();
    shell.run("echo there");
    let mut processes = ProcessSource::default();
    let first = cut(&mut processes, &[pid]);
    assert_eq!((first.processes, first.threads, first.started, first.cpu_ns), (1, 1, 0, 0));
    assert!(first.rss_bytes > 100_000, "{first:?}");
    assert!(first.descriptors.is_some_and(|usage| usage.used >= 3 && usage.limit > usage.used), "{first:?}");
    assert_eq!(first.titles, [], "one process needs no titles");
    shell.run(&format!("{BUSY}; echo done"));
    assert!(cut(&mut processes, &[pid]).cpu_ns >= 20_000_000);
    // It has ended, and was reaped, before anybody looks.
    shell.run(&format!("sh -c '{BUSY}'; echo done"));
    let child = cut(&mut processes, &[pid]);
    assert!(child.cpu_ns >= 20_000_000, "{child:?}");
    assert!(cut(&mut processes, &[pid]).cpu_ns < 20_000_000, "and is not counted twice");
}

#[test]
fn what_was_seen_of_a_child_is_not_counted_again_at_its_end() {
    let mut shell = Shell::start();
    let pid = shell.child.id();
    let mut processes = ProcessSource::default();
    cut(&mut processes, &[pid]);
    let line = format!("sh -c '{BUSY}; exec sleep 60' & echo $!");
    let child: u32 = shell.run(&line).parse().expect("it says its number");
    let cpu = |pid| procfs::TaskStat::read(pid).map_or(0, |stat| stat.cpu);
    // On a busy machine, it gets what others leave of the processors.
    let end = Instant::now() + Duration::from_secs(120);
    // Its name changes before its arguments.
    let sleeps =
        || std::fs::read(format!("/proc/{child}/cmdline")).is_ok_and(|line| line.starts_with(b"sleep"));
    while !sleeps() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    let spent = cpu(child);
    assert!(spent >= 2);
    let alive = cut(&mut processes, &[pid, child]);
    assert_eq!((alive.processes, alive.started, alive.ended), (2, 1, 0));
    assert!(alive.cpu_ns >= 20_000_000, "it has started since the last look: {alive:?}");
    assert_eq!(alive.titles, [("sh".to_owned(), 1), ("sleep".to_owned(), 1)]);
    shell.run(&format!("kill {child}; wait {child}; echo done"));
    let after = cut(&mut processes, &[pid]);
    assert_eq!((after.processes, after.started, after.ended), (1, 0, 1));
    assert!(after.cpu_ns < spent * 10_000_000, "{after:?}");
}

#[test]
fn bytes_written_are_counted() {
    let folder = tempfile::tempdir().expect("the temporary folder can be written");
    let mut shell = Shell::start();
    let pid = shell.child.id();
    let mut processes = ProcessSource::default();
    cut(&mut processes, &[pid]);
    let file = folder.path().join("x");
    shell.run(&format!("printf %100000d 1 > {}; echo done", file.display()));
    let part = cut(&mut processes, &[pid]);
    // A file system in memory has no disk.
    let is_in_memory = part.written_bytes == Some(0);
    assert!(is_in_memory || part.written_bytes.is_some_and(|bytes| bytes >= 100_000), "{part:?}");
}

#[test]
fn all_have_ended() {
    let mut processes = ProcessSource::default();
    let shell = Shell::start();
    let pid = shell.child.id();
    cut(&mut processes, &[pid]);
    drop(shell);
    let part = cut(&mut processes, &[pid]);
    assert_eq!((part.processes, part.ended, part.descriptors), (0, 1, None));
    assert_eq!(processes.missing(), []);
}
