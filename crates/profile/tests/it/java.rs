//! Stacks of real Java machines, of all that are installed: methods whose shares are known, and what the machine itself says.

use record::{Profile, StackCount};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use torment_profile::{Error, start};

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

/// A program that ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two methods that share their work by seven and three, one below a deep stack, and threads that wait.
fn burning(java: &Path, options: &[&str]) -> Program {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../observe/src/jvm/fixtures/Burns.java");
    let mut command = Command::new(java);
    command.arg("-Xmx48m").args(options).arg(source);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null()).spawn();
    let mut program = Program(child.expect("it can be run"));
    let mut line = String::new();
    let out = program.0.stdout.as_mut().expect("it is a pipe");
    BufReader::new(out).read_line(&mut line).expect("it prints text");
    assert_eq!(line, "ready\n");
    program
}

/// None where the kernel allows no profile.
fn profiled(program: &Program, lasting: Duration) -> Option<Profile> {
    match start(&[program.0.id()], 199) {
        Ok(sampling) => {
            sleep(lasting);
            Some(sampling.end())
        }
        Err(why @ (Error::Refused { .. } | Error::Lacking { .. })) => {
            eprintln!("SKIPPED: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Names of a stack, the innermost first.
fn names(profile: &Profile, stack: StackCount) -> Vec<&str> {
    profile.frames(stack).map(|of| profile.functions[of as usize].name.as_str()).collect()
}

/// Samples of threads of this name whose stack is so.
fn samples(profile: &Profile, threads: &str, is: impl Fn(&[&str]) -> bool) -> f64 {
    let its = profile.stacks.iter().filter(|stack| profile.threads[stack.0 as usize].starts_with(threads));
    its.filter(|stack| is(&names(profile, **stack))).map(|stack| stack.2 as f64).sum()
}

fn assert_share(share: f64, expected: f64, all: f64, profile: &Profile) {
    // Three points at a thousand samples.
    let doubt = (3.0 * (expected * (1.0 - expected) / all).sqrt()).max(0.03);
    assert!(
        (share - expected).abs() <= doubt,
        "{share:.3} of {all}, not {expected}\n{}",
        stacks::folded(profile)
    );
}

#[test]
fn methods_have_the_shares_that_they_were_given() {
    let apart = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Burns.*"];
    for java in installed() {
        for options in [&apart[..], &[], &["-XX:+UseG1GC"], &["-Xint"], &["-XX:TieredStopAtLevel=1"]] {
            let program = burning(&java, options);
            let Some(profile) = profiled(&program, Duration::from_secs(6)) else { return };
            let all = samples(&profile, "burner", |_| true);
            let seven = samples(&profile, "burner", |stack| stack.contains(&"Burns.seventy"));
            let three = samples(&profile, "burner", |stack| stack.contains(&"Burns.thirty"));
            let rooted = samples(&profile, "burner", |stack| stack.contains(&"java.lang.Thread.run"));
            eprintln!(
                "{java:?} {options:?}: {all} {} {} {} {} of {}",
                seven / all,
                three / all,
                rooted / all,
                profile.truncated,
                profile.samples
            );
            if std::env::var_os("SHOW").is_some() {
                eprintln!("{}", stacks::folded(&profile));
            }
            assert!(all > 100.0);
            assert_share(seven / all, 0.7, all, &profile);
            assert_share(three / all, 0.3, all, &profile);
            assert!(rooted / all > 0.98, "{}", stacks::folded(&profile));
        }
    }
}
