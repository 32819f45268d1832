//! The programs: how each is found, told what to do, and understood. One file for each.

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

/// What is asked of every program of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadShape {
    /// As fast as these connections go, each waiting for its answer.
    Closed {
        /// How many.
        connections: u32,
    },
    /// So many requests a second.
    Constant {
        /// Of all connections together.
        rate: u32,
        /// At most.
        connections: u32,
        /// Whether a file of every answer may be kept where there are no quantiles without.
        every_answer: bool,
    },
    /// As fast as these HTTP/2 connections go, spoken without TLS or upgrade.
    Streams {
        /// How many.
        connections: u32,
        /// Requests under way on each.
        streams: u32,
    },
    /// As fast as these connections to PostgreSQL select one of a million accounts.
    Select {
        /// How many.
        connections: u32,
    },
}

/// A shape, on a server, for a time.
#[derive(Debug, Clone)]
pub struct GeneratorLoad {
    /// Where.
    pub url: String,
    /// For how long.
    pub seconds: u32,
    /// What.
    pub shape: LoadShape,
    /// Further arguments for this program.
    pub extra: &'static [&'static str],
    /// A folder of ours.
    pub scratch: PathBuf,
}

/// What a program says it did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct GeneratorReport {
    /// Requests answered as they should be.
    pub answered: u64,
    /// All others.
    pub failed: u64,
    /// For how long, if it says so.
    pub seconds: Option<f64>,
    /// Half of the requests took at most this long.
    pub p50_us: Option<f64>,
    /// All but one in a hundred.
    pub p99_us: Option<f64>,
}

/// A program that makes load.
#[derive(Debug)]
pub struct GeneratorProgram {
    /// As its users call it.
    pub name: &'static str,
    /// The file's name.
    pub program: &'static str,
    /// How to get it.
    pub get: &'static str,
    /// What makes it say its version.
    pub version: &'static str,
    /// Its arguments for a load; none for a shape that it cannot make. May write to the scratch folder.
    pub arguments: fn(&GeneratorLoad) -> Option<Vec<String>>,
    /// What it says of a load that has ended.
    pub said: fn(&GeneratorLoad, &InstalledGenerator, &ProcessResult) -> Option<GeneratorReport>,
}

/// A program that is here.
#[derive(Debug, Clone)]
pub struct InstalledGenerator {
    /// Which.
    pub peer: &'static GeneratorProgram,
    /// Its file.
    pub path: PathBuf,
    /// What it calls itself, such as `4.1.0`.
    pub version: String,
}

impl InstalledGenerator {
    /// Looks where programs lie. `None` if it is not there.
    pub fn find(peer: &'static GeneratorProgram) -> Option<Self> {
        Some(Self::at(peer, find_program(peer.program)?))
    }

    /// This file, whatever it is called.
    pub fn at(peer: &'static GeneratorProgram, path: PathBuf) -> Self {
        let version = first_number(&output_of(&path, &[peer.version])).unwrap_or_default();
        Self { peer, path, version }
    }

    /// Whether `torment run` knows an option; other programs are taken as they are.
    pub fn has_option(&self, option: &str) -> bool {
        output_of(&self.path, &["run", "--help"]).split_whitespace().any(|word| word == option)
    }
}

/// A program's file: in PATH, or where Debian keeps what ordinary users do not look for.
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

/// All that a program prints, to either side; nothing if it cannot be run.
pub fn output_of(program: &Path, arguments: &[&str]) -> String {
    let Ok(output) = Command::new(program).args(arguments).output() else { return String::new() };
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
}

/// The first word with a number and a point in it, from its first digit: `4.1.0-3` of `wrk debian/4.1.0-3`.
pub fn first_number(text: &str) -> Option<String> {
    let word = text
        .split_whitespace()
        .find(|word| word.contains('.') && word.chars().any(|c| c.is_ascii_digit()))?;
    let word = word.rsplit('/').next()?;
    Some(word.trim_start_matches(|c: char| !c.is_ascii_digit()).to_owned())
}

/// The arguments of a command line without anything to quote.
fn split(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The number that follows `after`, with digits and one point, anywhere in a text.
fn number_after(text: &str, after: &str) -> Option<f64> {
    let rest = text.split_once(after)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A count, as [`number`].
fn count_after(text: &str, after: &str) -> Option<u64> {
    let rest = text.split_once(after)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A time such as `512.00us`, `1.02ms`, `1.5s` or `2m` in microseconds.
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

/// How long a program may take for a load before it is ended: some are slow to begin or to sum up.
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
            assert!(!peer.get.is_empty());
        }
    }
}
