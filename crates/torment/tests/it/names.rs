//! A public type's name stands in one crate: whoever reads it knows which is meant.

use crate::floors::{crates, read, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Each crate has its own of these.
const EACH: [&str; 2] = ["Error", "Args"];

/// Names of two crates or more that are still to be told apart: the list may only get shorter.
const SHARED: [&str; 77] = [
    "Answer",
    "Arrival",
    "Block",
    "Blocks",
    "Cache",
    "Call",
    "Cell",
    "Check",
    "Child",
    "Column",
    "Command",
    "Common",
    "Config",
    "Database",
    "Disk",
    "Ended",
    "Endpoint",
    "Estimate",
    "Expected",
    "Experiment",
    "Failure",
    "Figure",
    "Goal",
    "Group",
    "Judged",
    "Kind",
    "Level",
    "Limits",
    "Line",
    "Listener",
    "Live",
    "Load",
    "Machine",
    "Mapping",
    "Measure",
    "Median",
    "Memory",
    "Moment",
    "Options",
    "Order",
    "Outcome",
    "Part",
    "Partner",
    "Parts",
    "Peer",
    "Piece",
    "Point",
    "Postgres",
    "Probing",
    "Program",
    "Progress",
    "Reader",
    "Readings",
    "Recording",
    "Report",
    "Ring",
    "Role",
    "Row",
    "Search",
    "Series",
    "Service",
    "Socket",
    "Standing",
    "State",
    "Statement",
    "Step",
    "Stop",
    "Table",
    "Thread",
    "Ticks",
    "Times",
    "Unit",
    "Usage",
    "Verdict",
    "Wait",
    "Watch",
    "Whom",
];

fn is_test(file: &Path) -> bool {
    file.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// The type that a line makes public, if it does: at its beginning, or an enum inside of `units::named!`.
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
    let found: Vec<String> = shared.clone().map(|(name, homes)| format!("{name} {homes:?}")).collect();
    let names: Vec<&str> = shared.map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, SHARED, "all of them:\n{}", found.join("\n"));
}
