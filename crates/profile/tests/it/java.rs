//! Stacks of every installed Java VM, checked against known shares and the VM's own view.

use crate::program::{Program, assert_share, patient, profiled_together, samples};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// Processor time for some 400 samples of a program.
const EACH: Duration = Duration::from_secs(1);

/// Every `java` below /usr/lib/jvm, and below target/jdk, where tests/prepare.sh puts versions that
/// distributions no longer have; each once.
pub fn installed() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/jdk");
    let folders = [PathBuf::from("/usr/lib/jvm"), own.clone()];
    let folders = folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
    let mut all: Vec<PathBuf> =
        folders.filter_map(|folder| folder.path().join("bin/java").canonicalize().ok()).collect();
    all.sort();
    all.dedup();
    if all.is_empty() {
        eprintln!("SKIPPED: no Java is installed (apt-get install openjdk-17-jdk-headless)");
    }
    for version in ["11", "21"] {
        if !own.join(version).exists() {
            eprintln!("SKIPPED: there is no JDK {version} in target/jdk (tests/prepare.sh)");
        }
    }
    all
}

/// From the folder's name: `21.0.8`.
fn version(java: &Path) -> String {
    let release = java.parent().and_then(Path::parent).map(|home| home.join("release"));
    let release = release.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="));
    version.unwrap_or_default().trim_matches('"').to_owned()
}

/// The fixtures, compiled once for versions from 11 on; those with virtual threads for 21. None, with a
/// message, if there is no compiler.
fn classes() -> Option<&'static Path> {
    static CLASSES: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compiled = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("classes");
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let compiles = |release: &str, sources: &[&str]| {
            installed().iter().map(|java| java.with_file_name("javac")).any(|compiler| {
                let mut command = Command::new(compiler);
                command.args(["--release", release, "-nowarn", "-d"]).arg(&folder);
                command.args(sources.iter().map(|source| fixtures.join(source)));
                command.output().is_ok_and(|done| done.status.success())
            })
        };
        if !compiles("21", &["Virtual.java"]) {
            eprintln!("SKIPPED: no javac of JDK 21 or later compiles Virtual.java");
        }
        let is_there = compiles("11", &["Burns.java", "Waits.java"]);
        if !is_there {
            eprintln!(
                "SKIPPED: no javac compiles what is profiled (apt-get install openjdk-17-jdk-headless)"
            );
        }
        is_there.then_some(folder)
    };
    CLASSES.get_or_init(compiled).as_deref()
}

/// Starts a class in every installed VM with each set of options, all at once: description, a distinct
/// letter as argument, and the program once ready; none if its VM lacks a feature.
fn begun(class: &str, options: &[&[&str]]) -> Vec<(String, char, Option<Program>)> {
    let Some(classes) = classes() else { return Vec::new() };
    let each =
        installed().into_iter().flat_map(|java| options.iter().map(move |options| (java.clone(), *options)));
    let begun: Vec<_> = each
        .zip('a'..='z')
        .map(|((java, options), letter)| {
            let mut command = patient(&java);
            command.arg("-Xmx48m").args(options).arg("-cp").arg(classes).args([class, &letter.to_string()]);
            (format!("JDK {} {options:?}", version(&java)), letter, Program::begun(command))
        })
        .collect();
    begun.into_iter().map(|(what, letter, begun)| (what, letter, begun.once_ready())).collect()
}

/// The same for a class that every version runs.
pub fn running(class: &str, options: &[&[&str]]) -> Vec<(String, char, Program)> {
    let runs = |(what, letter, program): (String, char, Option<Program>)| {
        let program = program.unwrap_or_else(|| panic!("{what} does not run {class}"));
        (what, letter, program)
    };
    begun(class, options).into_iter().map(runs).collect()
}

#[test]
fn methods_have_the_shares_that_they_were_given() {
    let apart = ["-XX:+UseSerialGC", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Burns.*"];
    // Inlined or not, by either compiler, and interpreted.
    let programs = running("Burns", &[&apart, &["-XX:+UseG1GC"], &["-XX:TieredStopAtLevel=1"], &["-Xint"]]);
    let Some(profile) = profiled_together(programs.iter().map(|(.., program)| program), EACH) else { return };
    assert!(profile.truncated < profile.samples / 50, "{}", stacks::format_folded(&profile));
    for (what, letter, program) in &programs {
        let (burner, digger) = (format!("burner-{letter}"), format!("digger-{letter}"));
        let of = |name: &'static str| samples(&profile, &burner, move |stack: &[&str]| stack.contains(&name));
        let all = samples(&profile, &burner, |_| true);
        assert!(all > 100.0, "{what}\n{}", stacks::format_folded(&profile));
        for (method, expected) in [("Burns.seventy", 0.7), ("Burns.thirty", 0.3)] {
            assert_share(&format!("{method} {what}"), of(method) / all, expected, &profile, all);
        }
        // Every stack leads to its thread, and on to the VM's own code.
        assert!(of("java.lang.Thread.run") / all > 0.98, "{what}\n{}", stacks::format_folded(&profile));
        let deep = samples(&profile, &digger, |stack| {
            stack.iter().filter(|name| **name == "Burns.deep").count() == 101
        });
        assert!(
            deep / samples(&profile, &digger, |_| true) > 0.95,
            "{what}\n{}",
            stacks::format_folded(&profile)
        );
        // The VM was not asked for anything.
        let pid = program.0.id();
        for file in [format!("/tmp/.java_pid{pid}"), format!("/tmp/perf-{pid}.map")] {
            assert!(!Path::new(&file).exists(), "{file}");
        }
    }
    let Some(function) = profile.functions.iter().find(|of| of.name == "Burns.seventy") else { return };
    let source = include_str!("../fixtures/Burns.java");
    let begins = source.lines().position(|line| line.contains("void seventy(")).expect("it is there");
    assert_eq!(function.file.as_deref(), Some("Burns.java"));
    // Lines count from 1, and code starts after the method's head.
    assert_eq!(function.line, Some(begins as u32 + 2));
}

#[test]
fn virtual_threads_that_have_waited_lack_some_callers_and_no_root() {
    // JDK 21 and later have them. The carrier threads share one name.
    let look = |(what, _, program): (String, char, Option<Program>)| {
        let Some(program) = program else { return };
        let Some(profile) = profiled_together(std::iter::once(&program), EACH) else { return };
        let of = |wanted: &[&'static str]| {
            samples(&profile, "ForkJoinPool", |stack| wanted.iter().all(|name| stack.contains(name)))
        };
        let (three, one) = (of(&["Virtual.three"]), of(&["Virtual.one"]));
        let both = three + one;
        assert_share(&format!("Virtual.three {what}"), three / both, 0.75, &profile, both);
        let heaped = of(&["[callers in the heap]"]);
        let rooted = of(&["[callers in the heap]", "java.util.concurrent.ForkJoinWorkerThread.run"]);
        // While the code that returns to them has no frame yet, there is no root.
        assert!(heaped > both / 2.0 && rooted / heaped > 0.93, "{what}\n{}", stacks::format_folded(&profile));
        assert!(profile.truncated as f64 >= heaped, "{what}\n{}", stacks::format_folded(&profile));
    };
    std::thread::scope(|all| {
        for program in begun("Virtual", &[&[]]) {
            all.spawn(move || look(program));
        }
    });
}
