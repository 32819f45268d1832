//! Compares with other profilers of the same programs in the same seconds. Skipped where the profiler is
//! not installed.

use crate::program::{HZ, Program, profiled};
use crate::{java, python};
use record::{CodeFunction, Profile};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long both sample, and how often py-spy does, which pauses the program for it.
const LONG: Duration = Duration::from_secs(5);
const SPY_HZ: &str = "199";
/// Maximum difference between two profilers' shares of a function.
const WITHIN: f64 = 0.05;
/// Fewer samples prove nothing; on a shared machine a program gets a fifth of a processor.
const LEAST: f64 = 100.0;

/// Self samples by function name.
type SelfShares = BTreeMap<String, f64>;

/// A command's output; none, with a message, if it is missing or fails.
fn told(command: &mut Command) -> Option<String> {
    match command.stderr(Stdio::piped()).output() {
        Ok(output) if output.status.success() => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => {
            eprintln!("SKIPPED: {command:?} fails: {}", String::from_utf8_lossy(&output.stderr));
            None
        }
        Err(why) => {
            eprintln!("SKIPPED: {command:?} does not run: {why}");
            None
        }
    }
}

/// The innermost function of each folded stack that `name` accepts.
fn innermost(folded: &str, name: impl Fn(&str) -> Option<String>) -> SelfShares {
    let mut own = SelfShares::new();
    for line in folded.lines() {
        let Some((stack, samples)) = line.rsplit_once(' ') else { continue };
        let samples: f64 = samples.parse().expect("a number of samples");
        if let Some(name) = stack.rsplit(';').find_map(&name) {
            *own.entry(name).or_default() += samples;
        }
    }
    own
}

/// The same of ours: the innermost function that `name` accepts.
fn ours(profile: &Profile, name: impl Fn(&CodeFunction) -> Option<String>) -> SelfShares {
    let mut own = SelfShares::new();
    for stack in &profile.stacks {
        let mut functions = profile.frames(*stack).map(|of| &profile.functions[of as usize]);
        if let Some(name) = functions.find_map(&name) {
            *own.entry(name).or_default() += stack.2 as f64;
        }
    }
    own
}

/// Asserts that the shares of the ten largest functions of either are nearly the same.
fn agree(what: &str, ours: &SelfShares, theirs: &SelfShares) {
    let all = [ours, theirs].map(|own| own.values().sum::<f64>());
    if all[0] < LEAST || all[1] < LEAST {
        return eprintln!(
            "SKIPPED: {what}: others had the processors, so few samples are no opinion: {all:?}"
        );
    }
    let share = |own: &SelfShares, all: f64, name: &str| own.get(name).copied().unwrap_or(0.0) / all;
    for own in [ours, theirs] {
        let mut largest: Vec<_> = own.iter().collect();
        largest.sort_by(|a, b| b.1.total_cmp(a.1));
        for (name, _) in largest.into_iter().take(10) {
            let (here, there) = (share(ours, all[0], name), share(theirs, all[1], name));
            eprintln!("{what}: {name}: {:.1} and {:.1} %", 100.0 * here, 100.0 * there);
            let doubt = 4.0 * (there * (1.0 - there) * (1.0 / all[0] + 1.0 / all[1])).sqrt();
            assert!((here - there).abs() <= WITHIN.max(doubt), "{what}: {name}\n{ours:?}\n{theirs:?}");
        }
    }
}

/// Runs both at once: the other's output, and our profile.
fn both(program: &Program, other: Command) -> Option<(Option<String>, Profile)> {
    let mut other = other;
    let meanwhile: JoinHandle<Option<String>> = std::thread::spawn(move || told(&mut other));
    let profile = profiled(program, LONG);
    let told = meanwhile.join().expect("it runs or not");
    Some((told, profile?))
}

#[test]
fn perf_agrees_on_a_program_of_c() {
    let folder = tempfile::tempdir().expect("there is room");
    let (path, recorded) = (folder.path().join("shares"), folder.path().join("perf.data"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/shares.c");
    if told(Command::new("cc").args(["-O1", "-o"]).arg(&path).arg(source)).is_none() {
        return;
    }
    let program = Program::ready(Command::new(&path)).expect("it runs");
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-e", "cpu-clock", "-F", &HZ.to_string(), "-o"]).arg(&recorded);
    perf.args(["-p", &program.0.id().to_string(), "--", "sleep", &LONG.as_secs().to_string()]);
    let Some((Some(_), profile)) = both(&program, perf) else { return };
    let read = told(Command::new("perf").args(["script", "-F", "ip,sym", "-i"]).arg(&recorded));
    let read = read.expect("it reads what it wrote");
    // Whether the kernel's return to a preempted thread counts in one profile or the other is chance.
    let own = |name: &str| name.starts_with("work").then(|| name.to_owned());
    let mut theirs = SelfShares::new();
    for line in read.lines() {
        let (_, symbol) = line.trim().split_once(' ').expect("an address and a name");
        if let Some(name) = own(symbol.trim()) {
            *theirs.entry(name).or_default() += 1.0;
        }
    }
    agree("perf", &ours(&profile, |of| own(&of.name)), &theirs);
}

#[test]
fn py_spy_agrees_on_a_program_of_python() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/shares.py");
    let folder = tempfile::tempdir().expect("there is room");
    let recorded = folder.path().join("folded");
    for python in python::installed() {
        let mut command = Command::new(&python);
        command.arg(&script);
        let program = Program::ready(command).expect("every version runs it");
        let mut spy = Command::new("py-spy");
        spy.args(["record", "--format", "raw", "--rate", SPY_HZ, "--duration", &LONG.as_secs().to_string()]);
        spy.args(["--pid", &program.0.id().to_string(), "--output"]).arg(&recorded);
        let Some((Some(_), profile)) = both(&program, spy) else { return };
        let theirs = std::fs::read_to_string(&recorded).expect("it has written it");
        // `Random.randint (random.py:370)`; ours has the module in front.
        let theirs =
            innermost(&theirs, |frame| Some(frame.split(" (").next()?.rsplit('.').next()?.to_owned()));
        let ours = ours(&profile, |of| {
            of.file.as_ref().filter(|file| file.ends_with(".py"))?;
            Some(of.name.rsplit('.').next()?.to_owned())
        });
        agree(&format!("py-spy {python:?}"), &ours, &theirs);
    }
}

#[test]
fn async_profiler_agrees_on_a_program_of_java() {
    let Ok(library) = std::env::var("ASYNC_PROFILER") else {
        eprintln!(
            "SKIPPED: ASYNC_PROFILER names no library (libasyncProfiler.so; Maven's tools.profiler:async-profiler has it)"
        );
        return;
    };
    let folder = tempfile::tempdir().expect("there is room");
    let recorded = folder.path().join("folded");
    for (what, _, program) in java::running("Burns", &[&[]]) {
        let ask = |what: &str| {
            let mut jcmd = Command::new("jcmd");
            // Without the inner quotes it takes the text before a `=` for an option.
            jcmd.args([program.0.id().to_string(), format!("JVMTI.agent_load {library} \"{what}\"")]);
            told(&mut jcmd).filter(|said| said.contains("return code: 0"))
        };
        if ask("start,event=cpu,interval=5ms").is_none() {
            return eprintln!("SKIPPED: the agent does not start in {what}");
        }
        let Some(profile) = profiled(&program, LONG) else { return };
        ask(&format!("stop,collapsed,file={}", recorded.display())).expect("it was started");
        let theirs = std::fs::read_to_string(&recorded).expect("it has written it");
        let of_program = |name: &str| name.starts_with("Burns.").then(|| name.to_owned());
        let ours = ours(&profile, |of| of_program(&of.name));
        agree(&format!("async-profiler {what}"), &ours, &innermost(&theirs, of_program));
    }
}
