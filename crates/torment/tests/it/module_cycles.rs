//! Module cycles within a crate: modules that need each other cannot be understood, moved or tested alone. Checked are
//! siblings in `src`, with all their contents; that a module and its parent name each other is normal Rust.

use crate::layers::{crates, read, sources, without_words};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Each module of a crate, and those that it names.
type ModuleUses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_crate_goes_in_circles() {
    let (mut found, mut edges) = (BTreeMap::new(), 0);
    for (name, folder) in crates() {
        let uses = uses(&folder.join("src"));
        edges += uses.values().map(BTreeSet::len).sum::<usize>();
        let circled = in_circles(&uses);
        if !circled.is_empty() {
            found.insert(name, circled);
        }
    }
    assert!(edges > 200, "only {edges} edges were seen: the test has lost its sight");
    assert!(found.is_empty(), "crates whose modules go in circles: {found:#?}");
}

fn uses(src: &Path) -> ModuleUses {
    let mut uses = ModuleUses::new();
    for file in sources(src) {
        let inside = file.strip_prefix(src).expect("it was found there").with_extension("");
        let mut names = inside.iter().map(|name| name.to_string_lossy().into_owned());
        let is_test = names.clone().any(|name| name.ends_with("tests"));
        let module = names.next().expect("a file has a name");
        if is_test || ["lib", "main"].contains(&module.as_str()) {
            continue;
        }
        let text = read(&file);
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        uses.entry(module).or_default().extend(named(&without_words(code)));
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    for (module, used) in &mut uses {
        used.retain(|name| name != module && modules.contains(name));
    }
    uses
}

/// The first segment of paths from the crate root.
fn named(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, root) in code.match_indices("crate::") {
        let rest = &code[at + root.len()..];
        // For `{a::b, c::{d, e}}` it is a and c.
        let (mut depth, mut begins) = (0, true);
        for (at, c) in rest.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => (depth, begins) = (depth - 1, false),
                ',' => begins |= depth == 1,
                _ if begins && !c.is_whitespace() => {
                    found.extend(
                        rest[at..]
                            .split(|c: char| !c.is_alphanumeric() && c != '_')
                            .next()
                            .map(str::to_owned),
                    );
                    begins = false;
                }
                _ => {}
            }
            if depth <= 0 && !begins {
                break;
            }
        }
    }
    found
}

/// Modules that depend on themselves through others.
fn in_circles(uses: &ModuleUses) -> Vec<String> {
    let needs_itself = |start: &&String| {
        let (mut reached, mut next) = (BTreeSet::new(), Vec::from_iter(&uses[*start]));
        while let Some(module) = next.pop() {
            if reached.insert(module) {
                next.extend(&uses[module]);
            }
        }
        reached.contains(start)
    };
    uses.keys().filter(needs_itself).cloned().collect()
}

#[test]
fn paths_and_circles_are_found() {
    for (code, expected) in [
        ("use crate::a::B;", "a"),
        ("use crate::{a::{b, c}, d, E};\nfn f(x: crate::f::G) -> x::h { i, j }", "E a d f"),
        ("use crate::{\n    a,\n    b::{c},\n};\nuse x::{y, z};", "a b"),
        ("use super::a; use b::crate_c;", ""),
    ] {
        assert_eq!(Vec::from_iter(named(code)).join(" "), expected, "{code}");
    }
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let edges = [("a", set(&["b"])), ("b", set(&["c"])), ("c", set(&["b", "d"])), ("d", set(&[]))];
    let uses = edges.map(|(name, used)| (name.to_owned(), used)).into();
    assert_eq!(in_circles(&uses), ["b", "c"]);
}
