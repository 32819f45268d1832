//! The load generators: how each is found, run, and its output parsed. One file each.

mod ab;
mod h2load;
mod k6;
mod oha;
mod pgbench;
pub mod torment;
mod vegeta;
mod wrk;

use crate::child::ProcessResult;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use ab::AB;
pub use h2load::H2LOAD;
pub use k6::K6;
pub use oha::OHA;
pub use pgbench::PGBENCH;
pub use torment::{BEFORE, TORMENT};
pub use vegeta::VEGETA;
pub use wrk::{WRK, WRK2};

/// The load requested from every program of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadShape {
    /// A closed loop on these connections.
    Closed {
        /// How many.
        connections: u32,
    },
    /// A constant rate.
    Constant {
        /// Requests per second over all connections.
        rate: u32,
        /// Maximum.
        connections: u32,
        /// Whether a file of every answer may be kept where quantiles need it.
        every_answer: bool,
    },
    /// A closed loop on these HTTP/2 connections, without TLS or upgrade.
    Streams {
        /// How many.
        connections: u32,
        /// Requests in flight on each.
        streams: u32,
    },
    /// A closed loop on these connections to PostgreSQL, selecting one of a million accounts.
    Select {
        /// How many.
        connections: u32,
    },
}

/// A shape, a server, and a duration.
#[derive(Debug, Clone)]
pub struct GeneratorLoad {
    /// Target.
    pub url: String,
    /// Duration.
    pub seconds: u32,
    /// The shape.
    pub shape: LoadShape,
    /// Further arguments for this program.
    pub extra: &'static [&'static str],
    /// A scratch folder.
    pub scratch: PathBuf,
}

/// A program's own report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct GeneratorReport {
    /// Requests answered as expected.
    pub answered: u64,
    /// All others.
    pub failed: u64,
    /// Duration, if reported.
    pub seconds: Option<f64>,
    /// Median response time.
    pub p50_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
}

/// A load generator.
#[derive(Debug)]
pub struct GeneratorProgram {
    /// Its usual name.
    pub name: &'static str,
    /// Its file name.
    pub program: &'static str,
    /// How to get it.
    pub install: &'static str,
    /// The option that prints its version.
    pub version: &'static str,
    /// Its arguments for a load; none for an unsupported shape. May write to the scratch folder.
    pub arguments: fn(&GeneratorLoad) -> Option<Vec<String>>,
    /// Parses its report after a load.
    pub parse: fn(&GeneratorLoad, &InstalledGenerator, &ProcessResult) -> Option<GeneratorReport>,
}

/// An installed program.
#[derive(Debug, Clone)]
pub struct InstalledGenerator {
    /// Which.
    pub program: &'static GeneratorProgram,
    /// Its file.
    pub path: PathBuf,
    /// Its version, such as `4.1.0`.
    pub version: String,
}

impl InstalledGenerator {
    /// Searches the usual folders. `None` if it is not installed.
    pub fn find(program: &'static GeneratorProgram) -> Option<Self> {
        Some(Self::at(program, find_program(program.program)?))
    }

    /// This file, whatever its name.
    pub fn at(program: &'static GeneratorProgram, path: PathBuf) -> Self {
        let version = first_number(&output_of(&path, &[program.version])).unwrap_or_default();
        Self { program, path, version }
    }

    /// Whether `torment run` knows an option; other programs are assumed to.
    pub fn has_option(&self, option: &str) -> bool {
        output_of(&self.path, &["run", "--help"]).split_whitespace().any(|word| word == option)
    }
}

/// A program's file: in PATH, or in Debian's folders for administrators.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let postgres = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let postgres = postgres.map(|entry| entry.path().join("bin"));
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .chain(postgres)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Standard output and error of a program; empty if it cannot be run.
pub fn output_of(program: &Path, arguments: &[&str]) -> String {
    let Ok(output) = Command::new(program).args(arguments).output() else { return String::new() };
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
}

/// The first word with a digit and a dot, from its first digit: `4.1.0-3` of `wrk debian/4.1.0-3`.
pub fn first_number(text: &str) -> Option<String> {
    let word = text
        .split_whitespace()
        .find(|word| word.contains('.') && word.chars().any(|c| c.is_ascii_digit()))?;
    let word = word.rsplit('/').next()?;
    Some(word.trim_start_matches(|c: char| !c.is_ascii_digit()).to_owned())
}

/// Splits a command line without quoting.
fn split(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The number that follows `after` anywhere in a text, with digits and one dot.
fn number_after(text: &str, after: &str) -> Option<f64> {
    let rest = text.split_once(after)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A count, like [`number_after`].
fn count_after(text: &str, after: &str) -> Option<u64> {
    let rest = text.split_once(after)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Parses a time such as `512.00us`, `1.02ms`, `1.5s` or `2m` to microseconds.
fn microseconds(text: &str) -> Option<f64> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let value: f64 = text[..at].parse().ok()?;
    let unit = match &text[at..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        _ => return None,
    };
    Some(value * unit)
}

/// Time limit of a program: some are slow to start or to summarise.
pub fn time_limit(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds) * 3 + 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_the_programs_print() {
        for (text, version) in [
            ("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer", "4.1.0-3+b2"),
            ("h2load nghttp2/1.52.0\n", "1.52.0"),
            ("k6 v1.8.1 (go1.26.8, linux/amd64)", "1.8.1"),
            ("nginx version: nginx/1.22.1\n", "1.22.1"),
            ("This is ApacheBench, Version 2.3 <$Revision: 1 $>", "2.3"),
            ("pgbench (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18"),
            ("Version: v12.13.0\nCommit: 1234", "12.13.0"),
        ] {
            assert_eq!(first_number(text).as_deref(), Some(version));
        }
        assert_eq!(first_number("no such thing"), None);
    }

    #[test]
    fn numbers_and_times_are_read() {
        assert_eq!(number_after("Requests/sec:  53291.54\n", "Requests/sec:"), Some(53291.54));
        assert_eq!(count_after("requests: 106554 total", "requests:"), Some(106_554));
        assert_eq!(count_after("requests: many", "requests:"), None);
        for (text, us) in [("606us", 606.0), ("1.20ms", 1200.0), ("1.5s", 1.5e6), ("2m", 120e6)] {
            assert_eq!(microseconds(text), Some(us));
        }
        assert_eq!((microseconds("12"), microseconds("-nan")), (None, None));
    }

    #[test]
    fn every_program_makes_a_load_and_says_how_to_get_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for peer in [&TORMENT, &WRK, &WRK2, &H2LOAD, &OHA, &K6, &VEGETA, &AB, &PGBENCH] {
            let makes = |shape| {
                let url = "http://127.0.0.1:8080/".to_owned();
                let scratch = folder.path().to_owned();
                (peer.arguments)(&GeneratorLoad { url, seconds: 2, shape, extra: &[], scratch }).is_some()
            };
            let sql = makes(LoadShape::Select { connections: 16 });
            assert_eq!(sql, ["torment", "pgbench"].contains(&peer.name), "{}", peer.name);
            assert_eq!(makes(LoadShape::Closed { connections: 64 }), peer.name != "pgbench", "{}", peer.name);
            assert!(!peer.install.is_empty());
        }
    }
}
