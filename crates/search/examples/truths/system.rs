//! What a simulated target is, and what is the matter with it.

use units::Nanos;

/// When requests arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// Evenly spaced.
    Even,
    /// Independent.
    Poisson,
}

/// How long a server is busy with a request, in seconds.
#[derive(Debug, Clone, Copy)]
pub enum Service {
    /// Always the same.
    Fixed(f64),
    /// Exponential with this mean.
    Exponential(f64),
}

/// What makes a target worse than a queue.
#[derive(Debug, Clone, Copy)]
pub enum Flaw {
    /// Each request also needs one of so many servers of a second, slower pool, and holds its own meanwhile.
    Behind(usize, Service),
    /// So many may wait; the next is answered 503 at once.
    Sheds(usize),
    /// Everything stands still: once in so many seconds, for so many.
    Stalls(f64, f64),
    /// Slower by this factor at first; 98 % of that is gone after so many requests.
    Warms(f64, f64),
    /// Service takes twice as long after so many seconds, linearly.
    Slows(f64),
    /// Five times slower for good once so many are outstanding.
    Breaks(usize),
    /// Once so many are outstanding it does this part of what it could, until all are answered.
    Sinks(usize, f64),
    /// Each request fails with this probability.
    Fails(f64),
    /// What it can do differs from second to second, as this series does from its mean.
    Moves(&'static [u16]),
    /// The same of one that does this part of it once so many are outstanding, until all are answered.
    MovesAndSinks(&'static [u16], usize, f64),
    /// The same of one that is half as quick for so many seconds, while its compiler is busy, and then of a sudden as quick as it is.
    MovesOnceCompiled(&'static [u16], f64),
    /// So many times slower for this share of the time; it stays as it is for so many seconds on average.
    States(f64, f64, f64),
    /// On a machine that others use, too: faster or slower by up to this share, for so many seconds on average, and so many times a second
    /// held up for 5 to 50 ms.
    Shared(f64, f64, f64),
    /// Slower by half after so many requests.
    Fills(f64),
    /// Two workers, each with half of the servers and a queue of its own: a request goes to the worker that took its connection, which is
    /// the one that became idle last, and if none is idle a new one. One of the workers takes more of them than the other, up to nine of
    /// ten. Connections idle for so many seconds are closed.
    Kept(f64),
    /// The generator makes at most so many requests a second, and is held up so many times a second for 5 to 50 ms.
    Lags(f64, f64),
}

/// A target under test.
#[derive(Debug, Clone, Copy)]
pub struct System {
    /// For people.
    pub name: &'static str,
    /// Of the load.
    pub arrivals: Arrivals,
    /// How many; none means without end.
    pub servers: Option<usize>,
    /// Of each.
    pub service: Service,
    /// What else.
    pub special: Option<Flaw>,
    /// When a request is given up.
    pub timeout: Nanos,
}
