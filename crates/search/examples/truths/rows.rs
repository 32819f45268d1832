//! The rows of the table: a system, and what a search should find.

use crate::noise::{ASGI_READS, JVM_READS, JVM_WRITES};
use crate::system::Arrivals::{self, Even, Poisson};
use crate::system::Service::{self, Exponential, Fixed};
use crate::system::{Flaw, System};
use crate::table::{PATIENT_TIMEOUT, Row, TIMEOUT, Truth};

const MS: f64 = 1e-3;

pub fn rows() -> Vec<Row> {
    [steady(), changing(), generator(), patient(), moving(), freezing(), losing(), sinking(), few()].concat()
}

pub fn steady() -> Vec<Row> {
    let behind = "100 workers of 2 ms before 10 connections of 5 ms (exponential), Poisson";
    vec![
        row("one server of 500 µs, even arrivals", Even, 1, Fixed(0.5 * MS), Truth::Held(2001.0, 2005.0)),
        row("10 servers of 20 ms, even arrivals", Even, 10, Fixed(20.0 * MS), Truth::Held(500.2, 501.2)),
        row("delay of 10 ms, no limit, `max` 3,000/s", Even, None, Fixed(10.0 * MS), Truth::Max).max(3000.0),
        row("M/D/1, 500 µs", Poisson, 1, Fixed(0.5 * MS), Truth::Held(1996.0, 2015.0)),
        random("M/M/16, 8 ms", Truth::Held(1978.0, 2007.0)),
        row("D/M/16, 8 ms", Even, 16, Exponential(8.0 * MS), Truth::Held(1991.0, 2013.0)),
        row(behind, Poisson, 100, Fixed(2.0 * MS), Truth::Held(1976.0, 2008.0))
            .with(Flaw::Behind(10, Exponential(5.0 * MS)))
            .required(0.9),
        even("D/D/16, 8 ms, answers 503 beyond 64 waiting", Truth::Held(2001.0, 2005.0))
            .with(Flaw::Sheds(64)),
        row(
            "one server of 5 ms, answers 503 if it is busy",
            Even,
            1,
            Fixed(5.0 * MS),
            Truth::Held(200.0, 200.0),
        )
        .with(Flaw::Sheds(0)),
        even("D/D/16, 8 ms, stands still 0.3 s in every 15 s", Truth::Between(1862.0, 2020.0))
            .with(Flaw::Stalls(15.0, 0.3)),
    ]
}

/// Targets that change during the search.
pub fn changing() -> Vec<Row> {
    vec![
        random("M/M/16 warming five-fold over 40,000 requests", Truth::Warm(2000.0))
            .with(Flaw::Warms(5.0, 40e3)),
        random("M/M/16 warming five-fold over 400,000 requests", Truth::Warm(2000.0))
            .with(Flaw::Warms(5.0, 400e3))
            .required(0.85),
        row("D/M/16 slowing to half over an hour", Even, 16, Exponential(8.0 * MS), Truth::Fading(2000.0))
            .with(Flaw::Slows(3600.0)),
        random("M/M/16 that breaks for good beyond 400 outstanding", Truth::Broken).with(Flaw::Breaks(400)),
    ]
}

/// The generator is the limit.
pub fn generator() -> Vec<Row> {
    let held_up = "M/M/16 under a generator that makes 1,500/s, and is held up every 3 s for 5 to 50 ms";
    vec![
        random("M/M/16 under a generator that makes 1,500/s", Truth::Generator(1500.0, 0.85))
            .with(Flaw::GeneratorLags(1500.0, 0.0)),
        random(held_up, Truth::Generator(1500.0, 0.6)).with(Flaw::GeneratorLags(1500.0, 0.3)),
    ]
}

/// Slow targets, with patience.
pub fn patient() -> Vec<Row> {
    let random = "random delay of 2 s in the mean, no limit, `max` 300/s";
    let servers = |name, truth| row(name, Even, 2000, Fixed(2.0), truth).patient();
    vec![
        row("delay of 1 s, no limit, `max` 3,000/s", Even, None, Fixed(1.0), Truth::Max)
            .patient()
            .max(3000.0),
        row("delay of 8 s, no limit, `max` 300/s", Even, None, Fixed(8.0), Truth::Max).patient().max(300.0),
        // Now and then an answer takes longer than the drain, so that rate is not clean.
        row(random, Poisson, None, Exponential(2.0), Truth::Max).patient().max(300.0).required(0.8),
        servers("2,000 servers of 2 s, even arrivals, trials of 40 s", Truth::Held(1004.0, 1006.0)).trial(40),
        servers("the same, trials of 10 s: too short for the width", Truth::Capacity(1000.0)).required(None),
    ]
}

/// Targets whose capacity changes every few seconds.
pub fn moving() -> Vec<Row> {
    vec![
        even("16 servers of 8 ms, as a JVM reads", Truth::Held(1588.0, 2023.0))
            .with(Flaw::Moves(JVM_READS))
            .required(0.9),
        even("16 servers of 8 ms, as a JVM writes", Truth::Held(1862.0, 1981.0))
            .with(Flaw::Moves(JVM_WRITES))
            .required(0.9),
        even(
            "16 servers of 8 ms, as a JVM writes, and does 0.85 of it once 200 wait, until none does",
            Truth::Held(1810.0, 1908.0),
        )
        .with(Flaw::MovesAndSinks(JVM_WRITES, 200, 0.85))
        .required(0.85),
        even(
            "16 servers of 8 ms, as a JVM writes, at half of it for 80 s, while it is compiled",
            Truth::Held(1862.0, 1981.0),
        )
        .with(Flaw::MovesOnceCompiled(JVM_WRITES, 80.0))
        .required(0.9),
        even("16 servers of 8 ms, as an event loop reads", Truth::Held(1711.0, 1992.0))
            .with(Flaw::Moves(ASGI_READS))
            .required(0.9),
        even("16 servers of 8 ms, twice as slow for 0.3 of the time, 3 s each", Truth::Held(1017.0, 1595.0))
            .with(Flaw::States(2.0, 0.3, 3.0))
            .required(0.9),
        even(
            "16 servers of 8 ms, a fifth slower for half of the time, 5 s each",
            Truth::Held(1612.0, 1713.0),
        )
        .with(Flaw::States(1.25, 0.5, 5.0))
        .required(0.9),
    ]
}

pub fn freezing() -> Vec<Row> {
    vec![
        even("16 servers of 8 ms, stands still 0.1 s in every 3 s", Truth::Between(1833.0, 2020.0))
            .with(Flaw::Stalls(3.0, 0.1)),
        even("16 servers of 8 ms, stands still 1 s in every 10 s", Truth::Held(2001.0, 2005.0))
            .with(Flaw::Stalls(10.0, 1.0)),
        even("16 servers of 8 ms, stands still 2 s in every 60 s", Truth::Between(1740.0, 2020.0))
            .with(Flaw::Stalls(60.0, 2.0)),
    ]
}

/// Targets that fail some requests at any rate.
pub fn losing() -> Vec<Row> {
    let truth = Truth::Held(2001.0, 2005.0);
    vec![
        even("16 servers of 8 ms, one of 10,000 requests fails", truth).with(Flaw::Fails(1e-4)),
        even("16 servers of 8 ms, one of 1,000 requests fails", truth).with(Flaw::Fails(1e-3)),
        even("16 servers of 8 ms, one of 100 requests fails", truth).with(Flaw::Fails(1e-2)),
    ]
}

/// Targets that slow down under a queue, or with the work done so far.
pub fn sinking() -> Vec<Row> {
    let (sinks, random_sinks) = (Truth::Held(2002.0, 2012.0), Truth::Held(1855.0, 1910.0));
    let unequal = "2 workers of 8 servers of 100 ms, one of which takes more of the connections";
    vec![
        even("16 servers of 8 ms, does 0.6 of it once 300 wait, until none does", sinks)
            .with(Flaw::Sinks(300, 0.6)),
        even("16 servers of 8 ms, does 0.92 of it once 100 wait, until none does", sinks)
            .with(Flaw::Sinks(100, 0.92)),
        random("M/M/16, 8 ms, does 0.92 of it once 100 wait, until none does", random_sinks)
            .with(Flaw::Sinks(100, 0.92))
            .required(0.8),
        random("M/M/16, 8 ms, does 0.6 of it once 100 wait, until none does", random_sinks)
            .with(Flaw::Sinks(100, 0.6))
            .required(0.8),
        row(unequal, Even, 16, Fixed(100.0 * MS), Truth::Between(128.0, 161.0))
            .with(Flaw::KeepsConnections(2.0))
            .required(0.6),
        even("16 servers of 8 ms, slower by half after 500,000 requests", Truth::Between(1300.0, 2000.0))
            .with(Flaw::Fills(500e3)),
    ]
}

pub fn few() -> Vec<Row> {
    let name = "M/M/4, 20 ms: capacity 200/s, too few requests for the width";
    vec![row(name, Poisson, 4, Exponential(20.0 * MS), Truth::Capacity(200.0)).required(None)]
}

/// Steady targets on shared machines: how much faster or slower that makes them, for how many seconds on average, and how often per
/// second they are held up. They lose a tenth at most.
pub fn shared() -> Vec<Row> {
    let machines = [
        ("±1 %, 8 s", 1, 0.01, 8.0, 1.0),
        ("±2 %, 8 s", 1, 0.02, 8.0, 1.0),
        ("±4 %, 4 s", 1, 0.04, 4.0, 2.0),
        ("±2 %, 20 s, 16 servers", 16, 0.02, 20.0, 0.5),
        ("±4 %, 20 s", 1, 0.04, 20.0, 1.0),
    ];
    let target = |(name, servers, by, stays, often): (_, usize, _, _, _)| {
        let service = Fixed(servers as f64 * 0.5 * MS);
        row(name, Even, servers, service, Truth::Between(1800.0, 2020.0))
            .with(Flaw::Shared(by, stays, often))
            .required(None)
    };
    machines.into_iter().map(target).collect()
}

/// 16 servers of 8 ms each, under an even load.
fn even(name: &'static str, truth: Truth) -> Row {
    row(name, Even, 16, Fixed(8.0 * MS), truth)
}

/// Random service times under a random load.
fn random(name: &'static str, truth: Truth) -> Row {
    row(name, Poisson, 16, Exponential(8.0 * MS), truth)
}

fn row(
    name: &'static str,
    arrivals: Arrivals,
    servers: impl Into<Option<usize>>,
    service: Service,
    truth: Truth,
) -> Row {
    let system = System { name, arrivals, servers: servers.into(), service, flaw: None, timeout: TIMEOUT };
    Row { system, truth, max: 1e6, trial_seconds: 10, required_share: Some(0.95) }
}

impl Row {
    /// Whether chance plays a part beyond the search's own coin tosses.
    pub fn is_random(&self) -> bool {
        let System { arrivals, service, flaw: special, .. } = self.system;
        let certain = matches!(
            special,
            None | Some(Flaw::Sheds(_) | Flaw::Slows(_) | Flaw::Breaks(_) | Flaw::Sinks(..) | Flaw::Fills(_))
        );
        !certain || arrivals == Poisson || matches!(service, Exponential(_))
    }

    fn with(mut self, special: Flaw) -> Self {
        self.system.flaw = Some(special);
        self
    }

    fn required(self, share: impl Into<Option<f64>>) -> Self {
        Self { required_share: share.into(), ..self }
    }

    fn max(self, max: f64) -> Self {
        Self { max, ..self }
    }

    fn trial(self, trial: u64) -> Self {
        Self { trial_seconds: trial, ..self }
    }

    fn patient(mut self) -> Self {
        self.system.timeout = PATIENT_TIMEOUT;
        self
    }
}
