//! A public type's name is unique over all crates, so that it is unambiguous.

use crate::layers::{crates, read, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Exceptions that each crate has.
const EACH: [&str; 2] = ["Error", "Args"];

fn is_test(file: &Path) -> bool {
    file.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// The public type that a line declares, if any: at its beginning, or an enum inside `units::named!`.
fn public(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("    pub enum ").map_or(line, |_| &line[4..]).strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric()).next()
}

#[test]
fn a_public_type_s_name_stands_in_one_crate() {
    let mut homes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, folder) in crates() {
        let src = folder.join("src");
        let is_product = |file: &PathBuf| file.strip_prefix(&src).is_ok_and(|inside| !is_test(inside));
        for file in sources(&src).into_iter().filter(is_product) {
            for found in read(file).lines().filter_map(public) {
                homes.entry(found.to_owned()).or_default().insert(name.clone());
            }
        }
    }
    assert!(homes.len() > 300, "only {} public types were seen", homes.len());
    let shared = homes.iter().filter(|(name, homes)| homes.len() > 1 && !EACH.contains(&name.as_str()));
    let found: Vec<String> = shared.map(|(name, homes)| format!("{name} {homes:?}")).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
