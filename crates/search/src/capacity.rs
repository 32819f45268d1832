//! The capacity as a distribution: it differs from trial to trial.
//!
//! A trial that was overloaded has measured the capacity while it lasted; one that was not bounds it from below. The logarithm is assumed
//! normal; centre and spread are estimated together, on a grid, from all trials (a censored regression, Tobin 1958, with its posterior
//! instead of a point). The quantiles of that distribution are the limits: the rate held in nine in ten trials, and in half of them.

use std::f64::consts::SQRT_2;

/// The smallest and largest spread considered, as shares.
const SPREAD: (f64, f64) = (5e-4, 0.5);
const SPREADS: usize = 24;
/// The prior of a spread falls with its size: the density of its logarithm goes with this power of it. Chosen by simulation: without it,
/// the intervals are a third wider than needed; with one, too narrow.
const PRIOR: f64 = 0.4;
/// If the target surely moves, larger spreads are likelier: a few trials that happen to agree say little. Also by simulation.
const PRIOR_MOVING: f64 = -0.5;
/// A sinking target differs from trial to trial in when it tips over, not in what it can do: a large spread is even less likely.
const PRIOR_SINKING: f64 = 0.4;
/// Centre distances on each side of the middle of what was seen: from the least to this, by equal ratios.
const DISTANCES: usize = 80;
const DISTANCE_LEAST: f64 = 1e-4;
/// What a sinking target does under a queue lies within this much, as a logarithm, below what it holds; at least a third of it.
const SUNK: f64 = 1.1;
/// Probability outside an interval, on each side: it holds the truth with 95 %.
const OUTSIDE: f64 = 0.015;
/// For a target that moves, whose consecutive ten-second spans are correlated: its trials say less than as many of a steady one.
const OUTSIDE_MOVING: f64 = 0.001;
/// For a sinking target, of which only good and bad are known.
const OUTSIDE_SINKING: f64 = 0.006;

/// What one trial says about the capacity while it lasted, in requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Observation {
    /// It was overloaded, and kept up this much.
    Was(f64),
    /// It kept up with the offered rate.
    AtLeast(f64),
    /// It did not keep up; how much it did is unknown.
    Below(f64),
    /// It did this much under a long queue, and did not keep up with the rate.
    Between(f64, f64),
}

impl Observation {
    /// The capacity, if it was measured.
    pub fn measured(&self) -> Option<f64> {
        match self {
            Self::Was(rate) => Some(*rate),
            _ => None,
        }
    }

    pub fn rate(self) -> f64 {
        match self {
            Self::Was(rate) | Self::AtLeast(rate) | Self::Below(rate) | Self::Between(_, rate) => rate,
        }
    }
}

/// A quantile with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileEstimate {
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// The median of the posterior.
    pub middle: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl QuantileEstimate {
    /// The interval's width, relative to its upper end.
    pub fn width(&self) -> f64 {
        (self.high - self.low) / self.high
    }
}

/// The capacity by all trials together.
#[derive(Debug, Clone)]
pub struct Capacity {
    /// Centre, spread and weight of each grid cell; the weights sum to one.
    cells: Vec<(f64, f64, f64)>,
    /// Probability outside an interval, on each side.
    outside: f64,
}

impl Capacity {
    /// None unless the trials bound it from both sides.
    pub fn of(said: &[Observation]) -> Option<Self> {
        Self::fit(said, PRIOR, OUTSIDE)
    }

    /// The same for a target that moves.
    pub fn of_moving(said: &[Observation]) -> Option<Self> {
        Self::fit(said, PRIOR_MOVING, OUTSIDE_MOVING)
    }

    /// The same for a sinking target.
    pub fn of_sinking(said: &[Observation]) -> Option<Self> {
        Self::fit(said, PRIOR_SINKING, OUTSIDE_SINKING)
    }

    fn fit(said: &[Observation], prior: f64, outside: f64) -> Option<Self> {
        let measured = said.iter().any(|one| matches!(one, Observation::Was(_)));
        let bounded = said.iter().any(|one| matches!(one, Observation::AtLeast(_)))
            && said.iter().any(|one| matches!(one, Observation::Below(_) | Observation::Between(..)));
        if !measured && !bounded {
            return None;
        }
        let mut cells = Self::cells(said, middle(said), prior);
        let most = cells.iter().map(|cell| cell.2).fold(f64::NEG_INFINITY, f64::max);
        cells.iter_mut().for_each(|cell| cell.2 = (cell.2 - most).exp());
        let sum: f64 = cells.iter().map(|cell| cell.2).sum();
        cells.iter_mut().for_each(|cell| cell.2 /= sum);
        Some(Self { cells, outside })
    }

    /// Grid of centres around `middle` and spreads, with the log-likelihood of each given all observations.
    fn cells(said: &[Observation], middle: f64, prior: f64) -> Vec<(f64, f64, f64)> {
        let logs = said.iter().map(|one| one.rate().ln());
        let furthest = logs.map(|log| (log - middle).abs()).fold(0.01, f64::max) + 1.0;
        let mut cells = Vec::with_capacity(SPREADS * (2 * DISTANCES + 1));
        let step = (furthest / DISTANCE_LEAST).powf(1.0 / (DISTANCES - 1) as f64);
        let distance = |place: usize| DISTANCE_LEAST * step.powi(place as i32);
        for place in 0..=2 * DISTANCES {
            let (centre, width) = match place.cmp(&DISTANCES) {
                std::cmp::Ordering::Equal => (middle, DISTANCE_LEAST),
                std::cmp::Ordering::Less => side(middle, -1.0, distance(DISTANCES - 1 - place), step),
                std::cmp::Ordering::Greater => side(middle, 1.0, distance(place - DISTANCES - 1), step),
            };
            for spread in spreads() {
                let likely: f64 = said.iter().map(|one| likelihood(*one, centre, spread)).sum();
                cells.push((centre, spread, likely + width.ln() - prior * spread.ln()));
            }
        }
        cells
    }

    /// The log-odds of a sinking target, whose overloads say what is in `sunk`, against one whose capacity they measure, which is in
    /// `moving`.
    pub fn odds_of_sinking(sunk: &[Observation], moving: &[Observation]) -> f64 {
        let middle = middle(moving);
        let evidence = |said| log_sum(Self::cells(said, middle, PRIOR).into_iter().map(|cell| cell.2));
        // A measurement under both hypotheses says nothing of a queue.
        let sank = moving.iter().zip(sunk).filter(|(_, sunk)| sunk.measured().is_none());
        let did: Vec<f64> = sank.filter_map(|(did, _)| did.measured()).map(f64::ln).collect();
        let count = did.len() as f64;
        let mean = did.iter().sum::<f64>() / count;
        let squares: f64 = did.iter().map(|did| (did - mean).powi(2)).sum();
        // What it does under a queue is somewhere below what it holds, and differs between overloads: that is integrated out.
        let weights = log_sum(spreads().map(|spread| -PRIOR * spread.ln()));
        let overloads = log_sum(spreads().map(|spread| {
            -PRIOR * spread.ln() - (count - 1.0) * spread.ln() - squares / (2.0 * spread * spread)
        }));
        let place = (std::f64::consts::TAU / count).ln() / 2.0 - SUNK.ln();
        evidence(sunk) + overloads - weights + place - evidence(moving)
    }

    /// A mixture: the other with this probability, else this.
    pub fn mixed_with(mut self, other: Option<&Self>, probability: f64) -> Self {
        if let Some(other) = other {
            self.cells.iter_mut().for_each(|cell| cell.2 *= 1.0 - probability);
            self.cells.extend(other.cells.iter().map(|cell| (cell.0, cell.1, cell.2 * probability)));
        }
        self
    }

    /// The rate that this share of trials hold.
    pub fn held_by(&self, share: f64) -> QuantileEstimate {
        let away = quantile(1.0 - share);
        let mut rates: Vec<(f64, f64)> =
            self.cells.iter().map(|(centre, spread, weight)| (centre + away * spread, *weight)).collect();
        rates.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = |part: f64| {
            let mut sum = 0.0;
            let found = rates.iter().find(|(_, weight)| {
                sum += weight;
                sum >= part
            });
            found.or(rates.last()).map_or(f64::NAN, |(rate, _)| rate.exp())
        };
        QuantileEstimate { low: at(self.outside), middle: at(0.5), high: at(1.0 - self.outside) }
    }

    /// The probability that the capacity's spread exceeds this share.
    pub fn spreads_beyond(&self, share: f64) -> f64 {
        self.cells.iter().filter(|cell| cell.1 > share).map(|cell| cell.2).sum()
    }

    /// The standard deviation of the capacity between trials, as a share.
    pub fn spread(&self) -> f64 {
        self.cells.iter().map(|(_, spread, weight)| spread.ln() * weight).sum::<f64>().exp()
    }
}

fn spreads() -> impl Iterator<Item = f64> {
    let ratio = SPREAD.1 / SPREAD.0;
    (0..SPREADS).map(move |number| SPREAD.0 * ratio.powf(number as f64 / (SPREADS - 1) as f64))
}

/// The mean logarithm of what was measured, or of everything if nothing was.
fn middle(said: &[Observation]) -> f64 {
    let measured = said.iter().any(|one| matches!(one, Observation::Was(_)));
    let logs: Vec<f64> = said
        .iter()
        .filter(|one| !measured || matches!(one, Observation::Was(_)))
        .map(|one| one.rate().ln())
        .collect();
    logs.iter().sum::<f64>() / logs.len() as f64
}

/// The logarithm of the sum of what these are the logarithms of.
fn log_sum(logs: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = logs.collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
}

/// A centre at this distance, and the width of its cell.
fn side(middle: f64, sign: f64, distance: f64, step: f64) -> (f64, f64) {
    (middle + sign * distance, distance * (step.sqrt() - 1.0 / step.sqrt()))
}

/// The log density, or log probability, of an observation.
fn likelihood(said: Observation, centre: f64, spread: f64) -> f64 {
    let away = (said.rate().ln() - centre) / spread;
    match said {
        Observation::Was(_) => -spread.ln() - away * away / 2.0,
        Observation::AtLeast(_) => tail(away).max(1e-12).ln(),
        Observation::Below(_) => tail(-away).max(1e-12).ln(),
        Observation::Between(least, _) => {
            (tail(-away) - tail((centre - least.ln()) / spread)).max(1e-12).ln()
        }
    }
}

/// The upper tail of the standard normal distribution: half of erfc(x/√2), by the rational approximation of Press et al., *Numerical
/// Recipes*, whose relative error is below 1.2 · 10⁻⁷ everywhere.
fn tail(x: f64) -> f64 {
    const POWERS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let z = x.abs() / SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * z);
    let sum = POWERS.iter().rev().fold(0.0, |sum, power| sum * t + power);
    let above = 0.5 * t * (sum - z * z).exp();
    if x < 0.0 { 1.0 - above } else { above }
}

/// The standard normal quantile, by bisection of [`tail`].
fn quantile(below: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if tail(middle) > 1.0 - below { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use Observation::{AtLeast, Below, Was};

    #[test]
    fn the_normal_distribution_is_that() {
        for (x, above) in
            [(0.0, 0.5), (1.0, 0.158_655), (-1.0, 0.841_345), (3.0, 1.349_9e-3), (6.0, 9.866e-10)]
        {
            assert!((tail(x) / above - 1.0).abs() < 1e-4, "{x}");
        }
        assert!((quantile(0.1) + 1.281_552).abs() < 1e-5 && quantile(0.5).abs() < 1e-5);
    }

    #[test]
    fn a_steady_capacity_is_known_at_once() {
        let said = [AtLeast(991.0), Was(1000.1), AtLeast(991.0), Was(999.9), Was(1000.0)];
        let capacity = Capacity::of(&said).expect("it was measured");
        for share in [0.9, 0.5] {
            let known = capacity.held_by(share);
            assert!(known.low < 1000.0 && known.high > 999.0 && known.width() < 0.01, "{known:?}");
        }
        assert!(capacity.spread() < 0.005);
    }

    #[test]
    fn one_that_moves_is_known_as_well_as_its_trials_say() {
        let said =
            [Was(900.0), Was(1010.0), AtLeast(950.0), Was(1100.0), Below(1000.0), Was(980.0), AtLeast(900.0)];
        let capacity = Capacity::of(&said).expect("it was measured");
        let (most, half) = (capacity.held_by(0.9), capacity.held_by(0.5));
        assert!(most.middle < half.middle && most.low < most.middle && half.middle < half.high);
        assert!((900.0..1100.0).contains(&half.middle), "{half:?}");
        assert!((0.03..0.2).contains(&capacity.spread()), "{}", capacity.spread());
    }

    #[test]
    fn what_is_bounded_from_one_side_only_is_not_known() {
        assert!(Capacity::of(&[]).is_none());
        assert!(Capacity::of(&[AtLeast(1000.0), AtLeast(2000.0)]).is_none());
        assert!(Capacity::of(&[Below(1000.0)]).is_none());
        assert!(Capacity::of(&[AtLeast(990.0), Below(1010.0)]).is_some());
    }
}
