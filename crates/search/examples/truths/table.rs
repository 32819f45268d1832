//! The expected result for a system, and what a search finds.

use crate::simulate::Target;
use crate::system::System;
use plan::{Goal, Objective};
use record::{Limit, LimitUnit, Purpose, SearchEnd, Verdict};
use torment_search::{Search, SearchConfig, SearchStep};
use units::{Nanos, Rate, Share};

/// The goals' width in all rows.
pub const WIDTH: f64 = 0.02;

/// Usual timeout of a simulated request.
pub const TIMEOUT: Nanos = Nanos::from_secs(5);
/// Timeout for slow targets.
pub const PATIENT_TIMEOUT: Nanos = Nanos::from_secs(30);

/// Least time for which a target is probed for recovery after a bad trial.
const RECOVERY_TIME: Nanos = Nanos::from_millis(500);

/// Share of trials that must be right at the held rate.
const HELD_SHARE: f64 = 0.9;

/// The result a search should give.
#[derive(Debug, Clone, Copy)]
pub enum Truth {
    /// Both lower bounds within a width of this rate.
    Capacity(f64),
    /// What nine in ten trials hold, and half of them, lies between these rates.
    Between(f64, f64),
    /// Lower bounds at least 0.95 of this rate and at most a width above, or `NonStationary`.
    Warm(f64),
    /// Lower bounds within a width of what the target could do, from the first trial at that rate until the search ended; or
    /// `NonStationary`.
    Fading(f64),
    /// The rates that nine in ten trials hold, and half of them: both intervals contain them, give or take a quarter of the width.
    Held(f64, f64),
    /// `MaxReached` with the lower bounds at the largest rate.
    Max,
    /// `GeneratorLimit`, with the lower bounds between this share of this rate and this rate.
    Generator(f64, f64),
    /// `NotRecovered`.
    Broken,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub system: System,
    pub truth: Truth,
    pub max: f64,
    /// Trial duration, in seconds.
    pub trial_seconds: u64,
    /// The share of seeds that must be right; none if the row shows a known weakness.
    pub required_share: Option<f64>,
}

/// The result of one search.
#[derive(Debug, Clone)]
pub struct SearchResult {
    pub right: bool,
    /// The published limits.
    pub limits: Vec<Limit>,
    /// Lower bound of what nine in ten trials hold.
    pub most: Option<f64>,
    /// Why it ended.
    pub ended: SearchEnd,
    /// Whether the target was taken for one that moves.
    pub moves: bool,
    /// Whether it was reported to slow down.
    pub slows: bool,
    pub trials: u32,
    /// Seconds under load, without those before the first warm-up and those of warm-ups.
    pub loaded: f64,
}

/// The defaults of `torment find`.
pub fn usual(max: f64, seed: u64) -> SearchConfig {
    let (objective, width) = (Objective::ZERO_DROP, Share(WIDTH));
    SearchConfig {
        goals: Goal::default_goals(&objective, Nanos::from_secs(10), Nanos::from_secs(30), width).to_vec(),
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
        reserved: Nanos::ZERO,
        unit: LimitUnit::Requests,
    }
}

pub fn config(row: &Row, seed: u64) -> SearchConfig {
    let (trial, width) = (Nanos::from_secs(row.trial_seconds), Share(WIDTH));
    let goals = Goal::default_goals(&Objective::ZERO_DROP, trial, trial * 3, width).to_vec();
    SearchConfig { goals, timeout: row.system.timeout, ..usual(row.max, seed) }
}

/// Searches `row` once; `show` prints every trial.
pub fn run_search(row: &Row, seed: u64, show: bool) -> SearchResult {
    let config = config(row, seed);
    let deadline = config.objective.deadline;
    let mut target = Target::new(row.system, seed);
    let mut search = Search::new(config);
    // When each rate was first tried since the last warm-up.
    let mut attempts: Vec<(f64, f64)> = Vec::new();
    let mut loaded = None;
    loop {
        match search.next() {
            SearchStep::Try(proposal) => {
                if proposal.purpose == Purpose::WarmUp {
                    loaded.get_or_insert(Nanos::ZERO);
                    attempts.clear();
                } else {
                    attempts.push((proposal.rate.0, target.age()));
                }
                search.set_compiling_threads(target.compiling());
                let result = target.trial(&search, &proposal, deadline);
                let judgement = search.add_result(&result);
                if let Some(loaded) = loaded.as_mut().filter(|_| proposal.purpose != Purpose::WarmUp) {
                    *loaded += result.loaded;
                }
                if !judgement.good && judgement.invalid.is_empty() {
                    search.add_load_time(RECOVERY_TIME);
                    loaded = loaded.map(|loaded| loaded + RECOVERY_TIME);
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
            SearchStep::Done(verdict) => {
                if show {
                    println!("{verdict:#?}");
                }
                let Verdict::Limits { limits, ended, trials, .. } = *verdict else {
                    unreachable!("a search ends in limits")
                };
                let most = limits[0].lower;
                let first_time =
                    attempts.iter().find(|(rate, _)| Some(*rate) == most).map_or(target.age(), |t| t.1);
                let fade = (1.0 + first_time / 3600.0, 1.0 + target.age() / 3600.0);
                return SearchResult {
                    right: is_right(row, &limits, &ended, fade),
                    limits: limits.clone(),
                    most,
                    moves: search.moves(),
                    slows: search.slowing().is_some(),
                    ended,
                    trials,
                    loaded: loaded.unwrap_or(Nanos::ZERO).as_secs_f64(),
                };
            }
        }
    }
}

fn is_right(row: &Row, limits: &[Limit], ended: &SearchEnd, fade: (f64, f64)) -> bool {
    let held = |low: f64, high: f64| {
        limits.iter().all(|l| l.held.or(l.lower).is_some_and(|rate| rate >= low && rate <= high))
    };
    let both = |low: f64, high: f64| limits.iter().all(|l| l.lower.is_some_and(|r| r >= low && r <= high));
    let near = |truth: f64| both(truth * (1.0 - WIDTH), truth * (1.0 + WIDTH));
    match row.truth {
        Truth::Capacity(c) => near(c) && *ended == SearchEnd::Converged,
        Truth::Between(low, high) => held(low, high),
        Truth::Warm(c) => *ended == SearchEnd::NonStationary || held(c * 0.95, c * (1.0 + WIDTH)),
        Truth::Fading(c) => {
            let within = |limit: &Limit| {
                limit.lower.is_some_and(|low| low <= c / fade.0 * (1.0 + WIDTH))
                    && limit.upper.is_some_and(|high| high >= c / fade.1 * (1.0 - WIDTH))
            };
            *ended == SearchEnd::NonStationary || limits.iter().all(within)
        }
        Truth::Held(most, half) => {
            let slack = WIDTH / 4.0;
            let within = |limit: &Limit, truth: f64| {
                limit.lower.is_some_and(|low| low * (1.0 - slack) <= truth)
                    && limit.upper.is_some_and(|high| high * (1.0 + slack) >= truth)
            };
            within(&limits[0], most) && within(&limits[1], half)
        }
        Truth::Max => *ended == SearchEnd::MaxReached && both(row.max, row.max),
        Truth::Generator(c, least) => *ended == SearchEnd::GeneratorLimit && both(c * least, c),
        Truth::Broken => *ended == SearchEnd::NotRecovered,
    }
}

/// The rates that nine in ten trials hold, and half of them, by brute force: `times` trials at each rate of a warmed-up target, each a
/// while after the last.
pub fn held(row: &Row, near: f64, times: usize) -> (f64, f64) {
    let config = config(row, 1);
    let deadline = config.objective.deadline;
    let (mut target, mut search) = (Target::new(row.system, 1), Search::new(config));
    let mut full = 0;
    let trial = loop {
        let SearchStep::Try(proposal) = search.next() else { unreachable!("it has not begun") };
        if proposal.purpose == Purpose::Measure && proposal.duration.as_secs_f64() >= row.trial_seconds as f64
        {
            full += 1;
            if full > 4 {
                break proposal;
            }
        }
        let result = target.trial(&search, &proposal, deadline);
        search.add_result(&result);
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
    let at = |required: f64| {
        let above = shares.iter().rposition(|(_, share)| *share >= required);
        above.map_or(0.0, |place| match shares.get(place + 1) {
            Some(next) => {
                let here = shares[place];
                here.0 + (next.0 - here.0) * (here.1 - required) / (here.1 - next.1).max(1e-9)
            }
            None => shares[place].0,
        })
    };
    (at(HELD_SHARE), at(0.5))
}

/// The nearest decreasing shares: neighbours that rise by chance are pooled.
fn falling(shares: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    // Each pool: sum of rates, sum of shares, count.
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
