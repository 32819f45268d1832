//! Tests with every installed JVM; print a message where there is none.

use super::{JvmSource, dump_threads, process, version};
use crate::source::Source;
use crate::watch_scope::{WatchScope, WatchedTree};
use record::watch::{CloserLook, Jvm, MissingMeasure, StackGroup, TreeWindow, WatchedProcesses, Window};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Every `java` below /usr/lib/jvm, each once.
fn installed() -> Vec<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> =
        folders.filter_map(|folder| folder.path().join("bin/java").canonicalize().ok()).collect();
    all.sort();
    all.dedup();
    if all.is_empty() {
        eprintln!("SKIPPED: no Java is installed (apt-get install openjdk-17-jdk-headless)");
    }
    all
}

/// Killed when dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself, which some tests are about.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null()).spawn();
        let mut program = Self(child.expect("it can be run"));
        let mut line = String::new();
        let out = program.0.stdout.as_mut().expect("it is a pipe");
        // Byte by byte, so that the rest stays in the pipe.
        BufReader::with_capacity(1, out).read_line(&mut line).expect("it prints text");
        assert_eq!(line, "ready\n", "{command:?}");
        program
    }

    fn java(java: &Path, options: &[&str], virtual_threads: u32) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/jvm/fixtures/Waits.java");
        let options = ["-Xmx48m", "-XX:+UseSerialGC"].iter().chain(options);
        Self::start(Command::new(java).args(options).arg(source).arg(virtual_threads.to_string()))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Ends it; returns what it printed since it was ready.
    fn end(mut self) -> String {
        self.0.kill().expect("it is ours");
        let mut printed = String::new();
        self.0.stdout.take().expect("it is a pipe").read_to_string(&mut printed).expect("it prints text");
        printed
    }
}

fn scene(pids: &[u32]) -> WatchScope {
    let about = WatchedProcesses { pid: pids[0], ..WatchedProcesses::default() };
    WatchScope { subjects: vec![WatchedTree { about, pids: pids.to_vec() }], ..WatchScope::default() }
}

fn cut(source: &mut JvmSource, scene: &WatchScope) -> Option<Jvm> {
    let mut window = Window { subjects: vec![TreeWindow::default()], ..Window::default() };
    source.cut(scene, &mut window);
    window.subjects.remove(0).jvm
}

fn threads(looks: &[CloserLook]) -> &[StackGroup] {
    match &looks[0] {
        CloserLook::Threads { at, .. } => at,
        other => panic!("it was to show its threads: {other:?}"),
    }
}

fn refusal(looks: &[CloserLook]) -> &str {
    match looks {
        [CloserLook::Refused { why, .. }] => why,
        other => panic!("it was to be refused: {other:?}"),
    }
}

fn missing(scene: &WatchScope) -> Vec<MissingMeasure> {
    let mut source = JvmSource::new(true);
    // A VM without counters may be starting, so it takes two searches.
    for _ in 0..20 {
        source.read(scene);
    }
    source.missing()
}

#[test]
fn counters_grow_and_end_with_the_machine() {
    for java in installed() {
        let program = Program::java(&java, &[], 0);
        let pid = program.pid();
        assert!(version(pid).is_some_and(|version| version.contains('.')), "{java:?}");
        // Our own process is searched too, and is no VM.
        let scene = scene(&[std::process::id(), pid]);
        let mut source = JvmSource::new(true);
        source.read(&scene);
        cut(&mut source, &scene);
        let until = Instant::now() + PATIENCE;
        let jvm = loop {
            sleep(Duration::from_millis(200));
            source.read(&scene);
            let jvm = cut(&mut source, &scene).expect("it keeps counters");
            if jvm.pauses > 0 && jvm.pause_ns > 0 && jvm.safepoints > 0 {
                break jvm;
            }
            assert!(Instant::now() < until, "{java:?} never collected: {jvm:?}");
        };
        assert_eq!(jvm.pid, pid);
        assert!(jvm.threads >= 6 && !jvm.cause.is_empty(), "{jvm:?}");
        let heap = 40 << 20..=48 << 20;
        assert!(heap.contains(&jvm.heap_max_bytes) && jvm.heap_used_bytes <= jvm.heap_max_bytes, "{jvm:?}");
        assert_eq!(source.missing(), []);
        drop(program);
        assert!(cut(&mut source, &scene).is_some(), "what was read of it before it ended counts");
        source.read(&scene);
        assert_eq!(cut(&mut source, &scene), None);
    }
}

#[test]
fn threads_are_found_where_they_wait() {
    for java in installed() {
        let program = Program::java(&java, &[], 0);
        for _ in 0..2 {
            let looks = dump_threads(program.pid());
            let waiters = threads(&looks).iter().find(|at| at.group == "waiter-N").expect("they are there");
            assert_eq!((waiters.threads, waiters.state.as_str()), (5, "BLOCKED"));
            assert_eq!(waiters.frame, "Waits.enter on java.lang.Object");
            let asker = waiters.asked_by.as_ref().expect("it is an application");
            assert_eq!(
                (asker.method.as_str(), asker.place.as_deref()),
                ("Waits.enter", Some("Waits.java:10"))
            );
            assert_eq!(looks.len(), 1, "it has no virtual threads: {looks:?}");
        }
        let left = format!("/tmp/.attach_pid{}", program.pid());
        assert!(!Path::new(&left).exists());
        assert_eq!(program.end(), "", "a signal it was not ready for makes it print its threads");
    }
}

#[test]
fn virtual_threads_are_counted() {
    for java in installed() {
        let plain = Program::java(&java, &[], 0);
        let major = version(plain.pid()).expect("it keeps counters");
        let major: u32 = major.split(['.', '+']).next().and_then(|n| n.parse().ok()).expect("a version");
        drop(plain);
        if major < 24 {
            continue;
        }
        let program = Program::java(&java, &[], 50);
        let looks = dump_threads(program.pid());
        assert!(!threads(&looks).is_empty());
        let counts = looks.iter().find_map(|look| match look {
            CloserLook::VirtualThreads(counts) => Some(counts),
            _ => None,
        });
        let counts = counts.expect("it says how many wait");
        assert!(counts.delayed >= 50 && counts.parallelism > 0, "{counts:?}");
        assert!(
            matches!(looks.last(), Some(CloserLook::Refused { .. })),
            "where they stand is not asked, and that is said"
        );
    }
}

#[test]
fn what_only_looks_like_a_jvm_gets_no_signal() {
    let folder = tempfile::tempdir().expect("the temporary folder can be written");
    let place = folder.path().join("libjvm.so");
    std::fs::create_dir(&place).expect("it is new");
    let script = place.join("java");
    std::fs::write(&script, "#!/bin/sh\nexec 7<$0\necho ready\nwhile :; do read x < /dev/zero; done\n")
        .expect("it is new");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut program = Program::start(Command::new("/bin/sh").arg(&script).args(["-server", "libjvm.so"]));
    let why = dump_threads(program.pid());
    assert!(refusal(&why).contains("not a HotSpot machine"), "{why:?}");
    sleep(Duration::from_millis(100));
    assert!(program.0.try_wait().expect("it is our child").is_none(), "SIGQUIT would have ended it");
    assert_eq!(missing(&scene(&[program.pid()])), []);
}

#[test]
fn machines_that_must_not_be_signalled_are_not() {
    for java in installed() {
        // With -Xrs SIGQUIT would kill it; its socket exists from the start, and no signal is needed.
        for (option, answers) in [("-XX:+DisableAttachMechanism", false), ("-Xrs", true)] {
            let mut program = Program::java(&java, &[option], 0);
            let looks = dump_threads(program.pid());
            if answers {
                assert!(!threads(&looks).is_empty());
            } else {
                assert!(refusal(&looks).contains(option), "{looks:?}");
            }
            sleep(Duration::from_millis(100));
            assert!(program.0.try_wait().expect("it is our child").is_none(), "{option}: it was ended");
            assert_eq!(program.end(), "", "{option}: it was signalled");
        }
    }
}

#[test]
fn without_a_handler_nothing_is_sent_even_if_the_socket_is_gone() {
    for java in installed() {
        let mut program = Program::java(&java, &["-Xrs"], 0);
        std::fs::remove_file(format!("/tmp/.java_pid{}", program.pid())).expect("it made one as it started");
        assert!(refusal(&dump_threads(program.pid())).contains("-Xrs"));
        sleep(Duration::from_millis(100));
        assert!(program.0.try_wait().expect("it is our child").is_none(), "SIGQUIT would have ended it");
    }
}

#[test]
fn a_machine_without_counters_is_told_of_and_still_answers() {
    for java in installed() {
        for option in ["-XX:-UsePerfData", "-XX:+PerfDisableSharedMem"] {
            let program = Program::java(&java, &[option], 0);
            let missing = missing(&scene(&[program.pid()]));
            assert_eq!(missing.len(), 1);
            assert!(missing[0].what == "JVM counters" && missing[0].why.contains(option), "{missing:?}");
            assert_eq!(version(program.pid()), None);
            assert!(threads(&dump_threads(program.pid())).iter().any(|at| at.group == "waiter-N"));
        }
    }
}

#[test]
fn a_process_that_is_gone_is_refused() {
    let mut child = Command::new("true").spawn().expect("it can be run");
    let pid = child.id();
    child.wait().expect("it is our child");
    assert_eq!(refusal(&dump_threads(pid)), "it has ended");
    assert_eq!(process::started(pid), None);
    assert_eq!(missing(&scene(&[pid])), []);
}

/// As in a container: with its own /tmp and PID namespace.
#[test]
fn a_machine_in_namespaces_of_its_own_is_found_and_asked() {
    let unshare = ["--fork", "--kill-child", "--pid", "--mount", "--mount-proc"];
    let allowed = Command::new("unshare").args(unshare).arg("true").stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: namespaces need root and unshare");
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/jvm/fixtures/Waits.java");
    for java in installed() {
        // If the project is below /tmp, the new one hides it.
        let run = "exec 3<\"$1\" && mount -t tmpfs tmpfs /tmp && cat <&3 >/tmp/Waits.java && \
                   exec \"$0\" -Xmx48m /tmp/Waits.java 0";
        let program = Program::start(
            Command::new("unshare").args(unshare).args(["sh", "-c", run]).arg(&java).arg(&source),
        );
        let children = format!("/proc/{0}/task/{0}/children", program.pid());
        let children = std::fs::read_to_string(children).expect("unshare waits for its child");
        let pid: u32 = children.trim().parse().expect("it has one");
        assert!(version(pid).is_some());
        assert!(threads(&dump_threads(pid)).iter().any(|at| at.group == "waiter-N"));
        assert!(!Path::new(&format!("/tmp/.java_pid{pid}")).exists(), "the socket is in its own /tmp");
    }
}
