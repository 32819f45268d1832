//! Stacks of real Java machines, of all that are installed: methods whose shares are known, and what the machine itself says.

use crate::program::{Program, assert_share, profiled, samples};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Every `java` below /usr/lib/jvm, each once.
pub fn installed() -> Vec<PathBuf> {
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

/// Two methods that share their work by seven and three, one below a deep stack, and threads that wait.
const BURNS: &str = "tests/fixtures/Burns.java";

/// A program once it is ready; none if this Java has not what it needs.
pub fn running(java: &Path, options: &[&str], source: &str) -> Option<Program> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let mut command = Command::new(java);
    command.arg("-Xmx48m").args(options).arg(source);
    Program::ready(command)
}

#[test]
fn methods_have_the_shares_that_they_were_given() {
    let apart = ["-XX:+UseSerialGC", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Burns.*"];
    // Compiled into one another or not, by either compiler, and interpreted.
    for options in [&apart[..], &["-XX:+UseG1GC"], &["-XX:TieredStopAtLevel=1"], &["-Xint"]] {
        for java in installed() {
            let program = running(&java, options, BURNS).expect("every version runs it");
            let Some(profile) = profiled(&program, Duration::from_secs(6)) else { return };
            let of =
                |name: &'static str| samples(&profile, "burner", move |stack: &[&str]| stack.contains(&name));
            let all = samples(&profile, "burner", |_| true);
            assert!(all > 100.0, "{}", stacks::folded(&profile));
            for (method, expected) in [("Burns.seventy", 0.7), ("Burns.thirty", 0.3)] {
                let what = format!("{method} {java:?} {options:?}");
                assert_share(&what, of(method) / all, expected, &profile, all);
            }
            // Every stack leads to its thread, and through it to the machine's own code.
            assert!(of("java.lang.Thread.run") / all > 0.98, "{}", stacks::folded(&profile));
            assert!(profile.truncated < profile.samples / 50, "{}", stacks::folded(&profile));
            let deep = samples(&profile, "digger", |stack| {
                stack.iter().filter(|name| **name == "Burns.deep").count() == 101
            });
            assert!(deep / samples(&profile, "digger", |_| true) > 0.95, "{}", stacks::folded(&profile));
            let its = |of: &&record::CodeFunction| of.name == "Burns.seventy";
            let function = profile.functions.iter().find(its).expect("it ran");
            let source = include_str!("../fixtures/Burns.java");
            let begins = source.lines().position(|line| line.contains("void seventy(")).expect("it is there");
            assert_eq!(function.file.as_deref(), Some("Burns.java"));
            // Lines count from 1, and code begins behind the method's head.
            assert_eq!(function.line, Some(begins as u32 + 2));
            // Nothing was asked of it.
            let pid = program.0.id();
            for file in [format!("/tmp/.java_pid{pid}"), format!("/tmp/perf-{pid}.map")] {
                assert!(!Path::new(&file).exists(), "{file}");
            }
        }
    }
}

#[test]
fn virtual_threads_that_have_waited_lack_some_callers_and_no_root() {
    for java in installed() {
        // JDK 21 and later have them.
        let Some(program) = running(&java, &[], "tests/fixtures/Virtual.java") else { continue };
        let Some(profile) = profiled(&program, Duration::from_secs(6)) else { return };
        let of = |wanted: &[&'static str]| {
            samples(&profile, "ForkJoinPool", |stack| wanted.iter().all(|name| stack.contains(name)))
        };
        let (three, one) = (of(&["Virtual.three"]), of(&["Virtual.one"]));
        let (both, what) = (three + one, format!("Virtual.three {java:?}"));
        assert_share(&what, three / both, 0.75, &profile, both);
        let heaped = of(&["[callers in the heap]"]);
        let rooted = of(&["[callers in the heap]", "java.util.concurrent.ForkJoinWorkerThread.run"]);
        assert!(heaped > both / 2.0 && rooted / heaped > 0.98, "{}", stacks::folded(&profile));
        assert!(profile.truncated as f64 >= heaped, "{}", stacks::folded(&profile));
    }
}
