//! Stacks of V8 in every installed Node.js, checked against known shares.

use crate::program::{Program, assert_share, patient, profiled_together, samples};
use record::{Profile, StackCount};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// With all compilers, without optimising ones, and with none.
const WAYS: [&[&str]; 3] = [&[], &["--no-opt"], &["--jitless"]];

/// Optimising compilers inline some of a recursion's calls, and `once`, into one another.
const SEVENTY: &str = "seventy (shares.js)";
const THIRTY: &str = "thirty (shares.js)";
const DEEPER: &str = "deeper (shares.js)";
/// Thread entry points.
const ROOTS: [&str; 4] = ["_start", "clone3", "__clone3", "start_thread"];

/// Every `node` of the system and of nvm, each once.
fn installed() -> BTreeSet<PathBuf> {
    let own = std::env::var_os("NVM_DIR").map(PathBuf::from);
    let own = own.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".nvm")));
    let versions = own.and_then(|folder| folder.join("versions/node").read_dir().ok());
    let versions = versions.into_iter().flatten().flatten().map(|version| version.path().join("bin/node"));
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let all = versions.chain(folders.into_iter().map(|folder| folder.join("node")));
    let all: BTreeSet<PathBuf> =
        all.filter_map(|path| path.canonicalize().ok()).filter(|path| path.is_file()).collect();
    if all.is_empty() {
        eprintln!("SKIPPED: Node.js is not installed (apt-get install nodejs)");
    }
    all
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/shares.js")
}

fn assert_known(profile: &Profile, threads: &str, what: &str) {
    let of = |name: &'static str| samples(profile, threads, move |stack: &[&str]| stack.contains(&name));
    let all = of(DEEPER);
    let work = of(SEVENTY) + of(THIRTY);
    assert!(all > 100.0 && work / all > 0.9, "{what}: {work} of {all}\n{}", stacks::format_folded(profile));
    for (name, expected) in [(SEVENTY, 0.7), (THIRTY, 0.3)] {
        assert_share(&format!("{name} {what}"), of(name) / work, expected, profile, work);
    }
    let whole = samples(profile, threads, |stack| {
        stack.contains(&DEEPER) && stack.last().is_some_and(|root| ROOTS.contains(root))
    });
    assert!(whole / all > 0.97, "{what}: {whole} of {all}\n{}", stacks::format_folded(profile));
    let outside = |stack: &&StackCount| {
        let functions = profile.frames(**stack).map(|of| &profile.functions[of as usize]);
        let mut outside = functions.filter(|of| profile.modules[of.module as usize].name != "[kernel]");
        outside.next().is_some_and(|of| [SEVENTY, THIRTY].contains(&of.name.as_str()))
    };
    let its = |stack: &&StackCount| profile.threads[stack.0 as usize].starts_with(threads);
    let own: u64 = profile.stacks.iter().filter(its).filter(outside).map(|stack| stack.2).sum();
    assert!(
        own as f64 / all > 0.8,
        "{what}: the interpreter's work is that of the function\n{}",
        stacks::format_folded(profile)
    );
    let function = profile.functions.iter().find(|of| of.name == THIRTY).expect("it ran");
    let source = include_str!("../fixtures/shares.js");
    let line = source.lines().position(|line| line.contains("function thirty(")).expect("it is there");
    assert_eq!(function.line, Some(line as u32 + 1));
    assert_eq!(function.file.as_deref(), script().to_str());
    assert_eq!(profile.modules[function.module as usize].name, "shares.js");
}

#[test]
fn functions_have_the_shares_that_they_were_given() {
    let ways = installed().into_iter().flat_map(|node| WAYS.map(|way| (node.clone(), way)));
    let begun: Vec<_> = ways
        .zip('a'..='z')
        .map(|((node, way), letter)| {
            let name = format!("shares-{letter}");
            let mut command = patient(&node);
            command.args(way).arg(script()).arg(&name);
            (format!("{node:?} {way:?}"), name, Program::begun(command))
        })
        .collect();
    let ready = |(what, name, begun): (String, String, Program)| {
        (what, name, begun.once_ready().expect("every version runs it"))
    };
    let programs: Vec<_> = begun.into_iter().map(ready).collect();
    let each = Duration::from_secs(2);
    let Some(profile) = profiled_together(programs.iter().map(|(.., program)| program), each) else { return };
    for (what, threads, _) in &programs {
        assert_known(&profile, threads, what);
    }
}

#[test]
fn a_worker_has_a_heap_of_its_own() {
    for node in installed() {
        let mut command = patient(&node);
        command.arg(script()).args(["worker", "worker"]);
        let program = Program::ready(command).expect("every version runs it");
        let Some(profile) = profiled_together([&program].into_iter(), Duration::from_secs(2)) else { return };
        assert_known(&profile, "", &format!("{node:?}, a worker"));
    }
}
