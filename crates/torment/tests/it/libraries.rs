//! What others wrote and torment brings along: under a licence that allows it, from the registry, and without what `deny.toml` bans.
//! cargo-deny reads the same file and says the same; it takes a minute to be compiled, this a second.

use crate::program::repository;
use serde_json::Value;
use spdx::{Expression, ParseMode};
use std::collections::{HashMap, HashSet};
use std::process::Command;

fn words<'a>(table: &'a toml::Value, key: &str) -> Vec<&'a str> {
    let all = table[key].as_array().unwrap_or_else(|| panic!("deny.toml has no list '{key}'"));
    all.iter().filter_map(|word| word.get("name").unwrap_or(word).as_str()).collect()
}

/// All that ours use, and what that uses, on the machines that torment is built for.
fn packages() -> Vec<Value> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--format-version=1", "--locked", "--offline"]);
    for machine in ["x86_64", "aarch64"] {
        cargo.arg(format!("--filter-platform={machine}-unknown-linux-gnu"));
    }
    let output = cargo.current_dir(repository()).output().expect("cargo runs this test");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let id = |value: &Value| value.as_str().expect("a package is named").to_owned();
    let uses: HashMap<String, Vec<String>> = list(&said["resolve"]["nodes"])
        .iter()
        .map(|node| (id(&node["id"]), list(&node["dependencies"]).iter().map(id).collect()))
        .collect();
    let mut used = HashSet::new();
    let mut next: Vec<String> = list(&said["workspace_members"]).iter().map(id).collect();
    while let Some(package) = next.pop() {
        if used.insert(package.clone()) {
            next.extend(uses[&package].iter().cloned());
        }
    }
    list(&said["packages"]).into_iter().filter(|package| used.contains(&id(&package["id"]))).collect()
}

#[test]
fn libraries_are_such_as_may_be_shipped() {
    let rules = std::fs::read_to_string(repository().join("deny.toml")).expect("it is in the repository");
    let rules: toml::Value = toml::from_str(&rules).expect("cargo-deny reads it too");
    let (allowed, banned) = (words(&rules["licenses"], "allow"), words(&rules["bans"], "deny"));
    assert!(allowed.len() > 3 && !banned.is_empty(), "{allowed:?}, {banned:?}: the test has lost its sight");
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for package in packages() {
        let name = package["name"].as_str().expect("each has one");
        // Our own have no source.
        let Some(source) = package["source"].as_str() else { continue };
        seen += 1;
        if !source.starts_with("registry+") {
            wrong.push(format!("{name} is from {source}, not from the registry"));
        }
        if banned.contains(&name) {
            wrong.push(format!("{name} is banned"));
        }
        let licence = package["license"].as_str().unwrap_or_default();
        let may_be = Expression::parse_mode(licence, ParseMode::LAX)
            .is_ok_and(|licence| licence.evaluate(|asked| allowed.contains(&asked.to_string().as_str())));
        if !may_be {
            wrong.push(format!("{name}: no licence of '{licence}' is allowed"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 200, "only {seen} libraries were seen: the test has lost its sight");
}
