//! What a simulated target is, and its flaws.

use units::Nanos;

/// When requests arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// Evenly spaced.
    Even,
    /// Independent of each other.
    Poisson,
}

/// How long a server is busy with a request, in seconds.
#[derive(Debug, Clone, Copy)]
pub enum Service {
    Fixed(f64),
    /// Exponential, with this mean.
    Exponential(f64),
}

/// What makes a target worse than a queue.
#[derive(Debug, Clone, Copy)]
pub enum Flaw {
    /// Each request also needs one of this many servers of a second, slower pool, and holds its own meanwhile.
    Behind(usize, Service),
    /// At most this many may wait; the next is answered 503 at once.
    Sheds(usize),
    /// Stalls: once every so many seconds, for so many seconds.
    Stalls(f64, f64),
    /// Slower by this factor at first; 98 % of that is gone after so many requests.
    Warms(f64, f64),
    /// Service time doubles over so many seconds, linearly.
    Slows(f64),
    /// Five times slower for good once this many are outstanding.
    Breaks(usize),
    /// Once this many are outstanding, it does only this share until all are answered.
    Sinks(usize, f64),
    /// Each request fails with this probability.
    Fails(f64),
    /// Capacity varies from second to second, as this series does around its mean.
    Moves(&'static [u16]),
    /// The same, and once this many are outstanding it does only this share until all are answered.
    MovesAndSinks(&'static [u16], usize, f64),
    /// The same, but half as fast for this many seconds, while its compiler is busy; then at full speed at once.
    MovesOnceCompiled(&'static [u16], f64),
    /// So many times slower for this share of the time; each state lasts so many seconds on average.
    States(f64, f64, f64),
    /// On a shared machine: faster or slower by up to this share, for so many seconds on average, and held up for 5 to 50 ms so many
    /// times a second.
    Shared(f64, f64, f64),
    /// Slower by half after this many requests.
    Fills(f64),
    /// Two workers, each with half of the servers and a queue of its own: a request goes to the worker that accepted its connection,
    /// which is the last to have become idle; if none is idle, to a new connection. One worker takes more of them, up to nine in ten.
    /// Connections idle for so many seconds are closed.
    KeepsConnections(f64),
    /// The generator sends at most so many requests a second, and is held up for 5 to 50 ms so many times a second.
    GeneratorLags(f64, f64),
}

/// A target under test.
#[derive(Debug, Clone, Copy)]
pub struct System {
    pub name: &'static str,
    pub arrivals: Arrivals,
    /// How many; none means unlimited.
    pub servers: Option<usize>,
    pub service: Service,
    /// Its flaw, if any.
    pub flaw: Option<Flaw>,
    /// When a request times out.
    pub timeout: Nanos,
}
