//! Stacks of every installed Python, checked against known shares.

use crate::program::{Program, assert_share, patient, profiled_together, samples};
use record::StackCount;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Every `python3` of the system and of pyenv of a supported version, each once.
pub fn installed() -> BTreeSet<PathBuf> {
    let own = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let own = own.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let versions = own.map(|folder| folder.join("versions")).and_then(|folder| folder.read_dir().ok());
    let versions = versions.into_iter().flatten().flatten().map(|version| version.path().join("bin/python3"));
    let all = versions.chain([PathBuf::from("/usr/bin/python3")]);
    let all: BTreeSet<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).filter(is_known).collect();
    if all.is_empty() {
        eprintln!("SKIPPED: no Python of 3.8 to 3.13 is installed (apt-get install python3)");
    }
    all
}

fn is_known(python: &PathBuf) -> bool {
    let asked =
        Command::new(python).args(["-c", "import sys; print(8 <= sys.version_info[1] <= 13)"]).output();
    asked.is_ok_and(|asked| asked.stdout == b"True\n")
}

#[test]
fn functions_have_the_shares_that_they_were_given() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/shares.py");
    let begun: Vec<_> = installed()
        .into_iter()
        .zip('a'..='z')
        .map(|(python, letter)| {
            let name = format!("shares-{letter}");
            let mut command = patient(&python);
            command.arg(&script).args(["30", &name]);
            (python, name, Program::begun(command))
        })
        .collect();
    let ready = |(python, name, begun): (PathBuf, String, Program)| {
        (python, name, begun.once_ready().expect("every version runs it"))
    };
    let programs: Vec<_> = begun.into_iter().map(ready).collect();
    let each = Duration::from_secs(1);
    let Some(profile) = profiled_together(programs.iter().map(|(.., program)| program), each) else { return };
    for (python, threads, _) in &programs {
        let of = |name: &'static str| samples(&profile, threads, move |stack: &[&str]| stack.contains(&name));
        let all = samples(&profile, threads, |_| true);
        assert!(all > 100.0, "{}", stacks::format_folded(&profile));
        for (name, expected) in [("shares.seventy", 0.7), ("shares.thirty", 0.3)] {
            assert_share(&format!("{name} {python:?}"), of(name) / all, expected, &profile, all);
        }
        let whole = samples(&profile, threads, |stack| {
            let deep = stack.iter().filter(|name| **name == "shares.deeper").count();
            deep == 31 && stack.last() == Some(&"shares.<module>")
        });
        assert!(whole / all > 0.97, "{}", stacks::format_folded(&profile));
        // On a busy machine many samples fall where the kernel resumes a preempted thread.
        let outside = |stack: &StackCount| {
            let functions = profile.frames(*stack).map(|of| &profile.functions[of as usize]);
            let mut outside = functions.filter(|of| profile.modules[of.module as usize].name != "[kernel]");
            outside.next().is_some_and(|of| ["shares.seventy", "shares.thirty"].contains(&of.name.as_str()))
        };
        let its = |stack: &&StackCount| profile.threads[stack.0 as usize] == *threads;
        let own: u64 =
            profile.stacks.iter().filter(its).filter(|stack| outside(stack)).map(|stack| stack.2).sum();
        let own = own as f64;
        assert!(
            own / all > 0.8,
            "the interpreter's work is that of the function: {}",
            stacks::format_folded(&profile)
        );
        let function = profile.functions.iter().find(|of| of.name == "shares.thirty").expect("it ran");
        let source = include_str!("../fixtures/shares.py");
        let line = source.lines().position(|line| line.starts_with("def thirty(")).expect("it is there");
        assert_eq!(function.line, Some(line as u32 + 1));
        assert!(function.file.as_deref().is_some_and(|file| file.ends_with("shares.py")), "{function:?}");
        assert_eq!(profile.modules[function.module as usize].name, "shares");
    }
}
