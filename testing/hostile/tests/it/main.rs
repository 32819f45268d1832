//! Replays the fuzzers' corpus: real samples, inputs that reach otherwise unreached parts of a reader, and
//! those that once broke a promise.

mod links;
mod mutants;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use torment_hostile::READERS;

const FUZZ: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz");

/// The entries of a folder, by name.
fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    paths.sort();
    paths
}

fn names(paths: &[PathBuf]) -> BTreeSet<&str> {
    paths.iter().filter_map(|path| path.file_stem()?.to_str()).collect()
}

/// A reader's corpus.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let files = list(&Path::new(FUZZ).join("corpus").join(name));
    files.iter().map(|file| fs::read(file).expect("it is there")).collect()
}

/// Peak memory of this process so far, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("it is there");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is told");
    peak.trim().trim_end_matches(" kB").parse::<u64>().expect("it is a number") << 10
}

/// Prints which file it was if a reader panics.
struct NamesFileOnPanic<'a>(&'a Path);

impl Drop for NamesFileOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("fed with {}", self.0.display());
        }
    }
}

#[test]
fn what_the_fuzzers_kept_breaks_no_promise() {
    for (name, read) in READERS {
        let files = list(&Path::new(FUZZ).join("corpus").join(name));
        assert!(!files.is_empty(), "fuzz/corpus/{name} is empty");
        for file in &files {
            let _fed = NamesFileOnPanic(file);
            read(&fs::read(file).expect("it is there"));
        }
    }
}

#[test]
fn every_fuzzer_has_a_reader_and_what_it_kept() {
    let readers: BTreeSet<&str> = READERS.iter().map(|(name, _)| *name).collect();
    let (programs, folders) =
        (list(&Path::new(FUZZ).join("fuzz_targets")), list(&Path::new(FUZZ).join("corpus")));
    assert_eq!(names(&programs), readers);
    assert_eq!(names(&folders), readers);
}
