//! Traces real programs whose behaviour is known.

use anatomy::CloneKind;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use torment_trace as trace;
use trace::{
    Error, StopReason, TraceEnd, TraceLimits, count_instructions, follow, trace_creations, trace_syscalls,
};

const ENOUGH: TraceLimits = TraceLimits { time: Duration::from_secs(60), stops: 3_000_000 };

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// A pipe whose read end closes when the last process that holds the other end has ended.
fn with_pipe(command: &mut Command) -> std::io::PipeReader {
    let (reader, writer) = std::io::pipe().expect("descriptors are free");
    command.stdout(writer);
    reader
}

#[test]
fn the_calls_of_a_program_and_what_it_starts() {
    let seen = trace_syscalls(shell("/bin/sleep 0.2 & wait; exit 3"), ENOUGH).expect("it can be traced");
    assert_eq!((seen.trace.end, seen.trace.code, seen.trace.traced), (TraceEnd::Ended, Some(3), 2));
    let cost = |name: &str| seen.costs.iter().find(|cost| cost.name == Some(name));
    assert_eq!(cost("exit_group").map(|cost| cost.count), Some(2), "of both: {:?}", seen.costs);
    assert_eq!(cost("execve").map(|cost| cost.count), Some(1), "sleep's; the shell's was before");
    let sleep = cost("clock_nanosleep").or(cost("nanosleep")).expect("sleep sleeps");
    assert!(sleep.time.as_millis_f64() >= 200.0, "{sleep:?}");
    assert_eq!(seen.costs.iter().filter(|cost| cost.count == 0).count(), 0);
}

#[test]
fn who_is_new_is_told_before_anything_of_it() {
    let mut known = Vec::new();
    let mut ended = Vec::new();
    let followed = follow(shell("(exit 4); (kill -9 $$)"), ENOUGH, |stop| {
        match stop.reason {
            StopReason::Exec if known.is_empty() => known.push(stop.pid),
            StopReason::Started(new) => known.push(new),
            StopReason::Ended(code) => ended.push((stop.pid, code)),
            _ => {}
        }
        ControlFlow::Continue(())
    })
    .expect("it can be traced");
    assert_eq!((followed.code, followed.traced), (None, known.len()), "the shell kills itself");
    assert!(ended.iter().any(|(_, code)| *code == Some(4)), "{ended:?}");
    assert!(ended.contains(&(known[0], None)), "{ended:?}");
}

#[test]
fn a_job_in_the_background_is_a_fork() {
    let mut found = None;
    let followed = trace_creations(shell(": & wait"), ENOUGH, |made| {
        found = Some((made.clone_kind(), made.flags.map(|flags| flags.names()), made.mapping.clone()));
        ControlFlow::Break(())
    })
    .expect("it can be traced");
    assert_eq!(followed.end, TraceEnd::Stopped);
    let (how, flags, mapping) = found.expect("the shell forks");
    assert_eq!(how, Some(CloneKind::Fork));
    if let Some(flags) = flags {
        assert!(flags.ends_with("SIGCHLD"), "{flags}");
    }
    assert!(mapping.is_some_and(|mapping| mapping.path.is_absolute() && mapping.offset > 0));
}

/// Including those that left their process group and session.
#[test]
fn when_the_time_is_up_nobody_is_left() {
    let mut command = shell("setsid /bin/sleep 600 & /bin/sleep 600");
    let mut pipe = with_pipe(&mut command);
    let since = Instant::now();
    let limits = TraceLimits { time: Duration::from_secs(1), ..ENOUGH };
    let followed = follow(command, limits, |_| ControlFlow::Continue(())).expect("it can be traced");
    assert_eq!((followed.end, followed.code), (TraceEnd::TimeLimit, None));
    assert!(since.elapsed() < Duration::from_secs(300));
    let mut rest = Vec::new();
    pipe.read_to_end(&mut rest).expect("it ends when the last of them has");
    assert!(since.elapsed() < Duration::from_secs(300));
}

#[test]
fn not_more_stops_than_allowed() {
    let limits = TraceLimits { stops: 500, ..ENOUGH };
    let followed = follow(shell("while :; do (:); done"), limits, |_| ControlFlow::Continue(()));
    assert_eq!(followed.expect("it can be traced").end, TraceEnd::StopLimit);
}

#[test]
fn what_is_no_program_is_told() {
    let limits = ENOUGH;
    let why = follow(Command::new("/no/such/program"), limits, |_| ControlFlow::Continue(()));
    let Err(why @ Error::Start { .. }) = why else { panic!("{why:?}") };
    assert!(why.to_string().contains("'/no/such/program'"), "{why}");
}

/// Signals reach the program as if untraced.
#[test]
fn signals_pass() {
    let followed =
        follow(shell("trap 'exit 5' USR1; kill -USR1 $$; exit 6"), ENOUGH, |_| ControlFlow::Continue(()));
    assert_eq!(followed.expect("it can be traced").code, Some(5));
}

#[test]
fn every_instruction_is_counted() {
    let mut command = Command::new("/bin/true");
    // Its loader would search each folder of this for each kind of processor.
    command.arg0("true").env_remove("LD_LIBRARY_PATH").stdout(Stdio::null());
    let steps = count_instructions(command, ENOUGH);
    if !cfg!(target_arch = "x86_64") {
        assert!(matches!(steps, Err(Error::Architecture)));
        return;
    }
    let steps = steps.expect("it can be traced");
    assert!(steps.complete);
    assert!(steps.syscalls >= 2 && steps.syscalls < 200, "{steps:?}");
    assert!(steps.instructions > 1000 && steps.instructions < 3_000_000, "{steps:?}");
    // A loader checks the processor's features; how often depends on its version.
    assert!(steps.cpuid >= 1 && steps.cpuid < 500, "{steps:?}");
    let few = TraceLimits { stops: 100, ..ENOUGH };
    let steps = count_instructions(Command::new("/bin/true"), few).expect("it can be traced");
    assert_eq!((steps.complete, steps.instructions), (false, 100));
}

/// Nine instructions, three of them CPUID, one a system call: no loader, no library.
#[test]
fn a_program_of_which_every_instruction_is_known() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (source, program) = (folder.path().join("nine.s"), folder.path().join("nine"));
    let code = ".globl _start\n_start:\n xor %eax,%eax\n cpuid\n xor %eax,%eax\n cpuid\n xor %eax,%eax\n cpuid\n \
                mov $60,%eax\n xor %edi,%edi\n syscall\n";
    std::fs::write(&source, code).expect("the folder is ours");
    let made = Command::new("cc").args(["-nostdlib", "-static", "-o"]).arg(&program).arg(&source).output();
    if !made.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no compiler, or not for x86-64");
        return;
    }
    let steps = count_instructions(Command::new(&program), ENOUGH).expect("it can be traced");
    assert_eq!((steps.instructions, steps.cpuid, steps.syscalls, steps.complete), (9, 3, 1, true));
    let seen = trace_syscalls(Command::new(&program), ENOUGH).expect("it can be traced");
    let costs: Vec<_> = seen.costs.iter().map(|cost| (cost.name, cost.count)).collect();
    assert_eq!(costs, [(Some("exit"), 1)]);
    assert_eq!(seen.trace.traced, 1);
}
