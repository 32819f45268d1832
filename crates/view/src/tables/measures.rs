//! Every measure of what was watched: its name, its unit, and where it stands in a window.

mod inside;
mod machine;
mod target;

pub(super) use inside::{JVM, METRICS, POSTGRES, SERIES, SESSIONS};
pub(super) use machine::{DISKS, HOST, NEIGHBOURS, NETWORK, OWN};
pub(super) use target::{CGROUP, LISTENERS, PEERS, PROCESS, STATES, SWEEP, THREADS, TITLES};

use record::watch::Usage;

/// A measure for whoever reads about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasureOf {
    /// What it was read from, or of what.
    pub source: &'static str,
    /// Its name within that.
    pub name: &'static str,
    /// `seconds`, `bytes`, `count` or `processors`.
    pub unit: &'static str,
    /// What it says, as a part of a sentence.
    pub about: &'static str,
}

/// A measure of one noun of a window.
pub(super) struct Measure<T> {
    pub name: &'static str,
    pub unit: &'static str,
    about: &'static str,
    pub value: fn(&T) -> Option<f64>,
}

/// The measures of a noun, and the source that they are told under.
pub(super) struct Source<T: 'static> {
    pub name: &'static str,
    pub measures: &'static [Measure<T>],
}

const fn seconds<T>(name: &'static str, about: &'static str, value: fn(&T) -> Option<f64>) -> Measure<T> {
    Measure { name, unit: "seconds", about, value }
}

const fn bytes<T>(name: &'static str, about: &'static str, value: fn(&T) -> Option<f64>) -> Measure<T> {
    Measure { name, unit: "bytes", about, value }
}

const fn count<T>(name: &'static str, about: &'static str, value: fn(&T) -> Option<f64>) -> Measure<T> {
    Measure { name, unit: "count", about, value }
}

fn whole(n: u64) -> Option<f64> {
    Some(n as f64)
}

fn ns(n: u64) -> Option<f64> {
    Some(n as f64 / 1e9)
}

fn us(n: u64) -> Option<f64> {
    Some(n as f64 / 1e6)
}

fn ms(n: u64) -> Option<f64> {
    Some(n as f64 / 1e3)
}

fn small(n: u32) -> Option<f64> {
    Some(f64::from(n))
}

fn used(usage: Option<Usage>) -> Option<f64> {
    usage.and_then(|usage| whole(usage.used))
}

fn limit(usage: Option<Usage>) -> Option<f64> {
    usage.and_then(|usage| whole(usage.limit))
}

/// Every measure there is, in the order of its sources.
pub fn measures() -> Vec<MeasureOf> {
    let all = [
        told(&PROCESS),
        told(&TITLES),
        told(&SWEEP),
        told(&THREADS),
        told(&STATES),
        told(&CGROUP),
        told(&LISTENERS),
        told(&PEERS),
        told(&JVM),
        told(&HOST),
        told(&DISKS),
        told(&NEIGHBOURS),
        told(&NETWORK),
        told(&POSTGRES),
        told(&SESSIONS),
        told(&METRICS),
        told(&SERIES),
        told(&OWN),
    ];
    all.concat()
}

fn told<T>(source: &Source<T>) -> Vec<MeasureOf> {
    let one = |measure: &Measure<T>| MeasureOf {
        source: source.name,
        name: measure.name,
        unit: measure.unit,
        about: measure.about,
    };
    source.measures.iter().map(one).collect()
}
