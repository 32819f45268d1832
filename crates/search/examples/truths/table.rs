//! The systems, what counts as right for each, and what a search makes of them.

use crate::noise::{ASGI_READS, JVM_READS, JVM_WRITES};
use crate::simulate::{Arrivals, Service, System, Target, Trait};
use plan::{Goal, Objective};
use record::{Ended, Limit, LimitUnit, Purpose, Verdict};
use torment_search::{Config, Search, Step};
use units::{Nanos, Rate, Share};

/// The goals' width in all rows.
pub const WIDTH: f64 = 0.02;

/// When a simulated request is usually given up.
pub const TIMEOUT: Nanos = Nanos::from_secs(5);
/// When one is that takes long.
const PATIENT: Nanos = Nanos::from_secs(30);

/// The share of trials that must be right at the rate that is held.
const MOST: f64 = 0.9;

/// What a search should say.
#[derive(Debug, Clone, Copy)]
pub enum Truth {
    /// Both lower bounds within a width of this rate.
    Capacity(f64),
    /// What nine of ten trials hold, and half of them, are between these rates.
    Between(f64, f64),
    /// The lower bounds at least 0.95 of this rate and at most a width above, or `NonStationary`.
    Warm(f64),
    /// The lower bounds within a width of what the target could do from the first trial at that rate
    /// until the search ended, or `NonStationary`.
    Fading(f64),
    /// The rates that nine of ten trials hold, and half of them: both intervals contain them, give or take a quarter of the width.
    Held(f64, f64),
    /// `MaxReached` with the lower bounds at the largest rate.
    Max,
    /// `GeneratorLimit` with the lower bounds between this share of this rate and this rate.
    Generator(f64, f64),
    /// `NotRecovered`.
    Broken,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The target.
    pub system: System,
    /// What is right.
    pub truth: Truth,
    /// The largest rate tried.
    pub max: f64,
    /// How long a trial lasts, in seconds.
    pub trial: u64,
    /// The share of seeds that must be right; none where the row shows what does not hold.
    pub asked: Option<f64>,
}

/// All rows.
pub fn rows() -> Vec<Row> {
    use Arrivals::{Even, Poisson};
    use Service::{Exponential, Fixed};
    let row = |name, arrivals, servers, service, special, truth| Row {
        system: System { name, arrivals, servers, service, special, timeout: TIMEOUT },
        truth,
        max: 1e6,
        trial: 10,
        asked: Some(0.95),
    };
    // Takes long, and is waited for.
    let slow = |row: Row, max| {
        let system = System { timeout: PATIENT, ..row.system };
        Row { system, max, ..row }
    };
    let sixteen = Some(16);
    let ms = |n: f64| n / 1e3;
    vec![
        row(
            "one server of 500 µs, even arrivals",
            Even,
            Some(1),
            Fixed(ms(0.5)),
            None,
            Truth::Held(2001.0, 2005.0),
        ),
        row(
            "10 servers of 20 ms, even arrivals",
            Even,
            Some(10),
            Fixed(ms(20.0)),
            None,
            Truth::Held(500.2, 501.2),
        ),
        Row {
            max: 3000.0,
            ..row("delay of 10 ms, no limit, `max` 3,000/s", Even, None, Fixed(ms(10.0)), None, Truth::Max)
        },
        row("M/D/1, 500 µs", Poisson, Some(1), Fixed(ms(0.5)), None, Truth::Held(1996.0, 2015.0)),
        row("M/M/16, 8 ms", Poisson, sixteen, Exponential(ms(8.0)), None, Truth::Held(1978.0, 2007.0)),
        row("D/M/16, 8 ms", Even, sixteen, Exponential(ms(8.0)), None, Truth::Held(1991.0, 2013.0)),
        Row {
            asked: Some(0.9),
            ..row(
                "100 workers of 2 ms before 10 connections of 5 ms (exponential), Poisson",
                Poisson,
                Some(100),
                Fixed(ms(2.0)),
                Some(Trait::Behind(10, Exponential(ms(5.0)))),
                Truth::Held(1976.0, 2008.0),
            )
        },
        row(
            "D/D/16, 8 ms, answers 503 beyond 64 waiting",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Sheds(64)),
            Truth::Held(2001.0, 2005.0),
        ),
        row(
            "one server of 5 ms, answers 503 if it is busy",
            Even,
            Some(1),
            Fixed(ms(5.0)),
            Some(Trait::Sheds(0)),
            Truth::Held(200.0, 200.0),
        ),
        row(
            "D/D/16, 8 ms, stands still 0.3 s in every 15 s",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Stalls(15.0, 0.3)),
            Truth::Between(1862.0, 2020.0),
        ),
        row(
            "M/M/16 warming five-fold over 40,000 requests",
            Poisson,
            sixteen,
            Exponential(ms(8.0)),
            Some(Trait::Warms(5.0, 40e3)),
            Truth::Warm(2000.0),
        ),
        row(
            "M/M/16 warming five-fold over 400,000 requests",
            Poisson,
            sixteen,
            Exponential(ms(8.0)),
            Some(Trait::Warms(5.0, 400e3)),
            Truth::Warm(2000.0),
        ),
        row(
            "D/M/16 slowing to half over an hour",
            Even,
            sixteen,
            Exponential(ms(8.0)),
            Some(Trait::Slows(3600.0)),
            Truth::Fading(2000.0),
        ),
        row(
            "M/M/16 that breaks for good beyond 400 outstanding",
            Poisson,
            sixteen,
            Exponential(ms(8.0)),
            Some(Trait::Breaks(400)),
            Truth::Broken,
        ),
        row(
            "M/M/16 under a generator that makes 1,500/s",
            Poisson,
            sixteen,
            Exponential(ms(8.0)),
            Some(Trait::Lags(1500.0, 0.0)),
            Truth::Generator(1500.0, 0.85),
        ),
        row(
            "M/M/16 under a generator that makes 1,500/s, and is held up every 3 s for 5 to 50 ms",
            Poisson,
            sixteen,
            Exponential(ms(8.0)),
            Some(Trait::Lags(1500.0, 0.3)),
            Truth::Generator(1500.0, 0.6),
        ),
        slow(row("delay of 1 s, no limit, `max` 3,000/s", Even, None, Fixed(1.0), None, Truth::Max), 3000.0),
        slow(row("delay of 8 s, no limit, `max` 300/s", Even, None, Fixed(8.0), None, Truth::Max), 300.0),
        // Now and then an answer takes longer than the drain, and that rate is not clean.
        Row {
            asked: Some(0.8),
            ..slow(
                row(
                    "random delay of 2 s in the mean, no limit, `max` 300/s",
                    Poisson,
                    None,
                    Exponential(2.0),
                    None,
                    Truth::Max,
                ),
                300.0,
            )
        },
        Row {
            trial: 40,
            ..slow(
                row(
                    "2,000 servers of 2 s, even arrivals, trials of 40 s",
                    Even,
                    Some(2000),
                    Fixed(2.0),
                    None,
                    Truth::Held(1004.0, 1006.0),
                ),
                1e6,
            )
        },
        Row {
            asked: None,
            ..slow(
                row(
                    "the same, trials of 10 s: too short for the width",
                    Even,
                    Some(2000),
                    Fixed(2.0),
                    None,
                    Truth::Capacity(1000.0),
                ),
                1e6,
            )
        },
        Row {
            asked: Some(0.9),
            ..row(
                "16 servers of 8 ms, as a JVM reads",
                Even,
                sixteen,
                Fixed(ms(8.0)),
                Some(Trait::Moves(JVM_READS)),
                Truth::Held(1588.0, 2023.0),
            )
        },
        Row {
            asked: Some(0.9),
            ..row(
                "16 servers of 8 ms, as a JVM writes",
                Even,
                sixteen,
                Fixed(ms(8.0)),
                Some(Trait::Moves(JVM_WRITES)),
                Truth::Held(1862.0, 1981.0),
            )
        },
        Row {
            asked: Some(0.9),
            ..row(
                "16 servers of 8 ms, as an event loop reads",
                Even,
                sixteen,
                Fixed(ms(8.0)),
                Some(Trait::Moves(ASGI_READS)),
                Truth::Held(1711.0, 1992.0),
            )
        },
        Row {
            asked: Some(0.8),
            ..row(
                "16 servers of 8 ms, twice as slow for 0.3 of the time, 3 s each",
                Even,
                sixteen,
                Fixed(ms(8.0)),
                Some(Trait::States(2.0, 0.3, 3.0)),
                Truth::Held(1017.0, 1595.0),
            )
        },
        Row {
            asked: Some(0.8),
            ..row(
                "16 servers of 8 ms, a fifth slower for half of the time, 5 s each",
                Even,
                sixteen,
                Fixed(ms(8.0)),
                Some(Trait::States(1.25, 0.5, 5.0)),
                Truth::Held(1612.0, 1713.0),
            )
        },
        row(
            "16 servers of 8 ms, stands still 0.1 s in every 3 s",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Stalls(3.0, 0.1)),
            Truth::Between(1833.0, 2020.0),
        ),
        row(
            "16 servers of 8 ms, stands still 1 s in every 10 s",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Stalls(10.0, 1.0)),
            Truth::Held(2001.0, 2005.0),
        ),
        row(
            "16 servers of 8 ms, stands still 2 s in every 60 s",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Stalls(60.0, 2.0)),
            Truth::Between(1740.0, 2020.0),
        ),
        row(
            "16 servers of 8 ms, one of 10,000 requests fails",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Fails(1e-4)),
            Truth::Held(2001.0, 2005.0),
        ),
        row(
            "16 servers of 8 ms, one of 1,000 requests fails",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Fails(1e-3)),
            Truth::Held(2001.0, 2005.0),
        ),
        row(
            "16 servers of 8 ms, one of 100 requests fails",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Fails(1e-2)),
            Truth::Held(2001.0, 2005.0),
        ),
        row(
            "16 servers of 8 ms, does 0.6 of it once 300 wait, until none does",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Sinks(300, 0.6)),
            Truth::Held(2002.0, 2012.0),
        ),
        row(
            "16 servers of 8 ms, does 0.92 of it once 100 wait, until none does",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Sinks(100, 0.92)),
            Truth::Held(2002.0, 2012.0),
        ),
        Row {
            asked: Some(0.8),
            ..row(
                "M/M/16, 8 ms, does 0.92 of it once 100 wait, until none does",
                Poisson,
                sixteen,
                Exponential(ms(8.0)),
                Some(Trait::Sinks(100, 0.92)),
                Truth::Held(1855.0, 1910.0),
            )
        },
        Row {
            asked: Some(0.8),
            ..row(
                "M/M/16, 8 ms, does 0.6 of it once 100 wait, until none does",
                Poisson,
                sixteen,
                Exponential(ms(8.0)),
                Some(Trait::Sinks(100, 0.6)),
                Truth::Held(1855.0, 1910.0),
            )
        },
        Row {
            asked: Some(0.6),
            ..row(
                "2 workers of 8 servers of 100 ms, one of which takes more of the connections",
                Even,
                sixteen,
                Fixed(0.1),
                Some(Trait::Kept(2.0)),
                Truth::Between(128.0, 161.0),
            )
        },
        row(
            "16 servers of 8 ms, slower by half after 500,000 requests",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Fills(500e3)),
            Truth::Between(1300.0, 2000.0),
        ),
        Row {
            asked: None,
            ..row(
                "M/M/4, 20 ms: capacity 200/s, too few requests for the width",
                Poisson,
                Some(4),
                Exponential(ms(20.0)),
                None,
                Truth::Capacity(200.0),
            )
        },
    ]
}

/// Steady targets on machines that others use, too: by how much that makes them faster or slower, for how many seconds on average, and how often
/// a second it holds them up. They lose a tenth at most.
pub fn shared() -> Vec<Row> {
    let machines = [
        ("±1 %, 8 s", 1, 0.01, 8.0, 1.0),
        ("±2 %, 8 s", 1, 0.02, 8.0, 1.0),
        ("±4 %, 4 s", 1, 0.04, 4.0, 2.0),
        ("±2 %, 20 s, 16 servers", 16, 0.02, 20.0, 0.5),
        ("±4 %, 20 s", 1, 0.04, 20.0, 1.0),
    ];
    let target = |(name, servers, by, stays, often): (_, usize, _, _, _)| {
        let service = Service::Fixed(servers as f64 * 500e-6);
        let special = Some(Trait::Shared(by, stays, often));
        let arrivals = Arrivals::Even;
        let system = System { name, arrivals, servers: Some(servers), service, special, timeout: TIMEOUT };
        Row { system, truth: Truth::Between(1800.0, 2020.0), max: 1e6, trial: 10, asked: None }
    };
    machines.into_iter().map(target).collect()
}

/// What one search came to.
#[derive(Debug, Clone)]
pub struct Found {
    /// Whether it is right.
    pub right: bool,
    /// What was published.
    pub limits: Vec<Limit>,
    /// Lower bound of what nine of ten trials hold.
    pub most: Option<f64>,
    /// Why it ended.
    pub ended: Ended,
    /// Whether it was taken for one that moves.
    pub moves: bool,
    /// Trials made.
    pub trials: u32,
    /// Seconds under load, without those before the first warm-up and those of warm-ups.
    pub loaded: f64,
}

/// What `torment find` asks for if nothing is typed.
pub fn usual(max: f64, seed: u64) -> Config {
    let (objective, width) = (Objective::ZERO_DROP, Share(WIDTH));
    Config {
        goals: Goal::held(&objective, Nanos::from_secs(10), Nanos::from_secs(30), width).to_vec(),
        objective,
        from: Rate(10.0),
        max: Rate(max),
        width,
        least: Nanos::ZERO,
        pauses: Nanos::ZERO,
        budget: None,
        timeout: TIMEOUT,
        seed,
        curve: true,
        unit: LimitUnit::Requests,
    }
}

/// The same for a row.
pub fn config(row: &Row, seed: u64) -> Config {
    let (trial, width) = (Nanos::from_secs(row.trial), Share(WIDTH));
    let goals = Goal::held(&Objective::ZERO_DROP, trial, trial * 3, width).to_vec();
    Config { goals, timeout: row.system.timeout, ..usual(row.max, seed) }
}

/// Searches `row` once. With `show`, every trial is printed.
pub fn find(row: &Row, seed: u64, show: bool) -> Found {
    let config = config(row, seed);
    let deadline = config.objective.deadline;
    let mut target = Target::new(row.system, seed);
    let mut search = Search::new(config);
    // When each rate was first tried since the last warm-up.
    let mut tried: Vec<(f64, f64)> = Vec::new();
    let mut loaded = None;
    loop {
        match search.next() {
            Step::Try(proposal) => {
                if proposal.purpose == Purpose::WarmUp {
                    loaded.get_or_insert(Nanos::ZERO);
                    tried.clear();
                } else {
                    tried.push((proposal.rate.0, target.age()));
                }
                let result = target.trial(&search, &proposal, deadline);
                let judgement = search.take(&result);
                if let Some(loaded) = loaded.as_mut().filter(|_| proposal.purpose != Purpose::WarmUp) {
                    *loaded += result.loaded;
                }
                if show {
                    println!(
                        "{:>8.1} s  {:<9} {:>8.1}/s {:>5.1} s of {:>4.1}  {} loss {:.4} growth {:?} {:?} p50 {:?} {}",
                        target.age(),
                        proposal.purpose.name(),
                        proposal.rate.0,
                        result.loaded.as_secs_f64(),
                        proposal.duration.as_secs_f64(),
                        if judgement.good { "good" } else { "BAD " },
                        judgement.loss,
                        judgement.growth_per_second,
                        result.recovery,
                        result.total.response.quantile(0.5).map(|n| n.to_string()),
                        judgement.invalid.first().map_or("", |c| c.doubt.name()),
                    );
                }
            }
            Step::Done(verdict) => {
                if show {
                    println!("{verdict:#?}");
                }
                let Verdict::Limits { limits, ended, trials, .. } = *verdict else {
                    unreachable!("a search ends in limits")
                };
                let most = limits[0].lower;
                let first = tried.iter().find(|(rate, _)| Some(*rate) == most).map_or(target.age(), |t| t.1);
                let fade = (1.0 + first / 3600.0, 1.0 + target.age() / 3600.0);
                return Found {
                    right: right(row, &limits, &ended, fade),
                    limits: limits.clone(),
                    most,
                    moves: search.moves(),
                    ended,
                    trials,
                    loaded: loaded.unwrap_or(Nanos::ZERO).as_secs_f64(),
                };
            }
        }
    }
}

fn right(row: &Row, limits: &[Limit], ended: &Ended, fade: (f64, f64)) -> bool {
    let held = |low: f64, high: f64| {
        limits.iter().all(|l| l.held.or(l.lower).is_some_and(|rate| rate >= low && rate <= high))
    };
    let both = |low: f64, high: f64| limits.iter().all(|l| l.lower.is_some_and(|r| r >= low && r <= high));
    let near = |truth: f64| both(truth * (1.0 - WIDTH), truth * (1.0 + WIDTH));
    match row.truth {
        Truth::Capacity(c) => near(c) && *ended == Ended::Converged,
        Truth::Between(low, high) => held(low, high),
        Truth::Warm(c) => *ended == Ended::NonStationary || held(c * 0.95, c * (1.0 + WIDTH)),
        Truth::Fading(c) => {
            let within = |limit: &Limit| {
                limit.lower.is_some_and(|low| low <= c / fade.0 * (1.0 + WIDTH))
                    && limit.upper.is_some_and(|high| high >= c / fade.1 * (1.0 - WIDTH))
            };
            *ended == Ended::NonStationary || limits.iter().all(within)
        }
        Truth::Held(most, half) => {
            let slack = WIDTH / 4.0;
            let within = |limit: &Limit, truth: f64| {
                limit.lower.is_some_and(|low| low * (1.0 - slack) <= truth)
                    && limit.upper.is_some_and(|high| high * (1.0 + slack) >= truth)
            };
            within(&limits[0], most) && within(&limits[1], half)
        }
        Truth::Max => *ended == Ended::MaxReached && both(row.max, row.max),
        Truth::Generator(c, least) => *ended == Ended::GeneratorLimit && both(c * least, c),
        Truth::Broken => *ended == Ended::NotRecovered,
    }
}

/// The rates that nine of ten trials hold, and half of them, by brute force: `times` trials at each rate, of a target that has been
/// warmed up, each a while after the one before.
pub fn held(row: &Row, near: f64, times: usize) -> (f64, f64) {
    let config = config(row, 1);
    let deadline = config.objective.deadline;
    let (mut target, mut search) = (Target::new(row.system, 1), Search::new(config));
    let mut full = 0;
    let trial = loop {
        let Step::Try(proposal) = search.next() else { unreachable!("it has not begun") };
        if proposal.purpose == Purpose::Measure && proposal.duration.as_secs_f64() >= row.trial as f64 {
            full += 1;
            if full > 4 {
                break proposal;
            }
        }
        let result = target.trial(&search, &proposal, deadline);
        search.take(&result);
    };
    let mut shares: Vec<(f64, f64)> = Vec::new();
    for step in 0..=60 {
        let rate = near * (0.4 + 0.012 * f64::from(step));
        let good = (0..times).filter(|_| {
            target.wait();
            let proposal = torment_search::Proposal { rate: Rate(rate), ..trial };
            search.judge(&target.trial(&search, &proposal, deadline)).good
        });
        shares.push((rate, good.count() as f64 / times as f64));
        if shares.iter().rev().take(4).all(|(_, share)| *share < 0.2) && shares.len() > 4 {
            break;
        }
    }
    let shares = falling(shares);
    let at = |asked: f64| {
        let above = shares.iter().rposition(|(_, share)| *share >= asked);
        above.map_or(0.0, |place| match shares.get(place + 1) {
            Some(next) => {
                let here = shares[place];
                here.0 + (next.0 - here.0) * (here.1 - asked) / (here.1 - next.1).max(1e-9)
            }
            None => shares[place].0,
        })
    };
    (at(MOST), at(0.5))
}

/// The falling shares that are nearest to these: neighbours that rise by chance are pooled.
fn falling(shares: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    // Each pool: the sum of its rates and of its shares, and how many there are.
    let mut pools: Vec<(f64, f64, f64)> = Vec::new();
    for (rate, share) in shares {
        pools.push((rate, share, 1.0));
        while let [.., before, last] = pools[..]
            && before.1 / before.2 < last.1 / last.2
        {
            pools.truncate(pools.len() - 2);
            pools.push((before.0 + last.0, before.1 + last.1, before.2 + last.2));
        }
    }
    pools.into_iter().map(|(rates, shares, count)| (rates / count, shares / count)).collect()
}
