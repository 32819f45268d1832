//! Architecture rules, checked against manifests and sources: which floor may use which, and what is absent. The floors
//! are those of the table in ARCHITECTURE.md, which is thereby kept true.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// From below to above. The last, in its own folder, is for tests and measurements alone: nobody below may use it but
/// as a dev-dependency, which is not checked here.
const FLOORS: [&str; 5] = ["ground", "first", "second", "roof", TESTING];
const TESTING: &str = "testing";

pub fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Crate and number of its floor, from lines such as `| first | `engine` | … |`; the floor is named once, for its first
/// crate.
fn floors() -> BTreeMap<String, usize> {
    let page = read(Path::new(ROOT).join("ARCHITECTURE.md"));
    let mut floors = BTreeMap::new();
    let mut floor = None;
    for row in page.lines().filter_map(|line| line.strip_prefix('|')) {
        let mut cells = row.split('|').map(str::trim);
        let (Some(first), Some(second)) = (cells.next(), cells.next()) else { continue };
        let Some(name) = second.strip_prefix('`').and_then(|s| s.strip_suffix('`')) else { continue };
        if !first.is_empty() {
            let at = FLOORS.iter().position(|f| *f == first);
            floor = Some(at.unwrap_or_else(|| panic!("ARCHITECTURE.md: '{first}' is no floor")));
        }
        let floor = floor.expect("the first crate of the table has a floor");
        assert!(floors.insert(name.to_owned(), floor).is_none(), "ARCHITECTURE.md names '{name}' twice");
    }
    assert_eq!(floors.values().max(), Some(&4), "the table of ARCHITECTURE.md was not found");
    floors
}

/// Name and folder of every crate.
pub fn crates() -> Vec<(String, PathBuf)> {
    let mut crates = Vec::new();
    for folder in ["crates", TESTING] {
        let folders = fs::read_dir(Path::new(ROOT).join(folder)).expect("the workspace has crates");
        crates.extend(
            folders
                .map(|entry| entry.expect("a folder can be read"))
                .filter(|entry| entry.path().join("Cargo.toml").is_file())
                .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())),
        );
    }
    crates.sort();
    assert!(crates.len() > 10, "only {} crates were seen", crates.len());
    crates
}

/// The folder of a floor's crates.
fn folder_of(floor: usize) -> &'static str {
    if FLOORS[floor] == TESTING { TESTING } else { "crates" }
}

/// The manifest's tables of that name, including those for single platforms.
fn tables<'a>(manifest: &'a toml::Table, name: &str) -> Vec<&'a toml::Table> {
    let targets =
        manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    let places = std::iter::once(manifest).chain(targets.filter_map(toml::Value::as_table));
    places.filter_map(|place| place.get(name)?.as_table()).collect()
}

#[test]
fn no_crate_uses_one_above_it() {
    let floors = floors();
    let mut wrong = Vec::new();
    let mut edges = 0;
    for (name, folder) in crates() {
        let Some(&floor) = floors.get(&name) else {
            wrong.push(format!("{} is not in the table of ARCHITECTURE.md", folder.display()));
            continue;
        };
        let manifest: toml::Table = read(folder.join("Cargo.toml")).parse().expect("cargo reads it too");
        for table in
            tables(&manifest, "dependencies").into_iter().chain(tables(&manifest, "build-dependencies"))
        {
            for (key, value) in table {
                // Ours are named after their folder; a rename or a path must not hide one.
                let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
                let used = package.strip_prefix("torment-").unwrap_or(package);
                let Some(&below) = floors.get(used) else {
                    assert!(value.get("path").is_none(), "crates/{name} uses {key} by a path of its own");
                    continue;
                };
                edges += 1;
                if below > floor {
                    wrong.push(format!(
                        "crates/{name} ({} floor) uses {used} ({} floor)",
                        FLOORS[floor], FLOORS[below]
                    ));
                }
            }
        }
    }
    for (name, floor) in &floors {
        let folder = Path::new(folder_of(*floor)).join(name);
        if !Path::new(ROOT).join(&folder).is_dir() {
            wrong.push(format!("ARCHITECTURE.md names '{name}', there is no {}", folder.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(edges > 20, "only {edges} edges were seen: the test has lost its sight");
}

#[test]
fn ground_crates_have_the_lints_of_the_ground() {
    let lints = fs::read(Path::new(ROOT).join("lints/ground.toml")).expect("lints/ground.toml");
    for (name, floor) in floors() {
        let clippy = Path::new(ROOT).join(folder_of(floor)).join(&name).join("clippy.toml");
        let alike = fs::read(&clippy).is_ok_and(|text| text == lints);
        assert_eq!(alike, floor == 0, "{} and lints/ground.toml", clippy.display());
    }
}

#[test]
fn only_sys_is_unsafe() {
    let mut in_sys = 0;
    for (name, folder) in crates() {
        for file in sources(&folder) {
            let code = without_words(&read(&file));
            let uses = code
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|word| *word == "unsafe")
                .count();
            if name == "sys" {
                in_sys += uses;
            } else {
                assert_eq!(uses, 0, "{}: unsafe belongs in crates/sys", file.display());
            }
        }
        let manifest: toml::Table = read(folder.join("Cargo.toml")).parse().expect("cargo reads it too");
        let inherits = manifest["lints"].get("workspace").and_then(toml::Value::as_bool) == Some(true);
        assert!(inherits || name == "sys", "crates/{name} does not take the workspace's lints");
    }
    assert!(in_sys > 0, "sys holds no unsafe: the test has lost its sight");
}

#[test]
fn nothing_below_the_roof_prints() {
    let floors = floors();
    for (name, folder) in crates() {
        if floors.get(&name).is_none_or(|floor| ["roof", TESTING].contains(&FLOORS[*floor])) {
            continue;
        }
        for file in sources(&folder.join("src")) {
            // Tests may print; they are at the end of a file, or in their own.
            if file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests")) {
                continue;
            }
            let text = read(&file);
            let code = without_words(text.split("#[cfg(test)]").next().unwrap_or_default());
            // A descriptor prints nothing.
            let code = code.replace("rustix::stdio::", "");
            for word in ["println!", "print!", "dbg!", "tracing::", "io::stdout", "io::stderr"] {
                assert!(!code.contains(word), "{}: {word} below the roof", file.display());
            }
        }
    }
}

/// All Rust files in a folder and below.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// Rust source without comments and the content of strings and characters.
pub fn without_words(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let after_name = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if first == '"' {
            string(rest, 0)
        } else if let Some(skip) = raw_string(rest).filter(|_| !after_name) {
            skip
        } else if first == '\'' {
            character(rest)
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        code.push(' ');
        rest = &rest[length..];
    }
    code
}

/// Length of a comment that may contain others.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Length of a string whose opening quote is at `from`.
fn string(text: &str, from: usize) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(from + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a string such as `r#"…"#`, if there is one.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let inside = after[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inside.find(&close).map_or(inside.len(), |at| at + close.len());
    Some(text.len() - inside.len() + end)
}

/// Length of a character such as `'"'`, or of the quote alone where a lifetime begins.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => {
            text[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 3)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[test]
fn comments_and_strings_are_told_from_code() {
    for (source, expected) in [
        ("a // unsafe\nb", "a  \nb"),
        ("a /* unsafe /* x */ unsafe */ b", "a   b"),
        (r#"f("unsafe \" unsafe") b"#, "f( ) b"),
        ("f(r#\"unsafe \" x\"#) b", "f( ) b"),
        ("f(br\"unsafe\\\") b", "f( ) b"),
        ("f('\"') unsafe", "f( ) unsafe"),
        (r"f('\'', '\\', '\u{41}') b", "f( ,  ,  ) b"),
        ("f<'a>(x: &'a str) unsafe", "f< a>(x: & a str) unsafe"),
        ("bar\"x\"", "bar "),
    ] {
        assert_eq!(without_words(source), expected, "{source}");
    }
}
