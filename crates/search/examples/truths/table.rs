//! The systems, what counts as right for each, and what a search makes of them.

use crate::simulate::{Arrivals, Service, System, Target, Trait};
use plan::{Goal, Objective};
use record::{Ended, Limit, Purpose, Verdict};
use torment_search::{Config, Search, Step};
use units::{Nanos, Rate, Share};

/// The goals' width in all rows.
pub const WIDTH: f64 = 0.02;

/// When a simulated request is usually given up.
pub const TIMEOUT: Nanos = Nanos::from_secs(5);
/// When one is that takes long.
const PATIENT: Nanos = Nanos::from_secs(30);

/// What a search should say.
#[derive(Debug, Clone, Copy)]
pub enum Truth {
    /// Both lower bounds within a width of this rate.
    Capacity(f64),
    /// The typical lower bound between these rates, the strict one not above it.
    Typical(f64, f64),
    /// The lower bounds at least 0.95 of this rate and at most a width above, or `NonStationary`.
    Warm(f64),
    /// The lower bounds within a width of what the target could do from the first trial at the strict one
    /// until the search ended, or `NonStationary`.
    Fading(f64),
    /// `MaxReached` with the lower bounds at the largest rate.
    Max,
    /// `GeneratorLimit` with the lower bounds between 0.85 of this rate and this rate.
    Generator(f64),
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
            Truth::Capacity(2000.0),
        ),
        row(
            "10 servers of 20 ms, even arrivals",
            Even,
            Some(10),
            Fixed(ms(20.0)),
            None,
            Truth::Capacity(500.0),
        ),
        Row {
            max: 3000.0,
            ..row("delay of 10 ms, no limit, `max` 3,000/s", Even, None, Fixed(ms(10.0)), None, Truth::Max)
        },
        row("M/D/1, 500 µs", Poisson, Some(1), Fixed(ms(0.5)), None, Truth::Capacity(2000.0)),
        row("M/M/16, 8 ms", Poisson, sixteen, Exponential(ms(8.0)), None, Truth::Capacity(2000.0)),
        row("D/M/16, 8 ms", Even, sixteen, Exponential(ms(8.0)), None, Truth::Capacity(2000.0)),
        row(
            "100 workers of 2 ms before 10 connections of 5 ms (exponential), Poisson",
            Poisson,
            Some(100),
            Fixed(ms(2.0)),
            Some(Trait::Behind(10, Exponential(ms(5.0)))),
            Truth::Capacity(2000.0),
        ),
        row(
            "D/D/16, 8 ms, answers 503 beyond 64 waiting",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Sheds(64)),
            Truth::Capacity(2000.0),
        ),
        row(
            "D/D/16, 8 ms, stands still 0.3 s in every 15 s",
            Even,
            sixteen,
            Fixed(ms(8.0)),
            Some(Trait::Stalls(15.0, 0.3)),
            Truth::Typical(1862.0, 2020.0),
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
            Some(Trait::Lags(1500.0)),
            Truth::Generator(1500.0),
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
                    Truth::Capacity(1000.0),
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

/// What one search came to.
#[derive(Debug, Clone)]
pub struct Found {
    /// Whether it is right.
    pub right: bool,
    /// Lower bound of the strict goal.
    pub strict: Option<f64>,
    /// Of the typical one.
    pub typical: Option<f64>,
    /// Why it ended.
    pub ended: Ended,
    /// Trials made.
    pub trials: u32,
    /// Seconds under load.
    pub loaded: f64,
}

/// What `torment find` asks for if nothing is typed.
pub fn usual(max: f64, seed: u64) -> Config {
    let (objective, width) = (Objective::ZERO_DROP, Share(WIDTH));
    Config {
        goals: Goal::pair(&objective, Nanos::from_secs(10), Nanos::from_secs(30), width).to_vec(),
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
    }
}

/// The same for a row.
pub fn config(row: &Row, seed: u64) -> Config {
    let (trial, width) = (Nanos::from_secs(row.trial), Share(WIDTH));
    let goals = Goal::pair(&Objective::ZERO_DROP, trial, trial * 3, width).to_vec();
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
    loop {
        match search.next() {
            Step::Try(proposal) => {
                if proposal.purpose == Purpose::WarmUp {
                    tried.clear();
                } else {
                    tried.push((proposal.rate.0, target.age()));
                }
                let result = target.trial(&search, &proposal, deadline);
                let judgement = search.take(&result);
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
                        judgement.invalid.first().map_or("", |c| &c.code),
                    );
                }
            }
            Step::Done(verdict) => {
                if show {
                    println!("{verdict:#?}");
                }
                let Verdict::Limits { limits, ended, trials, loaded, .. } = *verdict else {
                    unreachable!("a search ends in limits")
                };
                let strict = limits[0].lower;
                let first =
                    tried.iter().find(|(rate, _)| Some(*rate) == strict).map_or(target.age(), |t| t.1);
                let fade = (1.0 + first / 3600.0, 1.0 + target.age() / 3600.0);
                return Found {
                    right: right(row, &limits, &ended, fade),
                    strict,
                    typical: limits[1].lower,
                    ended,
                    trials,
                    loaded: loaded.as_secs_f64(),
                };
            }
        }
    }
}

fn right(row: &Row, limits: &[Limit], ended: &Ended, fade: (f64, f64)) -> bool {
    let both = |low: f64, high: f64| limits.iter().all(|l| l.lower.is_some_and(|r| r >= low && r <= high));
    let near = |truth: f64| both(truth * (1.0 - WIDTH), truth * (1.0 + WIDTH));
    match row.truth {
        Truth::Capacity(c) => near(c) && *ended == Ended::Converged,
        Truth::Typical(low, high) => {
            let [strict, typical] = [limits[0].lower.unwrap_or(0.0), limits[1].lower.unwrap_or(0.0)];
            typical >= low && typical <= high && strict <= typical
        }
        Truth::Warm(c) => *ended == Ended::NonStationary || both(c * 0.95, c * (1.0 + WIDTH)),
        Truth::Fading(c) => {
            *ended == Ended::NonStationary || both(c / fade.1 * (1.0 - WIDTH), c / fade.0 * (1.0 + WIDTH))
        }
        Truth::Max => *ended == Ended::MaxReached && both(row.max, row.max),
        Truth::Generator(c) => *ended == Ended::GeneratorLimit && both(c * 0.85, c),
        Truth::Broken => *ended == Ended::NotRecovered,
    }
}
