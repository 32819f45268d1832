//! Waiting threads, whose number and functions are known.

use crate::program::{Program, samples};
use crate::{java, python};
use record::Profile;
use std::path::Path;
use std::process::{Command, Stdio};
use torment_profile::{Error, sample_waiting};

/// What its threads wait in, once all do; none where the kernel permits no look.
fn looked_at(program: &Program) -> Option<Profile> {
    program.once_asleep();
    match sample_waiting(&[program.0.id()]) {
        Ok(profile) => Some(profile),
        Err(why @ Error::Hidden { .. }) => {
            eprintln!("SKIPPED: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Threads in this system call with this function on their stack and this root.
fn in_call(profile: &Profile, threads: &str, call: &str, function: &str, root: &str) -> f64 {
    samples(profile, threads, |stack| {
        stack.first() == Some(&call)
            && stack.contains(&function)
            && stack.iter().rev().take(3).any(|name| name.contains(root))
    })
}

#[test]
fn threads_of_java_wait_in_their_methods() {
    for (what, _, program) in java::running("Waits", &[&[], &["-Xint"]]) {
        let Some(profile) = looked_at(&program) else { return };
        let said = || format!("{what}\n{}", stacks::format_folded(&profile));
        for (threads, method, expected) in [
            ("queuer-N", "Waits.guarded", 12.0),
            ("taker-N", "Waits.take", 8.0),
            ("taker-N", "java.util.concurrent.LinkedBlockingQueue.take", 8.0),
            ("owner-N", "Waits.hold", 1.0),
        ] {
            let found = samples(&profile, threads, |stack| {
                stack.first() == Some(&"futex")
                    && stack.contains(&method)
                    && stack.contains(&"java.lang.Thread.run")
            });
            assert_eq!(found, expected, "{method} {}", said());
        }
        let served = samples(&profile, "server-N", |stack| stack.contains(&"Waits.accept"));
        assert_eq!(served, 2.0, "{}", said());
        let known = samples(&profile, "", |stack| stack.contains(&"java.lang.Thread.run"));
        // Some compilers emit no unwind tables for program entry code.
        assert!(
            known >= 23.0 && profile.truncated <= 1,
            "{} of {}\n{}",
            profile.truncated,
            profile.samples,
            said()
        );
    }
}

#[test]
fn threads_of_python_wait_in_their_functions() {
    for python in python::installed() {
        let mut command = Command::new(&python);
        command.arg(fixture("waits.py"));
        let program = Program::ready(command).expect("every version runs it");
        let Some(profile) = looked_at(&program) else { return };
        for (function, expected) in
            [("waits.guarded", 6.0), ("waits.take", 3.0), ("queue.Queue.get", 3.0), ("waits.hold", 1.0)]
        {
            let function = function.replace("Queue.", if has_classes(&python) { "Queue." } else { "" });
            let found = samples(&profile, "", |stack| {
                stack.contains(&function.as_str()) && stack.iter().any(|name| name.ends_with("_bootstrap"))
            });
            assert_eq!(found, expected, "{function} {python:?}\n{}", stacks::format_folded(&profile));
        }
    }
}

/// From 3.11 on, function names include their class.
fn has_classes(python: &Path) -> bool {
    let asked = Command::new(python).args(["-c", "import sys; print(sys.version_info[1] >= 11)"]).output();
    asked.is_ok_and(|asked| asked.stdout == b"True\n")
}

#[test]
fn threads_of_c_wait_in_their_functions_with_and_without_frame_pointers() {
    let folder = tempfile::tempdir().expect("there is room");
    for options in [
        ["-O1", "-fno-omit-frame-pointer"],
        ["-O0", "-fno-omit-frame-pointer"],
        ["-O1", "-fomit-frame-pointer"],
    ] {
        let path = folder.path().join(options.concat());
        let mut compiler = Command::new("cc");
        compiler.args(options).arg("-pthread").arg("-fno-optimize-sibling-calls").arg("-o").arg(&path);
        let made = compiler.arg(fixture("waits.c")).stdout(Stdio::null()).status();
        if !made.as_ref().is_ok_and(|made| made.success()) {
            eprintln!("SKIPPED: there is no compiler of C ({made:?}; apt-get install gcc)");
            return;
        }
        let program = Program::ready(Command::new(&path)).expect("it runs");
        let Some(profile) = looked_at(&program) else { return };
        let said = || format!("{options:?}\n{}", stacks::format_folded(&profile));
        assert_eq!(in_call(&profile, "", "futex", "guarded", "queuer"), 10.0, "{}", said());
        let held = |stack: &[&str]| stack.get(1).is_some_and(|name| name.starts_with("keeper (thread "));
        assert_eq!(samples(&profile, "", held), 10.0, "{}", said());
        assert_eq!(in_call(&profile, "", "clock_nanosleep", "hold", "owner"), 1.0, "{}", said());
        assert_eq!(in_call(&profile, "", "clock_nanosleep", "main", "_start"), 1.0, "{}", said());
        assert_eq!((profile.samples, profile.truncated), (12, 0), "{}", said());
        let deep =
            samples(&profile, "", |stack| stack.iter().filter(|name| **name == "guarded").count() == 6);
        assert_eq!(deep, 10.0, "{}", said());
    }
}
