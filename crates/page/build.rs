//! Puts the page where the crate can include it: the output of `make page`, or else a page that says it is missing.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Built by npm, which is not called from here: a build needs no network.
const BUILT: &str = "ui/dist/index.html";
const FALLBACK: &str = "src/fallback.html";

fn main() {
    let is_built = Path::new(BUILT).is_file();
    // Cargo would treat a missing path as changed at every build.
    let watched = if !is_built && Path::new("ui").is_dir() { "ui" } else { BUILT };
    for path in [watched, FALLBACK, "build.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let from = if is_built { BUILT } else { FALLBACK };
    let to = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it")).join("page.html");
    fs::copy(from, &to).unwrap_or_else(|why| panic!("{from} cannot be copied to {}: {why}", to.display()));
}
