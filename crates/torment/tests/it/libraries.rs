//! Third-party dependencies: under a permitted licence, from the registry, and without what `deny.toml` bans.
//! cargo-deny checks the same file with the same result, but takes a minute to compile; this takes a second.

use crate::program::repository;
use spdx::{Expression, ParseMode};
use std::collections::BTreeSet;
use std::process::Command;

/// The names in a list of `deny.toml`, plain or in tables.
fn words<'a>(table: &'a toml::Value, key: &str) -> Vec<&'a str> {
    let all = table[key].as_array().unwrap_or_else(|| panic!("deny.toml has no list '{key}'"));
    all.iter().filter_map(|word| word.get("name").unwrap_or(word).as_str()).collect()
}

/// Lines of `NAME vVERSION (SOURCE)`, a tab, and the licence: all dependencies, transitively, on the platforms that
/// torment is built for. Crates from the registry have no source.
fn used() -> BTreeSet<String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "tree",
        "--workspace",
        "--edges=normal,build,dev",
        "--locked",
        "--prefix=none",
        "--format={p}\t{l}",
    ]);
    for machine in ["x86_64", "aarch64"] {
        cargo.arg(format!("--target={machine}-unknown-linux-gnu"));
    }
    let output = cargo.current_dir(repository()).output().expect("cargo runs this test");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    tree.lines()
        .filter(|line| line.contains('\t'))
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect()
}

#[test]
fn libraries_are_such_as_may_be_shipped() {
    let rules = std::fs::read_to_string(repository().join("deny.toml")).expect("it is in the repository");
    let rules: toml::Value = toml::from_str(&rules).expect("cargo-deny reads it too");
    let (allowed, banned) = (words(&rules["licenses"], "allow"), words(&rules["bans"], "deny"));
    assert!(allowed.len() > 3 && !banned.is_empty(), "{allowed:?}, {banned:?}: the test has lost its sight");
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for line in used() {
        let (package, licence) = line.split_once('\t').expect("it has one");
        let name = package.split(' ').next().unwrap_or_default();
        let from = package.replace("(proc-macro)", "");
        // Our own are in a folder.
        if from.contains("(/") {
            continue;
        }
        seen += 1;
        if from.contains('(') {
            wrong.push(format!("{package} is not from the registry"));
        }
        if banned.contains(&name) {
            wrong.push(format!("{name} is banned"));
        }
        let may_be = Expression::parse_mode(licence, ParseMode::LAX)
            .is_ok_and(|licence| licence.evaluate(|asked| allowed.contains(&asked.to_string().as_str())));
        if !may_be {
            wrong.push(format!("{name}: nothing of its licence is allowed: '{licence}'"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 200, "only {seen} libraries were seen: the test has lost its sight");
}
